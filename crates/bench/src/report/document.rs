//! What a report says, before it has a form: the same for the terminal, Markdown, JSON and HTML.
//!
//! ```text
//!  Document
//!  ├ title, question
//!  ├ tables        one per link and workload
//!  │ └ rows        one per cell: measured, failed, or only published
//!  ├ judgements    single cells in terms of others, where the plan judges any
//!  ├ findings      what was published, held against it
//!  └ warnings      what a reader must know before believing a number
//! ```
//! Invariants: every number is in the records or among the published figures, or follows from them; each table has a
//! direct row, measured or not; a cell that was published, or failed, and was not measured keeps its row.
//!
//! Not here: numbers as text (`grid`), the sentence above a table (`verdict`).

use std::collections::BTreeMap;

use super::warning::{Warning, warnings};
use crate::plan::{Finding, Judgement, Plan, PublishedFigure, nearest};
use crate::published::Published;
use crate::record::{Better, Cell, Metric, Path, Records, Setting};
use crate::results::{Results, direct, grouped, in_display_order, uncompressed};
use crate::stats::Estimate;

/// A report's content.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) records: &'a Records,
    pub(super) results: Results,
    /// A heading.
    pub(super) title: String,
    /// What the plan asks; none where the plan is not known.
    pub(super) question: Option<&'static str>,
    /// What ratios are taken of.
    pub(super) primary: Metric,
    /// The primary one first; only those that any cell has.
    pub(super) columns: Vec<Metric>,
    pub(super) tables: Vec<Table>,
    /// Whether settings are shown by links, one map per workload.
    pub(super) has_heat_maps: bool,
    /// What all cells together say, in sentences.
    pub(super) summary: Vec<String>,
    /// All by the same ratios.
    pub(super) judgements: Vec<Judgement>,
    /// Where the published figures are from; none where there are none.
    pub(super) publication: Option<String>,
    pub(super) findings: Vec<Finding>,
    pub(super) warnings: Vec<Warning>,
}

/// A link and a workload.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) link: String,
    pub(super) workload: String,
    /// In the order of tables.
    pub(super) rows: Vec<Row>,
}

/// A cell.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) cell: Cell,
    pub(super) state: State,
    /// Medians with their intervals.
    pub(super) values: BTreeMap<Metric, Estimate>,
    /// Primary metric in terms of the same path uncompressed; none for that one itself.
    pub(super) to_none: Option<Estimate>,
    /// Primary metric in terms of direct, uncompressed; none for that one itself.
    pub(super) to_direct: Option<Estimate>,
    pub(super) published: BTreeMap<Metric, PublishedFigure>,
    /// [`Self::to_none`] of the published figures.
    pub(super) published_to_none: Option<f64>,
}

/// Whether a cell has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// In so many repetitions.
    Measured(usize),
    /// It was tried.
    Failed,
    /// It was not tried, but published.
    PublishedOnly,
    /// Neither: a direct row that stands for what is missing.
    NotMeasured,
}

impl<'a> Document<'a> {
    /// Everything that follows from the records; `plan` is none where this version does not know it.
    pub(super) fn of(records: &'a Records, plan: Option<&dyn Plan>) -> Self {
        let results = Results::of(records);
        // A test makes sure that the built-in figures can be read.
        let figures = Published::built_in().ok();
        let published = plan.zip(figures.as_ref()).map(|(plan, figures)| plan.published(figures));
        let beside =
            |figure: PublishedFigure| PublishedFigure { cell: nearest(&results, &figure.cell), ..figure };
        let published = published.map(|figures| figures.into_iter().map(beside).collect::<Vec<_>>());
        let findings = plan.zip(figures.as_ref()).map(|(plan, figures)| plan.findings(&results, figures));
        let primary = plan.map_or_else(|| usual_primary(&results), |plan| plan.primary());
        let tables = tables(records, &results, published.as_deref().unwrap_or_default(), primary);
        Self {
            title: plan.map_or_else(|| records.run.plan.clone(), |plan| plan.title().to_owned()),
            question: plan.map(|plan| plan.question()),
            primary,
            columns: columns(&results, plan, primary),
            summary: plan.map(|plan| plan.summary(&results)).unwrap_or_default(),
            judgements: plan.map(|plan| plan.judgements(&results)).unwrap_or_default(),
            has_heat_maps: plan.is_some_and(Plan::has_heat_maps),
            publication: plan
                .zip(figures.as_ref())
                .and_then(|(plan, figures)| figures.publication(plan.name()))
                .map(|publication| publication.title.clone()),
            findings: findings.unwrap_or_default(),
            warnings: warnings(records, &results, primary),
            tables,
            results,
            records,
        }
    }
}

impl Table {
    /// The numbers of threads, in order.
    pub(super) fn threads(&self) -> Vec<u32> {
        let mut threads: Vec<u32> = self.rows.iter().map(|row| row.cell.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Whether threads make up a dimension of their own.
    pub(super) fn is_matrix(&self) -> bool {
        self.threads().len() > 1
    }

    /// What the cells of a matrix's columns share, each once, in the order of tables: the cells with one thread each.
    pub(super) fn series(&self) -> Vec<Cell> {
        in_display_order(
            self.rows.iter().map(|row| Cell { threads: 1, ..row.cell.clone() }).collect::<Vec<_>>().iter(),
        )
    }

    /// The row of a series at a number of threads.
    pub(super) fn row(&self, series: &Cell, threads: u32) -> Option<&Row> {
        let cell = Cell { threads, ..series.clone() };
        self.rows.iter().find(|row| row.cell == cell)
    }

    /// Whether any row of it was measured.
    pub(super) fn is_measured(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.state, State::Measured(_)))
    }

