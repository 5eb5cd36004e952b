//! Packets that are read whole, because they ask or tell of the session's status; rows of it may be exchanged.
//!
//! ```text
//! inner   | scanned ... | packet to be read | ...      kept, or replaced by none, one or several
//!                       ^ scanned_len
//! ```
//! Invariants: what is exchanged was not begun, so that its ids are given as if the server had sent it so.
//! Not here: which packets, and what is in them (`wire::session_status`).

use wire::conversation::Conversation;
use wire::session_status::Verdict;
use wire::{Direction, packet};

use super::HalfPipe;

impl HalfPipe {
    /// Reads the next packet if the conversation wants that; `false` where more of it must come.
    pub(super) fn read_packet(&mut self, conversation: &mut Conversation) -> bool {
        loop {
            let rest = self.inner.bytes.waiting().get(self.scanned_len..).unwrap_or_default();
            let Some(header) = packet::Header::parse(rest) else { return true };
            let body = rest.get(packet::HEADER_LEN..).unwrap_or_default();
            let byte = body.first().copied();
            if byte.is_none() && header.payload_len > 0 {
                return true; // The scan wants more of it as well.
            }
            if !conversation.reads(self.direction, byte.unwrap_or_default(), header.payload_len) {
                return true;
            }
            if header.payload_len > Conversation::READ_LEN_MAX {
                if self.direction == Direction::ToClient {
                    conversation.passes_unread();
                }
                return true;
            }
            let Some(payload) = body.get(..header.payload_len) else { return false };
            let Verdict::Replace(payloads) = conversation.read(self.direction, payload) else { return true };
            let mut packets = Vec::new();
            for payload in &payloads {
                packet::split(payload, header.sequence_id, &mut packets);
            }
            let end = self.scanned_len + packet::HEADER_LEN + header.payload_len;
            self.inner.bytes.replace(self.scanned_len..end, &packets);
            if let Some(packer) = &mut self.packer {
                packer.inner_grew(None); // It isn't any more what the peer had packed.
            }
            if !payloads.is_empty() {
                return true;
            }
        }
    }
}
