//! `growth`: how cost grows with clients and with bytes, through wirepress and direct; and whether one session holds others
//! up.
//!
//! Invariants: every figure has its direct one beside it: a knee that direct connections have too is not the proxy's.

use std::time::Duration;

use super::{Plan, Scale, Step, World};
use crate::job::{Job, ScanJob, Statement, Statements};
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::table::{Kind, Table};

/// More and more.
#[derive(Debug)]
pub(super) struct Growth;

impl Plan for Growth {
    fn name(&self) -> &'static str {
        "growth"
    }

    fn title(&self) -> &'static str {
        "How cost grows: clients, bytes, and a neighbour with large rows"
    }

    fn question(&self) -> &'static str {
        "Do transactions, memory and scan time grow with clients and bytes as those of direct connections do, and does one \
         session that reads rows of 16 MiB hold others up?"
    }

    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::TimeS,
            Metric::LatencyP50Ms,
            Metric::LatencyP99Ms,
            Metric::ProxyPssMib,
            Metric::ProxyCpuUsPerTx,
            Metric::ProxyCpuS,
            Metric::PlainBytes,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &["unlimited"]
    }

    fn counts_bytes(&self) -> bool {
        false
    }

    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 1,
            Scale::Laptop => 7,
            Scale::Full => 11,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        if !world.is_real {
            return Ok(Vec::new());
        }
        let (threads, scans, seconds): (&[u32], &[_], _) = match world.scale {
            Scale::Smoke => (&[1, 64], &SCANS[..2], 1),
            Scale::Laptop => (&[1, 8, 64, 256, 1024, 2048], &SCANS, 3),
            Scale::Full => (&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048], &SCANS, 10),
        };
        let table = Table::generated(Kind::Sysbench, "sbtest1", ROWS, world.seed);
        // 16 MiB of a column of 119 bytes.
        let large = Table::generated(Kind::Sysbench, "sbtest2", 141_000, world.seed);
        let select = |table: &Table, threads, beside_large_rows| {
            Job::Statements(Statements {
                statement: Statement::PointSelect,
                table: table.clone(),
                threads,
                time: Duration::from_secs(seconds),
                beside_large_rows,
            })
        };
        let name = Statement::PointSelect.name();
        let mut works: Vec<(&str, u32, Job)> =
            threads.iter().map(|threads| (name, *threads, select(&table, *threads, false))).collect();
        works.extend(
            scans
                .iter()
                .map(|(name, rows)| (*name, 1, Job::Scan(ScanJob { table: table.clone(), rows: *rows }))),
        );
        works.extend([(ALONE, STALL_THREADS, select(&large, STALL_THREADS, false))]);
        works.extend([(BESIDE, STALL_THREADS, select(&large, STALL_THREADS, true))]);
        let mut steps = Vec::new();
        for (link, _) in &world.links {
            for (workload, threads, job) in &works {
                for (path, setting) in WAYS {
                    let (link, workload) = (link.clone(), (*workload).to_owned());
                    let cell = Cell { link, workload, threads: *threads, path, tls: false, setting };
                    steps.push(Step::new(cell, job.clone()));
                }
            }
        }
        Ok(steps)
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        let mut links: Vec<&str> = results.cells().iter().map(|cell| cell.link.as_str()).collect();
        links.dedup();
        let mut lines = Vec::new();
        for link in links {
            for (path, setting) in WAYS.into_iter().filter(|(path, _)| *path != Path::Direct) {
                let cell = |workload: &str, threads, path, setting| Cell {
                    link: link.to_owned(),
                    workload: workload.to_owned(),
                    threads,
                    path,
                    tls: false,
                    setting,
                };
                let ours = |workload, threads| cell(workload, threads, path, setting);
                let direct = |workload, threads| cell(workload, threads, Path::Direct, Setting::None);
                let who = format!("{path}, {setting}, over {link}");
                lines.extend(clients(results, ours, direct).map(|told| format!("{who}: {told}.")));
                lines.extend(bytes(results, ours, direct).map(|told| format!("{who}: {told}.")));
                lines.extend(stall(results, ours, direct).map(|told| format!("{who}: {told}.")));
            }
        }
        lines
    }
}

