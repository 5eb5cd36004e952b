//! A table's numbers as text, in columns: what terminal, Markdown and HTML have in common.
//!
//! ```text
//!  rows        a cell a row       seconds  ±  x none …  x direct …  published …  other metrics
//!  matrices    threads a row      a series a column: the primary metric; x none; x direct; latency; bytes
//!  judgements  a cell a row       a ratio a column, and its interval; a remark
//! ```
//! A table with several numbers of threads is read by its matrices, and has its rows behind them, to be looked up.
//!
//! Invariants: every row has as many texts as there are heads; a column in which no row has anything is left out.

mod judgements;
mod links;
mod matrix;
mod rows;

pub(super) use judgements::judgements;
pub(super) use links::links;
pub(super) use rows::figures;

use super::document::{Document, State, Table, better_in_words};
use super::number::printable;
use crate::record::{Cell, Metric, Path, Setting};

/// Text in rows and columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// What it shows, a sentence.
    pub(crate) caption: String,
    /// Over the labels of rows.
    pub(crate) corner: String,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<GridRow>,
}

/// Over a column.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Measured.
    Value,
    /// Follows from two that were measured.
    Ratio,
    /// Belongs to the column on its left.
    Interval,
    /// Not ours.
    Published,
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct GridRow {
    pub(crate) label: String,
    /// What is to be said of the whole row: that it failed, that it was only published.
    pub(crate) mark: Option<&'static str>,
    pub(crate) texts: Vec<String>,
}

/// What is read of a table.
pub(super) fn shown(document: &Document<'_>, table: &Table) -> Vec<Grid> {
    if table.is_matrix() { matrix::matrices(document, table) } else { vec![rows::rows(document, table)] }
}

/// What is looked up behind matrices: everything that is known of each cell.
pub(super) fn behind(document: &Document<'_>, table: &Table) -> Option<Grid> {
    table.is_matrix().then(|| {
        let rows = rows::rows(document, table);
        Grid { caption: format!("{ALL_COLUMNS}; {}", rows.caption), ..rows }
    })
}

/// Both.
pub(super) fn all(document: &Document<'_>, table: &Table) -> Vec<Grid> {
    shown(document, table).into_iter().chain(behind(document, table)).collect()
}

/// What a table's row is called.
pub(super) fn label(cell: &Cell, with_threads: bool) -> String {
    let label = printable(&cell.label());
    if with_threads { format!("{} × {label}", cell.threads) } else { label }
}

/// What is said of a row whose values are missing.
pub(super) const fn mark(state: State) -> Option<&'static str> {
    match state {
        State::Measured(_) => None,
        State::Failed => Some("failed"),
        State::PublishedOnly => Some("published only"),
        State::NotMeasured => Some("not measured"),
    }
}

fn caption(table: &Table, metric: Metric) -> String {
    let runs = table.rows.iter().filter_map(|row| match row.state {
        State::Measured(runs) => Some(runs),
        _ => None,
    });
    let runs: Vec<usize> = runs.collect();
    let of = match (runs.iter().min(), runs.iter().max()) {
        (Some(1), Some(1)) => "one repetition".to_owned(),
        (Some(least), Some(most)) if least == most => format!("median of {most} repetitions"),
        (Some(least), Some(most)) => format!("median of {least} to {most} repetitions"),
        _ => "not measured".to_owned(),
    };
    let threads = match table.threads().as_slice() {
        [] | [1] | [_, _, ..] => String::new(),
        [threads] => format!(", {threads} threads"),
    };
    format!("{}{threads}, {of}; {}", metric.heading(), better_in_words(metric))
}

fn is_uncompressed(cell: &Cell) -> bool {
    cell.setting == Setting::None
}

fn is_direct(cell: &Cell) -> bool {
    cell.path == Path::Direct && cell.setting == Setting::None
}

/// What is behind matrices.
pub(super) const ALL_COLUMNS: &str = "All columns of every cell";
