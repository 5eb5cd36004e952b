//! What the cells of `never-slower` say: violations, undecided ones, and how far the best fixed setting is.
//!
//! ```text
//!  slowdown   none's rate / latency's rate, an interval       violates: all of it above 1.03
//!                                                             undecided: wider than ±3 %
//!  p99        latency's / none's, an interval                 violates: all of it above 1.05
//!                                                             undecided: wider than ±10 %
//!  regret     best fixed setting's rate / latency's rate      at most 1.05 in most cells, 1.10 in all
//! ```
//! Invariants: an interval that is less sure than 95 % neither violates nor decides; what is undecided follows from widths
//! alone, so a cell can violate and be undecided; a cell that could not be compared is counted as such, and against what must
//! hold of a share of all cells.
//!
//! Not here: which cells there are (`super`), how the best is chosen (`regret`).

use super::regret::{FAR, NEAR, Regret};
use crate::plan::Judgement;
use crate::record::{Cell, KERNEL, Metric, Setting};
use crate::results::{Results, uncompressed};
use crate::stats::Estimate;

/// All cells of the latency policy.
pub(super) struct Verdict {
    judged: Vec<Judged>,
    /// Its own measurement failed, or none's.
    incomparable: Vec<Cell>,
    /// Rounds in which a cell of the policy was tried and not measured.
    failures: u32,
}

/// A cell that could be compared.
struct Judged {
    cell: Cell,
    /// In which it and none were measured.
    rounds: usize,
    slowdown: Estimate,
    p99: Option<Estimate>,
    regret: Option<Regret>,
}

impl Verdict {
    pub(super) fn of(results: &Results) -> Self {
        let mut verdict = Self { judged: Vec::new(), incomparable: Vec::new(), failures: 0 };
        let cells = results.cells().iter().chain(results.failed());
        for cell in cells.filter(|cell| cell.setting == Setting::Latency) {
            let measured = results.values(cell, Metric::TransactionsPerS).len();
            verdict.failures +=
                results.rounds(cell).saturating_sub(u32::try_from(measured).unwrap_or(u32::MAX));
            match Judged::of(results, cell) {
                Some(judged) => verdict.judged.push(judged),
                None => verdict.incomparable.push(cell.clone()),
            }
        }
        verdict
    }

    /// Whether more rounds could change what is said of a cell of the latency policy.
    pub(super) fn is_open(&self, cell: &Cell) -> bool {
        self.has_open_regret(cell) || self.judged(cell).is_none_or(Judged::is_undecided)
    }

    /// Whether it is not known yet how far the best fixed setting is.
    pub(super) fn has_open_regret(&self, cell: &Cell) -> bool {
        let regret = self.judged(cell).and_then(|judged| judged.regret);
        regret.is_none_or(|regret| regret.is_open())
    }

    fn judged(&self, cell: &Cell) -> Option<&Judged> {
        self.judged.iter().find(|judged| judged.cell == *cell)
    }

    /// In sentences: counts, what must hold, and each cell of which something must be said.
    pub(super) fn lines(&self) -> Vec<String> {
        let all: Vec<&Judged> = self.judged.iter().collect();
        let mut lines = vec![format!(
            "{} cells of the latency policy: {} violate (slower than none by more than 3 %, or 5 % in p99), {} undecided \
             (interval wider than ±3 %, p99 ±10 %, or less sure than 95 %), {} of them both, {} could not be compared.",
            all.len() + self.incomparable.len(),
            count(&all, Judged::violates),
            count(&all, Judged::is_undecided),
            count(&all, |judged| judged.violates() && judged.is_undecided()),
            self.incomparable.len(),
        )];
        if self.failures > 0 {
            lines.push(format!("{} measurements of these cells are missing: they failed.", self.failures));
        }
        lines.extend(self.bars());
        lines.extend(self.outlook());
        lines.extend(self.judged.iter().filter_map(Judged::line));
        lines.extend(self.incomparable.iter().map(|cell| format!("{cell}: could not be compared.")));
        lines
    }

