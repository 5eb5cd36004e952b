//! What the cells of `never-slower` say: violations, undecided ones, and how far the best fixed setting is.
//!
//! ```text
//!  slowdown   none's rate / latency's rate, an interval          violates: all of it above 1.03
//!  p99        latency's / none's, an interval                    violates: all of it above 1.05
//!  regret     best fixed setting's rate / latency's rate         the best is chosen on one half of the
//!                                                                repetitions and scored on the other
//! ```
//! Invariants: a cell that could not be compared is counted as such, and not left out.
//!
//! Not here: which cells there are (`super`).

use crate::record::{Better, Cell, Metric, Setting};
use crate::results::{Results, uncompressed};
use crate::stats::{Choice, Estimate, median, scoring};

/// All cells.
pub(super) struct Verdict {
    judged: Vec<Judged>,
    incomparable: usize,
}

/// A cell of the latency policy.
struct Judged {
    cell: Cell,
    slowdown: Estimate,
    p99: Option<Estimate>,
    /// With the best fixed setting.
    regret: Option<(f64, Setting)>,
}

impl Verdict {
    pub(super) fn of(results: &Results) -> Self {
        let cells: Vec<&Cell> =
            results.cells().iter().filter(|cell| cell.setting == Setting::Latency).collect();
        let judged: Vec<Judged> = cells.iter().filter_map(|cell| judge(results, cell)).collect();
        Self { incomparable: cells.len() - judged.len(), judged }
    }

    /// Whether a cell of the latency policy was compared, and more rounds would not change what is said of it.
    pub(super) fn is_decided(&self, cell: &Cell) -> bool {
        self.judged.iter().any(|judged| judged.cell == *cell && !judged.is_undecided())
    }

    /// In sentences, the count first.
    pub(super) fn lines(&self) -> Vec<String> {
        let count = |is: fn(&Judged) -> bool| self.judged.iter().filter(|judged| is(judged)).count();
        let regrets: Vec<f64> = self.judged.iter().filter_map(|judged| Some(judged.regret?.0)).collect();
        let near = regrets.iter().filter(|regret| **regret <= NEAR).count();
        let worst = regrets.iter().copied().fold(1.0, f64::max);
        let mut lines = vec![
            format!(
                "{} cells of the latency policy: {} violate (slower than none by more than 3 %, or 5 % in p99), {} undecided \
                 (interval wider than ±3 %, p99 ±10 %), {} could not be compared.",
                self.judged.len(),
                count(Judged::violates),
                count(Judged::is_undecided),
                self.incomparable,
            ),
            format!(
                "Within 5 % of the best fixed setting: {near} of {}; the worst is {worst:.2} times slower.",
                regrets.len()
            ),
        ];
        for judged in &self.judged {
            let far = judged.regret.filter(|(regret, _)| *regret > NEAR);
            let mut marks = Vec::new();
            if judged.violates() {
                marks.push("violates".to_owned());
            }
            if judged.is_undecided() {
                marks.push("undecided".to_owned());
            }
            if let Some((regret, setting)) = far {
                marks.push(format!("{regret:.2}x of {setting}'s time"));
            }
            if !marks.is_empty() {
                lines.push(format!("{}: {}; {}.", judged.cell, marks.join(", "), judged.figures()));
            }
        }
        lines
    }
}

impl Judged {
    fn violates(&self) -> bool {
        // A single repetition has no interval that could lie anywhere.
        let is_above = |estimate: Estimate, most: f64| estimate.has_interval() && estimate.low > most;
        is_above(self.slowdown, SLOWDOWN_MAX) || self.p99.is_some_and(|p99| is_above(p99, P99_MAX))
    }

    fn is_undecided(&self) -> bool {
        let wide = |estimate: Estimate, half: f64| {
            !(estimate.has_interval() && estimate.relative_half_width() <= half)
        };
        !self.violates() && (wide(self.slowdown, 0.03) || self.p99.is_some_and(|p99| wide(p99, 0.10)))
    }

    fn figures(&self) -> String {
        let of = |estimate: Estimate| {
            format!("{:.3} ({:.3} to {:.3})", estimate.value, estimate.low, estimate.high)
        };
        let p99 = self.p99.map_or_else(String::new, |p99| format!(", p99 {}", of(p99)));
        format!("time of none's {}{p99}", of(self.slowdown))
    }
}

fn judge(results: &Results, cell: &Cell) -> Option<Judged> {
    let none = uncompressed(cell);
    let slowdown = results.ratio(&none, cell, Metric::TransactionsPerS)?;
    let p99 = results.ratio(cell, &none, Metric::LatencyP99Ms);
    let fixed: Vec<Cell> = FIXED.iter().map(|setting| cell.with(cell.path, *setting, cell.tls)).collect();
    let values: Vec<&[f64]> =
        fixed.iter().map(|cell| results.values(cell, Metric::TransactionsPerS)).collect();
    // Ours is scored on the same half.
    let ours: Vec<f64> = scoring(results.values(cell, Metric::TransactionsPerS).iter().copied()).collect();
    let regret = Choice::of(&values, Better::More)
        .zip(median(&ours))
        .and_then(|(best, ours)| Some((best.score.value / ours, *FIXED.get(best.index)?)));
    Some(Judged { cell: cell.clone(), slowdown, p99, regret })
}

/// Every fixed setting, none among them.
pub(in crate::plan) const FIXED: [Setting; 5] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7)];
const SLOWDOWN_MAX: f64 = 1.03;
const P99_MAX: f64 = 1.05;
const NEAR: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Records};
    use crate::results::fixture;

    fn cell(workload: &str, setting: Setting) -> Cell {
        Cell {
            link: "unlimited".to_owned(),
            workload: workload.to_owned(),
            threads: 1,
            path: Path::Wirepress,
            tls: false,
            setting,
        }
    }

    fn records(samples: &[(&str, Setting, [f64; 8])]) -> Records {
        fixture::records_of(samples.iter().flat_map(|(workload, setting, values)| {
            values.iter().map(|value| (cell(workload, *setting), Metric::TransactionsPerS, *value))
        }))
    }

    #[test]
    fn a_cell_that_is_surely_slower_than_none_violates_and_one_far_from_the_best_is_told() {
        let steady =
            |value: f64| [0.0, 0.001, 0.002, 0.003, 0.0, 0.001, 0.002, 0.003].map(|noise| value + noise);
        let records = records(&[
            ("slow", Setting::None, steady(10.0)),
            ("slow", Setting::Latency, steady(9.0)),
            ("far", Setting::None, steady(10.0)),
            ("far", Setting::Zstd(1), steady(20.0)),
            ("far", Setting::Latency, steady(16.0)),
            ("good", Setting::None, steady(10.0)),
            ("good", Setting::Latency, steady(10.1)),
        ]);
        let lines = Verdict::of(&Results::of(&records)).lines();
        assert!(lines[0].starts_with("3 cells of the latency policy: 1 violate"), "{lines:#?}");
        assert!(lines[1].contains("1 of 3") && lines[1].contains("1.25 times"), "{lines:#?}");
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("slow") && line.contains("violates")), "{lines:#?}");
    }
}
