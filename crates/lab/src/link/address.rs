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
