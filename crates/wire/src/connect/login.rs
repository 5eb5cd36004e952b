//! The client's first packet: SSLRequest, or the login (HandshakeResponse41).
//!
//! ```text
//! caps 4 | max packet 4 | charset 1 | 19 zero, 4 MariaDB's extended caps        32 bytes: SSLRequest ends here
//! user \0 | auth response (lenenc, 1-byte length, or \0) | [database \0] | [plugin \0] | [attributes, lenenc]
//! [zstd level 1]
//! ```
//! Source: MySQL internals, `page_protocol_connection_phase_packets_protocol_handshake_response.html`,
//! `sql-common/client.cc`; pinned by the captures in `tests/it/captures.rs`.
//! Not here: which algorithm follows from it (`negotiate`).

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

use super::auth::NO_PLUGIN;
use crate::{Capabilities, Fault, Reader, proxy_protocol, write_lenenc_bytes};

/// What a client may begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientHello {
    /// It wants TLS before it says who it is. These capability bits are the ones that count.
    SslRequest(Capabilities),
    /// It says who it is.
    Login(Login),
}

/// A parsed login.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// What the client asks for.
    pub capabilities: Capabilities,
    /// The client's own limit, bytes; 0 means unknown.
    pub max_packet_len: u32,
    /// Collation, low byte.
    pub charset: u8,
    /// Account name.
    pub user: Vec<u8>,
    /// First answer to the nonce; with TLS it may be a password.
    pub auth_response: Zeroizing<Vec<u8>>,
    /// Default database.
    pub database: Option<Vec<u8>>,
    /// The plugin that made `auth_response`.
    pub auth_plugin: Option<Vec<u8>>,
    /// Connection attributes: pairs of lenenc strings, without the total length.
    pub attributes: Option<Vec<u8>>,
    /// The zstd level, present when both sides can zstd.
    pub zstd_level: Option<u8>,
}

impl ClientHello {
    /// Reads the payload of a client's first packet.
    ///
    /// Errors: `LoginTooOld` for the protocol before 4.1, `Malformed`.
    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(payload);
        let bits = reader.u32()?;
        let capabilities = Capabilities::from_bits(bits, 0);
        let ends_here = payload.len() == 4 || payload.len() == SSL_REQUEST_LEN;
        if capabilities.contains(Capabilities::SSL) && ends_here {
            return Ok(Self::SslRequest(capabilities));
        }
        if !capabilities.contains(Capabilities::PROTOCOL_41) {
            return Err(Fault::LoginTooOld);
        }
        Ok(Self::Login(Login::parse(payload)?))
    }
}

