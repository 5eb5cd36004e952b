//! The effect of a rate: when has the link sent these bytes?
//!
//! ```text
//!  arrival        ┌────chunk 1────┬──chunk 2──┐       ┌─chunk 3─┐
//!  ───────────────┴───────────────┴───────────┴───────┴─────────┴──▶ time
//!                 start           sent        sent    arrival    sent
//! ```
//!
//! Invariants: a chunk begins when the one before is sent or when it arrives, whichever is later; so the
//! rate is never exceeded over any stretch, an idle link saves nothing up, and a thread that wakes up late
//! loses nothing while chunks wait.
//!
//! Not here: the clock (time is an argument); fairness beyond first come, first served.

use std::time::{Duration, Instant};

/// The schedule of one direction of a link, shared by all its connections.
#[derive(Debug)]
pub(crate) struct Rate {
    bytes_per_s: u64,
    /// When the last accepted byte has been sent.
    free_at: Instant,
}

impl Rate {
    pub(crate) fn new(bytes_per_s: u64, now: Instant) -> Self {
        Self { bytes_per_s: bytes_per_s.max(1), free_at: now }
    }

    /// Accepts `len` bytes that arrive `now`, and tells when the last of them has been sent.
    pub(crate) fn sent_at(&mut self, now: Instant, len: usize) -> Instant {
        let nanos = u128::from(len as u64) * 1_000_000_000 / u128::from(self.bytes_per_s);
        let takes = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.free_at = self.free_at.max(now) + takes;
        self.free_at
    }

    /// How long the queue still takes beyond `queue`; zero when another chunk may enter.
    pub(crate) fn wait(&self, now: Instant, queue: Duration) -> Duration {
        self.free_at.saturating_duration_since(now).saturating_sub(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_wait_are_sent_one_after_the_other() {
        let start = Instant::now();
        let mut rate = Rate::new(12_500_000, start);
        assert_eq!(rate.sent_at(start, 12_500), start + Duration::from_millis(1));
        // The thread wakes up late; the schedule does not.
        let late = start + Duration::from_micros(300);
        assert_eq!(rate.sent_at(late, 12_500), start + Duration::from_millis(2));
    }

    #[test]
    fn an_idle_link_saves_nothing_up() {
        let start = Instant::now();
        let mut rate = Rate::new(12_500_000, start);
        let later = start + Duration::from_secs(5);
        assert_eq!(rate.sent_at(later, 12_500), later + Duration::from_millis(1));
    }

    #[test]
    fn who_comes_when_the_queue_is_full_waits_until_it_is_not() {
        let start = Instant::now();
        let mut rate = Rate::new(1_000_000, start);
        rate.sent_at(start, 30_000);
        assert_eq!(rate.wait(start, Duration::from_millis(20)), Duration::from_millis(10));
        assert_eq!(rate.wait(start + Duration::from_millis(10), Duration::from_millis(20)), Duration::ZERO);
    }
}
