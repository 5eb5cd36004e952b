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
    /// Parts of the time.
    pub(super) link: f64,
    pub(super) core: f64,
}

/// The most that a mix of two settings could make, in terms of the faster one's transactions, if it never let both wait.
pub(super) fn most(none: Load, fixed: Load) -> f64 {
    let time_s = |part: f64| {
        let mixed = |none_busy: f64, fixed_busy: f64| {
            none_busy / none.rate * (1.0 - part) + fixed_busy / fixed.rate * part
        };
        mixed(none.link, fixed.link).max(mixed(none.core, fixed.core))
    };
    // Where the lines of link and core meet, if they do.
    let (apart_none, apart_fixed) =
        ((none.link - none.core) / none.rate, (fixed.link - fixed.core) / fixed.rate);
    let meet = apart_none / (apart_none - apart_fixed);
    let parts = [0.0, 1.0, if meet.is_finite() { meet.clamp(0.0, 1.0) } else { 0.0 }];
    let least_s = parts.into_iter().map(time_s).fold(f64::INFINITY, f64::min);
    1.0 / (least_s * none.rate.max(fixed.rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_gains_what_both_leave_idle() {
        let none = Load { rate: 10.0, link: 1.0, core: 0.5 };
        // A third packed: each transaction takes link and core 83 ms.
        let fixed = Load { rate: 10.0, link: 0.5, core: 1.0 };
        assert!((most(none, fixed) - 4.0 / 3.0).abs() < 1e-9, "{}", most(none, fixed));
        // The core has no time left.
        let busy = Load { core: 0.98, ..none };
        assert!(most(busy, fixed) < 1.03, "{}", most(busy, fixed));
        // One is better at both: nothing is mixed.
        let better = Load { rate: 10.0, link: 0.4, core: 0.4 };
        assert!((most(none, better) - 2.5).abs() < 1e-9, "{}", most(none, better));
    }
}
