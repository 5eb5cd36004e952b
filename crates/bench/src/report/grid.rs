//! A table's numbers as text, in columns: what terminal, Markdown and HTML have in common.
//!
//! ```text
//!  rows      a cell a row        seconds  ±  x none …  x direct …  published …  other metrics
//!  matrix    threads a row       a series a column, its published figures beside it
//!  ratios    threads a row       a series a column: x none, and its interval
//! ```
//! Invariants: every row has as many texts as there are heads; a column in which no row has anything is left out.

mod links;
mod matrix;
mod rows;

pub(super) use links::links;
pub(super) use matrix::{matrix, ratios};
pub(super) use rows::{figures, rows};

use super::document::{Document, State, Table};
use super::number::printable;
use crate::record::{Cell, Path, Setting};

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

fn caption(document: &Document<'_>, table: &Table) -> String {
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
    format!("{}{threads}, {of}; {}", document.primary.heading(), document.better_in_words())
}

fn is_uncompressed(cell: &Cell) -> bool {
    cell.setting == Setting::None
}

fn is_direct(cell: &Cell) -> bool {
    cell.path == Path::Direct && cell.setting == Setting::None
}
