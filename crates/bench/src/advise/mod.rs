//! Advice: what compression would do for a workload over a link, as a forecast that says how sure it is.
//!
//! ```text
//!  trial     statements ─▶ traffic: times under each candidate, samples ─┐
//!  observed  traffic that passes a tap, or of a capture: times, samples ─┤
//!            or a running proxy, whose own tap tells times and sums     │
//!                         candidate: codecs on the samples              ├─▶ forecast ─▶ verdict ─▶ report
//!  server ─────▶ link: its rate and round trip, or assumed ─────────────┘
//! ```
//! Invariants: nothing is made on the user's server, and the sessions there are read-only unless writes are allowed;
//! what the replies held is neither written nor shown; no verdict on too little.
//!
//! Not here: experiments with tables of their own (`plan`, `run`); how good the forecasts are (`score`).

mod candidate;
mod forecast;
mod link;
mod observed;
mod report;
mod reservoir;
mod samples;
mod schedule;
mod score;
mod statements;
mod sysbench;
mod traffic;
mod trial;
mod verdict;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use lab::link::{Address, Link};

pub(crate) use link::is_loopback;
pub use observed::{PcapOptions, RunningOptions, TapOptions, TapServer, TapServerFault};
pub use report::Driver;
pub use score::{ScoreOptions, run as score};
pub use trial::{SslOption, StatementSource, TrialOptions};

use self::forecast::Way;
use self::link::KnownLink;
use self::traffic::Exchange;
use self::verdict::Judged;
use crate::client::Stop;
use crate::run::watch_signals;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the advice is about.
    pub workload: Workload,
    /// Another link than the one that the workload crosses.
    pub assume_link: Option<Link>,
    /// Seed of the samples.
    pub seed: u64,
    /// What money is made of.
    pub prices: Prices,
    /// Drivers that lines to paste are wanted for; empty: the most common ones on the terminal, all in files.
    pub drivers: Vec<Driver>,
    /// A folder for advice.html and advice.json.
    pub out: Option<PathBuf>,
    /// JSON instead of words on standard output.
    pub json: bool,
}

/// How a workload is come by.
#[derive(Debug, Clone)]
pub enum Workload {
    /// Statements that are run on the user's server.
    Trial(TrialOptions),
    /// Live traffic that passes through us.
    Tap(TapOptions),
    /// Live traffic of a proxy that runs already.
    Running(RunningOptions),
    /// A capture.
    Pcap(PcapOptions),
}

/// What traffic and CPU cost; what is not known is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Plain GB (10^9 bytes) to clients in a month.
    pub gb_per_month: Option<f64>,
    /// Of a GB that crosses the link.
    pub per_gb: Option<f64>,
    /// Of an hour of a core.
    pub per_core_hour: Option<f64>,
}

/// All that is known when the measuring is over.
#[derive(Debug)]
struct Findings {
    /// Where the workload's server is.
    server: Address,
    /// Who its clients are there.
    user: String,
    /// None where its greeting was not seen.
    is_mariadb: Option<bool>,
    /// The TLS that it was spoken to with; empty where the lines to paste have none of it.
    ssl_options: Vec<SslOption>,
    exchanges: Vec<Exchange>,
    /// What the times are made of, in words: `60 exchanges timed (…)`.
    evidence: String,
    /// What a time is told of.
    per: Per,
    none_way: Way,
    none_time_s: f64,
    judged: Vec<Judged>,
    /// None where it was not seen enough of.
    measured_link: Option<KnownLink>,
    link: KnownLink,
    sampled_bytes: usize,
    took: Duration,
    /// What a reader must know besides.
    notes: Vec<String>,
}

/// What times are told of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Per {
    /// A pass through all statements, each measured.
    Pass,
    /// An exchange, of so many that were seen.
    Exchange { of: usize },
}

/// Measures, and writes the advice to `told` and into the folder, if one is wished.
///
/// # Errors
/// A file that cannot be read or that may write, a server that cannot be used, too little to judge from.
pub fn run(options: &Options, told: &mut dyn Write) -> anyhow::Result<()> {
    let stop = Stop::new();
    watch_signals(stop.clone()).context("cannot watch for Ctrl-C")?;
    let findings = match &options.workload {
        Workload::Trial(trial) => trial::run(trial, options, &stop),
        // Who ends a tap early wants to know what passed by then.
        Workload::Tap(tap) => observed::tap(tap, options, &stop),
        Workload::Running(running) => observed::running(running, options, &stop),
        Workload::Pcap(pcap) => observed::pcap(pcap, options, &stop),
    };
    if let Some(left) = left_by_interrupt(&options.workload).filter(|_| stop.is_wished()) {
        bail!("interrupted{left}");
    }
    report::write(&findings?, options, told)
}

/// What is to be said of a server that was asked until Ctrl-C; none where Ctrl-C is an end like others.
const fn left_by_interrupt(workload: &Workload) -> Option<&'static str> {
    match workload {
        Workload::Trial(trial) if trial.allow_writes => {
            Some("; what the statements had written by then is on the server")
        }
        Workload::Trial(_) => Some("; nothing was made on the server"),
        Workload::Pcap(_) => Some(""),
        Workload::Tap(_) | Workload::Running(_) => None,
    }
}

/// What a reader must know of the workload itself.
fn workload_notes(exchanges: &[Exchange]) -> Option<String> {
    let plain: f64 = exchanges.iter().map(|exchange| exchange.plain_bytes).sum();
    (plain / crate::stats::f64_of(exchanges.len()) <= TCP_PAYLOAD_BYTES)
        .then(|| "Most replies fit into one packet of the network: round trips decide, not bytes.".to_owned())
}

/// Of Ethernet's 1500 bytes, headers and timestamps taken off.
const TCP_PAYLOAD_BYTES: f64 = 1448.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_denies_nothing_that_statements_may_have_written() {
        let left = |allow_writes: bool| {
            let trial = TrialOptions {
                server: "mysql://me@127.0.0.1:1/d".parse().unwrap(),
                ssl_options: Vec::new(),
                statements: StatementSource::QueryFile(PathBuf::new()),
                allow_writes,
                time: Duration::ZERO,
                wirepress: PathBuf::new(),
            };
            left_by_interrupt(&Workload::Trial(trial)).unwrap()
        };
        assert!(left(false).contains("nothing was made on the server"));
        assert!(left(true).contains("had written by then is on the server"));
        let pcap = Workload::Pcap(PcapOptions { file: PathBuf::new(), port: 3306 });
        assert_eq!(left_by_interrupt(&pcap), Some(""));
    }
}