    /// What must hold, of cells over the kernel's links where there are any.
    fn bars(&self) -> Vec<String> {
        let is_kernels = |cell: &Cell| cell.link.starts_with(KERNEL);
        let (kernel, user): (Vec<&Judged>, Vec<&Judged>) =
            self.judged.iter().partition(|judged| is_kernels(&judged.cell));
        let missing = self.incomparable.iter().filter(|cell| is_kernels(cell)).count();
        let users = user.len() + self.incomparable.len() - missing;
        if users == 0 {
            return bars("Wanted", &kernel, missing);
        }
        let told = if kernel.len() + missing > 0 {
            bars("Wanted, over the kernel's links", &kernel, missing)
        } else {
            bars("Wanted, without a verdict", &user, self.incomparable.len())
        };
        let no_verdict = format!(
            "{users} of these cells were measured over links in user space, of which there is no verdict: that takes the kernel's, \
             by --link-kernel."
        );
        [vec![no_verdict], told].concat()
    }

    /// How much more would decide what is undecided.
    fn outlook(&self) -> Option<String> {
        let mut rounds: Vec<usize> = self.judged.iter().filter_map(Judged::rounds_to_decide).collect();
        rounds.sort_unstable();
        let share = |tenths: usize| rounds.get((rounds.len() * tenths).div_ceil(10).saturating_sub(1));
        let harmless = self.judged.iter().filter(|judged| judged.is_undecided() && judged.surely_holds());
        Some(format!(
            "By how wide the intervals of {} undecided cells are by now, {} rounds would decide half of them, {} nine in ten. {} of \
             them surely don't violate, as wide as their intervals are.",
            rounds.len(),
            share(5)?,
            share(9)?,
            harmless.count(),
        ))
    }

    /// Every cell, with its figures.
    pub(super) fn judgements(&self) -> Vec<Judgement> {
        let incomparable = self.incomparable.iter().map(|cell| Judgement {
            cell: cell.clone(),
            ratios: RATIOS.map(|name| (name, None)).into(),
            remark: "could not be compared".to_owned(),
        });
        self.judged.iter().map(Judged::judgement).chain(incomparable).collect()
    }
}

/// What must hold of these cells and of so many that could not be compared, whether it does, and by how many.
fn bars(wanted: &str, cells: &[&Judged], missing: usize) -> Vec<String> {
    let all = cells.len() + missing;
    if all == 0 {
        return Vec::new();
    }
    // What could hold and is not known for every cell is undecided.
    let bar = |what: &str, may_hold: bool, is_known: bool, told: String| {
        let word = match (may_hold, is_known) {
            (false, _) => "misses",
            (true, false) => "undecided",
            (true, true) => "holds",
        };
        format!("{wanted}: {what}: {word} ({told}).")
    };
    let is_sure = missing == 0 && cells.iter().all(|judged| judged.is_sure());
    let is_scored = |judged: &&Judged| judged.regret.is_some_and(|regret| regret.ratio.has_interval());
    let scored = cells.iter().copied().filter(is_scored).count();
    let regrets: Vec<f64> = cells.iter().filter_map(|judged| Some(judged.regret?.ratio.value)).collect();
    let within = |bound: f64| regrets.iter().filter(|regret| **regret <= bound).count();
    let (violate, open) = (count(cells, Judged::violates), count(cells, Judged::is_undecided) + missing);
    let (near, far) = (within(NEAR), regrets.len() - within(FAR));
    let worst = regrets.iter().copied().reduce(f64::max);
    let worst = worst.map_or_else(String::new, |worst| format!("; the worst is {worst:.2}"));
    vec![
        bar("no violation", violate == 0, is_sure, format!("{violate} of {all} cells")),
        bar(
            "at most 5 % undecided or not compared",
            open * 100 <= UNDECIDED_MAX_PERCENT * all,
            true,
            format!("{open} of {all}"),
        ),
        bar(
            "95 % within 5 % of the best fixed setting's time",
            near * 100 >= NEAR_MIN_PERCENT * all,
            scored + missing == all,
            format!("{near} of {all}"),
        ),
        bar("none above 1.10 of it", far == 0, scored == all, format!("{far} of {}{worst}", regrets.len())),
    ]
}

fn count(cells: &[&Judged], is: impl Fn(&Judged) -> bool) -> usize {
    cells.iter().filter(|judged| is(judged)).count()
}

impl Judged {
    fn of(results: &Results, cell: &Cell) -> Option<Self> {
        let none = uncompressed(cell);
        Some(Self {
            rounds: results.pairs(&none, cell, Metric::TransactionsPerS).len(),
            slowdown: results.ratio(&none, cell, Metric::TransactionsPerS)?,
            p99: results.ratio(cell, &none, Metric::LatencyP99Ms),
            regret: Regret::of(results, cell),
            cell: cell.clone(),
        })
    }