impl Login {
    /// Reads the payload of a HandshakeResponse41. Fields missing at the end are absent, as servers take it.
    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        Ok(Self::parse_with_head_len(payload)?.0)
    }

    /// The login, and where the part behind the attributes begins.
    fn parse_with_head_len(payload: &[u8]) -> Result<(Self, usize), Fault> {
        let mut reader = Reader::new(payload);
        let bits = reader.u32()?;
        let max_packet_len = reader.u32()?;
        let charset = reader.u8()?;
        reader.bytes(19)?;
        let extended = reader.u32()?;
        let is_mysql = Capabilities::from_bits(bits, 0).contains(Capabilities::LONG_PASSWORD);
        let capabilities = Capabilities::from_bits(bits, if is_mysql { 0 } else { extended });
        let user = reader.nul_terminated()?.to_vec();
        let auth_response = if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes()?
        } else if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let len = usize::from(reader.u8()?);
            reader.bytes(len)?
        } else {
            reader.nul_terminated_or_rest()
        };
        let auth_response = Zeroizing::new(auth_response.to_vec());
        let present = |reader: &Reader<'_>, flag| capabilities.contains(flag) && !reader.is_empty();
        let database =
            present(&reader, Capabilities::CONNECT_WITH_DB).then(|| reader.nul_terminated_or_rest().to_vec());
        let auth_plugin =
            present(&reader, Capabilities::PLUGIN_AUTH).then(|| reader.nul_terminated_or_rest().to_vec());
        let attributes = if present(&reader, Capabilities::CONNECT_ATTRS) {
            Some(reader.lenenc_bytes()?.to_vec())
        } else {
            None
        };
        let head_len = reader.position();
        let zstd_level = reader.rest().first().copied();
        let login = Self {
            capabilities,
            max_packet_len,
            charset,
            user,
            auth_response,
            database,
            auth_plugin,
            attributes,
            zstd_level,
        };
        Ok((login, head_len))
    }

    /// The payload; the flags decide which fields are written.
    pub fn build(&self) -> Vec<u8> {
        let optional = [&self.database, &self.auth_plugin, &self.attributes];
        let optional_len: usize = optional.iter().map(|field| field.as_ref().map_or(0, Vec::len)).sum();
        let mut out =
            room_for(SSL_REQUEST_LEN + self.user.len() + self.auth_response.len() + optional_len, &[]);
        let capacity = out.capacity();
        out.extend_from_slice(&self.capabilities.mysql_bits().to_le_bytes());
        out.extend_from_slice(&self.max_packet_len.to_le_bytes());
        out.push(self.charset);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.capabilities.mariadb_bits().to_le_bytes());
        self.write_fields(&mut out);
        out.extend(self.zstd_level);
        debug_assert_eq!(out.capacity(), capacity, "a copy was left behind");
        out
    }

    /// From the user to the attributes.
    fn write_fields(&self, out: &mut Vec<u8>) {
        let has = |flag| self.capabilities.contains(flag);
        out.extend_from_slice(&self.user);
        out.push(0);
        if has(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            write_lenenc_bytes(out, &self.auth_response);
        } else {
            out.push(u8::try_from(self.auth_response.len()).unwrap_or(u8::MAX));
            out.extend_from_slice(&self.auth_response);
        }
        for (flag, field) in
            [(Capabilities::CONNECT_WITH_DB, &self.database), (Capabilities::PLUGIN_AUTH, &self.auth_plugin)]
        {
            if has(flag) {
                out.extend_from_slice(field.as_deref().unwrap_or_default());
                out.push(0);
            }
        }
        if has(Capabilities::CONNECT_ATTRS) {
            write_lenenc_bytes(out, self.attributes.as_deref().unwrap_or_default());
        }
    }

    /// A login's payload for the server leg.
    ///
    /// Shape: only the four bytes of MySQL's capabilities and what follows the attributes differ, unless `leg` asks
    /// for more.
    pub fn for_server_leg(payload: &[u8], leg: &ServerLeg<'_>) -> Result<Vec<u8>, Fault> {
        let (login, head_len) = Self::parse_with_head_len(payload)?;
        let head = payload.get(..head_len).unwrap_or_default();
        // What was announced and left out must be there before the level, which would be taken for it.
        let is_filled_up = leg.zstd_level.is_some() && login.leaves_out();
        let mut out = room_for(payload.len(), leg.attributes);
        let capacity = out.capacity();
        if leg.asks_for_switch || !leg.attributes.is_empty() || is_filled_up {
            login.clone().rewrite(head, leg, &mut out);
        } else {
            out.extend_from_slice(&leg.bits().mysql_bits().to_le_bytes());
            out.extend_from_slice(head.get(4..).unwrap_or_default());
        }
        out.extend(leg.zstd_level);
        if !login.capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            // Not a level: something of the client's that we don't know. The server shall judge it.
            out.extend_from_slice(payload.get(head_len..).unwrap_or_default());
        }
        debug_assert_eq!(out.capacity(), capacity, "a copy was left behind");
        Ok(out)
    }

    /// Whether the packet ended before a field that its capabilities announce.
    fn leaves_out(&self) -> bool {
        [
            (Capabilities::CONNECT_WITH_DB, self.database.is_none()),
            (Capabilities::PLUGIN_AUTH, self.auth_plugin.is_none()),
            (Capabilities::CONNECT_ATTRS, self.attributes.is_none()),
        ]
        .iter()
        .any(|(flag, is_absent)| self.capabilities.contains(*flag) && *is_absent)
    }

    /// Everything up to the attributes, with a switch asked for, attributes replaced, or absent fields filled up.
    fn rewrite(mut self, head: &[u8], leg: &ServerLeg<'_>, out: &mut Vec<u8>) {
        if leg.asks_for_switch {
            self.auth_response.clear();
            self.auth_plugin = Some(NO_PLUGIN.to_vec());
        }
        self.auth_plugin.get_or_insert_with(|| UNNAMED_PLUGIN.to_vec());
        self.capabilities = leg.bits();
        if !leg.attributes.is_empty() {
            let own = self.attributes.take().unwrap_or_default();
            self.attributes = Some(replace_attributes(&own, leg.attributes));
        }
        out.extend_from_slice(&self.capabilities.mysql_bits().to_le_bytes());
        out.extend_from_slice(head.get(4..SSL_REQUEST_LEN).unwrap_or_default());
        self.write_fields(out);
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("capabilities", &self.capabilities)
            .field("max_packet_len", &self.max_packet_len)
            .field("charset", &self.charset)
            .field("user", &self.user.escape_ascii().to_string())
            .field("auth_response", &format_args!("{} bytes", self.auth_response.len()))
            .field("database", &self.database)
            .field("auth_plugin", &self.auth_plugin)
            .field("attributes", &self.attributes)
            .field("zstd_level", &self.zstd_level)
            .finish()
    }
}

