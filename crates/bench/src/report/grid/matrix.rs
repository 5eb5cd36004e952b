//! Threads a row, series a column.
//!
//! ```text
//!  primary            a series a column, its published figures beside it
//!  x none, x direct   a series a column, and its interval
//!  latency, bytes     a series a column
//! ```
//! Invariants: a series of which nothing is known has no column, and a number of threads of which nothing is known no row;
//! direct has a column of values all the same.
//!
//! Not here: a cell a row (`rows`).

use super::{Grid, GridRow, Head, Kind, caption, is_direct};
use crate::record::{Cell, Metric, Path};
use crate::report::document::{Document, Row, State, Table};
use crate::report::number::{DASH, interval, or_dash, printable, value};
use crate::stats::Estimate;

/// A head, and a text for each number of threads.
type Column = (Head, Vec<String>);

/// The primary metric, its ratios, and [`OTHERS`]; what no cell has is left out.
pub(super) fn matrices(document: &Document<'_>, table: &Table) -> Vec<Grid> {
    let primary = document.primary;
    let in_terms_of = |what: &str, ratio: fn(&Row) -> Option<Estimate>| {
        let columns = ratios(table, ratio);
        let caption = format!("{} in terms of {what}", primary.heading());
        (!columns.is_empty()).then(|| grid(table, caption, columns))
    };
    let mut grids = vec![values(table, primary)];
    grids.extend(in_terms_of("the same path uncompressed (x none)", |row| row.to_none));
    grids.extend(in_terms_of("direct, uncompressed (x direct)", |row| {
        // Without anybody between, it would be x none again.
        row.to_direct.filter(|_| row.cell.path != Path::Direct)
    }));
    let has = |metric: &Metric| table.rows.iter().any(|row| row.median(*metric).is_some());
    let others = OTHERS.into_iter().filter(|metric| *metric != primary && document.columns.contains(metric));
    grids.extend(others.filter(has).map(|metric| values(table, metric)));
    grids
}

/// A metric, and what was published of it.
fn values(table: &Table, metric: Metric) -> Grid {
    let mut columns: Vec<Column> = Vec::new();
    for series in table.series() {
        let rows = rows(table, &series);
        let has = |is: &dyn Fn(&Row) -> bool| rows.iter().flatten().any(|row| is(row));
        let mut push = |head: Head, text: &dyn Fn(&Row) -> Option<String>| {
            let texts = rows.iter().map(|row| row.and_then(text).unwrap_or_else(|| DASH.to_owned()));
            columns.push((head, texts.collect()));
        };
        let text = printable(&series.label());
        // A direct column is always there.
        if has(&|row| measured(row, metric).is_some()) || is_direct(&series) && !series.tls {
            push(Head { text: text.clone(), kind: Kind::Value }, &|row| measured(row, metric));
        }
        if has(&|row| row.published(metric).is_some()) {
            let head = Head { text: format!("{text} published"), kind: Kind::Published };
            push(head, &|row| Some(value(metric, row.published(metric)?)));
        }
    }
    grid(table, caption(table, metric), columns)
}

fn measured(row: &Row, metric: Metric) -> Option<String> {
    match row.state {
        State::Failed => Some("failed".to_owned()),
        _ => Some(value(metric, row.median(metric)?)),
    }
}

/// Ratios, and their intervals where there are any.
fn ratios(table: &Table, ratio: fn(&Row) -> Option<Estimate>) -> Vec<Column> {
    let mut columns = Vec::new();
    for series in table.series() {
        let ratios: Vec<Option<Estimate>> =
            rows(table, &series).into_iter().map(|row| row.and_then(ratio)).collect();
        if ratios.iter().any(Option::is_some) {
            let head = Head { text: printable(&series.label()), kind: Kind::Ratio };
            let texts = ratios.iter().map(|ratio| or_dash(ratio.map(|ratio| ratio.value)));
            columns.push((head, texts.collect()));
        }
        if ratios.iter().flatten().any(Estimate::has_interval) {
            let head = Head { text: "interval".to_owned(), kind: Kind::Interval };
            let texts = ratios.iter().map(|ratio| ratio.as_ref().map_or_else(String::new, interval));
            columns.push((head, texts.collect()));
        }
    }
    columns
}

