//! The workloads that compression is judged by: scans of five kinds of rows, point selects, ranges, bulk inserts.
//!
//! Invariants: a workload's table is the same over every link, and only as many rows of it are read as the link carries
//! in the scale's time.
//!
//! Not here: who stands between (each plan's cells).

use std::time::Duration;

use lab::link::Link;

use super::{Scale, World};
use crate::job::{Job, ScanJob, Statement, Statements};
use crate::record::{Cell, Path, Setting};
use crate::table::{Kind, Table};

/// A workload.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) name: &'static str,
    pub(super) threads: u32,
    rows: Rows,
    /// What is sent; the rows are read where it is none.
    statement: Option<Statement>,
}

/// A table's rows.
#[derive(Clone, Copy)]
struct Rows {
    kind: Kind,
    /// All that there are.
    most: u32,
}

impl Work {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        let mut works = Self::scans();
        for statement in [Statement::PointSelect, Statement::Range] {
            works.extend([1, 8, 64].map(|threads| Self::statements(statement, threads)));
        }
        works.push(Self::statements(Statement::BulkInsert, 1));
        works
    }

    /// Those that read a table of some kind of rows.
    pub(super) fn scans() -> Vec<Self> {
        vec![
            Self::scan("scan of digits", Kind::Sysbench, DIGITS),
            Self::scan("scan of text", Kind::Text, 100_000),
            Self::scan("scan of wide repetitive rows", Kind::Wide, 600),
            Self::scan(INCOMPRESSIBLE, Kind::Blob, 800),
            // A row that no shared frame has room for goes through the proxy by a way of its own.
            Self::scan("scan of rows of 1 MiB", Kind::Long, 40),
        ]
    }

    /// Reads a table of at most so many rows.
    pub(super) const fn scan(name: &'static str, kind: Kind, rows_max: u32) -> Self {
        Self { name, threads: 1, rows: Rows { kind, most: rows_max }, statement: None }
    }

    /// Sends statements, by so many clients.
    pub(super) const fn statements(statement: Statement, threads: u32) -> Self {
        let rows = Rows { kind: Kind::Sysbench, most: DIGITS };
        Self { name: statement.name(), threads, rows, statement: Some(statement) }
    }

    /// Whether it is requests that are large, not replies.
    pub(super) fn is_sent(&self) -> bool {
        self.statement == Some(Statement::BulkInsert)
    }

    /// What a client does over that link.
    pub(super) fn job(&self, link: &Link, world: &World) -> Job {
        let Some(statement) = self.statement else { return Job::Scan(self.long_reply(link, world)) };
        let table = if self.is_sent() {
            Table::generated(Kind::Sysbench, "inserted", 0, world.seed)
        } else {
            self.rows.table(world)
        };
        Job::Statements(Statements {
            statement,
            table,
            threads: self.threads,
            time: Duration::from_secs_f64(seconds(world).max(self.cycles_s(statement, link))),
            beside_large_rows: false,
        })
    }

    /// How long the link takes for some replies to each client.
    fn cycles_s(&self, statement: Statement, link: &Link) -> f64 {
        let Some(rate) = link.rate_bytes_per_s else { return 0.0 };
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
        let reply_s = f64::from(statement.reply_len()) / rate as f64;
        CYCLES_MIN * f64::from(self.threads) * reply_s
    }

    /// The same by a few clients for a moment: who sees it has seen what replies are like. None where it reads rows or sends them.
    pub(super) fn first_statements(&self, link: &Link, world: &World) -> Option<Job> {
        match self.job(link, world) {
            Job::Statements(all) if !self.is_sent() => {
                Some(Job::Statements(Statements { threads: FIRST_CLIENTS, time: FIRST_TIME, ..all }))
            }
            _ => None,
        }
    }

    /// A reply of such rows that takes the link about as long as the work does: who sees it has seen what the link carries.
    pub(super) fn long_reply(&self, link: &Link, world: &World) -> ScanJob {
        let Rows { kind, most } = self.rows;
        let rows = World::rows_for(link, kind.bytes_per_row(), seconds(world), most);
        ScanJob { table: self.rows.table(world), rows }
    }

    /// A cell of it.
    pub(super) fn cell(&self, link: &str, path: Path, setting: Setting) -> Cell {
        Cell {
            link: link.to_owned(),
            workload: self.name.to_owned(),
            threads: self.threads,
            path,
            tls: false,
            setting,
        }
    }
}

impl Rows {
    fn table(self, world: &World) -> Table {
        Table::generated(self.kind, self.kind.published_name(), self.most, world.seed)
    }
}

/// More than the controller of a server leg goes by.
const FIRST_CLIENTS: u32 = 3;
const FIRST_TIME: Duration = Duration::from_millis(300);
/// A full run has more cells and rounds, not longer ones.
fn seconds(world: &World) -> f64 {
    match world.scale {
        Scale::Smoke => 1.0,
        Scale::Laptop | Scale::Full => 2.0,
    }
}

/// Replies to each client: a lost segment or two of its few would be most of what is seen of it.
const CYCLES_MIN: f64 = 16.0;

/// The scan of what no codec makes smaller.
pub(super) const INCOMPRESSIBLE: &str = "scan of incompressible blobs";
/// Rows of sysbench's table.
const DIGITS: u32 = 200_000;
