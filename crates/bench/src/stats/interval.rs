//! The confidence interval of a median, from two of the values themselves.
//!
//! ```text
//!  sorted   x1  x2  x3  x4  x5  x6  x7  x8        n = 8
//!               └───────────────────┘             x2 to x7 holds the median in 93.0 % of all cases: too few
//!           └───────────────────────────┘         x1 to x8 in 99.2 %: this one
//! ```
//! Each value lies below the true median with probability 1/2, whatever the distribution. So the number of values below
//! is binomial, and the probability that the median lies between the k-th value from below and the k-th from above is
//! `1 - 2 P(Bin(n, 1/2) < k)`. The largest k that leaves at least 95 % is taken. This is exact for every distribution
//! and every n, which a bootstrap is not: of five values it knows the five values and takes their tails for the truth.
//! The price is an interval that is a little wide.
//!
//! Invariants: with fewer than six values no k reaches 95 %; then it is the whole range, with the confidence that this
//! has (five values 93.75 %, three 75 %, one none).
//!
//! Source: Conover, "Practical Nonparametric Statistics", section 3.2.

use super::quantile::of_sorted;
use super::{CONFIDENCE, Estimate, ROUNDING, f64_of};

/// The median with its interval.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let value = of_sorted(&sorted, 0.5)?;
    let (k, confidence) = rank_and_confidence(sorted.len());
    let low = *sorted.get(k - 1)?;
    let high = *sorted.get(sorted.len() - k)?;
    Some(Estimate { value, low, high, confidence })
}

/// How surely the whole range of so many values holds the median.
pub(super) fn confidence_of_range(n: usize) -> f64 {
    confidence(probability_below(1, n))
}

/// Of the interval from the k-th of so many numbers from below to the k-th from above: the largest k, from 1, that is sure
/// enough, and how sure it is; `probability_below` tells how likely fewer than k of the numbers lie below what it shall hold.
/// There is a number.
pub(super) fn surest_rank(count: usize, probability_below: impl Fn(usize) -> f64) -> (usize, f64) {
    let confidence = |k| confidence(probability_below(k));
    // Confidence falls with k, so that the last one that is sure is found by halves.
    let (mut sure, mut unsure) = (1, count.div_ceil(2) + 1);
    while unsure - sure > 1 {
        let middle = usize::midpoint(sure, unsure);
        if confidence(middle) + ROUNDING >= CONFIDENCE {
            sure = middle;
        } else {
            unsure = middle;
        }
    }
    (sure, confidence(sure))
}

/// Of an interval beyond either end of which what it shall hold lies with this probability.
fn confidence(probability_below: f64) -> f64 {
    2.0f64.mul_add(-probability_below, 1.0).max(0.0)
}

/// Of a median's interval. `n` is not 0.
fn rank_and_confidence(n: usize) -> (usize, f64) {
    surest_rank(n, |k| probability_below(k, n))
}

/// `P(Bin(n, 1/2) < k)`.
fn probability_below(k: usize, n: usize) -> f64 {
    // ln(n choose i) - n ln 2: the powers themselves would be 0 for n above 1074.
    let mut log_probability = -f64_of(n) * std::f64::consts::LN_2;
    let mut below = 0.0;
    for i in 0..k {
        below += log_probability.exp();
        log_probability += (f64_of(n - i) / f64_of(i + 1)).ln();
    }
    below
}

#[cfg(test)]
mod tests {
    use super::super::SURE_MIN;
    use super::*;

    #[test]
    fn ranks_and_confidence_are_those_of_the_binomial_distribution() {
        // python3, scipy 1.17: [(n, max([k for k in range(1, (n+1)//2+1) if 1-2*binom.cdf(k-1, n, .5) >= .95] or [1]))]
        //   for n in (…)], and 1-2*binom.cdf(k-1, n, .5) of that k.
        for (n, k, confidence) in [
            (1, 1, 0.0),
            (2, 1, 0.5),
            (3, 1, 0.75),
            (5, 1, 0.9375),
            (6, 1, 0.96875),
            (8, 1, 0.9921875),
            (9, 2, 0.9609375),
            (20, 6, 0.9586105346679688),
            (100, 40, 0.9647997997822952),
            (2000, 956, 0.9534471795082164),
        ] {
            let (our_k, our_confidence) = rank_and_confidence(n);
            assert_eq!(our_k, k, "{n} values");
            assert!((our_confidence - confidence).abs() < 1e-9, "{n} values: {our_confidence}");
        }
    }

    #[test]
    fn the_interval_is_made_of_values_in_whatever_order_they_come() {
        let values = [7.0, 1.0, 9.0, 3.0, 5.0, 2.0, 8.0, 4.0, 6.0];
        let estimate = median_interval(&values).unwrap();
        assert_eq!((estimate.value, estimate.low, estimate.high), (5.0, 2.0, 8.0));
        assert_eq!(median_interval(&[]), None);
        let single = median_interval(&[4.0]).unwrap();
        assert_eq!((single.value, single.low, single.high, single.confidence), (4.0, 4.0, 4.0, 0.0));
        assert!(!single.has_interval());
    }

    #[test]
    fn five_values_are_not_sure_and_six_are() {
        let values = [7.0, 1.0, 9.0, 3.0, 5.0, 2.0];
        let is_sure = |n: usize| median_interval(&values[..n]).unwrap().is_sure();
        assert_eq!([1, 2, SURE_MIN - 1, SURE_MIN].map(is_sure), [false, false, false, true]);
    }
}
