//! `sphinx-index`: text that is read to be indexed, by Sphinx's indexer and by PHP, with and without compression.
//!
//! Published: 600 MB of text indexed over 100 Mbit/s with 1.4 ms round trip in 127 s, with `MYSQL_CLIENT_COMPRESS` in
//! 87 s; over 1 Gbit/s compression made it 1.2 times worse. "Where exactly does the border lie?"

use super::shape::Claim;
use super::{Finding, Plan, PublishedFigure, Scale, Step, World};
use crate::documents;
use crate::job::{Indexer, Job, Php};
use crate::published::Published;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::table::Table;

/// Indexing.
#[derive(Debug)]
pub(super) struct SphinxIndex;

impl Plan for SphinxIndex {
    fn name(&self) -> &'static str {
        "sphinx-index"
    }

    fn title(&self) -> &'static str {
        "Indexing text with Sphinx and PHP"
    }

    fn question(&self) -> &'static str {
        "Does compression pay for an indexer that reads much text and works on it, on a slow link and on a fast one?"
    }

    fn primary(&self) -> Metric {
        Metric::TimeS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TimeS,
            Metric::QueryTimeS,
            Metric::MeanMbPerS,
            Metric::WireBytes,
            Metric::ServerCpuS,
            Metric::ProxyCpuS,
            Metric::ClientCpuS,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &[SLOW, FAST]
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        if !world.is_private {
            return Ok(Vec::new());
        }
        let megabytes = match world.scale {
            Scale::Smoke => 10,
            Scale::Laptop => 40,
            Scale::Full => 60,
        };
        let table = Table::of_documents("documents", documents::load(megabytes * 1_000_000)?);
        let mut steps = Vec::new();
        for (link, _) in &world.links {
            for (workload, job) in [
                (INDEXER, Job::Indexer(Indexer { table: table.clone() })),
                (PHP, Job::Php(Php { table: table.clone() })),
            ] {
                for (path, setting) in VARIANTS {
                    if world.server_has_zstd || !matches!(setting, Setting::Zstd(_)) {
                        steps.push(Step::new(cell(link, workload, path, setting), job.clone()));
                    }
                }
            }
        }
        Ok(steps)
    }

    fn published(&self, figures: &Published) -> Vec<PublishedFigure> {
        let figures = &figures.sphinx_index;
        [(Setting::None, figures.plain_s), (Setting::Zlib, figures.zlib_s)]
            .map(|(setting, value)| PublishedFigure {
                cell: cell(SLOW, INDEXER, Path::Direct, setting),
                metric: Metric::TimeS,
                value,
                conditions: "600 MB of text, 100 Mbit/s, 1.4 ms (2014)",
            })
            .into()
    }

    fn findings(&self, results: &Results, figures: &Published) -> Vec<Finding> {
        let figures = &figures.sphinx_index;
        [
            (
                SLOW,
                figures.plain_s / figures.zlib_s,
                "Over 100 Mbit/s with 1.4 ms zlib makes indexing faster",
            ),
            (
                FAST,
                1.0 / figures.gigabit_slowdown_with_compression,
                "Over 1 Gbit/s zlib makes indexing slower",
            ),
        ]
        .into_iter()
        .map(|(link, published, claim)| {
            Claim {
                claim: claim.to_owned(),
                published,
                cell: &cell(link, INDEXER, Path::Direct, Setting::Zlib),
                base: &cell(link, INDEXER, Path::Direct, Setting::None),
                metric: Metric::TimeS,
                why: WHY,
            }
            .hold(results)
        })
        .collect()
    }
}

fn cell(link: &str, workload: &str, path: Path, setting: Setting) -> Cell {
    Cell { link: link.to_owned(), workload: workload.to_owned(), threads: 1, path, tls: false, setting }
}

const VARIANTS: [(Path, Setting); 5] = [
    (Path::Direct, Setting::None),
    (Path::Direct, Setting::Zlib),
    (Path::Wirepress, Setting::None),
    (Path::Wirepress, Setting::Zlib),
    (Path::WirepressBesideApp, Setting::Zstd(1)),
];
const INDEXER: &str = "Sphinx indexer";
const PHP: &str = "PHP mysqli";
/// The published link.
const SLOW: &str = "100mbit,1.4ms";
/// The one on which compression was published to lose; its round trip wasn't told.
const FAST: &str = "1gbit,500us";
const WHY: &str = "Today's indexer, server and processors have other speeds than those of 2014, and the share of the \
                   time that the words take decides how much the link matters.";
