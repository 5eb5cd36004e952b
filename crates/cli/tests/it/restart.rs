//! Rolling restarts under load, on a real server: what clients were told is what the server did.
//!
//! `WIREPRESS_RESTART_CONNECTIONS` sets the number of busy connections (`make faults` takes 500).
//! Not here: what keeps a session from ending (`wire::conversation`), other ways to end (`signals`), a predecessor that is told to
//! end by a signal, too (`handover`).

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bench::client::{Account, Client, ClientFault, Compression, Stop};
use lab::real::{Kind, Options, PASSWORD, USER, required_with, root_or_skip};
use lab::wait::wait_until;
use zeroize::Zeroizing;

use crate::process::ProxyProcess;

/// Statements by what their client knows of them.
#[derive(Default)]
struct Told {
    /// Committed, by the answers.
    answered: Mutex<Vec<u64>>,
    /// Answered with an error, so not executed.
    refused: Mutex<Vec<u64>>,
    /// Neither.
    unknown: Mutex<Vec<(u64, String)>>,
    sent: AtomicU64,
    reconnects: AtomicU64,
}

#[test]
fn a_rolling_restart_under_load_leaves_no_statement_in_doubt() {
    let options = Options::new().argument("--max-connections=3000");
    let Some(server) = required_with(Kind::MySql, &options) else { return };
    server.sql("create database r; create table r.t (id bigint primary key)").unwrap();
    let connections: u64 =
        std::env::var("WIREPRESS_RESTART_CONNECTIONS").map_or(100, |text| text.parse().unwrap());

    let folder = tempfile::tempdir().unwrap();
    let handover = folder.path().join("handover");
    let server_address = server.address().to_string();
    // Port 0 is the name by which each successor asks for the first one's socket.
    let args = [
        "--listen",
        "127.0.0.1:0",
        "--server",
        &server_address,
        "--handover",
        handover.to_str().unwrap(),
        "--log-level",
        "error",
    ];
    let mut process = ProxyProcess::start(&args, 1);
    let address = lab::link::Address::Tcp(process.addresses[0].to_string().parse().unwrap());
    let account = Account {
        user: USER.to_owned(),
        password: Zeroizing::new(PASSWORD.to_owned()),
        database: "r".to_owned(),
        tls: None,
    };
    let (told, done) = (Arc::<Told>::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for number in 0..connections {
            let (told, done, account, address) = (&told, &done, &account, &address);
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || work(number, account, address, told, done))
                .unwrap();
        }
        for _ in 0..3 {
            wait_for_progress(&told, 10 * connections);
            let successor = ProxyProcess::start(&args, 1);
            assert_eq!(successor.addresses, process.addresses);
            let (status, log) = std::mem::replace(&mut process, successor).end();
            assert!(status.success(), "{log}");
        }
        wait_for_progress(&told, 5 * connections);
        done.store(true, Ordering::Relaxed);
    });

    let there: HashSet<u64> =
        server.sql("select id from r.t").unwrap().lines().map(|line| line.parse().unwrap()).collect();
    let answered = told.answered.lock().unwrap();
    let refused = told.refused.lock().unwrap();
    let unknown = told.unknown.lock().unwrap();
    println!(
        "rolling restart, {connections} connections, 3 restarts: sent {}, answered {}, refused {}, unknown {}; {} \
         reconnects",
        told.sent.load(Ordering::Relaxed),
        answered.len(),
        refused.len(),
        unknown.len(),
        told.reconnects.load(Ordering::Relaxed),
    );
    assert_eq!(*unknown, Vec::new());
    assert_eq!(answered.iter().find(|id| !there.contains(id)), None, "answered and not there");
    assert_eq!(refused.iter().find(|id| there.contains(id)), None, "refused and executed");
    assert!(told.reconnects.load(Ordering::Relaxed) >= connections, "nobody had to leave");
}

/// Inserts one row at a time, or three in a transaction, and keeps what it is told.
fn work(number: u64, account: &Account, address: &lab::link::Address, told: &Told, done: &AtomicBool) {
    let mut connected = None;
    let mut next_id = number << 32;
    while !done.load(Ordering::Relaxed) {
        let client = match &mut connected {
            Some(client) => client,
            slot => match Client::connect(address, account, Compression::NONE, &Stop::new()) {
                Ok(client) => slot.insert(client),
                // Drained between its login and its first statement, or refused: nothing was sent.
                Err(ClientFault::Closed { .. } | ClientFault::Socket(_)) => continue,
                Err(ClientFault::Refused(error)) if error.code == 1053 => continue,
                Err(fault) => panic!("{fault}"),
            },
        };
        let ids: Vec<u64> = (next_id..).take(if number.is_multiple_of(2) { 1 } else { 3 }).collect();
        next_id += 3;
        told.sent.fetch_add(ids.len() as u64, Ordering::Relaxed);
        match insert(client, &ids) {
            Ok(()) => told.answered.lock().unwrap().extend(ids),
            Err(ClientFault::Refused(error)) if error.code == 1053 => {
                told.refused.lock().unwrap().extend(ids);
                told.reconnects.fetch_add(1, Ordering::Relaxed);
                connected = None;
            }
            Err(fault) => {
                told.unknown.lock().unwrap().push((ids[0], fault.to_string()));
                connected = None;
            }
        }
    }
}

fn insert(client: &mut Client, ids: &[u64]) -> Result<(), ClientFault> {
    if let [id] = ids {
        return client.query(&format!("insert into t values ({id})")).map(drop);
    }
    client.query("begin")?;
    for (place, id) in ids.iter().enumerate() {
        match client.query(&format!("insert into t values ({id})")) {
            // A drain may not break a transaction off.
            Err(ClientFault::Refused(error)) if error.code == 1053 => {
                panic!("refused within a transaction, at statement {place}")
            }
            done => done?,
        };
    }
    client.query("commit").map(drop)
}

/// Waits until so many more statements were answered.
fn wait_for_progress(told: &Told, more: u64) {
    let answered = || told.answered.lock().unwrap().len() as u64;
    let wanted = answered() + more;
    wait_until("more statements are answered", || answered() >= wanted);
}

/// A co-tenant of the host, even where the socket's own mode would let it in.
#[test]
fn another_user_is_not_given_the_sockets() {
    const NOBODY: u32 = 65_534;
    if !root_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(folder.path(), 0o755);
    let handover = folder.path().join("handover");
    let args =
        ["--listen", "127.0.0.1:0", "--server", "127.0.0.1:9", "--handover", handover.to_str().unwrap()];
    let process = ProxyProcess::start(&args, 1);
    // It is offered a moment after the addresses are told.
    let begun = Instant::now();
    while !handover.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "no handover is offered");
        std::thread::yield_now();
    }
    mode(&handover, 0o666);
    // Where anybody may run it.
    let program = folder.path().join("wirepress");
    std::fs::copy(env!("CARGO_BIN_EXE_wirepress"), &program).unwrap();
    mode(&program, 0o755);
    let mut other = Command::new(&program);
    other.arg("proxy").args(args).uid(NOBODY).gid(NOBODY).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut other = other.spawn().unwrap();
    // Who starts says where it listens, and who doesn't ends.
    let mut said = String::new();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut said).unwrap();
    drop(other.kill());
    other.wait().unwrap();
    assert_eq!(said, "", "it started");
    process.await_log("it belongs to another user");
    // The old process goes on, and its own user's successor gets them.
    let successor = ProxyProcess::start(&args, 1);
    assert_eq!(successor.addresses, process.addresses);
}
