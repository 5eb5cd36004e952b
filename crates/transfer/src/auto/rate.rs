//! How fast an end takes or gives bytes while somebody waits for it.
//!
//! Not here: how long nobody did, which says nothing of the rate.

use std::time::Duration;

/// Bytes by seconds of waiting; older ones fade.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    len: f64,
    waited_s: f64,
    at: Duration,
}

impl Rate {
    pub(super) const fn new() -> Self {
        Self { len: 0.0, waited_s: 0.0, at: Duration::ZERO }
    }

    #[expect(clippy::cast_precision_loss, reason = "chunks are small")]
    pub(super) fn add(&mut self, now: Duration, len: usize, waited: Duration) {
        let kept = self.kept(now);
        self.len = self.len * kept + len as f64;
        self.waited_s = self.waited_s * kept + waited.as_secs_f64();
        self.at = now.max(self.at);
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
