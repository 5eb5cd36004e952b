//! Values of settings that have words of their own, and how the config file writes values.
//!
//! Not here: what the words do (crate `proxy`).

use std::str::FromStr;

use codec::Algorithm;
use proxy::{Policy, RoutingStrategy, SslMode};
use serde::{Deserialize, Deserializer};

/// A share of something that may be several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percent(pub(super) u32);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let percent = text.parse().ok().filter(|percent| *percent <= proxy::COST_PERCENT_MAX);
        percent
            .map(Self)
            .ok_or_else(|| format!("it takes a whole number of per cent, 0 to {}", proxy::COST_PERCENT_MAX))
    }
}

/// What the server leg asks for, in order of wish.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wishes {
    /// What the link asks for, by the policy; else the best there is.
    Auto,
    /// One of these.
    Only(Vec<Algorithm>),
}

impl FromStr for Wishes {
    type Err = codec::UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self::Only)
    }
}

/// `--tls`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TlsWish {
    /// It is not offered.
    Off,
    /// It is offered.
    Preferred,
    /// Clients without it are refused, but for those on a Unix socket.
    Required,
}

/// `--routing-strategy`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StrategyWish {
    /// The first in the list that is up.
    FirstAvailable,
    /// The one with the fewest sessions of this proxy.
    LeastConnections,
}

/// `--io-uring`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IoUringWish {
    /// Where the kernel lets us.
    Auto,
    /// Never.
    Off,
}

/// `--policy`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PolicyWish {
    /// All, at the level that was asked for.
    Fixed,
    /// Those that are there sooner for it.
    Latency,
    /// Those by which the fewest bytes are sent within the budgets.
    Cost,
}

/// `--send-proxy`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SendProxyWish {
    /// A line of text.
    V1,
    /// Binary, with a checksum.
    V2,
}

/// `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[clap(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub(crate) enum SslWish {
    /// No TLS.
    Disabled,
    /// TLS where the server offers it; not on a Unix socket.
    Preferred,
    /// TLS, whoever the server is.
    Required,
    /// And its certificate comes from --ssl-ca.
    VerifyCa,
    /// And it names the host.
    VerifyIdentity,
}

impl From<StrategyWish> for RoutingStrategy {
    fn from(wish: StrategyWish) -> Self {
        match wish {
            StrategyWish::FirstAvailable => Self::FirstAvailable,
            StrategyWish::LeastConnections => Self::LeastConnections,
        }
    }
}

impl From<PolicyWish> for Policy {
    fn from(wish: PolicyWish) -> Self {
        match wish {
            PolicyWish::Fixed => Self::Fixed,
            PolicyWish::Latency => Self::Latency,
            PolicyWish::Cost => Self::Cost,
        }
    }
}

impl From<SslWish> for SslMode {
    fn from(wish: SslWish) -> Self {
        match wish {
            SslWish::Disabled => Self::Disabled,
            SslWish::Preferred => Self::Preferred,
            SslWish::Required => Self::Required,
            SslWish::VerifyCa => Self::VerifyCa,
            SslWish::VerifyIdentity => Self::VerifyIdentity,
        }
    }
}

/// A value that is written as on the command line.
pub(super) fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// A number that has limits.
pub(super) fn number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let number = u64::deserialize(deserializer)?;
    number.to_string().parse().map(Some).map_err(serde::de::Error::custom)
}

/// A list, as an array or as on the command line.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a list of names")]
    enum Written {
        Array(Vec<String>),
        Text(String),
    }
    let names = match Written::deserialize(deserializer)? {
        Written::Array(names) => names,
        Written::Text(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
    };
    names
        .iter()
        .map(|name| name.parse())
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(serde::de::Error::custom)
}
