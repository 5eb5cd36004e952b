//! Two runs, cell by cell: what became faster, what slower, what cannot be told.
//!
//! ```text
//!  run A ─┐                 ratio of medians B / A, with its interval (bootstrap)
//!         ├▶ common cells ─▶ p-value (Mann-Whitney)
//!  run B ─┘  │              adjusted for the number of cells (Benjamini-Hochberg) ─▶ verdict
//!            └ by path and setting ─▶ the same of all of them together, stratified by cell
//! ```
//! A is the older run, B the newer; `faster` means that B is. Runs have no pairs: the machine may have been another
//! one, or in another mood, and no statistics see that. So what differs besides is told first.
//!
//! The plan's first metric is adjusted by itself; its other columns, of which there are many, are by all of theirs.
//!
//! Not here: what differs besides (`caveat`), what could be found at all (`reach`), verdicts (`compared`), tables (`text`),
//! cells within one run (`results`).

mod caveat;
mod compared;
mod reach;
mod text;

pub use compared::{ComparedCell, ComparedGroup, Verdict};

use crate::plan;
use crate::record::{Cell, Metric, Records};
use crate::report::number::{date, printable};
use crate::results::{Results, in_display_order};

/// What changed from one run to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The first run in a line: plan, date, version.
    pub a: String,
    /// The second run in a line.
    pub b: String,
    /// What the plan is about.
    pub metric: Metric,
    /// Cells of both runs by that metric, in the order of tables.
    pub cells: Vec<ComparedCell>,
    /// Cells of both runs by the plan's other columns, column by column.
    pub others: Vec<ComparedCell>,
    /// All cells of a path and a setting together, by all of these metrics.
    pub groups: Vec<ComparedGroup>,
    /// Cells that only the first run has.
    pub only_in_a: Vec<Cell>,
    /// Cells that only the second run has.
    pub only_in_b: Vec<Cell>,
    /// What differs besides, a sentence each.
    pub caveats: Vec<String>,
    /// What could be found with so many repetitions, a sentence for each number of them.
    pub reach: Vec<String>,
}

/// Compares the columns of the first run's plan, or what was measured where this version does not know it.
#[must_use]
pub fn compare(a: &Records, b: &Records) -> Comparison {
    let (of_a, of_b) = (Results::of(a), Results::of(b));
    let plan = plan::named(&a.run.plan);
    let metric = plan.map_or_else(|| crate::report::usual_primary(&of_a), |plan| plan.primary());
    let measured = of_a.metrics();
    let columns = plan.map_or(measured.as_slice(), |plan| plan.columns());
    // How much was done in the time says nothing that the time does not.
    let others = columns.iter().filter(|other| ![metric, Metric::Count].contains(other));
    let others: Vec<Metric> = others.copied().collect();
    let has = |results: &Results, cell: &Cell| !results.values(cell, metric).is_empty();
    let all = in_display_order(of_a.cells().iter().chain(of_b.cells()));
    let (common, single): (Vec<Cell>, Vec<Cell>) =
        all.into_iter().partition(|cell| has(&of_a, cell) && has(&of_b, cell));
    let (only_in_a, only_in_b) = single.into_iter().partition(|cell| has(&of_a, cell));
    let cells = compared::cells(&of_a, &of_b, &common, &[metric]);
    let metrics: Vec<Metric> = std::iter::once(metric).chain(others.iter().copied()).collect();
    Comparison {
        a: in_a_line(a),
        b: in_a_line(b),
        metric,
        reach: reach::reach(&cells),
        cells,
        others: compared::cells(&of_a, &of_b, &common, &others),
        groups: compared::groups(&of_a, &of_b, &common, &metrics),
        only_in_a,
        only_in_b,
        caveats: caveat::caveats(a, b),
    }
}

impl Comparison {
    /// Cells with this verdict, by the plan's first metric.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().filter(|cell| cell.verdict == verdict).count()
    }
}

