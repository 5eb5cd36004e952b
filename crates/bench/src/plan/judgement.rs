//! What a plan says of a single cell.

use crate::record::Cell;
use crate::stats::Estimate;

/// A cell in terms of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Which.
    pub cell: Cell,
    /// By the names that programs read (`time_x_none`), the same ones in the same order for all cells of a plan; none where a
    /// ratio could not be had.
    pub ratios: Vec<(&'static str, Option<Estimate>)>,
    /// In a few words; may be empty.
    pub remark: String,
}
