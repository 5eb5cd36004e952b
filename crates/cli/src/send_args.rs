//! The arguments of `wirepress send` and `wirepress receive`.
//!
//! Not here: what they do (`send_command`), the levels (`pack_args`).

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::pack_args::{PackingArgs, ReportArgs, ThreadsArgs, bytes};

/// Send standard input, or what a command writes, compressed and encrypted to `wirepress receive`.
///
/// Several connections carry it, and any of them may break: as long as both processes live, what was on its way is sent
/// again. A backup can't be made a second time from its middle, so if either process dies the transfer fails, on both
/// ends. Success means that the receiver has verified and written all of it, and that its command, if it has one, did not
/// fail. Given a COMMAND its failure is noticed, which behind a shell's pipe it is not.
#[derive(Debug, Clone, Args)]
pub(crate) struct SendArgs {
    /// The receiver, host:port.
    #[arg(long, value_name = "ADDR")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    /// How many connections [default: 2, and up to 4 if they make it faster].
    #[arg(short = 'K', long, value_name = "N",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) connections: Option<usize>,
    /// Compressed bytes a second at most, such as 10M.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) rate_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) packing: PackingArgs,
    /// What writes the stream, such as `mariadb-backup --backup --stream=mbstream` [default: standard input].
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<String>,
}

/// Receive what `wirepress send` sends, to standard output or to a command.
///
/// Success means that all of it was verified and written, that the command, if there is one, did not fail, and that the
/// sender was told so.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReceiveArgs {
    /// Where to listen, host:port; port 0: the system chooses, and it is told on standard error.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// What reads the stream, such as `mbstream -x -C DIR` [default: standard output].
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<String>,
}

/// Who may speak with whom; one of them has to be chosen.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("security").required(true).args(["key_file", "tls_cert", "insecure"])))]
pub(crate) struct SecurityArgs {
    /// A file with a key that both ends have, made for instance by `openssl rand -hex 32`.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// This end's certificate (PEM), with its chain.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The authority whose certificates are accepted of the other end (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The name that the receiver's certificate must have [default: any of the authority's].
    #[arg(long, value_name = "NAME", requires = "tls_cert")]
    pub(crate) tls_name: Option<String>,
    /// In clear, from anybody: whoever is on the way can read and change everything.
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// How long to wait.
#[derive(Debug, Clone, Args)]
pub(crate) struct PatienceArgs {
    /// Seconds to wait for the other end at first.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) start_timeout: u64,
    /// Seconds to wait for a new connection when all broke.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) reconnect_timeout: u64,
    /// Seconds of silence after which a connection counts as broken.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) idle_timeout: u64,
}
