//! Incompressible bytes: what images, archives and encrypted columns look like to a codec.
//!
//! Invariants: exactly the asked number of bytes; no codec makes them smaller.
//!
//! Not here: cryptographic randomness.

use super::Sequence;

/// `len` incompressible bytes, the blob of row `id`.
#[must_use]
pub fn blob(seed: u64, id: u32, len: usize) -> Vec<u8> {
    let mut sequence = Sequence::new(seed, u64::from(id));
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&sequence.next_u64().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_has_the_asked_length_and_every_byte_value() {
        let bytes = blob(1, 1, 100_003);
        assert_eq!(bytes.len(), 100_003);
        let mut seen = [0_u32; 256];
        bytes.iter().for_each(|&b| seen[usize::from(b)] += 1);
        // 100,003 bytes: each value about 391 times; six standard deviations are 118.
        assert!(seen.iter().all(|count| count.abs_diff(391) < 118), "{seen:?}");
    }
}
