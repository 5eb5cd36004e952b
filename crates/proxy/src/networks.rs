//! Lists of networks, as in `--proxy-protocol-from`.
//!
//! Not here: what it means to be in one.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// Addresses that share a prefix, or all peers on Unix sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// `10.0.0.0/8`, `192.0.2.1`, `2001:db8::/32`.
    Ip(IpNet),
    /// `unix`.
    Unix,
}

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no network; write an address, or a prefix such as 10.0.0.0/8 or 2001:db8::/32, or unix")]
pub struct BadNetwork(String);

impl Network {
    /// Whether a peer is in it; `None` is a peer on a Unix socket.
    pub fn contains(&self, peer: Option<IpAddr>) -> bool {
        match (self, peer) {
            (Self::Ip(network), Some(peer)) => network.contains(&peer),
            (Self::Unix, None) => true,
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        if text.eq_ignore_ascii_case("unix") {
            return Ok(Self::Unix);
        }
        let single = text.parse::<IpAddr>().map(IpNet::from);
        let network = single.or_else(|_| text.parse::<IpNet>()).map_err(|_| BadNetwork(text.to_owned()))?;
        Ok(Self::Ip(network))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(network) => network.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_own_and_no_others() {
        let holds =
            |network: &str, peer: &str| network.parse::<Network>().unwrap().contains(peer.parse().ok());
        assert!(holds("10.0.0.0/8", "10.255.0.1"));
        assert!(!holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("192.0.2.1", "192.0.2.1"));
        assert!(!holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("2001:db8::/32", "2001:db8::1"));
        assert!(!holds("0.0.0.0/0", "::1"));
        assert!(holds("unix", "not an address"));
        assert!(!holds("unix", "127.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_told_with_examples() {
        for text in ["", "10.0.0.0/33", "host", "10.0.0", "::/129"] {
            assert!(text.parse::<Network>().unwrap_err().to_string().contains("10.0.0.0/8"), "{text}");
        }
    }
}
