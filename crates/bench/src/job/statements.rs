//! One statement after the other, by our own client on several connections: point selects, ranges, bulk inserts.
//!
//! Real sysbench sends the same, but knows zlib only.
//!
//! Invariants: connections are open, and bulk inserts written, before the time counts; a statement counts when its reply was
//! read to its end; keys are drawn by the seed, so every cell asks for the same rows. Between two turns no client is at work.

use std::fmt::Write;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use lab::generate::{Sequence, SysbenchRow, sysbench_row};

use super::gate::{Gate, Ticket};
use super::{Meter, Outcome};
use crate::client::{Client, ClientFault};
use crate::cpu;
use crate::run::{Parts, Stage};
use crate::table::Table;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// One row by its key.
    PointSelect,
    /// A hundred rows by their keys.
    Range,
    /// Rows into an empty table, half a megabyte at once.
    BulkInsert,
}

/// Sends statements for a time.
#[derive(Clone, Debug)]
pub struct Statements {
    /// What.
    pub statement: Statement,
    /// The table; of [`Statement::BulkInsert`] one without rows.
    pub table: Table,
    /// Clients at once.
    pub threads: u32,
    /// For how long.
    pub time: Duration,
    /// Whether another client reads rows of 16 MiB meanwhile, uncounted.
    pub beside_large_rows: bool,
}

impl Statement {
    /// In tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point select",
            Self::Range => "range of 100 rows",
            Self::BulkInsert => "bulk insert",
        }
    }

    /// Bytes of a reply's rows, about.
    pub(crate) const fn reply_len(self) -> u32 {
        match self {
            Self::PointSelect => ROW_LEN,
            Self::Range => RANGE_ROWS * ROW_LEN,
            Self::BulkInsert => 0,
        }
    }
}

impl Statements {
    /// Whether all that its clients ask for at once is no more than TCP sends on one connection behind a pause, so that neither its
    /// window nor a queue makes them wait.
    pub(super) const fn fits_first_window(&self) -> bool {
        let asks_only = !matches!(self.statement, Statement::BulkInsert) && !self.beside_large_rows;
        asks_only && self.threads.saturating_mul(self.statement.reply_len()) <= FIRST_WINDOW
    }

    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        let outcome = stage.on_client_host(|| self.send(stage, parts, meter));
        if self.statement == Statement::BulkInsert {
            let mut client = parts.database.connect(parts.stop)?;
            client.query(&format!("truncate {}", self.table.name)).context("cannot empty the table again")?;
            client.quit();
        }
        outcome
    }

    fn send(&self, stage: &Stage<'_>, parts: &Parts<'_>, meter: &mut dyn Meter) -> anyhow::Result<Outcome> {
        let gate = &Gate::new(self.threads);
        let (all, run_time, beside) = thread::scope(|scope| {
            let clients: Vec<_> = (0..self.threads)
                .map(|number| {
                    scope.spawn(move || {
                        let ticket = gate.ticket();
                        let client = stage.connect(parts)?;
                        self.client(client, number, &self.inserts(number), &ticket)
                    })
                })
                .collect();
            let beside = self.beside_large_rows.then(|| scope.spawn(|| self.large_rows(stage, parts)));
            let run_time = self.turns(gate, meter);
            let all: Result<Vec<_>, ClientFault> = clients
                .into_iter()
                .map(|client| client.join().unwrap_or(Err(ClientFault::Interrupted)))
                .collect();
            let beside = beside.map(|it| it.join().unwrap_or(Err(ClientFault::Interrupted)));
            (all, run_time, beside)
        });
        if let Some(beside) = beside {
            ensure!(
                beside.context("the client that reads large rows failed")? > 0,
                "no large row was read meanwhile"
            );
        }
        let all = all.with_context(|| format!("{} failed", self.statement.name()))?;
        let client_cpu = all.iter().map(|(_, cpu)| *cpu).sum();
        let times_ms: Vec<f64> = all.into_iter().flat_map(|(times_ms, _)| times_ms).collect();
        Ok(Outcome::of_transactions(&times_ms, self.threads, run_time, client_cpu))
    }

    /// Lets the clients work, turn by turn; tells for how long in all.
    fn turns(&self, gate: &Gate, meter: &mut dyn Meter) -> Duration {
        // Who reads large rows beside takes no turns.
        let turn = meter.turn().filter(|_| !self.beside_large_rows).unwrap_or(self.time).min(self.time);
        let mut run_time = Duration::ZERO;
        let mut are_there = gate.close();
        // As many turns as are nearest to the time.
        while are_there && run_time + turn / 2 < self.time {
            meter.start();
            let start = Instant::now();
            gate.keep_open(turn / 2);
            if run_time.is_zero() {
                meter.middle();
            }
            gate.keep_open(turn.saturating_sub(start.elapsed()));
            are_there = gate.close();
            run_time += start.elapsed();
            meter.stop();
        }
        gate.end();
        run_time
    }

    /// Reads large rows as long as the others are at work; tells how many.
    fn large_rows(&self, stage: &Stage<'_>, parts: &Parts<'_>) -> Result<u64, ClientFault> {
        let mut client = stage.connect(parts)?;
        client.query(&format!("set session group_concat_max_len = {LARGE_ROW_LEN}"))?;
        let rows = LARGE_ROW_LEN / C_LEN;
        let one = format!(
            "select group_concat(c separator '') from (select c from {} limit {rows}) large",
            self.table.name
        );
        let sql = vec![one; LARGE_ROWS].join(" union all ");
        let (start, mut read) = (Instant::now(), 0);
        while start.elapsed() < self.time {
            read += client.query(&sql)?.rows;
        }
        client.quit();
        Ok(read)
    }

    fn client(
        &self,
        mut client: Client,
        number: u32,
        inserts: &[String],
        ticket: &Ticket<'_>,
    ) -> Result<(Vec<f64>, Duration), ClientFault> {
        let mut keys = Sequence::new(self.table.seed, u64::from(number));
        let mut inserts = inserts.iter().cycle();
        let mut sql = String::new();
        let mut times_ms = Vec::new();
        let cpu_before = cpu::this_thread();
        while ticket.pass() {
            let sql = inserts.next().unwrap_or_else(|| self.select(&mut sql, &mut keys));
            let begun = Instant::now();
            client.query(sql)?;
            times_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let cpu = cpu::this_thread() - cpu_before;
        client.quit();
        Ok((times_ms, cpu))
    }

    /// The next statement, where it reads.
    fn select<'a>(&self, sql: &'a mut String, keys: &mut Sequence) -> &'a String {
        let name = &self.table.name;
        let rows = if self.statement == Statement::Range { RANGE_ROWS } else { 1 };
        let first = 1 + keys.below(self.table.rows.saturating_sub(rows).max(1));
        sql.clear();
        // A String takes everything.
        match self.statement {
            Statement::Range => {
                write!(sql, "select c from {name} where id between {first} and {}", first + rows - 1)
            }
            _ => write!(sql, "select c from {name} where id = {first}"),
        }
        .ok();
        sql
    }

    /// The bulk inserts that a client sends one after the other, and again; none where it reads.
    fn inserts(&self, number: u32) -> Vec<String> {
        let count = if self.statement == Statement::BulkInsert { INSERTS } else { 0 };
        let seed = self.table.seed.wrapping_add(u64::from(number));
        let mut ids = 1..;
        (0..count)
            .map(|_| {
                let mut sql = format!("insert into {} (k, c, pad) values ", self.table.name);
                let mut comma = "";
                while sql.len() < INSERT_BYTES {
                    let Some(id) = ids.next() else { break };
                    let SysbenchRow { k, c, pad, .. } = sysbench_row(seed, id, INSERTED_K_MAX);
                    write!(sql, "{comma}({k},'{c}','{pad}')").ok();
                    comma = ",";
                }
                sql
            })
            .collect()
    }
}

