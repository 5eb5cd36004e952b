//! EOF: `fe | warnings 2 | status 2`, the older end of columns and rows.
//!
//! Source: MySQL internals, `page_protocol_basic_eof_packet.html`.
//! Not here: the OK that replaces it where DEPRECATE_EOF was agreed (`ok`).

use crate::limits::PACKET_PAYLOAD_LEN_MAX;

/// First byte of an EOF packet, and of an OK that replaces one.
pub const HEADER: u8 = 0xfe;

/// Whether a packet of `payload_len` bytes that starts with `peek` ends columns or rows.
///
/// Shape: a text row may start with 0xFE too, but is then 16 MiB or longer.
pub fn ends_rows(peek: &[u8], payload_len: usize, deprecate_eof: bool) -> bool {
    let len_max = if deprecate_eof { PACKET_PAYLOAD_LEN_MAX - 1 } else { LEN_MAX };
    peek.first() == Some(&HEADER) && payload_len <= len_max
}

/// Status flags of an EOF whose first bytes are `peek`.
pub fn status_of(peek: &[u8]) -> u16 {
    match peek {
        [_, _, _, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

/// The payload of an EOF.
pub const fn build(warnings: u16, status: u16) -> [u8; 5] {
    let [a, b] = warnings.to_le_bytes();
    let [c, d] = status.to_le_bytes();
    [HEADER, a, b, c, d]
}

/// A packet of 9 bytes or more that starts with 0xFE is a row.
const LEN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_starts_with_0xfe_is_not_an_eof() {
        assert!(ends_rows(&build(0, 2), 5, false));
        assert!(!ends_rows(&[HEADER], 9, false));
        assert!(ends_rows(&[HEADER], 9, true));
        assert!(!ends_rows(&[HEADER], PACKET_PAYLOAD_LEN_MAX, true));
        assert_eq!(status_of(&build(1, 0x48)), 0x48);
    }
}
