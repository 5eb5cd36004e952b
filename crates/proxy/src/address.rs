//! Where to listen, and where the server is: `host:port`, `[ipv6]:port`, `unix:/path`; `wirepress://` and one of these
//! for the other half of a pair.
//!
//! Not here: looking a name up, which is done anew for each connection (`leg`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// A TCP or Unix socket address. A host may be a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A name or IP literal, without brackets, and a port.
    Tcp {
        /// Name or literal.
        host: String,
        /// Port; 0 lets the kernel choose when listening.
        port: u16,
    },
    /// A socket's path.
    Unix(PathBuf),
    /// A pair listener of another wirepress, by its TCP or Unix address.
    Pair(Box<Self>),
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no address: {reason}; write host:port, [ipv6]:port or unix:/path, with wirepress:// before it for a pair"
)]
pub struct BadAddress {
    text: String,
    reason: &'static str,
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = |reason| BadAddress { text: text.to_owned(), reason };
        // A line break would end it in a handover's message and in log lines.
        if text.contains(char::is_control) {
            return Err(bad("it holds a control character"));
        }
        if let Some(peer) = text.strip_prefix(PAIR_SCHEME) {
            return match peer.parse() {
                Ok(Self::Pair(_)) => Err(bad("a pair has no pair behind it")),
                Ok(peer) => Ok(Self::Pair(Box::new(peer))),
                Err(BadAddress { reason, .. }) => Err(bad(reason)),
            };
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(bad("the path is empty")),
                path if path.len() > UNIX_PATH_LEN_MAX => {
                    Err(bad("a socket's path may have 107 bytes at most"))
                }
                path => Ok(Self::Unix(path.into())),
            };
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
        let port = port.parse().map_err(|_| bad("the port is no number from 0 to 65535"))?;
        let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(literal) => {
                literal.parse::<Ipv6Addr>().map_err(|_| bad("the brackets hold no IPv6 address"))?;
                literal
            }
            None if host.contains(':') => return Err(bad("an IPv6 address needs brackets")),
            None => host,
        };
        if host.is_empty() {
            return Err(bad("the host is empty"));
        }
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Pair(peer) => write!(f, "{PAIR_SCHEME}{peer}"),
        }
    }
}

impl Address {
    /// The pair listener that it names, if it names one.
    pub fn pair(&self) -> Option<&Self> {
        match self {
            Self::Pair(peer) => Some(peer),
            Self::Tcp { .. } | Self::Unix(_) => None,
        }
    }

    /// Whether nothing leaves the host, as far as the text tells: a Unix socket, or a loopback address.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
            }
            Self::Pair(peer) => peer.is_local(),
        }
    }
}

impl From<std::net::SocketAddr> for Address {
    fn from(address: std::net::SocketAddr) -> Self {
        Self::Tcp { host: address.ip().to_string(), port: address.port() }
    }
}

/// What stands before the address of a pair listener.
const PAIR_SCHEME: &str = "wirepress://";
/// `sun_path` has 108 bytes, one is the NUL.
const UNIX_PATH_LEN_MAX: usize = 107;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in [
            "127.0.0.1:3306",
            "db.example.com:0",
            "[::1]:3306",
            "unix:/run/mysqld/mysqld.sock",
            "wirepress://db:3308",
            "wirepress://unix:/run/pair",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_address_says_what_is_wrong_and_what_to_write() {
        for (text, reason) in [
            ("localhost", "the port is missing"),
            ("localhost:x", "no number"),
            ("localhost:70000", "no number"),
            ("::1:3306", "needs brackets"),
            ("[::g]:3306", "no IPv6"),
            (":3306", "the host is empty"),
            ("unix:", "the path is empty"),
            ("wirepress://db", "the port is missing"),
            ("wirepress://wirepress://db:1", "no pair behind"),
            ("unix:/run/a\nunix:/run/b", "control character"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("host:port"), "{error}");
        }
    }
}
