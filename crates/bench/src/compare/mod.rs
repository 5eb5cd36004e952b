//! Two runs, cell by cell: what became faster, what slower, what cannot be told.
//!
//! ```text
//!  run A ─┐                 ratio of medians B / A, with its interval (bootstrap)
//!         ├▶ common cells ─▶ p-value (Mann-Whitney)
//!  run B ─┘                 adjusted for the number of cells (Benjamini-Hochberg) ─▶ verdict
//! ```
//! A is the older run, B the newer; `faster` means that B is. Runs have no pairs: the machine may have been another
//! one, or in another mood, and no statistics see that. So what differs besides is told first.
//!
//! Invariants: a verdict other than `no change` needs an adjusted p-value below [`FALSE_ALARMS`]; groups that do not
//! even overlap, but are too small for that, are called undecided, not unchanged.
//!
//! Not here: what differs besides (`caveat`), cells within one run (`results`).

mod caveat;

use std::fmt::{self, Write};

use crate::plan;
use crate::record::{Better, Cell, Metric, Records};
use crate::report::number::{DASH, counted, date, interval, printable, short, value};
use crate::report::text_table::{text_table, wrapped};
use crate::report::{Grid, GridRow, Head, Kind};
use crate::results::{Results, in_display_order};
use crate::stats::{Estimate, RankTest, benjamini_hochberg, median, unpaired_ratio};

/// What changed from one run to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The first run in a line: plan, date, version.
    pub a: String,
    /// The second run in a line.
    pub b: String,
    /// What was compared.
    pub metric: Metric,
    /// Cells of both runs, in the order of tables.
    pub cells: Vec<ComparedCell>,
    /// Cells that only the first run has.
    pub only_in_a: Vec<Cell>,
    /// Cells that only the second run has.
    pub only_in_b: Vec<Cell>,
    /// What differs besides, a sentence each.
    pub caveats: Vec<String>,
}

/// A cell of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedCell {
    /// Which one.
    pub cell: Cell,
    /// Median of the first run.
    pub a: f64,
    /// Median of the second run.
    pub b: f64,
    /// Values in the first and in the second run.
    pub runs: (usize, usize),
    /// How many times the first run's value the second's is; none where there is nothing to divide by.
    pub ratio: Option<Estimate>,
    /// How likely so large a difference is by chance.
    pub p_value: f64,
    /// The same, adjusted for the number of cells.
    pub adjusted_p_value: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// What is said of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second run is better.
    Faster,
    /// The second run is worse.
    Slower,
    /// It is another one, and neither way is better.
    Changed,
    /// What there is may be chance.
    NoChange,
    /// The values do not even overlap, but are too few to be sure.
    TooFew,
}

impl Verdict {
    /// In a table.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Changed => "changed",
            Self::NoChange => "no change beyond noise",
            Self::TooFew => "undecided: too few runs",
        }
    }
}

/// Compares the primary metric of the first run's plan, or what that most likely is.
#[must_use]
pub fn compare(a: &Records, b: &Records) -> Comparison {
    let (of_a, of_b) = (Results::of(a), Results::of(b));
    let metric =
        plan::named(&a.run.plan).map_or_else(|| crate::report::usual_primary(&of_a), |plan| plan.primary());
    let has = |results: &Results, cell: &Cell| !results.values(cell, metric).is_empty();
    let all = in_display_order(of_a.cells().iter().chain(of_b.cells()));
    let (common, single): (Vec<Cell>, Vec<Cell>) =
        all.into_iter().partition(|cell| has(&of_a, cell) && has(&of_b, cell));
    let (only_in_a, only_in_b) = single.into_iter().partition(|cell| has(&of_a, cell));
    let tests: Vec<(Cell, RankTest)> = common
        .into_iter()
        .filter_map(|cell| {
            let test = RankTest::of(of_b.values(&cell, metric), of_a.values(&cell, metric))?;
            Some((cell, test))
        })
        .collect();
    let p_values: Vec<f64> = tests.iter().map(|(_, test)| test.p_value).collect();
    let cells = tests
        .into_iter()
        .zip(benjamini_hochberg(&p_values))
        .filter_map(|((cell, test), adjusted_p_value)| {
            let (values_a, values_b) = (of_a.values(&cell, metric), of_b.values(&cell, metric));
            let (median_a, median_b) = (median(values_a)?, median(values_b)?);
            Some(ComparedCell {
                a: median_a,
                b: median_b,
                runs: (values_a.len(), values_b.len()),
                ratio: unpaired_ratio(values_b, values_a),
                p_value: test.p_value,
                adjusted_p_value,
                verdict: verdict(metric, median_b - median_a, &test, adjusted_p_value),
                cell,
            })
        })
        .collect();
    Comparison {
        a: in_a_line(a),
        b: in_a_line(b),
        metric,
        cells,
        only_in_a,
        only_in_b,
        caveats: caveat::caveats(a, b),
    }
}

fn in_a_line(records: &Records) -> String {
    let run = &records.run;
    printable(&format!("{}, {}, wirepress {}", run.plan, date(run.started_unix_s), run.wirepress))
}

