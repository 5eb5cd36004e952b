//! Frames that need more memory than the budget has: stored streaming where that will do, a named fault with a
//! deadline where it won't.
//!
//! Not here: how much a session holds when idle (`live`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use codec::Algorithm;
use lab::peer::Peer;
use lab::wait::{wait_until, wait_while_amiss};
use proxy::State;
use wire::command::COM_QUERY;
use wire::{Side, frame};

use super::{SOON, assert_told};
use crate::scripted::{COLUMN, EOF, OK, Session, Stage, Transport};

/// The least that a budget can be: one frame of 16 MiB and what it holds.
const LEAST: usize = 32 << 20;

fn stage(net_read_timeout: Duration) -> Stage {
    Stage::with_config(Transport::Unix, |config| {
        config.buffer_memory_max = LEAST;
        config.listeners[0].net_read_timeout = net_read_timeout;
        config.listeners[0].server_algorithms = vec![Algorithm::Zstd];
    })
}

/// A client's frame that takes the whole budget and does not end: all but its body was read.
fn hog(stage: &Stage) -> Session {
    let mut session = stage.open(Algorithm::Zlib);
    let header = frame::Header { packed_len: 0xff_ff_fe, sequence_id: 0, plain_len: 0xff_ff_fe };
    session.client.send_pieces(&[&header.build(), b"x"]).unwrap();
    session
}

#[test]
fn a_large_packet_passes_stored_while_memory_is_out() {
    let stage = stage(Duration::from_secs(20));
    let mut hog = hog(&stage);
    let Session { mut client, mut server } = stage.open(Algorithm::Uncompressed);
    let query = vec![COM_QUERY; 3 << 20];
    std::thread::scope(|scope| {
        let query = &query;
        scope.spawn(move || client.send(&client.wrap(0, [query.as_slice()], 0)).map(|()| client).unwrap());
        assert!(server.receive().unwrap().payload == *query);
    });
    let (frames, _) = server.take_seen();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].plain_len, 0, "stored, though it would shrink to nothing");
    hog.client.send(b"y").unwrap();
}

#[test]
fn a_frame_that_waits_for_memory_too_long_is_a_named_fault() {
    let stage = stage(SOON);
    let mut hog = hog(&stage);
    let Session { mut client, server } = stage.open(Algorithm::Zlib);
    let header = frame::Header { packed_len: 1 << 20, sequence_id: 0, plain_len: 2 << 20 };
    client.send_pieces(&[&header.build()]).unwrap();
    // The hog's own deadline starts anew with each byte: it outlives the other's by this one.
    hog.client.send_pieces(&[b"y"]).unwrap();
    let told = client.receive().map(|packet| (client, packet));
    let (mut client, packet) = told.unwrap();
    let error = wire::response::ErrPacket::parse(&packet.payload).unwrap();
    assert_eq!((error.code, error.message.contains("memory")), (1041, true), "{error}");
    assert_eq!(client.receive_end().unwrap(), 0);
    drop((client, server));
    assert_told(&mut hog.client, 1159, "nothing came");
    drop(hog);
    let counters = stage.proxy.counters();
    wait_while_amiss("the want of memory is counted", || {
        if counters.faults_of(Side::Client, "buffer_memory_exhausted") == 0 {
            Err(counters.faults())
        } else {
            Ok(())
        }
    });
    // All of it is free again.
    stage.open(Algorithm::Zlib).assert_alive();
    a_large_row_arrives(&stage, Algorithm::Zlib);
}

