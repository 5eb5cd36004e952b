//! What compression saves in money: bytes that were not sent, minus the CPU that it took.
//!
//! Not here: what is charged for (a leg within one host costs nothing; the operator knows which leg is paid for).

use crate::Flow;

/// The operator's prices, in whatever currency.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// For 10^9 bytes.
    pub per_gb: Option<f64>,
    /// For an hour of one core.
    pub per_core_hour: Option<f64>,
}

impl Prices {
    /// What a direction of a leg has saved; `None` without a price per GB.
    pub fn saved(&self, flow: &Flow) -> Option<f64> {
        let per_gb = self.per_gb?;
        let bytes = flow.saved_len() as f64 / BYTES_PER_GB * per_gb;
        let hours = flow.cpu_ns as f64 / NS_PER_HOUR;
        Some(bytes - hours * self.per_core_hour.unwrap_or(0.0))
    }
}

/// As networks are billed.
const BYTES_PER_GB: f64 = 1e9;
const NS_PER_HOUR: f64 = 3.6e12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savings_are_bytes_not_sent_minus_cpu() {
        let flow = Flow {
            plain_len: 3_000_000_000,
            packed_len: 1_000_000_000,
            cpu_ns: 36_000_000_000,
            ..Flow::default()
        };
        assert_eq!(Prices::default().saved(&flow), None);
        let prices = Prices { per_gb: Some(0.5), per_core_hour: None };
        assert_eq!(prices.saved(&flow), Some(1.0));
        let prices = Prices { per_core_hour: Some(10.0), ..prices };
        assert!((prices.saved(&flow).unwrap() - 0.9).abs() < 1e-9);
        let grown = Flow { plain_len: 0, packed_len: 1_000_000_000, ..Flow::default() };
        assert_eq!(prices.saved(&grown), Some(-0.5));
    }
}
