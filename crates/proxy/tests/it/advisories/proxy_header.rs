//! PROXY headers that say what they should not, from a peer that is believed.
//!
//! Not here: peers that aren't, and every form that is good (`bad_input::proxy_header`).

use std::io::Read;
use std::net::TcpListener;

use codec::Algorithm;
use lab::peer::PATIENCE;
use proxy::SendProxy;
use wire::Side;
use wire::limits::PROXY_HEADER_SENT_LEN_MAX;
use wire::proxy_protocol::{Header, Options, build_v1, build_v2, parse};

use crate::bad_input::{assert_counted, assert_told};
use crate::scripted::{Stage, Transport};

fn trusting() -> Stage {
    Stage::with(Transport::Tcp, |config| config.proxy_protocol_from = vec!["127.0.0.0/8".parse().unwrap()])
}

/// Told, counted, and no server was dialled.
fn is_refused(header: &[u8], text: &str) {
    let stage = trusting();
    let mut client = stage.connect();
    client.send(header).unwrap();
    assert_told(&mut client, 1043, text);
    drop(client);
    assert_counted(&stage, Side::Client, "proxy_header");
    assert!(stage.listener.accept_waiting().unwrap().is_none(), "{}", header.escape_ascii());
}

/// ProxySQL GHSA-7r26-v5rr-ccj5: an address that was too long overran its buffer.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>
#[test]
fn what_is_no_address_is_refused_in_a_header_of_version_1() {
    let long_v4 = format!("PROXY TCP4 {} 192.0.2.2 1 2\r\n", "1".repeat(60));
    let long_v6 = format!("PROXY TCP6 {}1 ::1 1 2\r\n", "0:".repeat(30));
    for line in [
        "PROXY TCP4 999.1.1.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.256 1 2\r\n",
        "PROXY TCP4 192.0.2 192.0.2.2 1 2\r\n",
        "PROXY TCP4 3221225985 192.0.2.2 1 2\r\n",
        "PROXY TCP4 0xc0.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.010 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1\0 192.0.2.2 1 2\r\n",
        "PROXY TCP4 127.0.0.1\0.evil 192.0.2.2 1 2\r\n",
        "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 %s%n 192.0.2.2 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
        "PROXY TCP6 [::1] ::1 1 2\r\n",
        "PROXY TCP6 1::2::3 ::1 1 2\r\n",
        "PROXY TCP6 ::ffff:999.0.2.1 ::1 1 2\r\n",
        &long_v4,
        &long_v6,
    ] {
        is_refused(line.as_bytes(), "an address is no literal of the announced family");
    }
    for ports in ["65536 2", "1 -2", "+1 2", "01 2", "1\0 2", "99999999999999999999 2"] {
        let line = format!("PROXY TCP4 192.0.2.1 192.0.2.2 {ports}\r\n");
        is_refused(line.as_bytes(), "a port is no number from 0 to 65535");
    }
}

/// MariaDB MDEV-39466: a line of the greatest length overran its buffer by one byte.
/// <https://github.com/MariaDB/server/pull/4998>
#[test]
fn a_line_of_the_greatest_length_is_taken_and_one_more_byte_is_not() {
    let line = |len: usize| [&b"PROXY UNKNOWN "[..], &vec![b'x'; len - 16], b"\r\n"].concat();
    let stage = trusting();
    let mut client = stage.connect();
    client.send(&line(107)).unwrap();
    drop(stage.listener.accept().unwrap());
    assert_told(&mut client, 1429, "closed the connection too early");
    is_refused(&line(108), "does not end within 107 bytes");
}

/// CVE-2019-14243, mastercactapus/proxyprotocol: addresses that the length has no room for; the bytes are those of
/// its report. <https://github.com/mastercactapus/caddy-proxyprotocol/issues/8>
#[test]
fn a_header_of_version_2_without_room_for_its_addresses_is_refused() {
    is_refused(b"\r\n\r\n\0\r\nQUIT\n\x21\x12\0\0", "datagrams");
    for (family, lens) in [(0x11, 0..12), (0x21, 0..36), (0x31, 0..216)] {
        for len in lens {
            let header = [&b"\r\n\r\n\0\r\nQUIT\n\x21"[..], &[family, 0, len]].concat();
            is_refused(&header, "less than its addresses");
        }
    }
}

/// Envoy CVE-2024-23327: a LOCAL header without addresses, where one is sent on as well.
/// <https://github.com/envoyproxy/envoy/security/advisories/GHSA-4h5x-x9vh-m29j>
///
/// Envoy CVE-2026-47692: a client's TLVs spilled behind the header that was sent on.
/// <https://github.com/envoyproxy/envoy/security/advisories/GHSA-wh36-hm39-mm3r>
#[test]
fn what_is_sent_on_is_a_header_of_our_own_and_nothing_behind_it() {
    let v2 = build_v2(&Header::LOCAL, Options::default());
    let bare_local = [&v2[..12], &[0x20, 0, 0, 0]].concat();
    let source = "192.0.2.1:51874".parse::<std::net::SocketAddr>().unwrap();
    let proxied = build_v2(&Header::proxied(source.into(), source.into()), Options::default());
    let tlv = [&[0xe1][..], &3000_u16.to_be_bytes(), &[b'A'; 3000]].concat();
    let len = u16::try_from(proxied.len() - 16 + tlv.len()).unwrap().to_be_bytes();
    let with_tlv = [&proxied[..14], &len, &proxied[16..], &tlv].concat();
    for sent in [SendProxy::V1, SendProxy::V2] {
        for received in [&bare_local, &with_tlv, &build_v1(&Header::LOCAL)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stage = Stage::with(Transport::Tcp, |config| {
                config.servers = vec![listener.local_addr().unwrap().into()];
                config.send_proxy = Some(sent);
                config.proxy_protocol_from = vec!["127.0.0.1".parse().unwrap()];
            });
            let mut client = stage.connect();
            client.send(received).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            server.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut bytes = Vec::new();
            // Nothing is said before the greeting but the header; the client's end is the proxy's.
            client.shut_writing().unwrap();
            drop(client);
            let mut room = [0; 4096];
            while parse(&bytes).unwrap().is_none() {
                let len = server.read(&mut room).unwrap();
                assert_ne!(len, 0);
                bytes.extend_from_slice(&room[..len]);
            }
            let (header, len) = parse(&bytes).unwrap().unwrap();
            assert_eq!(len, bytes.len(), "bytes behind the header");
            assert!(len <= PROXY_HEADER_SENT_LEN_MAX);
            let expected = if received == &with_tlv { Some(source) } else { None };
            assert_eq!(header.source.clone().filter(|_| expected.is_some()), expected.map(Into::into));
        }
    }
    // A server that took such headers serves the next client.
    Stage::new(Transport::Tcp, Algorithm::Zstd).open(Algorithm::Zstd).assert_alive();
}
