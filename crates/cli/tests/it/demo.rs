//! `wirepress demo`, small: on the embedded database, on real servers, interrupted, and with bad arguments.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use lab::peer::Nobody;
use lab::real::{Kind, PASSWORD, RealServer, USER, required, required_with};

fn demo(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.arg("demo").args(args);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Each table has a row for each setting, and all of them carry numbers.
fn report_is_whole(output: &Output, links: usize) {
    let report = text(&output.stdout);
    assert!(output.status.success(), "{report}\n{}", text(&output.stderr));
    for setting in ["no proxy", "none", "zlib", "zstd 1", "zstd 3", "zstd 7", "zstd 10"] {
        let rows: Vec<&str> =
            report.lines().filter(|line| line.starts_with(&format!("  {setting} "))).collect();
        assert_eq!(rows.len(), 2 * links, "{setting}: {report}");
        let words = setting.split(' ').count();
        for row in rows {
            let numbers: Vec<&str> = row.split_whitespace().skip(words).collect();
            assert_eq!(numbers.len(), 12, "{row}");
            let number = |i: usize| numbers[i].replace(',', "").parse::<f64>().unwrap();
            assert!(number(0) > 0.0, "{row}");
            let is_packed = !matches!(setting, "no proxy" | "none");
            assert_eq!(number(5) > 1.5, is_packed, "{row}");
        }
    }
    assert!(report.lines().all(|line| line.chars().count() <= 120), "{report}");
    // Published: the zstd level 3 scan of sbtest1.
    assert!(report.contains("72.1    4.18    28.0"), "{report}");
    assert_eq!(report.matches("\n  sbtest1: ").count(), links, "{report}");
}

fn url(server: &RealServer) -> String {
    format!("mysql://{USER}:{PASSWORD}@{}/demo", server.address())
}

#[test]
fn the_embedded_database_is_measured_over_each_link() {
    let args = ["--rows", "2000", "--wide-rows", "20", "--link", "unlimited", "--link", "1gbit,1ms"];
    report_is_whole(&demo(&args).output().unwrap(), 2);
}

#[test]
fn a_real_server_is_measured_and_its_schema_left_as_it_was() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        server
            .sql("create database if not exists demo; create table if not exists demo.mine (a int)")
            .unwrap();
        let output =
            demo(&["--rows", "2000", "--wide-rows", "20", "--link", "1gbit", "--server", &url(server)])
                .output()
                .unwrap();
        report_is_whole(&output, 1);
        assert_eq!(server.sql("show tables from demo").unwrap(), "mine");
        assert!(!text(&output.stdout).contains(PASSWORD) && !text(&output.stderr).contains(PASSWORD));
    }
}

#[test]
fn an_interrupted_demo_drops_its_tables_and_says_so() {
    let Some(server) = required_with(Kind::MariaDb, &lab::real::Options::new()) else { return };
    server.sql("create database demo").unwrap();
    let mut child = demo(&["--link", "1mbit", "--rows", "50000", "--server", &url(&server)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The tables are full, and a run over the slow link takes a minute.
    while !line.contains("link 1mbit") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the demo ended before its first run");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("interrupted"), "{rest}");
    assert_eq!(server.sql("show tables from demo").unwrap(), "");
}

#[test]
fn bad_arguments_are_named_without_the_password() {
    for (args, part) in [
        (["--server", "mysql://me:hush@h"], "names no database"),
        (["--server", "http://me:hush@h/d"], "does not begin with mysql://"),
        (["--link", "100mb"], "does not end in kbit, mbit or gbit"),
        (["--rows", "0"], "0 is not in 1..=100000000"),
    ] {
        let output = demo(&args).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{told}");
        assert!(told.contains(part), "{told}");
        assert!(!told.contains("hush"), "{told}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_or_entered_is_named() {
    let nobody = Nobody::new().unwrap();
    let address = nobody.address().unwrap();
    let output = demo(&["--server", &format!("mysql://me:hush@{address}/d")]).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(told.contains(&format!("cannot connect to {address}: Connection refused")), "{told}");
    assert!(!told.contains("hush"), "{told}");
}
