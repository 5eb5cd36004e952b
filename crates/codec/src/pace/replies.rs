//! Replies of one frame each: whether packing them makes the conversation faster.
//!
//! ```text
//!  request ──▶ reply ──▶ request ──▶ reply          cycle: from one reply to the next
//!  epochs:  stored │ packed │ packed │ stored │ stored │ packed …      median cycle of each, or replies/s
//! ```
//! A queue tells the rate of a link, and such replies leave none: each waits for its request. So both forms are tried in
//! turn, by all connections of a link at once, since they share its queue and the CPU that packs; and what counts is how
//! soon the next reply can be sent: the link, both ends' codecs and everything that waits behind them are in it. Where
//! packing takes hardly any time in terms of the network's round trip there is nothing to find out, nor where the core that
//! packs is never idle: a link that makes everybody wait would leave it so.
//!
//! Invariants: one form at a time for all connections; a trial has an end; what was found is forgotten.
//!
//! Not here: what is known of those of one length (`class`), which form is faster (`reply_trial`), replies of several frames
//! (`super`), where links are told apart (crate `proxy`).

mod class;
mod epoch;

use std::time::Duration;

use self::class::{Class, State};
use super::rest::{Changes, Holds};

/// What is known of the replies on one link, in one direction. Share it between its connections.
#[derive(Debug)]
pub struct Replies {
    classes: [Class; CLASSES],
    changes: Changes,
    core_share: Option<f64>,
    /// The network's, the shortest that any of its connections has seen; 0 where none has. Those that come at the same time wait
    /// for each other, and the first that has a reply needn't be the one that waited least.
    round_trip_s: f64,
    /// The next history begins then at the earliest, with a small reply.
    history_from: Duration,
}

impl Default for Replies {
    fn default() -> Self {
        let class = |number| Class { is_segment: number == 0, ..Class::default() };
        Self {
            classes: std::array::from_fn(class),
            changes: Changes::default(),
            core_share: None,
            round_trip_s: 0.0,
            history_from: Duration::ZERO,
        }
    }
}

/// A reply that is to go out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply {
    /// Plain bytes.
    pub(super) len: f64,
    /// Earlier replies make small ones so much smaller that it shows within a segment, too.
    pub(super) has_history: bool,
    /// With it a history begins, at both ends.
    pub(super) begins_history: bool,
}

/// What one reply is remembered by, until the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    class: Option<usize>,
    epoch: u64,
    sent: Duration,
    /// With it the cycle of one of the same class and epoch has ended, with nothing in between.
    is_second: bool,
    /// Others that went out behind it in the same form, and were not told of.
    pub(super) rested: u32,
}

impl Replies {
    /// A connection has seen the network's round trip; zero says nothing.
    pub const fn saw_round_trip(&mut self, round_trip: Duration) {
        self.saw_round_trip_s(round_trip.as_secs_f64());
    }

    const fn saw_round_trip_s(&mut self, round_trip_s: f64) {
        if round_trip_s > 0.0 && (self.round_trip_s == 0.0 || round_trip_s < self.round_trip_s) {
            self.round_trip_s = round_trip_s;
        }
    }

    /// Whether to pack a reply, which takes `cost_s` for both ends; `round_trip_s` is the network's, the least that this connection
    /// has seen, 0 where that is not known.
    pub(super) fn packs(&mut self, now: Duration, reply: Reply, cost_s: f64, round_trip_s: f64) -> bool {
        self.saw_round_trip_s(round_trip_s);
        let Some(class) = reply.class().and_then(|class| self.classes.get_mut(class)) else { return false };
        let epoch = class.epoch.number;
        // What is expected holds for all of them.
        let round_trip_s = if class.is_new() { self.round_trip_s } else { round_trip_s };
        let packs = class.packs(now, cost_s, round_trip_s);
        if class.epoch.number != epoch {
            self.changes.count();
        }
        packs
    }

    /// Whether a history may begin with a packed reply of `len` bytes. Its memory is dear, once, and where all connections begin one at
    /// the same time each waits for all others: with replies of one segment, which lose little by it, they begin one by one.
    pub(super) fn may_begin_history(&mut self, now: Duration, len: f64) -> bool {
        let may = len >= SEGMENT_LEN || now >= self.history_from;
        if may {
            self.history_from = now + HISTORY_EVERY;
        }
        may
    }

