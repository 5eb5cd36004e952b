//! How long requests wait for their replies on a link: the time that all but one in a hundred stay below.
//!
//! ```text
//!  1 us │ 8 classes for each doubling │ … │ an hour      counted, halved when there are many
//! ```
//! Invariants: bounded memory; old times fade; told a little too short, never too long.
//!
//! Not here: what may be added to them (`thrift`), the clock (crate `proxy`).

use std::time::Duration;

/// Of all connections of a link.
#[derive(Debug)]
pub struct ReplyTimes {
    counts: [u32; CLASSES],
    total: u32,
    p99: Option<Duration>,
}

impl Default for ReplyTimes {
    fn default() -> Self {
        Self { counts: [0; CLASSES], total: 0, p99: None }
    }
}

impl ReplyTimes {
    /// A reply took so long, without what packing had added.
    pub fn saw(&mut self, time: Duration) {
        if let Some(count) = self.counts.get_mut(class_of(time)) {
            *count += 1;
            self.total += 1;
        }
        if self.total >= TOTAL_MAX {
            for count in &mut self.counts {
                *count /= 2;
            }
            self.total = self.counts.iter().sum();
        }
        if self.total >= TOTAL_MIN && self.total.is_multiple_of(LOOK_EVERY) {
            self.p99 = Some(self.quantile());
        }
    }

    /// The 99th percentile, once there are enough of them.
    #[must_use]
    pub const fn p99(&self) -> Option<Duration> {
        self.p99
    }

    fn quantile(&self) -> Duration {
        let mut above = 0;
        for (class, count) in self.counts.iter().enumerate().rev() {
            above += count;
            if u64::from(above) * 100 > u64::from(self.total) {
                return least_of(class);
            }
        }
        Duration::ZERO
    }
}

fn class_of(time: Duration) -> usize {
    let octaves = (time.as_secs_f64() * 1e6).max(1.0).log2();
    let class = (octaves * PER_OCTAVE).min((CLASSES - 1) as f64);
    // Not negative, and below CLASSES.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded on both sides above"
    )]
    let class = class as usize;
    class
}

fn least_of(class: usize) -> Duration {
    Duration::from_secs_f64((class as f64 / PER_OCTAVE).exp2() / 1e6)
}

/// 9 % each.
const PER_OCTAVE: f64 = 8.0;
/// Up to 2^32 us.
const CLASSES: usize = 256;
/// Fewer have no hundredth.
const TOTAL_MIN: u32 = 100;
/// Some seconds of a busy link.
const TOTAL_MAX: u32 = 8192;
const LOOK_EVERY: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_longer() {
        let mut times = ReplyTimes::default();
        assert_eq!(times.p99(), None);
        for n in 0..1000_u64 {
            times.saw(Duration::from_micros(if n % 50 == 7 { 20_000 } else { 100 + n / 10 }));
        }
        let p99 = times.p99().unwrap();
        assert!((18_000..=20_000).contains(&p99.as_micros()), "{p99:?}");
    }

    #[test]
    fn old_times_fade() {
        let mut times = ReplyTimes::default();
        (0..5_000).for_each(|_| times.saw(Duration::from_millis(50)));
        (0..100_000).for_each(|_| times.saw(Duration::from_millis(1)));
        assert!(times.p99().unwrap() <= Duration::from_millis(1), "{:?}", times.p99());
        times.saw(Duration::from_secs(1_000_000));
        times.saw(Duration::ZERO);
    }
}
