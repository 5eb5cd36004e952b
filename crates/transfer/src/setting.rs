//! How hard a chunk is compressed: zstd's own levels, or not at all.
//!
//! Not here: which one is worth it (`auto`); levels are not a ladder.

/// What is done with a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// Kept as it is, in blocks that zstd calls raw.
    Stored,
    /// A level of zstd, never 0: below it the fast ones (`--fast=N` is -N).
    Level(i32),
}

/// A level that zstd does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("zstd has levels -1 to -22 and --fast=1 to --fast=131072")]
pub struct SettingFault;

impl Setting {
    /// A level of zstd, 1 to 22, or -1 to -131072 for `--fast`.
    pub const fn level(level: i32) -> Result<Self, SettingFault> {
        match level {
            1..=LEVEL_MAX | LEVEL_MIN..=-1 => Ok(Self::Level(level)),
            _ => Err(SettingFault),
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stored => f.write_str("stored"),
            Self::Level(level @ ..0) => write!(f, "zstd --fast={}", -level),
            Self::Level(level) => write!(f, "zstd -{level}"),
        }
    }
}

/// zstd's `ZSTD_maxCLevel()`.
const LEVEL_MAX: i32 = 22;
/// zstd's `ZSTD_minCLevel()`.
const LEVEL_MIN: i32 = -131_072;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_zstd_lacks_do_not_exist() {
        for level in [0, 23, -131_073] {
            assert_eq!(Setting::level(level), Err(SettingFault));
        }
        assert_eq!(Setting::level(-3).unwrap().to_string(), "zstd --fast=3");
        assert_eq!(Setting::level(22).unwrap().to_string(), "zstd -22");
        let ends = [zstd_safe::min_c_level(), zstd_safe::max_c_level()];
        assert!(ends.map(Setting::level).iter().all(Result::is_ok));
    }
}
