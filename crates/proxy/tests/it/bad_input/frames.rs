//! Frames and ids that lie, behind the login. MySQL 9.7 itself would leave its client hanging.
//!
//! Not here: frames that are too large for the memory (`memory`).

use codec::{Algorithm, Contexts};
use lab::peer::packets;
use wire::command::{COM_PING, COM_QUERY};
use wire::{Side, frame};

use super::{SOON, assert_counted, assert_told};
use crate::pairs::rules::Arrived;
use crate::scripted::{COLUMN, EOF, NAMES, OK, Session, Stage, Transport};

const FRAMED: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];

/// The body of a frame that holds `plain`.
fn pack(algorithm: Algorithm, plain: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    // At 6 libdeflate packs 49 bytes too.
    assert!(Contexts::new().compress(algorithm, 6, plain, &mut body).unwrap());
    body
}

/// A frame whose header claims what it likes.
fn claim(sequence_id: u8, packed_len: usize, plain_len: usize, body: &[u8]) -> Vec<u8> {
    [&frame::Header { packed_len, sequence_id, plain_len }.build()[..], body].concat()
}

/// Frames that hold the packets `inner` or lie about them: name, bytes, cause, whether `algorithm` minds.
fn lies(algorithm: Algorithm, sequence_id: u8, inner: &[u8]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let body = pack(algorithm, inner);
    let other = if algorithm == Algorithm::Zlib { Algorithm::Zstd } else { Algorithm::Zlib };
    let foreign = pack(other, inner);
    let bomb = pack(algorithm, &vec![0; 16 << 20]);
    let flipped: Vec<u8> = body.iter().map(|byte| byte ^ 0x55).collect();
    let whole = |plain_len, body: &[u8]| claim(sequence_id, body.len(), plain_len, body);
    let mut lies = vec![
        ("garbage", whole(inner.len(), &flipped), "body_corrupt"),
        ("the other algorithm", whole(inner.len(), &foreign), "body_corrupt"),
        ("a cut body", whole(inner.len(), &body[..body.len() - 5]), "body_corrupt"),
        ("a body of nothing", whole(inner.len(), &[]), "body_corrupt"),
        ("declared too small", whole(inner.len() - 1, &body), "body_longer_than_declared"),
        ("a bomb", whole(1000, &bomb), "body_longer_than_declared"),
    ];
    if algorithm == Algorithm::Zstd {
        lies.push(("declared too large", whole(inner.len() + 1, &body), "body_shorter_than_declared"));
        lies.retain(|(name, ..)| *name != "a body of nothing");
        lies.push(("a body of nothing", whole(inner.len(), &[]), "body_shorter_than_declared"));
    }
    lies
}

#[test]
fn a_clients_frame_that_lies_is_named_at_once() {
    // Long ones are unpacked on a helper thread.
    let queries = [40, 60_000].map(|times| [&[COM_QUERY][..], &b"select 1 ".repeat(times)].concat());
    let queries = queries.map(|query| packets(0, [query.as_slice()]));
    for client_algorithm in FRAMED {
        for (name, bytes, cause) in queries.iter().flat_map(|query| lies(client_algorithm, 0, query)) {
            let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
            let mut other = stage.open(client_algorithm);
            let Session { mut client, mut server } = stage.open(client_algorithm);
            client.send(&bytes).unwrap();
            let packet_and_code = (1157, "compressed packet");
            assert_told(&mut client, packet_and_code.0, packet_and_code.1);
            let (frames, seen) = client.take_seen();
            assert_eq!((frames[0].sequence_id, seen[0].sequence_id), (1, 1), "{name}: the reply's own ids");
            assert_eq!(server.receive_end().unwrap(), 0, "{name}: the server saw something of it");
            drop(client);
            assert_counted(&stage, Side::Client, cause);
            other.assert_alive();
        }
    }
}

/// Rule: a frame that can't be decoded ends the session at once; what came before it is delivered, and ids go on.
#[test]
fn a_servers_frame_that_lies_in_the_middle_of_a_result_ends_it_at_once() {
    let rows = [&[0xfa][..], &[0xfd, 0, 0, 8]]
        .map(|len| [len, &vec![b'r'; if len.len() == 1 { 250 } else { 8 << 16 }]].concat());
    let rows = rows.map(|row| packets(4, [row.as_slice()]));
    for server_algorithm in FRAMED {
        for client_algorithm in NAMES {
            for (name, bytes, cause) in rows.iter().flat_map(|rows| lies(server_algorithm, 2, rows)) {
                let stage = Stage::new(Transport::Tcp, server_algorithm);
                let mut other = stage.open(client_algorithm);
                let Session { mut client, mut server } = stage.open(client_algorithm);
                client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
                server.receive().unwrap();
                // In one write: the good frame's packets wait for company when the bad one is found.
                let head = server.wrap(1, [&[1][..], COLUMN, EOF], 1 << 20);
                server.send(&[head, bytes].concat()).unwrap();
                for expected in [&[1][..], COLUMN, EOF] {
                    assert_eq!(client.receive().unwrap().payload, expected, "{name}");
                }
                assert_told(&mut client, 1157, "compressed packet");
                let (frames, seen) = client.take_seen();
                let ids: Vec<u8> = seen.iter().map(|packet| packet.sequence_id).collect();
                assert_eq!(ids, [1, 2, 3, 4], "{name} to {client_algorithm}: packets count on");
                let ids: Vec<u8> = frames.iter().map(|frame| frame.sequence_id).collect();
                let expected: &[u8] = if client_algorithm.is_framed() { &[1, 2] } else { &[] };
                assert_eq!(ids, expected, "{name} to {client_algorithm}: frames count on");
                drop((client, server));
                assert_counted(&stage, Side::Server, cause);
                other.assert_alive();
            }
        }
    }
}

