//! The programs of others that `wirepress bench` runs: what is told of one that is missing, and what they are told.

use std::process::Stdio;
use std::time::Duration;

use lab::real::{Kind, PASSWORD, required, required_programs};

use super::bench::{bench, cache_without, records, text, told_of_a_failure, url};

#[test]
fn without_sysbench_nothing_is_begun() {
    let Some(install) = required_programs() else { return };
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("sysbench").exists()) {
        return lab::real::skip("a sysbench on PATH");
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_without("sysbench", &install, folder.path());
    let args = ["oltp-matrix", "--scale", "smoke", "--out", "run"];
    let output = bench(folder.path(), &args).env("WIREPRESS_CACHE", cache).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let wanted = "sysbench is wanted, and found neither among the fetched programs nor on PATH";
    assert!(told.contains(wanted) && !told.contains("filling"), "{told}");
    assert!(!folder.path().join("run").exists(), "{told}");
}

#[test]
fn a_relay_that_is_missing_keeps_its_row() {
    let Some(install) = required_programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_without("haproxy", &install, folder.path());
    let args = ["peers", "--scale", "smoke", "--workload", "connect", "--out", "run"];
    let output =
        bench(folder.path(), &args).env("WIREPRESS_CACHE", cache).env("PATH", "/usr/bin:/bin").output();
    let told = told_of_a_failure(&output.unwrap(), "1 measurement failed, 3 samples kept; ");
    let run = folder.path().join("run");
    assert_eq!((records(&run, "sample"), records(&run, "failure")), (3, 1), "{told}");
    assert!(told.contains("\nHAProxy (failed) "), "{told}");
}

#[test]
fn no_password_stands_in_a_command_line() {
    let Some(server) = required(Kind::MySql) else { return };
    server.sql("create database if not exists measured_by_sysbench").unwrap();
    let url = url(server, "measured_by_sysbench");
    let folder = tempfile::tempdir().unwrap();
    let args = ["peers", "--scale", "smoke", "--workload", "oltp_point_select, 8", "--server", &url];
    let mut running =
        bench(folder.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut seen = 0;
    let status = loop {
        for words in command_lines().filter(|words| words.contains("--config-file=")) {
            assert!(!words.contains(PASSWORD), "{words}");
            seen += 1;
        }
        match running.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success() && seen > 0, "{status}, {seen} command lines of sysbench");
}

fn command_lines() -> impl Iterator<Item = String> {
    let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
}
