//! A handover while the predecessor is told to end by a signal, too: whoever comes first, somebody listens in the end.
//!
//! Not here: restarts under load (`restart`).

use std::os::unix::net::UnixStream;
use std::path::Path;

use bench::client::{Account, Client, Compression, Stop};
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use lab::wait::wait_until;
use proxy::{Inheritance, ListenerConfig, Proxy};
use rustix::process::Signal;
use zeroize::Zeroizing;

use crate::process::ProxyProcess;

/// Its sockets are files of this folder.
struct Paths {
    folder: tempfile::TempDir,
}

impl Paths {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn of(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn start(&self, server: &str) -> ProxyProcess {
        let args = [
            format!("--listen=unix:{}", self.of("proxy.sock")),
            format!("--server={server}"),
            format!("--admin-listen=unix:{}", self.of("admin.sock")),
            format!("--handover={}", self.of("handover")),
        ];
        let process = ProxyProcess::start(&args.each_ref().map(String::as_str), 1);
        wait_until("a handover is offered", || Path::new(&self.of("handover")).exists());
        process.await_admin(&format!("unix:{}", self.of("admin.sock")));
        process
    }

    /// A client in a transaction, which keeps a drain from ending.
    fn in_transaction(&self, server: &RealServer) -> Client {
        server
            .sql("create database if not exists handover; create table if not exists handover.t (id int)")
            .unwrap();
        let account = Account {
            user: USER.to_owned(),
            password: Zeroizing::new(PASSWORD.to_owned()),
            database: "handover".to_owned(),
            tls: None,
        };
        let address = lab::link::Address::Unix(self.of("proxy.sock").into());
        let mut client = Client::connect(&address, &account, Compression::NONE, &Stop::new()).unwrap();
        client.query("begin").unwrap();
        client
    }
}

#[test]
fn a_successor_starts_while_its_predecessor_drains() {
    let Some(server) = required(Kind::MySql) else { return };
    let paths = Paths::new();
    let to_server = server.address().to_string();
    let mut first = paths.start(&to_server);
    let mut client = paths.in_transaction(server);
    first.signal(Signal::TERM);
    first.await_log("draining: SIGTERM");
    // It has bound an address of its own, and is given the admin port's.
    let second = paths.start(&to_server);
    client.query("commit").unwrap();
    let (status, log) = first.end();
    assert!(status.success() && log.contains("broken_off=0"), "{log}");
    assert!(!second.log().contains("there is no admin port"), "{}", second.log());
    // What the first one left behind is the second one's.
    for name in ["proxy.sock", "admin.sock", "handover"] {
        UnixStream::connect(paths.of(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_first_sigterm_behind_a_successors_word_breaks_nothing_off() {
    let Some(server) = required(Kind::MySql) else { return };
    let paths = Paths::new();
    let to_server = server.address().to_string();
    let mut first = paths.start(&to_server);
    let (mut client, other) = (paths.in_transaction(server), paths.in_transaction(server));
    let _second = paths.start(&to_server);
    first.await_log("draining: a successor accepts");
    first.signal(Signal::TERM);
    // Time to do what it should not.
    std::thread::sleep(std::time::Duration::from_millis(200));
    client.query("commit").unwrap();
    first.await_log("session ended");
    first.signal(Signal::TERM);
    let (status, log) = first.end();
    assert!(status.success() && log.contains("broken_off=1"), "{log}");
    drop(other);
}

#[test]
fn a_successor_goes_on_though_its_predecessor_ends_before_it_is_ready() {
    let paths = Paths::new();
    let mut first = paths.start("127.0.0.1:9");
    let mut inheritance = Inheritance::ask_for(Path::new(&paths.of("handover"))).unwrap().unwrap();
    first.signal(Signal::TERM);
    let (status, log) = first.end();
    assert!(status.success(), "{log}");
    let listen = format!("unix:{}", paths.of("proxy.sock"));
    let config = ListenerConfig::new(listen.parse().unwrap(), "127.0.0.1:9".parse().unwrap());
    let sockets = std::mem::take(&mut inheritance.sockets);
    assert_eq!(sockets.len(), 1);
    let second = Proxy::start_with(config, sockets).unwrap();
    inheritance.confirm(&second);
    UnixStream::connect(paths.of("proxy.sock")).unwrap();
    drop(second);
    assert!(!Path::new(&paths.of("proxy.sock")).exists(), "its file is the successor's to remove");
}

#[test]
fn a_successor_that_does_not_start_leaves_no_file_of_a_predecessor_that_ended() {
    let paths = Paths::new();
    let mut first = paths.start("127.0.0.1:9");
    drop(Inheritance::ask_for(Path::new(&paths.of("handover"))).unwrap().unwrap());
    first.await_log("did not start");
    UnixStream::connect(paths.of("proxy.sock")).unwrap();
    first.signal(Signal::TERM);
    let (status, log) = first.end();
    assert!(status.success(), "{log}");
    for name in ["proxy.sock", "admin.sock", "handover"] {
        assert!(!Path::new(&paths.of(name)).exists(), "{name} is left over");
    }
}
