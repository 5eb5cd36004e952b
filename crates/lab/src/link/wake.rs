//! How late this thread is woken: what a link must take off, or it adds it to every delay.
//!
//! ```text
//!  timer set for 20.00 ms ─▶ runs at 20.12 ms   late by 0.12 ms, learnt
//!  bytes there at 5.00 ms ─▶ read at 5.12 ms    late as well, but that can only be inferred
//! ```
//! An idle core takes some tens of microseconds to wake up, on a virtual machine a hundred and more, the longer it has
//! slept the more. A packet that wakes two pumps each way would be late four times.
//!
//! Invariants: never more than [`LATE_MAX`]: a machine that is busy for longer is late, and its links are.
//!
//! Not here: sleeping (`pump`).

use std::time::{Duration, Instant};

/// What one thread has learnt.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    late: Duration,
    /// How many times it was learnt from, up to [`MEMORY`].
    seen: u32,
    /// The last sleep was so long that its end was late, too.
    was_idle: bool,
}

impl Wake {
    /// The thread slept from `began` on; the timer was set to end it after `wished`, if it was what ended it.
    pub(crate) fn slept(&mut self, began: Instant, timer: Option<Duration>) {
        let slept = began.elapsed();
        self.was_idle = slept >= IDLE_MIN;
        if let Some(wished) = timer.filter(|wished| !wished.is_zero()) {
            let late = slept.saturating_sub(wished).min(LATE_MAX);
            self.seen = (self.seen + 1).min(MEMORY);
            self.late = (self.late * (self.seen - 1) + late) / self.seen;
        }
    }

    /// How late a timer is.
    pub(crate) fn late(&self) -> Duration {
        self.late
    }

    /// When bytes came that were found `now`, by the first look after a sleep.
    pub(crate) fn arrived(&mut self, now: Instant) -> Instant {
        let late = if std::mem::take(&mut self.was_idle) { self.late } else { Duration::ZERO };
        now.checked_sub(late).unwrap_or(now)
    }
}

/// More is not the core that wakes up, but others who run on it.
const LATE_MAX: Duration = Duration::from_micros(200);
/// A mean of about so many sleeps, of fewer in the beginning.
const MEMORY: u32 = 8;
/// Whoever slept for less is woken at once.
const IDLE_MIN: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_learnt_from_timers_and_taken_off_once_after_a_sleep() {
        let mut wake = Wake::default();
        let ago = |us| Instant::now().checked_sub(Duration::from_micros(us)).unwrap();
        // Woken by bytes: nothing is learnt.
        wake.slept(ago(1_000_000), None);
        assert_eq!(wake.late(), Duration::ZERO);
        // An hour late: the bound is learnt.
        for _ in 0..100 {
            wake.slept(ago(3_600_000_000), Some(Duration::from_millis(1)));
        }
        assert!(wake.late() <= LATE_MAX && wake.late() > LATE_MAX * 9 / 10, "{wake:?}");
        let now = Instant::now();
        assert_eq!(wake.arrived(now), now - wake.late());
        assert_eq!(wake.arrived(now), now);
        // Hardly any sleep.
        wake.slept(Instant::now(), None);
        assert_eq!(wake.arrived(now), now);
    }
}
