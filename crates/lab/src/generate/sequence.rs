//! The random sequence behind every generator: SplitMix64.
//!
//! Invariants: the numbers for a (seed, id) never change.
//!
//! Not here: the crate `rand`, whose generators may change their output between versions; quality for
//! anything but test data.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; the constants
//! are those of Vigna's `splitmix64.c`.

/// A sequence of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct Sequence {
    state: u64,
}

/// 2^64 divided by the golden ratio: the step of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Sequence {
    /// The sequence of one row: `id` picks one of 2^64 sequences of `seed`.
    #[must_use]
    pub fn new(seed: u64, id: u64) -> Self {
        // Both are mixed, so that (seed 1, id 2) and (seed 2, id 1) have nothing in common.
        Self { state: mix(seed.wrapping_add(GOLDEN)) ^ mix(mix(id).wrapping_add(GOLDEN)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number in `0..below`; 0 if `below` is 0. The bias is below 2^-32 for the sizes used here.
    pub fn below(&mut self, below: u32) -> u32 {
        // The high half of a 32 x 32 bit product scales without a division.
        let product = (self.next_u64() >> 32) * u64::from(below);
        u32::try_from(product >> 32).unwrap_or(0)
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_that_of_the_published_splitmix64() {
        // First outputs of splitmix64.c with state 1234567.
        let mut sequence = Sequence { state: 1_234_567 };
        assert_eq!(sequence.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(sequence.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let mut sequence = Sequence::new(1, 1);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[sequence.below(10) as usize] = true;
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(sequence.below(0), 0);
    }
}