    /// Whether [`core_share`](Self::core_share) matters now.
    #[must_use]
    pub fn wants_core_share(&self) -> bool {
        self.classes.iter().any(|class| matches!(class.state, State::Trial(_)) && !class.packs)
    }

    /// The part of the time, lately, in which the thread that packs ran, or waited for its core; `None` if that is not known.
    pub const fn core_share(&mut self, share: Option<f64>) {
        self.core_share = share;
    }

    /// A reply goes out; the one before it on this connection was `before`.
    pub(super) fn sent(&mut self, now: Duration, reply: Reply, before: Option<Turn>) -> Turn {
        let class = reply.class();
        // It has the form that the epoch had until now.
        if let Some(class) = class.and_then(|class| self.classes.get_mut(class)) {
            class.last_sent = now;
        }
        if reply.begins_history
            && let Some(class) = class.and_then(|class| self.classes.get_mut(class))
        {
            class.epoch.counts_anew(now);
        }
        if let Some(before) = before {
            self.ended(before, now);
        }
        let (mut epoch, mut is_second) = (0, false);
        if let Some(state) = class.and_then(|class| self.classes.get_mut(class)) {
            epoch = state.epoch.number;
            let same = before.filter(|before| before.class == class && before.epoch == epoch);
            state.epoch.sessions += usize::from(same.is_none());
            let rested = same.map_or(0, |before| before.rested);
            is_second = same.is_some() && rested == 0;
            if now >= state.epoch.counts_from {
                state.epoch.replies += 1 + rested;
                state.epoch.core.saw(self.core_share);
            }
        }
        Turn { class, epoch, sent: now, is_second, rested: 0 }
    }

    fn ended(&mut self, turn: Turn, now: Duration) {
        let Some(class) = turn.class.and_then(|class| self.classes.get_mut(class)) else { return };
        if turn.epoch == class.epoch.number && turn.sent >= class.epoch.counts_from && turn.rested == 0 {
            class.saw(now.saturating_sub(turn.sent).as_secs_f64(), now);
            if class.epoch.number != turn.epoch {
                self.changes.count();
            }
        }
    }

    /// For which replies it holds that the one of this turn went stored, if it will for a while.
    pub(super) fn holds(&self, turn: &Turn) -> Option<Holds> {
        let Some(number) = turn.class else {
            return Some(Holds { lens: (0.0, SEGMENT_LEN), until: None });
        };
        let class = self.classes.get(number)?;
        match class.state {
            State::Settled { until, .. }
                if turn.is_second
                    && turn.epoch == class.epoch.number
                    && matches!(class.belief, Some((false, _)))
                    && !class.packs =>
            {
                Some(Holds { lens: lens_of(number), until: Some(until) })
            }
            _ => None,
        }
    }

    /// How often any of this has changed.
    pub(super) const fn changes(&self) -> &Changes {
        &self.changes
    }
}

impl Reply {
    /// None of those that are never packed, with which nothing is found out.
    fn class(self) -> Option<usize> {
        (self.has_history || self.len >= SEGMENT_LEN).then(|| class_of(self.len))
    }
}

fn class_of(len: f64) -> usize {
    let mut class = 0;
    let mut limit = SEGMENT_LEN;
    while len >= limit && class + 1 < CLASSES {
        class += 1;
        limit *= 4.0;
    }
    class
}

/// Lengths of a class that are not large, the second excluded: large ones are each chosen about.
fn lens_of(class: usize) -> (f64, f64) {
    let (mut from, mut to) = (0.0, SEGMENT_LEN);
    for _ in 0..class {
        (from, to) = (to, to * 4.0);
    }
    (from, to.min(super::LARGE_LEN))
}

/// Those of one segment, then by fours of length: what shrinks, and what it costs, depends on it.
const CLASSES: usize = 5;
/// A shorter reply is one TCP segment, packed or not, so that only history makes a difference.
const SEGMENT_LEN: f64 = 1400.0;
/// Several times what it takes to begin one, at both ends.
const HISTORY_EVERY: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
