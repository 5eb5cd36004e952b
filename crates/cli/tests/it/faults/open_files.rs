//! No file descriptors left: a low limit at the start, and one that is lowered while the proxy runs.
//!
//! Not here: limits on connections as such (crate `proxy`, `live::limits`).

use std::io::Read;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::client::ClientFault;
use lab::real::{Kind, required};
use lab::wait::wait_until_within;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::bystander::{log_in, try_log_in};
use super::readings::{cpu_time, open_files};
use super::real_client::ask;
use super::{MOMENT, Setting, other_than, report};

/// Clients wait in the queue for a second, in case files become free, and are told then; and a moment.
const DEADLINE: Duration = Duration::from_secs(1).saturating_add(MOMENT);
/// 64 are the proxy's own, and a session takes two: eight sessions.
const FILES_AT_START: &str = "80";

/// Lowers the limit so that `free` more files can be opened.
fn leave_files(pid: Pid, free: usize) {
    let open = open_files(pid);
    // The limit is on numbers, not on files.
    limit_files(pid, (0..).filter(|number| !open.contains(number)).nth(free).unwrap());
}

fn limit_files(pid: Pid, limit: u64) {
    let limit = Rlimit { current: Some(limit), maximum: Some(HARD_LIMIT) };
    prlimit(Some(pid), Resource::Nofile, limit).unwrap();
}

/// Enough for this test, and to go back to.
const HARD_LIMIT: u64 = 1024;

#[test]
fn clients_are_told_when_files_run_out_and_served_when_there_are_some_again() {
    let Some(server) = required(Kind::MySql) else { return };
    let Some(other) = other_than(Kind::MySql) else { return };
    let target = server.address().to_string();
    // The bystander keeps what it has.
    let scene = Setting { opens_sessions: false, ..Setting::new(&target, other) }.start();
    let pid = scene.proxy.pid();
    let mut session = log_in(scene.address());
    let open_before = open_files(pid).len();

    // One more file: a client is accepted, and its server can't be dialled.
    let others = scene.bystander.watch();
    leave_files(pid, 1);
    let ended = ask(server, scene.address(), 2 * DEADLINE);
    assert!(!ended.succeeded && ended.complaint.contains("ERROR 1429"), "{ended:?}");
    assert!(ended.complaint.contains("Too many open files"), "{ended:?}");
    let told = format!("client told \"{}\"", ended.complaint);
    report("no file for the server's socket", &told, ended.took, DEADLINE, &others.told());

    // None: nobody is accepted.
    wait_until_within("the refused session's socket is closed", DEADLINE, || {
        open_files(pid).len() == open_before
    });
    leave_files(pid, 0);
    let others = scene.bystander.watch();
    let (cpu, begun) = (cpu_time(pid), Instant::now());
    for _ in 0..3 {
        let ended = ask(server, scene.address(), 2 * DEADLINE);
        assert!(!ended.succeeded && ended.complaint.contains("Too many connections"), "{ended:?}");
        let told = format!("client told \"{}\"", ended.complaint);
        report("no file for the client's socket", &told, ended.took, DEADLINE, &others.told());
    }
    // Clients wait, nobody comes: neither may keep a core busy.
    std::thread::sleep(Duration::from_secs(1));
    let busy = (cpu_time(pid) - cpu).as_secs_f64() / begun.elapsed().as_secs_f64();
    assert!(busy < 0.7, "{:.0} % of a core", busy * 100.0);
    assert_eq!(session.query("select 1").unwrap().rows, 1);

    limit_files(pid, HARD_LIMIT);
    let ended = ask(server, scene.address(), 2 * DEADLINE);
    assert!(ended.succeeded, "{ended:?}");
    let told = format!("new client served ({:.0} % of a core meanwhile)", busy * 100.0);
    report("files are there again", &told, ended.took, DEADLINE, &others.told());
    let log = scene.end();
    assert_eq!(
        log.matches("no connection can be accepted").count(),
        1,
        "told once, not ten times a second: {log}"
    );
    assert!(log.contains("connections are accepted again"), "{log}");
}

#[test]
fn a_low_limit_of_files_is_a_limit_of_connections() {
    let Some(server) = required(Kind::MySql) else { return };
    let Some(other) = other_than(Kind::MySql) else { return };
    let target = server.address().to_string();
    let limited = |command: Command| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {FILES_AT_START}; exec \"$@\""), "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    };
    let setting = Setting { opens_sessions: false, ..Setting::new(&target, other) };
    let scene = setting.start_as(limited, Stdio::piped());
    let others = scene.bystander.watch();
    let mut sessions = Vec::new();
    let begun = Instant::now();
    let refusal = loop {
        match try_log_in(scene.address()) {
            Ok(session) => sessions.push(session),
            Err(ClientFault::Refused(error)) => break error,
            Err(fault) => panic!("{fault}"),
        }
    };
    assert_eq!((sessions.len(), refusal.code), (7, 1040), "eight with the bystander's: {refusal}");
    let told = format!("client told \"{refusal}\"");
    report(format!("limit of {FILES_AT_START} files"), &told, begun.elapsed(), DEADLINE, &others.told());
    sessions.pop().unwrap().quit();
    wait_until_within("there is room again", DEADLINE, || {
        let mut greeting = [0; 5];
        TcpStream::connect(scene.address()).unwrap().read_exact(&mut greeting).unwrap();
        // Protocol version 10, or an error.
        greeting[4] == 10
    });
    scene.end();
}
