//! The highest rate that bytes came at: what a link carries at least.
//!
//! ```text
//!  bytes │  ▂▂ ▁ ▇▇▇▇ ▂      the highest of windows of 100 ms, all sessions together
//!        └──┴──┴──┴──┴──▶ time
//! ```
//! Invariants: a window is never shorter than [`WINDOW`].
//!
//! Not here: links that are measured by asking (`link`).

use std::time::Duration;

/// The highest rate so far.
#[derive(Debug, Default)]
pub(super) struct Highest {
    begin: Duration,
    bytes: u64,
    total_before: u64,
    bytes_per_s: f64,
}

impl Highest {
    /// Bytes that came at `at`; times don't go back by more than a window.
    pub(super) fn add(&mut self, at: Duration, bytes: u64) {
        if at.saturating_sub(self.begin) >= WINDOW {
            self.end_window(WINDOW);
            self.begin = at;
        }
        self.bytes += bytes;
    }

    /// How many bytes have come in all by `at`.
    pub(super) fn total(&mut self, at: Duration, total: u64) {
        self.bytes += total.saturating_sub(std::mem::replace(&mut self.total_before, total));
        let time = at.saturating_sub(self.begin);
        if time >= WINDOW {
            self.end_window(time);
            self.begin = at;
        }
    }

    fn end_window(&mut self, time: Duration) {
        let bytes = u32::try_from(std::mem::take(&mut self.bytes)).unwrap_or(u32::MAX);
        self.bytes_per_s = self.bytes_per_s.max(f64::from(bytes) / time.as_secs_f64());
    }

    /// Bytes per second.
    pub(super) fn bytes_per_s(&self) -> f64 {
        // A window that isn't full yet can only get more.
        let last = u32::try_from(self.bytes).unwrap_or(u32::MAX);
        self.bytes_per_s.max(f64::from(last) / WINDOW.as_secs_f64())
    }
}

/// Long against what a socket's buffer or a network card hands over at once.
const WINDOW: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_window_counts_and_not_the_last() {
        let mut highest = Highest::default();
        for tenth in 0..10u64 {
            for step in 0..10 {
                let bytes = if tenth == 4 { 1000 } else { 10 };
                highest.add(Duration::from_millis(tenth * 100 + step * 10), bytes);
            }
        }
        assert!((highest.bytes_per_s() - 100_000.0).abs() < 1.0, "{highest:?}");
    }

    #[test]
    fn totals_are_taken_by_the_time_that_has_really_passed() {
        let mut highest = Highest::default();
        highest.total(Duration::from_millis(100), 1000);
        highest.total(Duration::from_millis(400), 4000);
        assert!((highest.bytes_per_s() - 10_000.0).abs() < 1.0, "{highest:?}");
    }
}
