//! What one run of the experiment asks for.
//!
//! ```text
//!  direct        client ═ link ═ database                      no proxy: the baseline
//!  none          client ═ link ═ proxy ─ database              through the proxy, uncompressed
//!  zlib, zstd n  client ═ link ═ proxy ─ database              the proxy compresses what crosses the link
//! ```
//!
//! Not here: what came of it (`sample`).

use std::fmt;

use codec::Algorithm;

use crate::client::Compression;

/// One row of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// Without a proxy.
    Direct,
    /// Through the proxy, uncompressed.
    Uncompressed,
    /// zlib at the proxy's default level; the protocol lets no client choose it.
    Zlib,
    /// zstd at the level that the client asks for.
    Zstd(u8),
}

impl Setting {
    /// All settings, in the order of the report. The zstd levels are the published ones, and 1, which
    /// nobody published and which is the cheapest.
    pub(super) const ALL: [Self; 7] = [
        Self::Direct,
        Self::Uncompressed,
        Self::Zlib,
        Self::Zstd(1),
        Self::Zstd(3),
        Self::Zstd(7),
        Self::Zstd(10),
    ];

    /// What the client asks for.
    #[must_use]
    pub(super) fn compression(self) -> Compression {
        match self {
            Self::Direct | Self::Uncompressed => Compression::NONE,
            Self::Zlib => Compression { algorithm: Algorithm::Zlib, level: 1 },
            Self::Zstd(level) => Compression { algorithm: Algorithm::Zstd, level },
        }
    }

    /// The level under which the published experiment lists this setting (0 is uncompressed); `None` for
    /// what it did not try.
    #[must_use]
    pub(super) fn published_zstd_level(self) -> Option<u8> {
        match self {
            Self::Uncompressed => Some(0),
            Self::Zstd(level) => Some(level),
            Self::Direct | Self::Zlib => None,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("no proxy"),
            Self::Uncompressed => f.write_str("none"),
            Self::Zlib => f.write_str("zlib"),
            Self::Zstd(level) => write!(f, "zstd {level}"),
        }
    }
}
