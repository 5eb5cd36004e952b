//! A table's numbers as text, in columns: what terminal, Markdown and HTML have in common.
//!
//! ```text
//!  rows      a cell a row        seconds  ±  x none …  x direct …  published …  other metrics
//!  matrix    threads a row       a series a column, its published figures beside it
//!  ratios    threads a row       a series a column: x none, and its interval
//! ```
//! Invariants: every row has as many texts as there are heads; a column in which no row has anything is left out.

use std::collections::BTreeMap;

use super::document::{Document, Row, State, Table};
use super::number::{DASH, interval, or_dash, percent, printable, short, spread, value};
use crate::record::{Cell, Metric, Path, Setting};
use crate::stats::Estimate;

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

/// A column before it is known whether any row has it.
struct Column {
    head: Head,
    text: Box<dyn Fn(&Row) -> String>,
}

/// A cell a row, with everything that is known of it.
pub(super) fn rows(document: &Document<'_>, table: &Table) -> Grid {
    let columns: Vec<Column> = columns(document, table)
        .into_iter()
        .filter(|column| table.rows.iter().any(|row| !matches!((column.text)(row).as_str(), "" | DASH)))
        .collect();
    let row = |row: &Row| GridRow {
        label: label(&row.cell, table.is_matrix()),
        mark: mark(row.state),
        texts: columns.iter().map(|column| (column.text)(row)).collect(),
    };
    Grid {
        caption: caption(document, table),
        corner: String::new(),
        rows: table.rows.iter().map(row).collect(),
        heads: columns.into_iter().map(|column| column.head).collect(),
    }
}

fn columns(document: &Document<'_>, table: &Table) -> Vec<Column> {
    let primary = document.primary;
    let column =
        |text: String, kind, of: Box<dyn Fn(&Row) -> String>| Column { head: Head { text, kind }, text: of };
    let measured = move |metric: Metric| {
        move |row: &Row| row.median(metric).map_or_else(|| DASH.to_owned(), |median| value(metric, median))
    };
    let mut columns = vec![
        column(primary.heading().to_owned(), Kind::Value, Box::new(measured(primary))),
        column(
            "±".to_owned(),
            Kind::Interval,
            Box::new(move |row| row.values.get(&primary).map_or_else(String::new, spread)),
        ),
        column(
            "x none".to_owned(),
            Kind::Ratio,
            Box::new(move |row| ratio(row, row.to_none, is_uncompressed, primary)),
        ),
        column(
            "interval".to_owned(),
            Kind::Interval,
            Box::new(|row| row.to_none.as_ref().map_or_else(String::new, interval)),
        ),
    ];
    // Without anybody between, it would be the same column again.
    if table.rows.iter().any(|row| row.cell.path != Path::Direct && row.to_direct.is_some()) {
        columns.push(column(
            "x direct".to_owned(),
            Kind::Ratio,
            Box::new(move |row| ratio(row, row.to_direct, is_direct, primary)),
        ));
        columns.push(column(
            "interval".to_owned(),
            Kind::Interval,
            Box::new(|row| row.to_direct.as_ref().map_or_else(String::new, interval)),
        ));
    }
    for metric in table.published_metrics() {
        columns.push(column(
            format!("published {}", metric.heading()),
            Kind::Published,
            Box::new(move |row| {
                row.published(metric).map_or_else(|| DASH.to_owned(), |figure| value(metric, figure))
            }),
        ));
        if metric == primary {
            columns.push(column(
                "published x none".to_owned(),
                Kind::Published,
                Box::new(|row| or_dash(row.published_to_none)),
            ));
        }
    }
    for metric in document.columns.iter().copied().filter(|metric| *metric != primary) {
        columns.push(column(metric.heading().to_owned(), Kind::Value, Box::new(measured(metric))));
    }
    columns
}

/// Threads a row, series a column: the primary metric, and what was published beside it.
pub(super) fn matrix(document: &Document<'_>, table: &Table) -> Grid {
    let primary = document.primary;
    let series = table.series();
    let mut heads = Vec::new();
    let mut texts: Vec<Vec<String>> = vec![Vec::new(); table.threads().len()];
    for cell in &series {
        let rows: Vec<Option<&Row>> =
            table.threads().iter().map(|threads| table.row(cell, *threads)).collect();
        let is_measured = |row: &&Row| matches!(row.state, State::Measured(_) | State::Failed);
        // A direct column is always there.
        if rows.iter().flatten().any(is_measured) || is_direct(cell) && !cell.tls {
            heads.push(Head { text: printable(&cell.label()), kind: Kind::Value });
            for (texts, row) in texts.iter_mut().zip(&rows) {
                texts.push(row.map_or_else(|| DASH.to_owned(), |row| matrix_text(row, primary)));
            }
        }
        if rows.iter().flatten().any(|row| row.published(primary).is_some()) {
            heads.push(Head {
                text: format!("{} published", printable(&cell.label())),
                kind: Kind::Published,
            });
            for (texts, row) in texts.iter_mut().zip(&rows) {
                let figure = row.and_then(|row| row.published(primary));
                texts.push(figure.map_or_else(|| DASH.to_owned(), |figure| value(primary, figure)));
            }
        }
    }
    Grid {
        caption: caption(document, table),
        corner: "threads".to_owned(),
        heads,
        rows: thread_rows(table, texts),
    }
}

