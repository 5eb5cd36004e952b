//! The frame: what carries packets once a leg is compressed (MySQL's manual: "compressed packet").
//!
//! ```text
//! 0            3    4           7
//! | packed len | id | plain len | body, packed len bytes
//! ```
//! A plain length of 0 means that the body is stored as it is.
//!
//! Invariants: an emitted frame is never empty, never 0xFFFFFF long, stored when under 50 bytes or not smaller.
//! Not here: which packets share a frame (crate `proxy`, `half_pipe`), ids (`conversation`).

use codec::{Algorithm, Contexts};

use crate::Fault;
use crate::limits::COMPRESS_LEN_MIN;
use crate::packet::{bytes_of, len_of};

/// Bytes of a frame's header.
pub const HEADER_LEN: usize = 7;

/// Header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Body bytes that follow.
    pub packed_len: usize,
    /// Counts within a command, wraps at 256.
    pub sequence_id: u8,
    /// Length before compression; 0 when the body is stored.
    pub plain_len: usize,
}

impl Header {
    /// The header at the start of `bytes`; `None` when fewer than seven are there.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, sequence_id, d, e, f] = *bytes.first_chunk::<HEADER_LEN>()?;
        Some(Self { packed_len: len_of([a, b, c]), sequence_id, plain_len: len_of([d, e, f]) })
    }

    /// The seven bytes.
    pub const fn build(self) -> [u8; HEADER_LEN] {
        let [a, b, c] = bytes_of(self.packed_len);
        let [d, e, f] = bytes_of(self.plain_len);
        [a, b, c, self.sequence_id, d, e, f]
    }

    /// Whether the body is the inner stream itself.
    pub const fn is_stored(self) -> bool {
        self.plain_len == 0
    }
}

/// Appends `plain` as one frame, packed if that is worth it; says whether it was.
///
/// Shape: `plain` holds 1 to 0xFFFFFE bytes.
pub fn encode(
    contexts: &mut Contexts,
    algorithm: Algorithm,
    level: u8,
    sequence_id: u8,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> Result<bool, Fault> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_LEN]);
    let packed = plain.len() >= COMPRESS_LEN_MIN && contexts.compress(algorithm, level, plain, out)?;
    if !packed {
        out.extend_from_slice(plain);
    }
    let packed_len = out.len() - start - HEADER_LEN;
    let header = Header { packed_len, sequence_id, plain_len: if packed { plain.len() } else { 0 } };
    if let Some(room) = out.get_mut(start..start + HEADER_LEN) {
        room.copy_from_slice(&header.build());
    }
    Ok(packed)
}

/// Appends what the `body` of a frame with `header` holds to `out`.
pub fn decode(
    contexts: &mut Contexts,
    algorithm: Algorithm,
    header: Header,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    if header.is_stored() {
        out.extend_from_slice(body);
    } else {
        contexts.decompress(algorithm, body, header.plain_len, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(plain: &[u8]) -> (Header, Vec<u8>) {
        let mut out = Vec::new();
        encode(&mut Contexts::new(), Algorithm::Zstd, 1, 3, plain, &mut out).unwrap();
        (Header::parse(&out).unwrap(), out.split_off(HEADER_LEN))
    }

    #[test]
    fn forty_nine_bytes_are_stored_and_fifty_are_packed() {
        assert_eq!(frame(&[0; 49]).0, Header { packed_len: 49, sequence_id: 3, plain_len: 0 });
        assert_eq!(frame(&[0; 50]).0.plain_len, 50);
    }

    #[test]
    fn what_does_not_shrink_is_stored() {
        let noise: Vec<u8> = (0..=255).collect();
        assert!(frame(&noise).0.is_stored());
    }

    #[test]
    fn a_frame_decodes_to_what_was_encoded() {
        for plain in [&b"short"[..], &b"long and repeated ".repeat(50)] {
            let (header, body) = frame(plain);
            let mut out = Vec::new();
            decode(&mut Contexts::new(), Algorithm::Zstd, header, &body, &mut out).unwrap();
            assert_eq!(out, plain);
        }
    }
}
