//! A compression setting, by the name it has in tables, files and arguments.
//!
//! Invariants: what is written can be read again and is the same setting.

use std::fmt;
use std::str::FromStr;

use codec::Algorithm;
use serde::{Deserialize, Serialize};

use super::Compressor;
use crate::client::Compression;

/// Algorithm and level of the connection that crosses the link, or what packs the backup that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Setting {
    /// Uncompressed.
    None,
    /// zlib; the protocol has no level for it, who packs chooses.
    Zlib,
    /// zstd at the level that the client asks for.
    Zstd(u8),
    /// zstd, with the proxy's `--policy latency`.
    Latency,
    /// A backup's stream through that program; its connection is plain.
    Stream(Compressor),
}

impl Setting {
    /// What our client asks for.
    #[must_use]
    pub fn compression(self) -> Compression {
        match self {
            Self::None | Self::Stream(_) => Compression::NONE,
            Self::Zlib => Compression { algorithm: Algorithm::Zlib, level: 1 },
            Self::Zstd(level) => Compression { algorithm: Algorithm::Zstd, level },
            Self::Latency => Compression { algorithm: Algorithm::Zstd, level: ZSTD_LEVEL },
        }
    }

    /// MySQL's word for the algorithm, as `--compression-algorithms` takes it.
    #[must_use]
    pub const fn algorithm_name(self) -> &'static str {
        match self {
            Self::None | Self::Stream(_) => "uncompressed",
            Self::Zlib => "zlib",
            Self::Zstd(_) | Self::Latency => "zstd",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Zlib => f.pad("zlib"),
            Self::Latency => f.pad("latency"),
            Self::Stream(compressor) => compressor.fmt(f),
            Self::Zstd(level) => f.pad(&format!("zstd {level}")),
        }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(compressor) = Compressor::named(text) {
            return Ok(Self::Stream(compressor));
        }
        match text.split_once([' ', ':', '-']) {
            None if text == "none" => Ok(Self::None),
            None if text == "zlib" => Ok(Self::Zlib),
            None if text == "latency" => Ok(Self::Latency),
            None if text == "zstd" => Ok(Self::Zstd(ZSTD_LEVEL)),
            Some(("zstd", level)) => match level.parse() {
                Ok(level @ 1..=22) => Ok(Self::Zstd(level)),
                _ => Err(format!("zstd has the levels 1 to 22, not '{level}'")),
            },
            _ => Err(format!("'{text}' is no setting; there are none, zlib, zstd:1 to zstd:22, and latency")),
        }
    }
}

impl TryFrom<String> for Setting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Setting> for String {
    fn from(setting: Setting) -> Self {
        setting.to_string()
    }
}

/// MySQL's default level.
const ZSTD_LEVEL: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for setting in [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(22), Setting::Latency] {
            assert_eq!(setting.to_string().parse(), Ok(setting));
        }
        for compressor in
            Compressor::MEASURED.into_iter().chain([Compressor::Qpress, Compressor::QpressBuiltIn])
        {
            assert_eq!(compressor.to_string().parse(), Ok(Setting::Stream(compressor)));
        }
        assert_eq!("zstd".parse(), Ok(Setting::Zstd(3)));
        assert_eq!("zstd:7".parse(), Ok(Setting::Zstd(7)));
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_would_be_one() {
        for (text, part) in [("zstd 0", "1 to 22"), ("zstd 23", "1 to 22"), ("lz4", "'lz4' is no setting")] {
            assert!(text.parse::<Setting>().unwrap_err().contains(part), "{text}");
        }
    }
}
