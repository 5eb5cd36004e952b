//! The first bytes of either end, in clear, so that a wrong peer is known at once.
//!
//! ```text
//!  0                        7
//!  +------------------------+------+   mode: 'T' TLS follows, 'C' frames follow,
//!  | 0x89 W P P A I R       | mode |         'X' refused, and then: 2 length | text
//!  +------------------------+------+
//! ```
//! The first byte begins neither TLS (0x16) nor HTTP, SSH or any text, and would be a MySQL packet of absurd length.
//!
//! Not here: who speaks when (crate `proxy`).

use crate::Fault;

/// What a preamble begins with.
pub const MAGIC: [u8; 7] = *b"\x89WPPAIR";
/// Magic and mode.
pub const PREAMBLE_LEN: usize = MAGIC.len() + 1;
/// Longest text of a refusal, bytes.
pub const REFUSAL_LEN_MAX: usize = 512;

/// What follows the preambles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A TLS handshake.
    Tls,
    /// Frames. For connections that don't leave the host.
    Clear,
}

/// One end's first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preamble {
    /// It goes on like this.
    Mode(Mode),
    /// It doesn't.
    Refusal(String),
}

impl Preamble {
    /// What stands at the start of `bytes`, and its length; `None` while that is incomplete.
    ///
    /// Errors: as soon as the bytes can't become a preamble.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Fault> {
        if bytes.iter().zip(MAGIC).any(|(byte, magic)| *byte != magic) {
            return Err(Fault::PairPeerForeign { looks_like: looks_like(bytes) });
        }
        let mode = match bytes.get(MAGIC.len()) {
            None => return Ok(None),
            Some(b'T') => Mode::Tls,
            Some(b'C') => Mode::Clear,
            Some(b'X') => {
                let Some(&[low, high]) = bytes.get(PREAMBLE_LEN..).and_then(<[u8]>::first_chunk) else {
                    return Ok(None);
                };
                let start = PREAMBLE_LEN + 2;
                let end = start + usize::from(u16::from_le_bytes([low, high])).min(REFUSAL_LEN_MAX);
                let text = bytes.get(start..end).map(|text| String::from_utf8_lossy(text).into_owned());
                return Ok(text.map(|text| (Self::Refusal(text), end)));
            }
            Some(_) => return Err(Fault::PairPeerForeign { looks_like: "a pair of another make" }),
        };
        Ok(Some((Self::Mode(mode), PREAMBLE_LEN)))
    }

    /// Its bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        match self {
            Self::Mode(Mode::Tls) => bytes.push(b'T'),
            Self::Mode(Mode::Clear) => bytes.push(b'C'),
            Self::Refusal(text) => {
                bytes.push(b'X');
                let text = cut(text);
                let len = u16::try_from(text.len()).unwrap_or(0);
                bytes.extend_from_slice(&len.to_le_bytes());
                bytes.extend_from_slice(text);
            }
        }
        bytes
    }
}

/// At most [`REFUSAL_LEN_MAX`] bytes.
pub(super) fn cut(text: &str) -> &[u8] {
    text.as_bytes().get(..REFUSAL_LEN_MAX).unwrap_or(text.as_bytes())
}

/// What somebody else's first bytes are, as far as they tell.
fn looks_like(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x15 | 0x16, 3, 1..=3, ..] => "TLS without a preamble",
        [_, _, _, 0, 10, ..] => {
            "a MySQL server's greeting; a server that is no pair listener is written host:port"
        }
        // ER_CON_COUNT_ERROR, which a pair listener tells whoever comes, too.
        [_, _, _, 0, 0xff, 0x10, 0x04, ..] => {
            "error 1040, too many connections: if it is a pair listener, raise its --connections-max"
        }
        [_, _, _, 0, 0xff, ..] => {
            "a MySQL server's error; a server that is no pair listener is written host:port"
        }
        [_, _, _, 1, ..] => "a MySQL client's login; clients connect to an ordinary listener",
        [b'G', b'E', b'T', b' ', ..]
        | [b'P', b'O', b'S', b'T', ..]
        | [b'H', b'E', b'A', b'D', ..]
        | [b'H', b'T', b'T', b'P', ..] => "HTTP",
        [b'S', b'S', b'H', b'-', ..] => "SSH",
        _ => "something else",
    }
}
