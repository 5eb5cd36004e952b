//! Rows of sysbench's `sbtestN` tables.
//!
//! ```text
//! id  INT AUTO_INCREMENT, primary key
//! k   INT                 1 ..= rows of the table
//! c   CHAR(120)           ###########-###########- …   10 groups of 11 digits, 119 characters
//! pad CHAR(60)            ###########- …                5 groups of 11 digits,  59 characters
//! ```
//!
//! Invariants: lengths are always the same; only digits and '-'.
//!
//! Not here: sysbench's "special" distribution of `k`; `k` is uniform, which costs a full scan nothing.
//!
//! Source: sysbench 1.0.20, `src/lua/oltp_common.lua` (`c_value_template`, `pad_value_template`).

use super::Sequence;

/// One row of `sbtestN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysbenchRow {
    /// Primary key, from 1.
    pub id: u32,
    /// Secondary key, `1..=table_rows`.
    pub k: u32,
    /// 119 characters.
    pub c: String,
    /// 59 characters.
    pub pad: String,
}

/// The row `id` of a table that has `table_rows` rows.
#[must_use]
pub fn sysbench_row(seed: u64, id: u32, table_rows: u32) -> SysbenchRow {
    let mut sequence = Sequence::new(seed, u64::from(id));
    let k = 1 + sequence.below(table_rows.max(1));
    let c = groups(&mut sequence, 10);
    let pad = groups(&mut sequence, 5);
    SysbenchRow { id, k, c, pad }
}

fn groups(sequence: &mut Sequence, count: usize) -> String {
    let mut text = String::with_capacity(count * (GROUP_DIGITS + 1));
    for group in 0..count {
        if group > 0 {
            text.push('-');
        }
        // One draw of 64 bits holds eleven digits many times over: 10^11 < 2^37.
        let mut bits = sequence.next_u64() >> 16;
        for _ in 0..GROUP_DIGITS {
            let digit = u8::try_from(bits % 10).unwrap_or(0);
            bits /= 10;
            text.push(char::from(b'0' + digit));
        }
    }
    text
}

/// Digits of a group in sysbench's templates.
const GROUP_DIGITS: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_shape_that_sysbench_gives_it() {
        let row = sysbench_row(1, 42, 100);
        assert_eq!(row.id, 42);
        assert!((1..=100).contains(&row.k));
        for (text, groups) in [(&row.c, 10), (&row.pad, 5)] {
            let parts: Vec<&str> = text.split('-').collect();
            assert_eq!(parts.len(), groups);
            assert!(parts.iter().all(|part| part.len() == 11 && part.bytes().all(|b| b.is_ascii_digit())));
        }
        assert_eq!((row.c.len(), row.pad.len()), (119, 59));
    }

    #[test]
    fn digits_are_spread_evenly() {
        let mut seen = [0_u32; 10];
        for id in 1..=1000 {
            sysbench_row(3, id, 1000).c.bytes().filter(u8::is_ascii_digit).for_each(|b| {
                seen[usize::from(b - b'0')] += 1;
            });
        }
        // 110,000 digits: each about 11,000; six standard deviations are 600.
        assert!(seen.iter().all(|count| count.abs_diff(11_000) < 600), "{seen:?}");
    }
}
