//! Claims of the published measurements, held against ours: which is faster, and by how much.
//!
//! Invariants: two ratios agree when both are on the same side of 1, or both at it; how far from it is shown and never
//! judged, because the machines are not the same.

use super::{Agreement, Finding};
use crate::record::{Better, Cell, Metric};
use crate::results::Results;

/// "This is so many times faster than that."
pub(super) struct Claim<'a> {
    /// In a sentence.
    pub(super) claim: String,
    /// How many times faster it was published to be; below 1 is slower.
    pub(super) published: f64,
    /// What is faster or slower.
    pub(super) cell: &'a Cell,
    /// Than what.
    pub(super) base: &'a Cell,
    /// In what.
    pub(super) metric: Metric,
    /// Why it may differ here.
    pub(super) why: &'a str,
}

impl Claim<'_> {
    /// Holds it against what was measured.
    pub(super) fn hold(self, results: &Results) -> Finding {
        let published = gain(self.published);
        let Some(ratio) = results.ratio(self.cell, self.base, self.metric) else {
            return Finding {
                claim: self.claim,
                published,
                measured: "not measured".to_owned(),
                agreement: Agreement::NotMeasured,
                why: None,
            };
        };
        // A ratio of times is upside down: less is faster.
        let (low, value, high) = match self.metric.better() {
            Better::Less => (1.0 / ratio.high, 1.0 / ratio.value, 1.0 / ratio.low),
            Better::More | Better::Neither => (ratio.low, ratio.value, ratio.high),
        };
        let agreement = agreement(self.published, low, high);
        Finding {
            claim: self.claim,
            published,
            measured: gain_between(value, low, high),
            agreement,
            why: (agreement != Agreement::Agrees).then(|| self.why.to_owned()),
        }
    }
}

/// On the same side of 1, or both at it.
fn agreement(published: f64, low: f64, high: f64) -> Agreement {
    let side = |ratio: f64| {
        if ratio > 1.0 + LEVEL {
            1
        } else if ratio < 1.0 - LEVEL {
            -1
        } else {
            0
        }
    };
    match (side(low), side(high)) {
        (low, high) if low == high && low == side(published) => Agreement::Agrees,
        (low, high) if low == high => Agreement::Differs,
        (low, high) if low <= side(published) && side(published) <= high => Agreement::Undecided,
        _ => Agreement::Differs,
    }
}

fn gain(ratio: f64) -> String {
    if ratio >= 1.0 { format!("{ratio:.2}x faster") } else { format!("{:.2}x slower", 1.0 / ratio) }
}

/// With its interval, told in the same direction.
fn gain_between(value: f64, low: f64, high: f64) -> String {
    let (low, high) = if value >= 1.0 { (low, high) } else { (1.0 / high, 1.0 / low) };
    format!("{} ({low:.2} to {high:.2})", gain(value))
}

/// Within it two are level.
const LEVEL: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_agree_by_side_and_not_by_size() {
        assert_eq!(agreement(10.0, 1.5, 1.7), Agreement::Agrees);
        assert_eq!(agreement(0.1, 0.5, 0.7), Agreement::Agrees);
        assert_eq!(agreement(1.0, 0.98, 1.02), Agreement::Agrees);
        assert_eq!(agreement(10.0, 0.5, 0.7), Agreement::Differs);
        assert_eq!(agreement(10.0, 0.98, 1.02), Agreement::Differs);
        assert_eq!(agreement(10.0, 0.9, 1.2), Agreement::Undecided);
        assert_eq!(agreement(0.5, 1.0, 1.2), Agreement::Differs);
    }

    #[test]
    fn slower_is_told_as_such() {
        assert_eq!(gain(2.0), "2.00x faster");
        assert_eq!(gain(0.25), "4.00x slower");
        assert_eq!(gain_between(0.25, 0.2, 0.5), "4.00x slower (2.00 to 5.00)");
        assert_eq!(gain_between(2.0, 0.5, 3.0), "2.00x faster (0.50 to 3.00)");
    }
}
