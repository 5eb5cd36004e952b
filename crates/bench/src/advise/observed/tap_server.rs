//! The server behind a tap: `host:port`, or a URL whose account may ask it for the link's rate.
//!
//! Invariants: neither `Debug` nor an error shows a password.
//!
//! Not here: the URL's form (`server_url`).

use std::str::FromStr;

use lab::link::Address;

use crate::advise::forecast::LinkShape;
use crate::advise::link::{self, KnownLink};
use crate::advise::traffic::Source;
use crate::client::Stop;
use crate::server_url::{ServerUrl, ServerUrlFault};

/// Where it is, and who we are there, if we are somebody.
#[derive(Debug, Clone)]
pub enum TapServer {
    /// Its address.
    Address(Address),
    /// Its address, and an account.
    Url(ServerUrl),
}

/// What is wrong with it. The text itself is not repeated: it may hold a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapServerFault {
    /// Neither the one nor the other.
    #[error("the server is neither host:port nor mysql://user:password@host:port/database")]
    Form,
    /// A URL that is none.
    #[error(transparent)]
    Url(#[from] ServerUrlFault),
}

impl FromStr for TapServer {
    type Err = TapServerFault;

    fn from_str(text: &str) -> Result<Self, TapServerFault> {
        if text.contains("://") {
            return Ok(Self::Url(text.parse()?));
        }
        let (host, port) = text.rsplit_once(':').ok_or(TapServerFault::Form)?;
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        if host.is_empty() || host.contains(['@', '/']) || !is_port {
            return Err(TapServerFault::Form);
        }
        Ok(Self::Address(Address::Tcp(text.to_owned())))
    }
}

impl TapServer {
    pub(super) fn address(&self) -> &Address {
        match self {
            Self::Address(address) => address,
            Self::Url(url) => &url.address,
        }
    }

    pub(super) fn user(&self) -> Option<&str> {
        match self {
            Self::Address(_) => None,
            Self::Url(url) => Some(&url.account.user),
        }
    }

    /// The link to it; its rate is not known unless there is an account to ask with.
    pub(super) fn link(&self, stop: &Stop) -> anyhow::Result<KnownLink> {
        match self {
            Self::Address(address) => Ok(KnownLink {
                shape: LinkShape { rate_bytes_per_s: 0.0, round_trip_s: link::connect_time_s(address)? },
                is_at_least: true,
                is_assumed: false,
            }),
            Self::Url(url) => {
                let (address, account) = (&url.address, &url.account);
                link::measure(&Source { address, account, allow_writes: false, stop })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_or_a_url_is_read_and_nothing_of_a_bad_one_is_repeated() {
        let parsed = |text: &str| text.parse::<TapServer>().map(|server| server.address().to_string());
        assert_eq!(parsed("db.example:3307"), Ok("db.example:3307".to_owned()));
        assert_eq!(parsed("[::1]:3306"), Ok("[::1]:3306".to_owned()));
        assert_eq!(parsed("mysql://me:hush@db/shop"), Ok("db:3306".to_owned()));
        for text in ["db", "db:", "db:0", ":3306", "me:hush@db:3306", "mysql://me:hush@db"] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains("mysql://user:password@host:port/database"), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
