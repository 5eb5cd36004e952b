//! A byte queue whose memory goes back to its worker when it is empty.
//!
//! ```text
//! | consumed | waiting ... | room |
//!            ^ start       ^ bytes.len()
//! ```
//! Invariants: an idle session holds no buffer; a worker keeps at most a bounded number of them.
//! Not here: the global limit on buffered bytes (`budget`).

use std::cell::RefCell;

/// A queue of bytes.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

/// Buffers of ordinary size that no session needs right now.
#[derive(Default)]
pub(crate) struct SpareBuffers(RefCell<Vec<Vec<u8>>>);

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    pub(crate) fn waiting_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..).unwrap_or_default()
    }

    pub(crate) fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.bytes.len());
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
    }

    /// The vector to append to. Consumed bytes are moved out of the way first when they are in it.
    pub(crate) fn appending(&mut self, room: usize, spare: &SpareBuffers) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = spare.take();
        }
        if self.start > 0 && self.bytes.capacity() - self.bytes.len() < room {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.reserve(room);
        &mut self.bytes
    }

    /// Appends bytes that are owned already: without a copy when nothing waits.
    pub(crate) fn append_owned(&mut self, bytes: Vec<u8>, spare: &SpareBuffers) {
        if self.is_empty() {
            self.release(spare);
            *self = Self { bytes, start: 0 };
        } else {
            self.appending(bytes.len(), spare).extend_from_slice(&bytes);
        }
    }

    /// Puts `bytes` in the place of a part of what waits.
    pub(crate) fn replace(&mut self, part: std::ops::Range<usize>, bytes: &[u8]) {
        let (from, to) = (self.start + part.start, self.start + part.end);
        let end = self.bytes.len();
        self.bytes.splice(from.min(end)..to.min(end), bytes.iter().copied());
        self.consume(0);
    }

    /// Gives the memory back when nothing waits.
    pub(crate) fn release(&mut self, spare: &SpareBuffers) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            self.start = 0;
            spare.give(std::mem::take(&mut self.bytes));
        }
    }

    /// Takes the waiting bytes out.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.bytes.drain(..self.start);
        self.start = 0;
        std::mem::take(&mut self.bytes)
    }
}

impl SpareBuffers {
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
    }

    fn give(&self, mut bytes: Vec<u8>) {
        let mut spare = self.0.borrow_mut();
        // Grown ones are freed: one large row shall not pin its memory.
        if spare.len() < SPARE_COUNT_MAX && bytes.capacity() <= 2 * BUFFER_LEN {
            bytes.clear();
            spare.push(bytes);
        }
    }
}

/// One read of a socket fills at most this: large enough that system calls don't dominate a scan, small enough
/// to stay in a core's cache.
pub(crate) const BUFFER_LEN: usize = 128 << 10;
/// Per worker; a few sessions are active between two polls.
const SPARE_COUNT_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_waits_until_consumed() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.appending(3, &spare).extend_from_slice(b"abc");
        buffer.consume(1);
        buffer.appending(BUFFER_LEN, &spare).extend_from_slice(b"de");
        assert_eq!(buffer.waiting(), b"bcde");
        buffer.consume(4);
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_part_of_what_waits_is_replaced() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.appending(6, &spare).extend_from_slice(b"abcdef");
        buffer.consume(1);
        buffer.replace(1..3, b"XYZ");
        assert_eq!(buffer.waiting(), b"bXYZef");
        buffer.replace(0..6, b"");
        assert!(buffer.is_empty());
    }

    #[test]
    fn an_empty_buffer_gives_its_memory_back_and_a_grown_one_frees_it() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.appending(1, &spare);
        buffer.release(&spare);
        assert_eq!(spare.0.borrow().len(), 1);
        buffer.appending(10 * BUFFER_LEN, &spare);
        buffer.release(&spare);
        assert!(spare.0.borrow().is_empty());
    }
}
