//! Hops over the packets of one direction, whatever its cuts.
//!
//! ```text
//!  bytes   | header 4 | payload ... | header 4 | ...
//!            └ Header   └ Body, in as many pieces as the bytes come in
//! ```
//! Invariants: holds at most a header's four bytes.
//!
//! Not here: what a packet means (`session`); ids that are rewritten (`wire::scanner`).

use wire::packet::{HEADER_LEN, Header};

/// Where a direction stands.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    head: [u8; HEADER_LEN],
    head_len: usize,
    /// Bytes of the current packet's payload that are still to come.
    left: usize,
    is_begun: bool,
    continues: bool,
}

/// A part of the stream.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// A packet's header; `goes_on` if its payload is more of the packet before.
    Header { header: Header, goes_on: bool },
    /// Bytes of its payload.
    Body { bytes: &'a [u8], is_first: bool, is_last: bool },
}

impl Cursor {
    /// Whether it stands between two payloads.
    pub(super) const fn is_between(&self) -> bool {
        self.head_len == 0 && self.left == 0 && !self.continues
    }

    /// The next piece of `bytes`, which then begin behind it; none when all are used up.
    pub(super) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        if self.left > 0 {
            let (piece, rest) = bytes.split_at(self.left.min(bytes.len()));
            if piece.is_empty() {
                return None;
            }
            *bytes = rest;
            self.left -= piece.len();
            let is_first = !std::mem::replace(&mut self.is_begun, true);
            return Some(Piece::Body { bytes: piece, is_first, is_last: self.left == 0 && !self.continues });
        }
        let header = self.header(bytes)?;
        let goes_on = std::mem::replace(&mut self.continues, header.continues());
        self.left = header.payload_len;
        self.is_begun = goes_on;
        Some(Piece::Header { header, goes_on })
    }

    fn header(&mut self, bytes: &mut &[u8]) -> Option<Header> {
        if self.head_len == 0
            && let Some((head, rest)) = bytes.split_at_checked(HEADER_LEN)
        {
            *bytes = rest;
            return Header::parse(head);
        }
        while self.head_len < HEADER_LEN {
            let (first, rest) = bytes.split_first()?;
            *bytes = rest;
            if let Some(place) = self.head.get_mut(self.head_len) {
                *place = *first;
            }
            self.head_len += 1;
        }
        self.head_len = 0;
        Header::parse(&self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers, and payloads put together again.
    fn walked(bytes: &[u8], cut_len: usize) -> (Vec<(Header, bool)>, Vec<u8>, usize) {
        let (mut cursor, mut headers, mut payload, mut ends) = (Cursor::default(), Vec::new(), Vec::new(), 0);
        for mut chunk in bytes.chunks(cut_len) {
            while let Some(piece) = cursor.next(&mut chunk) {
                match piece {
                    Piece::Header { header, goes_on } => headers.push((header, goes_on)),
                    Piece::Body { bytes, is_last, .. } => {
                        payload.extend_from_slice(bytes);
                        ends += usize::from(is_last);
                    }
                }
            }
        }
        (headers, payload, ends)
    }

    #[test]
    fn any_cutting_gives_the_same_packets() {
        let mut bytes = Vec::new();
        wire::packet::split(b"select 1", 0, &mut bytes);
        wire::packet::split(b"", 1, &mut bytes);
        wire::packet::split(&[7; 300], 2, &mut bytes);
        let whole = walked(&bytes, bytes.len());
        assert_eq!(whole.0.len(), 3);
        assert_eq!(whole.1.len(), 308);
        for cut_len in 1..20 {
            assert_eq!(walked(&bytes, cut_len), whole, "{cut_len}");
        }
    }

    #[test]
    fn a_payload_of_two_packets_ends_once() {
        let mut bytes = Vec::new();
        wire::packet::split(&vec![1; wire::limits::PACKET_PAYLOAD_LEN_MAX + 5], 0, &mut bytes);
        let (headers, payload, ends) = walked(&bytes, 1 << 20);
        assert_eq!(headers.iter().map(|(_, goes_on)| *goes_on).collect::<Vec<_>>(), [false, true]);
        assert_eq!((payload.len(), ends), (wire::limits::PACKET_PAYLOAD_LEN_MAX + 5, 1));
    }
}
