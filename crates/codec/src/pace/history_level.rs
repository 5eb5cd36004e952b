//! Which level the next history should have.
//!
//! ```text
//!  time of a plain byte:  what codec and link take in turn, if the codec is slower: some frames go stored meanwhile
//!                         the link alone, if it isn't
//! ```
//! A history can't change its level, and begins without anything to refer to. So a level is changed only where that promises
//! much, and rarely: what was tried is known, what wasn't is guessed from the level that is used.
//!
//! Invariants: one level at a time; a change that is taken back makes the next one rarer.

use super::candidate::Candidate;
use crate::Algorithm;

/// The levels that are not used now.
#[derive(Debug)]
pub(super) struct HistoryLevel {
    others: Vec<Candidate>,
    /// Large frames since the last change that were packed, or would have been if this level were faster.
    frames: u32,
    /// How many there have to be before the next one.
    stay: u32,
}

impl HistoryLevel {
    /// With the level that is used first, up to `level_max`.
    pub(super) fn new(algorithm: Algorithm, level_max: u8) -> (Self, Vec<Candidate>) {
        let (first, others) = match algorithm {
            Algorithm::Zstd => (level_max.clamp(1, LEVEL_FIRST), Candidate::all(algorithm, level_max)),
            // Deflate has one level.
            Algorithm::Zlib | Algorithm::Uncompressed => (1, Vec::new()),
        };
        let others = others.into_iter().filter(|other| other.level() != first).collect();
        (Self { others, frames: 0, stay: STAY_MIN }, Candidate::only(algorithm, first))
    }

    /// A large frame was packed or, for want of speed, was not, over a link that carries so many bytes per second: another level
    /// may be the `current` one from now on.
    pub(super) fn frame(&mut self, current: &mut Candidate, link_bytes_per_s: f64) {
        self.frames += 1;
        if self.frames < self.stay {
            return;
        }
        let Some(now) = Speed::of(current) else { return };
        let score = |level: u8, speed: Speed| speed.s_per_byte(link_bytes_per_s) * HARDER.powi(step(level));
        let known = |other: &Candidate| {
            Speed::of(other).unwrap_or_else(|| now.guessed(step(other.level()) - step(current.level())))
        };
        // Harder packing is slower, so it is no use where the link waits for the codec, whatever others were seen to do once.
        let hardest = if now.fills(link_bytes_per_s) { u8::MAX } else { current.level() };
        let others = self.others.iter_mut().filter(|other| other.level() <= hardest);
        let scores = others.map(|other| (score(other.level(), known(other)), other));
        let best = scores.min_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((_, other)) = best.filter(|(least, _)| *least < score(current.level(), now) * GAIN) {
            std::mem::swap(current, other);
            self.changed();
        } else if self.frames >= STAY_MAX {
            // What was seen so long ago may not be true of today's rows.
            self.others.iter_mut().for_each(Candidate::forget);
            (self.frames, self.stay) = (0, STAY_MIN);
        }
    }

    /// A frame was packed at `level`: if that isn't the `current` one there was no memory for that, and it is taken back.
    pub(super) fn was_packed_at(&mut self, level: u8, current: &mut Candidate) {
        if level != current.level()
            && let Some(before) = self.others.iter_mut().find(|other| other.level() == level)
        {
            std::mem::swap(current, before);
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.frames = 0;
        self.stay = (self.stay * 2).min(STAY_MAX);
    }
}

/// What a level does.
#[derive(Debug, Clone, Copy)]
struct Speed {
    packs_per_s: f64,
    ratio: f64,
}

impl Speed {
    fn of(candidate: &Candidate) -> Option<Self> {
        let (packs_per_s, ratio) = candidate.seen()?;
        Some(Self { packs_per_s, ratio })
    }

    /// A level that is so many steps harder, or easier where that is less than 0.
    fn guessed(self, steps: i32) -> Self {
        Self {
            packs_per_s: self.packs_per_s / SLOWER.powi(steps),
            ratio: self.ratio * if steps > 0 { HARDER_PACKS.powi(steps) } else { EASIER_PACKS.powi(-steps) },
        }
    }

    /// Whether the link has always something to send.
    fn fills(self, link_bytes_per_s: f64) -> bool {
        self.packs_per_s >= link_bytes_per_s * self.ratio
    }

