//! A byte queue whose memory goes back to its worker when it is empty.
//!
//! ```text
//! | consumed | frame | waiting ... | room |
//!                    ^ start       ^ bytes.len()
//! ```
//! What goes stored is not copied: its frame's header comes before it, where there is always room for one, and both stay
//! until they are written.
//!
//! Invariants: an idle session holds no buffer; a worker keeps at most a bounded number of them.
//! Not here: the global limit on buffered bytes (`budget`).

use std::cell::RefCell;
use std::ops::Range;

use wire::frame::HEADER_LEN;

/// A queue of bytes.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    /// Bytes before `start` that are to be written.
    frame: Range<usize>,
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
        self.reset();
    }

    /// Makes a frame of the first `len` bytes, or a part of one, behind `header`; says whether it could. What is still to be
    /// written makes room for the header, if it ends there and is short.
    pub(crate) fn frame(&mut self, header: &[u8], len: usize) -> bool {
        let before = if self.frame.is_empty() { self.start..self.start } else { self.frame.clone() };
        let Some(from) = before.start.checked_sub(header.len()) else { return false };
        let Some(room) = self.bytes.get_mut(from..self.start) else { return false };
        if before.end != self.start || before.len() > MOVED_LEN_MAX {
            return false;
        }
        room.rotate_left(header.len());
        room.iter_mut().skip(before.len()).zip(header).for_each(|(room, byte)| *room = *byte);
        self.start = (self.start + len).min(self.bytes.len());
        self.frame = from..self.start;
        true
    }

    /// What is to be written of a frame.
    pub(crate) fn framed(&self) -> &[u8] {
        self.bytes.get(self.frame.clone()).unwrap_or_default()
    }

    /// The first `len` bytes of that were written.
    pub(crate) fn written(&mut self, len: usize) {
        self.frame.start = (self.frame.start + len).min(self.frame.end);
        self.reset();
    }

    /// Nothing is left of it.
    const fn is_spent(&self) -> bool {
        self.start == self.bytes.len() && self.frame.start == self.frame.end
    }

    fn reset(&mut self) {
        if self.is_spent() {
            self.bytes.truncate(HEADER_LEN);
            self.start = self.bytes.len();
        }
    }

    /// The vector to append to. Consumed bytes are moved out of the way first when they are in it.
    pub(crate) fn appending(&mut self, room: usize, spare: &SpareBuffers) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = spare.take();
            self.bytes.resize(HEADER_LEN, 0);
            self.start = HEADER_LEN;
        }
        let kept_from = if self.frame.is_empty() { self.start } else { self.frame.start };
        if kept_from > HEADER_LEN && self.bytes.capacity() - self.bytes.len() < room {
            self.bytes.drain(HEADER_LEN..kept_from);
            let moved_len = kept_from - HEADER_LEN;
            self.start -= moved_len;
            self.frame = self.frame.start.saturating_sub(moved_len)..self.frame.end.saturating_sub(moved_len);
        }
        self.bytes.reserve(room);
        &mut self.bytes
    }

    /// Appends bytes that are owned already: without a copy when nothing waits.
    pub(crate) fn append_owned(&mut self, bytes: Vec<u8>, spare: &SpareBuffers) {
        if self.is_spent() {
            self.release(spare);
            *self = bytes.into();
        } else {
            self.appending(bytes.len(), spare).extend_from_slice(&bytes);
        }
    }

    /// Puts `bytes` in the place of a part of what waits.
    pub(crate) fn replace(&mut self, part: Range<usize>, bytes: &[u8]) {
        let (from, to) = (self.start + part.start, self.start + part.end);
        let end = self.bytes.len();
        self.bytes.splice(from.min(end)..to.min(end), bytes.iter().copied());
        self.consume(0);
    }

    /// Gives the memory back when nothing waits.
    pub(crate) fn release(&mut self, spare: &SpareBuffers) {
        if self.is_spent() && self.bytes.capacity() > 0 {
            self.start = 0;
            spare.give(std::mem::take(&mut self.bytes));
        }
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }
}

impl SpareBuffers {
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(CAPACITY))
    }

    fn give(&self, mut bytes: Vec<u8>) {
        let mut spare = self.0.borrow_mut();
        // Grown ones are freed: one large row shall not pin its memory.
        if spare.len() < SPARE_COUNT_MAX && bytes.capacity() <= 2 * CAPACITY {
            bytes.clear();
            spare.push(bytes);
        }
    }
}

/// One read of a socket fills at most this: large enough that system calls don't dominate a scan, small enough
/// to stay in a core's cache.
pub(crate) const BUFFER_LEN: usize = 128 << 10;
/// What is longer is written by itself sooner than it is moved, bytes.
pub(crate) const MOVED_LEN_MAX: usize = 4096;
const CAPACITY: usize = HEADER_LEN + BUFFER_LEN;
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
    fn a_frame_stays_until_it_is_written_whatever_comes_behind_it() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.appending(6, &spare).extend_from_slice(b"abcdef");
        assert!(buffer.frame(b"header:", 3));
        assert_eq!((buffer.framed(), buffer.waiting()), (&b"header:abc"[..], &b"def"[..]));
        assert!(!buffer.frame(b"<>", 1), "there is no room before it");
        buffer.written(8);
        assert!(buffer.frame(b"<>", 1));
        assert_eq!((buffer.framed(), buffer.waiting()), (&b"bc<>d"[..], &b"ef"[..]));
        buffer.written(3);
        buffer.appending(BUFFER_LEN, &spare).extend_from_slice(b"ghi");
        buffer.consume(1);
        assert!(!buffer.frame(b"<>", 1), "it does not end there");
        buffer.consume(4);
        buffer.release(&spare);
        assert_eq!((buffer.framed(), buffer.len()), (&b">d"[..], 0));
        buffer.written(2);
        buffer.appending(4, &spare).extend_from_slice(b"more");
        assert!(buffer.frame(b"header:", 4) && buffer.is_empty());
        assert_eq!(buffer.framed(), b"header:more");
        // Memory from elsewhere has no room before it.
        let mut buffer = Buffer::default();
        buffer.append_owned(b"owned".to_vec(), &spare);
        assert!(!buffer.frame(b"header:", 5));
        assert_eq!((buffer.framed(), buffer.waiting()), (&b""[..], &b"owned"[..]));
        buffer.consume(1);
        assert!(buffer.frame(b":", 4));
        assert_eq!(buffer.framed(), b":wned");
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
