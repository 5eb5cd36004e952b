//! The values of a row, text or binary.
//!
//! ```text
//! text     one lenenc string per column, FB for NULL
//! binary   00 | NULL bitmap, from bit 2 on | values by type, none for NULL
//! ```
//! Source: MySQL internals, `page_protocol_binary_resultset.html`.
//! Not here: what the values mean (`result`).

use crate::{Reader, write_lenenc_bytes};

/// A value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Null,
    /// A string, without its length.
    Text(&'a [u8]),
    /// Of a binary row, as it is.
    Other(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) const fn text(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Other(_) => None,
        }
    }
}

/// The values of a row whose columns are of these types; `None` if it isn't such a row.
pub(super) fn parse<'a>(payload: &'a [u8], kinds: &[u8], is_binary: bool) -> Option<Vec<Value<'a>>> {
    let mut reader = Reader::new(payload);
    let mut nulls: &[u8] = &[];
    if is_binary {
        reader.u8().ok().filter(|header| *header == 0)?;
        nulls = reader.bytes((kinds.len() + NULLS_BEFORE).div_ceil(8)).ok()?;
    }
    let mut values = Vec::with_capacity(kinds.len());
    for (column, kind) in kinds.iter().enumerate() {
        let bit = column + NULLS_BEFORE;
        values.push(if is_binary && nulls.get(bit / 8)? & 1 << (bit % 8) != 0 {
            Value::Null
        } else if !is_binary && reader.rest().first() == Some(&NULL) {
            reader.u8().ok()?;
            Value::Null
        } else if !is_binary || is_text(*kind) {
            Value::Text(reader.lenenc_bytes().ok()?)
        } else {
            let from = reader.position();
            skip_binary_value(&mut reader, *kind)?;
            Value::Other(payload.get(from..reader.position())?)
        });
    }
    reader.is_empty().then_some(values)
}

/// A row of these values.
pub(super) fn build(values: &[Value<'_>], is_binary: bool) -> Vec<u8> {
    let mut row = Vec::new();
    if is_binary {
        row.push(0);
        let mut nulls = vec![0_u8; (values.len() + NULLS_BEFORE).div_ceil(8)];
        for (column, value) in values.iter().enumerate() {
            let bit = column + NULLS_BEFORE;
            if let (Value::Null, Some(byte)) = (value, nulls.get_mut(bit / 8)) {
                *byte |= 1 << (bit % 8);
            }
        }
        row.extend_from_slice(&nulls);
    }
    for value in values {
        match value {
            Value::Text(text) => write_lenenc_bytes(&mut row, text),
            Value::Other(bytes) => row.extend_from_slice(bytes),
            Value::Null if is_binary => {}
            Value::Null => row.push(NULL),
        }
    }
    row
}

/// Goes behind a value of a binary row, or of a query attribute.
pub(super) fn skip_binary_value(reader: &mut Reader<'_>, kind: u8) -> Option<()> {
    let len = match kind {
        6 => 0,                                        // NULL
        1 => 1,                                        // TINY
        2 | 13 => 2,                                   // SHORT, YEAR
        3 | 4 | 9 => 4,                                // LONG, FLOAT, INT24
        5 | 8 => 8,                                    // DOUBLE, LONGLONG
        7 | 10..=12 => usize::from(reader.u8().ok()?), // the times
        _ => return reader.lenenc_bytes().ok().map(drop),
    };
    reader.bytes(len).ok().map(drop)
}

/// VARCHAR, the BLOBs, VAR_STRING and STRING.
const fn is_text(kind: u8) -> bool {
    matches!(kind, 15 | 249..=254)
}

/// In the place of a length of a text row.
const NULL: u8 = 0xfb;
/// Bits before the first column's in the NULL bitmap of a binary row.
const NULLS_BEFORE: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip() {
        let texts = [Value::Text(b"a"), Value::Null, Value::Text(b"")];
        assert_eq!(parse(&build(&texts, false), &[3, 3, 3], false).unwrap(), texts);
        let number = 7_u64.to_le_bytes();
        let date = [4, 0xe8, 7, 1, 2];
        let values =
            [Value::Text(b"a"), Value::Other(&number), Value::Null, Value::Other(&date), Value::Text(b"z")];
        let row = build(&values, true);
        assert_eq!(parse(&row, &[253, 8, 253, 12, 252], true).unwrap(), values);
        assert_eq!(parse(&row, &[253, 8, 253, 12], true), None);
        assert_eq!(parse(&row[..row.len() - 1], &[253, 8, 253, 12, 252], true), None);
    }
}
