//! `never-slower`: the latency policy against no compression and against every fixed setting; and the pair beside.
//!
//! What must hold of each cell, and the share of cells that it holds of, are [`Verdict`]'s; nothing of it was published by
//! anybody. A pair's cells are compared with the standard protocol's besides (`pair`).

mod again;
mod pair;
mod verdict;

pub(super) use self::verdict::FIXED;

use self::verdict::Verdict;
use super::work::Work;
use super::{Batch, Plan, Scale, Step, World};
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;

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
        &["unlimited", "1gbit,500us", "100mbit,1.4ms", "10mbit,40ms"]
    }

    /// In full only those cells that need it are measured more often ([`again`]).
    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke | Scale::Full => 2,
            Scale::Laptop => 6,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        Ok(together(comparisons(world).into_iter().flat_map(|comparison| comparison.steps)))
    }

    fn next(&self, world: &World, results: &Results) -> Batch {
        match world.scale {
            Scale::Smoke | Scale::Laptop => Batch::default(),
            Scale::Full => again::batch(comparisons(world), results, world.repetitions),
        }
    }

    fn has_heat_maps(&self) -> bool {
        true
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        let mut lines = Verdict::of(results).lines();
        lines.extend(pair::lines(results));
        lines
    }
}

/// A cell of the latency policy, and all that it is compared with.
struct Comparison {
    latency: Cell,
    steps: Vec<Step>,
}

fn comparisons(world: &World) -> Vec<Comparison> {
    let works = Work::all(world);
    let mut groups = Vec::new();
    for (link_name, link) in &world.links {
        for work in &works {
            for path in [Path::Wirepress, Path::WirepressBesideApp, Path::WirepressPair] {
                // Beside the app it is the server that packs replies, and only requests are ours.
                if path == Path::WirepressBesideApp && !(work.is_sent && world.server_has_zstd) {
                    continue;
                }
                groups.push((link_name, link, work, path));
            }
        }
    }
    let wanted = match world.scale {
        Scale::Smoke => 8,
        Scale::Laptop => 20,
        Scale::Full => groups.len(),
    };
    let groups = world.drawn(groups, wanted, |(link, _, work, path): &(&String, _, &Work, Path)| {
        work.cell(link, *path, Setting::None)
    });
    groups
        .into_iter()
        .map(|(name, link, work, path)| {
            let job = work.job(link, world);
            let beside = (path == Path::WirepressPair).then_some((Path::Wirepress, pair::COMPARED));
            let steps = SETTINGS
                .map(|setting| (path, setting))
                .into_iter()
                .chain(beside)
                .chain([(Path::Direct, Setting::None)])
                .map(|(path, setting)| Step { cell: work.cell(name, path, setting), job: job.clone() })
                .collect();
            Comparison { latency: work.cell(name, path, Setting::Latency), steps }
        })
        .collect()
}

/// Each once: comparisons share cells.
fn together(steps: impl Iterator<Item = Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for step in steps {
        if !all.iter().any(|known| known.cell == step.cell) {
            all.push(step);
        }
    }
    all
}

/// None, every fixed setting, and ours.
const SETTINGS: [Setting; 6] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7), Setting::Latency];
