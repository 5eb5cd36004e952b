//! The wide repetitive row of the published experiment: 32 random hex digits, 2,000 times.
//!
//! ```text
//! repeat(left(sha2(rand(), 256), 32), 2000)    64,000 bytes, fits TEXT
//! ```
//!
//! Invariants: every row is [`WIDE_ROW_BYTES`] long and repeats with a period of 32 bytes; two rows share
//! nothing.
//!
//! Not here: the eight TEXT columns that the published table has besides; they are NULL in all its rows but
//! one, and the statement that fills it says so.
//!
//! Source: the published experiment uses `repeat(md5(rand()), 2000)`; MySQL 9 has no MD5() any more, and
//! 32 digits of SHA2() have the same shape.

use super::Sequence;

/// Length of a wide row's text in bytes.
pub const WIDE_ROW_BYTES: usize = DIGITS * REPEATS;

/// The text of row `id`.
#[must_use]
pub fn wide_row(seed: u64, id: u32) -> String {
    let mut sequence = Sequence::new(seed, u64::from(id));
    format!("{:016x}{:016x}", sequence.next_u64(), sequence.next_u64()).repeat(REPEATS)
}

/// Length of MD5() in hex digits.
const DIGITS: usize = 32;
/// As published.
const REPEATS: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_row_is_32_hex_digits_2000_times() {
        let row = wide_row(1, 1);
        assert_eq!(row.len(), WIDE_ROW_BYTES);
        assert_eq!(row.len(), 64_000);
        let period = &row[..32];
        assert!(period.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()));
        assert_eq!(row, period.repeat(2000));
    }
}
