//! What a server would make of its replies, tried on a part of one.
//!
//! A server packs with the library's own parameters, which differ from ours (`examples/speeds.rs`): so the sample is packed as it
//! would do ([`Contexts::of_a_server`]), in the time that this host takes for that.
//!
//! Not here: a clock, which the caller has.

use std::time::Duration;

use crate::{Algorithm, Contexts, Fault, ZstdLevel};

/// A part of an uncompressed reply, packed as a server packs.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    levels: Vec<AtLevel>,
    /// Bytes.
    row_len: f64,
}

/// What became of it at one of zstd's levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AtLevel {
    pub(super) level: u8,
    /// Plain length in terms of packed length; 1 where it does not shrink.
    pub(super) ratio: f64,
    /// Plain bytes per second.
    pub(super) packs_per_s: f64,
}

impl Sample {
    /// Of rows of `row_len` bytes. Packs it at each of [`LEVELS`] three times, of which the fastest counts by the clock that `now`
    /// reads: the first has nothing at hand, and anything may come between. In turns, since what comes between lasts; and no level
    /// is slower than a harder one.
    ///
    /// # Errors
    /// The library failed, in practice for want of memory.
    pub fn of(plain: &[u8], row_len: f64, now: impl Fn() -> Duration) -> Result<Self, Fault> {
        let mut contexts = Contexts::of_a_server();
        let mut packed = Vec::with_capacity(plain.len());
        let mut levels = LEVELS.map(|level| AtLevel { level: level.get(), ratio: 1.0, packs_per_s: 0.0 });
        for _ in 0..TURNS {
            for at in &mut levels {
                packed.clear();
                let begun = now();
                let shrinks = contexts.compress(Algorithm::Zstd, at.level, plain, &mut packed)?;
                let took_s = now().saturating_sub(begun).as_secs_f64().max(1e-9);
                if shrinks {
                    at.ratio = plain.len() as f64 / packed.len().max(1) as f64;
                }
                at.packs_per_s = at.packs_per_s.max(plain.len() as f64 / took_s);
            }
        }
        let mut least = 0.0_f64;
        for at in levels.iter_mut().rev() {
            least = least.max(at.packs_per_s);
            at.packs_per_s = least;
        }
        Ok(Self { levels: levels.to_vec(), row_len })
    }

    /// Of these levels alone.
    #[cfg(test)]
    pub(super) const fn at_levels(levels: Vec<AtLevel>, row_len: f64) -> Self {
        Self { levels, row_len }
    }

    pub(super) fn at(&self, level: u8) -> Option<AtLevel> {
        self.levels.iter().find(|at| at.level == level).copied()
    }

    /// Bytes of a row.
    pub(super) const fn row_len(&self) -> f64 {
        self.row_len
    }
}

/// How often each level packs it.
const TURNS: usize = 3;
/// Those that a server leg is asked for unless the operator named one, the easiest first.
const LEVELS: [ZstdLevel; 3] = [ZstdLevel::MIN, ZstdLevel::DEFAULT, ZstdLevel::SLOW_LINK];

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_sample_tells_how_well_and_how_fast_it_packs() {
        // Each look at this clock is a millisecond later.
        let ticks = Cell::new(0);
        let clock = || Duration::from_millis(ticks.replace(ticks.get() + 1));
        let text = b"order 17, customer 7919, open; ".repeat(500);
        let sample = Sample::of(&text, 31.0, clock).unwrap();
        for level in [1, 3, 7] {
            let at = sample.at(level).unwrap();
            assert!(at.ratio > 10.0, "{sample:?}");
            assert!((at.packs_per_s / (text.len() as f64 * 1e3) - 1.0).abs() < 1e-9, "{sample:?}");
        }
        assert_eq!(sample.at(2), None);
        // A packing in three is interrupted for 4 ms, or a core that wakes is slow for the first four.
        let looks = Cell::new(0_u64);
        let look = || looks.replace(looks.get() + 1);
        let interrupted = || {
            let look = look();
            Duration::from_millis(look + (look + 3) / 6 * 4)
        };
        let wakes = || {
            let look = look();
            Duration::from_millis(look + look.min(8))
        };
        let clocks: [&dyn Fn() -> Duration; 2] = [&interrupted, &wakes];
        for clock in clocks {
            looks.set(0);
            let sample = Sample::of(&text, 31.0, clock).unwrap();
            for level in [1, 3, 7] {
                let packs_per_s = sample.at(level).unwrap().packs_per_s;
                assert!((packs_per_s / (text.len() as f64 * 1e3) - 1.0).abs() < 1e-9, "{sample:?}");
            }
        }
        // Level 1 never has its turn undisturbed.
        looks.set(0);
        let unlucky = || {
            let look = look();
            Duration::from_millis(look + look.div_ceil(6) * 4)
        };
        let sample = Sample::of(&text, 31.0, unlucky).unwrap();
        assert_eq!(sample.at(1).unwrap().packs_per_s, sample.at(3).unwrap().packs_per_s);
        let noise: Vec<u8> = noise_of(16 << 10);
        assert_eq!(Sample::of(&noise, 31.0, clock).unwrap().at(1).unwrap().ratio, 1.0);
        assert!(Sample::of(&[], 31.0, || Duration::ZERO).is_ok());
    }

    fn noise_of(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_be_bytes()[0]
        };
        (0..len).map(|_| next()).collect()
    }
}
