//! How many times as large one group of values is as another.
//!
//! ```text
//!  paired     round  0    1    2    3    4          unpaired    run A   a0 a1 a2 a3 a4
//!             cell   a0   a1   a2   a3   a4                     run B   b0 b1 b2 b3
//!             none   b0   b1   b2   b3   b4
//!             ratio  a/b  a/b  a/b  a/b  a/b  ─▶ centre         median(a) / median(b), bootstrap
//! ```
//! Within a run the cells alternate: repetition 3 of a cell was measured minutes, not hours, from repetition 3 of its
//! baseline. A machine that is slow for a while is slow for both, and the ratio of the pair does not see it. So pairs
//! are used where there are any, and their ratios' centre is told (`signed_rank`).
//!
//! Two runs have no pairs. There both groups are drawn from again and again, and the middle 95 % of the ratios of their
//! medians is the interval (Efron's percentile bootstrap). Neither BCa nor a t interval: BCa's acceleration comes from
//! a jackknife, which is not consistent for medians.
//!
//! Two runs in strata, such as one setting by many numbers of threads: the ratios of all values of a stratum to all others of
//! it, of all strata together; their median, and the two of them between which the stratified rank test finds no difference
//! (Hodges and Lehmann; by the ratios' order as by that of their logarithms): those behind the k-th from below and before the
//! k-th from above. Exact, as that test is, and of one ratio that all strata share; where they don't, it is a typical one.
//!
//! Source: Lehmann, "Nonparametrics", sections 2.5 and 2.6, with the test of `rank_test`.
//!
//! Invariants: nothing is divided by what is not above 0: then there is no ratio; the generator's seed is a constant.

use lab::generate::Sequence;

use super::interval::{confidence_of_range, surest_rank};
use super::quantile::of_sorted;
use super::rank_test::{Stratum, probability_below};
use super::signed_rank::centre_of_ratios;
use super::{CONFIDENCE, Estimate, median};

/// The centre of the ratios of pairs `(of, to)`, with its interval.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios: Option<Vec<f64>> =
        pairs.iter().map(|(of, to)| (*of >= 0.0 && *to > 0.0).then(|| of / to)).collect();
    centre_of_ratios(&ratios?)
}

/// The median of `of` in terms of the median of `to`, with its interval.
#[must_use]
pub fn unpaired_ratio(of: &[f64], to: &[f64]) -> Option<Estimate> {
    if of.iter().any(|value| *value < 0.0) || to.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let value = median(of)? / median(to)?;
    let mut sequence = Sequence::new(SEED, 0);
    let mut drawn = Vec::with_capacity(of.len().max(to.len()));
    let mut ratios = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let of = drawn_median(of, &mut sequence, &mut drawn)?;
        let to = drawn_median(to, &mut sequence, &mut drawn)?;
        ratios.push(of / to);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Estimate {
        value,
        low: of_sorted(&ratios, tail)?,
        high: of_sorted(&ratios, 1.0 - tail)?,
        // No resampling can know more than the range of the values does.
        confidence: CONFIDENCE.min(confidence_of_range(of.len())).min(confidence_of_range(to.len())),
    })
}

