//! Many tests at once: of a hundred cells in which nothing changed, five have a p-value below 0.05.
//!
//! The correction is Benjamini and Hochberg's: of the cells that are called changed, at most the wished part is
//! expected not to be. Not Holm's, which keeps the chance of a single false alarm among all cells below it: with five
//! repetitions no p-value is below 0.008, and among fifty cells Holm could never call any of them changed, not even
//! when all of them are twice as slow.
//!
//! Invariants: adjusted p-values are in the order of the given ones, and never below them.
//!
//! Source: Benjamini and Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57 (1995).

use super::f64_of;

/// Adjusted p-values, to be held against the wished part of false alarms; each at its place.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let p = |index: &usize| p_values.get(*index).copied().unwrap_or(1.0);
    order.sort_by(|a, b| p(b).total_cmp(&p(a)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 1.0f64;
    for (larger, index) in order.iter().enumerate() {
        let rank = p_values.len() - larger;
        least = least.min(p(index) * f64_of(p_values.len()) / f64_of(rank));
        if let Some(place) = adjusted.get_mut(*index) {
            *place = least;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_are_those_of_scipy() {
        // python3, scipy: stats.false_discovery_control([.01, .04, .03, .5, .005])
        let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.5, 0.005]);
        for (ours, theirs) in adjusted.iter().zip([0.025, 0.05, 0.05, 0.5, 0.025]) {
            assert!((ours - theirs).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(benjamini_hochberg(&[]), [] as [f64; 0]);
    }
}
