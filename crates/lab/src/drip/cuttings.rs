//! Ways to cut a slice.
//!
//! Invariants: the chunks of a cutting, one after the other, are the bytes; no chunk is empty; nothing to
//! cut gives no chunk.
//!
//! Not here: streams (`stream`).

use crate::generate::Sequence;

/// Every way to cut `bytes`: 2^(len-1) cuttings. For what is short.
///
/// # Panics
/// `bytes` is longer than [`EVERY_CUTTING_MAX_BYTES`]: a test that would not end.
pub fn every_cutting(bytes: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    assert!(bytes.len() <= EVERY_CUTTING_MAX_BYTES, "2^{} cuttings are too many to try", bytes.len() - 1);
    let cuts = bytes.len().saturating_sub(1);
    // Bit i of the mask is a cut behind byte i.
    (0..1_u32 << cuts).map(move |mask| cut_at(bytes, (0..cuts).filter(|i| mask >> i & 1 == 1).map(|i| i + 1)))
}

/// The whole, and every way to cut it once: the place where most mistakes are.
pub fn one_cut(bytes: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    (0..bytes.len().max(1)).map(move |at| cut_at(bytes, [at]))
}

/// Cut at the given places, counted from the start of `bytes`; places that are 0, past the end or not
/// ascending cut nothing.
pub fn cut_at(bytes: &[u8], places: impl IntoIterator<Item = usize>) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    let mut start = 0;
    for place in places {
        if place > start && place - start < rest.len() {
            let (chunk, after) = rest.split_at(place - start);
            chunks.push(chunk);
            rest = after;
            start = place;
        }
    }
    if !rest.is_empty() {
        chunks.push(rest);
    }
    chunks
}

/// Pieces of `size` bytes, the last one shorter; `size` 0 counts as 1.
#[must_use]
pub fn pieces(bytes: &[u8], size: usize) -> Vec<&[u8]> {
    bytes.chunks(size.max(1)).collect()
}

/// A cutting that depends on the seed: single bytes, header sizes and long runs, mixed. For what is long.
#[must_use]
pub fn random_cutting(bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut sequence = Sequence::new(seed, bytes.len() as u64);
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(random_len(&mut sequence).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// A length of at least 1: half of them up to 8 (inside headers of 4 and 7 bytes), the rest of any size
/// up to 64 KiB, each power of two as often as any other.
pub(super) fn random_len(sequence: &mut Sequence) -> usize {
    let bits = if sequence.below(2) == 0 { 3 } else { sequence.below(17) };
    1 + sequence.below(1 << bits) as usize
}

/// 65,536 cuttings: well under a second for any parser.
pub const EVERY_CUTTING_MAX_BYTES: usize = 17;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_cutting_is_tried_once_and_gives_the_bytes() {
        let bytes = b"abcdefgh";
        let cuttings: Vec<_> = every_cutting(bytes).collect();
        assert_eq!(cuttings.len(), 128);
        assert_eq!(cuttings.iter().collect::<HashSet<_>>().len(), 128);
        for cutting in &cuttings {
            assert_eq!(cutting.concat(), bytes);
            assert!(cutting.iter().all(|chunk| !chunk.is_empty()));
        }
        assert_eq!(every_cutting(b"").collect::<Vec<_>>(), vec![Vec::<&[u8]>::new()]);
    }

    #[test]
    fn one_cut_is_made_at_every_place() {
        let cuttings: Vec<_> = one_cut(b"abc").collect();
        assert_eq!(
            cuttings,
            vec![vec![&b"abc"[..]], vec![&b"a"[..], &b"bc"[..]], vec![&b"ab"[..], &b"c"[..]]]
        );
        assert_eq!(one_cut(b"").count(), 1);
    }

    #[test]
    fn prescribed_places_are_cut_and_impossible_ones_are_not() {
        assert_eq!(cut_at(b"abcd", [1, 3]), vec![&b"a"[..], &b"bc"[..], &b"d"[..]]);
        assert_eq!(cut_at(b"abcd", [0, 4, 9]), vec![&b"abcd"[..]]);
        assert_eq!(cut_at(b"abcd", [2, 2, 1]), vec![&b"ab"[..], &b"cd"[..]]);
        assert_eq!(pieces(b"abcde", 2), vec![&b"ab"[..], &b"cd"[..], &b"e"[..]]);
        assert_eq!(pieces(b"ab", 0).len(), 2);
    }

    #[test]
    fn a_random_cutting_gives_the_bytes_and_depends_on_the_seed_alone() {
        let bytes = crate::generate::blob(1, 1, 300_000);
        let cutting = random_cutting(&bytes, 5);
        assert_eq!(cutting.concat(), bytes);
        assert!(cutting.iter().all(|chunk| !chunk.is_empty()));
        assert!(cutting.iter().any(|chunk| chunk.len() == 1));
        assert!(cutting.iter().any(|chunk| chunk.len() > 10_000));
        assert_eq!(cutting, random_cutting(&bytes, 5));
        assert_ne!(cutting, random_cutting(&bytes, 6));
    }
}
