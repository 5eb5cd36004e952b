//! Real sysbench: transactions of one of its own scripts.
//!
//! Invariants: all connections are open before the time counts; what is counted is what sysbench reports; no password stands
//! in a command line.
//!
//! Not here: its tables, which `run::database` fills as `sysbench prepare` would.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::Address;

use super::client_process::ClientProcess;
use super::{Meter, Outcome, program, sysbench_account};
use crate::record::{Metric, Setting};
use crate::run::{Parts, Stage};
use crate::table::{Kind, Table};

/// Which of sysbench's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// One row by its key.
    PointSelect,
    /// Ten rows by key, four ranges of 100 rows, in a transaction.
    ReadOnly,
}

/// A run of sysbench.
#[derive(Clone, Copy, Debug)]
pub struct Sysbench {
    /// What.
    pub script: Script,
    /// Threads, each with a connection.
    pub threads: u32,
    /// Tables `sbtest1` and so on.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// For how long.
    pub time: Duration,
    /// Seed of the tables' contents.
    pub seed: u64,
}

impl Script {
    /// As sysbench calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
        }
    }
}

impl Sysbench {
    pub(super) fn tables(&self) -> Vec<Table> {
        (1..=self.tables)
            .map(|number| {
                // No table repeats another.
                let seed = self.seed.wrapping_add(u64::from(number));
                Table::generated(Kind::Sysbench, format!("sbtest{number}"), self.rows, seed)
            })
            .collect()
    }

    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        let command = self.command(stage, parts)?;
        let mut client = ClientProcess::start(stage.client_words(), &command)?;
        client.wait_for_line("Threads started", parts.stop)?;
        meter.start();
        let (start, cpu_before) = (Instant::now(), client.cpu());
        // Its report follows its last transaction; after that it closes its connections.
        client.wait_for_line("SQL statistics", parts.stop)?;
        let (run_time, client_cpu) = (start.elapsed(), client.cpu().saturating_sub(cpu_before));
        meter.stop();
        let ended = client.wait(parts.stop)?;
        let report = Report::parse(&ended.lines)?;
        Ok(Outcome {
            count: report.transactions,
            run_time,
            client_cpu,
            metrics: report.metrics(),
            packed_bytes: 0,
        })
    }

    fn command(&self, stage: &Stage<'_>, parts: &Parts<'_>) -> anyhow::Result<std::process::Command> {
        let mut command = program("sysbench")?;
        let account = sysbench_account(parts.database.account(), &parts.folder)?;
        command.arg(format!("--config-file={}", account.display())).arg(self.script.name());
        match stage.client_address() {
            address @ Address::Tcp(_) => {
                let (host, port) =
                    address.host_and_port().with_context(|| format!("no port in {address}"))?;
                command.arg(format!("--mysql-host={host}")).arg(format!("--mysql-port={port}"));
            }
            Address::Unix(path) => {
                command.arg("--mysql-host=localhost").arg(format!("--mysql-socket={}", path.display()));
            }
        }
        command
            .arg(format!("--tables={}", self.tables))
            .arg(format!("--table-size={}", self.rows))
            .arg(format!("--threads={}", self.threads))
            .arg(format!("--time={}", self.time.as_secs().max(1)))
            .args(["--events=0", "--percentile=95", "--histogram=on", "--rand-type=pareto"])
            .arg(format!("--rand-seed={}", self.seed.max(1)));
        match stage.client_setting() {
            Setting::None => {}
            Setting::Zlib => {
                command.arg("--mysql-compression=on");
            }
            Setting::Zstd(_) | Setting::Latency | Setting::Stream(_) => {
                bail!("sysbench knows zlib only; zstd is for wirepress beside it")
            }
        }
        if stage.client_has_tls() {
            command.arg("--mysql-ssl=on").current_dir(parts.certificates.folder());
        } else {
            command.arg("--mysql-ssl=off").current_dir(&parts.folder);
        }
        command.arg("run");
        Ok(command)
    }
}

/// What sysbench reports.
#[derive(Debug, PartialEq)]
struct Report {
    transactions: f64,
    transactions_per_s: f64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
}

impl Report {
    fn parse(lines: &[String]) -> anyhow::Result<Self> {
        let find = |start: &str| {
            let line = lines.iter().find_map(|line| line.trim_start().strip_prefix(start));
            line.with_context(|| format!("sysbench printed no line '{start}'"))
        };
        let transactions = find("transactions:")?;
        let mut words = transactions.split_whitespace();
        let count = words.next().unwrap_or_default();
        let rate = words.next().unwrap_or_default().trim_start_matches('(');
        let number =
            |text: &str| text.parse().with_context(|| format!("sysbench printed '{text}' for a number"));
        let histogram: Vec<(f64, f64)> = lines.iter().filter_map(|line| bar(line)).collect();
        let quantile = |share| quantile_of(&histogram, share);
        Ok(Self {
            transactions: number(count)?,
            transactions_per_s: number(rate)?,
            p50_ms: quantile(0.50),
            p95_ms: number(find("95th percentile:")?.trim())?,
            p99_ms: quantile(0.99),
        })
    }

    fn metrics(&self) -> BTreeMap<Metric, f64> {
        BTreeMap::from([
            (Metric::TransactionsPerS, self.transactions_per_s),
            (Metric::LatencyP50Ms, self.p50_ms),
            (Metric::LatencyP95Ms, self.p95_ms),
            (Metric::LatencyP99Ms, self.p99_ms),
        ])
    }
}

/// A line of the histogram, `   0.214 |***** 120`: milliseconds and transactions.
fn bar(line: &str) -> Option<(f64, f64)> {
    let (value, rest) = line.split_once('|')?;
    Some((value.trim().parse().ok()?, rest.trim_start_matches('*').trim().parse().ok()?))
}

/// The value below which that share of the transactions lies; the histogram's classes are 2 % wide.
fn quantile_of(histogram: &[(f64, f64)], share: f64) -> f64 {
    let wanted = histogram.iter().map(|(_, count)| count).sum::<f64>() * share;
    let mut below = 0.0;
    for (value, count) in histogram {
        below += count;
        if below >= wanted {
            return *value;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_read() {
        let text = "Threads started!\n\nLatency histogram (values are in milliseconds)\n       \
             value  ------------- distribution ------------- count\n       \
             0.214 |**                                       50\n       \
             0.300 |****************************************  940\n       \
             1.250 |*                                         10\n \n\
             SQL statistics:\n    queries performed:\n        read:   1000\n    \
             transactions:                        1000   (333.20 per sec.)\n    \
             queries:                             1000   (333.20 per sec.)\n\
             Latency (ms):\n         min:                                    0.20\n         \
             95th percentile:                        0.32\n";
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let expected = Report {
            transactions: 1000.0,
            transactions_per_s: 333.2,
            p50_ms: 0.3,
            p95_ms: 0.32,
            p99_ms: 0.3,
        };
        assert_eq!(Report::parse(&lines).unwrap(), expected);
    }

    #[test]
    fn a_report_that_is_none_is_told() {
        let fault = Report::parse(&["hello".to_owned()]).unwrap_err().to_string();
        assert_eq!(fault, "sysbench printed no line 'transactions:'");
    }
}
