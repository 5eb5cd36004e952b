//! A plan: a question, the cells that answer it, and the published figures that it is laid beside.
//!
//! ```text
//!  wirepress bench NAME ──▶ named(NAME) ──▶ Plan ─ steps ─────▶ run       measures each cell
//!                                            └ published, findings ─▶ report    lays the figures beside
//! ```
//! A new plan is one file here that implements [`Plan`], and a line in [`ALL`]. One that looks for something says what is
//! measured next by what has been measured ([`Plan::next`]), and so goes on after an interruption like any other.
//!
//! Invariants: a plan measures nothing and prints nothing; what it says of the published figures follows from
//! [`Results`].
//!
//! Not here: how a cell is measured (`run`), how it is shown (`report`).

mod codec_cpu;
mod crossing;
mod growth;
mod judgement;
mod nearest;
mod never_slower;
mod oltp_matrix;
mod peers;
mod published_figure;
mod rds_scan;
mod scale;
mod shape;
mod sphinx_index;
mod sst;
mod step;
mod work;

pub use judgement::Judgement;
pub(crate) use nearest::nearest;
pub use published_figure::{Agreement, Finding, PublishedFigure};
pub use scale::Scale;
pub use step::{Batch, Step, World};

use crate::published::Published;
use crate::record::Metric;
use crate::results::Results;

/// A question with its cells.
pub trait Plan: Sync + std::fmt::Debug {
    /// As `wirepress bench` takes it.
    fn name(&self) -> &'static str;

    /// A heading.
    fn title(&self) -> &'static str;

    /// The question, a sentence or two.
    fn question(&self) -> &'static str;

    /// What ratios are taken of, and what "faster" means.
    fn primary(&self) -> Metric;

    /// The columns of its table, the primary one first.
    fn columns(&self) -> &'static [Metric];

    /// The private database that it is measured with, unless another is asked for, as `--with` takes it.
    fn database(&self) -> &'static str {
        "mysql"
    }

    /// Its links, unless others are asked for.
    fn links(&self) -> &'static [&'static str];

    /// Whether it wants to know how many bytes cross a link. Where it doesn't, clients connect to server and relay themselves
    /// if the link has no limit: in user space the link would be one more relay, about as dear as those that are measured.
    fn counts_bytes(&self) -> bool {
        true
    }

    /// Whether cells of one path that are compared are measured in turns, where their jobs can be interrupted: worth it where
    /// ratios of a few percent are asked about, since a machine that others use, too, changes within seconds.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Repetitions of each cell.
    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 1,
            // The fewest whose intervals are sure to 95 %.
            Scale::Laptop => 6,
            Scale::Full => 10,
        }
    }

    /// The cells and how they are measured; none where the database can't be asked this question.
    ///
    /// # Errors
    /// What they need has not been fetched.
    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>>;

    /// What is measured next, by what has been measured so far: nothing, unless the plan looks for something. Links that
    /// it names are opened for it.
    fn next(&self, _world: &World, _results: &Results) -> Batch {
        Batch::default()
    }

    /// What was published; nothing, of what nobody else has measured.
    fn published(&self, _figures: &Published) -> Vec<PublishedFigure> {
        Vec::new()
    }

    /// Whether what was measured has the shape of what was published: never whether it is equal, the machines are not.
    fn findings(&self, _results: &Results, _figures: &Published) -> Vec<Finding> {
        Vec::new()
    }

    /// Whether its report shows settings by links, one heat map per workload.
    fn has_heat_maps(&self) -> bool {
        false
    }

    /// What all cells together say, in sentences; most plans leave that to each table.
    fn summary(&self, _results: &Results) -> Vec<String> {
        Vec::new()
    }

    /// What is said of single cells, all by the same ratios; most plans leave that to each table.
    fn judgements(&self, _results: &Results) -> Vec<Judgement> {
        Vec::new()
    }
}

/// All plans, in the order of the help.
pub const ALL: [&dyn Plan; 10] = [
    &rds_scan::RdsScan::Sysbench,
    &rds_scan::RdsScan::Wide,
    &oltp_matrix::OltpMatrix,
    &sphinx_index::SphinxIndex,
    &sst::Sst,
    &peers::Peers,
    &never_slower::NeverSlower,
    &crossing::Crossing,
    &growth::Growth,
    &codec_cpu::CodecCpu,
];

/// The plan of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Plan> {
    ALL.into_iter().find(|plan| plan.name() == name)
}

#[cfg(test)]
mod tests {
    use lab::link::Link;

    use super::*;
    use crate::results::fixture;

    #[test]
    fn links_are_named_as_cells_name_them() {
        let figures = Published::built_in().unwrap();
        for plan in ALL {
            let published = plan.published(&figures);
            let links =
                published.iter().map(|figure| figure.cell.link.as_str()).chain(plan.links().iter().copied());
            for link in links {
                assert_eq!(Link::parse(link).unwrap().to_string(), link, "{}", plan.name());
            }
        }
    }

    /// All that can be, over the plan's own links, in user space or the kernel's.
    fn world(plan: &dyn Plan, prefix: &str) -> World {
        let link = |name: &&str| (format!("{prefix}{name}"), Link::parse(name).unwrap());
        World {
            scale: Scale::Laptop,
            workloads: Vec::new(),
            links: plan.links().iter().map(link).collect(),
            server_has_zstd: true,
            is_real: true,
            is_private: true,
            is_private_mariadb: true,
            repetitions: 5,
            seed: 1,
        }
    }

    #[test]
    fn every_claim_is_held_against_what_its_plan_measures() {
        let figures = Published::built_in().unwrap();
        let mut held = 0;
        for (plan, prefix) in ALL.into_iter().flat_map(|plan| [(plan, ""), (plan, "kernel ")]) {
            // Without the texts that were fetched there is nothing to index.
            let Ok(steps) = plan.steps(&world(plan, prefix)) else { continue };
            let samples =
                steps.iter().flat_map(|step| (0..5).map(|_| (step.cell.clone(), plan.primary(), 1.0)));
            let results = Results::of(&fixture::records_of(samples));
            for finding in plan.findings(&results, &figures) {
                assert_ne!(
                    finding.agreement,
                    Agreement::NotMeasured,
                    "{} {prefix}: {finding:?}",
                    plan.name()
                );
                held += 1;
            }
        }
        assert!(held >= 20, "only {held} claims");
    }
}
