//! COM_CHANGE_USER's own packet.
//!
//! ```text
//! 11 | user \0 | auth response, 1-byte length | database \0 | charset 2 | plugin \0 | attributes
//! ```
//! Source: MySQL internals, `page_protocol_com_change_user.html`.
//! Not here: the exchange that follows (`auth`).

use crate::{Fault, Reader};

/// The plugin that made the response in a COM_CHANGE_USER; empty when it isn't named.
pub fn auth_plugin(payload: &[u8]) -> Result<&[u8], Fault> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.nul_terminated()?;
    let response_len = usize::from(reader.u8()?);
    reader.bytes(response_len)?;
    reader.nul_terminated()?;
    reader.u16()?;
    Ok(reader.nul_terminated_or_rest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_found_behind_the_charset() {
        assert_eq!(auth_plugin(b"\x11me\0\x02ab\0\x2d\0ed25519\0attrs"), Ok(&b"ed25519"[..]));
        assert!(auth_plugin(b"\x11me\0\x20ab").is_err());
    }
}
