//! Clients that open with something else than a login.
//!
//! Not here: servers that are none (`unreachable`).

use std::time::Instant;

use codec::{Algorithm, AlgorithmSet};
use lab::peer::packets;
use lab::wait::wait_until;
use wire::connect::Login;
use wire::{Capabilities, Side};

use super::{SOON, assert_counted, assert_told};
use crate::scripted::{OK, Session, Stage, Transport, login};

fn stage() -> Stage {
    Stage::new(Transport::Tcp, Algorithm::Zstd)
}

/// A greeted client sends `bytes`; another session is not disturbed.
fn is_told(bytes: &[u8], code: u16, text: &str, cause: &str) {
    let stage = stage();
    let mut other = stage.open(Algorithm::Zlib);
    let Session { mut client, mut server } = stage.greeted();
    client.send(bytes).unwrap();
    let error = assert_told(&mut client, code, text);
    assert!(error.sqlstate.is_some(), "behind a greeting errors have a state");
    drop(client);
    // The server is not left with half a handshake, which it would hold against the proxy's address.
    let farewell = Login::parse(&server.receive().unwrap().payload).unwrap();
    assert_eq!(farewell.user, b"wirepress_probe");
    server.send(&packets(2, [&b"\xff\x15\x04#28000Access denied"[..]])).unwrap();
    assert_eq!(server.receive_end().unwrap(), 0);
    assert_counted(&stage, Side::Client, cause);
    other.assert_alive();
}

#[test]
fn other_protocols_are_named() {
    let mut proxy_v2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    proxy_v2.extend([127, 0, 0, 1, 127, 0, 0, 1, 1, 2, 3, 4]);
    let mut tls = vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    tls.resize(517, 7);
    for (bytes, text) in [
        (&b"GET / HTTP/1.1\r\nHost: db\r\n\r\n"[..], "HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\r\n", "PROXY protocol"),
        (&proxy_v2, "PROXY protocol"),
        (&tls, "TLS"),
        (&[1, 0, 0, 0, 1], "33060"),
        (&[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f], "PostgreSQL"),
        (&[0xff, 0xfe, 0xfd, 1, 9, 9, 9, 9], "absurd length"),
    ] {
        is_told(bytes, 1043, text, "not_mysql");
    }
}

#[test]
fn a_login_of_before_4_1_is_named() {
    is_told(&packets(1, [&b"\x05\x00\x00\x00\x01tester\0"[..]]), 1043, "before MySQL 4.1", "login_too_old");
}

#[test]
fn a_wish_for_tls_is_answered_with_what_to_do() {
    let capabilities = login(Algorithm::Uncompressed).capabilities | Capabilities::SSL;
    let mut request = Login { capabilities, ..login(Algorithm::Uncompressed) }.build();
    request.truncate(32);
    is_told(&packets(1, [request.as_slice()]), 1043, "--ssl-mode=DISABLED", "tls_not_offered");
}

#[test]
fn fields_that_run_past_the_end_are_malformed() {
    let whole = login(Algorithm::Zstd).build();
    let mut lies = whole.clone();
    lies[32 + b"tester\0".len()] = 250; // The length of the answer to the nonce.
    is_told(&packets(1, [lies.as_slice()]), 1043, "malformed", "malformed");
    is_told(&packets(1, [&whole[..20]]), 1043, "malformed", "malformed");
    is_told(&packets(1, [&b""[..]]), 1043, "malformed", "malformed");
}

#[test]
fn random_bytes_end_their_session_only() {
    for seed in 0..20 {
        let stage = stage();
        let mut other = stage.open(Algorithm::Zlib);
        let Session { mut client, server } = stage.greeted();
        drop(server);
        client.send(&lab::generate::blob(seed, 1, 600)).unwrap();
        client.shut_writing().unwrap();
        client.receive_end().unwrap();
        drop(client);
        let counters = stage.proxy.counters();
        wait_until(&format!("seed {seed}: its session ended"), || counters.sessions_open() <= 1);
        assert_eq!(counters.faults().len(), 1, "seed {seed}: {:?}", counters.faults());
        other.assert_alive();
    }
}

