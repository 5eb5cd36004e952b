//! The pages that are open, each with its queue.
//!
//! Invariants: there are at most [`PAGES_MAX`]; one whose queue is full is dropped, which ends its stream: it comes
//! again and begins with the history.
//! Not here: what they are told (`feed`).

use hyper::body::Bytes;
use tokio::sync::mpsc::{Receiver, Sender, channel};

#[derive(Default)]
pub(super) struct Audience(Vec<Sender<Bytes>>);

impl Audience {
    /// One more, unless there are too many.
    pub(super) fn join(&mut self, hello: Bytes) -> Option<Receiver<Bytes>> {
        if self.len() >= PAGES_MAX {
            return None;
        }
        let (sender, receiver) = channel(QUEUE_MAX);
        sender.try_send(hello).ok()?;
        self.0.push(sender);
        Some(receiver)
    }

    /// Tells all of them.
    #[expect(clippy::needless_pass_by_value, reason = "a counted reference, which each of them gets")]
    pub(super) fn tell(&mut self, event: Bytes) {
        self.0.retain(|page| page.try_send(event.clone()).is_ok());
    }

    /// Those that have not left.
    pub(super) fn len(&mut self) -> usize {
        self.0.retain(|page| !page.is_closed());
        self.0.len()
    }
}

/// The pages of a team. Each takes one of the port's 64 places.
const PAGES_MAX: usize = 16;
/// Seconds that a page may be behind, besides what its connection holds.
const QUEUE_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_read_is_dropped_and_the_others_hear_all() {
        let mut audience = Audience::default();
        let (mut reader, mut sleeper) =
            (audience.join("0".into()).unwrap(), audience.join("0".into()).unwrap());
        for count in 0..20 {
            assert_eq!(reader.try_recv().unwrap(), count.to_string());
            audience.tell((count + 1).to_string().into());
        }
        assert_eq!(audience.len(), 1);
        let heard = std::iter::from_fn(|| sleeper.blocking_recv()).count();
        assert_eq!(heard, QUEUE_MAX);
    }

    #[test]
    fn there_are_only_so_many_and_whoever_leaves_makes_room() {
        let mut audience = Audience::default();
        let mut pages: Vec<_> = (0..PAGES_MAX).map(|_| audience.join("".into()).unwrap()).collect();
        assert!(audience.join("".into()).is_none());
        pages.pop();
        assert!(audience.join("".into()).is_some());
    }
}