fn verdict(metric: Metric, difference: f64, test: &RankTest, adjusted_p_value: f64) -> Verdict {
    let is_separate = test.p_value <= test.p_value_min * 1.000_001 && difference != 0.0;
    match (adjusted_p_value < FALSE_ALARMS, metric.better()) {
        (false, _) if is_separate => Verdict::TooFew,
        (false, _) => Verdict::NoChange,
        (true, Better::Neither) => Verdict::Changed,
        (true, Better::Less) if difference < 0.0 => Verdict::Faster,
        (true, Better::More) if difference > 0.0 => Verdict::Faster,
        (true, _) => Verdict::Slower,
    }
}

impl Comparison {
    /// Cells with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().filter(|cell| cell.verdict == verdict).count()
    }

    /// As tables for a terminal: at most 120 columns.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, told) in [("A", &self.a), ("B", &self.b)] {
            text.push_str(&wrapped(&format!("{name}: {told}"), "", "   "));
        }
        for caveat in &self.caveats {
            text.push_str(&wrapped(caveat, "! ", "  "));
        }
        for (index, part) in self
            .cells
            .chunk_by(|a, b| a.cell.link == b.cell.link && a.cell.workload == b.cell.workload)
            .enumerate()
        {
            let Some(first) = part.first() else { continue };
            if index == 0 {
                // A String takes everything.
                write!(
                    text,
                    "\n{}: median of A and B, B in terms of A with its interval\n",
                    self.metric.heading()
                )
                .ok();
            }
            text.push('\n');
            text.push_str(&wrapped(
                &printable(&format!("{} over {}", first.cell.workload, first.cell.link)),
                "",
                "",
            ));
            text.push_str(&text_table(&self.grid(part)));
        }
        for (name, cells) in [("A", &self.only_in_a), ("B", &self.only_in_b)] {
            if !cells.is_empty() {
                write!(text, "\nOnly in {name}: {}\n", counted(cells.len(), "cell")).ok();
                for cell in cells {
                    text.push_str(&wrapped(&printable(&cell.to_string()), "  ", "    "));
                }
            }
        }
        text.push('\n');
        text + &self.summary()
    }

    fn grid(&self, cells: &[ComparedCell]) -> Grid {
        let head = |(text, kind): (&str, Kind)| Head { text: text.to_owned(), kind };
        let has_threads = cells.iter().any(|cell| cell.cell.threads > 1);
        let row = |compared: &ComparedCell| {
            let label = printable(&compared.cell.label());
            GridRow {
                label: if has_threads { format!("{} × {label}", compared.cell.threads) } else { label },
                mark: None,
                texts: vec![
                    value(self.metric, compared.a),
                    value(self.metric, compared.b),
                    compared.ratio.map_or_else(|| DASH.to_owned(), |ratio| short(ratio.value)),
                    compared.ratio.as_ref().map_or_else(String::new, interval),
                    format!("{} / {}", compared.runs.0, compared.runs.1),
                    p_text(compared.p_value),
                    p_text(compared.adjusted_p_value),
                    compared.verdict.words().to_owned(),
                ],
            }
        };
        let heads = [
            ("A", Kind::Value),
            ("B", Kind::Value),
            ("B/A", Kind::Ratio),
            ("interval", Kind::Interval),
            ("runs", Kind::Value),
            ("p", Kind::Value),
            ("adjusted p", Kind::Value),
            ("B is", Kind::Value),
        ];
        Grid {
            caption: String::new(),
            corner: String::new(),
            heads: heads.into_iter().map(head).collect(),
            rows: cells.iter().map(row).collect(),
        }
    }

    fn summary(&self) -> String {
        let told = [Verdict::Faster, Verdict::Slower, Verdict::Changed, Verdict::NoChange, Verdict::TooFew]
            .into_iter()
            .filter(|verdict| self.count(*verdict) > 0)
            .map(|verdict| format!("{} {}", self.count(verdict), verdict.words()))
            .collect::<Vec<_>>()
            .join(", ");
        let told = if told.is_empty() { "no cell in common".to_owned() } else { told };
        let mut text = wrapped(&format!("{}: {told}.", counted(self.cells.len(), "common cell")), "", "");
        text.push_str(&wrapped(
            "p: Mann-Whitney U, both sides; adjusted for the number of cells by Benjamini and Hochberg: of the cells that \
             are called faster or slower, at most 5 % are expected not to be. Of what differs besides the program no \
             statistics know.",
            "",
            "",
        ));
        if self.count(Verdict::TooFew) > 0 {
            text.push_str(&wrapped(
                "Undecided: A's and B's values do not overlap, but with so few of them that happens by chance somewhere \
                 among so many cells. More repetitions decide it.",
                "",
                "",
            ));
        }
        text
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

fn p_text(p_value: f64) -> String {
    if p_value < 0.000_95 { "<0.001".to_owned() } else { format!("{p_value:.3}") }
}

/// Of the cells that are called changed, this part at most is expected not to be.
const FALSE_ALARMS: f64 = 0.05;

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
}
