//! What is said of a cell, and of cells together: ratio, p-value, verdict.
//!
//! Invariants: a verdict other than `no change` needs an adjusted p-value below [`FALSE_ALARMS`]; groups of values that do
//! not even overlap, but are too small for that, are called undecided, not unchanged.
//!
//! Not here: which cells are compared (`compare`), how it is told (`text`).

use crate::record::{Better, Cell, Metric};
use crate::results::Results;
use crate::stats::{
    Estimate, RankTest, Stratum, benjamini_hochberg, median, stratified_ratio, unpaired_ratio,
};

/// A cell of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedCell {
    /// Which one.
    pub cell: Cell,
    /// What was compared.
    pub metric: Metric,
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
    /// The same, adjusted for the number of tests that were made with it.
    pub adjusted_p_value: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// All cells of a path and a setting, over all links, workloads and threads.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedGroup {
    /// As in [`Cell::label`].
    pub label: String,
    /// What was compared.
    pub metric: Metric,
    /// How many.
    pub cells: usize,
    /// The ratio that they share, or a typical one; none where there is nothing to divide by.
    pub ratio: Option<Estimate>,
    /// How likely so large a difference is by chance.
    pub p_value: f64,
    /// The same, adjusted for the number of tests that were made with it.
    pub adjusted_p_value: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// What is said of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second run is better: faster, where that is the plan's question.
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
    /// In a table of the plan's first metric.
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

    /// In a table of another metric.
    pub(super) const fn other_words(self) -> &'static str {
        match self {
            Self::Faster => "better",
            Self::Slower => "worse",
            _ => self.words(),
        }
    }

    /// Whether it says that something changed.
    pub(super) const fn is_change(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::Changed)
    }

    fn of(metric: Metric, test: &RankTest, adjusted_p_value: f64) -> Self {
        let is_separate = test.p_value <= test.p_value_min * 1.000_001 && test.p_value < 1.0;
        match (adjusted_p_value < FALSE_ALARMS, metric.better()) {
            (false, _) if is_separate => Self::TooFew,
            (false, _) => Self::NoChange,
            (true, Better::Neither) => Self::Changed,
            (true, Better::Less) if test.u < test.u_mean => Self::Faster,
            (true, Better::More) if test.u > test.u_mean => Self::Faster,
            (true, _) => Self::Slower,
        }
    }
}

/// Compares cells by metrics; adjusted for all of these tests.
pub(super) fn cells(a: &Results, b: &Results, cells: &[Cell], metrics: &[Metric]) -> Vec<ComparedCell> {
    let tests = metrics.iter().flat_map(|metric| {
        cells.iter().filter_map(|cell| {
            let test = RankTest::of(b.values(cell, *metric), a.values(cell, *metric))?;
            Some((cell, *metric, test))
        })
    });
    let tests: Vec<(&Cell, Metric, RankTest)> = tests.collect();
    let p_values: Vec<f64> = tests.iter().map(|(.., test)| test.p_value).collect();
    tests
        .into_iter()
        .zip(benjamini_hochberg(&p_values))
        .filter_map(|((cell, metric, test), adjusted_p_value)| {
            let (values_a, values_b) = (a.values(cell, metric), b.values(cell, metric));
            Some(ComparedCell {
                cell: cell.clone(),
                metric,
                a: median(values_a)?,
                b: median(values_b)?,
                runs: (values_a.len(), values_b.len()),
                ratio: unpaired_ratio(values_b, values_a),
                p_value: test.p_value,
                adjusted_p_value,
                verdict: Verdict::of(metric, &test, adjusted_p_value),
            })
        })
        .collect()
}

/// Compares groups of several cells by metrics; adjusted for all of these tests.
pub(super) fn groups(a: &Results, b: &Results, cells: &[Cell], metrics: &[Metric]) -> Vec<ComparedGroup> {
    let mut labels: Vec<String> = Vec::new();
    for label in cells.iter().map(Cell::label) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let mut groups = Vec::new();
    let mut tests = Vec::new();
    for (metric, label) in metrics.iter().flat_map(|metric| labels.iter().map(move |label| (*metric, label)))
    {
        let strata: Vec<Stratum<'_>> = cells
            .iter()
            .filter(|cell| cell.label() == *label)
            .map(|cell| (b.values(cell, metric), a.values(cell, metric)))
            .filter(|(b, a)| !b.is_empty() && !a.is_empty())
            .collect();
        // A single cell is told as such.
        let Some(test) = RankTest::of_strata(&strata).filter(|_| strata.len() > 1) else { continue };
        groups.push(ComparedGroup {
            label: label.clone(),
            metric,
            cells: strata.len(),
            ratio: stratified_ratio(&strata),
            p_value: test.p_value,
            adjusted_p_value: test.p_value,
            verdict: Verdict::NoChange,
        });
        tests.push(test);
    }
    let p_values: Vec<f64> = tests.iter().map(|test| test.p_value).collect();
    for ((group, test), adjusted) in groups.iter_mut().zip(&tests).zip(benjamini_hochberg(&p_values)) {
        group.adjusted_p_value = adjusted;
        group.verdict = Verdict::of(group.metric, test, adjusted);
    }
    groups
}

/// Of what is called changed, this part at most is expected not to be.
pub(super) const FALSE_ALARMS: f64 = 0.05;
