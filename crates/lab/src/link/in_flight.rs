//! The bytes under way on one connection, each chunk with the time at which it is due.
//!
//! ```text
//!  read ─▶ [chunk due 5.2 ms][chunk due 5.7 ms][chunk due 6.2 ms, end of stream] ─▶ write
//!          └──────────────── at most `bound` bytes ─────────────────────────────┘
//! ```
//!
//! Invariants: `bytes` is the sum of what the chunks still hold and never exceeds the bound by more than one
//! chunk; chunks leave in the order they came.
//!
//! Not here: when a chunk is due (`rate`, `delay`).

use std::collections::VecDeque;
use std::time::Instant;

/// What is under way, oldest first.
#[derive(Debug)]
pub(crate) struct InFlight {
    chunks: VecDeque<Chunk>,
    bytes: u64,
    bound: u64,
    /// Emptied buffers, used again: a busy link allocates nothing.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Chunk {
    due_at: Instant,
    bytes: Vec<u8>,
    /// How much of `bytes` has been written.
    written: usize,
}

impl InFlight {
    pub(crate) fn new(bound: u64) -> Self {
        Self { chunks: VecDeque::new(), bytes: 0, bound, spare: Vec::new() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= self.bound
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes under way.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.bytes
    }

    /// Chunks under way.
    pub(crate) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// An empty buffer to read into.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn push(&mut self, bytes: Vec<u8>, due_at: Instant) {
        self.bytes += bytes.len() as u64;
        self.chunks.push_back(Chunk { due_at, bytes, written: 0 });
    }

    /// When the oldest chunk is due.
    pub(crate) fn due_at(&self) -> Option<Instant> {
        self.chunks.front().map(|chunk| chunk.due_at)
    }

    /// What can be written now: the rest of the oldest chunk, if it is due.
    pub(crate) fn due(&self, now: Instant) -> Option<&[u8]> {
        let chunk = self.chunks.front().filter(|chunk| chunk.due_at <= now)?;
        chunk.bytes.get(chunk.written..)
    }

    /// `len` bytes of what [`InFlight::due`] gave have been written.
    pub(crate) fn wrote(&mut self, len: usize) {
        let Some(chunk) = self.chunks.front_mut() else { return };
        chunk.written += len;
        self.bytes -= len as u64;
        if chunk.written >= chunk.bytes.len()
            && let Some(mut done) = self.chunks.pop_front()
        {
            done.bytes.clear();
            self.spare.push(done.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn chunks_leave_in_order_when_due_and_free_their_room() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let mut in_flight = InFlight::new(5);
        in_flight.push(b"abc".to_vec(), ms(1));
        assert!(!in_flight.is_full());
        in_flight.push(b"de".to_vec(), ms(2));
        assert!(in_flight.is_full());
        assert_eq!(in_flight.due(start), None);
        assert_eq!(in_flight.due_at(), Some(ms(1)));
        assert_eq!(in_flight.due(ms(1)), Some(&b"abc"[..]));
        in_flight.wrote(2);
        assert_eq!(in_flight.due(ms(1)), Some(&b"c"[..]));
        assert!(!in_flight.is_full());
        in_flight.wrote(1);
        assert_eq!(in_flight.due(ms(1)), None);
        assert_eq!(in_flight.due(ms(2)), Some(&b"de"[..]));
        in_flight.wrote(2);
        assert!(in_flight.is_empty());
    }
}
