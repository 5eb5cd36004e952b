//! `crossing`: the link rate at which no compression and the best fixed setting take the same time, and what the latency
//! policy does there, where it may pack some frames and send others as they are.
//!
//! ```text
//!  the slowest and the fastest link ─▶ halved (by the logarithm) until the two tie ─▶ measured there, with the policy
//! ```
//! Invariants: what is measured next follows from the samples alone, so a run that was interrupted goes on; the best
//! setting is chosen by the search's samples and scored by later ones.
//!
//! Not here: when a search is over (`search`), what a mix could make at most (`mix`).

mod mix;
mod search;

use lab::link::Link;

use self::mix::Load;
use self::search::{Found, Search};
use super::work::Work;
use super::{Batch, Plan, Scale, Step, World};
use crate::job::Statement;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::stats::Estimate;

/// Where none and the best fixed setting tie.
#[derive(Debug)]
pub(super) struct Crossing;

impl Plan for Crossing {
    fn name(&self) -> &'static str {
        "crossing"
    }

    fn title(&self) -> &'static str {
        "The crossing: where no compression and the best fixed setting take the same time"
    }

    fn question(&self) -> &'static str {
        "At which rate of the link do none and the best fixed setting tie, and is the latency policy faster than both \
         there? It is looked for between the slowest and the fastest link."
    }

    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::LatencyP99Ms,
            Metric::LinkBusyPercent,
            Metric::CoreBusyPercent,
            Metric::WireBytesPerTx,
            Metric::WireBytes,
            Metric::MeanMbPerS,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &["10mbit,500us", "unlimited"]
    }

    fn takes_turns(&self) -> bool {
        true
    }

    /// Of the search; what was found is measured [`SCORE_ROUNDS`] times as often.
    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 1,
            Scale::Laptop => 2,
            Scale::Full => 5,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        anyhow::ensure!(
            world.links.len() >= 2,
            "a crossing is looked for between two links, and only {} was given; give the slowest and the fastest",
            world.links.first().map_or("none", |(name, _)| name.as_str())
        );
        let works = works();
        let wanted = if world.scale == Scale::Smoke { 2 } else { works.len() };
        let works = world.drawn(works, wanted, |work| work.cell("", Path::Wirepress, Setting::None));
        Ok(works
            .into_iter()
            .flat_map(|work| {
                let ends = world.links.iter();
                ends.flat_map(|(name, link)| probe(&work, name, link, world)).collect::<Vec<_>>()
            })
            .collect())
    }

    fn next(&self, world: &World, results: &Results) -> Batch {
        let found: Vec<(Work, Search)> = works()
            .into_iter()
            .filter_map(|work| {
                let search = Search::of(results, work.name, work.threads)?;
                Some((work, search))
            })
            .collect();
        let probes: Vec<Step> = found
            .iter()
            .filter_map(|(work, search)| match search {
                Search::GoesOn(name) => Some(probe(work, name, &link_of(name), world)),
                Search::Over(_) => None,
            })
            .flatten()
            .collect();
        if !probes.is_empty() {
            return Batch { steps: probes, repetitions: 0..world.repetitions };
        }
        let scored = found.iter().filter_map(|(work, search)| match search {
            Search::Over(Found::At { link, setting }) => Some(score(work, link, *setting, world)),
            Search::Over(Found::Nowhere(_)) | Search::GoesOn(_) => None,
        });
        let repetitions = world.repetitions..world.repetitions * (1 + SCORE_ROUNDS);
        Batch { steps: scored.flatten().collect(), repetitions }
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        let mut works: Vec<(&str, u32)> =
            results.cells().iter().map(|cell| (cell.workload.as_str(), cell.threads)).collect();
        works.sort_unstable();
        works.dedup();
        works.into_iter().filter_map(|(workload, threads)| line(results, workload, threads)).collect()
    }
}

/// Without bulk inserts: on this path the client packs them, and the proxy's policy has no say in it.
fn works() -> Vec<Work> {
    let statements =
        [Statement::PointSelect, Statement::Range].map(|statement| Work::statements(statement, 8));
    Work::scans().into_iter().chain(statements).collect()
}

