//! Replies that go stored as those before them did, without anything being looked up for them.
//!
//! ```text
//!  chosen │ chosen │ stored, up to 14 replies and 30 ms │ chosen │ chosen │ stored …
//!         └ cycle ─┘     they count, their cycles don't           └ cycle ─┘
//! ```
//! What is known of a connection lies in some dozen lines of memory. Where many connections share a core others have driven them out of
//! its caches by the next reply, and to bring them back for each costs transactions, though the answer is the same for
//! seconds.
//!
//! Invariants: whatever isn't such a reply, and any change of what is known of the link's replies, ends the rest at once; all
//! that went out in it is accounted for before anything else is chosen.
//!
//! Not here: when replies go stored (`replies`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Choice, Last, Next, Pace, Reason, number};

/// Small, since it is all that is looked at meanwhile.
#[derive(Debug)]
pub struct Rest {
    choice: Choice,
    level: u8,
    frame_len: usize,
    /// More replies that it covers.
    left: u8,
    /// The reply that was covered last was not handed over yet.
    is_made: bool,
    /// Plain lengths of replies like those before.
    lens: (f64, f64),
    /// On the clock of choices.
    until: Duration,
    /// How often it had changed what is known of the link's replies, and how often it has.
    known: u32,
    changes: Changes,
    covered: Covered,
    s_per_byte: f64,
}

/// What went out in it.
#[derive(Debug, Clone, Copy)]
struct Covered {
    replies: u32,
    len: u64,
    last_len: u64,
    at: Duration,
    busy_until: Duration,
}

/// How often what is known of a link's replies has changed.
#[derive(Debug, Default, Clone)]
pub(super) struct Changes(Arc<AtomicU32>);

impl Changes {
    /// One more.
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn counted(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// For which replies the last choice holds besides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Holds {
    /// Plain lengths, the second excluded.
    pub(super) lens: (f64, f64),
    /// None: as long as anybody likes.
    pub(super) until: Option<Duration>,
}

impl Rest {
    /// The choice about a reply of `plain_len` bytes, if it is one like those before.
    pub fn covers(&mut self, plain_len: usize, next: Next, now: impl FnOnce() -> Duration) -> Option<Choice> {
        let is_such = next == Next::Unknown && (self.lens.0..self.lens.1).contains(&number(plain_len));
        if !is_such || self.left == 0 || self.is_made || self.changes.counted() != self.known {
            return None;
        }
        let now = now();
        if now >= self.until || now < self.covered.busy_until {
            return None;
        }
        self.left -= 1;
        self.is_made = true;
        self.covered.at = now;
        Some(self.choice)
    }

    /// Whether the link may still have something to do with the reply that went out last.
    pub fn leaves_a_queue(&self, now: impl FnOnce() -> Duration) -> bool {
        self.covered.busy_until > self.covered.at && now() < self.covered.busy_until
    }

    /// It is handed over as `len` bytes. False if it is another.
    pub fn sent(&mut self, len: usize) -> bool {
        if !std::mem::take(&mut self.is_made) {
            return false;
        }
        let covered = &mut self.covered;
        covered.replies += 1;
        covered.len += len as u64;
        covered.last_len = len as u64;
        covered.busy_until = covered.at + Duration::from_secs_f64(len as f64 * self.s_per_byte);
        true
    }

    /// The level of what is packed next.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Longest frame of several packets, bytes.
    #[must_use]
    pub const fn frame_len(&self) -> usize {
        self.frame_len
    }

    /// Replies that went out in it, and what was chosen about them.
    #[must_use]
    pub const fn replies(&self) -> (u32, Reason) {
        (self.covered.replies, self.choice.reason)
    }
}

impl Pace {
    /// Call it when the frame was [sent](Self::sent) that `choice` was about: whether that holds for the next ones, too.
    #[must_use]
    pub fn rest(&self, choice: Choice, replies: &super::Replies) -> Option<Rest> {
        let is_such = self.is_alone && !self.in_pieces && !self.was_large && choice.level.is_none();
        if !is_such || !matches!(choice.reason, Reason::AnswerIsNotSooner | Reason::DoesNotShrink) {
            return None;
        }
        let holds = replies.holds(&self.turn?)?;
        if holds.until.is_some() && choice.reason == Reason::DoesNotShrink {
            return None;
        }
        let covered = Covered { replies: 0, len: 0, last_len: 0, at: self.now, busy_until: self.busy_until };
        Some(Rest {
            choice,
            level: self.level(),
            frame_len: self.room().frame_len,
            left: if holds.until.is_some() { REPLIES } else { u8::MAX },
            is_made: false,
            lens: holds.lens,
            until: holds.until.map_or(Duration::MAX, |until| until.min(self.now + TIME)),
            known: replies.changes().counted(),
            changes: replies.changes().clone(),
            covered,
            s_per_byte: self.drain.bytes_per_s().map_or(0.0, f64::recip),
        })
    }

