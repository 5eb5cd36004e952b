//! Threads a row, series a column.
//!
//! Not here: a cell a row (`rows`).

use std::collections::BTreeMap;

use super::{Grid, GridRow, Head, Kind, caption, is_direct, is_uncompressed};
use crate::record::Metric;
use crate::report::document::{Document, Row, State, Table};
use crate::report::number::{DASH, interval, or_dash, printable, value};
use crate::stats::Estimate;

/// Threads a row, series a column: the primary metric, and what was published beside it.
pub(in crate::report) fn matrix(document: &Document<'_>, table: &Table) -> Grid {
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
pub(in crate::report) fn ratios(document: &Document<'_>, table: &Table) -> Option<Grid> {
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
