//! All arguments, from which help, man pages and completions are made.
//!
//! Not here: the proxy's own options (`settings`), what they do.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use lab::link::Link;

use crate::admin_client::AdminPort;
use crate::advise_args::AdviseArgs;
use crate::bench_args::BenchCommand;
use crate::pack_args::{PackArgs, UnpackArgs};
use crate::peer_tls::OwnServerTls;
use crate::send_args::{ReceiveArgs, SendArgs};
use crate::settings::{ListenerSettings, ProcessSettings};

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
    /// Show a running proxy on one screen.
    Status(StatusArgs),
    /// Watch a running proxy: rates, and its connections, sorted.
    Top(TopArgs),
    /// Check a config file without listening.
    CheckConfig(CheckConfigArgs),
    /// Show on this machine, in about a minute, what compression gains and costs.
    Demo(DemoArgs),
    /// Tell what compression would do for your own statements, server and link.
    Advise(Box<AdviseArgs>),
    /// Measure what compression gains and costs: the published experiments, on real servers over emulated links.
    Bench(BenchArgs),
    /// Compress standard input to standard output: zstd that says where it ends.
    Pack(PackArgs),
    /// Decompress what `wirepress pack` made, and fail unless all of it is there.
    Unpack(UnpackArgs),
    /// Send standard input, or what a command writes, compressed and encrypted to `wirepress receive`.
    Send(Box<SendArgs>),
    /// Receive what `wirepress send` sends, to standard output or to a command.
    Receive(ReceiveArgs),
    /// Write man pages or shell completions.
    Generate(GenerateArgs),
}

/// Relay MySQL connections, compressing each leg as it allows.
///
/// A client's compression is met by the rules of MySQL; towards the server the proxy asks for what its link has shown to
/// be soonest, or for what --compression-algorithms says. The legs are independent, in compression as in TLS. No
/// credential is stored: authentication is relayed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ProxyArgs {
    /// Settings by the same names, and several listeners; what is given on the command line wins.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Listener and server")]
    pub(crate) listener: ListenerSettings,
    #[command(flatten, next_help_heading = "Process")]
    pub(crate) process: ProcessSettings,
}

/// Show a running proxy on one screen: its listeners and servers, what it carried in the last day, and its faults.
///
/// It asks the proxy's admin port (`wirepress proxy --admin-listen`).
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) port: AdminPort,
    /// JSON instead, for scripts.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Watch a running proxy: what it carries now on each leg and in each direction, and its connections.
///
/// It asks the proxy's admin port (`wirepress proxy --admin-listen`). Keys are those of htop: F1 shows them.
#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) port: AdminPort,
    /// How often it asks; 0.1 to 3600.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = delay)]
    pub(crate) delay: Duration,
}

fn delay(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "must be 0.1 to 3600 seconds".to_owned())
}

/// Check a config file as `wirepress proxy --config` would, certificates included, without listening.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckConfigArgs {
    /// The config file.
    #[arg(value_name = "FILE")]
    pub(crate) config: PathBuf,
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
    #[command(flatten)]
    pub(crate) tls: OwnServerTls,
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

/// Measure what compression gains and costs: the published experiments, on real servers over emulated links.
///
/// Every plan prints its table with the published figures beside, and writes samples.jsonl and reports made from it
/// (HTML, Markdown, CSV, JSON) into a folder. An interrupted run keeps its samples and goes on with --resume.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: BenchCommand,
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
