//! What the kernel tells of the destination's socket, and how long it keeps the link busy.

use std::time::Duration;

/// A look at the destination's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Since any fixed moment.
    pub now: Duration,
    /// Bytes in the socket that are not acknowledged.
    pub queued_len: u64,
    /// Those of them that are not on their way either.
    pub unsent_len: u64,
    /// Bytes that count as handed over and have not come into the socket yet: who brings them may be late, so that the link
    /// has nothing to do meanwhile.
    pub unwritten_len: u64,
    /// They wait for room in the receiver's buffer, and not for the link.
    pub reader_waits: bool,
    /// Free room in the receiver's buffer, as it told last.
    pub window_len: u64,
    /// The shortest round trip that was seen; zero where it is not known.
    pub round_trip: Duration,
    /// Bytes per second of what was acknowledged last, if the kernel tells more of that than at the look before, else 0. It may
    /// be little because little was sent, so a link carries at least that.
    pub delivered_per_s: u64,
}

impl Look {
    /// Before the first.
    pub(super) const NOTHING: Self = Self {
        now: Duration::ZERO,
        queued_len: 0,
        unsent_len: 0,
        unwritten_len: 0,
        reader_waits: false,
        window_len: 0,
        round_trip: Duration::ZERO,
        delivered_per_s: 0,
    };

    /// The same where so many more bytes that count as handed over have not come into the socket yet.
    #[must_use]
    pub const fn behind(self, unwritten_len: u64) -> Self {
        Self { unwritten_len: self.unwritten_len + unwritten_len, ..self }
    }

    /// Bytes that were handed over and that nobody on the other side has acknowledged.
    pub(super) const fn unacknowledged_len(&self) -> u64 {
        self.queued_len + self.unwritten_len
    }

    /// Those that are not on their way.
    pub(super) const fn waiting_len(&self) -> u64 {
        self.unsent_len + self.unwritten_len
    }

    /// How long the link is busy with what was sent before, at this rate: with what is unsent, and with what waits in the
    /// network, which is what is on its way beyond what a link without a queue holds.
    fn busy_s(&self, bytes_per_s: f64) -> f64 {
        let on_its_way_len = self.queued_len.saturating_sub(self.unsent_len) as f64;
        let held_len = bytes_per_s * self.round_trip.as_secs_f64() + ACKNOWLEDGED_LATE_LEN;
        // Where no round trip was seen nothing is known of the network.
        let waits_len = if self.round_trip.is_zero() { 0.0 } else { (on_its_way_len - held_len).max(0.0) };
        (self.waiting_len() as f64 + waits_len) / bytes_per_s
    }

    /// The same at a later moment, `since_len` bytes after the look: they are in the queue, too, and what has left since is not.
    pub(super) fn busy_at_s(&self, now: Duration, since_len: u64, bytes_per_s: f64) -> f64 {
        let passed_s = now.saturating_sub(self.now).as_secs_f64();
        (self.busy_s(bytes_per_s) + since_len as f64 / bytes_per_s - passed_s).max(0.0)
    }
}

/// Receivers acknowledge in pieces, up to the kernel's of 64 KiB.
const ACKNOWLEDGED_LATE_LEN: f64 = 64.0 * 1024.0;
