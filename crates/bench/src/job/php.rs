//! A script of the real PHP (mysqli): it reads all documents and counts their words.
//!
//! Invariants: every row is read and used; the query's time is the script's own clock around reading, the total that
//! of the whole process.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use lab::link::Address;

use super::client_process::ClientProcess;
use super::{Meter, Outcome, program};
use crate::record::{Metric, Setting};
use crate::run::{Parts, Stage};
use crate::table::Table;

/// Reads a table of documents.
#[derive(Clone, Debug)]
pub struct Php {
    /// The documents.
    pub table: Table,
}

impl Php {
    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        let script = parts.folder.join("documents.php");
        fs::write(&script, SCRIPT).with_context(|| format!("cannot write {}", script.display()))?;
        let account = parts.database.account();
        let (host, port, socket) = match stage.client_address() {
            address @ Address::Tcp(_) => {
                let (host, port) =
                    address.host_and_port().with_context(|| format!("no port in {address}"))?;
                (host.to_owned(), port.to_owned(), String::new())
            }
            Address::Unix(path) => ("localhost".to_owned(), "0".to_owned(), path.display().to_string()),
        };
        let compress = match stage.client_setting() {
            Setting::None => "0",
            Setting::Zlib => "1",
            Setting::Zstd(_) | Setting::Latency | Setting::Stream(_) => {
                bail!("PHP knows zlib only; zstd is for wirepress beside it")
            }
        };
        let mut command = program("php")?;
        command
            .args(["-d", "extension=mysqlnd", "-d", "extension=mysqli", "-d", "memory_limit=1G"])
            .arg(&script)
            .args([host.as_str(), &port, &socket, &account.user, &account.database, compress])
            .arg(self.table.scan_statement())
            .env("WIREPRESS_PASSWORD", account.password.as_str());
        meter.start();
        let start = Instant::now();
        let ended = ClientProcess::start(stage.client_words(), &command)?.wait(parts.stop)?;
        let run_time = start.elapsed();
        meter.stop();
        let (rows, query_s) = answer(&ended.lines)?;
        ensure!(rows == self.table.rows, "PHP read {rows} documents, the table has {}", self.table.rows);
        let metrics =
            BTreeMap::from([(Metric::TimeS, run_time.as_secs_f64()), (Metric::QueryTimeS, query_s)]);
        Ok(Outcome { count: 1.0, run_time, client_cpu: ended.cpu, metrics, packed_bytes: 0 })
    }
}

/// Rows and seconds.
fn answer(lines: &[String]) -> anyhow::Result<(u32, f64)> {
    let both = lines.iter().find_map(|line| {
        let (rows, rest) = line.strip_prefix("rows ")?.split_once(" query ")?;
        Some((rows.parse().ok()?, rest.parse().ok()?))
    });
    both.with_context(|| format!("PHP did not say what it read; it said: {}", lines.join("; ")))
}

/// Buffered, as `mysqli_query` is by default: the query's time ends when all rows are here.
const SCRIPT: &str = r#"<?php
[$self, $host, $port, $socket, $user, $database, $compress, $sql] = $argv;
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = mysqli_init();
$db->real_connect($host, $user, getenv('WIREPRESS_PASSWORD'), $database, (int) $port, $socket ?: null,
    $compress ? MYSQLI_CLIENT_COMPRESS : 0);
$start = microtime(true);
$result = $db->query($sql);
$query = microtime(true) - $start;
$words = 0;
$rows = 0;
while ($row = $result->fetch_row()) {
    $words += str_word_count($row[2]);
    $rows++;
}
if ($words < $rows) {
    throw new Exception("$rows rows have $words words");
}
printf("rows %d query %.6f\n", $rows, $query);
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_php_says_is_read() {
        assert_eq!(answer(&["rows 12 query 0.250000".to_owned()]).unwrap(), (12, 0.25));
        assert!(answer(&["Fatal error".to_owned()]).unwrap_err().to_string().contains("Fatal error"));
    }
}
