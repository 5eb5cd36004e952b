//! `oltp-matrix`: sysbench's oltp_read_only by threads, link, compression and TLS.
//!
//! Published: 1 to 2,048 threads over 1 Gbit/s and 10 Gbit/s, plain, with zlib, with TLS (OpenSSL 1.0): compression
//! wins 1.79x where the link is full and loses 2x where it is not; TLS collapses above 32 threads.

use std::time::Duration;

use super::nearest::is_near;
use super::shape::Claim;
use super::{Finding, Plan, PublishedFigure, Scale, Step, World};
use crate::job::{Job, Script, Sysbench};
use crate::published::Published;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;

/// The matrix.
#[derive(Debug)]
pub(super) struct OltpMatrix;

impl Plan for OltpMatrix {
    fn name(&self) -> &'static str {
        "oltp-matrix"
    }

    fn title(&self) -> &'static str {
        "Transactions by threads, link, compression and TLS"
    }

    fn question(&self) -> &'static str {
        "What do compression and TLS do to sysbench's oltp_read_only as threads grow, on a link that is full and on \
         one that is not?"
    }

    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::LatencyP95Ms,
            Metric::MeanMbPerS,
            Metric::WireBytesPerTx,
            Metric::ServerCpuUsPerTx,
            Metric::ProxyCpuUsPerTx,
            Metric::ClientCpuUsPerTx,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &[FULL_LINK, FULL_HERE_LINK, FAST_LINK]
    }

    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 1,
            // The fewest whose intervals are sure to 95 %.
            Scale::Laptop => 6,
            Scale::Full => 10,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        if !world.is_real {
            return Ok(Vec::new());
        }
        let (seconds, rows) = match world.scale {
            Scale::Smoke => (2, 20_000),
            Scale::Laptop => (2, 50_000),
            Scale::Full => (10, 1_000_000),
        };
        let mut steps = Vec::new();
        let has_full_link = world.links.iter().any(|(link, _)| is_near(link, FULL_LINK));
        for (link, _) in &world.links {
            // One more column beside the published link, if that isn't full here.
            let is_beside = is_near(link, FULL_HERE_LINK) && has_full_link;
            let threads = threads(world.scale, is_near(link, FAST_LINK)).iter().copied();
            for threads in threads.filter(|threads| !is_beside || *threads == CLAIMED) {
                let job = Sysbench {
                    script: Script::ReadOnly,
                    threads,
                    tables: 4,
                    rows,
                    time: Duration::from_secs(seconds).max(TIME_OF_A_THREAD * threads),
                    seed: world.seed,
                };
                for (path, tls, setting) in VARIANTS {
                    // The certificates of a user's server are not ours to show sysbench.
                    let has_tls = world.is_private || !tls;
                    let has_algorithm = world.server_has_zstd || !matches!(setting, Setting::Zstd(_));
                    if has_tls && has_algorithm {
                        let cell = cell(link, threads, path, tls, setting);
                        steps.push(Step::new(cell, Job::Sysbench(job)));
                    }
                }
            }
        }
        Ok(steps)
    }

    fn published(&self, figures: &Published) -> Vec<PublishedFigure> {
        let published = &figures.oltp_read_only;
        let lists = [
            (FULL_LINK, false, Setting::None, &published.plain_1gb_tps, GIGABIT),
            (FULL_LINK, false, Setting::Zlib, &published.zlib_1gb_tps, GIGABIT),
            (FULL_LINK, true, Setting::None, &published.tls_1gb_tps, GIGABIT),
            (FAST_LINK, false, Setting::None, &published.plain_10gb_tps, TEN_GIGABIT),
            (FAST_LINK, false, Setting::Zlib, &published.zlib_10gb_tps, TEN_GIGABIT),
            (FAST_LINK, true, Setting::None, &published.tls_10gb_tps, TEN_GIGABIT),
        ];
        lists
            .into_iter()
            .flat_map(|(link, tls, setting, tps, conditions)| {
                published.threads.iter().zip(tps).map(move |(threads, value)| PublishedFigure {
                    cell: cell(link, *threads, Path::Direct, tls, setting),
                    metric: Metric::TransactionsPerS,
                    value: *value,
                    conditions,
                })
            })
            .collect()
    }

    fn findings(&self, results: &Results, figures: &Published) -> Vec<Finding> {
        let published = self.published(figures);
        let figure = |wanted: &Cell| {
            published.iter().find(|published| published.cell == *wanted).map(|published| published.value)
        };
        let pair = |link, threads, tls, setting| {
            let cell = |tls, setting| cell(link, threads, Path::Direct, tls, setting);
            (cell(tls, setting), cell(false, Setting::None))
        };
        let (zlib, none) = (Setting::Zlib, Setting::None);
        // Published over the first link, measured over the second.
        let claims = [
            (
                FULL_LINK,
                FULL_LINK,
                CLAIMED,
                false,
                zlib,
                "Where plain traffic fills the link, zlib wins",
                WHY_FULL,
            ),
            (
                FULL_LINK,
                FULL_HERE_LINK,
                CLAIMED,
                false,
                zlib,
                "Where plain traffic fills a link that these cores can fill, zlib wins",
                WHY_SHARED,
            ),
            (
                FAST_LINK,
                FAST_LINK,
                CLAIMED,
                false,
                zlib,
                "Where the link is not full, zlib loses",
                WHY_SHARED,
            ),
            (FAST_LINK, FAST_LINK, CLAIMED, true, none, "TLS costs transactions", WHY_TLS),
            (FAST_LINK, FAST_LINK, 2048, true, none, "With 2,048 threads TLS costs transactions", WHY_TLS),
        ];
        let claims = claims.into_iter().filter_map(|(there, here, threads, tls, setting, claim, why)| {
            let (cell, base) = pair(there, threads, tls, setting);
            let published = figure(&cell)? / figure(&base)?;
            let (cell, base) = pair(here, threads, tls, setting);
            let claim = Claim {
                claim: format!("{claim} ({threads} threads, {here})"),
                published,
                cell: &cell,
                base: &base,
                metric: Metric::TransactionsPerS,
                why,
            };
            Some(claim.hold(results))
        });
        claims.collect()
    }
}

