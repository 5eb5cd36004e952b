//! A frame that a helper thread packs.
//!
//! Not here: which frames those are (`super::Packer::emit`), the threads (`crate::codec_threads`).

use std::time::Instant;

use codec::{Algorithm, Contexts};
use tokio::task::JoinHandle;
use wire::limits::FRAME_LEN_MAX;
use wire::{Fault, frame};

use crate::budget::Reservation;
use crate::codec_time::{Begun, Took};

/// A helper thread's frame.
pub(super) struct Job {
    pub(super) work: JoinHandle<Result<Encoded, Fault>>,
    /// When it was asked for: whether there is a thread and a core for it is a part of what it takes.
    pub(super) asked: Instant,
    /// Memory set aside for it.
    pub(super) reservation: Option<Reservation>,
    /// The frame, which waits for those before it to be written.
    pub(super) done: Option<Encoded>,
}

pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) level: u8,
    pub(super) plain_len: usize,
    pub(super) took: Took,
    pub(super) packed: u64,
    pub(super) stored: u64,
}

/// Packs a packet into one frame, or two.
pub(super) fn encode_large(
    contexts: &mut Contexts,
    algorithm: Algorithm,
    level: u8,
    ids: [u8; 2],
    plain: &[u8],
) -> Result<Encoded, Fault> {
    let begun = Begun::now(plain.len());
    let plain_len = plain.len();
    let mut encoded =
        Encoded { bytes: Vec::new(), level, plain_len, took: Took::default(), packed: 0, stored: 0 };
    for (part, id) in plain.chunks(FRAME_LEN_MAX).zip(ids) {
        if frame::encode(contexts, algorithm, level, id, part, &mut encoded.bytes)? {
            encoded.packed += 1;
        } else {
            encoded.stored += 1;
        }
    }
    encoded.took = begun.end();
    Ok(encoded)
}
