//! A level, and what it was seen to do to this connection's data.
//!
//! Levels are not a ladder: on sysbench's digits zstd's first is smaller than its third and seventh, and twice as fast. So
//! each is measured, and the measurement forgets. Small frames shrink less and cost more than large ones of the same data,
//! so they are known apart.
//!
//! Invariants: what doesn't shrink is tried ever more rarely.
//!
//! Not here: the choice (`super`).

use std::time::Duration;

use super::PackedFrame;
use crate::{Algorithm, plain_bytes_per_ms};

/// One level.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    level: u8,
    /// Plain bytes per second of large frames, without what any frame costs; guessed until it is seen.
    bytes_per_s: f64,
    /// What was guessed, cautiously.
    guess_bytes_per_s: f64,
    is_seen: bool,
    /// Large frames that it has packed, as far as they count: the first of them pay for memory that is new.
    warm: u8,
    /// Plain length in terms of packed length.
    small_ratio: Option<f64>,
    large_ratio: Option<f64>,
    /// Frames to leave out before the next trial, and how many that were the last time.
    rest: u32,
    rest_len: u32,
    /// Frames since it was last seen.
    unused: u32,
}

impl Candidate {
    /// The levels that are worth knowing where time counts, the easiest first.
    pub(super) fn all(algorithm: Algorithm, level_max: u8) -> Vec<Self> {
        let levels: &[u8] = match algorithm {
            Algorithm::Uncompressed => &[],
            Algorithm::Zlib => &[1, 6],
            Algorithm::Zstd => &[1, 3, 7],
        };
        Self::of(algorithm, levels, level_max)
    }

    /// And those that are worth it where bytes are all that counts.
    pub(super) fn hardest_too(algorithm: Algorithm, level_max: u8) -> Vec<Self> {
        let levels: &[u8] = match algorithm {
            Algorithm::Uncompressed => &[],
            Algorithm::Zlib => &[1, 6, 9, 12],
            Algorithm::Zstd => &[1, 3, 7, 12, 19],
        };
        Self::of(algorithm, levels, level_max)
    }

    /// This one.
    pub(super) fn only(algorithm: Algorithm, level: u8) -> Vec<Self> {
        Self::of(algorithm, &[level], level)
    }

    fn of(algorithm: Algorithm, levels: &[u8], level_max: u8) -> Vec<Self> {
        let of = |level: &u8| {
            let guess_bytes_per_s = plain_bytes_per_ms(algorithm, *level) as f64 * 1e3;
            Self {
                level: *level,
                bytes_per_s: guess_bytes_per_s,
                guess_bytes_per_s,
                is_seen: false,
                warm: 0,
                small_ratio: None,
                large_ratio: None,
                rest: 0,
                rest_len: 0,
                unused: 0,
            }
        };
        levels.iter().filter(|level| **level <= level_max.max(1)).map(of).collect()
    }

    pub(super) const fn level(&self) -> u8 {
        self.level
    }

    /// The time that a frame takes to be packed.
    pub(super) fn pack_s(&self, len: f64) -> f64 {
        FRAME_S + len / self.bytes_per_s
    }

    /// The same, where a level that was never seen is taken to be as fast as it mostly is.
    pub(super) fn likely_s(&self, len: f64) -> f64 {
        let pack_s = self.pack_s(len);
        if self.is_seen { pack_s } else { pack_s / GUESS_IS_CAUTIOUS }
    }

    /// The same, where what its first frames paid for memory is not expected of those behind them.
    pub(super) fn warm_s(&self, len: f64) -> f64 {
        let guess_s = FRAME_S + len / (self.guess_bytes_per_s * GUESS_IS_CAUTIOUS);
        if self.is_cold() { self.likely_s(len).min(guess_s) } else { self.likely_s(len) }
    }

    /// How well it packs, unless that is not known.
    pub(super) fn ratio(&self, len: f64) -> Option<f64> {
        if len >= SMALL_LEN { self.large_ratio } else { self.small_ratio }
    }

    /// Plain bytes per second of large frames, and how well it packs them, if it was seen to.
    pub(super) fn seen(&self) -> Option<(f64, f64)> {
        Some(self.bytes_per_s).filter(|_| self.is_seen).zip(self.large_ratio)
    }

    /// It was seen to do so by another session.
    pub(super) const fn assume(&mut self, bytes_per_s: f64, ratio: f64) {
        self.bytes_per_s = bytes_per_s;
        self.large_ratio = Some(ratio);
        self.is_seen = true;
        self.warm = 1;
    }

    /// What was seen is true no more.
    pub(super) const fn forget(&mut self) {
        self.is_seen = false;
        self.warm = 0;
        self.large_ratio = None;
    }

