//! A published figure, laid beside a cell, and what the comparison says.
//!
//! Invariants: a figure comes from `published/figures.toml`; a finding speaks of shapes (which wins, by how much, where
//! it turns), never of equality.

use crate::record::{Cell, Metric};

/// A published number and the cell that it is laid beside.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    /// The cell, measured or not: without samples the row stays, marked as published only.
    pub cell: Cell,
    /// What was published.
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
    /// Where it was measured: `8 vCPU, 10 Gbit/s`.
    pub conditions: &'static str,
}

/// One claim of the published measurements, held against ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The claim, in a sentence.
    pub claim: String,
    /// Its figures.
    pub published: String,
    /// Ours.
    pub measured: String,
    /// Whether they have the same shape.
    pub agreement: Agreement,
    /// Why not, where they differ, or what must be known besides.
    pub why: Option<String>,
}

/// Whether the shapes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They are.
    Agrees,
    /// They are not.
    Differs,
    /// The interval holds both.
    Undecided,
    /// The cells were not measured.
    NotMeasured,
}
