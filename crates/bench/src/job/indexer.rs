//! The real Sphinx `indexer`: it reads all documents with one query and writes a full-text index.
//!
//! ```text
//!  sql_query = select * from documents     mysql_connect_flags = 32 is MYSQL_CLIENT_COMPRESS
//! ```
//! Invariants: every document must be in the index; the time of the query is the server's own, from its statement
//! statistics, so that it is known apart from the time that the indexer spends on words.
//!
//! Not here: the documents (`documents`).

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use lab::link::Address;

use super::client_process::ClientProcess;
use super::{Meter, Outcome, program};
use crate::record::{Metric, Setting};
use crate::run::{Parts, Stage};
use crate::table::Table;

/// Indexes a table of documents.
#[derive(Clone, Debug)]
pub struct Indexer {
    /// The documents.
    pub table: Table,
}

impl Indexer {
    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        let mut command = program("indexer")?;
        let folder = parts.folder.join("index");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let config = folder.join("sphinx.conf");
        fs::write(&config, self.config(stage, parts)?)
            .with_context(|| format!("cannot write {}", config.display()))?;
        command.arg("--config").arg(&config).args(["--all", "--noprogress"]).current_dir(&folder);

        let query_before = self.query_time(parts)?;
        meter.start();
        let start = Instant::now();
        let ended = ClientProcess::start(stage.client_words(), &command)?.wait(parts.stop)?;
        let run_time = start.elapsed();
        meter.stop();
        fs::remove_dir_all(&folder).ok();
        let documents = documents_in(&ended.lines)?;
        ensure!(
            documents == self.table.rows,
            "the indexer indexed {documents} documents, the table has {}",
            self.table.rows
        );
        let mut metrics = BTreeMap::from([(Metric::TimeS, run_time.as_secs_f64())]);
        if let (Some(before), Some(after)) = (query_before, self.query_time(parts)?) {
            metrics.insert(Metric::QueryTimeS, after.saturating_sub(before).as_secs_f64());
        }
        Ok(Outcome { count: 1.0, run_time, client_cpu: ended.cpu, metrics, packed_bytes: 0 })
    }

    fn config(&self, stage: &Stage<'_>, parts: &Parts<'_>) -> anyhow::Result<String> {
        let account = parts.database.account();
        let flags = match stage.client_setting() {
            Setting::None => 0,
            Setting::Zlib => MYSQL_CLIENT_COMPRESS,
            Setting::Zstd(_) | Setting::Latency | Setting::Stream(_) => {
                bail!("Sphinx knows zlib only; zstd is for wirepress beside it")
            }
        };
        let place = match stage.client_address() {
            address @ Address::Tcp(_) => {
                let (host, port) =
                    address.host_and_port().with_context(|| format!("no port in {address}"))?;
                format!("sql_host = {host}\n  sql_port = {port}")
            }
            Address::Unix(path) => format!("sql_host = localhost\n  sql_sock = {}", path.display()),
        };
        Ok(format!(
            "source documents {{\n  type = mysql\n  {place}\n  sql_user = {}\n  sql_pass = {}\n  sql_db = {}\n  \
             mysql_connect_flags = {flags}\n  sql_query = {}\n}}\n\
             index documents {{\n  source = documents\n  path = documents\n}}\n\
             indexer {{\n  mem_limit = 256M\n}}\n",
            account.user,
            account.password.as_str(),
            account.database,
            self.table.scan_statement(),
        ))
    }

    /// Time that statements which read the table have taken so far, by a private server's own statistics.
    fn query_time(&self, parts: &Parts<'_>) -> anyhow::Result<Option<Duration>> {
        let Some(server) = parts.database.private() else { return Ok(None) };
        let picoseconds = server.sql(&format!(
            "select coalesce(sum(sum_timer_wait), 0) from performance_schema.events_statements_summary_by_digest \
             where digest_text like 'select%from%{}%'",
            self.table.name
        ))?;
        let picoseconds: u64 =
            picoseconds.trim().parse().with_context(|| format!("no time: '{picoseconds}'"))?;
        Ok(Some(Duration::from_nanos(picoseconds / 1000)))
    }
}

/// From `total 1234 docs, 5600000 bytes`.
fn documents_in(lines: &[String]) -> anyhow::Result<u32> {
    let count = lines
        .iter()
        .find_map(|line| line.strip_prefix("total ")?.split_once(" docs").map(|(count, _)| count));
    let said =
        || format!("the indexer did not say how many documents there are; it said: {}", lines.join("; "));
    count.and_then(|count| count.trim().parse().ok()).with_context(said)
}

/// The value of the protocol's capability.
const MYSQL_CLIENT_COMPRESS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_documents_is_read() {
        let lines = ["indexing index 'documents'...", "total 1234 docs, 5600000 bytes", "total 0.2 sec"];
        assert_eq!(documents_in(&lines.map(str::to_owned)).unwrap(), 1234);
        assert!(documents_in(&["ERROR: no".to_owned()]).unwrap_err().to_string().contains("ERROR: no"));
    }
}
