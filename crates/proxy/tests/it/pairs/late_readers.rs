//! A client that has not taken all of a complete reply: what follows waits for that, and nothing is lost.
//!
//! Not here: clients that read nothing, and how much is held for them (`bad_input::memory`).

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use codec::Algorithm;
use lab::peer::Peer;
use lab::wait::wait_while_amiss;
use proxy::State;
use wire::command::{COM_CHANGE_USER, COM_QUERY, COM_QUIT, COM_STMT_SEND_LONG_DATA};

use super::dialogue::{hear, result};
use crate::bad_input::assert_told;
use crate::scripted::{NAMES, OK, Session, Stage, Transport};

/// Longer than it takes a reply to get as far as it can.
const A_WHILE: Duration = Duration::from_millis(100);
const COMMAND: &[u8] = b"\x11other\0\0\0\x2d\0caching_sha2_password\0";

/// Runs `test` with replies of which the last part is in the client's socket or in the proxy. Of longer ones the server would wait
/// for a timer: Linux wakes who writes to a Unix socket when a quarter of it is full, at most.
fn every_place(stage: &Stage, client: Algorithm, test: impl Fn(Session, &[Vec<u8>]) + Sync) {
    thread::scope(|scope| {
        for kib in (128..=304).step_by(16) {
            let mut session = stage.open(client);
            let test = &test;
            scope.spawn(move || {
                let reply = result([lab::generate::blob(1, 1, kib << 10)]);
                session.client.send(&session.client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
                session.server.receive().unwrap();
                let bytes = session.server.wrap(1, reply.iter().map(Vec::as_slice), 16 << 10);
                session.server.send(&bytes).unwrap();
                thread::sleep(A_WHILE);
                test(session, &reply);
            });
        }
        thread::sleep(A_WHILE);
        let connections = stage.proxy.live().connections();
        let resting = connections.iter().filter(|connection| connection.waits_for == State::Rests).count();
        assert!(resting > 0, "no reply was complete");
    });
}

fn send(peer: &mut Peer, payload: &[u8]) {
    peer.send(&peer.wrap(0, [payload], 100)).unwrap();
}

#[test]
fn a_client_that_quits_before_it_reads_gets_all_of_its_reply() {
    for client in NAMES {
        let stage = Stage::new(Transport::Unix, Algorithm::Uncompressed);
        every_place(&stage, client, |Session { mut client, server: _server }, reply| {
            send(&mut client, &[COM_QUIT]);
            client.shut_writing().unwrap();
            thread::sleep(A_WHILE);
            hear(&mut client, reply);
        });
    }
}

#[test]
fn a_client_that_still_reads_is_not_idle() {
    for client in NAMES {
        let stage = Stage::with(Transport::Unix, |config| {
            config.server_algorithms = vec![Algorithm::Uncompressed];
            config.idle_timeout = Some(3 * A_WHILE);
        });
        every_place(&stage, client, |Session { mut client, server: _server }, reply| {
            // Longer than anybody is waited for who has to be told an error.
            thread::sleep(15 * A_WHILE);
            // The error behind it has no room where the reply fills the socket.
            hear(&mut client, reply);
        });
    }
}

#[test]
fn a_change_of_user_follows_all_of_the_reply_before_it() {
    for client in NAMES {
        let stage = Stage::new(Transport::Unix, Algorithm::Uncompressed);
        every_place(&stage, client, |Session { mut client, mut server }, reply| {
            send(&mut client, COMMAND);
            thread::sleep(A_WHILE);
            hear(&mut client, reply);
            assert_eq!(server.receive().unwrap().payload, COMMAND);
            server.send(&server.wrap(1, [OK], 100)).unwrap();
            hear(&mut client, &[OK.to_vec()]).assert_ids(1);
        });
    }
}

/// What the user before left open is the server's to forget, so a drain doesn't wait for it.
#[test]
fn a_change_of_user_ends_what_a_session_holds() {
    let stage = Stage::new(Transport::Unix, Algorithm::Zlib);
    let Session { mut client, mut server } = stage.open(Algorithm::Zstd);
    send(&mut client, &[COM_STMT_SEND_LONG_DATA, 1, 0, 0, 0, 0, 0, b'x']);
    server.receive().unwrap();
    send(&mut client, b"\x11other\0\0shop\0\x2d\0caching_sha2_password\0");
    assert_eq!(server.receive().unwrap().payload.first(), Some(&COM_CHANGE_USER));
    server.send(&server.wrap(1, [OK], 100)).unwrap();
    hear(&mut client, &[OK.to_vec()]);
    wait_while_amiss("another user is shown", || {
        let shown = stage.proxy.live().connections()[0].logged_in.clone().unwrap();
        let shown = (shown.user, shown.database);
        if shown == ("other".to_owned(), Some("shop".to_owned())) { Ok(()) } else { Err(shown) }
    });
    let Stage { proxy, listener: _listener, .. } = stage;
    let begun = Instant::now();
    assert_eq!(proxy.drain(lab::peer::PATIENCE, &AtomicBool::new(false)), 0);
    assert!(begun.elapsed() < lab::peer::PATIENCE, "it waited");
    assert_told(&mut client, 1053, "");
}
