//! Follows packets through one direction's inner stream, whatever its cuts.
//!
//! ```text
//! inner bytes   | header 4 | peek <= 32 ... body | header 4 | ...
//!                 ^ begin: id rewritten            ^ end of the packet
//! ```
//! Invariants: holds no bytes; a packet is begun only when its header and first payload bytes are there, so a
//! caller never sends a header whose id isn't final.
//! Not here: buffering, frames (crate `proxy`).

use crate::conversation::{Conversation, Plan};
use crate::limits::PEEK_LEN;
use crate::{Direction, Fault, packet};

/// Where a direction stands.
#[derive(Debug)]
pub struct Scanner {
    direction: Direction,
    /// Bytes of the current packet that were not scanned yet.
    left: usize,
}

/// A step of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Header and first bytes of the next packet aren't all there.
    NeedMore,
    /// A packet of `len` bytes, header included, begins at the first byte given.
    Begin {
        /// Length with the header, bytes.
        len: usize,
        /// What the conversation says of it.
        plan: Plan,
        /// Its id was changed in place.
        renumbered: bool,
    },
}

impl Scanner {
    /// A scanner between two packets.
    pub const fn new(direction: Direction) -> Self {
        Self { direction, left: 0 }
    }

    /// Whether the scan stands inside a packet.
    pub const fn is_inside_packet(&self) -> bool {
        self.left > 0
    }

    /// Bytes of the current packet that were not scanned yet.
    pub const fn left_len(&self) -> usize {
        self.left
    }

    /// Begins the packet at the start of `bytes`; the scan must stand between two packets.
    pub fn begin(&mut self, bytes: &mut [u8], conversation: &mut Conversation) -> Result<Step, Fault> {
        let Some(header) = packet::Header::parse(bytes) else { return Ok(Step::NeedMore) };
        let peek_end = packet::HEADER_LEN + header.payload_len.min(PEEK_LEN);
        let Some(peek) = bytes.get(packet::HEADER_LEN..peek_end) else { return Ok(Step::NeedMore) };
        let plan = conversation.begin_packet(self.direction, header, peek)?;
        let renumbered = plan.sequence_id != header.sequence_id;
        if let [_, _, _, id, ..] = bytes {
            *id = plan.sequence_id;
        }
        self.left = packet::HEADER_LEN + header.payload_len;
        Ok(Step::Begin { len: self.left, plan, renumbered })
    }

    /// Walks over at most `available` bytes of the current packet; says how many, and whether it ended.
    pub fn skip(&mut self, available: usize) -> (usize, bool) {
        let len = self.left.min(available);
        self.left -= len;
        (len, self.left == 0)
    }
}
