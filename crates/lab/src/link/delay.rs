//! The effect of distance: a chunk arrives half a round trip after it was sent.
//!
//! Invariants: order is kept, because the delay is the same for all.
//!
//! Not here: jitter.

use std::time::{Duration, Instant};

/// One way of a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    one_way: Duration,
}

impl Delay {
    pub(super) fn new(round_trip: Duration) -> Self {
        Self { one_way: round_trip / 2 }
    }

    pub(super) fn due_at(self, sent_at: Instant) -> Instant {
        sent_at + self.one_way
    }
}
