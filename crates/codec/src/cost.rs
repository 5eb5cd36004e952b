//! How much codec work fits in a millisecond: what a worker may do itself, and what goes to a helper thread.
//!
//! Not here: the decision (crate `proxy`), and what a level gains; these are only cautious speeds.

use crate::Algorithm;

/// Plain bytes that compressing at `level` handles in about a millisecond, on a slow core with bad data.
///
/// Shape: cautious by half against the slowest figures measured on random digits, at 3.0 GHz.
/// Source: `cargo run --release -p wirepress-codec --example speeds`.
pub const fn plain_bytes_per_ms(algorithm: Algorithm, level: u8) -> usize {
    match algorithm {
        Algorithm::Uncompressed => usize::MAX,
        Algorithm::Zlib => match level {
            0..=1 => 128 * 1024,
            2..=6 => 48 * 1024,
            7..=9 => 16 * 1024,
            _ => 2 * 1024,
        },
        Algorithm::Zstd => match level {
            0..=3 => 128 * 1024,
            4..=7 => 24 * 1024,
            8..=12 => 8 * 1024,
            _ => 1024,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_level_never_gets_more_bytes_into_a_millisecond() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            for level in 1..22 {
                assert!(plain_bytes_per_ms(algorithm, level) >= plain_bytes_per_ms(algorithm, level + 1));
            }
        }
    }
}
