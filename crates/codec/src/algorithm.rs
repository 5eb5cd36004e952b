//! The three algorithms that MySQL's protocol knows, under MySQL's names.
//!
//! Not here: how two peers agree on one (`wire::connect::negotiate`).

use std::fmt;
use std::str::FromStr;

/// A compression algorithm of the classic protocol.
///
/// Source: MySQL Reference Manual, `protocol_compression_algorithms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// No frames at all: packets travel bare.
    Uncompressed,
    /// RFC 1950, one complete stream per frame.
    Zlib,
    /// RFC 8878, one complete zstd frame per protocol frame.
    Zstd,
}

impl Algorithm {
    /// All of them, in the order in which `auto` wishes for them.
    pub const ALL: [Self; 3] = [Self::Zstd, Self::Zlib, Self::Uncompressed];

    /// MySQL's name of the algorithm, as in `--compression-algorithms`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncompressed => "uncompressed",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// Whether a leg with this algorithm carries frames.
    pub const fn is_framed(self) -> bool {
        !matches!(self, Self::Uncompressed)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is none of MySQL's three.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a compression algorithm; use zstd, zlib or uncompressed")]
pub struct UnknownAlgorithm(pub String);

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name().eq_ignore_ascii_case(name.trim()))
            .ok_or_else(|| UnknownAlgorithm(name.trim().to_owned()))
    }
}

/// A set of algorithms: what a listener permits.
///
/// Shape: MySQL's comma-separated list; the order carries no meaning, as in MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmSet {
    /// zstd is permitted.
    pub zstd: bool,
    /// zlib is permitted.
    pub zlib: bool,
    /// Clients without compression are permitted.
    pub uncompressed: bool,
}

impl AlgorithmSet {
    /// All three: MySQL's default.
    pub const ALL: Self = Self { zstd: true, zlib: true, uncompressed: true };

    /// The set that holds exactly `algorithms`.
    pub fn of(algorithms: &[Algorithm]) -> Self {
        Self {
            zstd: algorithms.contains(&Algorithm::Zstd),
            zlib: algorithms.contains(&Algorithm::Zlib),
            uncompressed: algorithms.contains(&Algorithm::Uncompressed),
        }
    }

    /// Whether `algorithm` is in the set.
    pub const fn contains(self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Uncompressed => self.uncompressed,
            Algorithm::Zlib => self.zlib,
            Algorithm::Zstd => self.zstd,
        }
    }
}

impl fmt::Display for AlgorithmSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            Algorithm::ALL.into_iter().filter(|a| self.contains(*a)).map(Algorithm::name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case_and_written_as_mysql_writes_them() {
        assert_eq!("ZSTD".parse(), Ok(Algorithm::Zstd));
        assert_eq!(" zlib ".parse(), Ok(Algorithm::Zlib));
        assert_eq!(Algorithm::Uncompressed.to_string(), "uncompressed");
    }

    #[test]
    fn an_unknown_name_says_what_is_known() {
        let error = "lz4".parse::<Algorithm>().unwrap_err();
        assert_eq!(error.to_string(), "'lz4' is not a compression algorithm; use zstd, zlib or uncompressed");
    }

    #[test]
    fn a_set_lists_its_members() {
        assert_eq!(AlgorithmSet::ALL.to_string(), "zstd,zlib,uncompressed");
        assert_eq!(AlgorithmSet::of(&[Algorithm::Zlib]).to_string(), "zlib");
    }
}
