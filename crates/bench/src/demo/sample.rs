//! What one run gave.
//!
//! Invariants: measured numbers only; what follows from them is computed by the methods.
//!
//! Not here: how it was measured (`cell`), how it is printed (`report`).

use std::time::Duration;

use super::setting::Setting;
use crate::table::Kind;

/// One row of the report.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// The table that was read.
    pub(super) table: Kind,
    /// What was asked for.
    pub(super) setting: Setting,
    /// How often the table was read, at least once.
    pub(super) scans: u32,
    /// Rows of one scan.
    pub(super) rows: u64,
    /// Median time of a scan, from the query to the last byte.
    pub(super) time: Duration,
    /// Time of all scans together.
    pub(super) run_time: Duration,
    /// Bytes of one scan before compression.
    pub(super) plain_bytes: u64,
    /// Bytes of one scan on the link, both ways.
    pub(super) wire_bytes: u64,
    /// The most bytes in any one second of the run; all of a run that took less than a second.
    pub(super) peak_second_bytes: u64,
    /// CPU time of one scan.
    pub(super) cpu: CpuTimes,
}

/// CPU time of the three parties; `None` where it cannot be known or there is no such party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuTimes {
    /// The database.
    pub(super) server: Option<Duration>,
    /// The proxy.
    pub(super) proxy: Option<Duration>,
    /// The client.
    pub(super) client: Duration,
}

impl Sample {
    /// Plain bytes per byte on the link; larger is better.
    #[must_use]
    pub(super) fn ratio(&self) -> f64 {
        f64_of(self.plain_bytes) / f64_of(self.wire_bytes.max(1))
    }

    /// Megabytes (10^6) per second on the link, over the whole run.
    pub(super) fn mean_mb_per_s(&self) -> f64 {
        f64_of(self.wire_bytes) * f64::from(self.scans) / 1e6 / self.run_time.as_secs_f64().max(1e-9)
    }

    /// Megabytes in the busiest second. A run of less than a second has no second, its mean stands in; and
    /// where the run is hardly longer, so that no ten buckets lie wholly in it, the mean is the lower bound.
    pub(super) fn peak_mb_per_s(&self) -> f64 {
        let mean = self.mean_mb_per_s();
        if self.run_time < Duration::from_secs(1) {
            return mean;
        }
        (f64_of(self.peak_second_bytes) / 1e6).max(mean)
    }

    /// Time in terms of another's.
    #[must_use]
    pub(super) fn time_relative_to(&self, other: &Self) -> f64 {
        self.time.as_secs_f64() / other.time.as_secs_f64().max(1e-9)
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a run are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time_ms: u64, scans: u32) -> Sample {
        Sample {
            table: Kind::Sysbench,
            setting: Setting::Zlib,
            scans,
            rows: 10,
            time: Duration::from_millis(time_ms),
            run_time: Duration::from_millis(time_ms) * scans,
            plain_bytes: 20_000_000,
            wire_bytes: 10_000_000,
            peak_second_bytes: 13_000_000,
            cpu: CpuTimes { server: None, proxy: None, client: Duration::ZERO },
        }
    }

    #[test]
    fn ratio_and_rates_follow_from_bytes_and_time() {
        let sample = sample(2000, 1);
        assert!((sample.ratio() - 2.0).abs() < 1e-9);
        assert!((sample.mean_mb_per_s() - 5.0).abs() < 1e-9);
        assert!((sample.peak_mb_per_s() - 13.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_shorter_than_a_second_has_its_mean_for_a_peak() {
        assert!((sample(100, 1).peak_mb_per_s() - 100.0).abs() < 1e-9);
        assert!((sample(700, 2).peak_mb_per_s() - 10.0 / 0.7).abs() < 1e-9);
        assert!((sample(2000, 2).peak_mb_per_s() - 13.0).abs() < 1e-9);
    }
}
