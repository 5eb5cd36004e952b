//! What can be wrong with a stream or with its ends, by name.
//!
//! Not here: what a user should do on his own command line (crate `cli`).

use std::io;

/// Why a stream was not packed or unpacked to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing came at all: the sender died before its first byte.
    #[error("the input is empty: whoever should have written it wrote nothing")]
    Empty,
    /// The stream begins with zstd, or anything, but not with a start record.
    #[error(
        "the stream has no start record: it was not made by `wirepress pack`, or its beginning is lost (--foreign reads zstd \
         of other programs)"
    )]
    StartMissing,
    /// The start record's version is unknown.
    #[error("the stream's format has version {version}; this wirepress reads version 1: use a newer one")]
    VersionUnknown {
        /// The version that it names.
        version: u8,
    },
    /// The input ended before the end record.
    #[error("the stream is cut off after frame {frames}, {plain_len} bytes: it has no end record")]
    EndMissing {
        /// Whole frames before the cut.
        frames: u64,
        /// What they hold, bytes.
        plain_len: u64,
    },
    /// Where a record should be is something else.
    #[error("the stream is damaged: what follows frame {frames} is no record")]
    RecordDamaged {
        /// Whole frames before it.
        frames: u64,
    },
    /// A frame isn't the next one: some were lost, repeated or moved.
    #[error("the stream is out of order: frame {found} stands where frame {wanted} should be")]
    OutOfOrder {
        /// The number that was due.
        wanted: u64,
        /// The number that is there.
        found: u64,
    },
    /// A record declares more than the start record permits.
    #[error("frame {number} declares {len} bytes, more than its stream's {len_max}")]
    FrameTooLong {
        /// Its number.
        number: u64,
        /// Length that it declares, bytes.
        len: u64,
        /// What is permitted, bytes.
        len_max: u64,
    },
    /// A frame's bytes are not those that were packed.
    #[error("frame {number} was altered: its hash differs")]
    FrameAltered {
        /// Its number.
        number: u64,
    },
    /// A frame's bytes are as packed, and yet not what zstd accepts, or not of the declared length.
    #[error("frame {number} does not decompress to what it declares")]
    FrameCorrupt {
        /// Its number.
        number: u64,
    },
    /// The end record's totals or hash are not those of what came before it.
    #[error("the stream was altered: its end record does not fit what came before")]
    TotalsDiffer,
    /// Bytes follow the end record.
    #[error("bytes follow the stream's end record: two streams in one, or rubbish behind it")]
    TrailingBytes,
    /// More memory is needed than is permitted.
    #[error(
        "the stream needs {} MiB of memory, {} MiB are permitted: use --memory {0}M",
        needed_len.div_ceil(1 << 20), permitted_len >> 20
    )]
    MemoryExceeded {
        /// What it takes, bytes.
        needed_len: u64,
        /// What is permitted, bytes.
        permitted_len: u64,
    },
    /// A foreign stream is no zstd, or was altered.
    #[error("the foreign stream is not valid zstd after {plain_len} bytes: {name}")]
    ForeignCorrupt {
        /// What was good before, bytes.
        plain_len: u64,
        /// zstd's own word for it.
        name: &'static str,
    },
    /// A foreign stream ends inside a frame.
    #[error("the foreign stream is cut off inside a frame after {plain_len} bytes")]
    ForeignCutOff {
        /// What was good before, bytes.
        plain_len: u64,
    },
    /// It is one of ours, and was to be read as foreign.
    #[error(
        "the stream was made by `wirepress pack`: read it without --foreign, which would not notice what is missing"
    )]
    NotForeign,
    /// The compression library refused to work, in practice for want of memory.
    #[error("the zstd library failed: {name}")]
    LibraryFailed {
        /// Its own word for it.
        name: &'static str,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// A thread panicked, which is a bug.
    #[error("a worker panicked: this is a bug of wirepress")]
    Panicked,
    /// The input can't be read.
    #[error("cannot read the input")]
    Read(#[source] io::Error),
    /// The output can't be written.
    #[error("cannot write the output")]
    Write(#[source] io::Error),
    /// A shared key that could be guessed.
    #[error(
        "the shared key has fewer than 32 characters, so it could be guessed: make one with `openssl rand -hex 32`"
    )]
    KeyTooShort,
    /// A certificate, its key or its authority can't be used.
    #[error("the certificates can't be used: {words}")]
    Certificate {
        /// Why.
        words: String,
    },
    /// Nothing can listen there.
    #[error("cannot listen on {address}")]
    Listen {
        /// host:port.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// No way to the other end, for as long as was permitted.
    #[error("the transfer was given up: {words}")]
    ConnectionLost {
        /// What was seen last.
        words: String,
    },
    /// The other end failed.
    #[error("the other end failed: {words}")]
    PeerFailed {
        /// In its own words.
        words: String,
    },
}

impl Fault {
    /// zstd's word for an error code.
    pub(crate) fn library(code: usize) -> Self {
        Self::LibraryFailed { name: zstd_safe::get_error_name(code) }
    }
}
