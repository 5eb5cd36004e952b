//! The mean of a sample, with its interval.
//!
//! As many values as there are are drawn again and again, with replacement, and the middle 95 % of their means is the
//! interval (Efron's percentile bootstrap). The mean and not the median, because it is the mean that all values together
//! take; a long tail makes the interval wide, as it should.
//!
//! Invariants: the generator's seed is a constant, so the same values give the same interval.
//!
//! Not here: repetitions of one measurement, which have a median (`interval`).

use lab::generate::Sequence;

use super::interval::confidence_of_range;
use super::quantile::of_sorted;
use super::{CONFIDENCE, Estimate, f64_of};

/// The mean with its interval; none of no values.
#[must_use]
pub fn mean_interval(values: &[f64]) -> Option<Estimate> {
    let n = u32::try_from(values.len()).ok().filter(|n| *n > 0)?;
    let mean = |sum: f64| sum / f64_of(values.len());
    let mut sequence = Sequence::new(SEED, 0);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..n).filter_map(|_| values.get(sequence.below(n) as usize));
            mean(drawn.sum())
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Estimate {
        value: mean(values.iter().sum()),
        low: of_sorted(&means, tail)?,
        high: of_sorted(&means, 1.0 - tail)?,
        // No resampling can know more than the range of the values does.
        confidence: CONFIDENCE.min(confidence_of_range(values.len())),
    })
}

/// Any; a constant, so that a report made twice is the same twice.
const SEED: u64 = 1;
/// Enough for its tails: 125 of them lie beyond either end of the interval.
const RESAMPLES: usize = 4999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_scipy() {
        let values = [1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 5.0, 0.7, 1.1, 0.9, 2.4, 1.0];
        let mean = mean_interval(&values).unwrap();
        // python3, scipy: bootstrap((values,), np.mean, method='percentile', n_resamples=200_000, random_state=1)
        //   .confidence_interval
        for (ours, theirs) in
            [(mean.value, 1.45), (mean.low, 0.958_333_333_333_333_5), (mean.high, 2.191_666_666_666_666_4)]
        {
            assert!((ours / theirs - 1.0).abs() < 0.02, "{mean:?}");
        }
        assert_eq!(mean.confidence, CONFIDENCE);
        assert_eq!(mean_interval(&values), Some(mean));
    }

    #[test]
    fn a_single_value_has_no_interval_and_none_no_mean() {
        let single = mean_interval(&[3.0]).unwrap();
        assert_eq!((single.value, single.low, single.high, single.confidence), (3.0, 3.0, 3.0, 0.0));
        assert_eq!(mean_interval(&[]), None);
    }
}
