//! Dialogues in which not every command is one packet and one reply.
//!
//! Not here: the same with real servers and drivers (`live`).

use std::thread;
use std::time::Duration;

use codec::Algorithm;
use lab::peer::Peer;
use proxy::Policy;
use wire::Side;
use wire::command::{
    COM_BINLOG_DUMP, COM_CHANGE_USER, COM_PING, COM_QUERY, COM_STMT_CLOSE, COM_STMT_PREPARE,
    COM_STMT_SEND_LONG_DATA,
};

use super::cuts::every_pair;
use super::dialogue::{Style, hear, result, say};
use crate::scripted::{NAMES, OK, Session, Stage, Transport};

const OK_MORE: &[u8] = &[0, 0, 0, 0x0a, 0, 0, 0];

/// Rule 1: both servers lose the second command of a frame.
#[test]
fn pipelined_commands_reach_a_framed_server_one_by_one() {
    every_pair(Transport::Tcp, |stage, client| {
        let mut session = stage.open(client);
        let commands: Vec<Vec<u8>> = (0..40)
            .flat_map(|n| {
                [
                    [&[COM_STMT_PREPARE][..], format!("select {n}").as_bytes()].concat(),
                    [&[COM_STMT_SEND_LONG_DATA, 1, 0, 0, 0, 0, 0][..], &vec![b'x'; n * 50]].concat(),
                    vec![COM_STMT_CLOSE, 1, 0, 0, 0],
                    vec![COM_PING],
                ]
            })
            .collect();
        // A plain client sends them in one write; a framed one, as MariaDB's drivers, a frame for each.
        let bytes: Vec<u8> = commands
            .iter()
            .flat_map(|command| session.client.wrap(0, [command.as_slice()], 1 << 20))
            .collect();
        session.client.send(&bytes).unwrap();
        let arrived = hear(&mut session.server, &commands);
        if session.server.algorithm().is_framed() {
            arrived.assert_one_command_a_frame();
            arrived.assert_frames(0);
        }
        // Replies come in the commands' order, as fast as the server likes.
        let prepared = vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let replies: Vec<Vec<u8>> = (0..40).flat_map(|_| [prepared.clone(), OK.to_vec()]).collect();
        let bytes: Vec<u8> =
            replies.iter().flat_map(|reply| session.server.wrap(1, [reply.as_slice()], 1 << 20)).collect();
        session.server.send(&bytes).unwrap();
        let arrived = hear(&mut session.client, &replies);
        assert!(arrived.packets.iter().all(|packet| packet.sequence_id == 1));
        assert!(arrived.frames.iter().all(|frame| frame.sequence_id == 1));
        session.assert_alive();
    });
}

/// What libmysqlclient's statement API may produce, and servers answer.
#[test]
fn two_commands_in_one_frame_of_the_client_are_taken_apart() {
    for server in [Algorithm::Zstd, Algorithm::Zlib] {
        let stage = Stage::new(Transport::Tcp, server);
        for client in [Algorithm::Zstd, Algorithm::Zlib] {
            let mut session = stage.open(client);
            let commands = [vec![COM_STMT_CLOSE, 1, 0, 0, 0], [&[COM_QUERY][..], &[b'x'; 100]].concat()];
            let inner: Vec<u8> =
                commands.iter().flat_map(|command| lab::peer::packets(0, [command.as_slice()])).collect();
            session.client.send(&lab::peer::frames(client, 0, &inner, 1 << 20)).unwrap();
            let arrived = hear(&mut session.server, &commands);
            arrived.assert_one_command_a_frame();
            arrived.assert_frames(0);
            // MySQL's own ids in this case: packets from 0, frame 1.
            let reply = lab::peer::frames(server, 1, &lab::peer::packets(0, [OK]), 100);
            session.server.send(&reply).unwrap();
            hear(&mut session.client, &[OK.to_vec()]).assert_ids(1);
            session.assert_alive();
        }
    }
}

