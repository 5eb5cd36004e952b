//! A plan: a question, the cells that answer it, and the published figures that it is laid beside.
//!
//! ```text
//!  wirepress bench NAME ──▶ named(NAME) ──▶ Plan ─ steps ─────▶ run       measures each cell
//!                                            └ published, findings ─▶ report    lays the figures beside
//! ```
//! A new plan is one file here that implements [`Plan`], and a line in [`ALL`].
//!
//! Invariants: a plan measures nothing and prints nothing; what it says of the published figures follows from
//! [`Results`].
//!
//! Not here: how a cell is measured (`run`), how it is shown (`report`).

mod published_figure;
mod scale;

pub use published_figure::{Agreement, Finding, PublishedFigure};
pub use scale::Scale;

use crate::published::Published;
use crate::record::Metric;
use crate::results::Results;

/// A question with its cells.
pub trait Plan: Sync {
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

    /// What was published.
    fn published(&self, figures: &Published) -> Vec<PublishedFigure>;

    /// Whether what was measured has the shape of what was published: never whether it is equal, the machines are not.
    fn findings(&self, results: &Results, figures: &Published) -> Vec<Finding>;
}

/// All plans, in the order of the help.
pub const ALL: [&dyn Plan; 0] = [];

/// The plan of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Plan> {
    ALL.into_iter().find(|plan| plan.name() == name)
}
