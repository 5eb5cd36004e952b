//! Whose connection it is: what the socket says, or the PROXY header of a trusted peer.
//!
//! Not here: the header's bytes (`wire::proxy_protocol`), who is trusted (`networks`).

use std::fmt;
use std::net::SocketAddr;

use wire::proxy_protocol::{Address, Command, Header};

use crate::connect::Attribute;

/// Both ends of the client's own connection; `None` is a Unix socket's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(Option<Ends>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    source: SocketAddr,
    destination: SocketAddr,
}

impl ClientAddress {
    pub(crate) const UNIX: Self = Self(None);

    /// Of a TCP connection. IPv4 on an IPv6 socket is IPv4.
    pub(crate) fn tcp(source: SocketAddr, destination: SocketAddr) -> Self {
        let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Self(Some(Ends { source: canonical(source), destination: canonical(destination) }))
    }

    /// The client's own address, if it is TCP.
    pub(crate) fn source(&self) -> Option<SocketAddr> {
        self.0.map(|ends| ends.source)
    }

    /// What a trusted peer's header says of it; the socket's own addresses where it says nothing.
    pub(crate) fn told_by(self, header: &Header) -> Self {
        match (header.command, &header.source, &header.destination) {
            (Command::Proxy, Some(Address::Tcp(source)), Some(Address::Tcp(destination))) => {
                Self::tcp(*source, *destination)
            }
            (Command::Proxy, Some(Address::Unix(_)), _) => Self::UNIX,
            _ => self,
        }
    }

    /// Address and port as MySQL Router's connection attributes say them; none for a Unix socket.
    pub(crate) fn attributes(&self) -> Vec<Attribute> {
        let Some(source) = self.source() else { return Vec::new() };
        vec![("_client_ip", source.ip().to_string()), ("_client_port", source.port().to_string())]
    }

    /// The header that says it to a server.
    pub(crate) fn header(&self) -> Header {
        match self.0 {
            Some(Ends { source, destination }) => Header::proxied(source.into(), destination.into()),
            None => Header::LOCAL,
        }
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ends) => ends.source.fmt(f),
            None => f.write_str("unix"),
        }
    }
}