/// How many times the second group's values the first's are, in strata that share that ratio, with its interval.
#[must_use]
pub fn stratified_ratio(strata: &[Stratum<'_>]) -> Option<Estimate> {
    let strata: Vec<&Stratum<'_>> =
        strata.iter().filter(|(of, to)| !of.is_empty() && !to.is_empty()).collect();
    let is_ratio = |(of, to): &&Stratum<'_>| of.iter().all(|it| *it >= 0.0) && to.iter().all(|it| *it > 0.0);
    if !strata.iter().all(is_ratio) {
        return None;
    }
    let mut ratios: Vec<f64> = strata
        .iter()
        .flat_map(|(of, to)| of.iter().flat_map(|of| to.iter().map(move |to| of / to)))
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let value = of_sorted(&ratios, 0.5)?;
    let sizes: Vec<(usize, usize)> = strata.iter().map(|(of, to)| (of.len(), to.len())).collect();
    let (k, confidence) = surest_rank(ratios.len(), |k| probability_below(k, &sizes));
    Some(Estimate { value, low: *ratios.get(k - 1)?, high: *ratios.get(ratios.len() - k)?, confidence })
}

/// The median of as many values as there are, drawn with replacement.
fn drawn_median(values: &[f64], sequence: &mut Sequence, drawn: &mut Vec<f64>) -> Option<f64> {
    let n = u32::try_from(values.len()).ok()?;
    drawn.clear();
    for _ in values {
        drawn.push(*values.get(sequence.below(n) as usize)?);
    }
    drawn.sort_unstable_by(f64::total_cmp);
    of_sorted(drawn, 0.5)
}

/// Any; a constant, so that a report made twice is the same twice.
const SEED: u64 = 1;

/// Enough for its tails: 125 of them lie beyond either end of the interval.
const RESAMPLES: usize = 4999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_slow_for_a_while_is_not_seen_in_the_ratio_of_pairs() {
        let pairs = [(2.0, 1.0), (2.2, 1.1), (20.2, 10.0), (1.98, 1.0), (6.03, 3.0), (2.0, 1.0)];
        let ratio = paired_ratio(&pairs).unwrap();
        // python3: the median of the 21 geometric means of 2, 2, 2.02, 1.98, 2.01 and 2; the interval of six values is their range.
        assert!((ratio.value - 2.0).abs() < 1e-12, "{ratio:?}");
        assert!((ratio.low - 1.98).abs() < 1e-12 && (ratio.high - 2.02).abs() < 1e-12, "{ratio:?}");
        assert_eq!(ratio.confidence, 0.96875);
        assert_eq!((paired_ratio(&[]), paired_ratio(&[(1.0, 0.0)])), (None, None));
    }

    #[test]
    fn the_bootstrap_agrees_with_that_of_scipy() {
        let of = [10.1, 12.4, 9.7, 11.3, 13.0, 10.8, 12.9];
        let to = [5.2, 6.1, 4.9, 5.5, 6.6, 5.0];
        let ratio = unpaired_ratio(&of, &to).unwrap();
        // python3, scipy: bootstrap((of, to), lambda x, y, axis: np.median(x, axis=axis) / np.median(y, axis=axis),
        //   method='percentile', n_resamples=1_000_000, random_state=1, vectorized=True).confidence_interval
        for (ours, theirs) in [
            (ratio.value, 2.112149532710281),
            (ratio.low, 1.7121212121212124),
            (ratio.high, 2.5294117647058827),
        ] {
            assert!((ours / theirs - 1.0).abs() < 0.01, "{ratio:?}");
        }
        assert_eq!(ratio.confidence, CONFIDENCE);
        assert_eq!(unpaired_ratio(&of, &to), Some(ratio));
    }

    #[test]
    fn what_cannot_be_divided_has_no_ratio_and_single_values_no_interval() {
        assert_eq!(unpaired_ratio(&[1.0], &[0.0, 2.0]), None);
        assert_eq!(unpaired_ratio(&[], &[1.0]), None);
        let single = unpaired_ratio(&[3.0], &[2.0]).unwrap();
        assert_eq!((single.value, single.low, single.high, single.confidence), (1.5, 1.5, 1.5, 0.0));
    }

    #[test]
    fn the_ratio_of_strata_and_its_interval_are_where_the_test_finds_no_difference() {
        let strata: [Stratum<'_>; 2] =
            [(&[2.1, 2.0, 2.3, 2.2], &[1.0, 1.1, 1.05, 1.2]), (&[20.5, 22.0, 21.0], &[10.0, 9.5, 10.4])];
        let ratio = stratified_ratio(&strata).unwrap();
        // python3, numpy and scipy: the median of all a / b, and from which to which of them r has a p-value above 0.05, of all
        //   choices as in `rank_test`, with mannwhitneyu(a / r, b).statistic
        assert!((ratio.value - 2.05).abs() < 1e-12, "{ratio:?}");
        assert!((ratio.low - 2.2 / 1.2).abs() < 1e-12 && (ratio.high - 2.2).abs() < 1e-12, "{ratio:?}");
        assert!((ratio.confidence - 0.9742857142857143).abs() < 1e-12, "{ratio:?}");
        // Three against three are never sure; four strata of them are.
        let three: Stratum<'_> = (&[2.0, 2.2, 2.4], &[1.0, 1.1, 1.2]);
        assert!((stratified_ratio(&[three]).unwrap().confidence - 0.9).abs() < 1e-12);
        assert!(stratified_ratio(&[three; 4]).unwrap().is_sure());
        // Many are approximated, and as sure.
        let many = stratified_ratio(&[three; 40]).unwrap();
        assert!((0.95..0.96).contains(&many.confidence), "{many:?}");
        assert_eq!(stratified_ratio(&[(&[1.0], &[0.0]), three]), None);
        assert_eq!(stratified_ratio(&[(&[1.0], &[])]), None);
    }
}
