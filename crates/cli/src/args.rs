//! All arguments, from which help, man pages and completions are made.
//!
//! Option names are MySQL's own where it has one. Not here: what they do.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use codec::{Algorithm, ZlibLevel, ZstdLevel};
use lab::link::Link;
use proxy::Address;

/// Makes MySQL and MariaDB traffic smaller without making it slower.
#[derive(Debug, Parser)]
#[command(name = "wirepress", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Relay MySQL connections, compressing each leg as it allows.
    Proxy(Box<ProxyArgs>),
    /// Show on this machine, in about a minute, what compression gains and costs.
    Demo(DemoArgs),
    /// Write man pages or shell completions.
    Generate(GenerateArgs),
}

/// Relay MySQL connections, compressing each leg as it allows.
///
/// A client's compression is met by the rules of MySQL; towards the server the proxy asks for the best that it
/// offers. The legs are independent. No credential is stored: authentication is relayed.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// Where clients connect: host:port, [ipv6]:port or unix:/path. Port 0 lets the system choose.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Address,
    /// The MySQL or MariaDB server; a name is looked up anew for each connection.
    #[arg(long, value_name = "ADDR")]
    pub(crate) server: Address,
    /// What clients may use; without 'uncompressed' a client that can't compress is refused.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "zstd,zlib,uncompressed")]
    pub(crate) protocol_compression_algorithms: Vec<Algorithm>,
    /// What to ask the server for: 'auto' (zstd, else zlib, else none), or a list in order of wish.
    #[arg(long, value_name = "LIST", default_value = "auto", value_parser = parse_wishes)]
    pub(crate) compression_algorithms: Wishes,
    /// zstd level towards the server: asked of it, and used by the proxy itself (1-22).
    #[arg(long, value_name = "N", default_value_t = ZstdLevel::DEFAULT)]
    pub(crate) zstd_compression_level: ZstdLevel,
    /// Highest zstd level that a client may cost; a higher wish is accepted and capped (1-22).
    #[arg(long, value_name = "N", default_value_t = ZstdLevel::DEFAULT)]
    pub(crate) zstd_compression_level_max: ZstdLevel,
    /// zlib level of the proxy's own frames, in libdeflate's counting (1-12).
    #[arg(long, value_name = "N", default_value_t = ZlibLevel::DEFAULT)]
    pub(crate) zlib_compression_level: ZlibLevel,
    /// Threads that serve sessions [default: one per available CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: Option<u16>,
    /// Seconds for a client's login. Keep it below the server's connect_timeout.
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) login_timeout: u64,
    /// Longest silence, in seconds, in the middle of a client's packet.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) net_read_timeout: u64,
    /// Memory for packets and frames that are larger than an ordinary buffer, in MiB (at least 32).
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..))]
    pub(crate) buffer_memory: u32,
    /// Log lines to write: error, warn, info or debug.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: tracing::Level,
}

/// Show on this machine, in about a minute, what compression gains and costs.
///
/// Fills a sysbench-shaped table and a wide repetitive one in an embedded database, and reads them through a real
/// proxy over emulated links: uncompressed, with zlib, and with zstd 1, 3, 7 and 10; beside each row stand the
/// figures that were published for it. Everything stays on this machine and is removed in the end.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// A real server instead, mysql://user:password@host:port/database (or …@/database?socket=/path). Only the
    /// tables wirepress_demo_sbtest1 and wirepress_demo_t1 are made there, and dropped in the end.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The link between client and proxy: RATE or RATE,ROUND_TRIP such as unlimited, 1gbit or 100mbit,1.4ms. May be
    /// given several times [default: unlimited and 100mbit,1.4ms].
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Vec<Link>,
    /// Rows of the sysbench-shaped table, 197 bytes each.
    #[arg(long, value_name = "N", default_value_t = bench::demo::Options::ROWS,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) rows: u32,
    /// Rows of the wide table, 64 KB each.
    #[arg(long, value_name = "N", default_value_t = bench::demo::Options::WIDE_ROWS,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) wide_rows: u32,
    /// Seed of the tables' contents.
    #[arg(long, value_name = "N", default_value_t = bench::demo::Options::SEED)]
    pub(crate) seed: u64,
}

/// Write man pages or shell completions.
#[derive(Debug, clap::Args)]
pub(crate) struct GenerateArgs {
    /// What to write.
    #[command(subcommand)]
    pub(crate) what: Generated,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generated {
    /// One man page per command, into a folder.
    Man {
        /// The folder, which must exist.
        folder: PathBuf,
    },
    /// A completion script, to standard output.
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        shell: clap_complete::Shell,
    },
}

/// What the server leg asks for, in order of wish.
#[derive(Debug, Clone)]
pub(crate) struct Wishes(pub(crate) Vec<Algorithm>);

fn parse_wishes(text: &str) -> Result<Wishes, codec::UnknownAlgorithm> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(Wishes(Algorithm::ALL.to_vec()));
    }
    text.split(',').map(str::parse).collect::<Result<_, _>>().map(Wishes)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn bad_values_say_what_is_allowed() {
        for (flag, value, hint) in [
            ("--listen", "nowhere", "host:port"),
            ("--zstd-compression-level", "23", "1 to 22"),
            ("--compression-algorithms", "lz4", "zstd, zlib or uncompressed"),
        ] {
            let args = ["wirepress", "proxy", "--server", "a:1", "--listen", "b:2", flag, value];
            let error = Args::try_parse_from(args).unwrap_err().to_string();
            assert!(error.contains(hint) || error.contains("cannot be used multiple times"), "{error}");
        }
    }
}
