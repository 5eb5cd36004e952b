//! The frame of a pair stream, and its checksum.
//!
//! ```text
//!  0        1            3                7
//!  +--------+------------+----------------+----------------------+
//!  | kind   | body len   | CRC-32C        | body                 |
//!  +--------+------------+----------------+----------------------+
//!    │        little-endian, as all numbers here
//!    └─ bits 0-3 what it is, bit 4 "history begins anew", bits 5-7 parity
//! ```
//! What carries bytes of MySQL's protocol has codes below 4; four more says that the body is 64 KiB longer than its length.
//! Parity: the XOR of all three-bit groups of body length and bits 0-4, so that no single flipped bit makes a reader wait
//! for bytes that never come. The checksum covers the first three bytes, the body as it travels, and, where the body is
//! packed, the bytes that it holds: an error on the way and a codec that errs are both found.
//!
//! Not here: what a body means (`hello`, `reader`).

use crate::Fault;

/// Bytes before the body.
pub const HEADER_LEN: usize = 7;
/// What two bytes of length and a bit of the kind can say.
pub const BODY_LEN_MAX: usize = 0x1_ffff;
/// Bytes of MySQL's protocol that one frame holds at most. Whatever they are, they pack to less than [`BODY_LEN_MAX`], and
/// they fit a relay's buffer. A block of zstd's is hardly longer, so longer frames would pack no better.
pub const FRAME_PLAIN_LEN_MAX: usize = 120 << 10;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes as they are. They don't become part of a history.
    Stored,
    /// Bytes packed by zstd.
    Zstd,
    /// Bytes packed by deflate.
    Deflate,
    /// Who speaks: versions, codecs, proof.
    Hello,
    /// A session begins.
    Open,
    /// The sender drops the history of its direction.
    Rest,
    /// The sender's last word of this session.
    End,
    /// Why there will be no session.
    Refusal,
}

impl Kind {
    const ALL: [(Self, u8); 8] = [
        (Self::Stored, 0),
        (Self::Zstd, 1),
        (Self::Deflate, 2),
        (Self::Hello, 8),
        (Self::Open, 9),
        (Self::Rest, 10),
        (Self::End, 11),
        (Self::Refusal, 12),
    ];

    fn code(self) -> u8 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, code)| *code)
    }
}

/// The parts of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the frame is.
    pub kind: Kind,
    /// Its history has no bytes yet.
    pub begins_anew: bool,
    /// Bytes behind the header.
    pub body_len: usize,
    /// CRC-32C.
    pub checksum: u32,
}

impl Header {
    /// The header at the start of `bytes`; `None` while it is incomplete.
    ///
    /// Errors: a flipped bit, or a kind that no known version has.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let Some(&[first, len_low, len_high, c0, c1, c2, c3]) = bytes.first_chunk() else { return Ok(None) };
        let body_len = u16::from_le_bytes([len_low, len_high]);
        if first >> 5 != parity(first & MARKS, body_len) {
            return Err(Fault::PairHeader);
        }
        let code = first & KIND;
        let is_longer = (IS_LONGER..2 * IS_LONGER).contains(&code);
        let of_kind = if is_longer { code - IS_LONGER } else { code };
        let kind = Kind::ALL.iter().find(|(_, code)| *code == of_kind).map(|(kind, _)| *kind);
        Ok(Some(Self {
            kind: kind.ok_or(Fault::PairKindUnknown(code))?,
            begins_anew: first & BEGINS_ANEW != 0,
            body_len: usize::from(body_len) + if is_longer { LONGER_LEN } else { 0 },
            checksum: u32::from_le_bytes([c0, c1, c2, c3]),
        }))
    }
}

/// Writes a frame's header into `out` at `start`, whose body stands behind it already; `plain` is what a packed body holds.
///
/// Errors: the body is too long, which no caller's is.
pub(super) fn seal(
    out: &mut [u8],
    start: usize,
    kind: Kind,
    begins_anew: bool,
    plain: &[u8],
) -> Result<(), Fault> {
    let body_start = start + HEADER_LEN;
    let body_len = out.len().checked_sub(body_start).ok_or(Fault::PairHeader)?;
    let is_longer = body_len >= LONGER_LEN;
    let code = kind.code() + if is_longer { IS_LONGER } else { 0 };
    let body_len = body_len - if is_longer { LONGER_LEN } else { 0 };
    let body_len = u16::try_from(body_len).map_err(|_| Fault::PairHeader)?;
    if is_longer && code >= 2 * IS_LONGER {
        return Err(Fault::PairHeader);
    }
    let marks = code | if begins_anew { BEGINS_ANEW } else { 0 };
    let [len_low, len_high] = body_len.to_le_bytes();
    let first = marks | parity(marks, body_len) << 5;
    let body = out.get(body_start..).unwrap_or_default();
    let [c0, c1, c2, c3] = checksum([first, len_low, len_high], body, plain).to_le_bytes();
    let header = [first, len_low, len_high, c0, c1, c2, c3];
    out.get_mut(start..body_start).ok_or(Fault::PairHeader)?.copy_from_slice(&header);
    Ok(())
}

/// A frame's checksum; `plain` is empty where the body isn't packed.
pub(super) fn checksum(header: [u8; 3], body: &[u8], plain: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&header), body), plain)
}

/// XOR of the three-bit groups.
fn parity(marks: u8, body_len: u16) -> u8 {
    let mut bits = u32::from(marks) << 16 | u32::from(body_len);
    let mut parity = 0;
    while bits > 0 {
        parity ^= bits & 7;
        bits >>= 3;
    }
    parity.to_le_bytes()[0]
}

const KIND: u8 = 0x0f;
const IS_LONGER: u8 = 0x04;
const LONGER_LEN: usize = 1 << 16;
const BEGINS_ANEW: u8 = 0x10;
const MARKS: u8 = KIND | BEGINS_ANEW;