/// The rows of a series, one for each number of threads.
fn rows<'a>(table: &'a Table, series: &Cell) -> Vec<Option<&'a Row>> {
    table.threads().into_iter().map(|threads| table.row(series, threads)).collect()
}

fn grid(table: &Table, caption: String, columns: Vec<Column>) -> Grid {
    let (heads, texts): (Vec<Head>, Vec<Vec<String>>) = columns.into_iter().unzip();
    let row = |(index, threads): (usize, u32)| GridRow {
        label: threads.to_string(),
        mark: None,
        texts: texts.iter().map(|texts| texts.get(index).cloned().unwrap_or_default()).collect(),
    };
    Grid {
        caption,
        corner: "threads".to_owned(),
        rows: table.threads().into_iter().enumerate().map(row).filter(is_known).collect(),
        heads,
    }
}

fn is_known(row: &GridRow) -> bool {
    row.texts.iter().any(|text| !matches!(text.as_str(), "" | DASH))
}

/// What is read beside transactions: who waits, and what crosses the link. All else is in the rows of cells.
const OTHERS: [Metric; 3] = [Metric::LatencyP95Ms, Metric::WireBytes, Metric::WireBytesPerTx];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Failure, Setting};
    use crate::report::grid;
    use crate::report::test_plans::TransactionPlan;
    use crate::results::fixture::{records, sample, transactions};

    #[test]
    fn ratios_latency_and_bytes_stand_beside_the_primary_metric() {
        let records = transactions();
        let document = Document::of(&records, Some(&TransactionPlan));
        let table = document.tables.first().unwrap();
        let grids = grid::shown(&document, table);
        let captions: Vec<&str> = grids.iter().map(|grid| grid.caption.as_str()).collect();
        assert_eq!(
            captions,
            [
                "tx/s, median of 5 repetitions; more is better",
                "tx/s in terms of the same path uncompressed (x none)",
                "tx/s in terms of direct, uncompressed (x direct)",
                "p95 ms, median of 5 repetitions; less is better",
                "wire B/tx, median of 5 repetitions; less is better",
            ]
        );
        let x_direct = &grids[2];
        let heads: Vec<&str> = x_direct.heads.iter().map(|head| head.text.as_str()).collect();
        assert_eq!(heads[..4], ["wirepress, none", "interval", "wirepress, zlib", "interval"]);
        let wirepress = table.rows.iter().find(|row| {
            (row.cell.threads, row.cell.path, row.cell.setting) == (64, Path::Wirepress, Setting::None)
        });
        let ratio = wirepress.unwrap().to_direct.unwrap();
        let row = x_direct.rows.iter().find(|row| row.label == "64").unwrap();
        assert_eq!(row.texts[..2], [or_dash(Some(ratio.value)), interval(&ratio)]);
        assert!(grids.iter().all(|grid| grid.rows.iter().all(|row| row.texts.len() == grid.heads.len())));
        assert_eq!(grids[4].rows[0].texts[..2], ["41,000", "20,500"]);
    }

    #[test]
    fn without_anybody_between_x_direct_would_be_x_none_again_and_what_failed_says_so() {
        let cell = |threads, setting| Cell {
            threads,
            ..crate::results::fixture::cell("unlimited", Path::Direct, setting)
        };
        let mut records = records(vec![
            sample(&cell(1, Setting::None), 0, 1.0),
            sample(&cell(8, Setting::None), 0, 2.0),
            sample(&cell(8, Setting::Zlib), 0, 3.0),
        ]);
        let reason = "no program".to_owned();
        records.failures.push(Failure { cell: cell(1, Setting::Zlib), repetition: 0, reason });
        let document = Document::of(&records, None);
        let grids = grid::shown(&document, document.tables.first().unwrap());
        let texts = |grid: &Grid| grid.rows.iter().map(|row| row.texts.join(" ")).collect::<Vec<_>>();
        assert_eq!(grids.len(), 2);
        assert_eq!(texts(&grids[0]), ["1.00 failed", "2.00 3.00"]);
        // A single repetition has no interval, and one thread no ratio.
        assert_eq!((texts(&grids[1]), grids[1].rows[0].label.as_str()), (vec!["1.50".to_owned()], "8"));
    }
}