/// What the server leg's login shall say otherwise than the client's.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerLeg<'a> {
    /// The capability bits ([`super::negotiate::requested`]).
    pub capabilities: Capabilities,
    /// The zstd level, if the leg is zstd.
    pub zstd_level: Option<u8>,
    /// The client's response is left out, so that the server asks for it anew
    /// ([`super::auth::Begin::AskForSwitch`]).
    pub asks_for_switch: bool,
    /// Connection attributes that replace the client's of the same name; `capabilities` must have CONNECT_ATTRS.
    pub attributes: &'a [(&'a [u8], &'a [u8])],
}

impl ServerLeg<'_> {
    /// The capability bits of the login, and of the SSLRequest before it, whose bits are the ones that count.
    pub fn bits(&self) -> Capabilities {
        match self.attributes {
            [] => self.capabilities,
            _ => self.capabilities | Capabilities::CONNECT_ATTRS,
        }
    }
}

/// The SSLRequest that goes before `login` on a leg with TLS.
pub fn ssl_request(login: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut out = capabilities.mysql_bits().to_le_bytes().to_vec();
    out.extend_from_slice(login.get(4..SSL_REQUEST_LEN).unwrap_or_default());
    out
}

/// Puts the capability bits of the SSLRequest into the login that followed it: neither server reads a login's own.
pub fn apply_ssl_request(ssl_request: &[u8], login: &mut [u8]) {
    for range in [CAPABILITIES, MARIADB_CAPABILITIES] {
        if let (Some(counts), Some(ignored)) = (ssl_request.get(range.clone()), login.get_mut(range)) {
            ignored.copy_from_slice(counts);
        }
    }
}

/// A buffer for a login or COM_CHANGE_USER of about `len` bytes, rewritten, with `added`. A `Vec` that grows frees its old
/// memory as it is, and what is in it may let somebody in.
pub(super) fn room_for(len: usize, added: &[(&[u8], &[u8])]) -> Vec<u8> {
    let added_len: usize =
        added.iter().map(|(name, value)| name.len() + value.len() + 2 * LENENC_LEN_MAX).sum();
    Vec::with_capacity(len + added_len + REWRITTEN_LEN_MAX)
}

/// `added`, and behind them `own` without those of the same names: a server that cuts a long list cuts its end.
pub(super) fn replace_attributes(own: &[u8], added: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut out = Vec::with_capacity(own.len() + 64);
    for (name, value) in added {
        write_lenenc_bytes(&mut out, name);
        write_lenenc_bytes(&mut out, value);
    }
    let mut reader = Reader::new(own);
    while let (Ok(name), Ok(value)) = (reader.lenenc_bytes(), reader.lenenc_bytes()) {
        if !added.iter().any(|(replaced, _)| *replaced == name) {
            let len = out.len();
            write_lenenc_bytes(&mut out, name);
            write_lenenc_bytes(&mut out, value);
            if out.len() > ATTRIBUTES_LEN_MAX {
                out.truncate(len);
                break;
            }
        }
    }
    out
}

/// What a client's first bytes look like when they are no login: for a better error than "malformed".
pub fn foreign_protocol(first: &[u8]) -> Option<&'static str> {
    match first {
        // A record with a ClientHello. As a packet it would be of 66,326 bytes or more and without PROTOCOL_41's bit; one of
        // 790 bytes begins with 16 03 too.
        [0x16, 0x03, 1..=3, _, _, 0x01, ..] => Some("a TLS handshake without MySQL's greeting"),
        [b'G', b'E', b'T', b' ', ..] | [b'P', b'O', b'S', b'T', ..] | [b'H', b'E', b'A', b'D', ..] => {
            Some("an HTTP client")
        }
        [b'S', b'S', b'H', b'-', ..] => Some("an SSH client"),
        first if proxy_protocol::starts_like(first) => Some("a PROXY protocol header"),
        // X protocol: length 4 little endian (small), type 1 CapabilitiesGet, 2 CapabilitiesSet, 4 AuthenticateStart.
        [1..=0xff, 0..=4, 0, 0, 1 | 2 | 4, ..] => Some("an X protocol client, whose port is 33060"),
        [0, 0, 0, n, ..] if *n != 1 => Some("a PostgreSQL client"),
        _ => None,
    }
}

/// MySQL refuses a login with more.
/// Source: `sql/auth/sql_authentication.cc` (`read_client_connect_attrs`).
const ATTRIBUTES_LEN_MAX: usize = 65_535;
/// What servers take the response for where its plugin isn't named.
pub const UNNAMED_PLUGIN: &[u8] = b"mysql_native_password";
/// A number before a string, bytes.
const LENENC_LEN_MAX: usize = 9;
/// More than a rewritten packet has beside its attributes: another plugin's name (27), three lengths, ends of fields, a level.
const REWRITTEN_LEN_MAX: usize = 96;
/// Caps, max packet, charset and filler: a login that ends there asks for TLS.
const SSL_REQUEST_LEN: usize = 32;
const CAPABILITIES: Range<usize> = 0..4;
const MARIADB_CAPABILITIES: Range<usize> = 28..SSL_REQUEST_LEN;

#[cfg(test)]
mod tests;