/// What came before the frame that waits is the client's at once.
#[test]
fn complete_packets_do_not_wait_behind_a_frame_that_waits_for_memory() {
    let stage = stage(10 * lab::peer::PATIENCE);
    let mut hog = hog(&stage);
    let Session { mut client, mut server } = stage.open(Algorithm::Zlib);
    client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
    server.receive().unwrap();
    let mut reply = server.wrap(1, [&[1][..], COLUMN, EOF], usize::MAX);
    let waits = frame::Header { packed_len: 1 << 20, sequence_id: 2, plain_len: 2 << 20 };
    reply.extend_from_slice(&waits.build());
    server.send(&reply).unwrap();
    for expected in [&[1][..], COLUMN, EOF] {
        assert!(receive(&mut client) == expected);
    }
    hog.client.send(b"y").unwrap();
}

/// A packet that is collected holds memory, and its own next frame needs some: it must not wait for itself.
#[test]
fn a_packet_that_takes_all_memory_does_not_wait_for_itself() {
    let stage = stage(Duration::from_secs(20));
    for client in [Algorithm::Zlib, Algorithm::Zstd] {
        a_large_row_arrives(&stage, client);
    }
}

/// Several of them at once neither.
#[test]
fn packets_that_share_the_memory_do_not_wait_for_each_other() {
    let stage = stage(Duration::from_secs(20));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| a_large_row_arrives(&stage, Algorithm::Zlib));
        }
    });
}

/// A row of nearly 16 MiB in the server's frames of 1 MiB, to a framed client.
fn a_large_row_arrives(stage: &Stage, algorithm: Algorithm) {
    let mut session = stage.open(algorithm);
    // Half of it packs away: a stored frame takes no memory.
    let half = [lab::generate::blob(1, 1, 512), vec![0; 512]].concat();
    let row: Vec<u8> = half.repeat(16 << 10)[..0xff_ff_00].to_vec();
    let Session { client, server } = &mut session;
    client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
    server.receive().unwrap();
    std::thread::scope(|scope| {
        let sent = &row;
        scope.spawn(move || {
            let reply = server.wrap(1, [&[1][..], COLUMN, EOF, sent.as_slice(), EOF], 1 << 20);
            server.send(&reply).unwrap();
        });
        for expected in [&[1][..], COLUMN, EOF, row.as_slice(), EOF] {
            assert!(receive(client) == expected);
        }
    });
    let (frames, packets) = client.take_seen();
    assert!(packets.iter().all(|packet| packet.last_frame <= packet.first_frame + 1), "rule 3");
    assert!(packets.iter().all(|packet| packet.header_end_frame == packet.first_frame), "rule 3");
    assert!(frames.iter().zip(1..).all(|(frame, id)| frame.sequence_id == id));
}

/// 12 MiB, of which 8 stay if it is packed: a frame of it takes more than half of the least budget.
fn long_statement() -> Vec<u8> {
    [&[COM_QUERY][..], &lab::generate::blob(1, 1, 8 << 20), &vec![b'x'; 4 << 20]].concat()
}

/// Sends it, and waits until the server has it.
fn send_long_statement(Session { client, server }: &mut Session) {
    let statement = long_statement();
    std::thread::scope(|scope| {
        let bytes = client.wrap(0, [statement.as_slice()], 0xff_ff_ff);
        scope.spawn(move || client.send(&bytes).unwrap());
        assert!(server.receive().unwrap().payload == statement);
    });
}

/// What was passed on takes no memory from the others, however long its session rests.
#[test]
fn a_session_that_rests_holds_no_memory_for_its_last_frame() {
    let stage = stage(Duration::from_secs(5));
    let sessions: Vec<Session> = std::iter::repeat_with(|| {
        let mut session = stage.open(Algorithm::Zlib);
        send_long_statement(&mut session);
        let Session { client, server } = &mut session;
        server.send(&server.wrap(server.next_id(), [OK], 100)).unwrap();
        assert!(receive(client) == OK);
        session
    })
    .take(3)
    .collect();
    drop(sessions);
}