    /// Whether all that was tried of it failed.
    pub(super) fn has_failed(&self) -> bool {
        !self.is_measured() && self.rows.iter().any(|row| row.state == State::Failed)
    }

    /// `scan sbtest1 over 100mbit,1.4ms`.
    pub(super) fn heading(&self) -> String {
        format!("{} over {}", self.workload, self.link)
    }

    /// The metrics that were published for any of its rows, in the order of columns.
    pub(super) fn published_metrics(&self) -> Vec<Metric> {
        let has = |metric: &Metric| self.rows.iter().any(|row| row.published.contains_key(metric));
        Metric::ALL.into_iter().filter(has).collect()
    }

    /// Under which conditions its published figures were measured, each once.
    pub(super) fn conditions(&self) -> Vec<&'static str> {
        let mut conditions: Vec<&'static str> =
            self.rows.iter().flat_map(|row| row.published.values()).map(|figure| figure.conditions).collect();
        conditions.sort_unstable();
        conditions.dedup();
        conditions
    }
}

impl Row {
    /// The median of a metric.
    pub(super) fn median(&self, metric: Metric) -> Option<f64> {
        self.values.get(&metric).map(|estimate| estimate.value)
    }

    /// The published figure of a metric.
    pub(super) fn published(&self, metric: Metric) -> Option<f64> {
        self.published.get(&metric).map(|figure| figure.value)
    }
}

fn tables(
    records: &Records,
    results: &Results,
    published: &[PublishedFigure],
    primary: Metric,
) -> Vec<Table> {
    let failed: Vec<&Cell> = records.failures_left().into_iter().map(|failure| &failure.cell).collect();
    let known: Vec<&Cell> = results
        .cells()
        .iter()
        .chain(failed.iter().copied())
        .chain(published.iter().map(|figure| &figure.cell))
        .collect();
    // What nobody measured has no direct row to be compared with, either.
    let tried = results.cells().iter().chain(failed.iter().copied());
    let directs: Vec<Cell> = tried.map(|cell| cell.with(Path::Direct, Setting::None, false)).collect();
    let cells = in_display_order(known.into_iter().chain(&directs));
    let row = |cell: &Cell| {
        let mut row = row(cell, results, published, primary);
        if row.values.is_empty() && failed.contains(&cell) {
            row.state = State::Failed;
        }
        row
    };
    grouped(&cells)
        .into_iter()
        .map(|group| Table {
            rows: group.cells.iter().map(row).collect(),
            link: group.link,
            workload: group.workload,
        })
        .collect()
}

fn row(cell: &Cell, results: &Results, published: &[PublishedFigure], primary: Metric) -> Row {
    let of_cell = |cell: &Cell| -> BTreeMap<Metric, PublishedFigure> {
        let figures = published.iter().filter(|figure| figure.cell == *cell);
        figures.map(|figure| (figure.metric, figure.clone())).collect()
    };
    let values: BTreeMap<Metric, Estimate> = Metric::ALL
        .into_iter()
        .filter_map(|metric| Some((metric, results.interval(cell, metric)?)))
        .collect();
    let ratio = |baseline: Cell| {
        if baseline == *cell { None } else { results.ratio(cell, &baseline, primary) }
    };
    let runs = values.keys().map(|metric| results.values(cell, *metric).len()).max();
    let figures = of_cell(cell);
    let none = of_cell(&uncompressed(cell)).get(&primary).map(|figure| figure.value);
    Row {
        state: match runs {
            Some(runs) => State::Measured(runs),
            None if figures.is_empty() => State::NotMeasured,
            None => State::PublishedOnly,
        },
        to_none: ratio(uncompressed(cell)),
        to_direct: ratio(direct(cell)),
        published_to_none: figures
            .get(&primary)
            .zip(none.filter(|none| *none > 0.0))
            .map(|(figure, none)| figure.value / none),
        published: figures,
        cell: cell.clone(),
        values,
    }
}

/// `less is better`.
pub(crate) const fn better_in_words(metric: Metric) -> &'static str {
    match metric.better() {
        Better::Less => "less is better",
        Better::More => "more is better",
        Better::Neither => "neither way is better",
    }
}

/// What a plan of another version most likely is about.
pub(crate) fn usual_primary(results: &Results) -> Metric {
    let measured = results.metrics();
    [Metric::TransactionsPerS, Metric::TimeS]
        .into_iter()
        .find(|metric| measured.contains(metric))
        .or_else(|| measured.first().copied())
        .unwrap_or(Metric::TimeS)
}

fn columns(results: &Results, plan: Option<&dyn Plan>, primary: Metric) -> Vec<Metric> {
    let measured = results.metrics();
    let wished: &[Metric] = plan.map_or(measured.as_slice(), |plan| plan.columns());
    let others = wished.iter().filter(|metric| **metric != primary && measured.contains(metric));
    std::iter::once(primary).chain(others.copied()).collect()
}
