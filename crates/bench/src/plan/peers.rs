//! `peers`: what a relay costs that compresses nothing: HAProxy, MySQL Router and wirepress beside a direct connection.
//!
//! Its summary lays wirepress beside each of the others, repetition by repetition, and says of what is wanted there whether it
//! holds.
//!
//! Published: reports of relays' own projects, of which nothing is laid beside these figures; the summary says why.

use std::time::Duration;

use super::{Plan, Scale, Step, World};
use crate::job::{Connect, Job, ScanJob, Script, Sysbench};
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::stats::Estimate;
use crate::table::{Kind, Table};

/// Relays.
#[derive(Debug)]
pub(super) struct Peers;

impl Plan for Peers {
    fn name(&self) -> &'static str {
        "peers"
    }

    fn title(&self) -> &'static str {
        "Relays without compression"
    }

    fn question(&self) -> &'static str {
        "What do HAProxy, MySQL Router and wirepress cost when they only relay: transactions, latency, connections, a \
         scan?"
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
            Metric::ServerCpuUsPerTx,
            Metric::ProxyCpuUsPerTx,
            Metric::ClientCpuUsPerTx,
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
            Scale::Laptop => 12,
            Scale::Full => 21,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        if !world.is_real {
            return Ok(Vec::new());
        }
        let time = Duration::from_secs(match world.scale {
            Scale::Smoke => 2,
            Scale::Laptop => 3,
            Scale::Full => 10,
        });
        let rows = if world.scale == Scale::Smoke { 100_000 } else { 500_000 };
        let sysbench = |script: Script, threads| {
            let job = Sysbench { script, threads, tables: 1, rows, time, seed: world.seed };
            (script.name(), threads, Job::Sysbench(job))
        };
        // sysbench's first table, with its rows.
        let table = Table::generated(Kind::Sysbench, "sbtest1", rows, world.seed.wrapping_add(1));
        let works = [
            sysbench(Script::PointSelect, 8),
            sysbench(Script::PointSelect, 64),
            sysbench(Script::ReadOnly, 8),
            sysbench(Script::ReadOnly, 64),
            (CONNECT, 4, Job::Connect(Connect { threads: 4, time })),
            (SCAN, 1, Job::Scan(ScanJob { table, rows })),
        ];
        let mut steps = Vec::new();
        for (link, _) in &world.links {
            for (workload, threads, job) in &works {
                for path in paths(world) {
                    let cell = Cell {
                        link: link.clone(),
                        workload: (*workload).to_owned(),
                        threads: *threads,
                        path,
                        tls: false,
                        setting: Setting::None,
                    };
                    steps.push(Step::new(cell, job.clone()));
                }
            }
        }
        Ok(steps)
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        // In the order of tables, so that the cells that are compared stand together.
        let mut ours: Vec<Cell> = results.cells().iter().map(|cell| relayed(cell, Path::Wirepress)).collect();
        ours.dedup();
        let told = ours.iter().flat_map(|ours| [Some(line(results, ours)), latency_line(results, ours)]);
        let all = [HOW.to_owned()].into_iter().chain(told.flatten()).chain([UNPUBLISHED.to_owned()]);
        if ours.is_empty() { Vec::new() } else { all.collect() }
    }
}

/// `scan sbtest1 over unlimited: HAProxy 0.98 (0.96 to 1.01; wanted 1.00: undecided), MySQL Router not measured, direct 1.07
/// (1.05 to 1.16; wanted 0.98: holds).`
fn line(results: &Results, ours: &Cell) -> String {
    let work = work(ours);
    if results.values(ours, Metric::TransactionsPerS).is_empty() {
        return format!("{work}: wirepress not measured.");
    }
    let others = [Path::Haproxy, Path::Router, Path::Direct].map(|path| {
        let ratio = results.ratio(ours, &relayed(ours, path), Metric::TransactionsPerS);
        let bar = wanted(ours, path);
        format!("{path} {}", ratio.map_or_else(|| "not measured".to_owned(), |ratio| told(&ratio, bar)))
    });
    format!("{work}: {}.", others.join(", "))
}

/// What both add to a direct connection's latency: where ours is no longer than HAProxy's, we add no more.
fn latency_line(results: &Results, ours: &Cell) -> Option<String> {
    let haproxy = relayed(ours, Path::Haproxy);
    // HAProxy's in terms of ours, so that larger is better here as well.
    let ratio = results.ratio(&haproxy, ours, Metric::LatencyP95Ms)?;
    wanted(ours, Path::Haproxy)?;
    let told = told(&ratio, Some(1.0));
    Some(format!("{}, p95: HAProxy's in terms of wirepress's {told}.", work(ours)))
}

/// `oltp_point_select over unlimited, 8 threads`.
fn work(cell: &Cell) -> String {
    let threads = if cell.threads > 1 { format!(", {} threads", cell.threads) } else { String::new() };
    format!("{} over {}{threads}", cell.workload, cell.link)
}

/// What we want of wirepress's rate in terms of that path's, at least.
fn wanted(cell: &Cell, path: Path) -> Option<f64> {
    let is_sysbench = [Script::PointSelect, Script::ReadOnly].iter().any(|it| it.name() == cell.workload);
    match (cell.workload.as_str(), path) {
        (_, Path::Haproxy) if is_sysbench => Some(1.1),
        (_, Path::Router) if is_sysbench => Some(1.6),
        (CONNECT | SCAN, Path::Haproxy) => Some(1.0),
        (SCAN, Path::Direct) => Some(0.98),
        _ => None,
    }
}

