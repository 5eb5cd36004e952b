//! The arguments of `wirepress advise`.
//!
//! Not here: what it does (crate `bench`, `advise`).

use std::path::PathBuf;

use bench::advise::Driver;
use clap::{ArgGroup, Args};
use lab::link::Link;
use proxy::Address;

use crate::peer_tls::OwnServerTls;

/// Tell what compression would do for your own statements or traffic, server and link.
///
/// Runs the statements of a file or of a sysbench script on your server, with each compression in turn; or looks at live
/// traffic that passes through it; or reads a capture. From that and from the link it tells which compression to use
/// where, what that changes and how sure that is, where the border lies, and the lines to paste. Nothing is made on the
/// server, and its sessions are read-only; of traffic nothing is stored. Without enough to judge from it says what is
/// missing, and the exit code is 1.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("way").required(true).args(["query_file", "sysbench", "tap", "pcap"])))]
pub(crate) struct AdviseArgs {
    /// Your server, mysql://user:password@host:port/database (or …@/database?socket=/path); with --tap also host:port.
    #[arg(long, value_name = "URL", required_unless_present_any = ["pcap", "admin"],
        conflicts_with_all = ["pcap", "admin"])]
    pub(crate) server: Option<String>,
    /// Run the statements of a file, each ended by a semicolon.
    #[arg(long, value_name = "FILE")]
    pub(crate) query_file: Option<PathBuf>,
    /// Run the statements that a script of sysbench sends in two seconds: oltp_read_only, or a .lua file. Its tables must
    /// have been prepared.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) sysbench: Option<String>,
    /// Listen here, host:port, pass on to the server whatever comes, and look at it; or, with --admin and without an
    /// address, have a running wirepress look at what passes through it.
    #[arg(long, value_name = "LISTEN", num_args = 0..=1)]
    pub(crate) tap: Option<Option<String>>,
    /// The admin port of the running wirepress that shall look: unix:/path or host:port.
    #[arg(long, value_name = "ADDR", requires = "tap", conflicts_with = "tap_cpu_percent")]
    pub(crate) admin: Option<Address>,
    /// The admin account there.
    #[arg(long, value_name = "NAME", default_value = "admin", requires = "admin")]
    pub(crate) admin_user: String,
    /// A file whose first line is its password.
    #[arg(long, value_name = "FILE", requires = "admin")]
    pub(crate) admin_password_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: OwnServerTls,
    /// Read a capture of the server's port (pcap or pcapng).
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Run statements that write, too; each runs several times.
    #[arg(long, conflicts_with_all = ["tap", "pcap"])]
    pub(crate) allow_writes: bool,
    /// An option of the sysbench script such as tables=4; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true,
        conflicts_with_all = ["query_file", "tap", "pcap"])]
    pub(crate) sysbench_option: Vec<String>,
    /// CPU that looking at a tap's traffic may take, in per cent of a core.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent,
        conflicts_with_all = ["query_file", "sysbench", "pcap"])]
    pub(crate) tap_cpu_percent: f64,
    /// The server's port in the capture.
    #[arg(long, value_name = "PORT", default_value_t = 3306, conflicts_with_all = ["query_file", "sysbench", "tap"],
        value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Tell about this link and not about the one to the server: RATE or RATE,ROUND_TRIP such as 100mbit,1.4ms.
    #[arg(long, value_name = "LINK")]
    pub(crate) assume_link: Option<Link>,
    /// Seconds for which statements are timed, or traffic is looked at.
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 30, conflicts_with = "pcap",
        value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    /// Uncompressed GB (10^9 bytes) that the server sends to its clients in a month.
    #[arg(long, value_name = "GB", value_parser = price)]
    pub(crate) gb_per_month: Option<f64>,
    /// Price of a GB on the link, in any currency.
    #[arg(long, value_name = "PRICE", requires = "gb_per_month", value_parser = price)]
    pub(crate) price_per_gb: Option<f64>,
    /// Price of an hour of a core, in the same currency.
    #[arg(long, value_name = "PRICE", requires = "gb_per_month", value_parser = price)]
    pub(crate) price_per_core_hour: Option<f64>,
    /// A driver that lines to paste are wanted for, such as mysqli. May be given several times [default: the most common
    /// ones on the terminal, all that are known in the files of --out and with --json].
    #[arg(long, value_name = "NAME")]
    pub(crate) driver: Vec<Driver>,
    /// A folder for advice.html and advice.json.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Write JSON, not words, to standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed of the choice of samples.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

fn price(text: &str) -> Result<f64, &'static str> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or("a number from 0 on is wanted, such as 0.09")
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.parse::<f64>().ok().filter(|number| (0.1..=100.0).contains(number));
    number.ok_or("a number from 0.1 to 100 is wanted, such as 5")
}