#[test]
fn results_of_several_statements_begin_like_replies_with_frames_and_count_on_without() {
    every_pair(Transport::Tcp, |stage, client| {
        let mut session = stage.open(client);
        let query = b"\x03select 1; select 2; select 3".to_vec();
        say(&mut session.client, 0, std::slice::from_ref(&query), &Style::WHOLE);
        hear(&mut session.server, &[query]).assert_ids(0);
        let framed = session.server.algorithm().is_framed();
        let mut results: Vec<Vec<Vec<u8>>> = (0..3).map(|n| result([vec![1, b'1' + n]])).collect();
        for result in results.iter_mut().take(2) {
            *result.last_mut().unwrap() = vec![0xfe, 0, 0, 0x0a, 0];
        }
        let mut first_id = 1;
        for result in &results {
            say(&mut session.server, first_id, result, &Style::WHOLE);
            // A framed server's packet ids jump back to the frame's: 1-5, 2-6, 3-7.
            first_id += if framed { 1 } else { result.len() as u8 };
        }
        let arrived = hear(&mut session.client, &results.concat());
        if client.is_framed() {
            // As servers number them: mysql_async, for one, wants a further result at the id of its frame.
            let packet_ids: Vec<u8> = arrived.packets.iter().map(|packet| packet.sequence_id).collect();
            assert_eq!(packet_ids, [1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7]);
            let frame_ids: Vec<u8> = arrived.frames.iter().map(|frame| frame.sequence_id).collect();
            assert_eq!(frame_ids, [1, 2, 3]);
        } else {
            arrived.assert_ids(1);
        }
        arrived.assert_frames(1 << 24);
        session.assert_alive();
    });
}

#[test]
fn a_local_file_of_more_than_256_packets_or_frames_arrives() {
    every_pair(Transport::Tcp, |stage, client| {
        // Beyond 16 KiB a packet has a frame of its own.
        for (packets, least_len) in [(0, 1), (1, 1), (3, 1), (700, 1), (300, 17_000)] {
            let mut session = stage.open(client);
            request_file(&mut session);
            let mut file: Vec<Vec<u8>> = (0..packets).map(|n| vec![COM_QUERY; least_len + n * 3]).collect();
            file.push(Vec::new());
            let Session { client: sender, server } = &mut session;
            let arrived = thread::scope(|scope| {
                // Sockets hold less than a large file.
                scope.spawn(|| say(sender, 2, &file, &Style::WHOLE));
                hear(server, &file)
            });
            arrived.assert_ids(2);
            arrived.assert_frames(0);
            let last = if arrived.algorithm.is_framed() {
                arrived.frames.last().unwrap().sequence_id
            } else {
                arrived.packets.last().unwrap().sequence_id
            };
            say(&mut session.server, last.wrapping_add(1), &[OK.to_vec()], &Style::WHOLE);
            let units = sent_units(client, &file);
            hear(&mut session.client, &[OK.to_vec()]).assert_ids(2_u8.wrapping_add(units));
            session.assert_alive();
        }
    });
}

/// The server's error may come while the client still sends.
#[test]
fn an_error_in_the_middle_of_a_local_file_arrives_at_once() {
    every_pair(Transport::Tcp, |stage, client| {
        let mut session = stage.open(client);
        request_file(&mut session);
        let begun = [vec![b'x'; 100]];
        say(&mut session.client, 2, &begun, &Style::WHOLE);
        hear(&mut session.server, &begun).assert_ids(2);
        let error = b"\xff\x15\x04#HY000bad line".to_vec();
        say(&mut session.server, 3, std::slice::from_ref(&error), &Style::WHOLE);
        hear(&mut session.client, &[error]).assert_ids(3);
        // The client ends its file nevertheless, and nothing answers.
        say(&mut session.client, 3, &[vec![COM_QUERY], Vec::new()], &Style::WHOLE);
        hear(&mut session.server, &[vec![COM_QUERY], Vec::new()]);
        session.assert_alive();
    });
}

fn request_file(session: &mut Session) {
    let query = b"\x03load data local infile 'f' into table t".to_vec();
    say(&mut session.client, 0, std::slice::from_ref(&query), &Style::WHOLE);
    hear(&mut session.server, &[query]).assert_ids(0);
    let request = b"\xfbf".to_vec();
    say(&mut session.server, 1, std::slice::from_ref(&request), &Style::WHOLE);
    let (got, expected) = (session.client.receive().unwrap(), request);
    assert_eq!((got.sequence_id, got.payload), (1, expected));
    session.client.take_seen();
}

