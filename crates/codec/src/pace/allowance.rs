//! The CPU time that packing may take, of all who share it, and what a second of it is worth meanwhile.
//!
//! ```text
//!  refilled at percent / 100 seconds in a second ─▶ │▒▒▒▒▒▒▒▒▒│      │ ─▶ taken frame by frame
//!                                                   0   filled      1 s of it
//!  price of a second, in bytes:   best seen ×  (1 - filled)²
//! ```
//! The price is what shares a scarce second: who saves fewer bytes with it than it costs leaves it to others, and a harder
//! level is worth it only for what it saves besides. While nobody wants more than there is, it is next to nothing.
//!
//! Invariants: no clock; over any time no more is taken than was refilled, one second of it, and one frame.
//!
//! Not here: who takes (`thrift`), how it is shared (crate `proxy`).

use std::time::Duration;

/// Share one between all directions that pack.
#[derive(Debug)]
pub struct Allowance {
    percent: u32,
    /// Below 0 after a frame that was longer than all there was.
    left_s: f64,
    filled: Duration,
    /// Most bytes that a second was seen to save lately.
    best_per_s: f64,
}

impl Allowance {
    /// `percent` of one core; 0: nothing is packed.
    #[must_use]
    pub fn new(percent: u32) -> Self {
        let mut allowance = Self { percent, left_s: 0.0, filled: Duration::ZERO, best_per_s: 0.0 };
        allowance.left_s = allowance.full_s();
        allowance
    }

    /// Another one from now on.
    pub fn set(&mut self, percent: u32) {
        self.percent = percent;
        self.left_s = self.left_s.min(self.full_s());
    }

    /// In per cent of one core.
    #[must_use]
    pub const fn percent(&self) -> u32 {
        self.percent
    }

    /// What a second is worth now, bytes.
    pub(super) fn price_per_s(&mut self, now: Duration) -> f64 {
        let time_s = now.saturating_sub(self.filled).as_secs_f64();
        self.filled = self.filled.max(now);
        let full_s = self.full_s();
        self.left_s = (self.left_s + time_s * f64::from(self.percent) / 100.0).min(full_s);
        self.best_per_s *= (1.0 - time_s / BEST_FOR_S).max(0.0);
        let missing = if full_s > 0.0 { (1.0 - self.left_s / full_s).clamp(0.0, 1.0) } else { 1.0 };
        self.best_per_s * (missing * missing).max(PRICE_MIN)
    }

    /// Somebody can save so many bytes in a second of it.
    pub(super) const fn offered(&mut self, bytes_per_s: f64) {
        self.best_per_s = self.best_per_s.max(bytes_per_s);
    }

    /// Whether there is more than anybody wants.
    pub(super) fn is_plenty(&self) -> bool {
        self.left_s > self.full_s() * PLENTY
    }

    /// Takes some, if there is enough; what is longer than half of all there can be is repaid.
    pub(super) fn take(&mut self, time_s: f64) -> bool {
        let has = self.percent > 0 && self.left_s > 0.0 && self.left_s >= time_s.min(self.full_s() / 2.0);
        if has {
            self.left_s -= time_s;
        }
        has
    }

    /// It took less, or, below 0, more.
    pub(super) fn give_back(&mut self, time_s: f64) {
        self.left_s = (self.left_s + time_s).min(self.full_s());
    }

    fn full_s(&self) -> f64 {
        f64::from(self.percent) / 100.0 * FULL_S
    }
}

/// Long against frames, short against what an operator's graphs show.
const FULL_S: f64 = 1.0;
/// The best that was seen is forgotten within this.
const BEST_FOR_S: f64 = 10.0;
/// A byte in so many is not worth a level that takes twice the time.
const PRICE_MIN: f64 = 0.002;
const PLENTY: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_is_refilled_and_one_second_of_it() {
        let mut allowance = Allowance::new(20);
        let mut taken_s = 0.0;
        for ms in 0..10_000 {
            allowance.price_per_s(Duration::from_millis(ms));
            for _ in 0..10 {
                taken_s += if allowance.take(1e-3) { 1e-3 } else { 0.0 };
            }
        }
        assert!((2.0..=2.3).contains(&taken_s), "{taken_s}");
    }

    #[test]
    fn what_is_longer_than_all_there_can_be_is_repaid() {
        let mut allowance = Allowance::new(10);
        assert!(allowance.take(2.0) && !allowance.take(1e-3));
        allowance.price_per_s(Duration::from_secs(18));
        assert!(!allowance.take(1e-3));
        allowance.price_per_s(Duration::from_secs(20));
        assert!(allowance.take(1e-3));
    }

    #[test]
    fn nothing_is_nothing() {
        let mut allowance = Allowance::new(0);
        allowance.price_per_s(Duration::from_secs(100));
        assert!(!allowance.take(1e-9) && !allowance.is_plenty());
    }
}
