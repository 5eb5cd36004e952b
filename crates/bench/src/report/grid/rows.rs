//! A cell a row: everything that is known of it, or the exact figures behind a chart.
//!
//! Not here: a row for each number of threads (`matrix`).

use super::{Grid, GridRow, Head, Kind, caption, is_direct, is_uncompressed, label, mark};
use crate::record::{Cell, Metric, Path};
use crate::report::document::{Document, Row, Table};
use crate::report::number::{DASH, interval, or_dash, percent, short, spread, value};
use crate::stats::Estimate;

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
        caption: caption(table, document.primary),
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

/// Every cell of a chart with its exact figures.
pub(in crate::report) fn figures(document: &Document<'_>, table: &Table) -> Grid {
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

fn ratio(row: &Row, ratio: Option<Estimate>, is_baseline: fn(&Cell) -> bool, primary: Metric) -> String {
    if is_baseline(&row.cell) && row.values.contains_key(&primary) {
        return short(1.0);
    }
    or_dash(ratio.map(|ratio| ratio.value))
}

/// A column before it is known whether any row has it.
struct Column {
    head: Head,
    text: Box<dyn Fn(&Row) -> String>,
}
