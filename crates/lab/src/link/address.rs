//! Where a server listens: `host:port` or `unix:/path`, as the proxy's options write it.
//!
//! Not here: user, password and schema (a URL is the demo's).

use std::fmt;
use std::path::PathBuf;

/// A server's address. Names are looked up for each connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `host:port`; an IPv6 literal stands in brackets.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Host, without the brackets of an IPv6 literal, and port as clients take them apart; none for a socket, or
    /// without a port.
    #[must_use]
    pub fn host_and_port(&self) -> Option<(&str, &str)> {
        let Self::Tcp(address) = self else { return None };
        let (host, port) = address.rsplit_once(':')?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        Some((bare.unwrap_or(host), port))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<std::net::SocketAddr> for Address {
    fn from(address: std::net::SocketAddr) -> Self {
        Self::Tcp(address.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_taken_apart_for_clients() {
        let apart = |address: &str| {
            let address = Address::Tcp(address.to_owned());
            address.host_and_port().map(|(host, port)| format!("{host} {port}"))
        };
        assert_eq!(apart("db.example:3307").as_deref(), Some("db.example 3307"));
        assert_eq!(apart("[::1]:3306").as_deref(), Some("::1 3306"));
        assert_eq!(apart("db.example"), None);
        assert_eq!(Address::Unix("/tmp/s".into()).host_and_port(), None);
    }
}