/// The same work through another relay.
fn relayed(cell: &Cell, path: Path) -> Cell {
    cell.with(path, Setting::None, false)
}

/// `0.95 (0.93 to 0.97; wanted 1.00: misses)`, and how sure that is where it is less than usual.
fn told(ratio: &Estimate, wanted: Option<f64>) -> String {
    let Estimate { value, low, high, .. } = *ratio;
    if !ratio.has_interval() {
        return format!("{value:.2} (a single repetition)");
    }
    let judged = wanted.map_or_else(String::new, |wanted| {
        let word = match () {
            () if !ratio.is_sure() => "undecided",
            () if low >= wanted => "holds",
            () if high < wanted => "misses",
            () => "undecided",
        };
        format!("; wanted {wanted:.2}: {word}")
    });
    format!("{value:.2} ({low:.2} to {high:.2}{}{judged})", ratio.doubt())
}

/// Those that can stand before this database.
fn paths(world: &World) -> Vec<Path> {
    // Router knows MySQL servers only. Who is missing keeps its row, which says so.
    let router = world.server_has_zstd.then_some(Path::Router);
    [Path::Direct, Path::Haproxy].into_iter().chain(router).chain([Path::Wirepress]).collect()
}

const CONNECT: &str = "connect, login, query, quit";
const SCAN: &str = "scan sbtest1";
/// Before the lines.
const HOW: &str = "wirepress's tx/s in terms of each of the others': the centre of the ratios of the same repetition, with 95 % \
                   intervals, or the whole range and how sure it is where there are fewer than six repetitions. What is wanted \
                   holds or misses where the whole interval does.";

/// Behind them.
const UNPUBLISHED: &str = "No published figures stand beside: what TiProxy, pg_doorman and others publish of relays was measured with \
                           clients, servers and numbers of cores that this machine has not, and without the other relays of this \
                           table.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture;

    #[test]
    fn what_is_wanted_holds_or_misses_with_the_whole_interval_and_p95_is_turned_round() {
        let sure = |low, high| Estimate { value: 1.0, low, high, confidence: 0.96 };
        let judged = |low, high| told(&sure(low, high), Some(1.0));
        assert!(judged(1.0, 1.1).ends_with("wanted 1.00: holds)"));
        assert!(judged(0.9, 0.99).ends_with("wanted 1.00: misses)"));
        assert!(judged(0.9, 1.1).ends_with("wanted 1.00: undecided)"));
        let cell = |path| Cell { threads: 8, ..fixture::cell("unlimited", path, Setting::None) };
        let ours = Cell { workload: Script::PointSelect.name().to_owned(), ..cell(Path::Wirepress) };
        let values = [(ours.clone(), 2.0), (relayed(&ours, Path::Haproxy), 3.0)];
        let values = values.into_iter().map(|(cell, p95)| (cell, Metric::LatencyP95Ms, p95));
        let results = Results::of(&fixture::records_of(values));
        let line = latency_line(&results, &ours).unwrap();
        assert!(line.contains("HAProxy's in terms of wirepress's 1.50"), "{line}");
    }

    /// So many transactions a second by repetition.
    fn told_of(relays: &[(Path, &[f64])]) -> Vec<String> {
        let cell = |path| Cell {
            link: "unlimited".to_owned(),
            workload: "oltp_point_select".to_owned(),
            threads: 8,
            path,
            tls: false,
            setting: Setting::None,
        };
        let values = relays.iter().flat_map(|(path, values)| {
            values.iter().map(|value| (cell(*path), Metric::TransactionsPerS, *value))
        });
        Peers.summary(&Results::of(&fixture::records_of(values)))
    }

    #[test]
    fn wirepress_is_laid_beside_each_of_the_others_by_repetition_and_who_is_missing_is_told() {
        // The machine is ten times as slow in the last repetition.
        let told = told_of(&[
            (Path::Direct, &[500.0, 500.0, 500.0, 500.0, 500.0, 50.0]),
            (Path::Haproxy, &[100.0, 100.0, 100.0, 100.0, 100.0, 10.0]),
            (Path::Wirepress, &[110.0, 120.0, 110.0, 120.0, 110.0, 13.0]),
        ]);
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(
            told[1],
            "oltp_point_select over unlimited, 8 threads: HAProxy 1.15 (1.10 to 1.30; wanted 1.10: holds), MySQL Router not \
             measured, direct 0.23 (0.22 to 0.26)."
        );
        let told = told_of(&[(Path::Direct, &[200.0, 200.0]), (Path::Haproxy, &[100.0, 100.0])]);
        assert_eq!(told[1], "oltp_point_select over unlimited, 8 threads: wirepress not measured.");
        assert_eq!(told_of(&[]), [] as [&str; 0]);
    }

    #[test]
    fn few_repetitions_say_how_sure_they_are() {
        let told =
            told_of(&[(Path::Router, &[100.0, 100.0, 100.0]), (Path::Wirepress, &[110.0, 120.0, 130.0])]);
        assert!(
            told[1].contains(
                "MySQL Router 1.20 (1.10 to 1.30, 75 %; wanted 1.60: undecided), direct not measured"
            ),
            "{told:?}"
        );
        let told = told_of(&[(Path::Router, &[100.0]), (Path::Wirepress, &[110.0])]);
        assert!(told[1].contains("MySQL Router 1.10 (a single repetition)"), "{told:?}");
    }
}
