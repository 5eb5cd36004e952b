//! Axes: from a value to a place, and where the ticks are.
//!
//! Invariants: a logarithmic axis has only values above 0; ticks are round numbers inside the range.

/// A value's place along a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    /// From 0 to the highest value.
    pub(crate) fn linear(high: f64, from: f64, to: f64) -> Self {
        Self { low: 0.0, high: if high > 0.0 { high } else { 1.0 }, from, to, is_log: false }
    }

    /// From the lowest to the highest value, each above 0, and a bit further.
    pub(crate) fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let margin = (high / low).powf(MARGIN).max(1.02);
        Self { low: low / margin, high: high * margin, from, to, is_log: true }
    }

    /// Where a value is.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = if self.is_log {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (self.to - self.from).mul_add(part.clamp(-0.05, 1.05), self.from)
    }

    /// Round numbers for ticks: for a linear axis about `wished` of them.
    pub(crate) fn ticks(&self, wished: f64) -> Vec<f64> {
        if self.is_log { self.log_ticks() } else { self.linear_ticks(wished) }
    }

    fn linear_ticks(&self, wished: f64) -> Vec<f64> {
        let step = round_up(self.high / wished);
        let ticks = (0..=100u32).map(|i| f64::from(i) * step);
        ticks.take_while(|tick| *tick <= self.high * 1.000_001).collect()
    }

    /// 1, 2 and 5 of every decade; over many decades only 1; within less than one, more.
    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 3.5 {
            &[1.0]
        } else if decades > 0.7 {
            &[1.0, 2.0, 5.0]
        } else if decades > 0.25 {
            &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]
        } else {
            &[1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.5]
        };
        (-12..15)
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten, not below the number.
fn round_up(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= number).unwrap_or(10.0 * power)
}

/// A tick's label: no more digits than it has.
pub(crate) fn tick_label(tick: f64) -> String {
    match tick {
        1e9.. => format!("{}G", trimmed(tick / 1e9)),
        1e6.. => format!("{}M", trimmed(tick / 1e6)),
        10_000.0.. => format!("{}k", trimmed(tick / 1e3)),
        1_000.0.. => crate::report::number::short(tick),
        _ => trimmed(tick),
    }
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The part of a logarithmic range that is left free at either end.
const MARGIN: f64 = 0.06;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Axis::linear(4.7, 0.0, 100.0).ticks(5.0), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Axis::log(3.0, 60.0, 0.0, 100.0).ticks(5.0), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(Axis::log(1.0, 1e5, 0.0, 100.0).ticks(5.0).len(), 6);
        assert!(Axis::log(0.9, 1.1, 0.0, 100.0).ticks(5.0).len() >= 2);
        let labels = [0.05, 1.0, 1.5, 2000.0, 20_000.0, 5e6].map(tick_label);
        assert_eq!(labels, ["0.05", "1", "1.5", "2,000", "20k", "5M"]);
    }

    #[test]
    fn places_follow_the_values() {
        let axis = Axis::linear(10.0, 100.0, 200.0);
        assert_eq!((axis.at(0.0), axis.at(5.0), axis.at(10.0)), (100.0, 150.0, 200.0));
        let axis = Axis::log(1.0, 100.0, 300.0, 0.0);
        assert!((axis.at(10.0) - 150.0).abs() < 1e-9);
        assert!(axis.at(100.0) > 0.0 && axis.at(1.0) < 300.0);
    }
}
