//! What a client does in a cell, and what is counted while it does it.
//!
//! ```text
//!  Step { cell, job }:   stage is set ─▶ job.run(client) ─▶ Outcome ─▶ metrics of a sample
//! ```
//! One kind of work, one file: [`scan`] reads a table with our own client, [`sysbench`] is the real one,
//! [`statements`] sends what sysbench does with our own client, [`connect`] logs in and out, [`indexer`] is Sphinx's, [`php`] a script of
//! the real PHP, [`transfer`] a backup that goes from a donor to a joiner through pipelines of programs.
//!
//! Invariants: logins, preparations and checks lie outside the measured time; every reply is read to its end and
//! counted.
//!
//! Not here: who stands between client and server (`run::stage`).

mod client_process;
mod connect;
mod gate;
mod indexer;
mod php;
mod pipeline;
mod programs;
mod scan;
mod statements;
mod sysbench;
mod transfer;
mod transfer_commands;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use client_process::ClientProcess;
pub use connect::Connect;
pub use indexer::Indexer;
pub use php::Php;
pub(crate) use programs::{program, sysbench_account, version};
pub(crate) use scan::RUN_MIN;
pub use scan::ScanJob;
pub use statements::{Statement, Statements};
pub use sysbench::{Script, Sysbench};
pub use transfer::{Donor, Transfer};

use crate::record::{Cell, Metric};
use crate::run::{Network, Parts, Stage};
use crate::stats::quantile;
use crate::table::Table;

/// Some kind of work.
#[derive(Clone, Debug)]
pub enum Job {
    /// A full scan.
    Scan(ScanJob),
    /// Transactions of sysbench.
    Sysbench(Sysbench),
    /// Statements by our own client.
    Statements(Statements),
    /// Logins.
    Connect(Connect),
    /// Sphinx's indexer.
    Indexer(Indexer),
    /// A script of PHP.
    Php(Php),
    /// A backup on its way.
    Transfer(Transfer),
}

/// What a job gives.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Of what there were so many: scans, transactions, connections.
    pub(crate) count: f64,
    /// Measured time, all of them together.
    pub(crate) run_time: Duration,
    /// CPU time of the client in that time.
    pub(crate) client_cpu: Duration,
    /// What the job itself knows.
    pub(crate) metrics: BTreeMap<Metric, f64>,
    /// Bytes to the client that the link must have carried before it is read; 0 where that is not known.
    pub(crate) packed_bytes: u64,
}

impl Outcome {
    /// Of transactions that took so long each, one after the other on every connection.
    fn of_transactions(times_ms: &[f64], threads: u32, run_time: Duration, client_cpu: Duration) -> Self {
        let count = f64::from(u32::try_from(times_ms.len()).unwrap_or(u32::MAX));
        // Little's law. By the clock all would wait at the end for the one whose last segment was lost.
        let rate = f64::from(threads) * count * 1e3 / times_ms.iter().sum::<f64>().max(1e-6);
        let mut metrics = BTreeMap::from([(Metric::TransactionsPerS, rate)]);
        for (metric, share) in
            [(Metric::LatencyP50Ms, 0.5), (Metric::LatencyP95Ms, 0.95), (Metric::LatencyP99Ms, 0.99)]
        {
            metrics.extend(quantile(times_ms, share).map(|value| (metric, value)));
        }
        Self { count, run_time, client_cpu, metrics, packed_bytes: 0 }
    }
}

/// Whether CPU time and bytes are told per scan or per transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A scan, an index: seconds and megabytes.
    Run,
    /// A transaction, a connection: microseconds and bytes.
    Transaction,
    /// A state transfer, whose CPU time is donor's and joiner's.
    Transfer,
}

impl Job {
    /// Does it; `meter` is told when the measured time begins, and when it is over.
    pub(crate) fn run(
        &self,
        cell: &Cell,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        donor: Option<&Donor>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        match self {
            Self::Scan(scan) => scan.run(stage, parts, meter),
            Self::Sysbench(sysbench) => sysbench.run(stage, parts, meter),
            Self::Statements(statements) => statements.run(stage, parts, meter),
            Self::Connect(connect) => connect.run(stage, parts, meter),
            Self::Indexer(indexer) => indexer.run(stage, parts, meter),
            Self::Php(php) => php.run(stage, parts, meter),
            Self::Transfer(transfer) => transfer.run(cell, stage, parts, donor, meter),
        }
    }

    /// Does it on connections that are over behind it: what a proxy learns by it it has learnt then.
    pub(crate) fn run_uncounted(
        &self,
        cell: &Cell,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Scan(scan) => scan.run_uncounted(stage, parts),
            other => other.run(cell, stage, parts, None, &mut Uncounted).map(drop),
        }
    }

    /// Tables that it needs.
    pub(crate) fn tables(&self) -> Vec<Table> {
        match self {
            Self::Scan(scan) => vec![scan.table.clone()],
            Self::Sysbench(sysbench) => sysbench.tables(),
            Self::Statements(statements) => vec![statements.table.clone()],
            Self::Connect(_) => Vec::new(),
            Self::Transfer(transfer) => transfer.tables.clone(),
            Self::Indexer(Indexer { table }) | Self::Php(Php { table }) => vec![table.clone()],
        }
    }

    /// The program that does it, unless that is our own client.
    pub(crate) const fn program(&self) -> Option<&'static str> {
        match self {
            Self::Sysbench(_) => Some("sysbench"),
            Self::Indexer(_) => Some("indexer"),
            Self::Php(_) => Some("php"),
            Self::Transfer(_) => Some("mariadb-backup"),
            Self::Scan(_) | Self::Statements(_) | Self::Connect(_) => None,
        }
    }

    /// What CPU time and bytes are told of.
    pub(crate) const fn unit(&self) -> Unit {
        match self {
            Self::Scan(_) | Self::Indexer(_) | Self::Php(_) => Unit::Run,
            Self::Sysbench(_) | Self::Statements(_) | Self::Connect(_) => Unit::Transaction,
            Self::Transfer(_) => Unit::Transfer,
        }
    }

    /// Round trips that one of several turns takes at least: so many that what it costs to begin behind a pause is hardly seen.
    pub(crate) const fn round_trips_min(&self) -> u32 {
        match self {
            Self::Statements(statements) if statements.fits_first_window() => 50,
            // TCP's window takes some ten of them to be open.
            _ => 500,
        }
    }

    /// Who stands in the server's place, if somebody does.
    pub(crate) fn donor(&self, network: &Network) -> anyhow::Result<Option<Donor>> {
        match self {
            Self::Transfer(_) => Donor::listen(network.server_ip()).map(Some),
            _ => Ok(None),
        }
    }
}

/// What reads clocks and counters around the measured time, which may be one of several turns.
pub(crate) trait Meter: Send {
    /// How long a turn is, where others are measured in turns with this one. A job that can't be interrupted takes all of its time
    /// at once.
    fn turn(&self) -> Option<Duration> {
        None
    }
    /// It begins: waits for the turn.
    fn start(&mut self);
    /// All clients are at work; only jobs that have many of them tell.
    fn middle(&mut self) {}
    /// It is over, or all of it that is this turn's.
    fn stop(&mut self);
}

/// Nobody reads anything.
struct Uncounted;

impl Meter for Uncounted {
    fn start(&mut self) {}
    fn stop(&mut self) {}
}
