//! What is kept of the sessions that passed by: exchanges, frames of their replies, and counts of what could not be used.
//!
//! ```text
//!  session ─▶ exchange            ─▶ reservoir of 10,000
//!          └▶ frame of a reply    ─▶ reservoir of 128
//!          └▶ what cannot be used ─▶ Counts
//! ```
//! Invariants: memory is bounded, however many sessions there are; nothing is written anywhere; a statement's text is
//! kept only where statements are wanted, and at most [`QUERIES_KEPT`] of them.
//!
//! Not here: how a session's bytes are understood (`session`).

use codec::Algorithm;
use wire::{Capabilities, frame};

use crate::advise::reservoir::Reservoir;
use crate::advise::samples::FRAMES_KEPT;

/// An exchange as it passed by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Bytes of the command's packets, headers included.
    pub(crate) request_bytes: f64,
    /// Bytes of the reply's packets, headers included.
    pub(crate) reply_bytes: f64,
    /// Packets of the reply.
    pub(crate) reply_packets: u64,
    /// From the command's last byte to the reply's first.
    pub(crate) first_s: f64,
    /// From the command's last byte to the reply's last.
    pub(crate) time_s: f64,
}

/// What is kept.
pub(crate) struct Gathered {
    /// Exchanges, all with the same probability.
    pub(crate) exchanges: Reservoir<Seen>,
    /// Frames of replies as a proxy makes them, all with the same probability.
    pub(crate) frames: Reservoir<Vec<u8>>,
    /// What was seen and what could not be used.
    pub(crate) counts: Counts,
    /// Of the last greeting.
    pub(crate) server_capabilities: Option<Capabilities>,
    /// As the last greeting told.
    pub(crate) is_mariadb: Option<bool>,
    /// No exchange shall be begun.
    pub(crate) is_pausing: bool,
    /// Texts of statements in their order, if they are wanted.
    pub(crate) queries: Option<Vec<String>>,
}

/// Sessions, and exchanges that could not be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// All that were seen.
    pub(crate) sessions: u64,
    /// At least one exchange was.
    pub(crate) used: u64,
    /// They said good-bye.
    pub(crate) quits: u64,
    /// TLS was asked for.
    pub(crate) tls: u64,
    /// Compression was agreed on.
    pub(crate) zlib: Packed,
    /// The same.
    pub(crate) zstd: Packed,
    /// They stream a binary log, or a clone.
    pub(crate) streams: u64,
    /// The server refused the client.
    pub(crate) refused: u64,
    /// Their beginning is something else than MySQL's.
    pub(crate) foreign: u64,
    /// Their beginning was not seen, and no command was recognised.
    pub(crate) unrecognised: u64,
    /// Exchanges in which the client had more to say than its command: uploads, COM_CHANGE_USER.
    pub(crate) dialogues: u64,
    /// Commands that were sent before the reply to the one before had come.
    pub(crate) pipelined: u64,
    /// Times that the thread of a session was lost within an exchange.
    pub(crate) lost: u64,
}

/// Sessions that are compressed already.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Packed {
    /// How many.
    pub(crate) sessions: u64,
    /// What their frames to clients hold.
    pub(crate) plain_bytes: u64,
    /// And take, headers included.
    pub(crate) packed_bytes: u64,
}

impl Packed {
    /// A frame's header.
    pub(crate) fn frame(&mut self, header: frame::Header) {
        let plain_len = if header.is_stored() { header.packed_len } else { header.plain_len };
        self.plain_bytes += plain_len as u64;
        self.packed_bytes += (header.packed_len + frame::HEADER_LEN) as u64;
    }
}

impl Counts {
    /// Of sessions with that algorithm; none for no compression.
    pub(crate) const fn packed(&mut self, algorithm: Algorithm) -> Option<&mut Packed> {
        match algorithm {
            Algorithm::Uncompressed => None,
            Algorithm::Zlib => Some(&mut self.zlib),
            Algorithm::Zstd => Some(&mut self.zstd),
        }
    }
}

impl Gathered {
    /// Nothing yet.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            exchanges: Reservoir::new(EXCHANGES_KEPT, seed),
            frames: Reservoir::new(FRAMES_KEPT, seed),
            counts: Counts::default(),
            server_capabilities: None,
            is_mariadb: None,
            is_pausing: false,
            queries: None,
        }
    }

    /// Nothing yet; statements are kept, too.
    pub(crate) fn with_queries(seed: u64) -> Self {
        Self { queries: Some(Vec::new()), ..Self::new(seed) }
    }

    /// Whether a further statement is wanted.
    pub(crate) fn wants_query(&self) -> bool {
        self.queries.as_ref().is_some_and(|queries| queries.len() < QUERIES_KEPT)
    }

    /// A statement's text.
    pub(crate) fn query(&mut self, sql: &[u8]) {
        if let Some(queries) = &mut self.queries {
            queries.push(String::from_utf8_lossy(sql).into_owned());
        }
    }

    /// Bytes of the frames that are kept.
    pub(crate) fn sampled_bytes(&self) -> usize {
        self.frames.kept().iter().map(Vec::len).sum()
    }
}

/// Enough for a mean within a percent where times are ordinary, and half a megabyte.
const EXCHANGES_KEPT: usize = 10_000;
/// More than sysbench's scripts need to repeat themselves.
const QUERIES_KEPT: usize = 2_000;
