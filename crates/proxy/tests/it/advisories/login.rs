//! Logins and greetings whose lengths lie.
//!
//! Not here: first packets of other protocols (`bad_input::first_bytes`).

use codec::Algorithm;
use lab::peer::packets;
use proxy::TlsMode;
use wire::connect::Login;
use wire::{Capabilities, Side, packet};

use crate::bad_input::{assert_counted, assert_told};
use crate::live::log_lines;
use crate::scripted::{Session, Stage, Transport, listener_tls, login};

fn stage() -> Stage {
    Stage::new(Transport::Tcp, Algorithm::Zstd)
}

/// A greeted client that says `payload` is told what it is; nobody else notices.
fn is_malformed(name: &str, payload: &[u8]) {
    let stage = stage();
    let mut other = stage.open(Algorithm::Zlib);
    let Session { mut client, mut server } = stage.greeted();
    client.send(&packets(1, [payload])).unwrap();
    let error = assert_told(&mut client, 1043, "malformed");
    assert!(error.message.contains("malformed"), "{name}: {error}");
    let farewell = Login::parse(&server.receive().unwrap().payload).unwrap();
    assert_eq!(farewell.user, b"wirepress_probe", "{name}: something of it reached the server");
    drop((client, server));
    assert_counted(&stage, Side::Client, "malformed");
    other.assert_alive();
}

/// ProxySQL GHSA-58ww-865x-grpr (CVE-2026-48773): the first packet's length was not compared with the room for it.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>
///
/// TiProxy #1090: packets of 16 MiB that continue each other were collected without end.
/// <https://github.com/pingcap/tiproxy/pull/1090>
#[test]
fn a_first_packet_of_16_mib_is_refused_at_its_header() {
    let stage = stage();
    let mut other = stage.open(Algorithm::Zlib);
    let Session { mut client, mut server } = stage.greeted();
    let header = packet::Header { payload_len: 0xff_ff_ff, sequence_id: 1 }.build();
    client.send(&[&header[..], &[b'A'; 4096]].concat()).unwrap();
    assert_told(&mut client, 1043, "a first packet of absurd length");
    let farewell = Login::parse(&server.receive().unwrap().payload).unwrap();
    assert_eq!(farewell.user, b"wirepress_probe");
    drop((client, server));
    assert_counted(&stage, Side::Client, "not_mysql");
    other.assert_alive();
}

/// ProxySQL GHSA-24vm-gh4h-hfr3: fields of the login were read past its end, or without their terminators.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>
///
/// go-mysql #557: a panic in a proxy made of it, at the length that scanners try for CVE-2006-1516.
/// <https://github.com/go-mysql-org/go-mysql/pull/557>
#[test]
fn fields_of_a_login_that_run_past_its_end_are_malformed() {
    let whole = login(Algorithm::Uncompressed).build();
    let response_len_at = 32 + b"tester\0".len();
    let mut response_too_long = whole.clone();
    response_too_long[response_len_at] = 255;
    is_malformed("a response that is too long", &response_too_long);
    is_malformed("a name without its end", &whole[..32 + b"tester".len()]);
    is_malformed("no length of the response", &whole[..response_len_at]);
    is_malformed("half of the response", &whole[..response_len_at + 9]);
    let scanner = [&whole[..32], &b"a".repeat(97)].concat();
    assert_eq!(scanner.len(), 129);
    is_malformed("a scanner's login of 129 bytes", &scanner);
}

/// ProxySQL GHSA-x23w-3v26-vgvj: length-encoded integers were read past the end of their packets.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>
#[test]
fn length_encoded_lies_in_a_login_are_malformed() {
    let own = login(Algorithm::Uncompressed);
    let capabilities = own.capabilities | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA;
    let head = Login { capabilities, ..own.clone() }.build();
    let head = &head[..32 + b"tester\0".len()];
    let with_attributes = own.capabilities | Capabilities::CONNECT_ATTRS;
    let attributes_head =
        Login { capabilities: with_attributes, attributes: Some(Vec::new()), ..own }.build();
    let (_, attributes_head) = attributes_head.split_last().unwrap();
    for lie in [
        &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..],
        &[0xfe, 0, 0, 0, 0, 0, 0, 0, 0x80],
        &[0xfd, 0xff, 0xff, 0xff],
        &[0xfc, 0xff],
        &[0xfe],
        &[0xfb],
        &[0xff],
    ] {
        is_malformed("the response's length", &[head, lie].concat());
        is_malformed("the attributes' length", &[attributes_head, lie].concat());
    }
}

