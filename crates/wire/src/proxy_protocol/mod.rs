//! The PROXY protocol: a header before the first packet, by which a proxy says whose connection it relays.
//!
//! ```text
//! version 1   PROXY TCP4 192.0.2.1 192.0.2.2 51874 3306 \r\n                        one line of text: `v1`
//! version 2   12 signature | 1 version, command | 1 family | 2 len | addresses | TLVs          binary: `v2`
//! ```
//! Invariants: no byte behind a header is touched; a header that is not exactly one is a fault, as early as its
//! bytes tell; addresses come in pairs; what is built here is at most [`PROXY_HEADER_SENT_LEN_MAX`] bytes.
//! Source: `doc/proxy-protocol.txt` of HAProxy, edition of 2020/03/05; pinned by the headers that HAProxy sent, in
//! `tests/it/proxy_protocol.rs`.
//!
//! Not here: from whom a header is believed, and how long it is waited for (crate `proxy`).

#[cfg(test)]
mod tests;
mod v1;
mod v2;

use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::Fault;
use crate::limits::{PROXY_HEADER_SENT_LEN_MAX, PROXY_V1_LEN_MAX};

pub use v1::build as build_v1;
pub use v2::{Options, build as build_v2};

/// Whose connection it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Whether the connection is relayed at all.
    pub command: Command,
    /// The client's end of the client's connection; `None` if unknown: the socket's own peer counts.
    pub source: Option<Address>,
    /// The end that the client connected to. It is there when the source is, and of the same kind.
    pub destination: Option<Address>,
}

/// Why the sender connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// For itself, as for a health check. Version 1 can't say so.
    Local,
    /// For the client that the header names, or for one that it can't name (version 1's `UNKNOWN`).
    Proxy,
}

/// One end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// IPv4 or IPv6, and a port. Flow label and scope are never sent.
    Tcp(SocketAddr),
    /// A Unix socket's path, at most 108 bytes; empty without a name; a NUL first in Linux's abstract namespace.
    Unix(Vec<u8>),
}

impl Header {
    /// The header of a connection that the sender opens for itself.
    pub const LOCAL: Self = Self { command: Command::Local, source: None, destination: None };

    /// The header of a connection that is relayed from `source`, which had connected to `destination`.
    pub const fn proxied(source: Address, destination: Address) -> Self {
        Self { command: Command::Proxy, source: Some(source), destination: Some(destination) }
    }

    /// What is sent of the two addresses; `None` if nothing.
    ///
    /// Nothing of Unix sockets: a client on one runs on the sender's host, which is what the socket's own address
    /// says, while MariaDB would take it for one on the server's (`localhost`), whose accounts may have other
    /// rights. HAProxy does likewise.
    const fn pair(&self) -> Option<Pair> {
        match (self.command, &self.source, &self.destination) {
            (
                Command::Proxy,
                Some(Address::Tcp(SocketAddr::V4(source))),
                Some(Address::Tcp(SocketAddr::V4(destination))),
            ) => Some(Pair::V4(*source, *destination)),
            (Command::Proxy, Some(Address::Tcp(source)), Some(Address::Tcp(destination))) => {
                Some(Pair::V6(as_v6(*source), as_v6(*destination)))
            }
            _ => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// Reads the header at the start of `bytes`, of either version, and its length in bytes.
///
/// Shape: `Ok(None)` as long as it is not complete, an empty `bytes` included. A version 1 header is complete within
/// 107 bytes, one of version 2 within 4096. UNKNOWN, LOCAL and UNSPEC carry no addresses.
/// Errors: `ProxyHeaderMissing` if `bytes` start otherwise; `ProxyHeader`, `ProxyHeaderTooLong`,
/// `ProxyCrcMismatch`, `ProxyNotStream`.
pub fn parse(bytes: &[u8]) -> Result<Option<(Header, usize)>, Fault> {
    if bytes.is_empty() {
        Ok(None)
    } else if agree(bytes, v1::SIGNATURE) {
        v1::parse(bytes)
    } else if agree(bytes, v2::SIGNATURE) {
        v2::parse(bytes)
    } else {
        Err(Fault::ProxyHeaderMissing)
    }
}

/// Whether a peer that should send none begins with a header, as far as `first` goes.
///
/// Shape: false for less than four bytes, which may be the start of a packet. No client's first packet has an id
/// that makes its header start like this; MariaDB, too, decides by four bytes.
/// Source: `sql/proxy_protocol.cc` of MariaDB (`has_proxy_protocol_header`).
pub fn starts_like(first: &[u8]) -> bool {
    first.len() >= crate::packet::HEADER_LEN && (agree(first, v1::SIGNATURE) || agree(first, v2::SIGNATURE))
}

/// Source and destination of one family.
enum Pair {
    V4(SocketAddrV4, SocketAddrV4),
    V6(SocketAddrV6, SocketAddrV6),
}

/// Beside an IPv6 address an IPv4 one is sent as `::ffff:a.b.c.d`; receivers know it as what it is.
const fn as_v6(address: SocketAddr) -> SocketAddrV6 {
    match address {
        SocketAddr::V4(v4) => SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0),
        SocketAddr::V6(v6) => v6,
    }
}

/// Whether the shorter of the two is the start of the other.
fn agree(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(byte, expected)| byte == expected)
}

// A line of version 1 needs a place for the NUL that MariaDB puts behind it.
const _: () = assert!(PROXY_V1_LEN_MAX < PROXY_HEADER_SENT_LEN_MAX);
const _: () = assert!(v2::SENT_LEN_MAX <= PROXY_HEADER_SENT_LEN_MAX);
