//! A byte queue whose memory goes back to its worker when it is empty.
//!
//! ```text
//! | consumed | framed ...... | waiting ... | room |
//!               ^ headers    ^ start       ^ bytes.len()
//! ```
//! What goes stored is not copied: it stays where it is until it is written. The first frame's header takes the place of what was
//! consumed before it, so that a reply of one frame is one piece; those of others, which are kept beside, go between.
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
    /// Bytes before `start` that are to be written, with `headers` between them.
    framed: Range<usize>,
    headers: Headers,
}

/// Those that are not written, in order.
#[derive(Default)]
struct Headers {
    some: [Header; HEADERS_MAX],
    count: usize,
}

/// Of a frame.
#[derive(Clone, Copy, Default)]
struct Header {
    /// Before this byte.
    at: usize,
    bytes: [u8; HEADER_LEN],
    written_len: usize,
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

    /// Whether there is room for another frame's header.
    pub(crate) const fn takes_header(&self) -> bool {
        self.headers.count < HEADERS_MAX
    }

    /// Makes a frame, or the next part of one, of the first `len` bytes that wait; says whether it could.
    pub(crate) fn frame(&mut self, header: Option<[u8; HEADER_LEN]>, len: usize) -> bool {
        if self.framed_len() == 0 {
            self.framed = self.start..self.start;
        }
        if self.framed.end != self.start || (header.is_some() && !self.takes_header()) {
            return false;
        }
        let before = self.start.checked_sub(HEADER_LEN).filter(|_| self.framed_len() == 0);
        if let Some(bytes) = header
            && let Some(place) = before.and_then(|before| self.bytes.get_mut(before..self.start))
        {
            place.copy_from_slice(&bytes);
            self.framed.start -= HEADER_LEN;
        } else if let Some(bytes) = header
            && let Some(next) = self.headers.some.get_mut(self.headers.count)
        {
            *next = Header { at: self.start, bytes, written_len: 0 };
            self.headers.count += 1;
        }
        self.start = (self.start + len).min(self.bytes.len());
        self.framed.end = self.start;
        true
    }

    /// Bytes of frames that are to be written.
    pub(crate) fn framed_len(&self) -> usize {
        self.framed.len() + self.headers.left().iter().map(|header| header.left().len()).sum::<usize>()
    }

    /// Those bytes, at most [`PIECES_MAX`] times some.
    pub(crate) fn framed(&self) -> impl Iterator<Item = &[u8]> {
        let headers = self.headers.left();
        let ends =
            headers.iter().map(|header| (header.at, header.left())).chain([(self.framed.end, &[][..])]);
        let mut from = self.framed.start;
        ends.flat_map(move |(at, header)| {
            let before = self.bytes.get(from..at).unwrap_or_default();
            from = at;
            [before, header]
        })
    }

    /// So many of them were; returns what of `len` is more than they are.
    pub(crate) fn written(&mut self, mut len: usize) -> usize {
        let mut take = |most: usize| {
            let taken = len.min(most);
            len -= taken;
            taken
        };
        let mut done = 0;
        for header in self.headers.some.iter_mut().take(self.headers.count) {
            self.framed.start += take(header.at - self.framed.start);
            if self.framed.start < header.at {
                break;
            }
            header.written_len += take(header.left().len());
            done += usize::from(header.left().is_empty());
        }
        self.headers.some.rotate_left(done);
        self.headers.count -= done;
        if self.headers.count == 0 {
            self.framed.start += take(self.framed.len());
        }
        self.reset();
        len
    }

    /// Nothing waits, and nothing is to be written.
    pub(crate) fn is_spent(&self) -> bool {
        self.start == self.bytes.len() && self.framed_len() == 0
    }

    fn reset(&mut self) {
        if self.is_spent() {
            self.bytes.clear();
            self.start = 0;
            self.framed = 0..0;
        }
    }

    /// The vector to append to. Consumed bytes are moved out of the way first when they are in it.
    pub(crate) fn appending(&mut self, room: usize, spare: &SpareBuffers) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = spare.take();
        }
        if self.bytes.is_empty() && self.framed_len() == 0 {
            self.bytes.resize(HEADER_LEN, 0);
            self.start = HEADER_LEN;
        }
        let kept_from = if self.framed_len() == 0 { self.start } else { self.framed.start };
        if kept_from > 0 && self.bytes.capacity() - self.bytes.len() < room {
            self.bytes.drain(..kept_from);
            self.start -= kept_from;
            self.framed =
                self.framed.start.saturating_sub(kept_from)..self.framed.end.saturating_sub(kept_from);
            for header in &mut self.headers.some {
                header.at = header.at.saturating_sub(kept_from);
            }
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
            spare.give(std::mem::take(&mut self.bytes));
            (self.start, self.framed) = (0, 0..0);
        }
    }
}

