//! Frames of a session: those that a proxy would make of its replies, and those that it is packed in already.
//!
//! ```text
//!  reply   packet packet packet | packet ...      a frame ends before the packet that it has no room for, and with
//!          └──── a frame ─────┘                   the reply; it is copied only if it was chosen when it began
//!
//!  packed  header 7 | body | header 7 | ...       only the headers are read
//! ```
//! Invariants: at most one frame is held, of at most [`FRAME_BYTES`]; of a larger packet the beginning.
//!
//! Not here: packing (`candidate`).

use wire::{frame, packet};

use crate::advise::reservoir::Reservoir;
use crate::advise::samples::FRAME_BYTES;

/// The frame that a reply's packets fill.
#[derive(Debug, Default)]
pub(super) struct FrameFill {
    /// Where it goes, if it was chosen.
    place: Option<usize>,
    /// Its length so far, whether it is copied or not.
    len: usize,
    bytes: Vec<u8>,
}

impl FrameFill {
    /// A packet of a reply begins.
    pub(super) fn header(&mut self, header: packet::Header, goes_on: bool, frames: &mut Reservoir<Vec<u8>>) {
        let len = packet::HEADER_LEN + header.payload_len;
        if !goes_on && self.len > 0 && self.len + len > FRAME_BYTES {
            self.end_frame(frames);
        }
        if self.len == 0 {
            self.place = frames.choose();
        }
        self.len = self.len.saturating_add(len);
        self.body(&header.build());
    }

    /// Bytes of its payload.
    pub(super) fn body(&mut self, bytes: &[u8]) {
        if self.place.is_some() {
            let room = FRAME_BYTES.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    /// The frame is complete.
    pub(super) fn end_frame(&mut self, frames: &mut Reservoir<Vec<u8>>) {
        if let Some(place) = self.place {
            frames.put(place, std::mem::take(&mut self.bytes));
        }
        self.drop_frame();
    }

    /// Bytes that are copied so far.
    #[cfg(any(test, fuzzing))]
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The frame will never be complete.
    pub(super) fn drop_frame(&mut self) {
        *self = Self::default();
    }
}

/// Hops over frames.
#[derive(Debug, Default)]
pub(super) struct FrameCursor {
    head: Vec<u8>,
    left: usize,
    walked: usize,
}

impl FrameCursor {
    /// Whether enough was seen to know a ratio by.
    pub(super) const fn is_enough(&self) -> bool {
        self.walked > ENOUGH_BYTES
    }

    /// Hops over `bytes`, and tells each header.
    pub(super) fn walk(&mut self, mut bytes: &[u8], mut told: impl FnMut(frame::Header)) {
        self.walked = self.walked.saturating_add(bytes.len());
        while !bytes.is_empty() {
            let (body, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= body.len();
            let wanted = frame::HEADER_LEN - self.head.len();
            let (head, rest) = rest.split_at(wanted.min(rest.len()));
            self.head.extend_from_slice(head);
            bytes = rest;
            if let Some(header) = frame::Header::parse(&self.head) {
                self.left = header.packed_len;
                self.head.clear();
                told(header);
            }
        }
    }
}

/// Of one session.
const ENOUGH_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cutting_gives_the_same_frames() {
        let mut bytes = Vec::new();
        for packed_len in [0usize, 1, 40, 300] {
            let header = frame::Header { packed_len, sequence_id: 1, plain_len: packed_len * 2 };
            bytes.extend_from_slice(&header.build());
            bytes.resize(bytes.len() + packed_len, 9);
        }
        for cut_len in [1, 2, 3, 7, 8, 1000] {
            let (mut cursor, mut lens) = (FrameCursor::default(), Vec::new());
            for chunk in bytes.chunks(cut_len) {
                cursor.walk(chunk, |header| lens.push(header.packed_len));
            }
            assert_eq!(lens, [0, 1, 40, 300], "{cut_len}");
        }
    }

    #[test]
    fn a_frame_ends_before_a_packet_that_does_not_fit_and_with_its_reply() {
        let (mut fill, mut frames) = (FrameFill::default(), Reservoir::new(10, 1));
        let payload = vec![1; FRAME_BYTES / 2 - 100];
        for _ in 0..5 {
            fill.header(packet::Header { payload_len: payload.len(), sequence_id: 0 }, false, &mut frames);
            fill.body(&payload);
        }
        fill.end_frame(&mut frames);
        fill.end_frame(&mut frames);
        let lens: Vec<usize> = frames.kept().iter().map(Vec::len).collect();
        assert_eq!(lens, [2 * payload.len() + 8, 2 * payload.len() + 8, payload.len() + 4]);
    }

    #[test]
    fn of_a_huge_packet_the_beginning_is_kept() {
        let (mut fill, mut frames) = (FrameFill::default(), Reservoir::new(10, 1));
        fill.header(packet::Header { payload_len: FRAME_BYTES * 3, sequence_id: 0 }, false, &mut frames);
        for _ in 0..3 {
            fill.body(&vec![2; FRAME_BYTES]);
        }
        fill.end_frame(&mut frames);
        assert_eq!(frames.kept().iter().map(Vec::len).collect::<Vec<_>>(), [FRAME_BYTES]);
    }
}