    fn violates(&self) -> bool {
        let is_above = |estimate: Estimate, most: f64| estimate.is_sure() && estimate.low > most;
        is_above(self.slowdown, SLOWDOWN_MAX) || self.p99.is_some_and(|p99| is_above(p99, P99_MAX))
    }

    /// Nothing in its intervals would be a violation.
    fn surely_holds(&self) -> bool {
        let is_below = |estimate: Estimate, most: f64| estimate.is_sure() && estimate.high <= most;
        is_below(self.slowdown, SLOWDOWN_MAX) && self.p99.is_none_or(|p99| is_below(p99, P99_MAX))
    }

    /// Whether there are repetitions enough for its intervals.
    fn is_sure(&self) -> bool {
        self.slowdown.is_sure() && self.p99.is_none_or(|p99| p99.is_sure())
    }

    /// By how wide its intervals are, wherever they lie.
    fn is_undecided(&self) -> bool {
        let is_wide =
            |estimate: Estimate, half: f64| !(estimate.is_sure() && estimate.relative_half_width() <= half);
        is_wide(self.slowdown, SLOWDOWN_WIDTH) || self.p99.is_some_and(|p99| is_wide(p99, P99_WIDTH))
    }

    /// In how many rounds its intervals would be narrow enough: as the root of their number. `None` if they are, and where there
    /// are too few to tell.
    fn rounds_to_decide(&self) -> Option<usize> {
        if !self.is_sure() || !self.is_undecided() {
            return None;
        }
        let times_too_wide = |estimate: Estimate, half: f64| estimate.relative_half_width() / half;
        let p99 = self.p99.map_or(0.0, |p99| times_too_wide(p99, P99_WIDTH));
        let times = times_too_wide(self.slowdown, SLOWDOWN_WIDTH).max(p99);
        #[expect(clippy::cast_precision_loss, reason = "rounds are few")]
        let rounds = (self.rounds as f64 * times * times).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number above 0")]
        Some(rounds as usize)
    }

    /// What must be said of it, in a few words.
    fn remark(&self) -> String {
        let is_far = self.regret.is_some_and(|regret| regret.ratio.value > NEAR);
        let marks = [
            (self.violates(), "violates"),
            (self.is_undecided(), "undecided"),
            (is_far, "far from the best"),
            (self.regret.is_none(), "without a regret"),
        ];
        marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark)).collect::<Vec<_>>().join(", ")
    }

    /// A sentence, where there is something to say.
    fn line(&self) -> Option<String> {
        let remark = self.remark();
        let of = |it: Estimate| format!("{:.3} ({:.3} to {:.3})", it.value, it.low, it.high);
        let p99 = self.p99.map_or_else(String::new, |p99| format!(", of its p99 {}", of(p99)));
        let best =
            |it: Regret| format!("; of the best fixed setting's time, {}'s, {}", it.best, of(it.ratio));
        let regret = self.regret.map_or_else(String::new, best);
        let slowdown = of(self.slowdown);
        (!remark.is_empty())
            .then(|| format!("{}: {remark}; of none's time {slowdown}{p99}{regret}.", self.cell))
    }

    fn judgement(&self) -> Judgement {
        let best = self.regret.map(|regret| format!("best is {}", regret.best));
        let remark = best.into_iter().chain(Some(self.remark()).filter(|remark| !remark.is_empty()));
        let remark = remark.collect::<Vec<_>>().join(", ");
        Judgement {
            cell: self.cell.clone(),
            ratios: RATIOS
                .into_iter()
                .zip([Some(self.slowdown), self.p99, self.regret.map(|regret| regret.ratio)])
                .collect(),
            remark,
        }
    }
}

/// By what programs read.
const RATIOS: [&str; 3] = ["time_x_none", "p99_x_none", "regret"];
const SLOWDOWN_MAX: f64 = 1.03;
const P99_MAX: f64 = 1.05;
/// Half of an interval, in terms of its value.
const SLOWDOWN_WIDTH: f64 = 0.03;
const P99_WIDTH: f64 = 0.10;
/// Of all cells.
const UNDECIDED_MAX_PERCENT: usize = 5;
const NEAR_MIN_PERCENT: usize = 95;

#[cfg(test)]
mod tests;