/// Frames, or packets, that `payloads` took.
fn sent_units(algorithm: Algorithm, payloads: &[Vec<u8>]) -> u8 {
    let inner_len: usize = payloads.iter().map(|payload| payload.len() + 4).sum();
    (if algorithm.is_framed() { inner_len.div_ceil(Style::WHOLE.frame_len) } else { payloads.len() }) as u8
}

#[test]
fn a_change_of_user_with_its_exchange_stays_framed_on_every_pair() {
    // Between TCP legs the server's key goes from end to end, between sockets the password.
    let key = [b"\x01-----BEGIN PUBLIC KEY-----"[..].to_vec(), vec![b'k'; 400]].concat();
    let full = [vec![2], key, vec![9; 256]];
    every_pair(Transport::Tcp, |stage, client| a_change_of_user_stays_framed(stage, client, &full));
    let full = [b"secret\0".to_vec()];
    every_pair(Transport::Unix, |stage, client| a_change_of_user_stays_framed(stage, client, &full));
}

fn a_change_of_user_stays_framed(stage: &Stage, client: Algorithm, full: &[Vec<u8>]) {
    let mut session = stage.open(client);
    let command = [&[COM_CHANGE_USER][..], b"other\0\0\0\x2d\0caching_sha2_password\0"].concat();
    let switch = b"\xfecaching_sha2_password\x00abcdefghijklmnopqrst\x00".to_vec();
    let turns = [command, switch, vec![7; 32], vec![1, 4]].into_iter();
    for (id, payload) in (0_u8..).zip(turns.chain(full.iter().cloned()).chain([OK.to_vec()])) {
        let Session { client, server } = &mut session;
        let (from, to) = if id % 2 == 0 { (client, server) } else { (server, client) };
        say(from, id, std::slice::from_ref(&payload), &Style::WHOLE);
        let arrived = hear(to, &[payload]);
        arrived.assert_ids(id);
        arrived.assert_frames(0);
    }
    session.assert_alive();
}

/// Ids restart behind each event that asks for an ack, before the ack is seen, and such an event ends its frame.
#[test]
fn semi_sync_events_and_acks_pass_on_every_pair() {
    every_pair(Transport::Tcp, |stage, client| {
        let mut session = stage.open(client);
        say(&mut session.client, 0, &[vec![COM_BINLOG_DUMP, 4, 0, 0, 0]], &Style::WHOLE);
        session.server.receive().unwrap();
        session.server.take_seen();
        let (mut first_id, mut expected) = (1, 1);
        for round in 0..3 {
            let mut events = vec![event(0, round), event(0, round), event(1, round)];
            let bytes = wrap_events(&session.server, first_id, &events);
            // The source goes on at once, in the same write: packet 1, frame 0.
            first_id = u8::from(!session.server.algorithm().is_framed());
            let next = event(0, round);
            let bytes = [bytes, wrap_events(&session.server, first_id, std::slice::from_ref(&next))].concat();
            session.server.send(&bytes).unwrap();
            first_id += 1;
            events.push(next);
            let arrived = hear(&mut session.client, &events);
            arrived.assert_frames(1 << 24);
            assert_eq!(arrived.packets[0].sequence_id, expected);
            assert_eq!(arrived.packets[2].sequence_id, expected + 2);
            if client.is_framed() {
                assert_eq!(arrived.frames[0].sequence_id, expected);
                assert!(
                    arrived.packets[2].ends_frame,
                    "rule 1: what follows the event is behind the replica's ack"
                );
                assert_eq!(arrived.frames[arrived.packets[3].first_frame].sequence_id, 0);
            }
            expected = u8::from(!client.is_framed());
            assert_eq!(arrived.packets[3].sequence_id, expected);
            expected += 1;
            let ack = b"\xef\x04\0\0\0\0\0\0\0binlog.000001".to_vec();
            say(&mut session.client, 0, std::slice::from_ref(&ack), &Style::WHOLE);
            hear(&mut session.server, &[ack]).assert_ids(0);
        }
    });
}

