//! One command and its reply through the proxy, cut and framed as told; payloads, ids and frames are checked.
//!
//! Not here: which (`cuts`, `sizes`, `random`).

use std::thread;

use lab::peer::Peer;

use super::rules::Arrived;
use crate::scripted::{COLUMN, EOF, Session};

/// How one side sends.
#[derive(Debug, Clone)]
pub(super) struct Style {
    /// Plain bytes of each frame.
    pub(super) frame_len: usize,
    pub(super) cuts: Cuts,
}

/// Where the stream is cut.
#[derive(Debug, Clone)]
pub(super) enum Cuts {
    None,
    /// Once, behind this many bytes.
    At(usize),
    Every(usize),
    /// Anywhere, from a seed.
    Random(u64),
}

impl Style {
    pub(super) const WHOLE: Self = Self { frame_len: FRAME_LEN, cuts: Cuts::None };

    pub(super) const fn cut(cuts: Cuts) -> Self {
        Self { frame_len: FRAME_LEN, cuts }
    }
}

/// What servers send by default.
const FRAME_LEN: usize = 16 << 10;

/// A result set with one column.
pub(super) fn result(rows: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut reply = vec![vec![1], COLUMN.to_vec(), EOF.to_vec()];
    reply.extend(rows);
    reply.push(EOF.to_vec());
    reply
}

/// Sends payloads of which the first has `first_id`.
pub(super) fn say(peer: &mut Peer, first_id: u8, payloads: &[Vec<u8>], style: &Style) {
    let bytes = peer.wrap(first_id, payloads.iter().map(Vec::as_slice), style.frame_len);
    let pieces = match style.cuts {
        Cuts::None => return peer.send(&bytes).unwrap(),
        Cuts::At(place) => lab::drip::cut_at(&bytes, [place]),
        Cuts::Every(len) => lab::drip::pieces(&bytes, len),
        Cuts::Random(seed) => lab::drip::random_cutting(&bytes, seed),
    };
    peer.send_pieces(&pieces).unwrap();
}

/// Receives `payloads` exactly.
pub(super) fn hear(peer: &mut Peer, payloads: &[Vec<u8>]) -> Arrived {
    for (index, expected) in payloads.iter().enumerate() {
        let got = peer.receive_joined().unwrap().payload;
        assert_eq!(got.len(), expected.len(), "length of payload {index}");
        assert!(got == *expected, "payload {index} of {} bytes is another", expected.len());
    }
    let (frames, packets) = peer.take_seen();
    Arrived { algorithm: peer.algorithm(), frames, packets }
}

/// How many frames or packets the client's bytes had: the id at which the reply starts.
fn reply_id(client: &Peer, command: &[u8], style: &Style) -> u8 {
    let units = if client.algorithm().is_framed() {
        crate::scripted::packed_up_len(command.len()).div_ceil(style.frame_len)
    } else {
        crate::scripted::piece_count(command.len())
    };
    units as u8
}

/// A command there, its reply back.
pub(super) fn converse(
    session: &mut Session,
    command: &[u8],
    reply: &[Vec<u8>],
    to_server: &Style,
    to_client: &Style,
) {
    converse_with(session, command, reply, to_server, to_client, 1 << 24);
}

/// The same, for a client that announced its own limit.
pub(super) fn converse_with(
    session: &mut Session,
    command: &[u8],
    reply: &[Vec<u8>],
    to_server: &Style,
    to_client: &Style,
    packet_len_max: usize,
) {
    let Session { client, server } = session;
    let first_id = reply_id(client, command, to_server);
    let arrived = thread::scope(|scope| {
        // Each end on a thread of its own: sockets hold less than a large packet.
        let serve = scope.spawn(|| {
            let arrived = hear(server, &[command.to_vec()]);
            let units =
                if server.algorithm().is_framed() { arrived.frames.len() } else { arrived.packets.len() };
            say(server, units as u8, reply, to_client);
            arrived
        });
        say(client, 0, &[command.to_vec()], to_server);
        let arrived = hear(client, reply);
        arrived.assert_ids(first_id);
        arrived.assert_frames(packet_len_max);
        serve.join().unwrap()
    });
    arrived.assert_ids(0);
    arrived.assert_frames(0);
    arrived.assert_no_packed_multiples_of_32_kib();
}
