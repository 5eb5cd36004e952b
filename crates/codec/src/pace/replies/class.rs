//! Replies of about one length: which form they have now, and what is known of that.
//!
//! ```text
//!  New ──▶ Trial ──▶ Settled ──▶ Trial ──▶ …        New ──▶ Settled: costs nothing that anybody would notice
//! ```
//! Invariants: a trial has an end; what was found is forgotten, and believed longer if it was found again.
//!
//! Not here: what an epoch shows (`epoch`), which form is faster (`reply_trial`).

use std::time::Duration;

use super::super::reply_trial::{MANY, MUCH_FASTER, Seen, Trial, Verdict};
use super::epoch::Epoch;

/// Replies of about one length.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// They are one TCP segment, packed or not: that saves time only on a link that is full of them, and much of it there.
    pub(super) is_segment: bool,
    /// Which form is sent now.
    pub(super) packs: bool,
    pub(super) epoch: Epoch,
    pub(super) state: State,
    /// When a reply went out last.
    pub(super) last_sent: Duration,
    /// Epochs on end whose cycles were not what was found.
    pub(super) others: u32,
    /// The last finding, and how long it is believed.
    pub(super) belief: Option<(bool, Duration)>,
}

#[derive(Debug, Default)]
pub(super) enum State {
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

impl Class {
    /// Nothing is known of them.
    pub(super) const fn is_new(&self) -> bool {
        matches!(self.state, State::New)
    }

    pub(super) fn packs(&mut self, now: Duration, cost_s: f64, round_trip_s: f64) -> bool {
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

    pub(super) fn saw(&mut self, cycle_s: f64, now: Duration) {
        // Nobody has asked: they don't shrink.
        if matches!(self.state, State::New) {
            return;
        }
        self.epoch.saw(cycle_s);
        let is_short = self.epoch.cycles_s.len() < self.epoch.samples() && !self.is_much_slower_stored(now);
        if !is_short && now >= self.epoch.counts_from + self.epoch_min() {
            self.end_epoch(now);
        }
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
            // Packing would only make everybody wait longer for it. One epoch may have been a moment.
            State::Trial(trial) if core_is_full && trial.core_was_full => {
                self.settle(false, BELIEVED_CLEAR, seen, now);
            }
            State::Trial(trial) if core_is_full && trial.epochs.is_empty() => {
                trial.core_was_full = true;
                self.turn(seen.cycle_s, now);
            }
            State::Trial(trial) => {
                if !self.packs {
                    trial.core_was_full = core_is_full;
                }
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

    fn turn(&mut self, cycle_s: f64, now: Duration) {
        self.epoch = self.epoch.next(cycle_s, self.last_sent, now);
    }
}

/// Where cycles are so long that there are few.
const SAMPLES_MIN: usize = 3;
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
const SMALL: f64 = 0.12;
/// Of the time, both ends' together.
const SHARE_NEGLIGIBLE: f64 = 0.02;
/// A cycle of so many round trips has waits in it that are not the network's.
const QUEUES: f64 = 2.0;
