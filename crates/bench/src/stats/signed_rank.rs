//! The centre of values that lie alike on both sides of it, with its interval: the Wilcoxon signed-rank test's.
//!
//! ```text
//!  ratios of 8 pairs    r1 … r8, and of each two of them the geometric mean, each with itself too: 36 means
//!  sorted               m1  m2  m3  m4  …  m18 │ m19  …  m33  m34  m35  m36
//!                                   └──────────┴───────────┘               m4 to m33 holds the centre in 96.1 %
//! ```
//! The centre is the means' median (Hodges and Lehmann). Of a pair's ratio the logarithm is the difference of two
//! measurements' noise; where both have the same noise it lies alike on both sides, whatever that noise is: tails and two
//! humps included. Then the number of means below the centre has the distribution of Wilcoxon's statistic, and the interval
//! is exact. Of eight to fourteen ratios it is 0.6 to 0.8 times as wide as the median's. A single bad pair moves an end by
//! the square root of its own ratio, and from twelve ratios on not at all. Where only one of the two is disturbed, it is what
//! the ratios lie around, and not their median.
//!
//! Invariants: with fewer than six values the interval is the whole range, as sure as the median's.
//!
//! Source: Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", sections 3.1 to 3.3.

use super::interval::surest_rank;
use super::quantile::of_sorted;
use super::rank_test::lower_tail;
use super::{Estimate, f64_of};

/// The centre of ratios, none of them below 0, with its interval; none of no ratios.
#[must_use]
pub(super) fn centre_of_ratios(ratios: &[f64]) -> Option<Estimate> {
    let until = |last: usize| ratios.iter().take(last + 1);
    let mut means: Vec<f64> =
        ratios.iter().enumerate().flat_map(|(index, a)| until(index).map(move |b| (a * b).sqrt())).collect();
    means.sort_unstable_by(f64::total_cmp);
    let value = of_sorted(&means, 0.5)?;
    let (k, confidence) = surest_rank(means.len(), |k| probability_below(k, ratios.len()));
    Some(Estimate { value, low: *means.get(k - 1)?, high: *means.get(means.len() - k)?, confidence })
}

/// How likely fewer than `k` of the means of `n` values lie below the centre: how likely Wilcoxon's statistic is below `k`.
fn probability_below(k: usize, n: usize) -> f64 {
    let sum = n * (n + 1) / 2;
    if n > EXACT_MAX {
        let variance = f64_of(sum) * f64_of(2 * n + 1) / 12.0;
        return lower_tail(f64_of(sum) / 2.0 - (f64_of(k) - 0.5), variance);
    }
    // How likely each sum of the ranks of those below is: each rank is in it or not.
    let mut sums = vec![0.0; sum + 1];
    if let Some(nothing) = sums.first_mut() {
        *nothing = 1.0;
    }
    for rank in 1..=n {
        for with in (0..=sum).rev() {
            let before =
                with.checked_sub(rank).and_then(|before| sums.get(before)).copied().unwrap_or_default();
            if let Some(probability) = sums.get_mut(with) {
                *probability = f64::midpoint(*probability, before);
            }
        }
    }
    sums.iter().take(k).sum()
}

/// Values up to which the sums are counted.
const EXACT_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::super::CONFIDENCE;
    use super::*;

    #[test]
    fn ranks_and_confidence_are_those_of_wilcoxons_distribution() {
        // python3: all 2^n sums of signed ranks counted; the k are those of the tables (Hollander and Wolfe, A.4, plus 1).
        for (n, k, confidence) in [
            (1, 1, 0.0),
            (2, 1, 0.5),
            (5, 1, 0.9375),
            (6, 1, 0.96875),
            (7, 3, 0.953125),
            (8, 4, 0.9609375),
            (14, 22, 0.950_561_523_437_5),
            (20, 53, 0.951_559_066_772_460_9),
        ] {
            let (our_k, our_confidence) = surest_rank(n * (n + 1) / 2, |k| probability_below(k, n));
            assert_eq!(our_k, k, "{n} values");
            assert!((our_confidence - confidence).abs() < 1e-9, "{n} values: {our_confidence}");
        }
    }

    #[test]
    fn many_values_are_approximated_as_they_are_counted() {
        let rank = |n: usize| surest_rank(n * (n + 1) / 2, |k| probability_below(k, n)).0;
        // python3: as above, by the recurrence.
        assert_eq!((rank(EXACT_MAX), rank(EXACT_MAX + 1)), (649, 673));
    }

    #[test]
    fn the_centre_and_its_interval_are_those_that_were_counted_out() {
        let ratios = [1.02, 0.97, 1.31, 1.04, 0.99, 1.01, 1.05, 0.88];
        let centre = centre_of_ratios(&ratios).unwrap();
        // python3: the median, the 4th and the 33rd of the 36 geometric means.
        for (ours, theirs) in [
            (centre.value, 1.014_839_878_085_808_3),
            (centre.low, 0.942_761_899_951_414),
            (centre.high, 1.155_941_174_973_882_6),
        ] {
            assert!((ours - theirs).abs() < 1e-12, "{centre:?}");
        }
        assert!(centre.confidence >= CONFIDENCE);
        assert_eq!(centre_of_ratios(&[]), None);
        assert_eq!(
            centre_of_ratios(&[0.0, 2.0]).map(|it| (it.low, it.value, it.high)),
            Some((0.0, 0.0, 2.0))
        );
    }
}