    fn s_per_byte(self, link_bytes_per_s: f64) -> f64 {
        let pack_s = 1.0 / self.packs_per_s;
        let (stored_s, link_s) = (1.0 / link_bytes_per_s, 1.0 / link_bytes_per_s / self.ratio);
        if pack_s <= link_s { link_s } else { pack_s * stored_s / (pack_s + stored_s - link_s) }
    }
}

fn step(level: u8) -> i32 {
    match level {
        0..=1 => 0,
        2..=3 => 1,
        _ => 2,
    }
}

/// A history's level as long as nothing is known.
const LEVEL_FIRST: u8 = 3;
/// What a step to a harder level costs in speed at least, and may gain in size (`examples/speeds.rs`).
const SLOWER: f64 = 2.0;
const HARDER_PACKS: f64 = 1.1;
/// What one to an easier level loses in size.
const EASIER_PACKS: f64 = 1.0 / 1.05;
/// A harder level has to be so much faster than the one before: it takes more CPU.
const HARDER: f64 = 1.05;
/// A change has to promise so much.
const GAIN: f64 = 0.97;
/// Large frames between two changes.
const STAY_MIN: u32 = 16;
const STAY_MAX: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: f64 = 120_000.0;

    /// Levels after so many frames each, over a link of so many bytes per second; what the levels do.
    fn levels(link_bytes_per_s: f64, does: fn(u8) -> (f64, f64), level_max: u8) -> Vec<u8> {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, level_max);
        let current = &mut candidates[0];
        let mut levels = vec![current.level()];
        for _ in 0..10_000 {
            let (packs_per_s, ratio) = does(current.level());
            current.learn(LEN, LEN / ratio, LEN / packs_per_s);
            history.frame(current, link_bytes_per_s);
            if levels.last() != Some(&current.level()) {
                levels.push(current.level());
            }
        }
        levels
    }

    fn digits(level: u8) -> (f64, f64) {
        match level {
            1 => (350e6, 2.04),
            3 => (100e6, 2.06),
            _ => (36e6, 2.04),
        }
    }

    fn text(level: u8) -> (f64, f64) {
        match level {
            1 => (250e6, 2.98),
            3 => (110e6, 3.23),
            _ => (52e6, 3.66),
        }
    }

    #[test]
    fn where_the_codec_is_the_limit_the_easiest_level_is_used() {
        assert_eq!(levels(125e6, digits, 7), [3, 1]);
        assert_eq!(levels(125e6, text, 7), [3, 1]);
    }

    #[test]
    fn where_the_link_is_the_limit_the_level_that_packs_best_is_used() {
        assert_eq!(levels(12.5e6, text, 7), [3, 7]);
        assert_eq!(levels(1.25e6, text, 7), [3, 7]);
        assert_eq!(levels(12.5e6, text, 3), [3]);
    }

    #[test]
    fn what_gains_nothing_is_taken_back_and_hardly_ever_tried_again() {
        let tried = levels(12.5e6, digits, 7);
        assert!(tried.starts_with(&[3, 7]) && tried.len() <= 8, "{tried:?}");
        assert_ne!(tried.last(), Some(&7), "{tried:?}");
    }

    #[test]
    fn a_level_that_there_is_no_memory_for_is_taken_back_and_tried_ever_more_rarely() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        let mut refused = Vec::new();
        for frame in 0..2_000 {
            if current.level() == 7 {
                refused.push(frame);
            }
            history.was_packed_at(3, current);
            let (packs_per_s, ratio) = text(3);
            current.learn(LEN, LEN / ratio, LEN / packs_per_s);
            history.frame(current, 12.5e6);
        }
        assert_eq!(candidates[0].level(), 3);
        assert!((2..6).contains(&refused.len()) && refused[1] - refused[0] > 60, "{refused:?}");
    }

    #[test]
    fn data_that_does_not_shrink_and_deflate_keep_their_level() {
        assert_eq!(levels(12.5e6, |_| (400e6, 1.0), 7), [3]);
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zlib, 9);
        for _ in 0..100 {
            candidates[0].learn(LEN, LEN / 2.0, 1e-3);
            history.frame(&mut candidates[0], 1e9);
        }
        assert_eq!(candidates[0].level(), 1);
    }
}