fn in_a_line(records: &Records) -> String {
    let run = &records.run;
    printable(&format!("{}, {}, wirepress {}", run.plan, date(run.started_unix_s), run.wirepress))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Setting};
    use crate::results::fixture::{cell, records, sample, scans};

    fn run(setting: Setting, times: &[f64]) -> Vec<crate::record::Sample> {
        let cell = cell("unlimited", Path::Direct, setting);
        times.iter().zip(0..).map(|(time, repetition)| sample(&cell, repetition, *time)).collect()
    }

    #[test]
    fn faster_slower_and_noise_are_told_apart() {
        let a = records(
            [
                run(Setting::None, &[1.0, 1.01, 1.02, 1.03, 1.04]),
                run(Setting::Zlib, &[1.0, 1.01, 1.02, 1.03, 1.04]),
                run(Setting::Zstd(1), &[1.0, 1.01, 1.02, 1.03, 1.04]),
                run(Setting::Zstd(3), &[1.0]),
            ]
            .concat(),
        );
        let mut b = records(
            [
                run(Setting::None, &[0.5, 0.51, 0.52, 0.53, 0.54]),
                run(Setting::Zlib, &[2.0, 2.01, 2.02, 2.03, 2.04]),
                run(Setting::Zstd(1), &[1.04, 1.0, 1.02, 1.05, 0.99]),
                run(Setting::Zstd(7), &[1.0]),
            ]
            .concat(),
        );
        b.run.seed = 8;
        let comparison = compare(&a, &b);
        let verdicts: Vec<Verdict> = comparison.cells.iter().map(|cell| cell.verdict).collect();
        assert_eq!(verdicts, [Verdict::Faster, Verdict::Slower, Verdict::NoChange]);
        assert!((comparison.cells[0].ratio.unwrap().value - 0.52 / 1.02).abs() < 1e-12);
        assert_eq!((comparison.only_in_a.len(), comparison.only_in_b.len()), (1, 1));
        assert_eq!(comparison.caveats, ["Another seed: 7, then 8."]);
        let text = comparison.to_string();
        assert!(text.contains("3 common cells: 1 faster, 1 slower, 1 no change beyond noise."), "{text}");
        assert!(
            text.contains("Only in B: 1 cell\n  scan sbtest1 over unlimited, direct, zstd 7\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }

    #[test]
    fn what_does_not_overlap_but_is_too_small_is_undecided() {
        let a = records(run(Setting::None, &[1.0, 1.1, 1.2]));
        let b = records(run(Setting::None, &[2.0, 2.1, 2.2]));
        let comparison = compare(&a, &b);
        assert_eq!(comparison.cells[0].verdict, Verdict::TooFew);
        assert!((comparison.cells[0].p_value - 0.1).abs() < 1e-12);
        assert!(comparison.to_string().contains("More repetitions decide it."));
    }

    #[test]
    fn a_run_does_not_differ_from_itself() {
        let a = scans();
        let comparison = compare(&a, &a);
        assert_eq!(comparison.count(Verdict::NoChange), comparison.cells.len());
        assert_eq!((comparison.only_in_a, comparison.caveats), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_differs_a_little_everywhere_is_told_of_the_cells_together() {
        let of = |factor: f64| {
            let cells =
                [1, 8, 64].map(|threads| Cell { threads, ..cell("unlimited", Path::Direct, Setting::Zlib) });
            let samples = cells.iter().flat_map(|cell| {
                (0..3).map(move |n| {
                    sample(cell, n, factor * f64::from(cell.threads) * (1.0 + f64::from(n) / 50.0))
                })
            });
            records(samples.collect())
        };
        let comparison = compare(&of(1.0), &of(1.1));
        assert_eq!(comparison.count(Verdict::TooFew), 3);
        let [together] = comparison.groups.as_slice() else { panic!("{:?}", comparison.groups) };
        assert_eq!((together.label.as_str(), together.cells), ("direct, zlib", 3));
        assert_eq!(together.verdict, Verdict::Slower);
        // No overlap in any of three times 20 choices, both sides.
        assert!((together.p_value - 2.0 / 8000.0).abs() < 1e-15, "{together:?}");
        assert!((together.ratio.unwrap().value - 1.1).abs() < 1e-12, "{together:?}");
        let text = comparison.to_string();
        assert!(
            text.contains("! 3 against 3 runs (3 cells): the least p there can be is 0.100, so no"),
            "{text}"
        );
        assert!(
            text.contains("All cells of a path and a setting together\n\nseconds; less is better\n"),
            "{text}"
        );
    }

    #[test]
    fn other_columns_tell_what_changed_and_which_way_is_better() {
        let (a, mut b) = (scans(), scans());
        for sample in &mut b.samples {
            let change = |metric: &Metric| match metric {
                Metric::ServerCpuS => 0.5,
                Metric::WireBytes => 1.2,
                Metric::PeakMbPerS => 1.5,
                // Bytes that are always the same are told apart by one in a thousand.
                Metric::PlainBytes => 1.001,
                _ => 1.0,
            };
            for (metric, value) in &mut sample.metrics {
                *value *= change(metric);
            }
        }
        let comparison = compare(&a, &b);
        assert_eq!(comparison.count(Verdict::NoChange), comparison.cells.len());
        let text = comparison.to_string();
        let part = |heading: &str| {
            let part =
                text.split(&format!("\n\n{heading}\n")).last().unwrap_or_else(|| panic!("{heading}: {text}"));
            part.split("\n\n").next().unwrap()
        };
        assert!(part("server CPU s; less is better").contains(" 0.50 "), "{text}");
        assert!(part("server CPU s; less is better").contains("better\n"), "{text}");
        assert!(part("wire MB; less is better").contains("worse\n"), "{text}");
        assert!(part("wire MB; less is better").ends_with("\nand 38 more"), "{text}");
        assert!(part("peak MB/s; neither way is better").contains("changed\n"), "{text}");
        assert!(
            part("plain MB; neither way is better").contains("and 44 cells by less than 0.5 %"),
            "{text}"
        );
        assert!(
            text.contains("\nNothing changed beyond noise in: mean MB/s, proxy CPU s, client CPU s.\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}
