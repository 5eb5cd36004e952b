//! Commands whose lengths lie, and frames that hold something else than they say.
//!
//! Not here: bodies that lie (`bad_input::frames`), the exchange behind COM_CHANGE_USER (`bad_input::change_user`).

use codec::Algorithm;
use lab::peer::packets;
use wire::command::{COM_CHANGE_USER, COM_QUERY, COM_QUIT, COM_STMT_CLOSE, COM_STMT_SEND_LONG_DATA};
use wire::{Capabilities, Side};

use crate::bad_input::{assert_counted, assert_told};
use crate::scripted::{NAMES, Session, Stage, Transport, greeting};

const ERROR: &[u8] = b"\xff\x17\x04#08S01Unknown command";

/// ProxySQL GHSA-8mqj-34cf-rj43, and 3.0.7 before it: COM_CHANGE_USER shorter than its fields.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>,
/// <https://proxysql.com/blog/proxysql-3-0-7-security-hardening/>
#[test]
fn a_change_of_user_that_is_cut_is_malformed_and_reaches_no_server() {
    let whole = b"\x11me\0\x03abcdb\0\x2d\0caching_sha2_password\0";
    let first_optional = whole.windows(2).position(|window| window == b"\x2d\0").unwrap() + 2;
    let lies = [&b"\x11me\0\xffabc"[..], &[COM_CHANGE_USER, 0xff, 0xff, 0xff]];
    let cuts = (1..first_optional).map(|len| &whole[..len]);
    for (algorithm, command) in NAMES.into_iter().cycle().zip(cuts.chain(lies)) {
        let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
        let mut other = stage.open(algorithm);
        // The proxy looks into the command where it has attributes to add.
        let capabilities = greeting().capabilities | Capabilities::CONNECT_ATTRS;
        let Session { mut client, mut server } = stage.open_behind(algorithm, capabilities);
        client.send(&client.wrap(0, [command], 100)).unwrap();
        assert_told(&mut client, 1043, "malformed");
        assert_eq!(server.receive_end().unwrap(), 0, "{command:?}");
        drop(client);
        assert_counted(&stage, Side::Client, "malformed");
        other.assert_alive();
    }
}

/// ProxySQL 3.0.7: COM_BINLOG_DUMP in the wrong moment crashed it. <https://proxysql.com/blog/proxysql-3-0-7-security-hardening/>
///
/// ProxySQL GHSA-x23w-3v26-vgvj: parameters of prepared statements were read past the end.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>
///
/// Vitess #4357: an empty packet. <https://github.com/vitessio/vitess/pull/4357>
#[test]
fn every_command_byte_alone_and_none_at_all_pass_to_the_server_which_judges_them() {
    let stage = Stage::new(Transport::Unix, Algorithm::Zlib);
    for byte in (0..=255_u8).filter(|byte| ![COM_QUIT, COM_CHANGE_USER].contains(byte)) {
        let Session { mut client, mut server } = stage.open(Algorithm::Zstd);
        client.send(&client.wrap(0, [&[byte][..]], 100)).unwrap();
        assert_eq!(server.receive().unwrap().payload, [byte]);
        if [COM_STMT_CLOSE, COM_STMT_SEND_LONG_DATA].contains(&byte) {
            continue; // They have no answer.
        }
        server.send(&server.wrap(server.next_id(), [ERROR], 100)).unwrap();
        assert_eq!(client.receive().unwrap().payload, ERROR, "{byte:#04x}");
    }
    let Session { mut client, mut server } = stage.open(Algorithm::Zstd);
    client.send(&client.wrap(0, [&b""[..]], 100)).unwrap();
    assert_eq!(server.receive().unwrap().payload, b"");
    server.send(&server.wrap(server.next_id(), [ERROR], 100)).unwrap();
    assert_eq!(client.receive().unwrap().payload, ERROR);
    stage.open(Algorithm::Zlib).assert_alive();
}

/// ProxySQL GHSA-fvch-fpgq-pwfx (CVE-2026-102664): the packets within a frame were believed to fit it.
/// <https://github.com/sysown/proxysql/releases/tag/v2.7.4>
#[test]
fn a_packet_that_goes_past_its_frame_is_joined_with_the_next_or_never_sent() {
    let query = [&[COM_QUERY][..], &[b'x'; 200]].concat();
    let inner = packets(0, [query.as_slice()]);
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        for first_len in [1, 3, 4, 5, 100] {
            let stage = Stage::new(Transport::Tcp, Algorithm::Zlib);
            let mut other = stage.open(algorithm);
            let Session { mut client, mut server } = stage.open(algorithm);
            let (first, second) = inner.split_at(first_len);
            let frame = |id, bytes| lab::peer::frames(algorithm, id, bytes, 1 << 20);
            client.send(&[frame(0, first), frame(1, second)].concat()).unwrap();
            assert_eq!(server.receive().unwrap().payload, query, "{first_len}");
            server.send(&server.wrap(server.next_id(), [ERROR], 100)).unwrap();
            assert_eq!(client.receive().unwrap().payload, ERROR);

            client.send(&frame(0, first)).unwrap();
            client.shut_writing().unwrap();
            assert_eq!(server.receive_end().unwrap(), 0, "{first_len}: a part of a packet went on");
            drop((client, server));
            other.assert_alive();
        }
    }
}
