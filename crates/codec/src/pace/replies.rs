//! Replies of one frame each: whether packing them makes the conversation faster.
//!
//! ```text
//!  request ──▶ reply ──▶ request ──▶ reply          cycle: from one reply to the next
//!  epochs:  stored │ packed │ packed │ stored │ stored │ packed …      median cycle of each, or replies/s
//! ```
//! A queue tells the rate of a link, and such replies leave none: each waits for its request. So both forms are tried in
//! turn, by all connections of a link at once, since they share its queue and the CPU that packs; and what counts is how
//! soon the next reply can be sent: the link, both ends' codecs and everything that waits behind them are in it. Where
//! packing takes hardly any time in terms of the network's round trip there is nothing to find out.
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
}

impl Default for Replies {
    fn default() -> Self {
        let class = |number| Class { is_segment: number == 0, ..Class::default() };
        Self { classes: std::array::from_fn(class), changes: Changes::default() }
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
    /// What packing has taken at both ends, seconds, and since when.
    packing_s: f64,
    packing_since: Duration,
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
        if self.packs {
            self.epoch.packing_s += cost_s;
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
        if self.is_segment && self.is_dearer_than_expected(now) {
            self.packs = false;
            let trial = Trial::beginning_with(self.packs, self.belief).behind(true);
            self.try_both(trial, cycle_s, now);
            return;
        }
        let is_short = self.epoch.cycles_s.len() < self.epoch.samples() && !self.is_much_slower_stored(now);
        if is_short || now < self.epoch.counts_from + self.epoch_min() {
            if self.epoch.cycles_s.len() >= SAMPLES_MAX {
                self.epoch.cycles_s.drain(..SAMPLES_MAX / 2);
            }
            return;
        }
        self.end_epoch(now);
    }

    /// It was expected that nobody notices what packing takes, and it is a part of the time of many.
    fn is_dearer_than_expected(&self, now: Duration) -> bool {
        let has_seen_none = match &self.state {
            State::New => false,
            State::Settled { .. } => self.belief.is_none(),
            State::Trial(trial) => self.belief.is_none() && trial.epochs.is_empty(),
        };
        has_seen_none
            && self.packs
            && self.epoch.sessions >= MANY
            && self.epoch.cycles_s.len() >= self.epoch.samples()
            && self.epoch.packing_share(now) > SHARE_NEGLIGIBLE
    }

    /// How long cycles are counted at least.
    fn epoch_min(&self) -> Duration {
        match self.state {
            State::Settled { .. } => EPOCH_MIN_SETTLED,
            _ if self.epoch.sessions >= MANY => EPOCH_MIN_OF_MANY,
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
        match &mut self.state {
            State::New => {}
            State::Settled { found, .. } => {
                // A prior says how long a cycle may be, unless it is not packing that is waited for; what was found, how long it was.
                let is_other = match self.belief {
                    None => seen.cycle_s > found.cycle_s && self.epoch.packing_share(now) > SHARE_NEGLIGIBLE,
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
                self.turn(seen.cycle_s, now);
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
            packing_since: now,
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
        (self.counts_from, self.replies) = (now, 0);
        (self.packing_s, self.packing_since) = (0.0, now);
    }

    /// Part of the time that packing has taken: the most that anybody waits longer for it.
    fn packing_share(&self, now: Duration) -> f64 {
        self.packing_s / now.saturating_sub(self.packing_since).as_secs_f64().max(1e-9)
    }

    /// A history begins, whose memory is dear, once: to those who wait for the same core, too. Where sessions come and go all the
    /// time that is what packing costs.
    fn counts_anew(&mut self, now: Duration) {
        if now < self.began + BEGINNINGS_MAX {
            self.cycles_s.clear();
            self.replies = 0;
            self.counts_from = self.counts_from.max(now + self.through);
        }
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
const SHARE_NEGLIGIBLE: f64 = 0.05;
/// A cycle of so many round trips has waits in it that are not the network's.
const QUEUES: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients in a closed loop: a link and a proxy's core, each one after the other; a round trip beside them.
    struct Loop {
        clients: usize,
        /// Connections that got one reply and ask no more.
        idle: usize,
        round_trip_s: f64,
        link_bytes_per_s: f64,
        cpu_s: f64,
        pack_s: f64,
        len: f64,
        ratio: f64,
        /// Everybody's own time, varying.
        think_s: f64,
        /// Three of four stored replies come in two parts, with so long between them.
        second_s: f64,
        /// What a history's beginning takes besides: a short one with a client's first packed reply, a long one with the sixth.
        begin_s: f64,
        /// Everybody asks for so long, and then nothing for so long; or all along.
        pauses: Option<(f64, f64)>,
        has_history: bool,
    }

    impl Loop {
        /// Replies that were packed, in the last half of so much time, and all of them.
        fn run(&self, time_s: f64) -> (usize, usize) {
            self.run_from(time_s / 2.0, time_s)
        }

        /// The same of those between two moments.
        fn run_from(&self, from_s: f64, time_s: f64) -> (usize, usize) {
            let mut replies = Replies::default();
            // The first clients come some time after everything has begun.
            let clock = |s: f64| secs(5.0 + s);
            for _ in 0..self.idle {
                replies.packs(clock(0.0), self.reply(), self.pack_s * 1.5, self.round_trip_s);
                replies.sent(clock(0.0), self.reply(), None);
            }
            // When each client's request is there, and its last turn.
            let mut clients: Vec<(f64, Option<Turn>)> =
                (0..self.clients).map(|n| (n as f64 * 1e-6, None)).collect();
            let mut packed_for = vec![0; self.clients];
            let (mut core_s, mut link_s) = (0.0_f64, 0.0_f64);
            let mut noise = 1_u64;
            let (mut packed, mut all) = (0, 0);
            loop {
                let next = clients.iter().enumerate().min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0)).unwrap().0;
                let at_s = clients[next].0;
                if at_s > time_s {
                    return (packed, all);
                }
                let start = at_s.max(core_s);
                let packs = replies.packs(clock(start), self.reply(), self.pack_s * 1.5, self.round_trip_s);
                packed_for[next] += u32::from(packs);
                let begins_history = self.begin_s > 0.0 && packs && matches!(packed_for[next], 1 | 6);
                core_s = start
                    + self.cpu_s
                    + if packs { self.pack_s } else { 0.0 }
                    + if begins_history { self.begin_s } else { 0.0 };
                let reply = Reply { begins_history, ..self.reply() };
                let turn = replies.sent(clock(core_s), reply, clients[next].1);
                let len = if packs { self.len / self.ratio } else { self.len };
                link_s = link_s.max(core_s) + len / self.link_bytes_per_s;
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let share = (noise >> 40) as f64 / f64::from(1 << 24);
                let unpack_s = if packs { self.pack_s / 2.0 } else { 0.0 };
                let second_s = if !packs && noise & (3 << 20) != 0 { self.second_s } else { 0.0 };
                let mut back_s = link_s + self.round_trip_s + unpack_s + second_s + self.think_s * share;
                if let Some((works_s, rests_s)) = self.pauses {
                    let period_s = works_s + rests_s;
                    let at_s = back_s % period_s;
                    back_s += if at_s > works_s { period_s - at_s } else { 0.0 };
                }
                clients[next] = (back_s, Some(turn));
                if at_s > from_s {
                    all += 1;
                    packed += usize::from(packs);
                }
            }
        }

        const fn reply(&self) -> Reply {
            Reply { len: self.len, has_history: self.has_history, begins_history: false }
        }

        fn packed_share(&self, time_s: f64) -> f64 {
            let (packed, all) = self.run(time_s);
            packed as f64 / all as f64
        }
    }

    const fn alone(len: f64) -> Reply {
        Reply { len, has_history: false, begins_history: false }
    }

    fn secs(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    fn ranges(clients: usize, round_trip_s: f64, link_bytes_per_s: f64) -> Loop {
        Loop {
            clients,
            idle: 0,
            round_trip_s,
            link_bytes_per_s,
            cpu_s: 60e-6,
            pack_s: 60e-6,
            len: 12_500.0,
            ratio: 2.0,
            think_s: 50e-6,
            second_s: 0.0,
            begin_s: 0.0,
            pauses: None,
            has_history: false,
        }
    }

    /// Of some columns, through a pair.
    fn point_selects(clients: usize, round_trip_s: f64, link_bytes_per_s: f64) -> Loop {
        Loop {
            cpu_s: 100e-6,
            pack_s: 10e-6,
            len: 200.0,
            has_history: true,
            ..ranges(clients, round_trip_s, link_bytes_per_s)
        }
    }

    #[test]
    fn a_link_that_many_share_gets_packed_replies() {
        for clients in [8, 64] {
            let share = ranges(clients, 1.4e-3, 12.5e6).packed_share(4.0);
            assert!(share > 0.9, "{clients} clients: {share}");
        }
    }

    #[test]
    fn a_slow_link_gets_packed_replies_for_one_client_too() {
        assert!(ranges(1, 1.4e-3, 12.5e6).packed_share(4.0) > 0.9);
        assert!(ranges(1, 40e-3, 1.25e6).packed_share(20.0) > 0.9);
    }

    #[test]
    fn replies_that_wait_for_each_other_on_a_slow_link_are_packed_all_along() {
        // Cycles are of many round trips, and packing takes 2 % of the time.
        let (packed, all) = Loop { len: 12_500.0, ..ranges(64, 40e-3, 1.25e6) }.run(8.0);
        assert_eq!(packed, all);
    }

    #[test]
    fn the_cycles_that_end_first_are_not_all() {
        // Seen with 64 sessions over 100 Mbit/s: stored replies took 20 or 40 ms, packed ones 20.
        let share = Loop { second_s: 20e-3, ratio: 1.2, ..ranges(64, 1.4e-3, 40e6) }.packed_share(1.0);
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn that_stored_is_far_slower_is_seen_in_as_long_as_packed_was_tried() {
        // An epoch of as many stored ones would leave 120 of 153.
        let (packed, all) = ranges(64, 1.4e-3, 12.5e6).run(0.25);
        assert_eq!(packed, all);
    }

    #[test]
    fn what_it_takes_to_begin_histories_says_nothing_of_packing() {
        for begin_s in [2e-3, 4e-3] {
            let share = Loop { begin_s, ..ranges(16, 1.4e-3, 12.5e6) }.packed_share(1.5);
            assert!(share > 0.9, "{begin_s}: {share}");
        }
    }

    #[test]
    fn a_time_in_which_nobody_asks_says_nothing_of_packing() {
        for clients in [1, 8, 64] {
            for works_s in [0.25, 0.7] {
                for rests_s in [0.1, 0.5, 3.5] {
                    let pauses = Some((works_s, rests_s));
                    let share = Loop { pauses, ..ranges(clients, 1.4e-3, 12.5e6) }.packed_share(100.0);
                    assert!(share > 0.9, "{clients} clients, {works_s} s and {rests_s}: {share}");
                }
            }
        }
    }

    #[test]
    fn connections_of_a_pool_that_are_idle_hold_up_no_trial() {
        for link_bytes_per_s in [12.5e6, 1.25e6] {
            let pool = Loop { idle: 500, ..ranges(8, 1.4e-3, link_bytes_per_s) };
            let share = pool.packed_share(8.0);
            assert!(share > 0.9, "{link_bytes_per_s}: {share}");
        }
    }

    #[test]
    fn where_the_cpu_is_the_limit_replies_are_stored() {
        for clients in [1, 8, 64] {
            let share = ranges(clients, 30e-6, 5e9).packed_share(10.0);
            assert!(share < 0.1, "{clients} clients: {share}");
        }
        // The round trip is long, and everybody waits for the core.
        let share = ranges(512, 20e-3, 5e9).packed_share(10.0);
        assert!(share < 0.15, "{share}");
    }

    #[test]
    fn where_the_cpu_is_the_limit_of_many_one_trial_shows_it() {
        let (packed, all) = ranges(64, 30e-6, 5e9).run_from(0.0, 2.0);
        assert!(packed > 0, "nothing was tried");
        let share = packed as f64 / all as f64;
        assert!(share < 0.02, "{share}");
    }

    #[test]
    fn short_replies_of_many_that_wait_for_the_core_are_hardly_packed_from_the_first() {
        for round_trip_s in [0.6e-3, 3e-3] {
            let (packed, all) = point_selects(64, round_trip_s, 125e6).run_from(0.0, 2.0);
            assert!(packed > 0, "nothing was tried");
            let share = packed as f64 / all as f64;
            assert!(share < 0.06, "{round_trip_s}: {share}");
        }
    }

    #[test]
    fn short_replies_of_many_are_packed_where_that_takes_hardly_any_time_or_the_link_is_full() {
        let (packed, all) = point_selects(64, 40e-3, 1.25e6).run(4.0);
        assert_eq!(packed, all, "the round trip is what takes time");
        let share = Loop { cpu_s: 20e-6, ..point_selects(64, 1.4e-3, 1.25e6) }.packed_share(4.0);
        assert!(share > 0.9, "a full link: {share}");
    }

    #[test]
    fn what_was_found_is_believed_for_longer_where_nobody_asks_most_of_the_time() {
        let pauses = Some((0.25, 1.0));
        let (packed, all) = Loop { pauses, ..ranges(64, 30e-6, 5e9) }.run_from(0.0, 12.0);
        assert!(packed > 0, "nothing was tried");
        let share = packed as f64 / all as f64;
        assert!(share < 0.01, "{share}");
    }

    #[test]
    fn a_rate_that_goes_up_and_down_is_no_other_situation() {
        let mut replies = Replies::default();
        let mut turns = vec![None; 64];
        let (mut at_s, mut packed, mut packed_late) = (5.0, 0, 0);
        for client in (0..64).cycle() {
            if at_s > 7.9 {
                break;
            }
            let packs = replies.packs(secs(at_s), alone(12_500.0), 15e-6, 50e-6);
            turns[client] = Some(replies.sent(secs(at_s), alone(12_500.0), turns[client]));
            let is_late = at_s > 6.0;
            let is_slow = is_late && (at_s - 6.0) % 90e-3 < 45e-3;
            at_s += if is_slow { 140e-6 } else { 70e-6 } * if packs { 1.25 } else { 1.0 };
            packed += usize::from(packs);
            packed_late += usize::from(packs && is_late);
        }
        assert!(packed > 0, "nothing was tried");
        assert_eq!(packed_late, 0);
    }

    #[test]
    fn replies_of_one_segment_are_stored() {
        let mut small = ranges(1, 40e-3, 1.25e6);
        small.len = 300.0;
        assert_eq!(small.run(4.0).0, 0);
    }

    #[test]
    fn replies_that_nobody_asks_about_leave_nothing_behind() {
        for len in [190.0, 8000.0] {
            let mut replies = Replies::default();
            let mut turn = None;
            for n in 0..10_000 {
                turn = Some(replies.sent(secs(f64::from(n) * 1e-4), alone(len), turn));
            }
            let held: usize = replies.classes.iter().map(|class| class.epoch.cycles_s.capacity()).sum();
            assert_eq!(held, 0, "{len}");
        }
    }

    #[test]
    fn with_history_they_are_packed_where_that_is_sooner_or_costs_nothing() {
        let small = Reply { len: 200.0, has_history: true, begins_history: false };
        let packs = |cost_s: f64, round_trip_s: f64, packed_s: f64, stored_s: f64| {
            let mut replies = Replies::default();
            let (mut at_s, mut turn, mut packed) = (0.0, None, 0);
            for number in 0..2000 {
                let packs = replies.packs(secs(at_s), small, cost_s, round_trip_s);
                turn = Some(replies.sent(secs(at_s), small, turn));
                at_s += if packs { packed_s } else { stored_s };
                packed += usize::from(packs && number >= 1000);
            }
            packed
        };
        assert!(packs(7e-6, 0.0, 1.0e-3, 1.2e-3) > 900, "a slow link");
        assert!(packs(7e-6, 1e-3, 1.107e-3, 1.1e-3) > 900, "a long round trip");
        assert!(packs(7e-6, 50e-6, 67e-6, 60e-6) < 100, "loopback");
    }

    #[test]
    fn what_cost_nothing_over_a_long_way_is_tried_where_the_way_has_become_short() {
        let mut replies = Replies::default();
        let reply = alone(12_500.0);
        assert!(replies.packs(secs(0.0), reply, 50e-6, 50e-3));
        let (mut at_s, mut turn, mut packed) = (1.0, None, 0);
        for number in 0..4000 {
            let packs = replies.packs(secs(at_s), reply, 50e-6, 0.2e-3);
            turn = Some(replies.sent(secs(at_s), reply, turn));
            at_s += if packs { 300e-6 } else { 250e-6 };
            packed += usize::from(packs && number >= 2000);
        }
        assert!(packed < 200, "{packed} of the last 2000");
    }

    #[test]
    fn noise_alone_does_not_pack() {
        let mut slow_users = ranges(8, 100e-6, 1e9);
        slow_users.think_s = 50e-3;
        let share = slow_users.packed_share(20.0);
        assert!(share < 0.5, "{share}");
    }
}
