//! Levels as types, so that a level outside its range cannot travel further than the parser.
//!
//! Not here: which level is worth it; levels are not a ladder, see `docs/adr/0005-zstd-parameters.md`.

use std::fmt;
use std::str::FromStr;

/// A zstd level that MySQL's protocol can name: 1 to 22.
///
/// Source: MySQL Reference Manual, `--zstd-compression-level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZstdLevel(u8);

impl ZstdLevel {
    /// MySQL's default of `--zstd-compression-level`.
    pub const DEFAULT: Self = Self(3);
    /// The highest level that is mostly worth its time where a link is slow: 1.1 times fewer bytes of text than 3
    /// (`examples/speeds.rs`).
    pub const SLOW_LINK: Self = Self(7);
    /// The lowest level of the protocol.
    pub const MIN: Self = Self(1);
    /// The highest level of the protocol.
    pub const MAX: Self = Self(22);

    /// The level, or `None` outside 1 to 22.
    pub const fn new(level: u8) -> Option<Self> {
        if level >= 1 && level <= 22 { Some(Self(level)) } else { None }
    }

    /// The number itself.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// A zlib level in libdeflate's counting: 1 (fastest) to 12.
///
/// Source: libdeflate's `libdeflate_alloc_compressor`; any of them yields a stream that every zlib reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZlibLevel(u8);

impl ZlibLevel {
    /// libdeflate 1: several times faster than zlib's 6, and on digits smaller as well.
    pub const DEFAULT: Self = Self(1);

    /// The level, or `None` outside 1 to 12.
    pub const fn new(level: u8) -> Option<Self> {
        if level >= 1 && level <= 12 { Some(Self(level)) } else { None }
    }

    /// The number itself.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for ZstdLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ZlibLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ZstdLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Self::new).ok_or("a zstd level is a whole number from 1 to 22")
    }
}

impl FromStr for ZlibLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Self::new).ok_or("a zlib level is a whole number from 1 to 12")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_outside_their_range_do_not_exist() {
        assert!(ZstdLevel::new(0).is_none() && ZstdLevel::new(23).is_none());
        assert!(ZlibLevel::new(0).is_none() && ZlibLevel::new(13).is_none());
        assert_eq!("22".parse::<ZstdLevel>().map(ZstdLevel::get), Ok(22));
        assert!("-1".parse::<ZstdLevel>().is_err() && "x".parse::<ZlibLevel>().is_err());
    }
}
