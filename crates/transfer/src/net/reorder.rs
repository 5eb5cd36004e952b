//! The receiver's pieces until `unpack` takes them, as an input that can be read.
//!
//! Invariants: bytes come out in the order of the pieces' numbers, each once; after the last piece comes the end; without it
//! an error, never an end.
//!
//! Not here: connections (`receive`).

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Filled by connections, read by `unpack`.
pub(super) struct Reorder {
    state: Mutex<State>,
    news: Condvar,
    delivered: watch::Sender<u64>,
    len_max: usize,
}

#[derive(Default)]
struct State {
    pieces: BTreeMap<u64, Vec<u8>>,
    held_len: usize,
    due: u64,
    last: Option<u64>,
    failed: Option<String>,
}

impl Reorder {
    pub(super) fn new(len_max: usize) -> Self {
        Self { state: Mutex::default(), news: Condvar::new(), delivered: watch::Sender::new(0), len_max }
    }

    /// Takes a piece in; one that came before, or was delivered, is dropped. Says whether it is within the limit.
    pub(super) fn insert(&self, number: u64, bytes: Vec<u8>, is_last: bool) -> bool {
        let mut state = self.lock();
        if is_last {
            state.last = Some(number);
        }
        if number < state.due || state.pieces.contains_key(&number) {
            return true;
        }
        let is_within = number == state.due || state.held_len + held_len(&bytes) <= self.len_max;
        if is_within {
            state.held_len += held_len(&bytes);
            state.pieces.insert(number, bytes);
        }
        drop(state);
        self.news.notify_all();
        is_within
    }

    /// No more will come.
    pub(super) fn fail(&self, words: &str) {
        self.lock().failed.get_or_insert_with(|| words.to_owned());
        self.news.notify_all();
    }

    /// Why no more will come.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failed.clone()
    }

    /// Follows how many pieces were taken.
    pub(super) fn delivered(&self) -> watch::Receiver<u64> {
        self.delivered.subscribe()
    }

    /// Waits for the next piece; `None` after the last.
    fn next(&self) -> io::Result<Option<Vec<u8>>> {
        let mut state = self.lock();
        loop {
            let due = state.due;
            if let Some(bytes) = state.pieces.remove(&due) {
                state.held_len -= held_len(&bytes);
                state.due += 1;
                drop(state);
                self.delivered.send_replace(due + 1);
                return Ok(Some(bytes));
            }
            if state.last.is_some_and(|last| due > last) {
                return Ok(None);
            }
            if let Some(words) = &state.failed {
                return Err(io::Error::other(words.clone()));
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a piece takes at either end, bytes: pieces without any could be many.
pub(super) const fn held_len(bytes: &[u8]) -> usize {
    bytes.len() + PLACE_LEN
}

/// Of a map's entry, about.
const PLACE_LEN: usize = 64;

/// The stream that the pieces make.
pub(super) struct Stream {
    reorder: Arc<Reorder>,
    piece: io::Cursor<Vec<u8>>,
}

impl Stream {
    pub(super) fn new(reorder: Arc<Reorder>) -> Self {
        Self { reorder, piece: io::Cursor::default() }
    }
}

impl Read for Stream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.piece.read(room)?;
            if len > 0 || room.is_empty() {
                return Ok(len);
            }
            match self.reorder.next()? {
                Some(piece) => self.piece = io::Cursor::new(piece),
                None => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_in_order_once_and_up_to_the_last() {
        let reorder = Arc::new(Reorder::new(1000));
        for (number, piece) in [(2, "c"), (0, "a"), (0, "a"), (1, "b"), (2, "c")] {
            assert!(reorder.insert(number, piece.into(), number == 2));
        }
        let mut text = String::new();
        Stream::new(Arc::clone(&reorder)).read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
        assert_eq!(*reorder.delivered().borrow(), 3);
        assert!(reorder.insert(1, "b".into(), false));
    }

    #[test]
    fn a_missing_piece_is_an_error_and_no_end() {
        let reorder = Arc::new(Reorder::new(200));
        assert!(reorder.insert(0, "a".into(), false) && reorder.insert(2, "cc".into(), true));
        assert!(!reorder.insert(3, vec![0; 200], false));
        reorder.fail("the sender is gone");
        let mut text = String::new();
        let error = Stream::new(reorder).read_to_string(&mut text).unwrap_err();
        assert!(error.to_string().contains("the sender is gone"));
    }
}
