//! What a candidate does to the bill of a month.
//!
//! Invariants: what is not known, a price or the CPU of a server's own zlib, is left out, and so is what hangs on it.
//!
//! Not here: whether time is gained (`verdict`).

use crate::advise::Prices;
use crate::advise::verdict::Judged;
use crate::report::number::short;

/// A month with a candidate, in terms of one without compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Money {
    /// Plain GB.
    pub(super) gb: f64,
    /// What is left of them on the link.
    pub(super) crossing_gb: f64,
    /// Less for traffic.
    pub(super) saved: Option<f64>,
    /// For packing and unpacking.
    pub(super) core_hours: Option<f64>,
    /// What these cost.
    pub(super) spent: Option<f64>,
}

impl Money {
    /// None where nobody said how much there is in a month.
    pub(super) fn of(judged: &Judged, prices: Prices) -> Option<Self> {
        let gb = prices.gb_per_month?;
        let crossing_gb = gb / judged.ratio;
        let core_hours = judged.cpu_s_per_gb.map(|seconds| gb * seconds / 3600.0);
        Some(Self {
            gb,
            crossing_gb,
            saved: prices.per_gb.map(|price| (gb - crossing_gb) * price),
            core_hours,
            spent: prices.per_core_hour.zip(core_hours).map(|(price, hours)| price * hours),
        })
    }

    /// Saved, less what was spent.
    pub(super) fn remaining(&self) -> Option<f64> {
        self.saved.zip(self.spent).map(|(saved, spent)| saved - spent)
    }

    /// `900 GB on the link: 99.0 less for traffic, 1.20 core hours for packing and unpacking, which are 0.060; 98.9 remain.`
    pub(super) fn sentence(&self) -> String {
        let mut parts = Vec::new();
        if let Some(saved) = self.saved {
            parts.push(format!("{} less for traffic", short(saved)));
        }
        if let Some(hours) = self.core_hours {
            let price = self.spent.map_or_else(String::new, |spent| format!(", which cost {}", short(spent)));
            parts.push(format!("{} core hours for packing and unpacking{price}", short(hours)));
        }
        if let Some(remaining) = self.remaining() {
            parts.push(format!("{} gained in all", short(remaining)));
        }
        let colon = if parts.is_empty() { "" } else { ": " };
        format!("{} GB on the link{colon}{}.", short(self.crossing_gb), parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out_with_what_hangs_on_it() {
        let money = Money {
            gb: 1000.0,
            crossing_gb: 250.0,
            saved: Some(75.0),
            core_hours: Some(2.0),
            spent: Some(0.5),
        };
        assert_eq!(
            money.sentence(),
            "250 GB on the link: 75.0 less for traffic; 2.00 core hours for packing and unpacking, which cost 0.50; 74.5 \
             gained in all."
        );
        let unpriced = Money { saved: None, spent: None, ..money };
        assert_eq!(unpriced.sentence(), "250 GB on the link: 2.00 core hours for packing and unpacking.");
        let unknown = Money { core_hours: None, spent: None, ..money };
        assert_eq!(unknown.sentence(), "250 GB on the link: 75.0 less for traffic.");
    }
}
