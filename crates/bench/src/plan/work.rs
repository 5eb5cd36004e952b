//! The workloads that compression is judged by: scans of four kinds of rows, point selects, ranges, bulk inserts.
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
pub(super) struct Work {
    pub(super) name: &'static str,
    pub(super) threads: u32,
    /// It is requests that are large, not replies.
    pub(super) is_sent: bool,
    job: Box<MakeJob>,
}

type MakeJob = dyn Fn(&Link, &World) -> Job;

impl Work {
    /// All of them.
    pub(super) fn all(world: &World) -> Vec<Self> {
        let mut works = vec![
            Self::scan(world, "scan of digits", Kind::Sysbench, 200_000),
            Self::scan(world, "scan of text", Kind::Text, 100_000),
            Self::scan(world, "scan of wide repetitive rows", Kind::Wide, 600),
            Self::scan(world, "scan of incompressible blobs", Kind::Blob, 800),
        ];
        for statement in [Statement::PointSelect, Statement::Range] {
            works.extend([1, 8, 64].map(|threads| Self::statements(world, statement, threads)));
        }
        works.push(Self::statements(world, Statement::BulkInsert, 1));
        works
    }

    /// Reads a table of at most so many rows.
    pub(super) fn scan(world: &World, name: &'static str, kind: Kind, rows_max: u32) -> Self {
        let seconds = seconds(world);
        let (table, bytes_per_row) = match kind {
            Kind::Sysbench => ("sbtest1", 197),
            Kind::Text => ("text1", 420),
            Kind::Wide | Kind::Documents => ("t1", 64_020),
            Kind::Blob => ("blobs1", 64_020),
        };
        let job = move |link: &Link, world: &World| {
            let table = Table::generated(kind, table, rows_max, world.seed);
            Job::Scan(ScanJob { table, rows: World::rows_for(link, bytes_per_row, seconds, rows_max) })
        };
        Self { name, threads: 1, is_sent: false, job: Box::new(job) }
    }

    /// Sends statements, by so many clients.
    pub(super) fn statements(world: &World, statement: Statement, threads: u32) -> Self {
        let is_sent = statement == Statement::BulkInsert;
        let (name, rows) = if is_sent { ("inserted", 0) } else { ("sbtest1", 200_000) };
        let time = Duration::from_secs_f64(seconds(world));
        let job = move |_: &Link, world: &World| {
            let table = Table::generated(Kind::Sysbench, name, rows, world.seed);
            Job::Statements(Statements { statement, table, threads, time, beside_large_rows: false })
        };
        Self { name: statement.name(), threads, is_sent, job: Box::new(job) }
    }

    /// What a client does over that link.
    pub(super) fn job(&self, link: &Link, world: &World) -> Job {
        (self.job)(link, world)
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

/// A full run has more cells and rounds, not longer ones.
fn seconds(world: &World) -> f64 {
    match world.scale {
        Scale::Smoke => 1.0,
        Scale::Laptop | Scale::Full => 2.0,
    }
}