/// None and every fixed setting.
fn probe(work: &Work, name: &str, link: &Link, world: &World) -> Vec<Step> {
    let job = work.job(link, world);
    let cells =
        super::never_slower::FIXED.into_iter().map(|setting| work.cell(name, Path::Wirepress, setting));
    cells.map(|cell| Step::new(cell, job.clone())).collect()
}

/// The two that tie, the policy, and a direct connection.
fn score(work: &Work, name: &str, setting: Setting, world: &World) -> Vec<Step> {
    let job = work.job(&link_of(name), world);
    let ours = [Setting::None, setting, Setting::Latency].map(|setting| (Path::Wirepress, setting));
    ours.into_iter()
        .chain([(Path::Direct, Setting::None)])
        .map(|(path, setting)| Step::new(work.cell(name, path, setting), job.clone()))
        .collect()
}

/// A cell's link; what can't be read is one without a rate.
fn link_of(name: &str) -> Link {
    search::link_of(name).unwrap_or(Link::UNLIMITED)
}

/// What was found for a workload.
fn line(results: &Results, workload: &str, threads: u32) -> Option<String> {
    let who = if threads > 1 { format!("{workload}, {threads} threads") } else { workload.to_owned() };
    let (link, setting) = match Search::of(results, workload, threads)? {
        Search::Over(Found::At { link, setting }) => (link, setting),
        Search::Over(Found::Nowhere(reason)) => return Some(format!("{who}: no crossing: {reason}.")),
        Search::GoesOn(link) => return Some(format!("{who}: the search is not over; next is {link}.")),
    };
    let cell = |setting| Cell {
        link: link.clone(),
        workload: workload.to_owned(),
        threads,
        path: Path::Wirepress,
        tls: false,
        setting,
    };
    let (none, fixed, latency) = (cell(Setting::None), cell(setting), cell(Setting::Latency));
    let tie = results.ratio(&fixed, &none, Metric::TransactionsPerS)?.value;
    let ties = format!(
        "{who}: none and {setting} tie over {link} ({setting} makes {tie:.2} times none's transactions)"
    );
    let ratio = |base: &Cell| results.ratio(&latency, base, Metric::TransactionsPerS);
    let Some((to_none, to_fixed)) = ratio(&none).zip(ratio(&fixed)) else {
        return Some(format!("{ties}; the latency policy was not measured there."));
    };
    let told = |it: &Estimate| format!("{:.2} ({:.2} to {:.2}{})", it.value, it.low, it.high, it.doubt());
    let of = |cell: &Cell, metric| results.median(cell, metric).unwrap_or_default();
    let load = |cell: &Cell| Load {
        rate: of(cell, Metric::TransactionsPerS),
        link_percent: of(cell, Metric::LinkBusyPercent),
        core_percent: of(cell, Metric::CoreBusyPercent),
    };
    let (of_none, of_fixed) = (load(&none), load(&fixed));
    let most = mix::most(of_none, of_fixed);
    let both = [&to_none, &to_fixed];
    let counts = match (of_none.link_percent >= BUSY_PERCENT, of_fixed.core_percent >= BUSY_PERCENT) {
        (true, true) if both.iter().all(|it| it.is_sure() && it.low >= GAIN) => "It counts, and holds",
        (true, true) if both.iter().any(|it| it.is_sure() && it.high < GAIN) => "It counts, and misses 1.10",
        (true, true) => "It counts, and is undecided",
        (false, _) => "It does not count: none leaves the link idle",
        (true, false) => "It does not count: the fixed setting leaves its core idle",
    };
    Some(format!(
        "{ties}; there the latency policy makes {} times none's transactions and {} times {setting}'s. {counts} (link \
         {:.0} % busy with none, core {:.0} % with {setting}; core {:.0} % with none: a mix that never \
         lets both wait would make {most:.2} times the faster one's).",
        told(&to_none),
        told(&to_fixed),
        of_none.link_percent,
        of_fixed.core_percent,
        of_none.core_percent
    ))
}

/// How often the crossing itself is measured for each repetition of the search.
const SCORE_ROUNDS: u32 = 4;
/// What the policy must gain over both.
const GAIN: f64 = 1.10;
/// Below it something else than link and core is the limit.
const BUSY_PERCENT: f64 = 90.0;
