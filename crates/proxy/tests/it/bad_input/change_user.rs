//! COM_CHANGE_USER as a weapon: packets that are collected, turns that don't end.
//!
//! Not here: commands that are cut (`advisories::commands`), changes that work (`live::authentication`).

use lab::peer::Peer;
use wire::limits::LOGIN_LEN_MAX;
use wire::{Side, packet};

use super::{SOON, assert_counted, assert_told};
use crate::scripted::{NAMES, Session, Stage, Transport};

const COMMAND: &[u8] = b"\x11other\0\0\0\x2d\0caching_sha2_password\0";
const SWITCH: &[u8] = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";

/// The last error stands where the client expects its next packet.
fn assert_last_id(client: &mut Peer, id: u8) {
    let (_, packets) = client.take_seen();
    assert_eq!(packets.last().map(|packet| packet.sequence_id), Some(id));
}

#[test]
fn a_change_of_user_larger_than_a_login_is_refused_at_its_header() {
    for algorithm in NAMES {
        let stage = Stage::new(Transport::Tcp, algorithm);
        let mut other = stage.open(algorithm);
        let Session { mut client, mut server } = stage.open(algorithm);
        let header = packet::Header { payload_len: LOGIN_LEN_MAX + 1, sequence_id: 0 }.build();
        let begun = [&header[..], &COMMAND[..8]].concat();
        let framed = lab::peer::frames(algorithm, 0, &begun, 1 << 20);
        client.send(if algorithm.is_framed() { &framed } else { &begun }).unwrap();
        assert_told(&mut client, 1153, "in a change of user");
        assert_last_id(&mut client, 1);
        assert_eq!(server.receive_end().unwrap(), 0, "{algorithm}");
        drop(client);
        assert_counted(&stage, Side::Client, "change_user_too_long");
        other.assert_alive();
    }
}

/// A login's own length is no more a reason to refuse one.
#[test]
fn a_change_of_user_as_large_as_a_login_passes() {
    for algorithm in NAMES {
        let stage = Stage::new(Transport::Tcp, algorithm);
        let Session { mut client, mut server } = stage.open(algorithm);
        let mut command = COMMAND.to_vec();
        command.resize(LOGIN_LEN_MAX, b'x');
        client.send(&client.wrap(0, [command.as_slice()], 1 << 20)).unwrap();
        assert!(server.receive().unwrap().payload == command, "{algorithm}");
    }
}

#[test]
fn an_answer_in_a_change_of_user_is_bounded_too() {
    for algorithm in NAMES {
        let stage = Stage::new(Transport::Tcp, algorithm);
        let mut session = stage.open(algorithm);
        switched(&mut session);
        let Session { mut client, server } = session;
        let header = packet::Header { payload_len: 0xff_ff_ff, sequence_id: 2 }.build();
        let framed = lab::peer::frames(algorithm, 2, &header, 1 << 20);
        client.send(if algorithm.is_framed() { &framed } else { &header }).unwrap();
        assert_told(&mut client, 1153, "in a change of user");
        drop((client, server));
        assert_counted(&stage, Side::Client, "change_user_too_long");
    }
}

/// Behind the server's own word nothing but the proxy would end the client's silence.
#[test]
fn a_client_that_does_not_answer_in_a_change_of_user_is_told_so_in_time() {
    for algorithm in NAMES {
        let stage = Stage::with(Transport::Tcp, |config| {
            config.login_timeout = SOON;
            config.server_algorithms = vec![algorithm];
        });
        let mut session = stage.open(algorithm);
        switched(&mut session);
        let begun = std::time::Instant::now();
        assert_told(&mut session.client, 1159, "nothing came");
        assert!(begun.elapsed() + SOON / 10 >= SOON);
        assert_last_id(&mut session.client, 2);
        drop(session);
        assert_counted(&stage, Side::Client, "timed_out");
    }
}

#[test]
fn who_is_killed_in_a_change_of_user_is_told_with_the_exchanges_id() {
    for algorithm in NAMES {
        let stage = Stage::new(Transport::Tcp, algorithm);
        let mut session = stage.open(algorithm);
        switched(&mut session);
        let live = stage.proxy.live();
        assert!(live.kill(live.connections()[0].id));
        assert_told(&mut session.client, 1927, "");
        assert_last_id(&mut session.client, 2);
    }
}

/// The client has sent the command, and the server asks for an answer.
fn switched(session: &mut Session) {
    let Session { client, server } = session;
    client.send(&client.wrap(0, [COMMAND], 1 << 20)).unwrap();
    server.receive().unwrap();
    server.send(&server.wrap(server.next_id(), [SWITCH], 1 << 20)).unwrap();
    assert_eq!(client.receive().unwrap().payload, SWITCH);
}
