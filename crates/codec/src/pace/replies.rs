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
//! Not here: which form is faster (`reply_trial`), replies of several frames (`super`), where links are told apart (crate `proxy`).

use std::time::Duration;

use super::reply_trial::{MANY, MUCH_FASTER, Seen, Trial, Verdict, median};
use super::rest::{Changes, Holds};

/// What is known of the replies on one link, in one direction. Share it between its connections.
#[derive(Debug)]
pub struct Replies {
    classes: [Class; CLASSES],
    changes: Changes,
    core_share: Option<f64>,
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

/// Replies of about one length.
#[derive(Debug, Default)]
struct Class {
    /// They are one TCP segment, packed or not: that saves time only on a link that is full of them, and much of it there.
    is_segment: bool,
    /// Which form is sent now.
    packs: bool,
    epoch: Epoch,
    state: State,
    /// When a reply went out last.
    last_sent: Duration,
    /// Epochs on end whose cycles were not what was found.
    others: u32,
    /// The last finding, and how long it is believed.
    belief: Option<(bool, Duration)>,
}

#[derive(Debug, Default)]
struct Epoch {
    number: u64,
    began: Duration,
    /// What was under way when it began is through after so long.
    through: Duration,
    /// As long as cycles were before it.
    cycle_s: f64,
    /// A pause has interrupted the one before, or this one, before there was a cycle in it.
    behind_pause: bool,
    /// Cycles count that begin from then on.
    counts_from: Duration,
    cycles_s: Vec<f64>,
    /// Connections that had a reply in it.
    sessions: usize,
    /// That went out since cycles count.
    replies: u32,
    /// What packing has taken at both ends, seconds, of how many replies, and since when.
    packing_s: f64,
    packed: usize,
    packing_since: Duration,
    core: Core,
}

/// How full the core was that packs, by reply.
#[derive(Debug, Default)]
struct Core {
    share: f64,
    replies: u32,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing is known.
    #[default]
    New,
    Trial(Trial),
    /// Until then, with what was found.
    Settled {
        until: Duration,
        /// Pauses make it no later.
        until_max: Duration,
        found: Seen,
    },
}

impl Replies {
    /// Whether to pack a reply, which takes `cost_s` for both ends; `round_trip_s` is the network's, the least that was
    /// seen, 0 where that is not known.
    pub(super) fn packs(&mut self, now: Duration, reply: Reply, cost_s: f64, round_trip_s: f64) -> bool {
        let Some(class) = reply.class().and_then(|class| self.classes.get_mut(class)) else { return false };
        let epoch = class.epoch.number;
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

impl Class {
    fn packs(&mut self, now: Duration, cost_s: f64, round_trip_s: f64) -> bool {
        self.begin_anew_behind_a_pause(now);
        match &self.state {
            State::New => {
                // Where it can't cost anything that anybody would notice it is not tried first.
                self.packs = cost_s <= round_trip_s * SMALL;
                self.turn(0.0, now);
                self.state = if cost_s <= round_trip_s * NEGLIGIBLE {
                    let found = Seen { cycle_s: round_trip_s * QUEUES, ..Seen::default() };
                    State::Settled { until: now + BELIEVED_MIN, until_max: now + BELIEVED_MAX, found }
                } else {
                    State::Trial(Trial::beginning_with(self.packs, self.belief).behind(!self.packs))
                };
            }
            State::Settled { until, found, .. }
                if match self.belief {
                    Some(_) => now >= *until,
                    // What costs nothing goes on until cycles get longer, or the round trip so short that it does cost something.
                    None => round_trip_s > 0.0 && cost_s > round_trip_s * NOT_NEGLIGIBLE,
                } =>
            {
                let cycle_s = found.cycle_s;
                self.try_again(cycle_s, now);
            }
            State::Trial(_) if now >= self.epoch.began + EPOCH_MAX => {
                if self.epoch.cycles_s.len() >= SAMPLES_MIN {
                    self.end_epoch(now);
                } else {
                    // So few replies are in nobody's way.
                    let found = Seen { cycle_s: f64::INFINITY, ..Seen::default() };
                    self.settle(false, BELIEVED_MIN, found, now);
                }
            }
            State::Settled { .. } | State::Trial(_) => {}
        }
        if self.is_segment && self.is_dearer_than_expected(round_trip_s, now) {
            self.packs = false;
            let trial = Trial::beginning_with(self.packs, self.belief).behind(true);
            self.try_both(trial, round_trip_s, now);
        }
        if self.packs {
            self.epoch.packing_s += cost_s;
            self.epoch.packed += 1;
        }
        self.packs
    }

    /// Nobody asked for anything in a pause: an epoch with one in it says nothing of its form. Where each cycle has one in it, that
    /// is how long cycles are.
    fn begin_anew_behind_a_pause(&mut self, now: Duration) {
        let silent = now.saturating_sub(self.last_sent);
        let pause_min = if self.epoch.sessions >= MANY { PAUSE_MIN_OF_MANY } else { PAUSE_MIN };
        if silent <= pause_min {
            return;
        }
        let cycles_s = self.epoch.cycle_s.min(EPOCH_MAX.as_secs_f64()) * CYCLES_OF_PAUSE;
        if silent.as_secs_f64() > cycles_s
            && !matches!(self.state, State::New)
            && (!self.epoch.behind_pause || !self.epoch.cycles_s.is_empty())
        {
            self.last_sent = now;
            self.turn(self.epoch.cycle_s, now);
            self.epoch.behind_pause = true;
            // A trial is dear in terms of the time in which somebody asks.
            if let State::Settled { until, until_max, .. } = &mut self.state {
                *until = (*until + silent).min(*until_max);
            }
        }
    }

    fn saw(&mut self, cycle_s: f64, now: Duration) {
        // Nobody has asked: they don't shrink.
        if matches!(self.state, State::New) {
            return;
        }
        self.epoch.cycles_s.push(cycle_s);
        let is_short = self.epoch.cycles_s.len() < self.epoch.samples() && !self.is_much_slower_stored(now);
        if is_short || now < self.epoch.counts_from + self.epoch_min() {
            if self.epoch.cycles_s.len() >= SAMPLES_MAX {
                self.epoch.cycles_s.drain(..SAMPLES_MAX / 2);
            }
            return;
        }
        self.end_epoch(now);
    }

    /// It was expected that nobody notices what packing takes, and it is a part of the time. A cycle is a round trip at least.
    fn is_dearer_than_expected(&self, round_trip_s: f64, now: Duration) -> bool {
        let has_seen_none = match &self.state {
            State::New => false,
            State::Settled { .. } => self.belief.is_none(),
            State::Trial(trial) => self.belief.is_none() && trial.epochs.is_empty(),
        };
        has_seen_none
            && self.packs
            && self.epoch.packed >= self.epoch.samples()
            && self.epoch.packing_share(round_trip_s, now) > SHARE_NEGLIGIBLE
    }

    /// How long cycles are counted at least.
    fn epoch_min(&self) -> Duration {
        match &self.state {
            State::Settled { .. } => EPOCH_MIN_SETTLED,
            _ if self.epoch.sessions >= MANY => EPOCH_MIN_OF_MANY,
            // Before anything is packed it is seen how full the core is.
            State::Trial(trial) if trial.epochs.is_empty() && !self.packs => EPOCH_MIN_OF_MANY,
            _ => EPOCH_MIN,
        }
    }

    /// Stored, in as long as the packed epoch before it had, so few replies went out that more of them would tell nothing new.
    fn is_much_slower_stored(&self, now: Duration) -> bool {
        let State::Trial(trial) = &self.state else { return false };
        let [packed] = trial.epochs.as_slice() else { return false };
        let (time_s, reply_s) = (self.epoch.time_s(now), self.epoch.reply_s(now));
        trial.packs_first
            && packed.are_many()
            && time_s >= packed.time_s
            && packed.reply_s < reply_s * MUCH_FASTER
    }

    fn end_epoch(&mut self, now: Duration) {
        let seen = self.epoch.seen(now);
        let core_is_full = !self.packs && self.epoch.core.is_full(self.epoch.replies);
        match &mut self.state {
            State::New => {}
            State::Settled { found, .. } => {
                // A prior says how long a cycle may be, unless it is not packing that is waited for; what was found, how long it was.
                let is_other = match self.belief {
                    None => {
                        seen.cycle_s > found.cycle_s
                            && self.epoch.packing_share(seen.cycle_s, now) > SHARE_NEGLIGIBLE
                    }
                    Some((packs, _)) => seen.is_other(found, packs),
                };
                self.others = if is_other { self.others + 1 } else { 0 };
                // One epoch, which is all that a trial may have had, is no measure for long.
                if !is_other && self.belief.is_some() {
                    found.follow(&seen);
                }
                if self.others >= OTHERS_MIN {
                    self.try_again(seen.cycle_s, now);
                } else {
                    self.epoch.goes_on(now);
                }
            }
            State::Trial(trial) if trial.is_new => {
                trial.is_new = false;
                trial.core_was_full = core_is_full;
                self.turn(seen.cycle_s, now);
            }
            // Packing would only make everybody wait longer for it.
            State::Trial(trial) if core_is_full && trial.epochs.is_empty() && trial.core_was_full => {
                self.settle(false, BELIEVED_CLEAR, seen, now);
            }
            State::Trial(trial) => {
                trial.epochs.push(seen);
                match trial.verdict(self.is_segment) {
                    Some(Verdict { packs, is_clear }) => {
                        let least = if is_clear { BELIEVED_CLEAR } else { BELIEVED_MIN };
                        let found = trial.seen_of(packs).unwrap_or(seen);
                        self.settle(packs, least, found, now);
                    }
                    None => {
                        self.packs = trial.form();
                        self.turn(seen.cycle_s, now);
                    }
                }
            }
        }
    }

    fn try_again(&mut self, cycle_s: f64, now: Duration) {
        self.try_both(Trial::beginning_with(self.packs, self.belief), cycle_s, now);
    }

    fn try_both(&mut self, trial: Trial, cycle_s: f64, now: Duration) {
        self.state = State::Trial(trial);
        self.others = 0;
        self.turn(cycle_s, now);
    }

    fn settle(&mut self, packs: bool, least: Duration, found: Seen, now: Duration) {
        let believed = match self.belief {
            Some((before, believed)) if before == packs => (believed * 2).clamp(least, BELIEVED_MAX),
            _ => least,
        };
        self.belief = Some((packs, believed));
        self.state = State::Settled { until: now + believed, until_max: now + BELIEVED_MAX, found };
        self.packs = packs;
        self.turn(found.cycle_s, now);
    }

    /// Another epoch, behind cycles of so long. Who counted how many replies are under way would wait for the next of each
    /// connection of a pool; a cycle after the last of them they are through.
    fn turn(&mut self, cycle_s: f64, now: Duration) {
        let number = self.epoch.number + 1;
        let through = Duration::from_secs_f64(cycle_s.min(THROUGH_MAX.as_secs_f64()));
        let counts_from = now.max(self.last_sent + through);
        self.epoch = Epoch {
            number,
            began: now,
            through,
            cycle_s,
            behind_pause: false,
            counts_from,
            cycles_s: Vec::new(),
            sessions: 0,
            replies: 0,
            packing_s: 0.0,
            packed: 0,
            packing_since: now,
            core: Core::default(),
        };
    }
}

impl Epoch {
    fn seen(&mut self, now: Duration) -> Seen {
        let (time_s, reply_s) = (self.time_s(now), self.reply_s(now));
        Seen { cycle_s: median(&mut self.cycles_s), reply_s, time_s, sessions: self.sessions }
    }

    /// Since cycles count.
    fn time_s(&self, now: Duration) -> f64 {
        now.saturating_sub(self.counts_from).as_secs_f64().max(1e-9)
    }

    fn reply_s(&self, now: Duration) -> f64 {
        self.time_s(now) / f64::from(self.replies.max(1))
    }

    /// Cycles that it takes: those of many connections that end first are the shortest.
    fn samples(&self) -> usize {
        self.sessions.clamp(SAMPLES, SAMPLES_MAX / 2)
    }

    /// What it has shown is done with; its form stays.
    fn goes_on(&mut self, now: Duration) {
        self.cycles_s.clear();
        (self.counts_from, self.replies, self.core) = (now, 0, Core::default());
        (self.packing_s, self.packed, self.packing_since) = (0.0, 0, now);
    }

    /// Part of the time that packing has taken: the most that anybody waits longer for it. Those who ask at once do so once more than
    /// there are cycles in the time.
    fn packing_share(&self, cycle_s: f64, now: Duration) -> f64 {
        let time_s = now.saturating_sub(self.packing_since).as_secs_f64() + cycle_s;
        self.packing_s / time_s.max(1e-9)
    }

    /// A history begins, whose memory is dear, once: to those who wait for the same core, too. Where sessions come and go all the
    /// time that is what packing costs.
    fn counts_anew(&mut self, now: Duration) {
        if now < self.began + BEGINNINGS_MAX {
            self.cycles_s.clear();
            (self.replies, self.core) = (0, Core::default());
            self.counts_from = self.counts_from.max(now + self.through);
        }
    }
}

impl Core {
    fn saw(&mut self, share: Option<f64>) {
        if let Some(share) = share {
            self.share += share;
            self.replies += 1;
        }
    }

    /// Of an epoch with so many replies.
    fn is_full(&self, replies: u32) -> bool {
        self.replies > replies / 2 && self.share >= CORE_FULL * f64::from(self.replies)
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
/// Cycles in an epoch, of few connections.
const SAMPLES: usize = MANY;
/// Where cycles are so long that there are few.
const SAMPLES_MIN: usize = 3;
const SAMPLES_MAX: usize = 1024;
/// An epoch is longer than a scheduler's turn.
const EPOCH_MIN: Duration = Duration::from_millis(10);
/// On a core that is busy server and proxy take turns, each with what all connections ask for, so that replies come in batches: of
/// those there are several, or their rate would depend on whether it ends before one or behind it.
const EPOCH_MIN_OF_MANY: Duration = Duration::from_millis(30);
/// Nothing is tried meanwhile, so there is time.
const EPOCH_MIN_SETTLED: Duration = Duration::from_millis(50);
/// Who has not seen enough cycles by then has too few to care.
const EPOCH_MAX: Duration = Duration::from_secs(2);
/// As long as cycles are not known, or are short, a pause is longer than this, and else than so many of them.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// That none of many asks for anything is no hiccup of one of them, such as a lost segment.
const PAUSE_MIN_OF_MANY: Duration = Duration::from_millis(50);
const CYCLES_OF_PAUSE: f64 = 4.0;
/// Several times what it takes to begin one, at both ends.
const HISTORY_EVERY: Duration = Duration::from_millis(1);
/// Within so long all sessions that are there have begun their histories.
const BEGINNINGS_MAX: Duration = Duration::from_millis(500);
/// Most of an epoch counts, however long cycles are.
const THROUGH_MAX: Duration = Duration::from_millis(250);
/// How long a finding is believed, at first, and when it was found again and again.
const BELIEVED_MIN: Duration = Duration::from_secs(2);
const BELIEVED_CLEAR: Duration = Duration::from_secs(8);
const BELIEVED_MAX: Duration = Duration::from_secs(60);
/// Epochs: one or two may be a neighbour's doing.
const OTHERS_MIN: u32 = 3;
/// Of a round trip: what can't be noticed, and what is less than packing saves over most links.
const NEGLIGIBLE: f64 = 0.01;
/// Replies of a class, and so what they cost, differ by four.
const NOT_NEGLIGIBLE: f64 = NEGLIGIBLE * 4.0;
const SMALL: f64 = 0.1;
/// Of the time, both ends' together.
const SHARE_NEGLIGIBLE: f64 = 0.02;
/// The rest is what it takes to be woken, and what others do there for the same connections. Packing would give back less than that.
const CORE_FULL: f64 = 0.8;
/// A cycle of so many round trips has waits in it that are not the network's.
const QUEUES: f64 = 2.0;

#[cfg(test)]
mod tests;