/// As sysbench's ranges.
const RANGE_ROWS: u32 = 100;
/// 16 MiB, of sysbench's column `c`.
const LARGE_ROW_LEN: usize = 16 << 20;
const C_LEN: usize = 119;
/// A row of that column in a reply, with its header and its length.
const ROW_LEN: u32 = 124;
const LARGE_ROWS: usize = 4;
/// Ten segments (RFC 6928).
const FIRST_WINDOW: u32 = 10 * 1448;
/// As sysbench's and mysqldump's statements.
const INSERT_BYTES: usize = 512 * 1024;
/// So many that none is still in a pair's history when it comes again.
const INSERTS: usize = 16;
/// An inserted row's `k`, which sysbench draws up to the rows of its table; the column is a signed INT.
const INSERTED_K_MAX: u32 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Kind;

    fn statements(statement: Statement) -> Statements {
        Statements {
            statement,
            table: Table::generated(Kind::Sysbench, "inserted", 0, 1),
            threads: 1,
            time: Duration::from_secs(1),
            beside_large_rows: false,
        }
    }

    #[test]
    fn no_bulk_insert_has_rows_of_another_one_or_a_number_that_no_int_has_room_for() {
        let inserts = statements(Statement::BulkInsert).inserts(0);
        let rows = |sql: &String| {
            let values = sql.strip_prefix("insert into inserted (k, c, pad) values ").unwrap();
            let rows: Vec<String> = values.split("),").map(str::to_owned).collect();
            rows
        };
        let all: Vec<String> = inserts.iter().flat_map(rows).collect();
        let k = |row: &String| row.trim_start_matches('(').split(',').next().unwrap().parse::<i32>();
        assert!(all.iter().all(|row| k(row).is_ok_and(|k| k > 0)));
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!((inserts.len(), different.len()), (INSERTS, all.len()));
        assert!(inserts.iter().all(|sql| (INSERT_BYTES..INSERT_BYTES + 500).contains(&sql.len())));
        assert!(statements(Statement::Range).inserts(0).is_empty());
    }
}
