//! What the conversation promises, case by case: where replies end (`replies`), which ids packets and frames get
//! (`ids`), which packets may share a frame (`turns`), and those that are exchanged (`status`).
//!
//! Packets marked "read from" are what that server sent to a raw client.
//! Not here: bytes and their cuts (`scanner`, crate `proxy`).

mod ids;
mod replies;
mod rows;
mod status;
mod turns;

use super::*;
use crate::command::{COM_CHANGE_USER, COM_PING, COM_QUERY, COM_STMT_CLOSE};
use crate::limits::{PACKET_PAYLOAD_LEN_MAX, PEEK_LEN};

pub(super) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
pub(super) const ERR: &[u8] = b"\xff\x15\x04#28000no";
pub(super) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
pub(super) const EOF_MORE: &[u8] = &[0xfe, 0, 0, 0x0a, 0];
/// Start of a column definition, which is all that matters of one.
pub(super) const COLUMN: &[u8] = b"\x03def\0\0\0\x011\0";
pub(super) const ROW: &[u8] = b"\x011";
pub(super) const NO_EOF: Capabilities = Capabilities::DEPRECATE_EOF;

/// A conversation and what both peers did, with ids as a real client counts them.
pub(super) struct Dialogue {
    pub(super) conversation: Conversation,
}

/// What a packet became on the other leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// The packet's id.
    pub(super) id: u8,
    /// The frame's, if the packet begins one; its own on a plain client leg.
    pub(super) frame: Option<u8>,
    pub(super) ends_frame: bool,
}

impl Dialogue {
    pub(super) fn plain(agreed: Capabilities) -> Self {
        Self { conversation: Conversation::new(agreed, false) }
    }

    pub(super) fn framed(agreed: Capabilities) -> Self {
        Self { conversation: Conversation::new(agreed, true) }
    }

    /// A frame's header comes from the client.
    pub(super) fn client_frame(&mut self, id: u8, inside_packet: bool) -> Result<(), Fault> {
        let header = frame::Header { packed_len: 100, sequence_id: id, plain_len: 0 };
        self.conversation.frame_received(Side::Client, header, inside_packet)
    }

    /// A frame's header comes from the server.
    pub(super) fn server_frame(&mut self, id: u8) {
        let header = frame::Header { packed_len: 100, sequence_id: id, plain_len: 0 };
        self.conversation.frame_received(Side::Server, header, false).unwrap();
    }

    /// A packet comes from the client.
    pub(super) fn client(&mut self, id: u8, payload: &[u8]) -> Result<Sent, Fault> {
        self.packet(Direction::ToServer, id, payload.len(), payload)
    }

    /// A packet comes from the server.
    pub(super) fn server(&mut self, id: u8, payload: &[u8]) -> Sent {
        self.packet(Direction::ToClient, id, payload.len(), payload).unwrap()
    }

    /// A packet of `payload_len` bytes that start with `peek`.
    pub(super) fn packet(
        &mut self,
        direction: Direction,
        id: u8,
        payload_len: usize,
        peek: &[u8],
    ) -> Result<Sent, Fault> {
        let header = packet::Header { payload_len, sequence_id: id };
        let peek = &peek[..peek.len().min(PEEK_LEN)];
        let plan = self.conversation.begin_packet(direction, header, peek)?;
        let side = if direction == Direction::ToServer { Side::Server } else { Side::Client };
        let frame = plan.starts_frame.then(|| match side {
            // No frames there; a packet's own id is what its receiver counts.
            Side::Client if !self.conversation.client_framed => plan.sequence_id,
            side => self.conversation.take_frame_id(side),
        });
        Ok(Sent { id: plan.sequence_id, frame, ends_frame: plan.ends_frame })
    }

    /// A whole command in one packet, and in one frame where the client has frames.
    pub(super) fn command(&mut self, payload: &[u8]) -> Sent {
        if self.conversation.client_framed {
            self.client_frame(0, false).unwrap();
        }
        self.client(0, payload).unwrap()
    }

    /// A reply, its ids counted from 1; the ids on the client leg.
    pub(super) fn reply(&mut self, packets: &[&[u8]]) -> Vec<u8> {
        (1..).zip(packets).map(|(id, payload)| self.server(id, payload).id).collect()
    }

    pub(super) fn is_done(&self) -> bool {
        self.conversation.in_flight() == 0
    }
}

pub(super) fn query(text: &str) -> Vec<u8> {
    [&[COM_QUERY], text.as_bytes()].concat()
}

/// `select 1` with EOFs: five packets.
pub(super) const ONE_ROW: [&[u8]; 5] = [&[1], COLUMN, EOF, ROW, EOF];
