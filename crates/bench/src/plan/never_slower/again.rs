//! Which cells are measured again.
//!
//! ```text
//!  every setting            2 rounds
//!  what may be the best     8 rounds: none, the policy, direct, and fixed settings within 15 % of the best
//!  the same, if undecided   six rounds at a time, at most 38, at laptop scale 14; none and the policy alone where nothing else is
//! ```
//! A setting that is far from the best in every round can't be what the policy is held against, and a cell whose intervals are
//! narrow enough is not made truer by more of it. So a full run takes hours and not days. Against none it is how wide an
//! interval is that ends it, never where it lies: a cell that violates is measured until it is decided, like any other. Only the
//! regret's interval is looked at for where it lies: as long as one of the bounds that are asked about is inside it.
//!
//! Invariants: depends on the results alone, so an interrupted run goes on; rounds go by their numbers, so one that failed is
//! neither asked for for ever nor keeps others from theirs.

use std::collections::BTreeMap;

use super::regret::FIXED;
use super::verdict::Verdict;
use super::{Comparison, together};
use crate::plan::{Batch, Step};
use crate::record::{Cell, Metric, Setting};
use crate::results::{Pair, Results, uncompressed};

/// The next rounds, behind the `first` ones of everything.
pub(super) fn batch(comparisons: Vec<Comparison>, results: &Results, first: u32, rounds_max: u32) -> Batch {
    let verdict = Verdict::of(results);
    let wants_more = |cell: &Cell| results.rounds(cell) < ROUNDS_MIN || verdict.is_open(cell);
    let open: Vec<Comparison> =
        comparisons.into_iter().filter(|comparison| wants_more(&comparison.latency)).collect();
    let rounds =
        |it: &Comparison| results.rounds(&it.latency).min(results.rounds(&uncompressed(&it.latency)));
    let least = open.iter().map(rounds).min().unwrap_or(0).max(first);
    // Where an interrupted batch began.
    let start = first + (least - first) / ROUNDS * ROUNDS;
    if start + ROUNDS > rounds_max {
        return Batch::default();
    }
    let steps = open.into_iter().flat_map(|comparison| wanted(comparison, results, &verdict));
    Batch { steps: together(steps), repetitions: start..start + ROUNDS }
}

/// Without the fixed settings that can't be the best: those that were far from it in every round; or, where it is known how far
/// the best is, all of them but none.
fn wanted(
    Comparison { latency, steps }: Comparison,
    results: &Results,
    verdict: &Verdict,
) -> impl Iterator<Item = Step> {
    let is_scored = results.rounds(&latency) >= ROUNDS_MIN && !verdict.has_open_regret(&latency);
    let fixed = FIXED.map(|setting| latency.with(latency.path, setting, latency.tls));
    let mut best = BTreeMap::<u32, f64>::new();
    for pair in fixed.iter().flat_map(|cell| results.pairs(cell, cell, RATE)) {
        let most = best.entry(pair.repetition).or_insert(pair.of);
        *most = most.max(pair.of);
    }
    let is_far = |cell: &Cell| {
        let rounds = results.pairs(cell, cell, RATE);
        let is_near = |pair: &Pair| best.get(&pair.repetition).is_none_or(|best| pair.of >= best * NEAR);
        rounds.len() >= ROUNDS_FAR_MIN && !rounds.iter().any(is_near)
    };
    let far: Vec<Cell> =
        fixed.iter().filter(|cell| cell.setting != Setting::None && is_far(cell)).cloned().collect();
    let is_verdicts = move |cell: &Cell| *cell == latency || *cell == uncompressed(&latency);
    let is_left_out = move |cell: &Cell| far.contains(cell) || (is_scored && !is_verdicts(cell));
    steps.into_iter().filter(move |step| !is_left_out(&step.cell))
}

