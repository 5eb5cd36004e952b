//! How far the latency policy is from the best fixed setting.
//!
//! ```text
//!  repetition    0       1      2       3      4       5
//!                choose  score  choose  score  choose  score        both: a setting's rate / the policy's, in pairs
//! ```
//! Whoever takes the best of five and tells its rate tells its luck, too: so the best is chosen on one half of the repetitions
//! and scored on the other.
//!
//! Invariants: halves go by the repetition's number, so one that failed moves no other into the other half; a setting that
//! was given up as far from the best (`again`) is not chosen by the few rounds that it has; where one could not be measured at
//! all, nobody knows the best.

use crate::record::{Cell, Metric, Setting};
use crate::results::{Pair, Results};
use crate::stats::{Estimate, paired_ratio};

/// Of a cell of the latency policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Regret {
    /// The best fixed setting.
    pub(super) best: Setting,
    /// Its transactions in terms of the policy's: above 1 the policy takes so many times its time.
    pub(super) ratio: Estimate,
}

impl Regret {
    /// None where a setting could not be measured, or one of the halves has no repetition in which both were.
    pub(super) fn of(results: &Results, cell: &Cell) -> Option<Self> {
        let fixed = FIXED.map(|setting| cell.with(cell.path, setting, cell.tls));
        if fixed.iter().any(|fixed| results.failed().contains(fixed)) {
            return None;
        }
        let halves = fixed.map(|fixed| {
            let pairs = results.pairs(&fixed, cell, Metric::TransactionsPerS);
            let (choosing, scoring): (Vec<Pair>, Vec<Pair>) =
                pairs.into_iter().partition(|pair| pair.repetition % 2 == 0);
            (fixed.setting, choosing, scoring)
        });
        let most = halves.iter().map(|(_, choosing, _)| choosing.len()).max()?;
        let chosen = halves.iter().filter(|(_, choosing, _)| choosing.len() * 2 > most);
        let (_, best, ratio) = chosen
            .filter_map(|(setting, choosing, scoring)| Some((of(choosing)?.value, *setting, of(scoring)?)))
            .max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
        Some(Self { best, ratio })
    }

    /// Whether it is not known yet on which side of a bound it lies.
    pub(super) fn is_open(&self) -> bool {
        !self.ratio.has_interval() || [NEAR, FAR].iter().any(|bound| self.ratio.holds(*bound))
    }
}

fn of(pairs: &[Pair]) -> Option<Estimate> {
    paired_ratio(&pairs.iter().map(|pair| (pair.of, pair.to)).collect::<Vec<_>>())
}

/// Every fixed setting, none among them.
pub(in crate::plan) const FIXED: [Setting; 5] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7)];
/// Most cells must be as near.
pub(super) const NEAR: f64 = 1.05;
/// None may be farther.
pub(super) const FAR: f64 = 1.10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Path;
    use crate::results::fixture;

    fn cell(setting: Setting) -> Cell {
        fixture::cell("1gbit", Path::Wirepress, setting)
    }

    /// Repetitions and rates of each setting.
    fn regret(rates: &[(Setting, &[(u32, f64)])]) -> Option<Regret> {
        let all = rates.iter().flat_map(|(setting, rates)| rates.iter().map(|rate| (*setting, *rate)));
        let mut samples = Vec::new();
        for (setting, (repetition, rate)) in all {
            let mut sample = fixture::sample(&cell(setting), repetition, 1.0);
            sample.metrics.insert(Metric::TransactionsPerS, rate);
            samples.push(sample);
        }
        Regret::of(&Results::of(&fixture::records(samples)), &cell(Setting::Latency))
    }

    #[test]
    fn the_best_is_chosen_on_even_repetitions_and_scored_on_odd_ones_in_pairs() {
        // The machine gets slower; zstd 1 is lucky where it is scored, and none where it is chosen.
        let regret = regret(&[
            (Setting::None, &[(0, 21.0), (1, 8.0), (2, 11.0), (3, 4.0)]),
            (Setting::Zstd(1), &[(0, 19.0), (1, 99.0), (2, 9.0), (3, 99.0)]),
            (Setting::Latency, &[(0, 20.0), (1, 10.0), (2, 10.0), (3, 5.0)]),
        ]);
        let Regret { best, ratio } = regret.unwrap();
        assert_eq!((best, ratio.value, ratio.low, ratio.high), (Setting::None, 0.8, 0.8, 0.8));
        assert_eq!(ratio.confidence, 0.5);
    }

    #[test]
    fn a_repetition_that_failed_moves_no_other_into_the_other_half() {
        let none: Vec<(u32, f64)> = (0..8).map(|repetition| (repetition, 10.0)).collect();
        // Of the odd ones all are twice as slow, and one of the even ones is missing.
        let ours: Vec<(u32, f64)> = [(1, 5.0), (2, 10.0), (3, 5.0), (4, 10.0), (5, 5.0)].into();
        let regret = regret(&[(Setting::None, &none), (Setting::Latency, &ours)]).unwrap();
        assert_eq!((regret.ratio.value, regret.ratio.low), (2.0, 2.0));
    }

    #[test]
    fn what_was_given_up_after_two_rounds_is_not_chosen_by_them() {
        let rounds = |rate: f64| (0..8).map(|repetition| (repetition, rate)).collect::<Vec<_>>();
        let rates = [(Setting::None, rounds(10.0)), (Setting::Latency, rounds(10.0))];
        let given_up = vec![(0, 30.0), (1, 1.0)];
        let all = [&rates[0], &rates[1], &(Setting::Zstd(7), given_up)];
        let regret = regret(&all.map(|(setting, rates)| (*setting, &rates[..]))).unwrap();
        assert_eq!(regret.best, Setting::None);
    }

    #[test]
    fn a_half_without_a_pair_has_no_regret() {
        assert_eq!(regret(&[(Setting::None, &[(0, 1.0)]), (Setting::Latency, &[(0, 1.0)])]), None);
        assert_eq!(regret(&[(Setting::Latency, &[(0, 1.0), (1, 1.0)])]), None);
    }
}