#[test]
fn a_packet_of_a_mebibyte_before_the_end_of_the_login_is_refused_at_its_header() {
    let stage = stage();
    let Session { mut client, mut server } = stage.greeted();
    client.send(&packets(1, [login(Algorithm::Zstd).build().as_slice()])).unwrap();
    server.receive().unwrap();
    server.send(&packets(2, [&b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"[..]])).unwrap();
    client.receive().unwrap();
    client.send(&[0, 0, 0x10, 3]).unwrap();
    assert_told(&mut client, 1153, "before the end of the login");
    drop((client, server));
    assert_counted(&stage, Side::Client, "login_too_long");
}

#[test]
fn a_login_that_is_cut_ends_silently() {
    let stage = stage();
    let mut other = stage.open(Algorithm::Zlib);
    let Session { mut client, server } = stage.greeted();
    let whole = packets(1, [login(Algorithm::Zstd).build().as_slice()]);
    client.send(&whole[..whole.len() / 2]).unwrap();
    client.shut_writing().unwrap();
    assert_eq!(client.receive_end().unwrap(), 0);
    drop(server);
    assert_counted(&stage, Side::Client, "closed_early");
    other.assert_alive();
}

#[test]
fn a_client_that_says_nothing_is_told_so_in_time() {
    for sent in [0, 3, 30] {
        let stage = Stage::with(Transport::Tcp, |config| config.login_timeout = SOON);
        let begun = Instant::now();
        let Session { mut client, server } = stage.greeted();
        let whole = packets(1, [login(Algorithm::Zstd).build().as_slice()]);
        client.send(&whole[..sent]).unwrap();
        assert_told(&mut client, 1159, "nothing came");
        assert!(begun.elapsed() >= SOON);
        drop((client, server));
        assert_counted(&stage, Side::Client, "timed_out");
    }
}

#[test]
fn compression_that_is_not_permitted_is_mysqls_3922() {
    use Algorithm::{Uncompressed, Zlib, Zstd};
    for (permitted, asked, name) in [
        (&[Zstd][..], Uncompressed, "uncompressed"),
        (&[Zstd], Zlib, "zlib"),
        (&[Zlib], Zstd, "zstd"),
        (&[Uncompressed], Zlib, "zlib"),
        (&[Zlib, Zstd], Uncompressed, "uncompressed"),
    ] {
        let stage = Stage::with(Transport::Tcp, |config| config.permitted = AlgorithmSet::of(permitted));
        let Session { mut client, server } = stage.greeted();
        client.send(&packets(1, [login(asked).build().as_slice()])).unwrap();
        assert_told(&mut client, 3922, &format!("Invalid compression algorithm '{name}'."));
        drop((client, server));
        assert_counted(&stage, Side::Client, "compression_refused");
    }
}

#[test]
fn a_zstd_level_outside_1_to_22_is_mysqls_3923() {
    for zstd_level in [Some(0), Some(23), Some(255), None] {
        let stage = stage();
        let Session { mut client, server } = stage.greeted();
        let login = Login { zstd_level, ..login(Algorithm::Zstd) };
        client.send(&packets(1, [login.build().as_slice()])).unwrap();
        assert_told(&mut client, 3923, "Invalid zstd compression level for algorithm 'zstd'.");
        drop((client, server));
        assert_counted(&stage, Side::Client, "compression_refused");
    }
}

/// Rule 7, 8: both bits mean zlib; the server leg's bits are the proxy's own.
#[test]
fn both_bits_mean_zlib_on_the_client_leg() {
    let stage = stage();
    let Session { mut client, mut server } = stage.greeted();
    let both = login(Algorithm::Zstd).capabilities | Capabilities::COMPRESS;
    let login = Login { capabilities: both, ..login(Algorithm::Zstd) };
    client.send(&packets(1, [login.build().as_slice()])).unwrap();
    let asked = Login::parse(&server.receive().unwrap().payload).unwrap();
    assert!(!asked.capabilities.contains(Capabilities::COMPRESS), "zlib would win on the server leg");
    assert_eq!(asked.zstd_level, Some(3));
    server.send(&packets(2, [OK])).unwrap();
    client.receive().unwrap();
    client.start_frames(Algorithm::Zlib);
    server.start_frames(Algorithm::Zstd);
    client.take_seen();
    server.take_seen();
    // Long enough to be packed: a stored frame is the same with every algorithm.
    let long = [0x03; 200];
    client.send(&client.wrap(0, [&long[..]], 1 << 20)).unwrap();
    assert_eq!(server.receive().unwrap().payload, long);
    server.send(&server.wrap(1, [OK], 1 << 20)).unwrap();
    assert_eq!(client.receive().unwrap().payload, OK);
    client.send(&client.wrap(0, [&long[..]], 1 << 20)).unwrap();
    server.receive().unwrap();
    let error = [&b"\xff\x15\x04#HY000"[..], &[b'x'; 200]].concat();
    server.send(&server.wrap(1, [error.as_slice()], 1 << 20)).unwrap();
    assert_eq!(client.receive().unwrap().payload, error);
}

/// Rule 10: the nonce, thread id and version are the server's own; only the offers differ.
#[test]
fn the_servers_own_greeting_passes_but_for_its_offers() {
    use wire::connect::greeting::{FirstPacket, Greeting};
    let stage = Stage::with(Transport::Tcp, |config| config.permitted = AlgorithmSet::of(&[Algorithm::Zstd]));
    let mut client = stage.connect();
    let mut server = stage.listener.accept().unwrap();
    let own = crate::scripted::greeting();
    let with_tls = Greeting { capabilities: own.capabilities | Capabilities::SSL, ..own.clone() };
    server.send(&packets(0, [with_tls.build().as_slice()])).unwrap();
    let FirstPacket::Greeting(seen) = FirstPacket::parse(&client.receive().unwrap().payload).unwrap() else {
        panic!("no greeting")
    };
    assert_eq!(seen, Greeting { capabilities: own.capabilities - Capabilities::COMPRESS, ..own });
}
