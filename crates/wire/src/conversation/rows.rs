//! Runs of rows: most packets of a large reply, which mean nothing but that it goes on.
//!
//! ```text
//! bytes   | row | row | row | EOF ...          passed: the first three, if all of each is there
//! ```
//! Invariants: what passes here leaves behind what `begin_packet` would have, row by row.
//! Not here: where rows end (`reply`).

use super::{Conversation, Reply};
use crate::limits::PACKET_PAYLOAD_LEN_MAX;
use crate::packet;
use crate::response::eof;

/// What passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassedRows {
    /// Bytes, headers included.
    pub len: usize,
    /// An id was changed in place.
    pub renumbered: bool,
}

impl Conversation {
    /// Passes the whole rows at the start of `bytes`, at most `len_max` bytes of them, which the server sends between two packets. Their
    /// ids are changed in place. Whatever may be more than a row is left to [`begin_packet`](Self::begin_packet), and so is the first
    /// packet of a frame.
    pub fn pass_rows(&mut self, bytes: &mut [u8], len_max: usize) -> PassedRows {
        let mut passed = PassedRows::default();
        let goes_on = self.in_flight.front().is_some_and(|oldest| {
            matches!(oldest.reply, Reply::Rows { .. }) && oldest.reply_begun && oldest.watch.is_none()
        });
        if !goes_on || self.to_client_continues || self.ack_due || self.server_turn_begins {
            return passed;
        }
        let mut rest = bytes;
        loop {
            let &[a, b, c, received_id, first, ..] = &*rest else { return passed };
            let payload_len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            // The end, an error or, of 16 MiB, a row in pieces; an empty one has no first byte.
            if first >= eof::HEADER || payload_len == 0 || payload_len >= PACKET_PAYLOAD_LEN_MAX {
                return passed;
            }
            let len = packet::HEADER_LEN + payload_len;
            if passed.len + len > len_max || rest.len() < len {
                return passed;
            }
            self.server_received.packet = received_id.wrapping_add(1);
            let sent_id = self.client_send.packet;
            self.client_send.packet = sent_id.wrapping_add(1);
            passed.renumbered |= received_id != sent_id;
            if let Some(id) = rest.get_mut(3) {
                *id = sent_id;
            }
            passed.len += len;
            rest = rest.get_mut(len..).unwrap_or_default();
        }
    }
}
