//! One candidate's cost and size, relative to the reference on the same bytes.
//!
//! Not here: what the reference itself costs (`Controller`).

use crate::Setting;

/// What is known of a setting.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) setting: Setting,
    /// Times the reference's seconds a byte.
    pub(super) cost: f64,
    /// Times the reference's packed length.
    pub(super) size: f64,
    trials: u32,
}

impl Candidate {
    pub(super) fn new(setting: Setting) -> Self {
        // Only until the first trial, which comes within the first chunks.
        let (cost, size) = match setting {
            Setting::Stored => (0.1, 1.0),
            Setting::Level(..=-1) => (0.7, 1.5),
            Setting::Level(0..=1) => (1.0, 1.0),
            Setting::Level(2..=3) => (2.0, 1.0),
            Setting::Level(_) => (6.0, 1.0),
        };
        Self { setting, cost, size, trials: 0 }
    }

    /// Takes a trial in: the first ones count in full, later ones a quarter.
    pub(super) fn learn(&mut self, cost: f64, size: f64) {
        self.trials = self.trials.saturating_add(1);
        let weight = f64::from(self.trials).recip().max(LEAST_WEIGHT);
        // Ratios are averaged as ratios.
        self.cost *= (cost / self.cost).powf(weight);
        self.size *= (size / self.size).powf(weight);
    }
}

/// The last handful of trials counts.
const LEAST_WEIGHT: f64 = 0.25;
