//! What has passed so far, for who looks on while a stream is made.
//!
//! Not here: how it is shown (crate `cli`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that one stream raises and anybody reads.
#[derive(Debug, Default)]
pub struct Meter {
    plain_len: AtomicU64,
    packed_len: AtomicU64,
}

/// A look at a meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Bytes before compression.
    pub plain_len: u64,
    /// Bytes of the stream, records included.
    pub packed_len: u64,
}

impl Meter {
    /// What has passed.
    pub fn read(&self) -> Reading {
        Reading {
            plain_len: self.plain_len.load(Ordering::Relaxed),
            packed_len: self.packed_len.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn add(&self, plain_len: usize, packed_len: usize) {
        self.plain_len.fetch_add(plain_len as u64, Ordering::Relaxed);
        self.packed_len.fetch_add(packed_len as u64, Ordering::Relaxed);
    }
}
