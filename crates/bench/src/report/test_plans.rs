//! Plans for tests of reports: made up, with published figures in the shape of real ones.

use crate::plan::{Agreement, Finding, Plan, PublishedFigure, Step, World};
use crate::published::Published;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::results::fixture::cell;

/// A plan of scans, for tests of reports.
#[derive(Debug)]
pub(crate) struct ScanPlan;

impl Plan for ScanPlan {
    fn name(&self) -> &'static str {
        "synthetic"
    }
    fn title(&self) -> &'static str {
        "Full scans, compressed (synthetic)"
    }
    fn question(&self) -> &'static str {
        "What does compression cost where the network is fast, and what does it gain where it is slow?"
    }
    fn primary(&self) -> Metric {
        Metric::TimeS
    }
    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TimeS,
            Metric::WireBytes,
            Metric::MeanMbPerS,
            Metric::PeakMbPerS,
            Metric::ServerCpuS,
            Metric::ProxyCpuS,
            Metric::ClientCpuS,
        ]
    }
    fn links(&self) -> &'static [&'static str] {
        &[]
    }
    fn steps(&self, _: &World) -> anyhow::Result<Vec<Step>> {
        Ok(Vec::new())
    }
    fn published(&self, figures: &Published) -> Vec<PublishedFigure> {
        let scans = [("scan sbtest1", &figures.rds_scan), ("scan t1", &figures.rds_wide)];
        let levels =
            [(0, Setting::None), (3, Setting::Zstd(3)), (7, Setting::Zstd(7)), (10, Setting::Zstd(10))];
        let mut published = Vec::new();
        for (workload, scan) in scans {
            for (level, setting) in levels {
                let Some(row) = scan.at_zstd_level(level) else { continue };
                let cell = Cell { workload: workload.to_owned(), ..cell("unlimited", Path::Direct, setting) };
                let figure = |metric, value| {
                    let (cell, conditions) = (cell.clone(), "20 M rows, 8 vCPU, network not shaped");
                    PublishedFigure { cell, metric, value, conditions }
                };
                published.push(figure(Metric::TimeS, row.time_s));
                published.push(figure(Metric::PeakMbPerS, row.network_peak_mb_per_s));
            }
        }
        // So that there is a row that nobody measured.
        let cell = cell("100mbit,1.4ms", Path::Direct, Setting::Zstd(22));
        published.push(PublishedFigure { cell, metric: Metric::TimeS, value: 321.0, conditions: "made up" });
        published
    }
    fn findings(&self, _: &Results, _: &Published) -> Vec<Finding> {
        let finding = |claim: &str, published: &str, measured: &str, agreement, why: Option<&str>| Finding {
            claim: claim.to_owned(),
            published: published.to_owned(),
            measured: measured.to_owned(),
            agreement,
            why: why.map(str::to_owned),
        };
        vec![
            finding(
                "On a fast network every level costs time on rows of digits.",
                "4.18, 7.34 and 10.6 times the time at zstd 3, 7 and 10",
                "1.63, 5.34 and 8.37 times",
                Agreement::Agrees,
                None,
            ),
            finding(
                "On long repetitive rows zstd 3 is faster, zstd 7 and 10 are slower.",
                "0.34, 2.16 and 2.24 times the time",
                "1.00, 1.00 and 1.00 times",
                Agreement::Differs,
                Some("The server here packs 4 GB a second of such rows; the published one packed 0.9."),
            ),
            finding(
                "zstd 10 is slower than zstd 7 on long rows.",
                "1.04 times",
                "1.02 times, 0.98 to 1.06",
                Agreement::Undecided,
                Some("The interval holds both; --repetitions 20 may decide it."),
            ),
            finding(
                "Over 1 Gbit/s compression makes indexing slower.",
                "1.2 times the time",
                "",
                Agreement::NotMeasured,
                Some("It is a cell of the scale full."),
            ),
        ]
    }
}

/// A plan of transactions, for tests of reports.
#[derive(Debug)]
pub(crate) struct TransactionPlan;

impl Plan for TransactionPlan {
    fn name(&self) -> &'static str {
        "synthetic"
    }
    fn title(&self) -> &'static str {
        "Transactions a second by threads (synthetic)"
    }
    fn question(&self) -> &'static str {
        "From how many threads on does compression win, and what does TLS cost?"
    }
    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }
    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::LatencyP50Ms,
            Metric::LatencyP95Ms,
            Metric::LatencyP99Ms,
            Metric::MeanMbPerS,
            Metric::WireBytesPerTx,
        ]
    }
    fn links(&self) -> &'static [&'static str] {
        &[]
    }
    fn steps(&self, _: &World) -> anyhow::Result<Vec<Step>> {
        Ok(Vec::new())
    }
    fn published(&self, _: &Published) -> Vec<PublishedFigure> {
        // In the shape of what was published.
        let none = [326.0, 1143.0, 2400.0, 2666.0, 2838.0, 2865.0, 2867.0, 2867.0, 2867.0, 2865.0, 2762.0];
        let zlib = [198.0, 772.0, 2714.0, 3940.0, 4455.0, 4771.0, 5031.0, 5135.0, 5134.0, 5129.0, 5100.0];
        let tls = [295.0, 1070.0, 2352.0, 2631.0, 2822.0, 2837.0, 2837.0, 2837.0, 2836.0, 1830.0, 1019.0];
        let mut published = Vec::new();
        for (values, setting, tls) in
            [(none, Setting::None, false), (zlib, Setting::Zlib, false), (tls, Setting::None, true)]
        {
            for (threads, value) in [1, 4, 16, 32, 64, 96, 128, 256, 512, 1024, 2048].into_iter().zip(values)
            {
                let (link, workload) = ("1gbit".to_owned(), "oltp_read_only".to_owned());
                published.push(PublishedFigure {
                    cell: Cell { link, workload, threads, path: Path::Direct, tls, setting },
                    metric: Metric::TransactionsPerS,
                    value,
                    conditions: "two servers, 1 Gbit/s",
                });
            }
        }
        published
    }
    fn findings(&self, _: &Results, _: &Published) -> Vec<Finding> {
        Vec::new()
    }
}
