//! Two tables for spreadsheets and scripts: what was computed, and what was measured.
//!
//! ```text
//!  results.csv   link,workload,threads,path,tls,setting,metric,n,median,low,high,confidence
//!  samples.csv   link,workload,threads,path,tls,setting,repetition,at_s,<a column per metric>
//! ```
//! Invariants: RFC 4180; numbers with all their digits, in the unit of the metric's name (bytes, not megabytes); an
//! empty field is what was not measured.

use std::fmt::Write;

use super::document::Document;
use crate::record::{Cell, Metric};

/// One row per cell and metric.
pub(super) fn results(document: &Document<'_>) -> String {
    let mut text = format!("{CELL_HEADS},metric,n,median,low,high,confidence\r\n");
    let results = &document.results;
    for cell in results.cells() {
        for metric in Metric::ALL {
            let Some(estimate) = results.interval(cell, metric) else { continue };
            // A String takes everything.
            write!(
                text,
                "{},{},{},{},{},{},{}\r\n",
                cell_fields(cell),
                metric.name(),
                results.values(cell, metric).len(),
                estimate.value,
                estimate.low,
                estimate.high,
                estimate.confidence,
            )
            .ok();
        }
    }
    text
}

/// One row per sample, in the order of time.
pub(super) fn samples(document: &Document<'_>) -> String {
    let metrics = document.results.metrics();
    let mut text = format!("{CELL_HEADS},repetition,at_s");
    for metric in &metrics {
        write!(text, ",{}", metric.name()).ok();
    }
    text.push_str("\r\n");
    for sample in &document.records.samples {
        write!(text, "{},{},{}", cell_fields(&sample.cell), sample.repetition, sample.at_s).ok();
        for metric in &metrics {
            let value = sample.metrics.get(metric).map_or_else(String::new, ToString::to_string);
            write!(text, ",{value}").ok();
        }
        text.push_str("\r\n");
    }
    text
}

fn cell_fields(cell: &Cell) -> String {
    format!(
        "{},{},{},{},{},{}",
        quoted(&cell.link),
        quoted(&cell.workload),
        cell.threads,
        cell.path,
        cell.tls,
        cell.setting
    )
}

/// In quotes where it must be.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

const CELL_HEADS: &str = "link,workload,threads,path,tls,setting";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_plans::ScanPlan;
    use crate::results::fixture::scans;

    #[test]
    fn every_cell_and_metric_and_every_sample_has_its_row() {
        let records = scans();
        let document = Document::of(&records, Some(&ScanPlan));
        let results = results(&document);
        let first = "unlimited,scan sbtest1,1,direct,false,none,time_s,7,0.1";
        assert!(results.lines().nth(1).unwrap().starts_with(first), "{results}");
        let metrics: usize = document
            .results
            .cells()
            .iter()
            .map(|cell| if cell.path == crate::record::Path::Direct { 7 } else { 8 })
            .sum();
        assert_eq!(results.lines().count(), 1 + metrics);
        let samples = samples(&document);
        assert_eq!(samples.lines().count(), 1 + records.samples.len());
        assert!(samples.contains("\r\n\"100mbit,1.4ms\",scan t1,1,wirepress,false,zstd 10,6,"));
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