/// Below `full` few numbers of threads, and the largest only where no link is in the way.
fn threads(scale: Scale, is_fast: bool) -> &'static [u32] {
    match (scale, is_fast) {
        (Scale::Smoke, _) => &[8, 64],
        (Scale::Laptop, true) => &[1, 8, 64, 512, 2048],
        (Scale::Laptop, false) => &[8, 64, 512],
        (Scale::Full, _) => &[1, 4, 16, 32, 64, 96, 128, 256, 512, 1024, 2048],
    }
}

fn cell(link: &str, threads: u32, path: Path, tls: bool, setting: Setting) -> Cell {
    Cell { link: link.to_owned(), workload: Script::ReadOnly.name().to_owned(), threads, path, tls, setting }
}

const VARIANTS: [(Path, bool, Setting); 9] = [
    (Path::Direct, false, Setting::None),
    (Path::Direct, false, Setting::Zlib),
    (Path::Direct, true, Setting::None),
    (Path::Direct, true, Setting::Zlib),
    (Path::Wirepress, false, Setting::None),
    (Path::Wirepress, false, Setting::Zlib),
    (Path::Wirepress, true, Setting::None),
    (Path::Wirepress, true, Setting::Zlib),
    (Path::WirepressBesideApp, false, Setting::Zstd(1)),
];
/// A few cores make 300 to 500 transactions a second for all threads together: so each thread makes two or three in a run.
const TIME_OF_A_THREAD: Duration = Duration::from_millis(6);
/// The link that the published plain traffic filled.
const FULL_LINK: &str = "1gbit";
/// One that the plain traffic of a few cores fills.
const FULL_HERE_LINK: &str = "100mbit";
/// Threads of most claims.
const CLAIMED: u32 = 64;
/// What stands here for 10 Gbit/s, which no process on a small machine fills.
const FAST_LINK: &str = "unlimited";
const GIGABIT: &str = "1 Gbit/s, 20 tables of 10,000,000 rows";
const TEN_GIGABIT: &str = "10 Gbit/s, 20 tables of 10,000,000 rows";
const WHY_SHARED: &str =
    "Client, proxy and server share a few cores here, where the published hosts had dozens each.";
const WHY_FULL: &str = "A few shared cores can hardly fill 1 Gbit/s with this workload, let alone pack it at that \
                        rate: here the cores are the limit and not the link.";
const WHY_TLS: &str = "The published collapse was OpenSSL 1.0's locking; MySQL has OpenSSL 3 now, and the few cores \
                       here are full long before.";
