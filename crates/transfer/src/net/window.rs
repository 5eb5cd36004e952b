//! The sender's pieces until they are delivered: what is unsent, what is under way, what may be forgotten.
//!
//! Invariants: pieces are sent in the order of their numbers, but those of a broken connection go first; no more than the
//! limit is held, or one piece; and little is unsent, so that the packer feels how fast the line is.
//!
//! Not here: connections (`send`).

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::message::{self, Kind};
use super::reorder::held_len;
use crate::Fault;

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
    /// The receiver has all before this one.
    acknowledged: u64,
    held_len: usize,
    /// Of what is held, what no connection carries.
    unsent_len: usize,
    sent_len: u64,
    has_last: bool,
    ended: Option<Ended>,
}

struct Held {
    /// The piece as a message.
    message: Arc<Vec<u8>>,
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
        while state.ended.is_none()
            && state.held_len > 0
            && (state.held_len + bytes.len() > self.len_max || state.unsent_len > UNSENT_LEN_MAX)
        {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(ended) = &state.ended {
            return Err(ended.to_fault());
        }
        let number = state.next;
        state.next += 1;
        let kind = if is_last { Kind::Last } else { Kind::Piece };
        let message = Arc::new(message::to_bytes(kind, number, bytes));
        state.has_last |= is_last;
        state.held_len += held_len(&message);
        state.unsent_len += message.len();
        state.pieces.insert(number, Held { message, carrier: None });
        drop(state);
        self.news.notify_waiters();
        Ok(())
    }

    /// The message of the first piece that no connection carries; from now on this one does.
    pub(super) fn take(&self, carrier: u64) -> Option<Arc<Vec<u8>>> {
        let mut state = self.lock();
        let held = state.pieces.values_mut().find(|held| held.carrier.is_none())?;
        held.carrier = Some(carrier);
        let message = Arc::clone(&held.message);
        state.unsent_len -= message.len();
        state.sent_len += message.len() as u64;
        drop(state);
        self.room.notify_all();
        Some(message)
    }

    /// All before this number arrived; whether any of them were not known to have.
    pub(super) fn delivered(&self, upto: u64) -> bool {
        let mut state = self.lock();
        let upto = upto.min(state.next);
        state.acknowledged = state.acknowledged.max(upto);
        let rest = state.pieces.split_off(&upto);
        let gone = std::mem::replace(&mut state.pieces, rest);
        for held in gone.values() {
            state.held_len -= held_len(&held.message);
            // Given back by one connection, and yet it had arrived.
            state.unsent_len -= if held.carrier.is_none() { held.message.len() } else { 0 };
        }
        drop(state);
        self.room.notify_all();
        !gone.is_empty()
    }

    /// How many pieces are known to have arrived.
    pub(super) fn acknowledged(&self) -> u64 {
        self.lock().acknowledged
    }

    /// A connection is gone, and what it carried may be.
    pub(super) fn give_back(&self, carrier: u64) {
        let mut state = self.lock();
        let mut len = 0;
        for held in state.pieces.values_mut().filter(|held| held.carrier == Some(carrier)) {
            held.carrier = None;
            len += held.message.len();
        }
        state.unsent_len += len;
        drop(state);
        self.news.notify_waiters();
    }

    /// Ends the transfer; the first word counts.
    pub(super) fn end(&self, ended: Ended) {
        let mut state = self.lock();
        // Or whoever waits for the packer's last word would wait for a source that goes on.
        let is_early = ended == Ended::Done && !state.has_last;
        let ended = if is_early { Ended::Peer("it says done before the end".to_owned()) } else { ended };
        state.ended.get_or_insert(ended);
        drop(state);
        self.room.notify_all();
        self.news.notify_waiters();
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.lock().ended.clone()
    }

    /// Whether the receiver has all there is.
    pub(super) fn is_all_delivered(&self) -> bool {
        let state = self.lock();
        state.has_last && state.pieces.is_empty()
    }

    /// Bytes that connections took so far; and whether more waits for them.
    pub(super) fn progress(&self) -> (u64, bool) {
        let state = self.lock();
        (state.sent_len, state.unsent_len > 0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ended {
    pub(super) fn to_fault(&self) -> Fault {
        match self {
            Self::Done => Fault::PeerFailed { words: "it says done, and this end had not ended".to_owned() },
            Self::Peer(words) => Fault::PeerFailed { words: words.clone() },
            Self::Own(words) => Fault::ConnectionLost { words: words.clone() },
        }
    }
}

/// What waits for a connection, bytes: enough that none is ever without work.
const UNSENT_LEN_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::super::reorder::Reorder;
    use super::*;

    /// The number in a message.
    fn number_of(message: &Arc<Vec<u8>>) -> u64 {
        u64::from_le_bytes(message[1..9].try_into().unwrap())
    }

    #[test]
    fn what_a_broken_connection_carried_goes_out_first_again() {
        let window = Window::new(1000);
        for piece in [b"0", b"1", b"2", b"3"] {
            window.push(piece, false).unwrap();
        }
        let numbers = |carrier| window.take(carrier).as_ref().map(number_of);
        assert_eq!([numbers(1), numbers(2), numbers(1)], [Some(0), Some(1), Some(2)]);
        window.delivered(1);
        window.give_back(1);
        assert_eq!([numbers(2), numbers(2), numbers(2)], [Some(2), Some(3), None]);
    }

    #[test]
    fn a_full_window_holds_the_packer_until_something_was_delivered_or_it_ended() {
        let window = Arc::new(Window::new(25));
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

    #[test]
    fn the_packer_waits_for_connections_before_the_window_is_full() {
        let window = Arc::new(Window::new(100 << 20));
        window.push(&vec![0; UNSENT_LEN_MAX], false).unwrap();
        let pushing = Arc::clone(&window);
        let pusher = std::thread::spawn(move || pushing.push(b"next", false));
        assert_eq!(window.take(1).as_ref().map(number_of), Some(0));
        pusher.join().unwrap().unwrap();
        assert_eq!(window.progress(), (UNSENT_LEN_MAX as u64 + 13, true));
        window.give_back(1);
        assert!(window.delivered(1) && !window.delivered(1));
        assert_eq!(window.lock().unsent_len, 4 + 13);
    }

    /// Or the receiver would take the sender for one that has a larger window.
    #[test]
    fn a_window_full_of_small_pieces_fits_the_receivers() {
        let (window, reorder) = (Arc::new(Window::new(32 << 10)), Reorder::new(40 << 10));
        let pushing = Arc::clone(&window);
        let pusher = std::thread::spawn(move || while pushing.push(&[0; 105], false).is_ok() {});
        let is_full = || {
            let held = window.lock().held_len;
            held + 105 > window.len_max
        };
        while !is_full() {
            std::thread::yield_now();
        }
        // The first one is still on its way.
        assert!((1..window.lock().next).all(|number| reorder.insert(number, vec![0; 105], false)));
        window.end(Ended::Own(String::new()));
        pusher.join().unwrap();
    }

    #[test]
    fn done_before_the_last_piece_is_a_fault_of_the_other_end() {
        let window = Window::new(100);
        window.end(Ended::Done);
        assert!(matches!(window.ended(), Some(Ended::Peer(_))));
        let window = Window::new(100);
        window.push(b"last", true).unwrap();
        window.end(Ended::Done);
        assert_eq!(window.ended(), Some(Ended::Done));
    }
}
