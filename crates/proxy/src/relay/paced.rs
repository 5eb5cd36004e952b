//! The controller of one direction's frames, with the socket that it watches.
//!
//! ```text
//! look at the socket -> choose -> pack or not -> look again -> hand over
//! ```
//! Not here: the choice (`codec::pace`), frames (`packer`), what a look costs the kernel (`leg::look`).

use std::sync::Arc;
use std::time::Duration;

use codec::Algorithm;
use codec::pace::{Choice, Pace, Reason};
use wire::Side;

use crate::leg::{Leg, Looker};
use crate::links::{Link, Links};
use crate::meter::Decision;

pub(super) struct Paced {
    pace: Pace,
    looker: Looker,
    algorithm: Algorithm,
    side: Side,
    link: Arc<Link>,
    /// Plain length and length of what waits to be handed over.
    made: Option<(usize, usize)>,
    /// Frames until the socket is looked at although no choice depends on it.
    until_look: u8,
    reasons: Vec<(Reason, u64)>,
    last: Option<Choice>,
}

impl Paced {
    /// Of frames to `side`. None where the leg's socket can't be watched.
    pub(super) fn new(
        side: Side,
        leg: &Leg,
        algorithm: Algorithm,
        level_max: u8,
        links: &Links,
    ) -> Option<Self> {
        let link = links.to(leg.peer_ip()?, side);
        let mut pace = Pace::new(algorithm, level_max);
        if let Some(rate) = link.bytes_per_s() {
            pace.assume_link(rate);
        }
        if let Some(gains) = link.reader_gains() {
            pace.assume_reader(gains);
        }
        let looker = Looker::new(leg, pace.room().unsent_len)?;
        Some(Self {
            pace,
            looker,
            algorithm,
            side,
            link,
            made: None,
            until_look: 0,
            reasons: Vec::new(),
            last: None,
        })
    }

    /// Looks at the socket if the next choice may depend on it.
    pub(super) fn look(&mut self, leg: &Leg) {
        if !self.pace.is_in_a_queue() && self.until_look > 0 {
            return;
        }
        self.look_anyway(leg);
    }

    /// The socket has just taken a part of what was left over: that tells how fast it does.
    pub(super) fn look_anyway(&mut self, leg: &Leg) {
        self.until_look = LOOK_EVERY;
        if let Some(look) = self.looker.look(leg, self.link.now()) {
            self.pace.look(look);
            // A socket that is gone is noticed when it is written to.
            self.looker.bound(leg, self.pace.room().unsent_len);
        }
    }

    /// Longest frame of several packets.
    pub(super) fn frame_len(&self) -> usize {
        self.pace.room().frame_len
    }

    pub(super) fn choose(&mut self, plain_len: usize, more: bool) -> Choice {
        self.until_look = self.until_look.saturating_sub(1);
        let choice =
            self.pace.choose(plain_len, more, self.link.now(), &mut self.link.replies(self.algorithm));
        self.last = Some(choice);
        match self.reasons.iter_mut().find(|(reason, _)| *reason == choice.reason) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((choice.reason, 1)),
        }
        choice
    }

    /// The last choice, to be shown.
    pub(super) fn decision(&self) -> Option<Decision> {
        self.last.map(|last| Decision {
            choice: if last.level.is_some() { "packed" } else { "stored" },
            reason: last.reason.words(),
        })
    }

    pub(super) fn packed(&mut self, level: u8, plain_len: usize, packed_len: usize, took: Duration) {
        self.pace.packed(level, plain_len, packed_len, took);
    }

    /// A frame, or a part of one, is ready.
    pub(super) fn made(&mut self, plain_len: usize, len: usize) {
        let (plain, all) = self.made.unwrap_or_default();
        self.made = Some((plain + plain_len, all + len));
    }

    /// What is ready is written now.
    pub(super) fn hand_over(&mut self, leg: &Leg) {
        if let Some((plain_len, len)) = self.made.take() {
            self.look(leg);
            self.pace.sent(plain_len, len, self.link.now(), &mut self.link.replies(self.algorithm));
        }
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.pace.left(&mut self.link.replies(self.algorithm));
        let link_bytes_per_s = self.pace.link_bytes_per_s();
        if let Some(rate) = link_bytes_per_s {
            self.link.saw(rate);
        }
        if let Some(gains) = self.pace.reader_gains() {
            self.link.found_reader(gains);
        }
        tracing::debug!(side = %self.side, reasons = ?self.reasons, ?link_bytes_per_s, "frames were paced");
    }
}

/// Two system calls among so many frames don't show.
const LOOK_EVERY: u8 = 64;
