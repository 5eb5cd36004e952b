//! A full scan with our own client, which asks for any algorithm and level.
//!
//! The table is read again and again until [`RUN_MIN`] has passed, at least once, on one connection; the sample is the
//! median scan.
//!
//! Invariants: time starts with the query and ends with its last byte; a turn ends between two scans; each scan must
//! bring as many rows as were asked for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::{Meter, Outcome};
use crate::cpu;
use crate::record::Metric;
use crate::run::{Parts, Stage};
use crate::stats::median;
use crate::table::Table;

/// Reads a table, or its first rows.
#[derive(Clone, Debug)]
pub struct ScanJob {
    /// The table.
    pub table: Table,
    /// Rows that are read; of more than the table has, all of them so many times over as it fits.
    pub rows: u32,
}

impl ScanJob {
    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        stage.on_client_host(|| self.scan(stage, parts, meter))
    }

    fn scan(&self, stage: &Stage<'_>, parts: &Parts<'_>, meter: &mut dyn Meter) -> anyhow::Result<Outcome> {
        let mut client = stage.connect(parts).context("cannot log in")?;
        let sql = self.statement();
        let mut times = Vec::new();
        let (mut plain_bytes, mut packed_bytes) = (0, 0);
        let (mut run_time, mut client_cpu) = (Duration::ZERO, Duration::ZERO);
        while run_time < RUN_MIN {
            meter.start();
            let (start, cpu_before) = (Instant::now(), cpu::this_thread());
            let turn = meter.turn().unwrap_or(RUN_MIN).min(RUN_MIN - run_time);
            while times.is_empty() || start.elapsed() < turn {
                let scan_start = Instant::now();
                let scan = client.query(&sql).with_context(|| format!("'{sql}' failed"))?;
                times.push(scan_start.elapsed().as_secs_f64());
                ensure!(
                    scan.rows == u64::from(self.rows),
                    "'{sql}' gave {} rows, {} were asked for",
                    scan.rows,
                    self.rows
                );
                plain_bytes = scan.plain_bytes;
                packed_bytes += scan.packed_bytes;
            }
            run_time += start.elapsed();
            client_cpu += cpu::this_thread() - cpu_before;
            meter.stop();
        }
        client.quit();
        let count = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
        let metrics = BTreeMap::from([
            (Metric::TimeS, median(&times).unwrap_or_default()),
            (Metric::TransactionsPerS, count / run_time.as_secs_f64()),
            (Metric::PlainBytes, f64_of(plain_bytes)),
        ]);
        Ok(Outcome { count, run_time, client_cpu, metrics, packed_bytes })
    }

    /// Reads it once, on a connection of its own that is over behind it: what a proxy learns by it about the link it has
    /// learnt then.
    pub(crate) fn run_uncounted(&self, stage: &Stage<'_>, parts: &Parts<'_>) -> anyhow::Result<()> {
        stage.on_client_host(|| {
            let mut client = stage.connect(parts).context("cannot log in")?;
            let sql = self.statement();
            client.query(&sql).with_context(|| format!("'{sql}' failed"))?;
            // Its answer comes behind all that is done at the end of the reply before.
            client.query("select 1").context("'select 1' failed")?;
            client.quit();
            Ok(())
        })
    }

    fn statement(&self) -> String {
        let all = self.table.scan_statement();
        if self.rows < self.table.rows {
            return format!("{all} limit {}", self.rows);
        }
        let copies = self.rows / self.table.rows.max(1);
        vec![all; usize::try_from(copies).unwrap_or(1).max(1)].join(" union all ")
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a scan are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// A run must hold at least one whole second, over which the peak is taken, and a bit.
pub(crate) const RUN_MIN: Duration = Duration::from_millis(1200);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Kind;

    #[test]
    fn fewer_rows_are_limited_and_more_are_read_again() {
        let table = Table::generated(Kind::Sysbench, "t", 10, 1);
        let sql = |rows| ScanJob { table: table.clone(), rows }.statement();
        assert_eq!(sql(3), "select * from t limit 3");
        assert_eq!(sql(10), "select * from t");
        assert_eq!(sql(20), "select * from t union all select * from t");
    }
}