impl Headers {
    fn left(&self) -> &[Header] {
        self.some.get(..self.count).unwrap_or_default()
    }
}

impl Header {
    fn left(&self) -> &[u8] {
        self.bytes.get(self.written_len..).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
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
/// Frames that begin within what is written at once: with 16 KiB for the shortest of them it is as long as one that is packed, or
/// half of that.
const HEADERS_MAX: usize = 4;
/// Of [`Buffer::framed`].
pub(crate) const PIECES_MAX: usize = 2 * HEADERS_MAX + 2;
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

    fn framed(buffer: &Buffer) -> String {
        assert!(buffer.framed().count() <= PIECES_MAX);
        let all: Vec<u8> = buffer.framed().flatten().copied().collect();
        assert_eq!(all.len(), buffer.framed_len());
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn frames_stay_where_they_are_until_they_are_written_whatever_comes_behind_them() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.appending(6, &spare).extend_from_slice(b"abcdef");
        buffer.consume(1);
        assert!(buffer.frame(Some(*b"header:"), 3));
        assert_eq!((framed(&buffer).as_str(), buffer.waiting()), ("header:bcd", &b"ef"[..]));
        assert_eq!(buffer.written(3), 0);
        // Another one, of which only a part is there, and the rest of that.
        assert!(buffer.frame(Some(*b"HEADER:"), 2));
        buffer.appending(BUFFER_LEN, &spare).extend_from_slice(b"ghi");
        assert!(buffer.frame(None, 1));
        assert_eq!((framed(&buffer).as_str(), buffer.waiting()), ("der:bcdHEADER:efg", &b"hi"[..]));
        buffer.consume(1);
        assert!(!buffer.frame(Some(*b"header:"), 1), "it would not be behind them");
        assert_eq!(buffer.written(9), 0);
        assert_eq!(framed(&buffer), "ADER:efg");
        assert_eq!(buffer.written(8 + 5), 5);
        assert!(buffer.frame(Some(*b"header:"), 1) && buffer.is_empty());
        buffer.release(&spare);
        assert_eq!(framed(&buffer), "header:i");
        assert_eq!(buffer.written(8), 0);
        buffer.release(&spare);
        assert_eq!((buffer.framed_len(), spare.0.borrow().len()), (0, 1));
    }

    #[test]
    fn a_reply_of_one_frame_is_one_piece() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        for reply in [&b"abc"[..], b"de"] {
            buffer.appending(BUFFER_LEN / 2, &spare).extend_from_slice(reply);
            assert!(buffer.frame(Some(*b"header:"), reply.len()));
            let pieces: Vec<&[u8]> = buffer.framed().filter(|piece| !piece.is_empty()).collect();
            assert_eq!(pieces, [[b"header:", reply].concat()]);
            assert_eq!(buffer.written(4), 0);
            assert_eq!(framed(&buffer), format!("er:{}", str::from_utf8(reply).unwrap()));
            assert_eq!(buffer.written(3 + reply.len()), 0);
            assert!(buffer.is_spent());
        }
    }

    #[test]
    fn a_header_may_come_before_any_byte_of_its_frame_and_there_are_so_many() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.append_owned(b"abcdef".to_vec(), &spare);
        for _ in 0..HEADERS_MAX {
            assert!(buffer.takes_header() && buffer.frame(Some(*b"header:"), 1));
        }
        assert!(!buffer.takes_header() && !buffer.frame(Some(*b"header:"), 1));
        assert_eq!(framed(&buffer), "header:aheader:bheader:cheader:d");
        assert_eq!(buffer.written(8 + 7), 0);
        assert!(buffer.frame(Some(*b"HEADER:"), 2));
        assert_eq!(framed(&buffer), "bheader:cheader:dHEADER:ef");
        assert_eq!(buffer.written(26), 0);
        assert!(buffer.frame(Some(*b"header:"), 0));
        assert_eq!(framed(&buffer), "header:");
        assert_eq!(buffer.written(3), 0);
        buffer.appending(3, &spare).extend_from_slice(b"ghi");
        assert!(buffer.frame(None, 2));
        assert_eq!((framed(&buffer).as_str(), buffer.waiting()), ("der:gh", &b"i"[..]));
    }

    #[test]
    fn an_empty_buffer_gives_its_memory_back_and_a_grown_one_frees_it() {
        let spare = SpareBuffers::default();
        let mut buffer = Buffer::default();
        buffer.appending(1, &spare);
        assert!(buffer.is_empty());
        buffer.release(&spare);
        assert!(buffer.is_empty());
        assert_eq!(spare.0.borrow().len(), 1);
        buffer.appending(10 * BUFFER_LEN, &spare);
        buffer.release(&spare);
        assert!(spare.0.borrow().is_empty());
    }
}
