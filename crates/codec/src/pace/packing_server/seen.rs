//! How fast replies came that were packed alike: at the middle one of the last three windows' rates, by their bytes.
//!
//! A stall makes one window slow, and the next one, of bytes that waited in buffers meanwhile, fast. Neither says anything of the link.
//!
//! Not here: what a window is, and what follows from the rates (`super`).

use std::time::Duration;

use super::Packing;

/// Replies that were packed like this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub(super) packing: Packing,
    /// The first time, and the last.
    pub(super) since: Duration,
    pub(super) at: Duration,
    /// In the last windows, the newest first; nothing in those that were not yet.
    last: [Came; LAST],
    windows: usize,
    /// Somebody looks again, so what was seen until now no longer counts as soon as that is seen.
    is_doubted: bool,
}

/// What came in one window.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Came {
    pub(super) time_s: f64,
    pub(super) plain_len: f64,
    pub(super) wire_len: f64,
}

impl Seen {
    pub(super) fn first(now: Duration, packing: Packing, came: Came) -> Self {
        let last = [came, Came::default(), Came::default()];
        Self { packing, since: now, at: now, last, windows: 1, is_doubted: false }
    }

    pub(super) fn again(&mut self, now: Duration, came: Came) {
        if self.is_doubted {
            *self = Self { since: self.since, ..Self::first(now, self.packing, came) };
            return;
        }
        self.last.rotate_right(1);
        self.last[0] = came;
        self.windows += 1;
        self.at = now;
    }

    /// What it was says nothing any more.
    pub(super) const fn doubt(&mut self) {
        self.is_doubted = true;
    }

    /// Whether one odd window changes nothing.
    pub(super) const fn is_sure(&self) -> bool {
        self.windows >= LAST
    }

    /// Plain bytes per second.
    pub(super) fn plain_per_s(&self) -> f64 {
        self.middle().plain_per_s()
    }

    /// Bytes per second as they came.
    pub(super) fn wire_per_s(&self) -> f64 {
        let Came { time_s, wire_len, .. } = self.middle();
        wire_len / time_s
    }

    /// No more than half of the bytes came faster, and less than half slower: of two alike it is the faster one, since more things
    /// make a window slow than fast.
    fn middle(&self) -> Came {
        let mut last = self.last;
        last.sort_by(|one, other| other.plain_per_s().total_cmp(&one.plain_per_s()));
        let mut left = last.iter().map(|came| came.plain_len).sum::<f64>() / 2.0;
        let middle = last.into_iter().find(|came| {
            left -= came.plain_len;
            left <= 0.0
        });
        middle.unwrap_or(self.last[0])
    }
}

impl Came {
    fn plain_per_s(&self) -> f64 {
        self.plain_len / self.time_s
    }
}

/// Enough that the odd ones are no majority, and few, so that a change is followed from its second window on.
const LAST: usize = 3;
