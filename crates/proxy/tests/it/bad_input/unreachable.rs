//! Servers that can't be reached, or are none: the client is told which address, and why.
//!
//! Not here: servers that go wrong behind the login (`frames`).

use codec::Algorithm;
use lab::peer::{Listener, Peer, packets};
use wire::Side;
use wire::connect::Login;

use super::{SOON, assert_counted, assert_told};
use crate::scripted::{Stage, Transport, greeting};

const NOBODY: &[u8] = b"wirepress_probe";

/// The client of a proxy before this address is told why it gets nowhere.
fn dial_fails(address: &str, reason: &str) {
    let stage = Stage::with(Transport::Tcp, |config| config.servers = vec![address.parse().unwrap()]);
    let mut client = stage.connect();
    let error = assert_told(&mut client, 1429, address);
    assert!(error.message.contains(reason), "{error}");
    assert_eq!(error.sqlstate, None, "before a greeting errors have no state");
    drop(client);
    assert_counted(&stage, Side::Server, "io");
}

#[test]
fn a_server_that_cannot_be_reached_is_named_with_the_reason() {
    let closed = Listener::tcp().unwrap().address().unwrap();
    dial_fails(&closed, "refused");
    let gone = Listener::unix().unwrap().address().unwrap();
    dial_fails(&gone, "No such file");
    dial_fails("no-such-host.invalid:3306", "");
}

/// The server's first bytes are not MySQL's.
fn first_bytes_fail(bytes: &[u8], reason: &str, cause: &str) {
    let stage = Stage::with(Transport::Tcp, |config| config.login_timeout = SOON);
    let mut client = stage.connect();
    let mut server = stage.listener.accept().unwrap();
    server.send(bytes).unwrap();
    let error = assert_told(&mut client, 1429, &stage.listener.address().unwrap());
    assert!(error.message.contains(reason), "{error}");
    drop((client, server));
    assert_counted(&stage, Side::Server, cause);
}

#[test]
fn servers_of_other_protocols_are_named() {
    first_bytes_fail(b"SSH-2.0-OpenSSH_9.2\r\n", "SSH", "not_mysql");
    first_bytes_fail(b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP", "not_mysql");
    first_bytes_fail(b"220 mail.example.com ESMTP\r\n", "SMTP", "not_mysql");
    first_bytes_fail(&[5, 0, 0, 0, 0x0b, 0x08, 0x05, 0x1a, 0x00], "33060", "not_mysql");
    first_bytes_fail(&[1, 0, 0, 0, 9], "version 9", "greeting_version_unknown");
    first_bytes_fail(&packets(0, [&greeting().build()[..20]]), "malformed", "malformed");
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    first_bytes_fail(b"", "nothing came", "timed_out");
    first_bytes_fail(&[80, 0, 0, 0, 10], "nothing came", "timed_out");
}

/// A login before the greeting, or none, would be counted as a broken handshake.
fn a_late_greeting_is_answered(server: &mut Peer) {
    server.send(&packets(0, [greeting().build().as_slice()])).unwrap();
    let farewell = server.receive().unwrap();
    assert_eq!((farewell.sequence_id, Login::parse(&farewell.payload).unwrap().user), (1, NOBODY.to_vec()));
    server.send(&packets(2, [&b"\xff\x15\x04#28000Access denied"[..]])).unwrap();
    assert_eq!(server.receive_end().unwrap(), 0);
}

#[test]
fn a_greeting_that_comes_after_the_client_was_told_is_waited_for() {
    let stage = Stage::with(Transport::Tcp, |config| config.login_timeout = SOON);
    let mut client = stage.connect();
    let mut server = stage.listener.accept().unwrap();
    assert_told(&mut client, 1429, "nothing came");
    drop(client);
    // The session is over.
    assert_counted(&stage, Side::Server, "timed_out");
    a_late_greeting_is_answered(&mut server);
}

#[test]
fn a_greeting_that_comes_after_its_check_is_waited_for() {
    let stage = Stage::with(Transport::Tcp, |config| {
        config.servers.push("127.0.0.1:1".parse().unwrap());
        config.health_check.interval = Some(SOON);
        config.health_check.timeout = SOON;
    });
    let mut server = stage.listener.accept().unwrap();
    // The next check has begun.
    let _next = stage.listener.accept().unwrap();
    a_late_greeting_is_answered(&mut server);
}

#[test]
fn a_server_that_closes_before_its_greeting_is_named() {
    let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
    let mut client = stage.connect();
    drop(stage.listener.accept().unwrap());
    assert_told(&mut client, 1429, "closed the connection too early");
    drop(client);
    assert_counted(&stage, Side::Server, "closed_early");
}

#[test]
fn a_servers_own_refusal_is_passed_on_as_it_is() {
    let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
    let mut client = stage.connect();
    let mut server = stage.listener.accept().unwrap();
    let refusal = b"\xff\x10\x04Too many connections";
    server.send(&packets(0, [&refusal[..]])).unwrap();
    let got = client.receive().unwrap();
    assert_eq!((got.sequence_id, got.payload.as_slice()), (0, &refusal[..]));
    assert_eq!(client.receive_end().unwrap(), 0);
    drop((client, server));
    assert_counted(&stage, Side::Server, "refused");
}

#[test]
fn a_server_without_the_wished_algorithm_is_named_with_what_to_do() {
    use wire::Capabilities;
    use wire::connect::Greeting;
    let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
    let mut client = stage.connect();
    let mut server = stage.listener.accept().unwrap();
    let capabilities = greeting().capabilities - Capabilities::ZSTD_COMPRESSION_ALGORITHM;
    server.send(&packets(0, [Greeting { capabilities, ..greeting() }.build().as_slice()])).unwrap();
    client.receive().unwrap();
    client.send(&packets(1, [crate::scripted::login(Algorithm::Zlib).build().as_slice()])).unwrap();
    assert_told(&mut client, 1429, "add 'uncompressed' to --compression-algorithms");
    drop((client, server));
    assert_counted(&stage, Side::Server, "compression_not_offered");
}