/// ClickHouse #117003: the bit in a login without TLS passed for TLS where TLS is required.
/// <https://github.com/ClickHouse/ClickHouse/pull/117003>
#[test]
fn the_bit_for_tls_in_a_plain_login_is_no_tls() {
    let folder = tempfile::tempdir().unwrap();
    let stage =
        Stage::with(Transport::Tcp, |config| config.tls = listener_tls(folder.path(), TlsMode::Required));
    let Session { mut client, mut server } = stage.greeted();
    let own = login(Algorithm::Uncompressed);
    let claims = Login { capabilities: own.capabilities | Capabilities::SSL, ..own };
    client.send(&packets(1, [claims.build().as_slice()])).unwrap();
    assert_told(&mut client, 3159, "--tls required");
    let farewell = Login::parse(&server.receive().unwrap().payload).unwrap();
    assert_eq!(farewell.user, b"wirepress_probe");
    drop((client, server));
    assert_counted(&stage, Side::Client, "tls_required");
}

/// Envoy CVE-2024-45808: a peer's line breaks made lines of the log.
/// <https://github.com/envoyproxy/envoy/security/advisories/GHSA-p222-xhp9-39rc>
///
/// A server repeats the name that it refuses, so that anybody may write there.
#[test]
fn a_name_with_line_breaks_makes_no_line_of_the_log() {
    log_lines::keep();
    let stage = stage();
    let Session { mut client, mut server } = stage.greeted();
    let forged = "evil\n2026-01-01T00:00:00Z  INFO session ended\r\u{1b}[2J\u{9b}0m";
    let login = Login { user: forged.into(), ..login(Algorithm::Uncompressed) };
    client.send(&packets(1, [login.build().as_slice()])).unwrap();
    assert_eq!(Login::parse(&server.receive().unwrap().payload).unwrap().user, forged.as_bytes());
    let refusal =
        [&b"\xff\x15\x04#28000Access denied for user '"[..], forged.as_bytes(), b"'@'localhost'"].concat();
    server.send(&packets(2, [refusal.as_slice()])).unwrap();
    // The client gets the server's words as they are.
    assert_eq!(client.receive().unwrap().payload, refusal);
    drop((client, server));
    assert_counted(&stage, Side::Server, "refused");
    let of_it = || log_lines::lines().into_iter().find(|line| line.contains("for user 'evil"));
    let begun = std::time::Instant::now();
    let line = loop {
        assert!(begun.elapsed() < lab::peer::PATIENCE, "nothing was logged");
        match of_it() {
            Some(line) => break line,
            None => std::thread::yield_now(),
        }
    };
    assert!(line.contains("evil\\n2026") && !line.contains(char::is_control), "{line:?}");
}

/// go-sql-driver #1751: a server's greeting that ends in the middle crashed clients.
/// <https://github.com/go-sql-driver/mysql/issues/1751>
#[test]
fn a_greeting_that_ends_anywhere_harms_nobody() {
    let mut whole =
        b"\x0a5.7.0\0\x01\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0\xff\xf7\x21\x02\0\xff\xff\x15".to_vec();
    whole.extend([0; 10]);
    for len in 1..=whole.len() {
        let stage = stage();
        let mut client = stage.connect();
        let mut server = stage.listener.accept().unwrap();
        server.send(&packets(0, [&whole[..len]])).unwrap();
        let answer = client.receive().unwrap();
        // The nonce's second half may be missing, as before MySQL 4.1; all else may not.
        assert_eq!(answer.payload.first() == Some(&0x0a), len == whole.len(), "{len}: {answer:?}");
        drop((client, server));
    }
}
