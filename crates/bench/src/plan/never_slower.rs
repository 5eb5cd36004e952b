//! `never-slower`: the latency policy against no compression and against every fixed setting; and the pair beside.
//!
//! What must hold of each cell, and the share of cells that it holds of, are [`Verdict`]'s; nothing of it was published by
//! anybody. A pair's cells are compared with the standard protocol's besides (`pair`).

mod pair;
mod verdict;

pub(super) use self::verdict::FIXED;

use self::verdict::Verdict;
use super::work::Work;
use super::{Plan, Scale, Step, World};
use crate::record::{Metric, Path, Setting};
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
        let mut steps = Vec::new();
        for (name, link, work, path) in groups {
            let job = work.job(link, world);
            let beside = (path == Path::WirepressPair).then_some((Path::Wirepress, pair::COMPARED));
            let ways = SETTINGS
                .map(|setting| (path, setting))
                .into_iter()
                .chain(beside)
                .chain([(Path::Direct, Setting::None)]);
            for (path, setting) in ways {
                let cell = work.cell(name, path, setting);
                if !steps.iter().any(|step: &Step| step.cell == cell) {
                    steps.push(Step { cell, job: job.clone() });
                }
            }
        }
        Ok(steps)
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

/// None, every fixed setting, and ours.
const SETTINGS: [Setting; 6] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7), Setting::Latency];
