//! An epoch: what replies of one form have shown since it began.
//!
//! Invariants: cycles count that began in it, and not while the memory of histories was paid for.
//!
//! Not here: what follows from it (`class`).

use std::time::Duration;

use super::super::reply_trial::{MANY, Seen, median};

#[derive(Debug, Default)]
pub(super) struct Epoch {
    pub(super) number: u64,
    pub(super) began: Duration,
    /// What was under way when it began is through after so long.
    pub(super) through: Duration,
    /// As long as cycles were before it.
    pub(super) cycle_s: f64,
    /// A pause has interrupted the one before, or this one, before there was a cycle in it.
    pub(super) behind_pause: bool,
    /// Cycles count that begin from then on.
    pub(super) counts_from: Duration,
    pub(super) cycles_s: Vec<f64>,
    /// Connections that had a reply in it.
    pub(super) sessions: usize,
    /// That went out since cycles count.
    pub(super) replies: u32,
    /// What packing has taken at both ends, seconds, of how many replies, and since when.
    pub(super) packing_s: f64,
    pub(super) packed: usize,
    pub(super) packing_since: Duration,
    pub(super) core: Core,
}

/// How full the core was that packs, by reply.
#[derive(Debug, Default)]
pub(super) struct Core {
    share: f64,
    replies: u32,
}

impl Epoch {
    /// The next, behind cycles of so long. Who counted how many replies are under way would wait for the next of each connection of a
    /// pool; a cycle after the last of them they are through.
    pub(super) fn next(&self, cycle_s: f64, last_sent: Duration, now: Duration) -> Self {
        let through = Duration::from_secs_f64(cycle_s.min(THROUGH_MAX.as_secs_f64()));
        Self {
            number: self.number + 1,
            began: now,
            through,
            cycle_s,
            counts_from: now.max(last_sent + through),
            packing_since: now,
            ..Self::default()
        }
    }

    /// A cycle has ended.
    pub(super) fn saw(&mut self, cycle_s: f64) {
        if self.cycles_s.len() >= SAMPLES_MAX {
            self.cycles_s.drain(..SAMPLES_MAX / 2);
        }
        self.cycles_s.push(cycle_s);
    }

    pub(super) fn seen(&mut self, now: Duration) -> Seen {
        let (time_s, reply_s) = (self.time_s(now), self.reply_s(now));
        Seen { cycle_s: median(&mut self.cycles_s), reply_s, time_s, sessions: self.sessions }
    }

    /// Since cycles count.
    pub(super) fn time_s(&self, now: Duration) -> f64 {
        now.saturating_sub(self.counts_from).as_secs_f64().max(1e-9)
    }

    pub(super) fn reply_s(&self, now: Duration) -> f64 {
        self.time_s(now) / f64::from(self.replies.max(1))
    }

    /// Cycles that it takes: those of many connections that end first are the shortest.
    pub(super) fn samples(&self) -> usize {
        self.sessions.clamp(SAMPLES, SAMPLES_MAX / 2)
    }

    /// What it has shown is done with; its form stays.
    pub(super) fn goes_on(&mut self, now: Duration) {
        self.cycles_s.clear();
        (self.counts_from, self.replies, self.core) = (now, 0, Core::default());
        (self.packing_s, self.packed, self.packing_since) = (0.0, 0, now);
    }

    /// Part of the time that packing has taken: the most that anybody waits longer for it. Those who ask at once do so once more than
    /// there are cycles in the time.
    pub(super) fn packing_share(&self, cycle_s: f64, now: Duration) -> f64 {
        let time_s = now.saturating_sub(self.packing_since).as_secs_f64() + cycle_s;
        self.packing_s / time_s.max(1e-9)
    }

    /// A history begins, whose memory is dear, once: to those who wait for the same core, too. Where sessions come and go all the
    /// time that is what packing costs.
    pub(super) fn counts_anew(&mut self, now: Duration) {
        if now < self.began + BEGINNINGS_MAX {
            self.cycles_s.clear();
            (self.replies, self.core) = (0, Core::default());
            self.counts_from = self.counts_from.max(now + self.through);
        }
    }
}

impl Core {
    pub(super) fn saw(&mut self, share: Option<f64>) {
        if let Some(share) = share {
            self.share += share;
            self.replies += 1;
        }
    }

    /// Of an epoch with so many replies.
    pub(super) fn is_full(&self, replies: u32) -> bool {
        self.replies > replies / 2 && self.share >= CORE_FULL * f64::from(self.replies)
    }
}

/// Cycles in an epoch, of few connections.
const SAMPLES: usize = MANY;
const SAMPLES_MAX: usize = 1024;
/// Within so long all sessions that are there have begun their histories.
const BEGINNINGS_MAX: Duration = Duration::from_millis(500);
/// Most of an epoch counts, however long cycles are.
const THROUGH_MAX: Duration = Duration::from_millis(250);
/// The rest is what it takes to be woken, and what others do there for the same connections. Packing would give back less than that.
const CORE_FULL: f64 = 0.8;
