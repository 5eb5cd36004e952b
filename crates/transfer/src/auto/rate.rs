//! How fast an end takes or gives bytes while somebody waits for it.
//!
//! Not here: how long nobody did, which says nothing of the rate.

use std::time::Duration;

/// Bytes by seconds of waiting; older ones fade.
///
/// What is taken without waiting may only have filled a buffer: it counts when nobody has waited for some time, and is
/// forgotten when somebody has to after all.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    len: f64,
    waited_s: f64,
    at: Duration,
    /// Taken without waiting since somebody last waited.
    free_len: f64,
    free_s: f64,
    waited_at: Duration,
}

impl Rate {
    pub(super) const fn new() -> Self {
        let (len, waited_s, at) = (0.0, 0.0, Duration::ZERO);
        Self { len, waited_s, at, free_len: 0.0, free_s: 0.0, waited_at: Duration::ZERO }
    }

    #[expect(clippy::cast_precision_loss, reason = "chunks are small")]
    pub(super) fn add(&mut self, now: Duration, len: usize, waited: Duration) {
        let (len, waited_s) = (len as f64, waited.as_secs_f64());
        if waited_s <= len * COPY_S_A_BYTE {
            self.free_len += len;
            self.free_s += waited_s;
            if now.saturating_sub(self.waited_at) > BUFFERED {
                let (len, seconds) = (self.free_len, self.free_s);
                self.count(now, len, seconds);
            }
        } else {
            self.waited_at = now;
            self.count(now, len, waited_s);
        }
    }

    fn count(&mut self, now: Duration, len: f64, seconds: f64) {
        let kept = self.kept(now);
        self.len = self.len * kept + len;
        self.waited_s = self.waited_s * kept + seconds;
        self.at = now.max(self.at);
        (self.free_len, self.free_s) = (0.0, 0.0);
    }

    /// 0 if nobody ever waited.
    pub(super) fn seconds_a_byte(&self, _now: Duration) -> f64 {
        if self.len > 0.0 { self.waited_s / self.len } else { 0.0 }
    }

    fn kept(&self, now: Duration) -> f64 {
        (-now.saturating_sub(self.at).as_secs_f64() / MEMORY_S).exp()
    }
}

/// A change of the link is followed within about as long.
const MEMORY_S: f64 = 0.5;
/// So fast are bytes copied into a buffer, at least: 2 GB/s.
const COPY_S_A_BYTE: f64 = 0.5e-9;
/// Sockets hold some MB, which 100 Mbit takes as long to carry.
const BUFFERED: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_fills_a_buffer_is_no_rate() {
        let ms = Duration::from_millis;
        let mut rate = Rate::new();
        // 8 MB into buffers, then 100 MB/s.
        for at in 1..=4 {
            rate.add(ms(at), 2_000_000, Duration::from_micros(400));
        }
        for at in 1..=10 {
            rate.add(ms(4 + at * 10), 1_000_000, ms(10));
        }
        assert!((rate.seconds_a_byte(ms(110)) * 100e6 - 1.0).abs() < 1e-6);
        // Nobody waits any more.
        for at in 120..2000 {
            rate.add(ms(at), 2_000_000, Duration::from_micros(400));
        }
        assert!(rate.seconds_a_byte(ms(2000)) * 1e9 < 1.0);
    }
}
