//! The arguments of `wirepress advise`.
//!
//! Not here: what it does (crate `bench`, `advise`).

use std::path::PathBuf;

use clap::Args;
use lab::link::Link;

/// Tell what compression would do for your own statements, server and link.
///
/// Runs the statements of a file on your server, with each compression in turn, measures the link, and tells in about a
/// minute which compression to use where, what that changes and how sure that is, where the border lies, and the lines
/// to paste. Nothing is made on the server: its sessions are read-only. Without enough to judge from it says what is
/// missing, and the exit code is 1.
#[derive(Debug, Clone, Args)]
pub(crate) struct AdviseArgs {
    /// Your server, mysql://user:password@host:port/database (or …@/database?socket=/path).
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    /// A file with the statements of the workload, each ended by a semicolon.
    #[arg(long, value_name = "FILE")]
    pub(crate) query_file: PathBuf,
    /// Run statements that write, too; each runs several times.
    #[arg(long)]
    pub(crate) allow_writes: bool,
    /// Tell about this link and not about the one to the server: RATE or RATE,ROUND_TRIP such as 100mbit,1.4ms.
    #[arg(long, value_name = "LINK")]
    pub(crate) assume_link: Option<Link>,
    /// Seconds for which the statements are timed.
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 30,
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