/// Events come when there are some, however fast the link is; rows come as fast as it is.
#[test]
fn events_say_nothing_of_the_link_and_rows_do() {
    for (command, tells) in [(COM_BINLOG_DUMP, false), (COM_QUERY, true)] {
        let stage = Stage::with(Transport::Tcp, |config| config.policy = Policy::Latency);
        let Session { mut client, mut server } = stage.open(Algorithm::Uncompressed);
        client.send(&client.wrap(0, [&[command][..]], 100)).unwrap();
        server.receive().unwrap();
        let packets = match tells {
            true => result(vec![vec![0; 16 << 10]; 100]),
            false => vec![vec![0; 16 << 10]; 100],
        };
        for (id, packet) in (1..).zip(&packets) {
            say(&mut server, id, std::slice::from_ref(packet), &Style::WHOLE);
            hear(&mut client, std::slice::from_ref(packet));
            thread::sleep(Duration::from_millis(4));
        }
        let links = stage.proxy.live().links();
        let seen = links.iter().find(|link| link.side == Side::Server).unwrap().replies.stored_per_s;
        assert_eq!(seen.is_some(), tells, "{seen:?}");
    }
}

fn wrap_events(source: &Peer, first_id: u8, events: &[Vec<u8>]) -> Vec<u8> {
    source.wrap(first_id, events.iter().map(Vec::as_slice), 16 << 10)
}

fn event(flag: u8, fill: u8) -> Vec<u8> {
    let event_len = 19 + 50_u32;
    let mut packet = vec![0, 0xef, flag, 1, 2, 3, 4, 2, 1, 0, 0, 0];
    packet.extend(event_len.to_le_bytes());
    packet.resize(3 + event_len as usize, fill);
    packet
}

#[test]
fn an_error_that_nobody_asked_for_keeps_its_id_0() {
    every_pair(Transport::Tcp, |stage, client| {
        let mut session = stage.open(client);
        session.assert_alive();
        let error =
            [b"\xff\xbf\x0f#HY000The client was disconnected by the server"[..].to_vec(), vec![b'.'; 80]]
                .concat();
        say(&mut session.server, 0, std::slice::from_ref(&error), &Style::WHOLE);
        hear(&mut session.client, &[error]).assert_ids(0);
        drop(session.server);
        assert_eq!(session.client.receive_end().unwrap(), 0);
    });
}

/// A large command that the server refuses before it has read it: the refusal arrives, not a bare reset.
#[test]
fn an_error_before_the_end_of_a_large_command_arrives() {
    every_pair(Transport::Tcp, |stage, client| {
        let Session { mut client, mut server } = stage.open(client);
        let command = client.wrap(0, [vec![COM_QUERY; 8 << 20].as_slice()], 1 << 20);
        let error = b"\xff\x81\x04#08S01Got a packet bigger than 'max_allowed_packet' bytes".to_vec();
        thread::scope(|scope| {
            let error = &error;
            scope.spawn(move || {
                // It has read no more than the start when it refuses and goes.
                let refusal = server.wrap(1, [error.as_slice()], 1 << 20);
                server.receive_some().unwrap();
                server.send(&refusal).unwrap();
                drop(server);
            });
            // The proxy may close before it has read everything.
            drop(client.send(&command));
            let got = client.receive().unwrap();
            assert_eq!(got.payload, *error);
        });
    });
}

/// The reply of one session must not depend on another's being read.
#[test]
fn a_client_that_does_not_read_holds_up_nobody_else() {
    for name in NAMES {
        let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
        let mut stuck = stage.open(name);
        let mut other = stage.open(name);
        thread::scope(|scope| {
            let Session { client, server } = &mut stuck;
            let query = vec![b"\x03select".to_vec()];
            let reply = result(
                (0..64).map(|_| lab::generate::blob(1, 1, 1 << 20).into_iter().map(|b| b | 1).collect()),
            );
            say(client, 0, &query, &Style::WHOLE);
            let sent = reply.clone();
            let serve = scope.spawn(move || {
                hear(server, &query);
                say(server, 1, &sent, &Style { frame_len: 1 << 20, ..Style::WHOLE });
            });
            for _ in 0..20 {
                other.assert_alive();
            }
            hear(client, &reply);
            serve.join().unwrap();
        });
        let more = [OK_MORE.to_vec(), OK.to_vec()];
        say(&mut other.client, 0, &[b"\x03do 1; do 2".to_vec()], &Style::WHOLE);
        other.server.receive().unwrap();
        say(&mut other.server, 1, &more, &Style::WHOLE);
        hear(&mut other.client, &more).assert_ids(1);
    }
}