/// A packet that has begun on a plain leg can't be followed by an error: the close says it.
#[test]
fn a_lie_in_the_middle_of_a_row_closes() {
    for client_algorithm in NAMES {
        let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
        let Session { mut client, mut server } = stage.open(client_algorithm);
        client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
        server.receive().unwrap();
        let row = vec![b'r'; 3000];
        let inner = packets(1, [&[1][..], COLUMN, EOF, row.as_slice()]);
        let begun = lab::peer::frames(Algorithm::Zstd, 1, &inner[..1000], 1 << 20);
        let lie = claim(2, 30, 2100, &[7; 30]);
        server.send(&[begun, lie].concat()).unwrap();
        for expected in [&[1][..], COLUMN, EOF] {
            assert_eq!(client.receive().unwrap().payload, expected);
        }
        if client_algorithm.is_framed() {
            assert_told(&mut client, 1157, "compressed packet");
            let (frames, seen) = client.take_seen();
            assert_eq!(seen.last().map(|packet| packet.sequence_id), Some(4), "the row's own id");
            assert_eq!(frames.last().map(|frame| frame.sequence_id), Some(2));
        } else {
            client.receive().unwrap_err();
        }
        drop((client, server));
        assert_counted(&stage, Side::Server, "body_corrupt");
    }
}

#[test]
fn a_server_that_closes_in_the_middle_of_a_result_closes_the_client_too() {
    for server_algorithm in NAMES {
        for client_algorithm in NAMES {
            let stage = Stage::new(Transport::Tcp, server_algorithm);
            let mut other = stage.open(client_algorithm);
            let Session { mut client, mut server } = stage.open(client_algorithm);
            client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
            server.receive().unwrap();
            server.send(&server.wrap(1, [&[1][..], COLUMN, EOF, b"\x01r"], 100)).unwrap();
            drop(server);
            for expected in [&[1][..], COLUMN, EOF, b"\x01r"] {
                assert_eq!(client.receive().unwrap().payload, expected);
            }
            assert_eq!(client.receive_end().unwrap(), 0);
            drop(client);
            assert_counted(&stage, Side::Server, "closed_early");
            other.assert_alive();
        }
    }
}

#[test]
fn a_wrong_frame_id_is_mysqls_1156() {
    for algorithm in FRAMED {
        for id in [1, 2, 255] {
            let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
            let mut session = stage.open(algorithm);
            session.assert_alive();
            let inner = packets(0, [&[COM_PING][..]]);
            session.client.send(&lab::peer::frames(algorithm, id, &inner, 100)).unwrap();
            assert_told(&mut session.client, 1156, "sequence id");
            drop(session);
            assert_counted(&stage, Side::Client, "sequence_out_of_order");
        }
    }
}

#[test]
fn a_wrong_packet_id_on_a_plain_leg_is_mysqls_1156() {
    let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
    let Session { mut client, server } = stage.open(Algorithm::Uncompressed);
    client.send(&packets(5, [&[COM_PING][..]])).unwrap();
    assert_told(&mut client, 1156, "sequence id 5 where 0 was due");
    drop((client, server));
    assert_counted(&stage, Side::Client, "sequence_out_of_order");
}

#[test]
fn a_frame_that_does_not_end_is_given_up_in_time() {
    for algorithm in FRAMED {
        let whole = lab::peer::frames(algorithm, 0, &packets(0, [&[COM_QUERY; 500][..]]), 1 << 20);
        for sent in [3, 7, whole.len() - 1] {
            let stage = Stage::with(Transport::Tcp, |config| config.net_read_timeout = SOON);
            let Session { mut client, server } = stage.open(algorithm);
            client.send(&whole[..sent]).unwrap();
            assert_told(&mut client, 1159, "nothing came");
            drop((client, server));
            assert_counted(&stage, Side::Client, "timed_out");
        }
    }
}

