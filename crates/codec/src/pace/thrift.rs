//! The other controller: the fewest bytes within a budget of CPU and one of time.
//!
//! ```text
//!  level   saves        takes    worth = bytes saved - seconds × price (`allowance`)
//!   -      0            0        0                       stored
//!   1      |▒▒▒▒▒▒|     |·|      the most of them is chosen, of those whose packing
//!   7      |▒▒▒▒▒▒▒|    |·····|  adds no more to the reply than its time allows
//! ```
//! Packing adds to a reply only what it takes longer than the link takes for what was sent before. No order of levels is
//! assumed: each is tried on the connection's data, the harder ones while there is CPU to spare.
//!
//! Invariants: no clock, no randomness; bounded memory; data that doesn't shrink is tried ever more rarely.
//!
//! Not here: sockets and clocks (crate `proxy`), the controller of latency (`super`). See
//! `docs/adr/0031-bytes-within-two-budgets.md`.

use std::time::Duration;

use super::candidate::{self, Candidate};
use super::drain::Drain;
use super::{Allowance, Choice, Look, PackedFrame, Reason, Room, UNSENT_LEN_MAX, number};
use crate::Algorithm;

/// The controller of one direction of a connection.
#[derive(Debug)]
pub struct Thrift {
    candidates: Vec<Candidate>,
    drain: Drain,
    looked: Look,
    /// Bytes that were handed over since the look.
    since_look_len: u64,
    begun: Option<Begun>,
}

/// What the next frame may cost.
#[derive(Debug)]
pub struct Limits<'a> {
    /// Of CPU.
    pub cpu: &'a mut Allowance,
    /// On the allowance's clock.
    pub now: Duration,
    /// What packing may still add to the reply that the frame belongs to.
    pub added_max: Duration,
}

/// A frame that is to be packed.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// What was taken for it.
    cpu_s: f64,
    /// For so long the link is busy with what was sent before.
    hidden_s: f64,
}

impl Thrift {
    /// A controller that may use levels up to `level_max`.
    #[must_use]
    pub fn new(algorithm: Algorithm, level_max: u8) -> Self {
        Self {
            candidates: Candidate::hardest_too(algorithm, level_max),
            drain: Drain::default(),
            looked: Look::NOTHING,
            since_look_len: 0,
            begun: None,
        }
    }

    /// One that has no choice but this level.
    #[must_use]
    pub fn at_level(algorithm: Algorithm, level: u8) -> Self {
        Self { candidates: Candidate::only(algorithm, level), ..Self::new(algorithm, level) }
    }

    /// That level.
    #[must_use]
    pub fn level(&self) -> u8 {
        self.candidates.first().map_or(0, Candidate::level)
    }

    /// The socket was looked at.
    pub fn look(&mut self, look: &Look) {
        self.looked = *look;
        self.since_look_len = 0;
        self.drain.look(look);
    }

    /// The rate of the link, bytes per second, and when it was last seen, if it was ever the limit.
    #[must_use]
    pub fn link_seen(&self) -> Option<(f64, Duration)> {
        self.drain.seen()
    }

    /// The rate at which the destination takes bytes, per second, by which it is chosen, if it is known.
    #[must_use]
    pub const fn bytes_per_s(&self) -> Option<f64> {
        self.drain.bytes_per_s()
    }

    /// How much may be on its way to the socket: enough to hide packing.
    #[must_use]
    pub const fn room(&self) -> Room {
        Room { frame_len: usize::MAX, unsent_len: UNSENT_LEN_MAX }
    }

    /// What to do with a frame of `plain_len` bytes; `now` is on the looks' clock.
    pub fn choose(&mut self, plain_len: usize, now: Duration, limits: &mut Limits<'_>) -> Choice {
        if let Some(begun) = self.begun.take() {
            // It was asked about again, or came to nothing.
            limits.cpu.give_back(begun.cpu_s);
        }
        let len = number(plain_len);
        let (choice, cpu_s, hidden_s) = self.weigh(len, now, limits);
        if choice.level.is_some() {
            if !limits.cpu.take(cpu_s) {
                return Choice { level: None, reason: Reason::CpuBudget };
            }
            self.begun = Some(Begun { cpu_s, hidden_s });
        }
        choice
    }

    /// The choice, the CPU that it takes and how much of that the link hides.
    fn weigh(&mut self, len: f64, now: Duration, limits: &mut Limits<'_>) -> (Choice, f64, f64) {
        let price_per_s = limits.cpu.price_per_s(limits.now);
        let busy_s = |rate| self.looked.busy_at_s(now, self.since_look_len, rate);
        let hidden_s = self.drain.bytes_per_s().map_or(0.0, busy_s);
        let longest_s = limits.added_max.as_secs_f64() + hidden_s;
        let stored = |reason| (Choice { level: None, reason }, 0.0, hidden_s);
        if limits.cpu.percent() == 0 {
            return stored(Reason::CpuBudget);
        }
        let is_plenty = limits.cpu.is_plenty();
        let mut is_too_long = false;
        for (number, candidate) in self.candidates.iter_mut().enumerate() {
            let likely_s = candidate.likely_s(len);
            let is_short = likely_s <= longest_s;
            is_too_long |= !is_short && number == 0 && candidate.ratio(len).is_none() && !candidate.rests();
            if candidate.takes_turn(len, is_short && (number == 0 || is_plenty), false) {
                let choice = Choice { level: Some(candidate.level()), reason: Reason::TriesLevel };
                return (choice, likely_s, hidden_s);
            }
        }
        let mut is_known = false;
        let mut best: Option<(u8, f64, f64)> = None;
        for candidate in &self.candidates {
            let Some(ratio) = candidate.ratio(len) else { continue };
            is_known = true;
            let pack_s = candidate.pack_s(len);
            let saved_len = len * (1.0 - 1.0 / ratio);
            limits.cpu.offered(saved_len / pack_s);
            let worth = saved_len - pack_s * price_per_s;
            if pack_s <= longest_s && best.is_none_or(|(_, _, most)| worth > most) {
                best = Some((candidate.level(), pack_s, worth));
            }
        }
        match best {
            Some((level, pack_s, worth)) if worth > 0.0 => {
                (Choice { level: Some(level), reason: Reason::FewestBytes }, pack_s, hidden_s)
            }
            Some(_) => stored(Reason::CpuBudget),
            None if is_known || is_too_long => stored(Reason::TimeBudget),
            None => stored(Reason::DoesNotShrink),
        }
    }

    /// A frame was packed, whether or not it became smaller; says what that added to its reply.
    pub fn packed(
        &mut self,
        frame: PackedFrame,
        took: Duration,
        cpu: Duration,
        allowance: &mut Allowance,
    ) -> Duration {
        candidate::learn(&mut self.candidates, &frame, took);
        let begun = self.begun.take().unwrap_or(Begun { cpu_s: 0.0, hidden_s: 0.0 });
        allowance.give_back(begun.cpu_s - cpu.as_secs_f64());
        Duration::from_secs_f64((took.as_secs_f64() - begun.hidden_s).max(0.0))
    }

    /// Nothing is packed any more.
    pub fn left(&mut self, allowance: &mut Allowance) {
        if let Some(begun) = self.begun.take() {
            allowance.give_back(begun.cpu_s);
        }
    }

    /// So many bytes were handed over.
    pub fn sent(&mut self, len: usize, now: Duration) {
        self.since_look_len += len as u64;
        self.drain.sent(len as u64, now);
    }
}
