//! The same scan over a link in user space and over the kernel link.
//!
//! ```text
//!  our client ═ link in user space ═╗
//!                                   ╠═ one private server on the kernel link's address
//!  our client ═ kernel link ════════╝
//! ```
//! One connection each, scans in turn. The first scan of each is counted apart: in it TCP's window opens.
//!
//! Invariants: every scan has all rows; server and table are gone afterwards.
//!
//! Not here: compression and proxies (`run`).

use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, ensure};
use lab::generate::{SysbenchRow, sysbench_row};
use lab::kernel_link::{KernelLink, RunningKernelLink};
use lab::link::Address;
use lab::real::{Fault, Kind, PASSWORD, RealServer, USER};

use crate::client::{Account, Client, Compression, Stop};
use crate::stats::median;

/// What the two took.
#[derive(Debug, Clone)]
pub(super) struct ScanTimes {
    /// Who was read from.
    pub(super) source: Source,
    /// Of one scan, packets with their headers.
    pub(super) plain_mb: f64,
    pub(super) user_space: Times,
    pub(super) kernel: Times,
}

/// Times of several scans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) first_s: f64,
    /// Of all others.
    pub(super) median_s: f64,
    least_s: f64,
    most_s: f64,
}

/// Who was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A private MySQL of that version.
    MySql(String),
    /// The embedded database.
    Embedded,
}

impl Times {
    pub(super) fn of(mut times: Vec<f64>) -> anyhow::Result<Self> {
        ensure!(times.len() > 1, "a scan must be repeated");
        let first_s = times.remove(0);
        times.sort_unstable_by(f64::total_cmp);
        Ok(Self {
            first_s,
            median_s: median(&times).context("no scan was timed")?,
            least_s: times[0],
            most_s: times[times.len() - 1],
        })
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.median_s, self.least_s, self.most_s)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(version) => write!(f, "private MySQL {version}"),
            Self::Embedded => f.write_str("embedded database"),
        }
    }
}

/// Scans `count` times over each, besides the first.
pub(super) fn run(link: KernelLink, count: u32) -> anyhow::Result<ScanTimes> {
    let running = link.open()?;
    let database = Database::start(&running)?;
    let user_space = link.link.open(database.address.into())?;
    let rows = row_count(&link);
    let stop = Stop::new();
    database.fill(rows, &stop)?;
    let connect = |address: SocketAddr| {
        Client::connect(&address.into(), &database.account("bench"), Compression::NONE, &stop)
    };
    let mut by_user_space = connect(user_space.address())?;
    let mut by_kernel = running.in_client(|| connect(database.address))??;
    let (mut times, mut plain_bytes) = ([Vec::new(), Vec::new()], 0);
    for _ in 0..=count {
        for (client, times) in [&mut by_user_space, &mut by_kernel].into_iter().zip(&mut times) {
            let start = Instant::now();
            let scan = client.query("select * from scanned")?;
            times.push(start.elapsed().as_secs_f64());
            ensure!(scan.rows == u64::from(rows), "a scan brought {} rows of {rows}", scan.rows);
            plain_bytes = scan.plain_bytes;
        }
    }
    by_user_space.quit();
    by_kernel.quit();
    running.check()?;
    let [user_space, kernel] = times;
    Ok(ScanTimes {
        source: database.source(),
        plain_mb: f64::from(u32::try_from(plain_bytes / 1000).unwrap_or(u32::MAX)) / 1e3,
        user_space: Times::of(user_space)?,
        kernel: Times::of(kernel)?,
    })
}

/// About a second and a half of the rate, within what a table takes to be filled in seconds.
fn row_count(link: &KernelLink) -> u32 {
    let rate = link.link.rate_bytes_per_s.unwrap_or(u64::MAX);
    let bytes = (rate.saturating_mul(3) / 2).clamp(TABLE_BYTES_MIN, TABLE_BYTES_MAX);
    u32::try_from(bytes / ROW_BYTES).unwrap_or(u32::MAX)
}

/// A database on the link's address.
struct Database {
    address: SocketAddr,
    server: Server,
}

enum Server {
    Real(RealServer),
    Embedded { _server: mysqlite::Server },
}

impl Database {
    /// The private MySQL if it was fetched.
    fn start(link: &RunningKernelLink) -> anyhow::Result<Self> {
        let options = lab::real::Options::new().bind(link.server_ip());
        match RealServer::start(Kind::MySql, &options) {
            Ok(server) => Ok(Self { address: server.address(), server: Server::Real(server) }),
            Err(Fault::NotFetched { .. } | Fault::ProgramMissing { .. }) => {
                let tcp = Some(SocketAddr::new(link.server_ip(), 0));
                let server =
                    mysqlite::Server::start(mysqlite::Options { tcp, ..mysqlite::Options::default() })?;
                let address = server.address().context("the embedded database listens nowhere")?;
                Ok(Self { address, server: Server::Embedded { _server: server } })
            }
            Err(fault) => Err(fault.into()),
        }
    }

    fn source(&self) -> Source {
        match &self.server {
            Server::Real(server) => Source::MySql(server.version().to_owned()),
            Server::Embedded { .. } => Source::Embedded,
        }
    }

    fn account(&self, database: &str) -> Account {
        let (user, password) = match &self.server {
            Server::Real(_) => (USER, PASSWORD),
            Server::Embedded { .. } => ("root", ""),
        };
        Account {
            user: user.to_owned(),
            password: password.to_owned().into(),
            database: database.to_owned(),
            tls: None,
        }
    }

    fn fill(&self, rows: u32, stop: &Stop) -> anyhow::Result<()> {
        let address = Address::from(self.address);
        let mut client = Client::connect(&address, &self.account(""), Compression::NONE, stop)?;
        client.query("create database bench")?;
        client.query("use bench")?;
        client.query(
            "create table scanned (id int not null primary key, k int not null, c char(120) not null, \
             pad char(60) not null)",
        )?;
        client.query("begin")?;
        for first in (1..=rows).step_by(STATEMENT_ROWS) {
            let mut sql = String::from("insert into scanned values ");
            for id in first..=rows.min(first + ROWS_AFTER_FIRST) {
                let SysbenchRow { id, k, c, pad } = sysbench_row(1, id, rows);
                let comma = if id == first { "" } else { "," };
                write!(sql, "{comma}({id},{k},'{c}','{pad}')")?;
            }
            client.query(&sql).context("cannot fill the table")?;
        }
        client.query("commit")?;
        client.quit();
        Ok(())
    }
}

/// A row of the reply: header, four lengths, two numbers, 119 and 59 characters.
const ROW_BYTES: u64 = 197;
/// Ten times a socket buffer.
const TABLE_BYTES_MIN: u64 = 1_800_000;
/// Filled in some seconds.
const TABLE_BYTES_MAX: u64 = 60_000_000;
/// Half a megabyte.
const STATEMENT_ROWS: usize = 2500;
const ROWS_AFTER_FIRST: u32 = 2499;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let times = Times::of(vec![9.0, 4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(times.to_string(), "2.500 (1.000 to 4.000)");
        assert!((times.first_s - 9.0).abs() < 1e-12);
        assert!((Times::of(vec![9.0, 3.0, 1.0, 2.0]).unwrap().median_s - 2.0).abs() < 1e-12);
        assert!(Times::of(vec![9.0]).is_err());
    }
}
