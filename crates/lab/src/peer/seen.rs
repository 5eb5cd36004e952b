//! How packets and frames arrived.
//!
//! Not here: whether that was right, which the test says.

/// A frame as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFrame {
    /// Its sequence id.
    pub sequence_id: u8,
    /// Body on the wire, bytes.
    pub packed_len: usize,
    /// The header's length before compression; 0 is stored.
    pub plain_len: usize,
    /// What the body held, bytes.
    pub inner_len: usize,
    /// The body's first bytes, at most 16.
    pub head: Vec<u8>,
}

/// A packet as it arrived. Frames are counted from 0 within what the peer remembers; on a leg without frames all
/// are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenPacket {
    /// Its sequence id.
    pub sequence_id: u8,
    /// Payload, bytes.
    pub payload_len: usize,
    /// The frame of its header's first byte.
    pub first_frame: usize,
    /// The frame of its header's last byte.
    pub header_end_frame: usize,
    /// The frame of its last byte.
    pub last_frame: usize,
    /// Whether its last byte is its frame's last.
    pub ends_frame: bool,
}

/// Enough for the headers of both algorithms.
pub(super) const HEAD_LEN: usize = 16;
