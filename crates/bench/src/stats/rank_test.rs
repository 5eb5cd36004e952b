//! Whether two groups of values differ by more than chance: the Mann-Whitney U test.
//!
//! All values are put in one order, and the ranks of the first group are added up. Were there no difference, every
//! choice of ranks would be as likely as any other; the p-value is the part of the choices whose sum is as far out as
//! the one that was seen. They are counted, ties with their mean ranks included, so that it is exact also for three
//! values; above [`EXACT_MAX`] values the normal approximation with its correction for ties and continuity does.
//!
//! Invariants: only the order of values counts; exchanging the groups changes nothing.
//!
//! Source: Lehmann, "Nonparametrics", chapter 1.

use super::f64_of;

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// U of the first group: in how many pairs of values its own is the larger one; ties count a half.
    pub u: f64,
    /// Both sides: how likely so large a difference is by chance.
    pub p_value: f64,
    /// The least p-value that so many values can have: that of groups which do not overlap.
    pub p_value_min: f64,
}

impl RankTest {
    /// Tests two groups; none where one is empty.
    #[must_use]
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let doubled = doubled_ranks(a, b);
        let sum: usize = doubled.iter().take(a.len()).sum();
        let n = doubled.len();
        let u = f64_of(sum) / 2.0 - f64_of(a.len() * (a.len() + 1)) / 2.0;
        let p_value = if n <= EXACT_MAX {
            exact_p_value(&doubled, a.len(), sum)
        } else {
            normal_p_value(&doubled, a.len(), sum)
        };
        // 2 / (n choose a), multiplied up without the large numbers.
        let p_value_min = (1..=a.len()).fold(2.0, |p, i| p * f64_of(i) / f64_of(b.len() + i)).min(1.0);
        Some(Self { u, p_value, p_value_min })
    }
}

/// Twice the rank of each value, those of `a` first: the mean rank of tied values may be a half.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let same = values.iter().filter(|other| *other == value).count();
            2 * below + same + 1
        })
        .collect()
}

/// Counts the choices of `chosen` ranks by their sum.
fn exact_p_value(doubled: &[usize], chosen: usize, seen: usize) -> f64 {
    let total: usize = doubled.iter().sum();
    // ways[k][s]: in how many ways k of the ranks looked at so far add up to s.
    let mut ways = vec![vec![0.0f64; total + 1]; chosen + 1];
    if let Some(nothing) = ways.first_mut().and_then(|sums| sums.first_mut()) {
        *nothing = 1.0;
    }
    for rank in doubled {
        for k in (1..=chosen).rev() {
            let (fewer, these) = ways.split_at_mut(k);
            let (Some(fewer), Some(these)) = (fewer.last(), these.first_mut()) else { continue };
            for (way, before) in these.iter_mut().skip(*rank).zip(fewer) {
                *way += before;
            }
        }
    }
    let Some(sums) = ways.last() else { return 1.0 };
    let all: f64 = sums.iter().sum();
    let lower: f64 = sums.iter().take(seen + 1).sum();
    let upper: f64 = sums.iter().skip(seen).sum();
    (2.0 * lower.min(upper) / all).min(1.0)
}

fn normal_p_value(doubled: &[usize], chosen: usize, seen: usize) -> f64 {
    let n = f64_of(doubled.len());
    let (a, b) = (f64_of(chosen), n - f64_of(chosen));
    // A value in a tie of t sees t - 1 others: the sum of t^2 - 1 over values is that of t^3 - t over ties.
    let ties: f64 = doubled
        .iter()
        .map(|rank| {
            let t = f64_of(doubled.iter().filter(|other| *other == rank).count());
            t.mul_add(t, -1.0)
        })
        .sum();
    let variance = a * b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    let distance = (f64_of(seen) / 2.0 - a * (n + 1.0) / 2.0).abs();
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance - 0.5).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// The complementary error function for `x` not below 0, to 1.2e-7 of its value: the Chebyshev fit in Press et al.,
/// "Numerical Recipes", section 6.2.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / x.mul_add(0.5, 1.0);
    let polynomial = CHEBYSHEV.iter().rev().fold(0.0, |sum: f64, factor| sum.mul_add(t, *factor));
    t * (-x).mul_add(x, polynomial).exp()
}

/// Of the fit in [`erfc`], from the constant on.
const CHEBYSHEV: [f64; 10] = [
    -1.265_512_23,
    1.000_023_68,
    0.374_091_96,
    0.096_784_18,
    -0.186_288_06,
    0.278_868_07,
    -1.135_203_98,
    1.488_515_87,
    -0.822_152_23,
    0.170_872_77,
];

/// Values of both groups together up to which the choices are counted: a few million additions at most.
const EXACT_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_test(a: &[f64], b: &[f64], u: f64, p_value: f64) {
        let test = RankTest::of(a, b).unwrap();
        assert_eq!(test.u, u);
        assert!((test.p_value - p_value).abs() < 1e-6, "{test:?}");
        let other_way = RankTest::of(b, a).unwrap();
        assert!((test.p_value - other_way.p_value).abs() < 1e-12, "{other_way:?}");
    }

    #[test]
    fn small_groups_are_counted_out() {
        // python3, scipy: mannwhitneyu(a, b, alternative='two-sided', method='exact')
        assert_test(&[1.1, 2.2, 3.3, 9.9, 4.4], &[2.5, 5.5, 6.6, 7.7, 8.8, 1.0], 12.0, 0.6623376623376623);
        assert_test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.0, 0.1);
        let separate = RankTest::of(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]).unwrap();
        assert!((separate.p_value - separate.p_value_min).abs() < 1e-12, "{separate:?}");
    }

    #[test]
    fn ties_are_counted_with_their_mean_ranks() {
        // python3, scipy: permutation_test((a, b), lambda x, y, axis: mannwhitneyu(x, y, axis=axis,
        //   method='asymptotic').statistic, n_resamples=np.inf, vectorized=True, alternative='two-sided')
        let (a, b) = ([1.0, 2.0, 2.0, 3.0, 5.0, 8.0], [2.0, 3.0, 4.0, 4.0, 9.0]);
        assert_test(&a, &b, 10.5, 0.46320346320346323);
        assert_test(&[1.0, 1.0], &[1.0, 1.0, 1.0], 3.0, 1.0);
    }

    #[test]
    fn large_groups_are_approximated() {
        // python3, scipy: mannwhitneyu(a, b, alternative='two-sided', method='asymptotic') with
        //   a = [((i * 7) % 31) // 2 + 0.0 for i in range(40)], b = [((i * 11) % 37) // 2 + 1.0 for i in range(35)]
        let a: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 31 / 2)).collect();
        let b: Vec<f64> = (0..35).map(|i| f64::from(i * 11 % 37 / 2 + 1)).collect();
        assert_test(&a, &b, 516.5, 0.051604597407611814);
        assert_eq!(RankTest::of(&[], &[1.0]), None);
    }
}
