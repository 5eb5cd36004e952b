//! The statements that a script of sysbench sends, as it runs on the user's own tables.
//!
//! ```text
//!  sysbench, one thread, 2 s ─▶ tap ─▶ server
//!                                └▶ the first statements, whole transactions of them, as far as they fit a pass
//! ```
//! Invariants: a script that isn't known to only read is refused before it runs, unless writes are allowed; no password
//! stands in a command line; a name among [`READ_ONLY`] is sysbench's own script, and no file of the working directory.
//!
//! Not here: sysbench as an experiment with tables of its own (`job`).

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use lab::link::Address;

use super::observed::{Gathered, Tap};
use super::statements::{self, Origin, Statement};
use super::traffic::Source;
use crate::client::{Compression, Stop};
use crate::job::{ClientProcess, program, sysbench_account};
use crate::stats::{f64_of, mean_interval};

/// Runs the script, and gives what it sent. `way` says where its bytes go, to the server or to what stands before it, when it
/// is told the version of TLS that the server is asked by.
///
/// # Errors
/// A script that may write, no sysbench, a sysbench that fails.
pub(super) fn statements(
    source: &Source<'_>,
    way: impl FnOnce(Option<&'static str>) -> anyhow::Result<Address>,
    script: &str,
    options: &[String],
    seed: u64,
) -> anyhow::Result<Vec<Statement>> {
    if !source.allow_writes && !READ_ONLY.contains(&script) {
        bail!(
            "the sysbench script {script} may write: only {} are known not to; --allow-writes runs it, and then its \
             statements several times",
            READ_ONLY.join(", ")
        );
    }
    // Without TLS a password that the server has not seen lately is not taken from sysbench's client; ours can send it.
    let client = source.connect(Compression::NONE).context("cannot log in")?;
    let to = way(client.tls_version())?;
    client.quit();
    let mut tap = Tap::listen("127.0.0.1:0", &to, Gathered::with_queries(seed), 1.0)?;
    let address = tap.address()?;
    let (_, port) = address.host_and_port().context("no port to listen on")?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let config = sysbench_account(source.account, folder.path())?;
    let mut command = program("sysbench")?;
    if READ_ONLY.contains(&script) {
        // A script of that name in the working directory would be another one, which may write.
        command.current_dir(folder.path()).env_remove("LUA_PATH");
    }
    command.arg(format!("--config-file={}", config.display())).arg(script);
    for option in options {
        command.arg(option_of(option)?);
    }
    command
        .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-ssl=off", "--db-ps-mode=disable"])
        .arg(format!("--mysql-port={port}"))
        .args(["--threads=1", "--events=0"])
        .arg(format!("--time={}", TIME.as_secs()))
        .arg(format!("--rand-seed={}", seed.max(1)))
        .arg("run");
    run(&command, &mut tap, source.stop).with_context(|| {
        format!(
            "sysbench {script} failed; its tables must have been prepared in the schema {} (sysbench {script} … prepare), \
             and be named as then (--sysbench-option tables=4)",
            source.account.database
        )
    })?;
    let gathered = tap.end(Duration::ZERO)?.gathered;
    let times_s: Vec<f64> = gathered.exchanges.kept().iter().map(|one| one.time_s).collect();
    let time_s = mean_interval(&times_s).map_or(0.0, |mean| mean.value);
    let texts = gathered.queries.unwrap_or_default();
    ensure!(
        !texts.is_empty(),
        "sysbench {script} sent no statement as text; a script that prepares its statements itself cannot be used"
    );
    let texts = whole_transactions(&texts, kept(time_s));
    statements::of_texts(&texts, Origin::Sysbench, source.allow_writes)
}

/// Runs it through the tap until it has ended.
fn run(command: &Command, tap: &mut Tap, stop: &Stop) -> anyhow::Result<()> {
    let client = ClientProcess::start(&[], command)?;
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let ended = client.wait(stop);
            has_ended.store(true, Ordering::Relaxed);
            ended
        });
        tap.relay_for(TIME_MAX, |_, _| has_ended.load(Ordering::Relaxed));
        match ended.join() {
            Ok(ended) => ended.map(drop),
            Err(_) => bail!("waiting for sysbench failed"),
        }
    })
}

/// An option of the script, and none of those by which it is led through the tap.
fn option_of(option: &str) -> anyhow::Result<String> {
    let option = option.trim_start_matches('-');
    let name = option.split('=').next().unwrap_or_default();
    ensure!(
        option.contains('=') && !name.is_empty(),
        "--sysbench-option {option} is none; write NAME=VALUE, such as tables=4"
    );
    let is_ours = OURS.contains(&name) || name.starts_with("mysql") || name.starts_with("db-");
    ensure!(!is_ours, "--sysbench-option {name} is set here, and cannot be given");
    Ok(format!("--{option}"))
}

/// How many statements fit into a pass, which is run many times.
fn kept(time_s: f64) -> usize {
    (1..=STATEMENTS_MAX).rev().find(|count| f64_of(*count) * time_s <= PASS_S).unwrap_or(1)
}

/// The first `count` statements, to the end of the last transaction that ends among them; or to the end of the first.
fn whole_transactions(texts: &[String], count: usize) -> Vec<String> {
    let is_end = |text: &String| {
        ["COMMIT", "ROLLBACK"].iter().any(|end| text.trim_start().to_uppercase().starts_with(end))
    };
    let first = texts.get(..count).unwrap_or(texts);
    let len = match first.iter().rposition(is_end) {
        Some(last) => last + 1,
        None => texts.iter().position(is_end).map_or(first.len(), |end| end + 1),
    };
    texts.get(..len).unwrap_or(texts).to_vec()
}

/// Of sysbench's own scripts those that only read.
const READ_ONLY: [&str; 4] =
    ["oltp_read_only", "oltp_point_select", "select_random_points", "select_random_ranges"];
/// What we say, or what would say it otherwise.
const OURS: [&str; 5] = ["threads", "time", "events", "config-file", "rand-seed"];
/// How long it runs.
pub(super) const TIME: Duration = Duration::from_secs(2);
/// A sysbench that hangs.
const TIME_MAX: Duration = Duration::from_secs(60);
/// More only take longer.
const STATEMENTS_MAX: usize = 200;
/// A third of what a pass may take.
const PASS_S: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn statements_are_cut_where_a_transaction_ends() {
        let all = texts(&["BEGIN", "SELECT 1", "COMMIT", "BEGIN", "SELECT 2", "COMMIT"]);
        assert_eq!(whole_transactions(&all, 5).len(), 3);
        assert_eq!(whole_transactions(&all, 200).len(), 6);
        // Not even one fits: then one it is.
        assert_eq!(whole_transactions(&all, 2).len(), 3);
        assert_eq!(whole_transactions(&texts(&["SELECT 1", "SELECT 2", "SELECT 3"]), 2).len(), 2);
    }

    #[test]
    fn slow_statements_make_a_short_pass() {
        assert_eq!(kept(0.000_1), STATEMENTS_MAX);
        assert_eq!(kept(0.1), 10);
        assert_eq!(kept(30.0), 1);
    }

    #[test]
    fn options_that_would_lead_sysbench_elsewhere_are_refused() {
        assert_eq!(option_of("tables=4").unwrap(), "--tables=4");
        assert_eq!(option_of("--table-size=10").unwrap(), "--table-size=10");
        for (option, part) in [
            ("tables", "write NAME=VALUE"),
            ("mysql-host=h", "mysql-host is set here"),
            ("threads=4", "threads is set here"),
            ("--db-ps-mode=auto", "db-ps-mode is set here"),
        ] {
            let error = option_of(option).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
