//! What the pair's cells say: its zstd 3 against the standard protocol's, over the same link, by one wirepress: beside the
//! server, which packs replies, and for bulk inserts beside the application, where it packs requests.
//!
//! Invariants: bytes are those on the link, so the pair's are inside TLS and the others are not; CPU time is that of
//! server, proxies and client together.

use crate::job::Statement;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::stats::Estimate;

/// A sentence for each cell of the pair at zstd 3 whose counterpart was measured.
pub(super) fn lines(results: &Results) -> Vec<String> {
    let is_ours = |cell: &&Cell| cell.path == Path::WirepressPair && cell.setting == COMPARED;
    results.cells().iter().filter(is_ours).filter_map(|cell| line(results, cell)).collect()
}

/// Where a wirepress that speaks the standard protocol packs what is large.
pub(super) const fn standard_path(is_sent: bool) -> Path {
    if is_sent { Path::WirepressBesideApp } else { Path::Wirepress }
}

fn line(results: &Results, cell: &Cell) -> Option<String> {
    let is_sent = cell.workload == Statement::BulkInsert.name();
    let standard = cell.with(standard_path(is_sent), COMPARED, cell.tls);
    let rate = results.ratio(cell, &standard, Metric::TransactionsPerS)?;
    let mut parts = vec![format!("{} of its transactions a second", told(&rate))];
    let either = |per_run, per_transaction| {
        results.ratio(cell, &standard, per_transaction).or_else(|| results.ratio(cell, &standard, per_run))
    };
    if let Some(bytes) = either(Metric::WireBytes, Metric::WireBytesPerTx) {
        parts.push(format!("{} of its bytes", told(&bytes)));
    }
    if let Some(p99) = results.ratio(cell, &standard, Metric::LatencyP99Ms) {
        parts.push(format!("{} of its p99", told(&p99)));
    }
    if let Some((ours, standards)) =
        cpu(results, cell).zip(cpu(results, &standard)).filter(|(_, it)| *it > 0.0)
    {
        parts.push(format!("{:.2} of its CPU time", ours / standards));
    }
    let threads = if cell.threads > 1 { format!(", {} threads", cell.threads) } else { String::new() };
    Some(format!(
        "{} over {}{threads}: the pair at {COMPARED} against {COMPARED} of the standard protocol: {}.",
        cell.workload,
        cell.link,
        parts.join(", ")
    ))
}

/// Of server, proxies and client, by scan or transaction, whichever was measured.
fn cpu(results: &Results, cell: &Cell) -> Option<f64> {
    let sum = |metrics: [Metric; 3]| -> Option<f64> {
        metrics.into_iter().map(|metric| results.median(cell, metric)).sum()
    };
    sum([Metric::ServerCpuUsPerTx, Metric::ProxyCpuUsPerTx, Metric::ClientCpuUsPerTx])
        .or_else(|| sum([Metric::ServerCpuS, Metric::ProxyCpuS, Metric::ClientCpuS]))
}

fn told(ratio: &Estimate) -> String {
    if ratio.has_interval() {
        format!("{:.2} ({:.2} to {:.2}{})", ratio.value, ratio.low, ratio.high, ratio.doubt())
    } else {
        format!("{:.2}", ratio.value)
    }
}

pub(super) const COMPARED: Setting = Setting::Zstd(3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture;

    #[test]
    fn the_pair_is_compared_with_the_standard_protocol_over_the_same_link() {
        let cell = |link: &str, path| Cell {
            link: link.to_owned(),
            workload: "point select".to_owned(),
            threads: 8,
            path,
            tls: false,
            setting: COMPARED,
        };
        let (pair, standard) = (cell("1gbit", Path::WirepressPair), cell("1gbit", Path::Wirepress));
        let alone = cell("10mbit", Path::WirepressPair);
        let values = [
            (&pair, Metric::TransactionsPerS, 110.0),
            (&standard, Metric::TransactionsPerS, 100.0),
            (&alone, Metric::TransactionsPerS, 100.0),
        ];
        let mut records = fixture::records_of(
            values.into_iter().map(|(cell, metric, value)| (cell.clone(), metric, value)),
        );
        for (sample, bytes) in records.samples.iter_mut().zip([50.0, 100.0, 50.0]) {
            sample.metrics.insert(Metric::WireBytesPerTx, bytes);
        }
        let lines = lines(&Results::of(&records));
        assert_eq!(
            lines,
            [
                "point select over 1gbit, 8 threads: the pair at zstd 3 against zstd 3 of the standard protocol: 1.10 of its \
              transactions a second, 0.50 of its bytes."
            ]
        );
    }
}
