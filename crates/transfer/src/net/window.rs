//! The sender's pieces until they are delivered: what is unsent, what is under way, what may be forgotten.
//!
//! Invariants: pieces are sent in the order of their numbers, but those of a broken connection go first; no more than the
//! limit is held, or one piece.
//!
//! Not here: connections (`send`).

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::Fault;

/// A piece as it goes out.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) number: u64,
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) is_last: bool,
}

/// How a transfer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// The receiver has written all of it.
    Done,
    /// The receiver failed, and says why.
    Peer(String),
    /// This end failed.
    Own(String),
}

/// What the packer fills and connections empty.
pub(super) struct Window {
    state: Mutex<State>,
    /// For the packer, which is a thread.
    room: Condvar,
    /// For connections.
    pub(super) news: Notify,
    len_max: usize,
}

#[derive(Default)]
struct State {
    pieces: BTreeMap<u64, Held>,
    next: u64,
    held_len: usize,
    sent_len: u64,
    ended: Option<Ended>,
}

struct Held {
    bytes: Arc<Vec<u8>>,
    is_last: bool,
    /// The connection that carries it.
    carrier: Option<u64>,
}

impl Window {
    pub(super) fn new(len_max: usize) -> Self {
        Self { state: Mutex::default(), room: Condvar::new(), news: Notify::new(), len_max }
    }

    /// Takes a piece in, as soon as there is room.
    ///
    /// Errors: the transfer has ended meanwhile.
    pub(super) fn push(&self, bytes: &[u8], is_last: bool) -> Result<(), Fault> {
        let mut state = self.lock();
        while state.ended.is_none() && state.held_len > 0 && state.held_len + bytes.len() > self.len_max {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(ended) = &state.ended {
            return Err(ended.to_fault());
        }
        let number = state.next;
        state.next += 1;
        state.held_len += bytes.len();
        state.pieces.insert(number, Held { bytes: Arc::new(bytes.to_vec()), is_last, carrier: None });
        drop(state);
        self.news.notify_waiters();
        Ok(())
    }

    /// The first piece that no connection carries; from now on this one does.
    pub(super) fn take(&self, carrier: u64) -> Option<Outgoing> {
        let mut state = self.lock();
        let (&number, held) = state.pieces.iter_mut().find(|(_, held)| held.carrier.is_none())?;
        held.carrier = Some(carrier);
        let piece = Outgoing { number, bytes: Arc::clone(&held.bytes), is_last: held.is_last };
        state.sent_len += piece.bytes.len() as u64;
        Some(piece)
    }

    /// All before this number arrived.
    pub(super) fn delivered(&self, upto: u64) {
        let mut state = self.lock();
        let upto = upto.min(state.next);
        let rest = state.pieces.split_off(&upto);
        let gone = std::mem::replace(&mut state.pieces, rest);
        state.held_len -= gone.values().map(|held| held.bytes.len()).sum::<usize>();
        drop(state);
        self.room.notify_all();
    }

    /// A connection is gone, and what it carried may be.
    pub(super) fn give_back(&self, carrier: u64) {
        let mut state = self.lock();
        for held in state.pieces.values_mut().filter(|held| held.carrier == Some(carrier)) {
            held.carrier = None;
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Ends the transfer; the first word counts.
    pub(super) fn end(&self, ended: Ended) {
        self.lock().ended.get_or_insert(ended);
        self.room.notify_all();
        self.news.notify_waiters();
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.lock().ended.clone()
    }

    /// Bytes that connections took so far; and whether the packer waits for them.
    pub(super) fn progress(&self) -> (u64, bool) {
        let state = self.lock();
        (state.sent_len, state.held_len * 2 > self.len_max)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ended {
    pub(super) fn to_fault(&self) -> Fault {
        match self {
            Self::Done => Fault::PeerFailed { words: "it says done before the end".to_owned() },
            Self::Peer(words) => Fault::PeerFailed { words: words.clone() },
            Self::Own(words) => Fault::ConnectionLost { words: words.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_broken_connection_carried_goes_out_first_again() {
        let window = Window::new(1000);
        for piece in [b"0", b"1", b"2", b"3"] {
            window.push(piece, false).unwrap();
        }
        let numbers = |carrier| window.take(carrier).map(|piece| piece.number);
        assert_eq!([numbers(1), numbers(2), numbers(1)], [Some(0), Some(1), Some(2)]);
        window.delivered(1);
        window.give_back(1);
        assert_eq!([numbers(2), numbers(2), numbers(2)], [Some(2), Some(3), None]);
    }

    #[test]
    fn a_full_window_holds_the_packer_until_something_was_delivered_or_it_ended() {
        let window = Arc::new(Window::new(10));
        window.push(&[0; 8], false).unwrap();
        let pushing = Arc::clone(&window);
        let pusher = std::thread::spawn(move || (pushing.push(&[1; 8], false), pushing.push(&[2; 8], false)));
        while window.lock().next < 1 {
            std::thread::yield_now();
        }
        window.delivered(1);
        while window.lock().next < 2 {
            std::thread::yield_now();
        }
        window.end(Ended::Peer("no space".to_owned()));
        let (first, second) = pusher.join().unwrap();
        assert!(first.is_ok());
        assert!(matches!(second, Err(Fault::PeerFailed { words }) if words == "no space"));
    }
}
