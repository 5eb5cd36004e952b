//! `never-slower`: the latency policy against no compression and against every fixed setting.
//!
//! What must hold of each cell, and the share of cells that it holds of, are [`Verdict`]'s; nothing of it was published by
//! anybody.

mod verdict;

use std::time::Duration;

use lab::link::Link;

use self::verdict::Verdict;
use super::{Finding, Plan, PublishedFigure, Scale, Step, World};
use crate::job::{Job, ScanJob, Statement, Statements};
use crate::published::Published;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::table::{Kind, Table};

/// Never slower than none.
#[derive(Debug)]
pub(super) struct NeverSlower;

impl Plan for NeverSlower {
    fn name(&self) -> &'static str {
        "never-slower"
    }

    fn title(&self) -> &'static str {
        "Never slower: the latency policy against none and every fixed setting"
    }

    fn question(&self) -> &'static str {
        "Is the latency policy ever slower than no compression through the same proxy, and how far is it from the best \
         fixed setting?"
    }

    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::LatencyP99Ms,
            Metric::WireBytesPerTx,
            Metric::WireBytes,
            Metric::ServerCpuUsPerTx,
            Metric::ProxyCpuUsPerTx,
            Metric::ClientCpuUsPerTx,
            Metric::ServerCpuS,
            Metric::ProxyCpuS,
            Metric::ClientCpuS,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &["unlimited", "1gbit,0.5ms", "100mbit,1.4ms", "10mbit,40ms"]
    }

    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 2,
            Scale::Laptop => 6,
            Scale::Full => 20,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        let works = works(world);
        let mut groups = Vec::new();
        for (link_name, link) in &world.links {
            for work in &works {
                for path in [Path::Wirepress, Path::WirepressBesideApp] {
                    // Beside the app it is the server that packs replies, and only requests are ours.
                    if path == Path::WirepressBesideApp && !(work.is_sent && world.server_has_zstd) {
                        continue;
                    }
                    groups.push((link_name, link, work, path));
                }
            }
        }
        let kept = drawn(groups.len(), world);
        let mut steps = Vec::new();
        for (_, (name, link, work, path)) in
            groups.into_iter().enumerate().filter(|(index, _)| kept.contains(index))
        {
            let job = (work.job)(link, world);
            let ways = SETTINGS.iter().map(|setting| (path, *setting)).chain([(Path::Direct, Setting::None)]);
            for (path, setting) in ways {
                let cell = Cell {
                    link: name.clone(),
                    workload: work.name.to_owned(),
                    threads: work.threads,
                    path,
                    tls: false,
                    setting,
                };
                if !steps.iter().any(|step: &Step| step.cell == cell) {
                    steps.push(Step { cell, job: job.clone() });
                }
            }
        }
        Ok(steps)
    }

    fn published(&self, _: &Published) -> Vec<PublishedFigure> {
        Vec::new()
    }

    fn findings(&self, _: &Results, _: &Published) -> Vec<Finding> {
        Vec::new()
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        Verdict::of(results).lines()
    }
}

type MakeJob = dyn Fn(&Link, &World) -> Job;

/// A workload.
struct Work {
    name: &'static str,
    threads: u32,
    /// It is requests that are large, not replies.
    is_sent: bool,
    job: Box<MakeJob>,
}

fn works(world: &World) -> Vec<Work> {
    let seconds = match world.scale {
        Scale::Smoke => 1.0,
        Scale::Laptop => 2.0,
        Scale::Full => 4.0,
    };
    let rows_of = if world.scale == Scale::Full { 4 } else { 1 };
    let scan = |name, kind: Kind, table: &'static str, rows: u32, bytes_per_row: u32| Work {
        name,
        threads: 1,
        is_sent: false,
        job: Box::new(move |link, world| {
            let rows_max = rows * rows_of;
            let table = Table::generated(kind, table, rows_max, world.seed);
            Job::Scan(ScanJob { table, rows: World::rows_for(link, bytes_per_row, seconds, rows_max) })
        }),
    };
    let mut works = vec![
        scan("scan of digits", Kind::Sysbench, "sbtest1", 200_000, 197),
        scan("scan of text", Kind::Text, "text1", 100_000, TEXT_ROW),
        scan("scan of wide repetitive rows", Kind::Wide, "t1", 600, 64_020),
        scan("scan of incompressible blobs", Kind::Blob, "blobs1", 800, BLOB_ROW),
    ];
    let time = Duration::from_secs_f64(seconds);
    for (statement, kind, table, threads) in [
        (Statement::PointSelect, Kind::Sysbench, "sbtest1", &[1, 8, 64][..]),
        (Statement::Range, Kind::Sysbench, "sbtest1", &[1, 8, 64]),
        (Statement::BulkInsert, Kind::Sysbench, "inserted", &[1]),
    ] {
        let is_sent = statement == Statement::BulkInsert;
        works.extend(threads.iter().map(|threads| Work {
            name: statement.name(),
            threads: *threads,
            is_sent,
            job: Box::new(move |_, world| {
                let rows = if is_sent { 0 } else { 200_000 * rows_of };
                let table = Table::generated(kind, table, rows, world.seed);
                Job::Statements(Statements { statement, table, threads: *threads, time })
            }),
        }));
    }
    works
}

/// Which of so many groups are measured: all in full, else a part that the seed draws.
fn drawn(count: usize, world: &World) -> Vec<usize> {
    let wanted = match world.scale {
        Scale::Smoke => 8,
        Scale::Laptop => 20,
        Scale::Full => count,
    };
    let mut left: Vec<usize> = (0..count).collect();
    let mut sequence = lab::generate::Sequence::new(world.seed, 0);
    while left.len() > wanted {
        let bound = u32::try_from(left.len()).unwrap_or(u32::MAX);
        left.swap_remove(sequence.below(bound) as usize);
    }
    left
}

/// None, every fixed setting, and ours.
const SETTINGS: [Setting; 6] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7), Setting::Latency];
/// Bytes of a row of text, and of blobs.
const TEXT_ROW: u32 = 420;
const BLOB_ROW: u32 = 64_020;
