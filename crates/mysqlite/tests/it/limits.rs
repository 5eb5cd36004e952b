//! What a server bears: clients that are too many, that say nothing, and statements without an end.
//!
//! Not here: TLS (crate `admin`, by real clients).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysqlite::{Limits, Options, Server, Store};

use crate::client::Client;

fn server(limits: Limits) -> Server {
    Server::start(Options { limits, ..Options::default() }).unwrap()
}

/// What comes until the server closes.
fn all_of(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes = Vec::new();
    // A close with bytes of ours unread is a reset.
    let ended = stream.read_to_end(&mut bytes);
    assert!(ended.is_ok() || !bytes.is_empty());
    bytes
}

#[test]
fn one_client_too_many_is_told_1040_and_gets_in_when_another_has_gone() {
    let server = server(Limits { connections_max: 2, ..Limits::default() });
    let (first, mut second) = (Client::of(&server), Client::of(&server));
    let mut third = TcpStream::connect(server.address().unwrap()).unwrap();
    let told = all_of(&mut third);
    assert_eq!(&told[4..7], [0xff, 0x10, 0x04], "{}", String::from_utf8_lossy(&told));
    assert_eq!(second.lines("select 1"), ["1"]);
    drop(first);
    let begun = Instant::now();
    loop {
        let mut stream = TcpStream::connect(server.address().unwrap()).unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        if head[4] == 10 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{head:?}");
    }
}

#[test]
fn a_login_that_takes_too_long_is_closed_also_if_it_comes_byte_by_byte() {
    let server = server(Limits { login: Duration::from_millis(300), ..Limits::default() });
    let mut silent = TcpStream::connect(server.address().unwrap()).unwrap();
    let begun = Instant::now();
    assert!(all_of(&mut silent).len() > 40, "no greeting");
    assert!((Duration::from_millis(250)..Duration::from_secs(10)).contains(&begun.elapsed()));
    let mut slow = TcpStream::connect(server.address().unwrap()).unwrap();
    let begun = Instant::now();
    for byte in [32_u8, 0, 0, 1].into_iter().chain(std::iter::repeat(0)) {
        if slow.write_all(&[byte]).is_err() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "it is still listened to");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Who is in may take its time.
    let mut client = Client::of(&server);
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(client.lines("select 1"), ["1"]);
}

#[test]
fn a_statement_without_an_end_is_ended_with_3024_and_the_session_goes_on() {
    let store = Store::open(None).unwrap();
    store.limit_statements(Duration::from_millis(200));
    let server = Server::start_with(Options::default(), Arc::new(store)).unwrap();
    let mut client = Client::of(&server);
    let rows = vec!["(1)"; 200].join(",");
    client.query("create database d").unwrap();
    client.query("create table d.t (a int)").unwrap();
    client.query(&format!("insert into d.t values {rows}")).unwrap();
    let endless = "select sum(u.a) from d.t u, d.t v, d.t w, d.t x, d.t y, d.t z";
    let begun = Instant::now();
    assert_eq!(client.error(endless), 3024);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(client.lines("select 1"), ["1"]);
}
