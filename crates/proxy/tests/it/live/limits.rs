//! Limits and the drain, on real servers.
//!
//! Not here: rolling restarts (crate `cli`), memory (`bad_input::memory`), the proxy's stop (`flows`).

use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use codec::Algorithm;
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use lab::wait::wait_until;
use proxy::{Address, Config, ListenerConfig, Proxy, SslMode};
use wire::Side;

use super::authentication::Connection;

fn start(server: &RealServer, set: impl FnOnce(&mut Config)) -> Proxy {
    let mut config: Config =
        ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server.address().into()).into();
    config.listeners[0].server_tls.mode = Some(SslMode::Disabled);
    set(&mut config);
    Proxy::start(config).unwrap()
}

fn open(proxy: &Proxy) -> Connection {
    Connection::open(proxy.address(), Algorithm::Zlib, USER, PASSWORD).unwrap()
}

/// What the proxy says to a client that says nothing.
fn first_words(proxy: &Proxy) -> Vec<u8> {
    let Address::Tcp { host, port } = proxy.address() else { panic!() };
    let mut socket = TcpStream::connect((host.as_str(), *port)).unwrap();
    let mut bytes = Vec::new();
    // A refused client is told and closed on; a greeted one would wait.
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.read_to_end(&mut bytes).unwrap();
    bytes
}

const TOO_MANY: &[u8] = b"\x17\0\0\0\xff\x10\x04Too many connections";

#[test]
fn one_connection_too_many_is_refused_at_once_with_mysqls_own_error() {
    let Some(server) = required(Kind::MySql) else { return };
    let proxy = start(server, |config| config.connections_max = Some(2));
    let mut kept = [open(&proxy), open(&proxy)];
    let begun = Instant::now();
    assert_eq!(first_words(&proxy), TOO_MANY);
    assert!(begun.elapsed() < Duration::from_secs(5), "not at once");
    assert_eq!(proxy.counters().faults_of(Side::Client, "too_many_connections"), 1);
    assert_eq!(kept[0].query("select 1"), Ok("1".to_owned()));
    drop(kept);
    await_end_of_all(&proxy);
    assert_eq!(open(&proxy).query("select 2"), Ok("2".to_owned()));
}

#[test]
fn each_address_has_its_own_limit() {
    let Some(server) = required(Kind::MySql) else { return };
    let proxy = start(server, |config| {
        config.connections_per_address_max = 1;
        // Who else sends a header has the address that it names.
        config.listeners[0].proxy_protocol_from = vec!["127.0.0.2".parse().unwrap()];
    });
    let kept = open(&proxy);
    assert_eq!(first_words(&proxy), TOO_MANY);
    drop(kept);
    await_end_of_all(&proxy);
    assert_eq!(open(&proxy).query("select 1"), Ok("1".to_owned()));
}

#[test]
fn only_silence_between_commands_is_idle() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let limit = Duration::from_secs(1);
        let proxy = start(server, |config| config.listeners[0].idle_timeout = Some(limit));
        let mut connection = open(&proxy);
        // Longer than the limit, and no silence of the client's: its reply is due.
        assert_eq!(connection.query("select sleep(1.5)"), Ok("0".to_owned()));
        let begun = Instant::now();
        while proxy.counters().sessions_open() > 0 && proxy.counters().faults_of(Side::Client, "idle") == 0 {
            // The session lingers until its client has left.
            if begun.elapsed() > limit + Duration::from_millis(200) {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(connection.query("select 1").unwrap_err().code, 4031);
        drop(connection);
        await_end_of_all(&proxy);
        assert_eq!(proxy.counters().faults_of(Side::Client, "idle"), 1);
    }
}

#[test]
fn a_drain_ends_who_holds_nothing_and_waits_for_the_rest() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        server.sql("create database if not exists d; create or replace view d.one as select 1").unwrap();
        server.sql("create table if not exists d.t (id int primary key) engine=innodb").unwrap();
        let proxy = start(server, |_| {});
        let mut idle = open(&proxy);
        let mut in_transaction = open(&proxy);
        let mut running = open(&proxy);
        idle.query("select 1").unwrap();
        in_transaction.query("begin").unwrap();
        in_transaction.query("insert into d.t values (1)").unwrap();
        std::thread::scope(|scope| {
            let statement = scope.spawn(move || running.query("select sleep(1)"));
            let begun = Instant::now();
            // It runs when the server says so, which it can't while another test's statement is no text.
            while !server
                .sql("select count(*) from information_schema.processlist where info = 'select sleep(1)'")
                .is_ok_and(|count| count == "1")
            {
                assert!(begun.elapsed() < Duration::from_secs(20), "the statement never runs");
            }
            let drain = scope.spawn(move || proxy.drain(Duration::from_secs(20), &AtomicBool::new(false)));
            // Answered until the drain begins, and then refused: nothing else.
            let refused = loop {
                if let Err(error) = idle.query("select 2") {
                    break error;
                }
            };
            assert_eq!(refused.code, 1053);
            assert_eq!(in_transaction.query("insert into d.t values (2)"), Ok(String::new()));
            assert_eq!(in_transaction.query("commit"), Ok(String::new()));
            assert_eq!(in_transaction.query("insert into d.t values (3)").unwrap_err().code, 1053);
            assert_eq!(statement.join().unwrap(), Ok("0".to_owned()));
            assert_eq!(drain.join().unwrap(), 0, "sessions were broken off");
        });
        assert_eq!(server.sql("select group_concat(id) from d.t").unwrap(), "1,2");
        server.sql("drop database d").unwrap();
    }
}

#[test]
fn a_drains_deadline_ends_a_transaction_and_says_so() {
    let Some(server) = required(Kind::MySql) else { return };
    let proxy = start(server, |_| {});
    let mut held = open(&proxy);
    held.query("begin").unwrap();
    held.query("select 1").unwrap();
    assert_eq!(proxy.drain(Duration::from_millis(200), &AtomicBool::new(false)), 1);
    assert_eq!(held.query("select 2").unwrap_err().code, 1053);
}

fn await_end_of_all(proxy: &Proxy) {
    wait_until("all sessions ended", || proxy.counters().sessions_open() == 0);
}
