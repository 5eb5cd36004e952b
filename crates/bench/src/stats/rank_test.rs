//! Whether two groups of values differ by more than chance: the Mann-Whitney U test, also stratified.
//!
//! All values are put in one order, and the ranks of the first group are added up. Were there no difference, every
//! choice of ranks would be as likely as any other; the p-value is the part of the choices whose sum is as far out as
//! the one that was seen. They are counted, ties with their mean ranks included, so that it is exact also for three
//! values; above [`EXACT_MAX`] values the normal approximation with its correction for ties and continuity does.
//!
//! ```text
//!  stratum   direct, zlib, 1 thread    a1 a2 a3 │ b1 b2 b3   U1 ─┐
//!            direct, zlib, 8 threads   a1 a2 a3 │ b1 b2 b3   U2 ─┼▶ U = U1 + U2 + U3
//!            direct, zlib, 64 threads  a1 a2 a3 │ b1 b2 b3   U3 ─┘
//! ```
//! In strata, values are ranked within their own stratum only, and the sums are added: what differs a little everywhere is
//! found where no stratum alone has values enough. Strata of the same size make it van Elteren's test.
//!
//! Invariants: only the order of values within a stratum counts; exchanging the groups changes nothing.
//!
//! Source: Lehmann, "Nonparametrics", chapter 1, and section 3.3 for strata; van Elteren, "On the combination of independent
//! two sample tests of Wilcoxon", Bull. Int. Stat. Inst. 37 (1960).

use super::f64_of;

/// The first group's values and the second's, of one stratum.
pub type Stratum<'a> = (&'a [f64], &'a [f64]);

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// U of the first group: in how many pairs of values its own is the larger one; ties count a half.
    pub u: f64,
    /// What U is on average where there is no difference: half of the pairs.
    pub u_mean: f64,
    /// Both sides: how likely so large a difference is by chance.
    pub p_value: f64,
    /// The least p-value that so many values can have: that of groups which do not overlap.
    pub p_value_min: f64,
}

impl RankTest {
    /// Tests two groups; none where one is empty.
    #[must_use]
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        Self::of_strata(&[(a, b)])
    }

    /// Tests two groups in strata; none where one is empty in all. A stratum that one of them has no value of says nothing.
    #[must_use]
    pub fn of_strata(strata: &[Stratum<'_>]) -> Option<Self> {
        let ranked: Vec<Ranked> = strata
            .iter()
            .filter(|(a, b)| !a.is_empty() && !b.is_empty())
            .map(|(a, b)| Ranked { doubled: doubled_ranks(a, b), chosen: a.len() })
            .collect();
        if ranked.is_empty() {
            return None;
        }
        let seen: usize = ranked.iter().map(Ranked::seen).sum();
        let least: usize = ranked.iter().map(|it| it.chosen * (it.chosen + 1)).sum();
        let pairs: usize = ranked.iter().map(|it| it.chosen * (it.doubled.len() - it.chosen)).sum();
        Some(Self {
            u: (f64_of(seen) - f64_of(least)) / 2.0,
            u_mean: f64_of(pairs) / 2.0,
            p_value: if ranked.iter().map(|it| it.doubled.len()).sum::<usize>() <= EXACT_MAX {
                exact_p_value(&ranked, seen)
            } else {
                normal_p_value(&ranked, seen)
            },
            p_value_min: Self::least_p_value(
                ranked.iter().map(|it| (it.chosen, it.doubled.len() - it.chosen)),
            ),
        })
    }

    /// The least p-value that strata of so many values can have: 2 in all the choices there are.
    #[must_use]
    pub fn least_p_value(sizes: impl Iterator<Item = (usize, usize)>) -> f64 {
        // 1 / (n choose a), multiplied up without the large numbers.
        let one = |(a, b): (usize, usize)| (1..=a).fold(1.0, |p, i| p * f64_of(i) / f64_of(b + i));
        (2.0 * sizes.map(one).product::<f64>()).min(1.0)
    }
}

/// The ranks of a stratum.
struct Ranked {
    /// Twice the rank of each value, those of the first group first.
    doubled: Vec<usize>,
    /// Values of the first group.
    chosen: usize,
}

