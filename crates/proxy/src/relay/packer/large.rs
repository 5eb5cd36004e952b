//! A packet too long to share a frame: it is collected to be packed, or passes stored as it comes.
//!
//! Not here: the choice (`super::Packer::begin_packet`).

use std::time::Instant;

use wire::limits::FRAME_LEN_MAX;

use crate::budget::Reservation;

/// A packet too long to share a frame.
pub(super) enum Large {
    /// It is collected, to be packed.
    Collected {
        /// With its header, bytes.
        len: usize,
        /// `None` where the peer's own packed body is there already.
        reservation: Option<Reservation>,
        /// Since when it comes, where nothing else had to be written first, and what was missing then, bytes.
        since: Option<Instant>,
        missing_len: usize,
        /// The level that it is to try, whatever has become of the queue when it is here.
        tried_level: Option<u8>,
    },
    /// It passes stored: the policy wants that, or there is no memory for it.
    Stored(Stored),
}

impl Large {
    /// A packet of `len` bytes that passes stored.
    pub(super) fn stored(len: usize) -> Self {
        let first_len = len.min(FRAME_LEN_MAX);
        Self::Stored(Stored { due: [first_len, len - first_len], left: 0 })
    }
}

/// The frames of a packet that passes stored.
pub(super) struct Stored {
    /// Lengths of the frames that were not announced yet.
    pub(super) due: [usize; 2],
    /// Bytes until the announced frame's end.
    pub(super) left: usize,
}
