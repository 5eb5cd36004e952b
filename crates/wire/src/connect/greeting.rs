//! The server's first packet (HandshakeV10).
//!
//! ```text
//! 0a | version \0 | thread id 4 | nonce 8 | 00 | caps 2 | charset 1 | status 2 | caps 2 | nonce length 1
//!    | 6 zero, 4 MariaDB's extended caps | nonce 12, \0 | plugin \0
//! ```
//! Source: MySQL internals, `page_protocol_connection_phase_packets_protocol_handshake_v10.html`; MariaDB
//! `sql/sql_acl.cc`; pinned by the captures in `tests/it/captures.rs`.
//! Not here: what the proxy changes in it (`negotiate`).

use crate::response::{ErrPacket, err};
use crate::{Capabilities, Fault, Reader};

/// A parsed greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Like `9.7.4` or `5.5.5-10.11.19-MariaDB`.
    pub server_version: Vec<u8>,
    /// The server's connection id, which KILL needs.
    pub thread_id: u32,
    /// 20 random bytes, without the NUL that ends them on the wire.
    pub nonce: Vec<u8>,
    /// What the server can do.
    pub capabilities: Capabilities,
    /// Default collation, low byte.
    pub charset: u8,
    /// SERVER_STATUS flags.
    pub status: u16,
    /// Default authentication plugin.
    pub auth_plugin: Vec<u8>,
}

/// The server's first packet: a greeting, or its reason not to talk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstPacket {
    /// The usual.
    Greeting(Greeting),
    /// Too many connections, host blocked, ...
    Refusal(ErrPacket),
}

impl FirstPacket {
    /// Reads the payload of a server's first packet.
    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        match payload.first() {
            Some(&err::HEADER) => Ok(Self::Refusal(ErrPacket::parse(payload)?)),
            _ => Ok(Self::Greeting(Greeting::parse(payload)?)),
        }
    }
}

impl Greeting {
    /// Whether the server is a MariaDB. From 11 on it no longer writes `5.5.5-` before its version.
    pub fn is_mariadb(&self) -> bool {
        // Extended capabilities are announced only by a server that leaves CLIENT_MYSQL clear.
        !self.capabilities.contains(Capabilities::LONG_PASSWORD)
            || self.server_version.windows(7).any(|window| window.eq_ignore_ascii_case(b"mariadb"))
    }

    /// Reads the payload of a greeting.
    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(payload);
        match reader.u8()? {
            PROTOCOL_VERSION => {}
            X_PROTOCOL_NOTICE => {
                return Err(Fault::NotMySql { looks_like: "X protocol, which servers speak on port 33060" });
            }
            version => return Err(Fault::GreetingVersionUnknown { version }),
        }
        let server_version = reader.nul_terminated()?.to_vec();
        let thread_id = reader.u32()?;
        let mut nonce = reader.bytes(8)?.to_vec();
        reader.u8()?;
        let low = reader.u16()?;
        let charset = reader.u8()?;
        let status = reader.u16()?;
        let high = reader.u16()?;
        let nonce_len = usize::from(reader.u8()?);
        reader.bytes(6)?;
        let extended = reader.u32()?;
        let mysql_bits = u32::from(low) | u32::from(high) << 16;
        let mariadb_bits = if Capabilities::from_bits(mysql_bits, 0).contains(Capabilities::LONG_PASSWORD) {
            0
        } else {
            extended
        };
        let tail = reader.bytes(nonce_len.saturating_sub(8).max(13).min(reader.rest().len()))?;
        nonce.extend(tail.strip_suffix(&[0]).unwrap_or(tail));
        Ok(Self {
            server_version,
            thread_id,
            nonce,
            capabilities: Capabilities::from_bits(mysql_bits, mariadb_bits),
            charset,
            status,
            auth_plugin: reader.nul_terminated_or_rest().to_vec(),
        })
    }

    /// The payload.
    pub fn build(&self) -> Vec<u8> {
        let bits = self.capabilities.mysql_bits();
        let [low, low2, high, high2] = bits.to_le_bytes();
        let (first, second) = self.nonce.split_at(8.min(self.nonce.len()));
        let mut out = vec![PROTOCOL_VERSION];
        out.extend_from_slice(&self.server_version);
        out.push(0);
        out.extend_from_slice(&self.thread_id.to_le_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(&[0, low, low2, self.charset]);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&[high, high2]);
        out.push(u8::try_from(self.nonce.len() + 1).unwrap_or(u8::MAX));
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&self.capabilities.mariadb_bits().to_le_bytes());
        out.extend_from_slice(second);
        out.push(0);
        out.extend_from_slice(&self.auth_plugin);
        out.push(0);
        out
    }
}