const RATE: Metric = Metric::TransactionsPerS;
/// In terms of the best's transactions.
const NEAR: f64 = 0.85;
/// One round may be bad luck.
const ROUNDS_FAR_MIN: usize = 2;
const ROUNDS: u32 = 6;
const ROUNDS_MIN: u32 = 8;
pub(super) const ROUNDS_MAX: u32 = 38;
/// An hour should have room for no more: a step of the plan's links takes two seconds (reckoned, not measured).
pub(super) const ROUNDS_MAX_LAPTOP: u32 = 14;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Job, Statement, Statements};
    use crate::record::{Path, Sample};
    use crate::results::fixture;
    use crate::table::{Kind, Table};

    fn comparison(link: &str) -> Comparison {
        let job = Job::Statements(Statements {
            statement: Statement::PointSelect,
            table: Table::generated(Kind::Sysbench, "sbtest1", 10, 1),
            threads: 1,
            time: std::time::Duration::from_secs(1),
            beside_large_rows: false,
        });
        let steps = super::super::SETTINGS
            .map(|setting| Step::new(fixture::cell(link, Path::Wirepress, setting), job.clone()));
        Comparison { latency: fixture::cell(link, Path::Wirepress, Setting::Latency), steps: steps.into() }
    }

    /// Of each link and setting the transactions of its rounds; fixed settings that are not told of are far from the best.
    fn next(told: &[(&str, Setting, &[f64])]) -> (Vec<String>, std::ops::Range<u32>) {
        let mut values = told.to_vec();
        for (link, ..) in told {
            for setting in FIXED {
                if !values.iter().any(|(of, other, _)| of == link && *other == setting) {
                    values.push((link, setting, &[1.0, 1.0]));
                }
            }
        }
        let samples = values.iter().flat_map(|(link, setting, rates)| {
            let cell = fixture::cell(link, Path::Wirepress, *setting);
            rates.iter().map(move |rate| (cell.clone(), RATE, *rate))
        });
        let results = Results::of(&fixture::records_of(samples));
        let mut links: Vec<&str> = told.iter().map(|(link, ..)| *link).collect();
        links.dedup();
        let batch = batch(links.into_iter().map(comparison).collect(), &results, 2, ROUNDS_MAX);
        let told = batch.steps.iter().map(|step| format!("{} {}", step.cell.link, step.cell.setting));
        (told.collect(), batch.repetitions)
    }

    #[test]
    fn behind_the_first_rounds_only_settings_near_the_best_go_on() {
        let (steps, rounds) = next(&[
            ("1gbit", Setting::None, &[100.0, 101.0]),
            ("1gbit", Setting::Zlib, &[10.0, 11.0]),
            ("1gbit", Setting::Zstd(1), &[95.0, 96.0]),
            ("1gbit", Setting::Zstd(3), &[80.0, 81.0]),
            ("1gbit", Setting::Zstd(7), &[5.0, 5.0]),
            ("1gbit", Setting::Latency, &[100.0, 100.0]),
        ]);
        assert_eq!(rounds, 2..8);
        assert_eq!(steps, ["1gbit none", "1gbit zstd 1", "1gbit latency"]);
    }

    #[test]
    fn a_cell_is_measured_until_it_is_decided() {
        let steady = [100.0, 100.1, 100.0, 100.1, 100.0, 100.1, 100.0, 100.1];
        let noisy = [100.0, 120.0, 90.0, 115.0, 80.0, 100.0, 120.0, 95.0];
        let (steps, rounds) = next(&[
            ("1gbit", Setting::None, &steady),
            ("1gbit", Setting::Latency, &steady),
            ("10mbit", Setting::None, &steady),
            ("10mbit", Setting::Latency, &noisy),
        ]);
        assert_eq!(rounds, 8..14);
        assert_eq!(steps, ["10mbit none", "10mbit latency"]);
        let (steps, _) = next(&[("1gbit", Setting::None, &steady), ("1gbit", Setting::Latency, &steady)]);
        assert!(steps.is_empty(), "{steps:?}");
        // It is known how far the best is, and not whether none is as fast.
        let better = steady.map(|rate| rate * 1.02);
        let (steps, _) = next(&[
            ("10mbit", Setting::None, &noisy),
            ("10mbit", Setting::Zstd(1), &better),
            ("10mbit", Setting::Latency, &steady),
        ]);
        assert_eq!(steps, ["10mbit none", "10mbit latency"]);
        // Interrupted within its rounds.
        let (steps, rounds) =
            next(&[("10mbit", Setting::None, &noisy[..5]), ("10mbit", Setting::Latency, &noisy[..5])]);
        assert_eq!((steps.len(), rounds), (2, 2..8));
        // It surely violates, and by how much is not known.
        let slower = noisy.map(|rate| rate / 2.0);
        let (steps, _) = next(&[("10mbit", Setting::None, &steady), ("10mbit", Setting::Latency, &slower)]);
        assert_eq!(steps, ["10mbit none", "10mbit latency"]);
        let long: Vec<f64> = noisy.iter().copied().cycle().take(38).collect();
        let (steps, _) =
            next(&[("10mbit", Setting::None, &long), ("10mbit", Setting::Latency, &slower_by_turns(&long))]);
        assert!(steps.is_empty(), "more than 38 rounds: {steps:?}");
        assert_eq!([8, 14].map(|rounds| goes_on_at(rounds, ROUNDS_MAX_LAPTOP, |_| true)), [8..14, 0..0]);
    }

    fn slower_by_turns(rates: &[f64]) -> Vec<f64> {
        rates.iter().zip([1.0, 2.0, 4.0].into_iter().cycle()).map(|(rate, by)| rate / by).collect()
    }

    /// Where the rounds go on, of noisy rates with the samples that are `kept`.
    fn goes_on_at(rounds: usize, rounds_max: u32, is_kept: impl Fn(&Sample) -> bool) -> std::ops::Range<u32> {
        let noisy: Vec<f64> = [100.0, 120.0, 90.0, 115.0, 80.0].into_iter().cycle().take(rounds).collect();
        let cell = |setting| fixture::cell("1gbit", Path::Wirepress, setting);
        let of = |setting, rates: Vec<f64>| rates.into_iter().map(move |rate| (cell(setting), RATE, rate));
        let all = of(Setting::None, noisy.clone()).chain(of(Setting::Latency, slower_by_turns(&noisy)));
        let mut records = fixture::records_of(all);
        records.samples.retain(is_kept);
        batch(vec![comparison("1gbit")], &Results::of(&records), 2, rounds_max).repetitions
    }

    #[test]
    fn a_round_that_failed_keeps_nothing_from_later_ones() {
        let is_kept = |sample: &Sample| sample.repetition != 3 || sample.cell.setting != Setting::Latency;
        assert_eq!(
            [8, 14, 20, 32, 38].map(|rounds| goes_on_at(rounds, ROUNDS_MAX, is_kept)),
            [8..14, 14..20, 20..26, 32..38, 0..0]
        );
    }

    #[test]
    fn a_half_done_last_round_is_completed() {
        let is_kept = |sample: &Sample| sample.repetition != 7 || sample.cell.setting != Setting::None;
        assert_eq!(goes_on_at(8, ROUNDS_MAX, is_kept), 2..8);
    }

    #[test]
    fn one_disturbed_round_does_not_lose_what_may_be_the_best() {
        let (steps, _) = next(&[
            ("1gbit", Setting::None, &[100.0, 100.0]),
            ("1gbit", Setting::Zlib, &[80.0, 70.0]),
            ("1gbit", Setting::Zstd(1), &[120.0, 60.0]),
            ("1gbit", Setting::Zstd(3), &[]),
            ("1gbit", Setting::Latency, &[100.0, 100.0]),
        ]);
        // Of what was never measured nothing is known.
        assert_eq!(steps, ["none", "zstd 1", "zstd 3", "latency"].map(|it| format!("1gbit {it}")));
    }

    #[test]
    fn a_cell_is_measured_until_its_regret_is_on_one_side_of_what_is_asked_about() {
        let ours = [100.0; 8];
        let next_of = |best: &[f64; 8]| {
            let (steps, _) = next(&[
                ("1gbit", Setting::None, &ours),
                ("1gbit", Setting::Zstd(1), best),
                ("1gbit", Setting::Latency, &ours),
            ]);
            steps.len()
        };
        // What was measured in odd rounds is the score.
        let scored = |odd: [f64; 4]| {
            let [a, b, c, d] = odd;
            [103.0, a, 103.0, b, 103.0, c, 103.0, d]
        };
        assert_eq!(next_of(&scored([104.0, 103.0, 104.5, 103.0])), 0);
        assert_eq!(next_of(&scored([104.0, 103.0, 106.0, 104.0])), 3);
        assert_eq!(next_of(&scored([106.0, 107.0, 109.0, 108.0])), 0);
        assert_eq!(next_of(&scored([109.0, 111.0, 109.0, 108.0])), 3);
    }
}
