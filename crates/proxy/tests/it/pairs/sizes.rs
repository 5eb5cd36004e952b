//! Payloads at every border of the protocol, both ways.
//!
//! Not here: the same on real servers (`live`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use codec::Algorithm;
use wire::limits::PACKET_PAYLOAD_LEN_MAX;

use super::cuts::every_pair;
use super::dialogue::{Cuts, Style, converse, converse_with, result};
use crate::scripted::{NAMES, Stage, Transport};

/// `len` bytes of which about half can be packed away; as a row it is none of the packets that end rows.
fn payload(len: usize) -> Vec<u8> {
    let noise = lab::generate::blob(1, 1, 4096);
    let mut bytes = Vec::with_capacity(len + 8192);
    bytes.extend([0x03, 0x01]);
    while bytes.len() < len {
        bytes.extend_from_slice(&noise);
        bytes.extend(std::iter::repeat_n(bytes.len() as u8, 4096));
    }
    bytes.truncate(len);
    bytes
}

/// A command and a row of this size, small rows around it.
fn carries(session: &mut crate::scripted::Session, len: usize) {
    let reply =
        result([b"\x01a".to_vec(), payload(len), b"\x01b".to_vec(), payload(len.min(3)), payload(60)]);
    // Few large frames, as the servers' own for a large row.
    let style = Style { frame_len: if len > 1 << 20 { 0xff_ff_fe } else { 16 << 10 }, cuts: Cuts::None };
    converse(session, &payload(len), &reply, &style, &style);
}

#[test]
fn payloads_around_small_borders_arrive_on_every_pair() {
    let borders = [49 - 4, 50 - 4, 49, 50, 511, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 384 << 10, 1 << 20];
    for transport in [Transport::Tcp, Transport::Unix] {
        every_pair(transport, |stage, client| {
            let mut session = stage.open(client);
            for len in [1, 2].into_iter().chain(borders.iter().flat_map(|border| border - 1..=border + 1)) {
                carries(&mut session, len);
            }
            // With the packet's header a multiple of 32 KiB.
            for len in [(32 << 10) - 4, (128 << 10) - 4, (256 << 10) - 4, (1 << 20) - 4] {
                carries(&mut session, len);
            }
        });
    }
}

/// Runs `(server, client, len)` cases on two threads: a core each, here and on the smallest machines.
fn in_parallel(cases: &[(Algorithm, Algorithm, usize)]) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((server, client, len)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let stage = Stage::new(Transport::Tcp, *server);
                    carries(&mut stage.open(*client), *len);
                }
            });
        }
    });
}

/// The eight places around one border, dealt out so that each pair gets one and each place some pair.
#[test]
fn payloads_around_16_mib_arrive() {
    let lens = (0..=8).map(|i| PACKET_PAYLOAD_LEN_MAX - i).chain((0..=8).map(|i| (1 << 24) + i));
    let lens: Vec<usize> = lens.chain([2 * PACKET_PAYLOAD_LEN_MAX]).collect();
    let pairs = NAMES.into_iter().flat_map(|server| NAMES.map(|client| (server, client)));
    let pairs: Vec<_> = pairs.collect();
    let cases: Vec<_> =
        lens.iter().enumerate().map(|(i, len)| (pairs[i % 9].0, pairs[i % 9].1, *len)).collect();
    in_parallel(&cases);
}

#[test]
fn payloads_of_64_mib_arrive() {
    in_parallel(&[
        (Algorithm::Zstd, Algorithm::Uncompressed, 64 << 20),
        (Algorithm::Uncompressed, Algorithm::Zstd, 64 << 20),
    ]);
}

#[test]
fn a_result_of_many_rows_is_merged_into_frames_that_its_client_takes() {
    for packet_len_max in [0_u32, 1024, 40_000, 1 << 20, 1 << 24, 1 << 30] {
        every_pair(Transport::Unix, |stage, client| {
            let mut session = stage.open_with(client, packet_len_max);
            // For a small client more than 256 frames: their ids wrap.
            let rows = (0..6000_u32).map(|row| format!("\x14row {row:>10} of three").into_bytes());
            // A row that is just below a small client's limit, and rows behind it.
            let limit = usize::try_from(packet_len_max).unwrap().clamp(1024, 1 << 20);
            let rows = rows.chain([payload(limit - 8)]).chain((0..50).map(|_| b"\x04tail".to_vec()));
            let reply = result(rows);
            let style = Style::WHOLE;
            converse_with(&mut session, b"\x03select", &reply, &style, &style, packet_len_max as usize);
        });
    }
}