/// Nor from its own reply.
#[test]
fn a_long_reply_in_one_frame_answers_a_long_statement_in_one_frame() {
    let stage = stage(Duration::from_secs(5));
    let mut session = stage.open(Algorithm::Zlib);
    send_long_statement(&mut session);
    let row = long_statement();
    let Session { mut client, mut server } = session;
    let reply = server.wrap(1, [&[1][..], COLUMN, EOF, row.as_slice(), EOF], 0xff_ff_ff);
    std::thread::scope(|scope| {
        scope.spawn(|| server.send(&reply).unwrap());
        for expected in [&[1][..], COLUMN, EOF, row.as_slice(), EOF] {
            assert!(receive(&mut client) == expected);
        }
    });
}

/// The row behind a long one is packed while that is written, and the next one waits in the server.
#[test]
fn a_client_that_reads_nothing_holds_two_long_rows_and_no_more() {
    let stage = unpacked(4 * LEAST);
    assert_taken(&stage, 2);
}

/// Where there is no memory for a second one it waits for the first.
#[test]
fn a_client_that_reads_nothing_holds_one_long_row_where_memory_is_short() {
    let stage = unpacked(LEAST);
    assert_taken(&stage, 1);
}

/// A reply of one long row goes on until that is written, though its end is there.
#[test]
fn a_reply_is_not_over_while_its_last_long_row_waits() {
    let stage = unpacked(4 * LEAST);
    let Session { mut client, mut server } = stage.open(Algorithm::Zstd);
    client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
    server.receive().unwrap();
    let row = lab::generate::blob(1, 1, 5 << 20);
    let reply = [&[1][..], COLUMN, EOF, row.as_slice(), EOF];
    server.send(&server.wrap(1, reply, usize::MAX)).unwrap();
    let waits_for = || stage.proxy.live().connections()[0].waits_for;
    wait_until("the row waits for the client", || waits_for() == State::SendsToClient);
    std::thread::sleep(SOON);
    assert_eq!(waits_for(), State::SendsToClient);
    for expected in reply {
        assert!(receive(&mut client) == expected);
    }
    wait_until("the session rests", || waits_for() == State::Rests);
}

/// Servers that compress nothing: there is no frame that could pass as it is.
fn unpacked(buffer_memory_max: usize) -> Stage {
    Stage::with_config(Transport::Unix, |config| {
        config.buffer_memory_max = buffer_memory_max;
        config.listeners[0].server_algorithms = vec![Algorithm::Uncompressed];
    })
}

/// So many long rows the proxy takes in of which the client reads nothing; then it reads all, as they were sent.
fn assert_taken(stage: &Stage, count: usize) {
    let Session { mut client, mut server } = stage.open(Algorithm::Zstd);
    client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
    server.receive().unwrap();
    let rows: [Vec<u8>; 5] =
        [1, 2, 3, 4, 5].map(|n| [lab::generate::blob(1, n, 5 << 20), vec![0; 5 << 20]].concat());
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            server.send(&server.wrap(1, [&[1][..], COLUMN, EOF], usize::MAX)).unwrap();
            for (row, id) in rows.iter().zip(4..) {
                server.send(&server.wrap(id, [row.as_slice()], usize::MAX)).unwrap();
                taken.fetch_add(1, Ordering::Relaxed);
            }
            server.send(&server.wrap(9, [EOF], usize::MAX)).unwrap();
        });
        wait_until("rows are taken", || taken.load(Ordering::Relaxed) >= count);
        std::thread::sleep(SOON);
        assert_eq!(taken.load(Ordering::Relaxed), count);
        for expected in [&[1][..], COLUMN, EOF].into_iter().chain(rows.iter().map(Vec::as_slice)).chain([EOF])
        {
            assert!(receive(&mut client) == expected);
        }
    });
    let (frames, packets) = client.take_seen();
    assert!(frames.iter().zip(1..).all(|(frame, id)| frame.sequence_id == id));
    assert!(packets.iter().zip(1..).all(|(packet, id)| packet.sequence_id == id));
}

fn receive(client: &mut Peer) -> Vec<u8> {
    client.receive().unwrap().payload
}