/// Changes only MySQL's capability bits of a greeting's payload; everything else stays as the server sent it.
pub fn replace_capabilities(payload: &mut [u8], capabilities: Capabilities) -> Result<(), Fault> {
    let malformed = Fault::Malformed("greeting");
    let version_len = payload.iter().position(|b| *b == 0).ok_or_else(|| malformed.clone())?;
    let low_at = version_len + 1 + 4 + 8 + 1;
    let [low, low2, high, high2] = capabilities.mysql_bits().to_le_bytes();
    let fields = payload.get_mut(low_at..low_at + 7).ok_or(malformed)?;
    if let [a, b, _, _, _, c, d] = fields {
        (*a, *b, *c, *d) = (low, low2, high, high2);
    }
    Ok(())
}

/// What the first bytes of a server look like when they are no greeting: for a better error than a length.
pub fn foreign_protocol(first: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 5] = [
        (b"SSH-", "an SSH server"),
        (b"HTTP/", "an HTTP server"),
        (b"220 ", "an SMTP or FTP server"),
        (b"+OK", "a POP3 or Redis server"),
        (b"-ERR", "a Redis server"),
    ];
    known.into_iter().find(|(start, _)| first.starts_with(start)).map(|(_, name)| name)
}

/// The only version that servers since MySQL 3.21 speak.
const PROTOCOL_VERSION: u8 = 0x0a;
/// X protocol's server opens with a Notice: length 4, type 11; the length's low byte passes for a packet's.
const X_PROTOCOL_NOTICE: u8 = 0x0b;

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting() -> Greeting {
        Greeting {
            server_version: b"9.7.4".to_vec(),
            thread_id: 77,
            nonce: (1..=20).collect(),
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::LONG_PASSWORD | Capabilities::SSL,
            charset: 255,
            status: 2,
            auth_plugin: b"caching_sha2_password".to_vec(),
        }
    }

    #[test]
    fn a_greeting_round_trips() {
        assert_eq!(Greeting::parse(&greeting().build()), Ok(greeting()));
    }

    #[test]
    fn replacing_capabilities_changes_nothing_else() {
        let mut payload = greeting().build();
        let capabilities = Capabilities::PROTOCOL_41 | Capabilities::LONG_PASSWORD | Capabilities::COMPRESS;
        replace_capabilities(&mut payload, capabilities).unwrap();
        assert_eq!(Greeting::parse(&payload), Ok(Greeting { capabilities, ..greeting() }));
    }

    #[test]
    fn a_mariadb_is_known_by_its_extended_capabilities() {
        let capabilities = Capabilities::PROTOCOL_41 | Capabilities::MARIADB_PROGRESS;
        let mariadb = Greeting { capabilities, ..greeting() };
        assert!(Greeting::parse(&mariadb.build()).unwrap().is_mariadb());
        assert!(!greeting().is_mariadb());
    }

    #[test]
    fn an_x_protocol_notice_is_named() {
        let fault = Greeting::parse(&[0x0b, 0x08, 0x05, 0x1a, 0x00]).unwrap_err();
        assert!(fault.to_string().contains("33060"), "{fault}");
    }

    #[test]
    fn a_greeting_cut_anywhere_is_malformed_and_never_panics() {
        let whole = greeting().build();
        let fixed_len = whole.len() - b"caching_sha2_password\0".len();
        for len in 0..whole.len() {
            // A plugin's name may be cut short, or missing in old servers.
            assert!(Greeting::parse(&whole[..len]).is_err() || len + 13 >= fixed_len, "cut at {len}");
        }
    }
}
