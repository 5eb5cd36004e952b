//! A log that can't be written: a full device, a full disk, a closed standard error, a pipe that nobody reads.
//!
//! Not here: the queue of lines itself (`src/log.rs`).

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::real::{Kind, RealServer, required, root_or_skip};
use lab::wait::wait_until_within;
use rustix::process::Signal;

use super::bystander::log_in;
use super::{MOMENT, Scene, Setting, other_than, report};

/// No timeout is at work: nobody waits for the log. For a hundred sessions that take milliseconds each.
const DEADLINE: Duration = Duration::from_secs(20);
/// At its end the proxy waits for the log a second; the drain has nothing to wait for.
const END_DEADLINE: Duration = Duration::from_secs(1).saturating_add(MOMENT);
/// Each writes a line of about 300 bytes when it ends.
const SESSION_COUNT: u32 = 100;
/// What a full disk has room for: some of the lines.
const DISK_LEN: u32 = 8192;

/// Through a shell that execs it as `script` says; `$0` is `folder`.
fn through_shell(
    words: &'static [&'static str],
    script: String,
    folder: &str,
) -> impl FnOnce(Command) -> Command {
    let folder = folder.to_owned();
    move |command| {
        let [program, words @ ..] = words else { return command };
        let mut shell = Command::new(program);
        shell.args(words).args(["-c", &script, &folder]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }
}

fn serve_sessions(address: SocketAddr) -> Duration {
    let begun = Instant::now();
    for _ in 0..SESSION_COUNT {
        let mut client = log_in(address);
        assert_eq!(client.query("select 1").unwrap().rows, 1);
        client.quit();
    }
    begun.elapsed()
}

/// Serves sessions and ends in order, whatever becomes of the log.
fn serves(server: &RealServer, fault: &str, wrapped: impl FnOnce(Command) -> Command, stderr: Stdio) {
    let Some(other) = other_than(server.kind()) else { return };
    let scene = Setting::new(&server.address().to_string(), other).start_as(wrapped, stderr);
    let others = scene.bystander.watch();
    let took = serve_sessions(scene.address());
    report(fault, &format!("{SESSION_COUNT} sessions served"), took, DEADLINE, &others.told());
    ends(scene, fault);
}

fn ends(mut scene: Scene, fault: &str) {
    scene.bystander.end();
    let begun = Instant::now();
    scene.proxy.signal(Signal::TERM);
    let (status, _) = scene.proxy.end();
    assert!(status.success(), "{status}");
    report(format!("{fault}, SIGTERM"), "drained", begun.elapsed(), END_DEADLINE, "exit code 0");
}

#[test]
fn a_device_that_is_always_full_takes_no_lines_and_costs_no_session() {
    let Some(server) = required(Kind::MySql) else { return };
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    serves(server, "log on /dev/full", |command| command, full.into());
}

#[test]
fn a_closed_standard_error_costs_no_session() {
    let Some(server) = required(Kind::MySql) else { return };
    serves(
        server,
        "standard error closed",
        through_shell(&["sh"], "exec \"$@\" 2>&-".to_owned(), "sh"),
        Stdio::null(),
    );
}

#[test]
fn a_pipe_that_nobody_reads_holds_up_no_session_and_no_end() {
    let Some(server) = required(Kind::MySql) else { return };
    let (reader, writer) = std::io::pipe().unwrap();
    let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
    // The least that the kernel gives: a dozen lines.
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    serves(server, "log in a pipe that nobody reads", |command| command, writer.into());
    drop(reader);
}

#[test]
fn lines_that_a_full_disk_did_not_take_are_counted_when_it_takes_some_again() {
    if !root_or_skip() {
        return;
    }
    let Some(server) = required(Kind::MySql) else { return };
    let Some(other) = other_than(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let script = format!("mount -t tmpfs -o size={DISK_LEN} none \"$0\" && exec \"$@\" 2>>\"$0/log\"");
    let own_mounts = &["unshare", "--mount", "--propagation", "private", "sh"];
    let scene = Setting::new(&server.address().to_string(), other)
        .start_as(through_shell(own_mounts, script, path), Stdio::null());
    let others = scene.bystander.watch();
    let took = serve_sessions(scene.address());
    // What the proxy's own mount namespace has there.
    let disk = PathBuf::from(format!("/proc/{}/root{path}", scene.proxy.pid().as_raw_pid()));
    let log = disk.join("log");
    assert!(std::fs::metadata(&log).unwrap().len() <= u64::from(DISK_LEN), "the disk is not full");
    report("log on a full disk", &format!("{SESSION_COUNT} sessions served"), took, DEADLINE, &others.told());

    // Somebody deletes old logs: here the beginning of this one.
    let others = scene.bystander.watch();
    std::fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    let took = wait_until_within("lines are written again", DEADLINE, || {
        drop(serve_one(scene.address()));
        let text = std::fs::read_to_string(&log).unwrap();
        text.contains("log lines were lost: standard error did not take them")
    });
    report(
        "room on the disk again",
        "the log goes on, with the count of lost lines",
        took,
        DEADLINE,
        &others.told(),
    );
    ends(scene, "log on a full disk");
}

fn serve_one(address: SocketAddr) -> bench::client::Client {
    let mut client = log_in(address);
    assert_eq!(client.query("select 1").unwrap().rows, 1);
    client
}
