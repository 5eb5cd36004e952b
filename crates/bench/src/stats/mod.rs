//! What a handful of numbers says, and how surely.
//!
//! ```text
//!  values of a cell ──▶ median, median_interval        order statistics, exact
//!  a sample ──────────▶ mean_interval                  seeded bootstrap
//!  alternating pairs ─▶ paired_ratio                   the centre of the pairs' ratios, exact by signed ranks
//!  two runs ──────────▶ unpaired_ratio                 ratio of medians, seeded bootstrap
//!                     ├ RankTest::of                   p-value by ranks, exact; of_strata: of many cells together
//!                     └ stratified_ratio               the ratio that many cells share, by the same test
//!  many p-values ─────▶ benjamini_hochberg             adjusted
//!  many candidates ───▶ Choice::of                     chosen on one half, scored on the other
//! ```
//! Medians, because a benchmark's times have a long tail: one repetition that a neighbour disturbed moves a mean, and
//! widens an interval that is made from standard deviations, but leaves a median where it is.
//!
//! Invariants: the same values give the same numbers, always and everywhere (the bootstrap's generator is seeded with
//! a constant); no distribution is assumed, of pairs only that their two noises are alike (`signed_rank`); an interval that cannot have the confidence of [`CONFIDENCE`] because there
//! are too few values says which one it has.
//!
//! Not here: what is a pair, what is compared with what (`results`, `compare`).

mod adjust;
mod choice;
mod interval;
mod mean;
mod quantile;
mod rank_test;
mod ratio;
mod signed_rank;

pub use adjust::benjamini_hochberg;
pub use choice::{Choice, scoring};
pub use interval::median_interval;
pub use mean::mean_interval;
pub use quantile::{median, quantile};
pub use rank_test::{RankTest, Stratum};
pub use ratio::{paired_ratio, stratified_ratio, unpaired_ratio};

use serde::Serialize;

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// How often such an interval holds the true value: at least this, at most 1. 0 for a single value.
    pub confidence: f64,
}

impl Estimate {
    /// Half the interval's width in terms of the value: the `x` of "± x"; 0 where there is nothing to divide by.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.value == 0.0 { 0.0 } else { ((self.high - self.low) / 2.0 / self.value).abs() }
    }

    /// Whether the interval holds a number.
    #[must_use]
    pub fn holds(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }

    /// Whether there is an interval at all: a single value has none.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        self.confidence > 0.0
    }

    /// Whether the interval is as sure as [`CONFIDENCE`]: of a median that takes six values.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.confidence + ROUNDING >= CONFIDENCE
    }

    /// Behind an interval in words: `, 75 %` where it is no surer than that, nothing where it is as sure as [`CONFIDENCE`].
    #[must_use]
    pub fn doubt(&self) -> String {
        if self.is_sure() { String::new() } else { format!(", {:.0} %", self.confidence * 100.0) }
    }
}

/// The confidence that intervals have where there are enough values: the usual one.
pub const CONFIDENCE: f64 = 0.95;

/// Of so many values the whole range holds the median in [`CONFIDENCE`] of all cases or more: 1 - 2 / 2^6 = 0.969, where five
/// have 0.9375.
pub const SURE_MIN: usize = 6;

/// So that bounds of exact fractions are not missed by a rounding error.
const ROUNDING: f64 = 1e-12;

/// Counts of values are small: no precision is lost.
#[expect(clippy::cast_precision_loss, reason = "counts of repetitions are far below 2^53")]
pub(crate) const fn f64_of(count: usize) -> f64 {
    count as f64
}
