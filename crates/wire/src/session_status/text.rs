//! Where the text of a COM_QUERY begins: behind its query attributes, if there are any.
//!
//! ```text
//! count lenenc | sets lenenc = 1 | [NULL bitmap | 1 | (type 2 | name lenenc)... | values...] | text
//! ```
//! Source: MySQL internals, `page_protocol_com_query.html`.
//! Not here: the text (`statement`).

use super::row::skip_binary_value;
use crate::{Capabilities, Reader};

/// The text of a COM_QUERY whose command byte was taken off; `None` if its attributes can't be read.
pub(crate) fn behind_attributes(payload: &[u8], agreed: Capabilities) -> Option<&[u8]> {
    if !agreed.contains(Capabilities::QUERY_ATTRIBUTES) {
        return Some(payload);
    }
    let mut reader = Reader::new(payload);
    let count = usize::try_from(reader.lenenc_int().ok()?).ok()?;
    reader.lenenc_int().ok()?;
    if count == 0 {
        return Some(reader.rest());
    }
    if count > payload.len() {
        return None;
    }
    let nulls = reader.bytes(count.div_ceil(8)).ok()?;
    if reader.u8().ok()? != 1 {
        return None;
    }
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        types.push(reader.u16().ok()?.to_le_bytes()[0]);
        reader.lenenc_bytes().ok()?;
    }
    for (index, kind) in types.into_iter().enumerate() {
        if nulls.get(index / 8)? & 1 << (index % 8) != 0 {
            continue;
        }
        skip_binary_value(&mut reader, kind)?;
    }
    Some(reader.rest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_begins_behind_the_attributes() {
        assert_eq!(behind_attributes(b"select", Capabilities::NONE), Some(&b"select"[..]));
        let with = Capabilities::QUERY_ATTRIBUTES;
        assert_eq!(behind_attributes(b"\x00\x01select", with), Some(&b"select"[..]));
        // A text, a NULL and a BIGINT.
        let attributes = b"\x03\x01\x02\x01\xfe\x00\x01a\x06\x00\x01b\x08\x00\x01c\x02xy12345678show";
        assert_eq!(behind_attributes(attributes, with), Some(&b"show"[..]));
        assert_eq!(behind_attributes(b"\x03\x01\x02", with), None);
        assert_eq!(behind_attributes(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", with), None);
    }
}
