//! The last three samples of a server's replies, of which the slowest counts: a host packs the same rows at 150 MB/s in one moment
//! and at 300 in another, and a server that was believed to be fast takes longer than one that was not.
//!
//! Invariants: bounded memory; a session that fell silent with one is not waited for.
//!
//! Not here: how one is packed (`sample`), what follows from it (`super`).

use std::time::Duration;

use super::TRUE_FOR;
use super::sample::{AtLevel, Sample};

/// What they were made of, and when.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// The oldest first.
    last: Vec<(Sample, Duration)>,
    /// When somebody went to take another.
    taking_since: Option<Duration>,
}

impl Samples {
    /// Whether another is wanted: who is told so takes it, and nobody else for a while.
    pub(super) fn wants(&mut self, now: Duration) -> bool {
        let age = |at: Duration| now.saturating_sub(at);
        let wants = self.last.iter().filter(|(_, at)| age(*at) < TRUE_FOR).count() < LAST
            && self.last.last().is_none_or(|(_, at)| age(*at) >= APART)
            && self.taking_since.is_none_or(|since| age(since) >= TAKING_FOR);
        if wants {
            self.taking_since = Some(now);
        }
        wants
    }

    /// Who went to take one is gone without it.
    pub(super) const fn not_taken(&mut self) {
        self.taking_since = None;
    }

    pub(super) fn taken(&mut self, now: Duration, sample: Sample) {
        self.last.retain(|(_, at)| now.saturating_sub(*at) < TRUE_FOR);
        if self.last.len() >= LAST {
            self.last.remove(0);
        }
        self.last.push((sample, now));
        self.taking_since = None;
    }

    /// By the slowest.
    pub(super) fn at(&self, level: u8) -> Option<AtLevel> {
        let at = self.last.iter().filter_map(|(sample, _)| sample.at(level));
        at.min_by(|one, other| one.packs_per_s.total_cmp(&other.packs_per_s))
    }

    /// Bytes of a row, where they were shortest.
    pub(super) fn row_len(&self) -> Option<f64> {
        self.last.iter().map(|(sample, _)| sample.row_len()).min_by(f64::total_cmp)
    }
}

/// A host that is fast in all of them mostly is.
const LAST: usize = 3;
/// Moments so far apart are different ones: cores wake, clocks rise and other work comes and goes in less.
const APART: Duration = Duration::from_millis(100);
/// A session that fell silent meanwhile is not waited for.
const TAKING_FOR: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn sample(packs_per_s: f64, row_len: f64) -> Sample {
        Sample::at_levels(vec![AtLevel { level: 1, ratio: 2.0, packs_per_s }], row_len)
    }

    #[test]
    fn one_session_at_a_time_takes_one_and_who_leaves_or_falls_silent_is_not_waited_for() {
        let mut samples = Samples::default();
        assert!(samples.wants(ms(0)) && !samples.wants(ms(1_000)));
        samples.not_taken();
        assert!(samples.wants(ms(2_000)) && !samples.wants(ms(11_000)));
        assert!(samples.wants(ms(12_000)));
        samples.taken(ms(13_000), sample(1e8, 190.0));
        assert!(!samples.wants(ms(13_099)) && samples.wants(ms(13_100)));
    }

    #[test]
    fn the_slowest_of_three_counts_for_ten_minutes() {
        let mut samples = Samples::default();
        assert_eq!((samples.at(1), samples.row_len()), (None, None));
        let packs_per_s = |samples: &Samples| samples.at(1).unwrap().packs_per_s;
        for (at, sampled, slowest) in [(0, 3e8, 3e8), (200, 2e8, 2e8), (400, 9e8, 2e8)] {
            assert!(samples.wants(ms(at)));
            samples.taken(ms(at), sample(sampled, sampled));
            assert_eq!((packs_per_s(&samples), samples.row_len()), (slowest, Some(slowest)));
        }
        assert_eq!(samples.at(3), None);
        assert!(!samples.wants(ms(599_999)) && samples.wants(ms(600_000)));
        samples.taken(ms(600_000), sample(8e8, 190.0));
        assert_eq!(packs_per_s(&samples), 2e8);
        // The second is too old by now, too.
        samples.taken(ms(600_300), sample(8e8, 190.0));
        assert_eq!(packs_per_s(&samples), 8e8);
    }
}
