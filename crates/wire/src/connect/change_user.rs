//! COM_CHANGE_USER's own packet.
//!
//! ```text
//! 11 | user \0 | auth response, 1-byte length | database \0 | charset 2 | plugin \0 | attributes
//! ```
//! Source: MySQL internals, `page_protocol_com_change_user.html`.
//! Not here: the exchange that follows (`auth`).

use super::auth::NO_PLUGIN;
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

/// The command without the client's response, so that the server asks for it anew
/// ([`super::auth::Begin::AskForSwitch`]).
pub fn ask_for_switch(payload: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.nul_terminated()?;
    let mut out = payload.get(..reader.position()).unwrap_or_default().to_vec();
    out.push(0);
    let response_len = usize::from(reader.u8()?);
    reader.bytes(response_len)?;
    let database_and_charset = reader.position();
    reader.nul_terminated()?;
    reader.u16()?;
    out.extend_from_slice(payload.get(database_and_charset..reader.position()).unwrap_or_default());
    out.extend_from_slice(NO_PLUGIN);
    out.push(0);
    reader.nul_terminated_or_rest();
    out.extend_from_slice(reader.rest());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_found_behind_the_charset() {
        assert_eq!(auth_plugin(b"\x11me\0\x02ab\0\x2d\0ed25519\0attrs"), Ok(&b"ed25519"[..]));
        assert!(auth_plugin(b"\x11me\0\x20ab").is_err());
    }

    #[test]
    fn a_switch_is_asked_for_without_the_clients_response() {
        let command = b"\x11me\0\x07secret\0db\0\x2d\0sha256_password\0\x04\x01a\x01b";
        let asked = ask_for_switch(command).unwrap();
        let expected = [&b"\x11me\0\0db\0\x2d\0"[..], NO_PLUGIN, b"\0\x04\x01a\x01b"].concat();
        assert_eq!(asked, expected);
    }
}
