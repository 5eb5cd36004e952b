//! A server's name that moves to another server, that is gone, and that nobody answers for.
//!
//! The proxy has its own /etc/hosts, nsswitch.conf and resolv.conf, in a mount namespace; no name server is asked but
//! one of the test's own, which says nothing.
//! Not here: how often a name is looked up within a session (never).

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::real::{Kind, Options, required_with, root_or_skip};

use super::bystander::log_in;
use super::real_client::ask;
use super::{MOMENT, Setting, other_than, report};

/// No timeout is at work: each connection asks anew.
const DEADLINE: Duration = MOMENT;
/// The limit on a dial, which holds for the lookup too and is fixed, and a moment.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(10).saturating_add(MOMENT);
/// More than a worker has helper threads.
const LOOKUP_COUNT: usize = 24;

/// Gives the proxy the files of `folder` instead of the machine's.
fn with_own_names(folder: &Path) -> impl FnOnce(Command) -> Command {
    let script = "for file in hosts nsswitch.conf resolv.conf; do mount --bind \"$0/$file\" \"/etc/$file\" || exit; done; \
                  exec \"$@\"";
    let folder = folder.to_owned();
    move |command| {
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "--propagation", "private", "sh", "-c", script]).arg(folder);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }
}

fn write_names(folder: &Path, hosts: &str, sources: &str, name_server: Ipv4Addr) {
    std::fs::write(folder.join("hosts"), format!("127.0.0.1 localhost\n{hosts}\n")).unwrap();
    std::fs::write(folder.join("nsswitch.conf"), format!("hosts: {sources}\n")).unwrap();
    std::fs::write(folder.join("resolv.conf"), format!("nameserver {name_server}\n")).unwrap();
}

#[test]
fn new_sessions_follow_a_name_that_moves_and_old_ones_stay() {
    if !root_or_skip() {
        return;
    }
    let Some(other) = other_than(Kind::MySql) else { return };
    let Some(first) = required_with(Kind::MySql, &Options::new()) else { return };
    let port = first.address().port();
    // The name moves, the port doesn't.
    let address = Ipv4Addr::new(127, 0, 0, 2);
    let options = Options::new().bind(IpAddr::V4(address)).argument(format!("--port={port}"));
    let Some(_second) = required_with(Kind::MySql, &options) else { return };
    let folder = tempfile::tempdir().unwrap();
    let nobody = Ipv4Addr::LOCALHOST;
    write_names(folder.path(), "127.0.0.1 db.test", "files", nobody);
    let target = format!("db.test:{port}");
    let scene = Setting::new(&target, other).start_as(with_own_names(folder.path()), Stdio::piped());
    let server_of = |client: &mut bench::client::Client| {
        let mut told = String::new();
        client
            .query_rows("select @@bind_address", |row| told = String::from_utf8_lossy(&row[1..]).into_owned())
            .unwrap();
        told
    };
    let mut old = log_in(scene.address());
    assert_eq!(server_of(&mut old), "127.0.0.1");

    let others = scene.bystander.watch();
    write_names(folder.path(), "127.0.0.2 db.test", "files", nobody);
    let begun = Instant::now();
    assert_eq!(server_of(&mut log_in(scene.address())), "127.0.0.2");
    let took = begun.elapsed();
    assert_eq!(server_of(&mut old), "127.0.0.1", "a session changed its server");
    report(
        "name moves",
        "the next connection is to the new server, old ones stay",
        took,
        DEADLINE,
        &others.told(),
    );

    let others = scene.bystander.watch();
    write_names(folder.path(), "", "files", nobody);
    let ended = ask(&first, scene.address(), 2 * DEADLINE);
    assert!(!ended.succeeded && ended.complaint.contains("ERROR 1429"), "{ended:?}");
    assert!(ended.complaint.contains("db.test"), "{ended:?}");
    assert_eq!(server_of(&mut old), "127.0.0.1");
    report(
        "name is gone",
        &format!("client told \"{}\"", ended.complaint),
        ended.took,
        DEADLINE,
        &others.told(),
    );
    scene.end();
}

#[test]
#[ignore = "ten seconds of waiting; make faults runs it"]
fn a_name_server_that_says_nothing_holds_up_nobody_else() {
    if !root_or_skip() {
        return;
    }
    let Some(other) = other_than(Kind::MySql) else { return };
    let Some(server) = lab::real::required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let address = Ipv4Addr::new(127, 213, (std::process::id() >> 8) as u8, std::process::id() as u8);
    let silent = UdpSocket::bind((address, 53)).unwrap();
    write_names(folder.path(), "", "files dns", address);
    let scene = Setting::new("db.test:3306", other).start_as(with_own_names(folder.path()), Stdio::piped());
    let others = scene.bystander.watch();
    let longest = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..LOOKUP_COUNT)
            .map(|_| scope.spawn(|| ask(server, scene.address(), 2 * LOOKUP_DEADLINE)))
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).max_by_key(|ended| ended.took).unwrap()
    });
    assert!(!longest.succeeded && longest.complaint.contains("ERROR 1429"), "{longest:?}");
    assert!(longest.complaint.contains("db.test"), "{longest:?}");
    let told = format!("{LOOKUP_COUNT} clients told \"{}\"", longest.complaint);
    report("name server says nothing", &told, longest.took, LOOKUP_DEADLINE, &others.told());
    assert!(silent.recv(&mut [0; 512]).unwrap() > 0, "nobody asked it");
    scene.end();
}
