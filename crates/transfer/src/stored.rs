//! zstd frames written by hand: a chunk as it is, or a chunk of one repeated byte, at the speed of memory.
//!
//! ```text
//! 28 b5 2f fd | a4 | content size u32 | blocks | checksum u32
//! block: (is_last | kind << 1 | len << 3) u24, then len bytes (raw) or one byte (repeated)
//! ```
//! Descriptor a4: content size of 4 bytes, one segment (no window descriptor), checksum (low half of XXH64).
//!
//! Not here: whether a chunk should be stored (`compressor`).
//! Source: RFC 8878, 3.1.1; `zstd -d` reads them (crates/cli/tests/it/pack.rs).

use twox_hash::XxHash64;

/// Appends a frame that holds `plain` as it is.
pub(crate) fn store(plain: &[u8], out: &mut Vec<u8>) {
    begin(plain, out);
    let mut blocks = plain.chunks(BLOCK_LEN_MAX).peekable();
    if blocks.peek().is_none() {
        out.extend_from_slice(&block_header(0, RAW, true));
    }
    while let Some(block) = blocks.next() {
        out.extend_from_slice(&block_header(block.len(), RAW, blocks.peek().is_none()));
        out.extend_from_slice(block);
    }
    end(plain, out);
}

/// Appends a frame of zeros, if `plain` is nothing else; says whether it is.
pub(crate) fn store_zeros(plain: &[u8], out: &mut Vec<u8>) -> bool {
    if plain.is_empty() || !is_zero(plain) {
        return false;
    }
    begin(plain, out);
    let mut blocks = plain.chunks(BLOCK_LEN_MAX).peekable();
    while let Some(block) = blocks.next() {
        out.extend_from_slice(&block_header(block.len(), REPEATED, blocks.peek().is_none()));
        out.push(0);
    }
    end(plain, out);
    true
}

/// Most chunks differ from zero early, so this costs nothing on them.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|part| part.iter().fold(0, |all, byte| all | byte) == 0)
}

fn begin(plain: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, DESCRIPTOR]);
    // Chunks have a few MiB.
    out.extend_from_slice(&u32::try_from(plain.len()).unwrap_or(u32::MAX).to_le_bytes());
}

fn end(plain: &[u8], out: &mut Vec<u8>) {
    let [a, b, c, d, ..] = XxHash64::oneshot(0, plain).to_le_bytes();
    out.extend_from_slice(&[a, b, c, d]);
}

fn block_header(len: usize, kind: u32, is_last: bool) -> [u8; 3] {
    let header = u32::from(is_last) | kind << 1 | u32::try_from(len).unwrap_or(0) << 3;
    let [a, b, c, _] = header.to_le_bytes();
    [a, b, c]
}

const DESCRIPTOR: u8 = 0xa4;
const RAW: u32 = 0;
const REPEATED: u32 = 1;
/// RFC 8878, Block_Maximum_Size.
const BLOCK_LEN_MAX: usize = 128 << 10;

/// What a stored chunk takes more than its own length, bytes.
pub(crate) const fn overhead_len(plain_len: usize) -> usize {
    13 + 3 * (plain_len / BLOCK_LEN_MAX + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &[u8], len: usize) -> Vec<u8> {
        let mut plain = Vec::with_capacity(len);
        zstd_safe::DCtx::create().decompress(&mut plain, packed).unwrap();
        plain
    }

    #[test]
    fn zstd_reads_what_is_written_by_hand() {
        for len in [0, 1, 255, 256, BLOCK_LEN_MAX - 1, BLOCK_LEN_MAX, BLOCK_LEN_MAX + 1, 3 * BLOCK_LEN_MAX] {
            let plain: Vec<u8> = (0..len).map(|i| (i * 31 % 251) as u8).collect();
            let mut packed = Vec::new();
            store(&plain, &mut packed);
            assert!(packed.len() <= len + overhead_len(len));
            assert_eq!(unpacked(&packed, len), plain, "{len}");
            let zeros = vec![0; len];
            packed.clear();
            assert_eq!(store_zeros(&zeros, &mut packed), len > 0);
            if len > 0 {
                assert_eq!(unpacked(&packed, len), zeros, "{len}");
                assert!(packed.len() < 40);
            }
        }
        let mut packed = Vec::new();
        assert!(!store_zeros(&[0, 0, 1], &mut packed));
        assert_eq!(packed, []);
    }
}