#[test]
fn a_frame_that_is_cut_by_the_end_reaches_nobody() {
    for algorithm in FRAMED {
        let whole = lab::peer::frames(algorithm, 0, &packets(0, [&[COM_QUERY; 500][..]]), 1 << 20);
        let stage = Stage::new(Transport::Tcp, Algorithm::Zlib);
        let Session { mut client, mut server } = stage.open(algorithm);
        client.send(&whole[..whole.len() - 1]).unwrap();
        client.shut_writing().unwrap();
        assert_eq!(server.receive_end().unwrap(), 0);
        drop(server);
        assert_eq!(client.receive_end().unwrap(), 0);
    }
}

/// One zstd frame with or without a checksum and its content size.
fn zstd_with(checksum: bool, content_size: bool, plain: &[u8]) -> Vec<u8> {
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(zstd_safe::CParameter::ChecksumFlag(checksum)).unwrap();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(content_size)).unwrap();
    let mut body = vec![0; zstd_safe::compress_bound(plain.len())];
    let len = context.compress2(&mut body[..], plain).unwrap();
    body.truncate(len);
    body
}

/// Rule 6: all that both servers accept. Rule 5: what goes on to the server is what every receiver takes, where the
/// legs have the same algorithm too, and the frame might be forwarded as it came.
#[test]
fn odd_frames_that_servers_accept_are_accepted() {
    let ping = packets(0, [&[COM_PING][..]]);
    let query = packets(0, [[&[COM_QUERY][..], &[b'x'; 200]].concat().as_slice()]);
    let short = packets(0, [&[COM_QUERY; 45][..]]);
    let even = packets(0, [&[COM_QUERY; (32 << 10) - 4][..]]);
    for algorithm in FRAMED {
        let body = pack(algorithm, &query);
        let mut longer = vec![0x78, 0x01, 0x01]; // zlib, one stored block: longer than its input.
        longer.extend((query.len() as u16).to_le_bytes());
        longer.extend((!(query.len() as u16)).to_le_bytes());
        longer.extend_from_slice(&query);
        longer.extend(adler32(&query).to_be_bytes());
        let whole = |plain_len, body: &[u8]| claim(0, body.len(), plain_len, body);
        let mut cases = vec![
            ("a long stored frame", claim(0, query.len(), 0, &query), &query, 1),
            (
                "an empty frame first",
                [claim(0, 0, 0, &[]), claim(1, ping.len(), 0, &ping)].concat(),
                &ping,
                2,
            ),
            ("a packed frame of 49 bytes", whole(short.len(), &pack(algorithm, &short)), &short, 1),
            ("32 KiB", whole(even.len(), &pack(algorithm, &even)), &even, 1),
        ];
        if algorithm == Algorithm::Zlib {
            cases.push(("longer than its input", whole(query.len(), &longer), &query, 1));
            cases.push(("declared too large", whole(query.len() + 9, &body), &query, 1));
            cases.push((
                "bytes behind the stream",
                whole(query.len(), &[&body[..], b"junk"].concat()),
                &query,
                1,
            ));
            // Header bytes for 16 KiB; the check in the second makes both a multiple of 31.
            let small_window = [&[0x68, 0x81][..], &body[2..]].concat();
            cases.push(("a small window", whole(query.len(), &small_window), &query, 1));
        } else {
            let longer = zstd_with(false, true, &ping);
            cases.push(("longer than its input", whole(ping.len(), &longer), &ping, 1));
            let with_checksum = zstd_with(true, true, &query);
            cases.push(("a checksum", whole(query.len(), &with_checksum), &query, 1));
            let without_size = zstd_with(false, false, &query);
            cases.push(("no content size", whole(query.len(), &without_size), &query, 1));
            let two = [pack(algorithm, &query[..100]), pack(algorithm, &query[100..])].concat();
            cases.push(("two zstd frames", whole(query.len(), &two), &query, 1));
            let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &body].concat();
            cases.push(("a skippable frame first", whole(query.len(), &skippable), &query, 1));
        }
        for server_algorithm in NAMES {
            let stage = Stage::new(Transport::Tcp, server_algorithm);
            let mut session = stage.open(algorithm);
            for (name, bytes, inner, reply_id) in &cases {
                session.client.send(bytes).unwrap();
                let payload = session.server.receive().unwrap().payload;
                assert_eq!(payload, inner[4..], "{name} to {server_algorithm}");
                let (frames, packets) = session.server.take_seen();
                let arrived = Arrived { algorithm: server_algorithm, frames, packets };
                arrived.assert_frames(0);
                arrived.assert_no_packed_multiples_of_32_kib();
                session.server.send(&session.server.wrap(1, [OK], 100)).unwrap();
                assert_eq!(session.client.receive().unwrap().payload, OK, "{name}");
                let (frames, _) = session.client.take_seen();
                assert_eq!(frames[0].sequence_id, *reply_id, "{name}");
            }
        }
    }
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}
