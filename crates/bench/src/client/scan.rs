//! Following a reply to its end without keeping it.
//!
//! ```text
//!  OK                                                       a statement without rows
//!  column count │ columns │ [EOF] │ rows … │ EOF or OK      a result
//! ```
//!
//! Invariants: looks at the first bytes of each payload and at no row's values; ends with the last result of
//! a multi-statement.
//!
//! Not here: LOCAL INFILE, which this client never offers; prepared statements.

use wire::response::{ErrPacket, OkPacket, eof, err, ok};
use wire::{Fault, Reader};

use super::ClientFault;

/// What a statement gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scan {
    /// Rows received.
    pub rows: u64,
    /// Rows changed, as the server says.
    pub affected_rows: u64,
    /// Bytes of the reply before compression: packets with their headers.
    pub plain_bytes: u64,
    /// Bytes of the reply that came through the socket.
    pub packed_bytes: u64,
}

/// Where in a reply we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The first packet of a result.
    Start,
    /// Columns to come.
    Columns(u64),
    /// The EOF behind the columns.
    ColumnsEnd,
    /// Rows, until something ends them.
    Rows,
    /// All has come.
    Done,
}

/// Takes one payload; gives where the next one is.
pub(super) fn step(
    place: Place,
    payload: &[u8],
    deprecate_eof: bool,
    scan: &mut Scan,
) -> Result<Place, ClientFault> {
    if matches!(place, Place::Start | Place::Rows) && err::ends_reply(payload) {
        return Err(ClientFault::Refused(ErrPacket::parse(payload)?));
    }
    match place {
        Place::Start if payload.first() == Some(&ok::HEADER) => {
            let ok = OkPacket::parse(payload)?;
            scan.affected_rows += ok.affected_rows;
            Ok(after_result(ok.status))
        }
        Place::Start => match Reader::new(payload).lenenc_int()? {
            0 => Err(Fault::Malformed("a result without columns").into()),
            columns => Ok(Place::Columns(columns)),
        },
        Place::Columns(1) => Ok(if deprecate_eof { Place::Rows } else { Place::ColumnsEnd }),
        Place::Columns(left) => Ok(Place::Columns(left.saturating_sub(1))),
        Place::ColumnsEnd => Ok(Place::Rows),
        Place::Rows if eof::ends_rows(payload, payload.len(), deprecate_eof) => {
            Ok(after_result(if deprecate_eof { ok::status_of(payload) } else { eof::status_of(payload) }))
        }
        Place::Rows => {
            scan.rows += 1;
            Ok(Place::Rows)
        }
        Place::Done => Err(ClientFault::AnswerUnexpected { when: "after the end of a reply" }),
    }
}

fn after_result(status: u16) -> Place {
    if status & MORE_RESULTS_EXIST > 0 { Place::Start } else { Place::Done }
}

/// SERVER_MORE_RESULTS_EXISTS.
const MORE_RESULTS_EXIST: u16 = 0x08;

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(payloads: &[&[u8]], deprecate_eof: bool) -> Result<(Place, Scan), ClientFault> {
        let mut scan = Scan::default();
        let mut place = Place::Start;
        for payload in payloads {
            place = step(place, payload, deprecate_eof, &mut scan)?;
        }
        Ok((place, scan))
    }

    const OK_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

    #[test]
    fn rows_are_counted_in_both_forms_of_a_result() {
        let rows = [&b"\x01a"[..]; 3];
        let with_ok: Vec<&[u8]> = [&[&b"\x02"[..], b"c1", b"c2"][..], &rows, &[OK_END]].concat();
        assert_eq!(follow(&with_ok, true).unwrap(), (Place::Done, Scan { rows: 3, ..Scan::default() }));
        let with_eof: Vec<&[u8]> = [&[&b"\x02"[..], b"c1", b"c2", EOF][..], &rows, &[EOF]].concat();
        assert_eq!(follow(&with_eof, false).unwrap(), (Place::Done, Scan { rows: 3, ..Scan::default() }));
    }

    #[test]
    fn several_results_are_followed_to_the_last() {
        let more: &[u8] = &[0xfe, 0, 0, 0x0a, 0, 0, 0];
        let ok: &[u8] = &[0, 5, 0, 2, 0, 0, 0];
        let (place, scan) = follow(&[b"\x01", b"c", b"\x01a", more, ok], true).unwrap();
        assert_eq!((place, scan.rows, scan.affected_rows), (Place::Done, 1, 5));
    }

    #[test]
    fn a_servers_error_is_told_as_it_came() {
        let error = ErrPacket::new(1146, b"42S02", "Table 'a.b' doesn't exist").build();
        let fault = follow(&[&error], true).unwrap_err();
        assert_eq!(fault.to_string(), "ERROR 1146 (42S02): Table 'a.b' doesn't exist");
        assert!(follow(&[b"\x01", b"c", b"\x01a", &error], true).is_err());
    }
}
