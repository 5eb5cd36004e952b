//! A flood of sessions that fail, and what the log has of it.
//!
//! Not here: which lines count as the same (beside the code).

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::ProxyProcess;

const FLOOD: usize = 2000;

/// Nobody listens behind it, so that each session ends with a fault.
fn flooded(more: &[&str]) -> (String, Duration) {
    let args = ["--listen=127.0.0.1:0", "--server=127.0.0.1:9", "--ssl-mode=disabled"];
    let mut process = ProxyProcess::start(&[&args[..], more].concat(), 1);
    let proxy::Address::Tcp { host, port } = process.addresses[0].clone() else { unreachable!() };
    let begun = Instant::now();
    for _ in 0..FLOOD {
        let mut client = TcpStream::connect((host.as_str(), port)).unwrap();
        client.read_to_end(&mut Vec::new()).unwrap();
    }
    let took = begun.elapsed();
    process.signal(Signal::TERM);
    (process.end().1, took)
}

/// Of a line such as `... 1,234 more of the same in the last 10 s: ...`
fn counted(line: &str) -> Option<usize> {
    let before = line.split_once(" more of the same in the last ")?.0;
    before.rsplit([' ', '"']).next()?.replace(',', "").parse().ok()
}

#[test]
fn of_a_flood_so_many_lines_a_second_are_written_and_all_others_are_counted() {
    for format in ["text", "json"] {
        let (log, took) = flooded(&["--log-rate-limit=5", "--log-format", format]);
        let is_session = |line: &&str| line.contains("session ended: ");
        let written = log.lines().filter(is_session).filter(|line| counted(line).is_none()).count();
        let told: Vec<_> = log.lines().filter(|line| counted(line).is_some()).collect();
        let untold: usize = told.iter().filter_map(|line| counted(line)).sum();
        assert_eq!(written + untold, FLOOD, "{log}");
        let seconds = took.as_secs() as usize + 2;
        assert!((5..=5 * seconds).contains(&written), "{written} lines in {took:?}: {log}");
        assert!((1..=seconds / 10 + 2).contains(&told.len()), "{told:?}");
        assert!(told[0].contains("side=server phase=dial cause=io") && told[0].contains("WARN"), "{told:?}");
        // What is said once is still said.
        assert!(log.contains("stopped") && log.contains("limits: "), "{log}");
        println!("{FLOOD} sessions in {took:?}: {written} lines, then: {}", told[told.len() - 1]);
    }
}

#[test]
fn without_a_limit_every_line_is_written() {
    let (log, _) = flooded(&["--log-rate-limit=0"]);
    assert_eq!(log.lines().filter(|line| line.contains("session ended: ")).count(), FLOOD);
}
