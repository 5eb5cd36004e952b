//! How fast large packets come from where they are read.
//!
//! Packed, such a packet waits until all of it is here, which only those tell that were collected: what passes stored comes as
//! fast as the link takes it. So where a slow source keeps packets stored one is collected all the same now and then, ever more
//! rarely, since it costs its wait.

use std::time::Duration;

use super::{Reason, number};

/// Of one connection and direction.
#[derive(Debug)]
pub(super) struct Source {
    bytes_per_s: Option<f64>,
    /// Packets that passed stored, behind a trial that showed how slow it is.
    passed: u32,
    /// How many do before the next trial.
    rest: u32,
}

impl Default for Source {
    fn default() -> Self {
        Self { bytes_per_s: None, passed: 0, rest: REST_MIN }
    }
}

impl Source {
    /// Until so many bytes are here; none if nothing is known.
    pub(super) fn time_s(&self, missing_len: usize) -> f64 {
        self.bytes_per_s.map_or(0.0, |rate| number(missing_len) / rate)
    }

    /// What was missing of a packet came in this time.
    pub(super) fn came(&mut self, missing_len: usize, took: Duration) {
        // Less was on its way already.
        if missing_len >= MISSING_LEN_MIN {
            let rate = number(missing_len) / took.as_secs_f64().max(1e-9);
            self.bytes_per_s = Some(self.bytes_per_s.map_or(rate, |old| f64::midpoint(old, rate)));
        }
    }

    /// A packet that is not all here was decided about, for this reason.
    pub(super) fn chosen(&mut self, reason: Reason) {
        match reason {
            Reason::Slower if self.bytes_per_s.is_some() => {
                self.passed += 1;
                if self.passed > self.rest {
                    *self = Self { bytes_per_s: None, passed: 0, rest: (self.rest * 2).min(REST_MAX) };
                }
            }
            Reason::Faster if self.bytes_per_s.is_some() => self.rest = REST_MIN,
            _ => {}
        }
    }
}

/// So much of a packet takes long enough to tell how fast it comes.
const MISSING_LEN_MIN: usize = 64 << 10;
const REST_MIN: u32 = 16;
const REST_MAX: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_slow_source_is_looked_at_again_ever_more_rarely() {
        let mut source = Source::default();
        let mut trials = Vec::new();
        for packet in 0..200 {
            if source.time_s(MIB) == 0.0 {
                trials.push(packet);
                source.came(MIB, Duration::from_millis(100));
            } else {
                source.chosen(Reason::Slower);
            }
        }
        assert_eq!(trials, [0, 18, 52, 118]);
        // It is fast by now.
        source.came(MIB, Duration::from_micros(100));
        source.came(MIB, Duration::from_micros(100));
        source.chosen(Reason::Faster);
        assert_eq!((source.rest, source.passed > 0), (REST_MIN, true));
    }

    #[test]
    fn a_little_tells_nothing() {
        let mut source = Source::default();
        source.came(MISSING_LEN_MIN - 1, Duration::from_secs(1));
        assert_eq!(source.time_s(MIB), 0.0);
    }
}
