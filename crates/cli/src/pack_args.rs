//! The arguments of `wirepress pack` and `wirepress unpack`, in zstd's own syntax.
//!
//! Not here: `-1` to `-22` as they are typed (`zstd_syntax`), what the commands do (`pack_command`).

use std::num::NonZeroUsize;

use clap::Args;
use transfer::Setting;

/// Compress standard input to standard output: zstd that says where it ends.
///
/// The stream is valid zstd: `zstd -d` reads it. It has a start and an end, and a hash over all between, so that
/// `wirepress unpack` notices when anything is missing, altered or moved, which `zstd -d` doesn't. It is made for
/// `mariadb-backup --stream`, `xtrabackup --stream`, `mysqldump` and, as compressor= of Galera's SST scripts.
#[derive(Debug, Clone, Args)]
pub(crate) struct PackArgs {
    #[command(flatten)]
    pub(crate) packing: PackingArgs,
}

/// How a stream is made, by `pack` and by `send`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PackingArgs {
    #[command(flatten)]
    pub(crate) level: LevelArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Length of the input, where it is known, such as 800M or 2G: --progress then tells the time left.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) size: Option<u64>,
}

/// Decompress what `wirepress pack` made, and fail unless all of it is there.
///
/// Every frame is verified before a byte of it is written, and the exit code is 0 only if the stream has its start and its
/// end and nothing between them was altered, moved or lost.
#[derive(Debug, Clone, Args)]
pub(crate) struct UnpackArgs {
    /// Only test: write nothing.
    #[arg(short = 't', long)]
    pub(crate) test: bool,
    /// Read zstd of other programs, as `zstd -d` does. Such a stream doesn't say where it ends, so one that lacks frames at
    /// its end passes for whole.
    #[arg(long)]
    pub(crate) foreign: bool,
    /// Memory that may be taken, such as 200M [default: 16 MiB and 12 MiB per thread].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Length of the stream, where it is known, such as 800M or 2G: --progress then tells the time left.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) size: Option<u64>,
}

/// How hard.
#[derive(Debug, Clone, Args)]
#[group(multiple = false)]
pub(crate) struct LevelArgs {
    /// A level of zstd; -1 to -22 are the same.
    #[arg(long, value_name = "N", value_parser = level)]
    level: Option<Setting>,
    /// A fast level of zstd, 1 if no number is given.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = fast)]
    fast: Option<Setting>,
    /// Find the level by which the stream ends soonest, by measuring what this input, these CPUs and this output do; the
    /// default. Where the output takes everything at once, nothing is compressed, unless it is a file.
    #[arg(long)]
    auto: bool,
}

impl LevelArgs {
    /// The level that was asked for, if one was.
    pub(crate) fn fixed(&self) -> Option<Setting> {
        self.level.or(self.fast)
    }
}

/// How many.
#[derive(Debug, Clone, Args)]
pub(crate) struct ThreadsArgs {
    /// Threads; 0 is all CPUs that affinity and cgroup allow.
    #[arg(short = 'T', long, value_name = "N", default_value_t = 0,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=256))]
    threads: usize,
}

impl ThreadsArgs {
    /// At least one.
    pub(crate) fn count(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.threads)
            .or_else(|| NonZeroUsize::new(num_cpus::get()))
            .unwrap_or(NonZeroUsize::MIN)
    }
}

/// What is told meanwhile and in the end.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// Tell rate, ratio and, with --size, the time left: on a terminal twice a second, else every ten seconds.
    #[arg(long)]
    pub(crate) progress: bool,
    /// Tell it as lines of JSON, once a second and in the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out the closing line.
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

fn level(text: &str) -> Result<Setting, &'static str> {
    let level = text.parse::<i32>().ok().filter(|level| (1..=22).contains(level));
    level.and_then(|level| Setting::level(level).ok()).ok_or("a level of zstd is a number from 1 to 22")
}

fn fast(text: &str) -> Result<Setting, &'static str> {
    let level = text.parse::<i32>().ok().filter(|level| *level > 0);
    level
        .and_then(|level| Setting::level(-level).ok())
        .ok_or("a fast level of zstd is a number from 1 to 131072")
}

/// A number of bytes, with K, M, G or T (of 1024) behind it, and zstd's longer forms of these.
pub(crate) fn bytes(text: &str) -> Result<u64, &'static str> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 0,
        "K" | "KB" | "KiB" | "k" => 10,
        "M" | "MB" | "MiB" | "m" => 20,
        "G" | "GB" | "GiB" | "g" => 30,
        "T" | "TB" | "TiB" | "t" => 40,
        _ => return Err(BYTES),
    };
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    number.and_then(|number| number.checked_mul(1 << shift)).ok_or(BYTES)
}

const BYTES: &str = "a number of bytes is wanted, such as 200000000, 800M or 2G";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        for (text, len) in
            [("1", 1), ("800M", 800 << 20), ("2G", 2 << 30), ("3KiB", 3 << 10), ("1T", 1 << 40)]
        {
            assert_eq!(bytes(text), Ok(len));
        }
        for text in ["", "0", "M", "1X", "-1", "1.5G", "99999999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn levels_are_those_of_zstd() {
        assert!(level("1").is_ok() && level("22").is_ok() && fast("131072").is_ok());
        for text in ["0", "23", "-1", "x", ""] {
            assert!(level(text).is_err(), "{text}");
        }
        assert!(fast("0").is_err() && fast("131073").is_err());
    }
}