    /// It has packed no large frame yet.
    pub(super) const fn is_new(&self) -> bool {
        !self.is_seen && self.warm == 0
    }

    /// It has packed so few large frames here that it may be faster than it seemed.
    pub(super) const fn is_cold(&self) -> bool {
        self.warm < WARM
    }

    /// It was no use lately.
    pub(super) const fn rests(&self) -> bool {
        self.rest > 0
    }

    /// It was no use for so long that hardly anything of the kind will shrink.
    pub(super) const fn rests_long(&self) -> bool {
        self.rest > 0 && self.rest_len >= REST_LONG
    }

    /// Whether to try it now, if it may be: when it isn't known, or not any more. It rests after each trial that was no
    /// use. A second long frame is worth it for the one that packs best.
    pub(super) fn takes_turn(&mut self, len: f64, may: bool, packs_best: bool) -> bool {
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        self.unused = self.unused.saturating_add(1);
        let is_enough = len >= LONG_LEN && self.warm > 0 && !packs_best;
        let is_cold = len >= SMALL_LEN && self.is_cold() && !is_enough;
        may && (self.ratio(len).is_none() || is_cold || self.unused > UNUSED_MAX)
    }

    /// It packed a frame, in this time.
    pub(super) fn learn(&mut self, plain_len: f64, packed_len: f64, took_s: f64) {
        self.unused = 0;
        let blend = |old: f64, new: f64| old + (new - old) * MEMORY;
        if plain_len >= SMALL_LEN {
            let rate = plain_len / (took_s - FRAME_S).max(1e-9);
            self.bytes_per_s = match self.warm {
                0 => rate,
                1..WARM => rate.max(self.bytes_per_s),
                _ => blend(self.bytes_per_s, rate),
            };
            let frames = if plain_len >= LONG_LEN { WARM / 2 } else { 1 };
            self.warm = (self.warm + frames).min(WARM);
            self.is_seen = true;
        }
        let known = if plain_len >= SMALL_LEN { &mut self.large_ratio } else { &mut self.small_ratio };
        let ratio = plain_len / packed_len.max(1.0);
        let ratio = known.map_or(ratio, |old| blend(old, ratio));
        if ratio < RATIO_MIN {
            // Forgotten, and tried again after a while.
            *known = None;
            self.rest_len = (self.rest_len * 2).clamp(REST_MIN, REST_MAX);
            self.rest = self.rest_len;
        } else {
            *known = Some(ratio);
            self.rest_len = 0;
        }
    }

    /// The same of a frame that a history begins with: it refers to nothing, and pays for new memory, so it says nothing where
    /// more is known, nor anything of small ones.
    pub(super) fn learn_first(&mut self, plain_len: f64, packed_len: f64, took_s: f64) {
        self.unused = 0;
        if plain_len >= SMALL_LEN && (self.warm < WARM || self.large_ratio.is_none()) {
            self.learn(plain_len, packed_len, took_s);
        }
    }
}

/// A frame was packed by one of `candidates`, in this time.
pub(super) fn learn(candidates: &mut [Candidate], frame: &PackedFrame, took: Duration) {
    let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.level() == frame.level) else {
        return;
    };
    let (plain_len, packed_len, took_s) =
        (frame.plain_len as f64, frame.packed_len as f64, took.as_secs_f64());
    if frame.begins_history {
        candidate.learn_first(plain_len, packed_len, took_s);
    } else {
        candidate.learn(plain_len, packed_len, took_s);
    }
}

/// A level that was never seen is taken to be so much slower than it is (`plain_bytes_per_ms`).
pub(super) const GUESS_IS_CAUTIOUS: f64 = 3.0;
/// What a frame costs besides its bytes: tables to set up.
const FRAME_S: f64 = 5e-6;
/// Below this a frame's own cost is most of it.
pub(super) const SMALL_LEN: f64 = 4096.0;
/// Of so many first frames the fastest counts.
const WARM: u8 = 4;
/// What one of this length pays for memory is less beside its work, and there are few of them: two are enough.
const LONG_LEN: f64 = 512.0 * 1024.0;
/// How much of a new frame goes into what is known.
const MEMORY: f64 = 0.25;
/// Less is not worth anybody's time.
const RATIO_MIN: f64 = 1.04;
/// Frames that are not tried after one that didn't shrink. At 1,024 a trial costs a thousandth of its time.
const REST_MIN: u32 = 8;
const REST_MAX: u32 = 1024;
const REST_LONG: u32 = 16;
/// What was seen so many frames ago may not be true of today's rows.
const UNUSED_MAX: u32 = 512;