impl Ranked {
    /// The sum of the first group's.
    fn seen(&self) -> usize {
        self.doubled.iter().take(self.chosen).sum()
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

/// The part of all choices that is as far out, on the side that is less likely, and as much for the other side.
fn exact_p_value(ranked: &[Ranked], seen: usize) -> f64 {
    let sums = ranked.iter().fold(vec![1.0], |sums, it| convolved(&sums, &rank_sums(&it.doubled, it.chosen)));
    let lower: f64 = sums.iter().take(seen + 1).sum();
    let upper: f64 = sums.iter().skip(seen).sum();
    (2.0 * lower.min(upper)).min(1.0)
}

/// How likely each sum of two is, by how likely those of the one and of the other are.
fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (offset, of_a) in a.iter().enumerate().filter(|(_, of_a)| **of_a > 0.0) {
        for (sum, of_b) in sums.iter_mut().skip(offset).zip(b) {
            *sum += of_a * of_b;
        }
    }
    sums
}

/// How likely each sum of `chosen` ranks is, where every choice is as likely as any other.
fn rank_sums(doubled: &[usize], chosen: usize) -> Vec<f64> {
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
    let mut sums = ways.pop().unwrap_or_default();
    let all: f64 = sums.iter().sum();
    sums.iter_mut().for_each(|ways| *ways /= all);
    sums
}

/// How likely U is below `k` where there is no difference and no tie.
pub(super) fn probability_below(k: usize, sizes: &[(usize, usize)]) -> f64 {
    let untied: Vec<Ranked> = sizes
        .iter()
        .map(|(a, b)| Ranked { doubled: (1..=a + b).map(|rank| 2 * rank).collect(), chosen: *a })
        .collect();
    let least: usize = untied.iter().map(Ranked::seen).sum();
    if sizes.iter().map(|(a, b)| a + b).sum::<usize>() <= EXACT_MAX {
        let sums =
            untied.iter().fold(vec![1.0], |sums, it| convolved(&sums, &rank_sums(&it.doubled, it.chosen)));
        return sums.iter().take(least + 2 * k).sum();
    }
    let distance = sizes.iter().map(|(a, b)| f64_of(a * b)).sum::<f64>() / 2.0 - (f64_of(k) - 0.5);
    lower_tail(distance, untied.iter().map(variance).sum())
}

/// How likely a normal variable lies so far below its mean; of a distance below 0 as of 0.
pub(super) fn lower_tail(distance: f64, variance: f64) -> f64 {
    erfc(distance.max(0.0) / (2.0 * variance).sqrt()) / 2.0
}

fn normal_p_value(ranked: &[Ranked], seen: usize) -> f64 {
    let mean: f64 = ranked.iter().map(|it| f64_of(it.chosen * (it.doubled.len() + 1)) / 2.0).sum();
    let variance: f64 = ranked.iter().map(variance).sum();
    let distance = (f64_of(seen) / 2.0 - mean).abs();
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance - 0.5).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// Of the sum of the first group's ranks, where there is no difference.
fn variance(ranked: &Ranked) -> f64 {
    let n = f64_of(ranked.doubled.len());
    let (a, b) = (f64_of(ranked.chosen), n - f64_of(ranked.chosen));
    // A value in a tie of t sees t - 1 others: the sum of t^2 - 1 over values is that of t^3 - t over ties.
    let ties: f64 = ranked
        .doubled
        .iter()
        .map(|rank| {
            let t = f64_of(ranked.doubled.iter().filter(|other| *other == rank).count());
            t.mul_add(t, -1.0)
        })
        .sum();
    a * b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)))
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

    #[test]
    fn strata_add_up_and_find_what_none_of_them_could_alone() {
        // python3, scipy: the part of itertools.product(*(combinations(range(6), 3) for _ in strata)) whose
        //   sum(mannwhitneyu(a, b).statistic for a, b in strata) is as far out, times 2
        let strata: [Stratum<'_>; 3] = [
            (&[1.0, 2.0, 3.0], &[2.5, 4.0, 5.0]),
            (&[10.0, 12.0, 11.0], &[13.0, 10.5, 15.0]),
            (&[0.5, 0.6, 0.7], &[0.8, 0.9, 0.65]),
        ];
        let test = RankTest::of_strata(&strata).unwrap();
        assert_eq!((test.u, test.u_mean), (4.0, 13.5));
        assert!((test.p_value - 0.02).abs() < 1e-12, "{test:?}");
        assert!((test.p_value_min - 2.0 / 8000.0).abs() < 1e-15, "{test:?}");
        let singly = strata.map(|(a, b)| RankTest::of(a, b).unwrap().p_value);
        assert!(singly.iter().all(|p_value| *p_value >= 0.1), "{singly:?}");
        // A stratum of one group alone says nothing.
        let with_empty: Vec<_> = strata.into_iter().chain([(&[9.0][..], &[][..])]).collect();
        assert_eq!(RankTest::of_strata(&with_empty), Some(test));
        assert_eq!(RankTest::of_strata(&[]), None);
    }

    #[test]
    fn many_strata_are_approximated() {
        // python3, scipy: 2 * norm.sf((abs(sum(u) - sum(n * m / 2)) - .5) / sqrt(sum(n * m / 12 * (n + m + 1) * tiecorrect(rankdata(all)))))
        //   with a = [(i * 7 + s) % 23 for i in range(5)], b = [(i * 11 + s) % 31 + 3 for i in range(4)] for s in range(9)
        let strata: Vec<(Vec<f64>, Vec<f64>)> = (0..9)
            .map(|s| {
                let a = (0..5).map(|i| f64::from((i * 7 + s) % 23)).collect();
                (a, (0..4).map(|i| f64::from((i * 11 + s) % 31 + 3)).collect())
            })
            .collect();
        let strata: Vec<Stratum<'_>> = strata.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        let test = RankTest::of_strata(&strata).unwrap();
        assert_eq!(test.u, 60.0);
        assert!((test.p_value - 0.015140884783302484).abs() < 1e-6, "{test:?}");
    }
}
