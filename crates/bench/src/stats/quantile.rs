//! Median and quantiles.
//!
//! Invariants: the order of the values does not matter; of no values there is no quantile.

/// The middle value, or the mean of the two middle ones.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the part `part` (0 to 1) of the values lies, by linear interpolation between the neighbours:
/// type 7 of Hyndman and Fan, "Sample quantiles in statistical packages" (1996), the default of R and numpy.
#[must_use]
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    of_sorted(&sorted, part)
}

/// As [`quantile`], of values that are in order already.
pub(super) fn of_sorted(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = part.clamp(0.0, 1.0) * super::f64_of(last);
    let below = index_of(position.floor()).min(last);
    let (low, high) = (*sorted.get(below)?, *sorted.get((below + 1).min(last))?);
    Some(low + (high - low) * (position - position.floor()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the count of values")]
const fn index_of(position: f64) -> usize {
    position as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy_and_r() {
        // python3, numpy: np.quantile([3.1, .7, 9.4, 2.2, 5.8, 4.4, 8.3], part, method='linear')
        let values = [3.1, 0.7, 9.4, 2.2, 5.8, 4.4, 8.3];
        for (part, expected) in [(0.0, 0.7), (0.025, 0.925), (0.1, 1.6), (0.5, 4.4), (0.9, 8.74), (1.0, 9.4)]
        {
            let quantile = quantile(&values, part).unwrap();
            assert!((quantile - expected).abs() < 1e-12, "{part}: {quantile}");
        }
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 8.0]), Some(3.0));
        assert_eq!((median(&[5.0]), median(&[])), (Some(5.0), None));
    }
}
