//! How fast an end takes or gives bytes while somebody waits for it.
//!
//! Not here: how long nobody did, which says nothing of the rate.

use std::time::Duration;

/// Bytes by seconds of waiting; older ones fade. But it is held for no more than four times what passes: who waits for little of
/// the time may have a buffer to thank for it, which is soon found out by giving a little more.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    len: f64,
    waited_s: f64,
    at: Duration,
    /// What passed since then, and the seconds a byte of what passed before.
    window_len: f64,
    window_at: Duration,
    passed: Option<f64>,
}

impl Rate {
    pub(super) const fn new() -> Self {
        let (at, window_at) = (Duration::ZERO, Duration::ZERO);
        Self { len: 0.0, waited_s: 0.0, at, window_len: 0.0, window_at, passed: None }
    }

    #[expect(clippy::cast_precision_loss, reason = "chunks are small")]
    pub(super) fn add(&mut self, now: Duration, len: usize, waited: Duration) {
        let (len, waited_s) = (len as f64, waited.as_secs_f64());
        let kept = (-now.saturating_sub(self.at).as_secs_f64() / MEMORY_S).exp();
        self.len = self.len * kept + len;
        self.waited_s = self.waited_s * kept + waited_s;
        self.at = now.max(self.at);
        self.window_len += len;
        if self.window_len >= BUFFERED_LEN {
            self.passed = Some(now.saturating_sub(self.window_at).as_secs_f64() / self.window_len);
            (self.window_len, self.window_at) = (0.0, now);
        }
    }

    /// What may be hoped for; `None` until more has passed than buffers take.
    pub(super) fn seconds_a_byte(&self) -> Option<f64> {
        Some(self.waited().max(self.passed? / HOPE))
    }

    /// What is certain: so much passes now.
    pub(super) fn certain(&self) -> Option<f64> {
        Some(self.waited().max(self.passed?))
    }

    /// What was waited for so far, for as long as nothing better is known.
    pub(super) fn waited(&self) -> f64 {
        self.waited_s / self.len.max(1.0)
    }
}

/// A change of the link is followed within about as long.
const MEMORY_S: f64 = 0.5;
/// More than most sockets, pipes and queues hold.
const BUFFERED_LEN: f64 = 6e6;
/// How much faster the rate may be than what is seen to pass: as much as the output of most pages grows when they are stored.
const HOPE: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_fills_a_buffer_is_no_rate() {
        let ms = Duration::from_millis;
        let mut rate = Rate::new();
        // 4 MB into buffers, then 100 MB/s.
        for at in 1..=4 {
            rate.add(ms(at), 1_000_000, Duration::from_micros(200));
        }
        assert_eq!(rate.seconds_a_byte(), None);
        for at in 1..=60 {
            rate.add(ms(4 + at * 10), 1_000_000, ms(10));
        }
        assert!((rate.seconds_a_byte().unwrap() * 100e6 - 1.0).abs() < 0.1);
    }

    #[test]
    fn where_nobody_waits_it_is_held_for_four_times_of_what_passes() {
        let ms = Duration::from_millis;
        let mut rate = Rate::new();
        for at in 1..=400 {
            rate.add(ms(at), 200_000, Duration::from_micros(20));
        }
        assert!((rate.seconds_a_byte().unwrap() * 800e6 - 1.0).abs() < 1e-6);
    }
}
