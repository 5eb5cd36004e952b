//! `peers`: what a relay costs that compresses nothing: HAProxy, MySQL Router and wirepress beside a direct connection.
//!
//! Published: TiProxy's and other projects' own reports compare relays, on machines and loads of their own; nothing of
//! that is laid beside these figures.

use std::time::Duration;

use super::{Plan, Scale, Step, World};
use crate::job::{Connect, Job, ScanJob, Script, Sysbench};
use crate::record::{Cell, Metric, Path, Setting};
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

    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 1,
            Scale::Laptop => 11,
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
            ("connect, login, query, quit", 4, Job::Connect(Connect { threads: 4, time })),
            ("scan sbtest1", 1, Job::Scan(ScanJob { table, rows })),
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
                    steps.push(Step { cell, job: job.clone() });
                }
            }
        }
        Ok(steps)
    }
}

/// Those that can stand before this database.
fn paths(world: &World) -> Vec<Path> {
    // Router knows MySQL servers only. Who is missing keeps its row, which says so.
    let router = world.server_has_zstd.then_some(Path::Router);
    [Path::Direct, Path::Haproxy].into_iter().chain(router).chain([Path::Wirepress]).collect()
}