    /// Ends a rest: call it before anything else is told or asked.
    pub fn rested(&mut self, rest: &Rest) {
        let Covered { replies, len, last_len, at, busy_until } = rest.covered;
        if replies == 0 {
            return;
        }
        self.now = at;
        self.busy_until = busy_until;
        self.sent_len += len;
        self.since_look_len += len;
        self.last = Last { is_packed: false, len: last_len };
        let stored_len = usize::try_from(len).unwrap_or(usize::MAX);
        self.reader.sent(stored_len, stored_len);
        self.drain.sent(len, at);
        if let Some(turn) = &mut self.turn {
            turn.rested += replies;
        }
    }
}

/// Two of sixteen are chosen about: the least that shows a cycle, and so few that they hardly cost anything.
const REPLIES: u8 = 14;
/// Less than what counts as a pause.
const TIME: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use super::super::{Look, PackedFrame, Replies};
    use super::*;
    use crate::Algorithm;

    const US: Duration = Duration::from_micros(1);
    const LEN: usize = 4000;

    #[test]
    fn small_replies_without_history_are_chosen_about_once() {
        let (mut pace, mut replies) = (Pace::new(Algorithm::Zstd, 3), Replies::default());
        let choice = pace.choose(250, Next::Unknown, 100 * US, &mut replies);
        pace.sent(250, 257, 101 * US, &mut replies);
        let mut rest = pace.rest(choice, &replies).expect("they are never packed");
        assert_eq!(rest.covers(240, Next::Unknown, || 200 * US), Some(choice));
        assert_eq!(rest.covers(240, Next::Unknown, || 200 * US), None, "the one before was not handed over");
        assert!(rest.sent(247));
        assert!(!rest.sent(11), "nobody has chosen about that");
        assert_eq!(rest.covers(240, Next::Follows, || 300 * US), None);
        assert_eq!(rest.covers(LEN, Next::Unknown, || 300 * US), None);
        pace.rested(&rest);
        assert_eq!((pace.sent_len, pace.now), (257 + 247, 200 * US));
    }

    #[test]
    fn a_known_link_that_is_busy_with_a_reply_ends_the_rest() {
        let (mut pace, mut replies) = (Pace::new(Algorithm::Zstd, 3), Replies::default());
        pace.assume_link(1e6);
        let choice = pace.choose(250, Next::Unknown, 1000 * US, &mut replies);
        pace.sent(250, 257, 1000 * US, &mut replies);
        let mut rest = pace.rest(choice, &replies).expect("nothing follows");
        assert!(rest.leaves_a_queue(|| 1200 * US) && !rest.leaves_a_queue(|| 1300 * US));
        assert_eq!(rest.covers(250, Next::Unknown, || 1200 * US), None);
        assert_eq!(rest.covers(250, Next::Unknown, || 1300 * US), Some(choice));
        assert!(rest.sent(257));
        pace.rested(&rest);
        assert_eq!(pace.busy_until, 1557 * US);
    }

    /// A connection whose replies were found to be no sooner packed.
    struct Settled {
        pace: Pace,
        replies: Replies,
        now: Duration,
        rest: Option<Rest>,
    }

    impl Settled {
        fn new() -> Self {
            let mut pace = Pace::new(Algorithm::Zstd, 3);
            pace.look(Look { round_trip: 10 * US, ..Look::NOTHING });
            let mut it = Self { pace, replies: Replies::default(), now: Duration::ZERO, rest: None };
            // Packed they take three times as long.
            for _ in 0..20_000 {
                it.reply();
                if it.rest.is_some() {
                    return it;
                }
            }
            panic!("no rest after {:?}", it.now);
        }

        /// Chosen about.
        fn reply(&mut self) {
            let choice = self.pace.choose(LEN, Next::Unknown, self.now, &mut self.replies);
            if let Some(level) = choice.level {
                self.now += 200 * US;
                self.pace.packed(PackedFrame::alone(level, LEN, LEN / 2), 200 * US);
            }
            let len = if choice.level.is_some() { LEN / 2 } else { LEN };
            self.pace.sent(LEN, len, self.now, &mut self.replies);
            self.rest = self.pace.rest(choice, &self.replies);
            self.now += 100 * US;
        }

        /// Through a rest to its end. Returns the replies that it covered.
        fn rest(&mut self) -> u32 {
            let mut rest = self.rest.take().expect("it begins");
            while rest.covers(LEN, Next::Unknown, || self.now).is_some() {
                assert!(rest.sent(LEN + 7));
                self.now += 100 * US;
            }
            self.pace.rested(&rest);
            rest.replies().0
        }
    }

    #[test]
    fn two_of_sixteen_replies_are_chosen_about_while_what_was_found_holds() {
        let mut settled = Settled::new();
        for _ in 0..50 {
            assert_eq!(settled.rest(), u32::from(REPLIES));
            settled.reply();
            assert!(settled.rest.is_none(), "no cycle is known of it");
            settled.reply();
        }
        // All of them count: nothing else is seen than was found.
        assert!(settled.rest.is_some());
    }

    #[test]
    fn a_change_of_what_is_known_ends_the_rest_of_every_connection() {
        let mut settled = Settled::new();
        let mut rest = settled.rest.take().expect("it begins");
        assert!(rest.covers(LEN, Next::Unknown, || settled.now).is_some() && rest.sent(LEN + 7));
        settled.replies.changes().count();
        assert_eq!(rest.covers(LEN, Next::Unknown, || settled.now), None);
    }

    #[test]
    fn a_rest_is_no_longer_than_what_was_found_is_believed() {
        let mut settled = Settled::new();
        let mut rest = settled.rest.take().expect("it begins");
        assert_eq!(rest.covers(LEN, Next::Unknown, || settled.now + TIME), None);
    }
}
