//! Frames, those of a pair too, and the walk over packets: what each costs on the hot path.
//!
//! Run: `cargo bench --package wirepress-wire`. Not here: the relay around it, which needs sockets (`scripts/bench-relay`).

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use codec::{Algorithm, AlgorithmSet, Contexts, ZstdLevel};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use wire::conversation::Conversation;
use wire::pair::{CodecSet, Reader, Writer};
use wire::scanner::{Scanner, Step};
use wire::{Capabilities, Direction, frame, packet};

fn main() {
    divan::main();
}

/// Algorithm, level, plain length: a small reply, and frames of a scan.
const FRAMES: [(Algorithm, u8, usize); 7] = [
    (Algorithm::Uncompressed, 1, 200),
    (Algorithm::Zstd, 1, 200),
    (Algorithm::Zlib, 6, 200),
    (Algorithm::Zstd, 1, 16 << 10),
    (Algorithm::Zstd, 1, 128 << 10),
    (Algorithm::Zstd, 3, 128 << 10),
    (Algorithm::Zlib, 6, 128 << 10),
];

/// Rows of an order table.
fn rows(len: usize) -> Vec<u8> {
    let row = |n: usize| {
        format!(
            "order {n}, customer {}, paid, total {}.{:02} EUR; ",
            n * 7919 % 10_007,
            n * 31 % 999,
            n % 100
        )
    };
    (0..).flat_map(|n| row(n).into_bytes()).take(len).collect()
}

#[divan::bench(args = FRAMES)]
fn encode(bencher: Bencher<'_, '_>, (algorithm, level, len): (Algorithm, u8, usize)) {
    let (plain, mut contexts, mut out) = (rows(len), Contexts::new(), Vec::with_capacity(len + 100));
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        out.clear();
        frame::encode(&mut contexts, algorithm, level, 0, black_box(&plain), &mut out).unwrap()
    });
}

#[divan::bench(args = FRAMES)]
fn decode(bencher: Bencher<'_, '_>, (algorithm, level, len): (Algorithm, u8, usize)) {
    let (mut contexts, mut packed, mut out) = (Contexts::new(), Vec::new(), Vec::with_capacity(len));
    frame::encode(&mut contexts, algorithm, level, 0, &rows(len), &mut packed).unwrap();
    let header = frame::Header::parse(&packed).unwrap();
    let body = packed.split_off(frame::HEADER_LEN);
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        out.clear();
        frame::decode(&mut contexts, algorithm, header, black_box(&body), &mut out).unwrap();
    });
}

/// Algorithm and plain length of a pair's frames, which have history.
const PAIR_FRAMES: [(Algorithm, usize); 4] = [
    (Algorithm::Zstd, 200),
    (Algorithm::Zlib, 200),
    (Algorithm::Zstd, 16 << 10),
    (Algorithm::Zlib, 16 << 10),
];
/// Of different contents, in turn.
const PAIR_REPLIES: usize = 256;

/// Replies that have much in common.
fn replies(len: usize) -> Vec<Vec<u8>> {
    rows(len * PAIR_REPLIES).chunks(len).map(<[u8]>::to_vec).collect()
}

/// A writer that has its history after the first frame, and the reader behind it.
fn pair(algorithm: Algorithm) -> (Writer, Reader) {
    let (mut writer, mut reader) = (Writer::default(), Reader::default());
    let codecs = CodecSet::of(AlgorithmSet::ALL);
    writer.agree(codecs, &[algorithm], ZstdLevel::DEFAULT);
    reader.agree(codecs);
    writer.start_packing();
    (writer, reader)
}

#[divan::bench(args = PAIR_FRAMES)]
fn encode_with_history(bencher: Bencher<'_, '_>, (algorithm, len): (Algorithm, usize)) {
    let (replies, (mut writer, _)) = (replies(len), pair(algorithm));
    let (mut turns, mut out) = ((0..PAIR_REPLIES).cycle(), Vec::with_capacity(len + 100));
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        out.clear();
        let reply = &replies[turns.next().unwrap()];
        writer.write(black_box(reply), &mut out, |_| true).unwrap()
    });
}

#[divan::bench(args = PAIR_FRAMES)]
fn decode_with_history(bencher: Bencher<'_, '_>, (algorithm, len): (Algorithm, usize)) {
    let (mut writer, mut reader) = pair(algorithm);
    let mut stream = Vec::new();
    for reply in replies(len) {
        writer.write(&reply, &mut stream, |_| true).unwrap();
    }
    // Its first frame says that a history begins anew, so it can be read again and again.
    let (mut at, mut plain) = (0, Vec::with_capacity(len));
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        plain.clear();
        let (frame_len, _) = reader.read(black_box(&stream[at..]), &mut plain).unwrap().unwrap();
        at = (at + frame_len) % stream.len();
    });
}

/// Walks over all packets of `bytes`, as the relay does; says how far that goes.
fn walk(scanner: &mut Scanner, conversation: &mut Conversation, bytes: &mut [u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        at += conversation.pass_rows(&mut bytes[at..], usize::MAX).len;
        let Step::Begin { .. } = scanner.begin(&mut bytes[at..], conversation).unwrap() else { break };
        at += scanner.skip(bytes.len() - at).0;
    }
    at
}

/// A statement, and a result of one column and so many rows.
#[divan::bench(args = [1, 100, 10_000])]
fn walk_over_a_statement_and_its_result(bencher: Bencher<'_, '_>, rows: usize) {
    let mut statement = Vec::new();
    packet::split(b"\x03SELECT c FROM sbtest1 WHERE id=4711", 0, &mut statement);
    let mut reply = Vec::new();
    let mut id = 1_u8;
    let mut append = |payload: &[u8]| {
        packet::split(payload, id, &mut reply);
        id = id.wrapping_add(1);
    };
    append(&[1]);
    append(b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c\xff\0\xe0\x01\0\0\xfe\x01\0\0\0\0");
    for _ in 0..rows {
        append(&[b"\x78".as_slice(), &[b'5'; 120]].concat());
    }
    append(&[0xfe, 0, 0, 2, 0, 0, 0]);

    let agreed = Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF | Capabilities::TRANSACTIONS;
    let mut conversation = Conversation::new(agreed, false);
    let (mut to_server, mut to_client) =
        (Scanner::new(Direction::ToServer), Scanner::new(Direction::ToClient));
    bencher.counter(BytesCount::new(reply.len())).bench_local(|| {
        assert_eq!(walk(&mut to_server, &mut conversation, &mut statement), statement.len());
        assert_eq!(walk(&mut to_client, &mut conversation, &mut reply), reply.len());
        assert_eq!(conversation.in_flight(), 0);
    });
}
