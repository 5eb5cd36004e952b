//! The packet: the protocol's unit.
//!
//! ```text
//! 0      3    4
//! | len  | id | payload, len bytes, at most 0xFFFFFF
//! ```
//! A payload of 0xFFFFFF bytes or more continues in the next packet, and ends with a shorter one, which may be
//! empty.
//!
//! Not here: following packets through a stream (`scanner`).

use crate::limits::PACKET_PAYLOAD_LEN_MAX;

/// Bytes of a packet's header.
pub const HEADER_LEN: usize = 4;

/// Header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Payload bytes that follow in this packet.
    pub payload_len: usize,
    /// Counts within a command, wraps at 256.
    pub sequence_id: u8,
}

impl Header {
    /// The header at the start of `bytes`; `None` when fewer than four are there.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, sequence_id] = *bytes.first_chunk::<HEADER_LEN>()?;
        Some(Self { payload_len: len_of([a, b, c]), sequence_id })
    }

    /// The four bytes.
    pub const fn build(self) -> [u8; HEADER_LEN] {
        let [a, b, c] = bytes_of(self.payload_len);
        [a, b, c, self.sequence_id]
    }

    /// Whether the payload goes on in the next packet.
    pub const fn continues(self) -> bool {
        self.payload_len == PACKET_PAYLOAD_LEN_MAX
    }
}

/// Appends `payload` as packets with ids from `sequence_id` on; returns the id after the last.
///
/// Shape: n bytes -> n / 0xFFFFFF + 1 packets; the last may be empty.
pub fn split(payload: &[u8], mut sequence_id: u8, out: &mut Vec<u8>) -> u8 {
    let mut rest = payload;
    loop {
        let piece_len = rest.len().min(PACKET_PAYLOAD_LEN_MAX);
        let (piece, after) = rest.split_at(piece_len);
        out.extend_from_slice(&Header { payload_len: piece_len, sequence_id }.build());
        out.extend_from_slice(piece);
        sequence_id = sequence_id.wrapping_add(1);
        rest = after;
        if piece_len < PACKET_PAYLOAD_LEN_MAX {
            return sequence_id;
        }
    }
}

/// A three-byte length.
pub(crate) fn len_of([a, b, c]: [u8; 3]) -> usize {
    usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16
}

/// A length as three bytes; the caller keeps it within 0xFFFFFF.
pub(crate) const fn bytes_of(len: usize) -> [u8; 3] {
    let [a, b, c, ..] = len.to_le_bytes();
    [a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_of_0xffffff_bytes_ends_with_an_empty_packet() {
        let mut out = Vec::new();
        assert_eq!(split(&vec![7; PACKET_PAYLOAD_LEN_MAX], 0, &mut out), 2);
        assert_eq!(out.get(..4), Some(&[0xff, 0xff, 0xff, 0][..]));
        assert_eq!(out.get(out.len() - 4..), Some(&[0, 0, 0, 1][..]));
    }

    #[test]
    fn sequence_ids_wrap_at_256() {
        assert_eq!(split(b"x", 255, &mut Vec::new()), 0);
    }

    #[test]
    fn a_header_round_trips_and_needs_four_bytes() {
        let header = Header { payload_len: 0x01_02_03, sequence_id: 9 };
        assert_eq!(Header::parse(&header.build()), Some(header));
        assert_eq!(Header::parse(&[1, 2, 3]), None);
    }
}
