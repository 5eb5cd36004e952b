//! COM_CHANGE_USER's own packet.
//!
//! ```text
//! 11 | user \0 | auth response, 1-byte length | database \0 | [charset 2] | [plugin \0] | [attributes, lenenc]
//! ```
//! The client's capabilities decide, as in its login, whether there is a plugin and whether there are attributes.
//! Source: MySQL internals, `page_protocol_com_change_user.html`.
//! Not here: the exchange that follows (`auth`).

use zeroize::Zeroizing;

use super::auth::NO_PLUGIN;
use super::login::{replace_attributes, room_for};
use crate::{Capabilities, Fault, Reader, write_lenenc_bytes};

/// The plugin that made the response in a COM_CHANGE_USER; empty when it isn't named.
pub fn auth_plugin(payload: &[u8], client: Capabilities) -> Result<&[u8], Fault> {
    if !client.contains(Capabilities::PLUGIN_AUTH) {
        return Ok(&[]);
    }
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.nul_terminated()?;
    let response_len = usize::from(reader.u8()?);
    reader.bytes(response_len)?;
    reader.nul_terminated()?;
    reader.u16()?;
    Ok(reader.nul_terminated_or_rest())
}

/// The user, and the database, which is empty for none.
pub fn user_and_database(payload: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    let user = reader.nul_terminated()?;
    let response_len = usize::from(reader.u8()?);
    reader.bytes(response_len)?;
    Ok((user, reader.nul_terminated_or_rest()))
}

/// The command for the server leg: without the client's response, so that the server asks for it anew
/// ([`super::auth::Begin::AskForSwitch`]), if `asks_for_switch`; and with `attributes` in place of the client's own.
pub fn for_server_leg(
    payload: &[u8],
    client: Capabilities,
    asks_for_switch: bool,
    attributes: &[(&[u8], &[u8])],
) -> Result<Vec<u8>, Fault> {
    if !asks_for_switch && attributes.is_empty() {
        return Ok(payload.to_vec());
    }
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.nul_terminated()?;
    // Wiped if something is amiss behind the response.
    let mut out = Zeroizing::new(room_for(payload.len(), attributes));
    let capacity = out.capacity();
    out.extend_from_slice(payload.get(..reader.position()).unwrap_or_default());
    let response_begin = reader.position();
    let response_len = usize::from(reader.u8()?);
    reader.bytes(response_len)?;
    let database_begin = reader.position();
    reader.nul_terminated()?;
    reader.u16()?;
    let part = |begin, end| payload.get(begin..end).unwrap_or_default();
    if asks_for_switch {
        out.push(0);
    } else {
        out.extend_from_slice(part(response_begin, database_begin));
    }
    out.extend_from_slice(part(database_begin, reader.position()));
    if client.contains(Capabilities::PLUGIN_AUTH) {
        let plugin = reader.nul_terminated_or_rest();
        out.extend_from_slice(if asks_for_switch { NO_PLUGIN } else { plugin });
        out.push(0);
    }
    if !attributes.is_empty() {
        let has_own = client.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty();
        let own = if has_own { reader.lenenc_bytes()? } else { &[] };
        write_lenenc_bytes(&mut out, &replace_attributes(own, attributes));
    }
    out.extend_from_slice(reader.rest());
    debug_assert_eq!(out.capacity(), capacity, "a copy was left behind");
    Ok(std::mem::take(&mut *out))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Capabilities = Capabilities(Capabilities::PLUGIN_AUTH.0 | Capabilities::CONNECT_ATTRS.0);

    #[test]
    fn the_plugin_is_found_behind_the_charset() {
        let command = b"\x11me\0\x02ab\0\x2d\0ed25519\0attrs";
        assert_eq!(auth_plugin(command, CLIENT), Ok(&b"ed25519"[..]));
        assert_eq!(auth_plugin(command, Capabilities::CONNECT_ATTRS), Ok(&b""[..]), "attributes");
        assert!(auth_plugin(b"\x11me\0\x20ab", CLIENT).is_err());
    }

    #[test]
    fn user_and_database_are_found_around_the_response() {
        let of = |command| user_and_database(command);
        assert_eq!(of(b"\x11me\0\x02a\0db\0\x2d\0ed25519\0"), Ok((&b"me"[..], &b"db"[..])));
        assert_eq!(of(b"\x11me\0\0\0"), Ok((&b"me"[..], &b""[..])));
        assert_eq!(of(b"\x11me\0\0db"), Ok((&b"me"[..], &b"db"[..])), "of an old client");
        assert!(of(b"\x11me\0\x20ab").is_err());
    }

    #[test]
    fn a_switch_is_asked_for_without_the_clients_response() {
        let command = b"\x11me\0\x07secret\0db\0\x2d\0sha256_password\0\x04\x01a\x01b";
        let asked = for_server_leg(command, CLIENT, true, &[]).unwrap();
        let expected = [&b"\x11me\0\0db\0\x2d\0"[..], NO_PLUGIN, b"\0\x04\x01a\x01b"].concat();
        assert_eq!(asked, expected);
        assert_eq!(for_server_leg(command, CLIENT, false, &[]).unwrap(), command);
    }

    #[test]
    fn attributes_of_ours_replace_a_clients_own_or_none() {
        let attributes = [(&b"a"[..], &b"c"[..])];
        let rewritten = |command: &[u8], client| for_server_leg(command, client, false, &attributes).unwrap();
        let command = b"\x11me\0\0db\0\x2d\0p\0\x08\x01a\x01b\x01x\x01y";
        assert_eq!(rewritten(command, CLIENT), b"\x11me\0\0db\0\x2d\0p\0\x08\x01a\x01c\x01x\x01y");
        for client in [CLIENT, Capabilities::PLUGIN_AUTH] {
            let with = rewritten(b"\x11me\0\0db\0\x2d\0p\0", client);
            assert_eq!(with, b"\x11me\0\0db\0\x2d\0p\0\x04\x01a\x01c");
        }
    }

    #[test]
    fn attributes_are_found_where_no_plugin_is_named() {
        let with = for_server_leg(
            b"\x11me\0\0db\0\x2d\0\x04\x01a\x01b",
            Capabilities::CONNECT_ATTRS,
            false,
            &[(b"a", b"c")],
        );
        assert_eq!(with.unwrap(), b"\x11me\0\0db\0\x2d\0\x04\x01a\x01c");
    }

    #[test]
    fn the_short_command_of_an_old_client_passes_as_it_is() {
        let command = b"\x11me\0\0db\0";
        assert_eq!(for_server_leg(command, Capabilities::NONE, false, &[]).unwrap(), command);
    }

    #[test]
    fn a_command_cut_anywhere_never_panics() {
        let command = b"\x11me\0\x07secret\0db\0\x2d\0sha256_password\0\x04\x01a\x01b";
        for len in 0..command.len() {
            drop(for_server_leg(&command[..len], CLIENT, true, &[(b"a", b"b")]));
        }
    }
}
