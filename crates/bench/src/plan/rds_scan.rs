//! `rds-scan` and `rds-wide`: a full scan at several levels, packed by the server itself and by the proxy.
//!
//! Published: a full scan of 20,000,000 sysbench rows and one of 32,768 wide repetitive rows at zstd 3, 7 and 10 on a
//! managed MySQL whose network nobody shaped; seconds and peak network rate.

use super::shape::Claim;
use super::{Finding, Plan, PublishedFigure, Scale, Step, World};
use crate::job::{Job, ScanJob};
use crate::published::{Published, ZstdScan};
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::table::{Kind, Table};

/// A scan of one of the two tables.
#[derive(Debug)]
pub(super) enum RdsScan {
    /// Digits: `sbtest1`.
    Sysbench,
    /// Long repetitive rows: `t1`.
    Wide,
}

impl Plan for RdsScan {
    fn name(&self) -> &'static str {
        match self {
            Self::Sysbench => "rds-scan",
            Self::Wide => "rds-wide",
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Self::Sysbench => "Full scan of sysbench rows",
            Self::Wide => "Full scan of wide repetitive rows",
        }
    }

    fn question(&self) -> &'static str {
        match self {
            Self::Sysbench => {
                "What does a full scan of sysbench's digits gain or lose by zlib and zstd, packed by the server or \
                 by the proxy?"
            }
            Self::Wide => {
                "What does a full scan of wide repetitive rows gain or lose by zlib and zstd, packed by the server \
                 or by the proxy?"
            }
        }
    }

    fn primary(&self) -> Metric {
        Metric::TimeS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TimeS,
            Metric::MeanMbPerS,
            Metric::PeakMbPerS,
            Metric::PlainBytes,
            Metric::WireBytes,
            Metric::ServerCpuS,
            Metric::ProxyCpuS,
            Metric::ClientCpuS,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &["unlimited", "1gbit,500us", "100mbit,1.4ms"]
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        // Rows of the table, which without a link are all read, in a good part of a second where nothing packs; and seconds
        // that an uncompressed scan should take on a slow link.
        let (rows, seconds) = match (self, world.scale) {
            (Self::Sysbench, Scale::Smoke) => (100_000, 1.5),
            (Self::Sysbench, Scale::Laptop) => (1_500_000, 4.0),
            (Self::Sysbench, Scale::Full) => (3_000_000, 10.0),
            (Self::Wide, Scale::Smoke) => (1_000, 1.5),
            (Self::Wide, Scale::Laptop) => (8_192, 4.0),
            (Self::Wide, Scale::Full) => (12_288, 10.0),
        };
        let table = Table::generated(self.kind(), self.kind().published_name(), rows, world.seed);
        let mut steps = Vec::new();
        for (name, link) in &world.links {
            let rows = World::rows_for(link, self.kind().bytes_per_row(), seconds, rows);
            for path in [Path::Direct, Path::Wirepress] {
                for setting in SETTINGS {
                    if path == Path::Direct && matches!(setting, Setting::Zstd(_)) && !world.server_has_zstd {
                        continue;
                    }
                    let cell = self.cell(name, path, setting);
                    steps.push(Step::new(cell, Job::Scan(ScanJob { table: table.clone(), rows })));
                }
            }
        }
        Ok(steps)
    }

    fn published(&self, figures: &Published) -> Vec<PublishedFigure> {
        let scan = self.figures(figures);
        let rows = scan.zstd_levels().iter().filter_map(|level| Some((*level, scan.at_zstd_level(*level)?)));
        rows.flat_map(|(level, row)| {
            [(Metric::TimeS, row.time_s), (Metric::PeakMbPerS, row.network_peak_mb_per_s)].map(
                |(metric, value)| PublishedFigure {
                    cell: self.cell(UNSHAPED, Path::Direct, setting(level)),
                    metric,
                    value,
                    conditions: "managed MySQL 8.0.31, 8 vCPU, network not shaped",
                },
            )
        })
        .collect()
    }

    fn findings(&self, results: &Results, figures: &Published) -> Vec<Finding> {
        let scan = self.figures(figures);
        let Some(none) = scan.at_zstd_level(0) else { return Vec::new() };
        let base = self.cell(UNSHAPED, Path::Direct, Setting::None);
        let levels = scan.zstd_levels().iter().filter(|level| **level > 0);
        levels
            .filter_map(|level| {
                let published = scan.at_zstd_level(*level)?;
                let cell = self.cell(UNSHAPED, Path::Direct, setting(*level));
                let ratio = none.time_s / published.time_s;
                let which = if ratio > 1.0 { "faster" } else { "slower" };
                let claim = Claim {
                    claim: format!("On a fast network zstd {level} is {which} than none"),
                    published: ratio,
                    cell: &cell,
                    base: &base,
                    metric: Metric::TimeS,
                    why: WHY,
                };
                Some(claim.hold(results))
            })
            .collect()
    }
}

impl RdsScan {
    fn cell(&self, link: &str, path: Path, setting: Setting) -> Cell {
        Cell {
            link: link.to_owned(),
            workload: format!("scan {}", self.kind().published_name()),
            threads: 1,
            path,
            tls: false,
            setting,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Sysbench => Kind::Sysbench,
            Self::Wide => Kind::Wide,
        }
    }

    fn figures<'a>(&self, figures: &'a Published) -> &'a ZstdScan {
        match self {
            Self::Sysbench => &figures.rds_scan,
            Self::Wide => &figures.rds_wide,
        }
    }
}

fn setting(zstd_level: u8) -> Setting {
    if zstd_level == 0 { Setting::None } else { Setting::Zstd(zstd_level) }
}

/// The published levels, 1, which nobody published and which is the cheapest, and zlib.
const SETTINGS: [Setting; 6] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7), Setting::Zstd(10)];
/// The link of ours that is nearest to a network that nobody shaped.
const UNSHAPED: &str = "unlimited";
const WHY: &str = "The published network carried 0.2 to 0.6 GB/s between two hosts of 8 cores, the client \
                   printed its rows, and the table was far larger; here client and server share a few cores, rows \
                   are counted and not printed, and a newer zstd and MySQL pack.";
