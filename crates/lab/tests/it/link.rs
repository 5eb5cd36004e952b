//! Links between real sockets: bytes, time, counts, and how they end.
//!
//! Times are checked from below exactly (a byte never arrives early) and from above loosely, because the
//! machine that runs tests is not idle. The exact measurement is the example `link_speed`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use lab::generate::blob;
use lab::link::{Address, Link, RunningLink};
use lab::peer::Nobody;

/// A server that sends back what it gets, until the client has said its last word.
fn echo_server() -> (Address, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().into();
    let thread = spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = stream.try_clone().unwrap();
        let mut writer = stream;
        // Ends with an error when the link is dropped in the middle, as some tests do.
        drop(std::io::copy(&mut reader, &mut writer));
        drop(writer.shutdown(Shutdown::Write));
    });
    (address, thread)
}

fn open(text: &str, server: Address) -> (RunningLink, TcpStream) {
    let link = Link::parse(text).unwrap().open(server).unwrap();
    let client = TcpStream::connect(link.address()).unwrap();
    client.set_nodelay(true).unwrap();
    (link, client)
}

/// Sends `sent` and reads to the end.
fn round_trip(client: &TcpStream, sent: &[u8]) -> Vec<u8> {
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (&*client).write_all(sent).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        });
        (&*client).read_to_end(&mut got).unwrap();
    });
    got
}

#[test]
fn bytes_arrive_unchanged_and_are_counted_each_way() {
    for text in ["unlimited", "1gbit", "200mbit,2ms", "unlimited,3ms"] {
        let (address, echo) = echo_server();
        let (link, client) = open(text, address);
        let sent = blob(1, 1, 3_000_001);
        assert!(round_trip(&client, &sent) == sent, "{text}");
        echo.join().unwrap();
        let traffic = link.traffic();
        assert_eq!((traffic.to_server_bytes(), traffic.to_client_bytes()), (3_000_001, 3_000_001), "{text}");
    }
}

#[test]
fn a_link_leads_to_a_unix_socket_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let server = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello").unwrap();
    });
    let (_link, mut client) = open("unlimited", Address::Unix(path));
    let mut got = String::new();
    client.read_to_string(&mut got).unwrap();
    assert_eq!(got, "hello");
    server.join().unwrap();
}

#[test]
fn bytes_take_the_time_that_the_rate_gives_them() {
    let (address, echo) = echo_server();
    // 2.5 MB at 12.5 MB/s each way at once: 200 ms, and the echo ends a chunk (half a millisecond) later.
    let (_link, client) = open("100mbit", address);
    let start = Instant::now();
    round_trip(&client, &blob(1, 1, 2_500_000));
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(199), "{took:?}");
    assert!(took < Duration::from_millis(400), "{took:?}");
    echo.join().unwrap();
}

#[test]
fn a_byte_takes_half_the_round_trip_each_way() {
    let (address, _echo) = echo_server();
    let (link, mut client) = open("unlimited,20ms", address);
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        fastest = fastest.min(start.elapsed());
    }
    // What its threads are usually woken late is taken off, 0.2 ms at most, twice each way: it may be too much.
    assert!(fastest >= Duration::from_micros(19_200), "{fastest:?}");
    assert!(fastest < Duration::from_millis(22), "{fastest:?}");
    drop(link);
}

#[test]
fn connections_share_the_rate() {
    // Two connections with 1.25 MB each at 12.5 MB/s: 200 ms together, not 100.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let link = Link::parse("100mbit").unwrap().open(listener.local_addr().unwrap().into()).unwrap();
    let start = Instant::now();
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let mut client = TcpStream::connect(link.address()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            spawn(move || server.write_all(&blob(1, 1, 1_250_000)).unwrap());
            spawn(move || client.read_to_end(&mut Vec::new()).unwrap())
        })
        .collect();
    assert_eq!(clients.into_iter().map(|client| client.join().unwrap()).sum::<usize>(), 2_500_000);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(199), "{took:?}");
    assert!(took < Duration::from_millis(400), "{took:?}");
}

#[test]
fn the_sender_has_to_wait_when_the_link_is_full() {
    // The server never reads. What the sender can get rid of is bounded by the link and the kernel's socket
    // buffers, some megabytes; it must be far less than it tries to send.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let link = Link { in_flight_bytes: 100_000, ..Link::parse("1gbit").unwrap() };
    let link = link.open(listener.local_addr().unwrap().into()).unwrap();
    let mut client = TcpStream::connect(link.address()).unwrap();
    let (_server, _) = listener.accept().unwrap();
    client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let sent = blob(1, 1, 64 << 20);
    let mut taken = 0;
    while let Ok(len) = client.write(&sent[taken..]) {
        taken += len;
    }
    assert!(taken < 32 << 20, "{taken} bytes were taken");
}

#[test]
fn a_server_that_cannot_be_reached_closes_the_clients_connection() {
    let nobody = Nobody::new().unwrap();
    let (_link, mut client) = open("unlimited", nobody.address().unwrap().into());
    let mut got = Vec::new();
    // Closed or reset, but not left waiting.
    drop(client.read_to_end(&mut got));
    assert!(got.is_empty());
}

#[test]
fn dropping_a_link_ends_its_connections() {
    for text in ["unlimited", "1gbit,10ms"] {
        let (address, echo) = echo_server();
        let (link, mut client) = open(text, address);
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        drop(link);
        drop(client.read_to_end(&mut Vec::new()));
        echo.join().unwrap();
    }
}

#[test]
fn the_links_own_cpu_time_is_known() {
    let (address, echo) = echo_server();
    let (link, client) = open("1gbit", address);
    round_trip(&client, &blob(1, 1, 10_000_000));
    echo.join().unwrap();
    let cpu = link.cpu();
    assert!(cpu > Duration::ZERO && cpu < Duration::from_secs(1), "{cpu:?}");
}
