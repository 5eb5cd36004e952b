//! What frames of both forms could make of a link and a core at most.
//!
//! ```text
//!  link and core time       none ╲      ╱ fixed setting
//!  of a transaction               ╲ link
//!                             core ╱╲          the least of the greater: there the mix is fastest
//!                           0 ── packed ── 1
//! ```
//! Not here: what was measured (`super`).

/// How busy a setting keeps link and core.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Transactions per second.
    pub(super) rate: f64,
    pub(super) link_percent: f64,
    pub(super) core_percent: f64,
}

/// The most that a mix of two settings could make, in terms of the faster one's transactions, if it never let both wait.
pub(super) fn most(none: Load, fixed: Load) -> f64 {
    let busy = |part: f64| {
        let mixed = |none_busy: f64, fixed_busy: f64| {
            none_busy / none.rate * (1.0 - part) + fixed_busy / fixed.rate * part
        };
        mixed(none.link_percent, fixed.link_percent).max(mixed(none.core_percent, fixed.core_percent))
    };
    // Where the lines of link and core meet, if they do.
    let (apart_none, apart_fixed) = (
        (none.link_percent - none.core_percent) / none.rate,
        (fixed.link_percent - fixed.core_percent) / fixed.rate,
    );
    let meet = apart_none / (apart_none - apart_fixed);
    let parts = [0.0, 1.0, if meet.is_finite() { meet.clamp(0.0, 1.0) } else { 0.0 }];
    let least = parts.into_iter().map(busy).fold(f64::INFINITY, f64::min);
    100.0 / (least * none.rate.max(fixed.rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_gains_what_both_leave_idle() {
        let none = Load { rate: 10.0, link_percent: 100.0, core_percent: 50.0 };
        // A third packed: each transaction takes link and core 83 ms.
        let fixed = Load { rate: 10.0, link_percent: 50.0, core_percent: 100.0 };
        assert!((most(none, fixed) - 4.0 / 3.0).abs() < 1e-9, "{}", most(none, fixed));
        // The core has no time left.
        let busy = Load { core_percent: 98.0, ..none };
        assert!(most(busy, fixed) < 1.03, "{}", most(busy, fixed));
        // One is better at both: nothing is mixed.
        let better = Load { rate: 10.0, link_percent: 40.0, core_percent: 40.0 };
        assert!((most(none, better) - 2.5).abs() < 1e-9, "{}", most(none, better));
    }
}