/// Transactions in terms of direct's, and memory, by clients.
fn clients(
    results: &Results,
    ours: impl Fn(&'static str, u32) -> Cell,
    direct: impl Fn(&'static str, u32) -> Cell,
) -> Option<String> {
    let name = Statement::PointSelect.name();
    let mut threads: Vec<u32> =
        results.cells().iter().filter(|cell| cell.workload == name).map(|cell| cell.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let told: Vec<String> = threads
        .into_iter()
        .filter_map(|threads| {
            let cell = ours(name, threads);
            let ratio = results.ratio(&cell, &direct(name, threads), Metric::TransactionsPerS)?;
            let pss = results.median(&cell, Metric::ProxyPssMib)?;
            Some(format!("{threads}: {:.2}, {pss:.1} MiB", ratio.value))
        })
        .collect();
    (!told.is_empty())
        .then(|| format!("point selects in terms of direct's, and its PSS, by clients: {}", told.join("; ")))
}

/// Scan time in terms of direct's, by size.
fn bytes(
    results: &Results,
    ours: impl Fn(&'static str, u32) -> Cell,
    direct: impl Fn(&'static str, u32) -> Cell,
) -> Option<String> {
    let told: Vec<String> = SCANS
        .iter()
        .filter_map(|(name, _)| {
            let ratio = results.ratio(&ours(name, 1), &direct(name, 1), Metric::TimeS)?;
            Some(format!("{}: {:.2}", name.trim_start_matches("scan of "), ratio.value))
        })
        .collect();
    (!told.is_empty()).then(|| format!("scan time in terms of direct's, by size: {}", told.join("; ")))
}

/// What a neighbour with large rows adds to a point select's p99.
fn stall(
    results: &Results,
    ours: impl Fn(&'static str, u32) -> Cell,
    direct: impl Fn(&'static str, u32) -> Cell,
) -> Option<String> {
    let rise = |cell: &dyn Fn(&'static str) -> Cell| {
        let p99 = |name| results.median(&cell(name), Metric::LatencyP99Ms);
        Some(p99(BESIDE)? - p99(ALONE)?)
    };
    let rise_ms = rise(&|name| ours(name, STALL_THREADS))?;
    let direct_ms = rise(&|name| direct(name, STALL_THREADS))?;
    let held = if rise_ms <= RISE_MS_MAX { "holds" } else { "misses" };
    Some(format!(
        "beside a scan of rows of 16 MiB a point select's p99 rises by {rise_ms:.2} ms, {direct_ms:.2} ms direct: {held} \
         (wanted: {RISE_MS_MAX} ms)"
    ))
}

const WAYS: [(Path, Setting); 3] =
    [(Path::Direct, Setting::None), (Path::Wirepress, Setting::None), (Path::Wirepress, Setting::Latency)];
/// 9.9 MB of packets.
const ROWS: u32 = 50_000;
/// By name and rows of 197 bytes.
const SCANS: [(&str, u32); 4] = [
    ("scan of 1 MB", 5_000),
    ("scan of 10 MB", ROWS),
    ("scan of 100 MB", 10 * ROWS),
    ("scan of 1 GB", 100 * ROWS),
];
const ALONE: &str = "point select alone";
const BESIDE: &str = "point select beside rows of 16 MiB";
/// More than workers, so that some share theirs with the scan.
const STALL_THREADS: u32 = 4;
const RISE_MS_MAX: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture;

    #[test]
    fn growth_is_told_beside_direct_and_a_stall_by_its_rise() {
        let cell = |workload: &str, threads, path, setting| Cell {
            link: "unlimited".to_owned(),
            workload: workload.to_owned(),
            threads,
            path,
            tls: false,
            setting,
        };
        let mut values = Vec::new();
        for (path, setting, slow, rise) in
            [(Path::Direct, Setting::None, 1.0, 1.5), (Path::Wirepress, Setting::None, 2.0, 4.0)]
        {
            let mut add = |workload, threads, metric, value| {
                values.push((cell(workload, threads, path, setting), metric, value));
            };
            for threads in [1, 2048] {
                add("point select", threads, Metric::TransactionsPerS, 1e3 / slow);
            }
            add("scan of 1 MB", 1, Metric::TimeS, 0.01 * slow);
            add(ALONE, STALL_THREADS, Metric::LatencyP99Ms, 1.0);
            add(BESIDE, STALL_THREADS, Metric::LatencyP99Ms, 1.0 + rise);
        }
        let mut records = fixture::records_of(values.into_iter());
        for sample in &mut records.samples {
            sample.metrics.insert(Metric::ProxyPssMib, f64::from(sample.cell.threads));
        }
        assert_eq!(
            Growth.summary(&Results::of(&records)),
            [
                "wirepress, none, over unlimited: point selects in terms of direct's, and its PSS, by clients: 1: 0.50, 1.0 \
                 MiB; 2048: 0.50, 2048.0 MiB.",
                "wirepress, none, over unlimited: scan time in terms of direct's, by size: 1 MB: 2.00.",
                "wirepress, none, over unlimited: beside a scan of rows of 16 MiB a point select's p99 rises by 4.00 ms, 1.50 \
                 ms direct: misses (wanted: 2 ms)."
            ]
        );
    }
}
