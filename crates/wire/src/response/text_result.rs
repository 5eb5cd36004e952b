//! Column definitions and rows of a text result, for our own questions to a server; the relay reads neither.
//!
//! ```text
//! column definition   catalog | schema | table | org_table | name | org_name | fixed part      lenenc strings
//! row                 one lenenc string per column, FB for NULL
//! ```
//! Source: MySQL internals, `page_protocol_com_query_response_text_resultset.html`.
//! Not here: where a result ends (`eof`, `ok`), types of columns.

use crate::{Fault, Reader};

/// The name (alias) of a column, from its definition.
pub fn column_name(payload: &[u8]) -> Result<&[u8], Fault> {
    let mut reader = Reader::new(payload);
    for _before in ["catalog", "schema", "table", "org_table"] {
        reader.lenenc_bytes()?;
    }
    reader.lenenc_bytes()
}

/// The values of a row; `None` is NULL.
pub fn row(payload: &[u8]) -> Result<Vec<Option<&[u8]>>, Fault> {
    let mut reader = Reader::new(payload);
    let mut values = Vec::new();
    while let Some(first) = reader.rest().first() {
        if *first == NULL {
            reader.u8()?;
            values.push(None);
        } else {
            values.push(Some(reader.lenenc_bytes()?));
        }
    }
    Ok(values)
}

/// In the place of a length.
const NULL: u8 = 0xfb;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_columns_name_is_its_fifth_string() {
        assert_eq!(column_name(b"\x03def\x00\x01t\x01t\x04Name\x01n\x0c"), Ok(&b"Name"[..]));
        assert!(column_name(b"\x03def\x00\x01t\x01t\x09Name").is_err());
    }

    #[test]
    fn rows_may_hold_nulls_and_empty_strings() {
        assert_eq!(row(b"\x02ab\xfb\x00"), Ok(vec![Some(&b"ab"[..]), None, Some(b"")]));
        assert_eq!(row(b""), Ok(vec![]));
        assert!(row(b"\x02a").is_err());
    }
}