fn matrix_text(row: &Row, primary: Metric) -> String {
    match row.state {
        State::Failed => "failed".to_owned(),
        _ => row.median(primary).map_or_else(|| DASH.to_owned(), |median| value(primary, median)),
    }
}

/// Threads a row, series a column: the ratio to the same path uncompressed, and its interval. None where no series has
/// such a ratio.
pub(super) fn ratios(document: &Document<'_>, table: &Table) -> Option<Grid> {
    let mut heads = Vec::new();
    let mut texts: Vec<Vec<String>> = vec![Vec::new(); table.threads().len()];
    for cell in table.series().iter().filter(|cell| !is_uncompressed(cell)) {
        let ratios: BTreeMap<u32, Estimate> = table
            .threads()
            .into_iter()
            .filter_map(|threads| Some((threads, table.row(cell, threads)?.to_none?)))
            .collect();
        if ratios.is_empty() {
            continue;
        }
        heads.push(Head { text: printable(&cell.label()), kind: Kind::Ratio });
        heads.push(Head { text: "interval".to_owned(), kind: Kind::Interval });
        for (texts, threads) in texts.iter_mut().zip(table.threads()) {
            let ratio = ratios.get(&threads);
            texts.push(or_dash(ratio.map(|ratio| ratio.value)));
            texts.push(ratio.map_or_else(String::new, interval));
        }
    }
    (!heads.is_empty()).then(|| Grid {
        caption: format!(
            "{} in terms of the same path uncompressed (x none), and its interval",
            document.primary.heading()
        ),
        corner: "threads".to_owned(),
        heads,
        rows: thread_rows(table, texts),
    })
}

fn thread_rows(table: &Table, texts: Vec<Vec<String>>) -> Vec<GridRow> {
    let row =
        |(threads, texts): (u32, Vec<String>)| GridRow { label: threads.to_string(), mark: None, texts };
    table.threads().into_iter().zip(texts).map(row).collect()
}

/// Every cell of a chart with its exact figures.
pub(super) fn figures(document: &Document<'_>, table: &Table) -> Grid {
    let primary = document.primary;
    let by = primary.heading_divisor();
    let head = |text: String, kind| Head { text, kind };
    let exact = |number: f64| format!("{:.5}", number / by);
    let row = |row: &Row| {
        let estimate = row.values.get(&primary);
        let of = |number: fn(&Estimate) -> f64| {
            estimate.map_or_else(|| DASH.to_owned(), |estimate| exact(number(estimate)))
        };
        GridRow {
            label: label(&row.cell, table.is_matrix()),
            mark: mark(row.state),
            texts: vec![
                document.results.values(&row.cell, primary).len().to_string(),
                of(|estimate| estimate.value),
                of(|estimate| estimate.low),
                of(|estimate| estimate.high),
                estimate.map_or_else(|| DASH.to_owned(), |estimate| percent(estimate.confidence)),
                or_dash(row.to_none.map(|ratio| ratio.value)),
                row.to_none.as_ref().map_or_else(String::new, interval),
                row.published(primary).map_or_else(|| DASH.to_owned(), |figure| value(primary, figure)),
            ],
        }
    };
    let heads = [
        ("n", Kind::Value),
        ("median", Kind::Value),
        ("low", Kind::Value),
        ("high", Kind::Value),
        ("confidence", Kind::Value),
        ("x none", Kind::Ratio),
        ("interval", Kind::Interval),
        ("published", Kind::Published),
    ];
    Grid {
        caption: format!(
            "{} of every cell, with the ends and the confidence of its interval",
            primary.heading()
        ),
        corner: String::new(),
        heads: heads.into_iter().map(|(text, kind)| head(text.to_owned(), kind)).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

/// What a link was asked for, and what it did.
pub(super) fn links(document: &Document<'_>) -> Option<Grid> {
    let checks = &document.records.links;
    let heads = [
        "kind",
        "wished Mbit/s",
        "achieved Mbit/s",
        "wished round trip ms",
        "achieved round trip ms",
        "congestion control",
    ];
    let head = |text: &str| Head { text: text.to_owned(), kind: Kind::Value };
    (!checks.is_empty()).then(|| Grid {
        caption: "Links as they were calibrated, beside what was wished".to_owned(),
        corner: "link".to_owned(),
        heads: heads.into_iter().map(head).collect(),
        rows: checks
            .iter()
            .map(|check| GridRow {
                label: printable(&check.link),
                mark: None,
                texts: vec![
                    printable(&check.kind),
                    check.wished_mbit_per_s.map_or_else(|| "unlimited".to_owned(), short),
                    short(check.achieved_mbit_per_s),
                    short(check.wished_round_trip_ms),
                    short(check.achieved_round_trip_ms),
                    check.congestion_control.as_deref().map_or_else(|| DASH.to_owned(), printable),
                ],
            })
            .collect(),
    })
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

fn ratio(row: &Row, ratio: Option<Estimate>, is_baseline: fn(&Cell) -> bool, primary: Metric) -> String {
    if is_baseline(&row.cell) && row.values.contains_key(&primary) {
        return short(1.0);
    }
    or_dash(ratio.map(|ratio| ratio.value))
}

fn is_uncompressed(cell: &Cell) -> bool {
    cell.setting == Setting::None
}

fn is_direct(cell: &Cell) -> bool {
    cell.path == Path::Direct && cell.setting == Setting::None
}
