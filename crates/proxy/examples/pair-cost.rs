//! CPU and bytes of small replies: as frames of a pair, with history, and as frames of the standard protocol.
//!
//! `cargo run -p wirepress-proxy --example pair-cost` prints the table of `docs/pair.md`. Both forms are packed and
//! unpacked on this thread, alternating; of each the fastest of several rounds counts. An argument N does an Nth of them, to
//! see that it runs.
//! Not here: sockets, real servers (the test `live::pair::bytes`).

use std::num::{NonZeroUsize, ParseIntError};
use std::time::{Duration, Instant};

use codec::{Algorithm, AlgorithmSet, Contexts, ZstdLevel};
use lab::generate::sysbench_row;
use wire::pair::{CodecSet, Reader, Writer};
use wire::write_lenenc_bytes;

fn main() -> Result<(), ParseIntError> {
    let part = std::env::args().nth(1).map_or(Ok(NonZeroUsize::MIN), |part| part.parse())?;
    println!("replies of    | form           | bytes each | pack, µs each | unpack, µs each");
    for (name, replies) in [("point select", point_selects()), ("ORM row", orm_rows())] {
        let forms: [(&str, Run); 4] = [
            ("zstd 3 frames", |replies| standard(Algorithm::Zstd, replies)),
            ("zlib frames", |replies| standard(Algorithm::Zlib, replies)),
            ("pair, zstd", |replies| pair(Algorithm::Zstd, replies)),
            ("pair, deflate", |replies| pair(Algorithm::Zlib, replies)),
        ];
        let mut best = forms.map(|_| (0, Duration::MAX, Duration::MAX));
        for _ in 0..(ROUNDS / part).max(1) {
            for (best, (_, run)) in best.iter_mut().zip(&forms) {
                let (len, pack, unpack) = run(&replies);
                *best = (len, best.1.min(pack), best.2.min(unpack));
            }
        }
        for ((form, _), (len, pack, unpack)) in forms.iter().zip(best) {
            let each = |time: Duration| time.as_secs_f64() * 1e6 / replies.len() as f64;
            println!(
                "{name:<13} | {form:<14} | {:>10.1} | {:>13.2} | {:>15.2}",
                len as f64 / replies.len() as f64,
                each(pack),
                each(unpack)
            );
        }
    }
    Ok(())
}

/// Bytes on the wire, time to pack, time to unpack.
type Run = fn(&[Vec<u8>]) -> (usize, Duration, Duration);

fn standard(algorithm: Algorithm, replies: &[Vec<u8>]) -> (usize, Duration, Duration) {
    let mut contexts = Contexts::new();
    let level = if algorithm == Algorithm::Zstd { 3 } else { 1 };
    let mut frames = Vec::new();
    let begun = Instant::now();
    for reply in replies {
        let mut body = Vec::new();
        let is_packed = contexts.compress(algorithm, level, reply, &mut body).unwrap_or(false);
        frames.push((is_packed, if is_packed { body } else { reply.clone() }));
    }
    let pack = begun.elapsed();
    let begun = Instant::now();
    for ((is_packed, body), reply) in frames.iter().zip(replies) {
        let mut plain = Vec::new();
        if *is_packed {
            contexts.decompress(algorithm, body, reply.len(), &mut plain).map(drop).unwrap_or_default();
            assert_eq!(&plain, reply);
        }
    }
    (frames.iter().map(|(_, body)| body.len() + FRAME_HEADER_LEN).sum(), pack, begun.elapsed())
}

fn pair(algorithm: Algorithm, replies: &[Vec<u8>]) -> (usize, Duration, Duration) {
    let (mut writer, mut reader) = (Writer::default(), Reader::default());
    let codecs = CodecSet::of(AlgorithmSet::ALL);
    writer.agree(codecs, &[algorithm], ZstdLevel::DEFAULT);
    reader.agree(codecs);
    writer.start_packing();
    let mut stream = Vec::new();
    let begun = Instant::now();
    for reply in replies {
        writer.write(reply, &mut stream, |_| true).map(drop).unwrap_or_default();
    }
    let pack = begun.elapsed();
    let begun = Instant::now();
    let mut rest = &stream[..];
    for reply in replies {
        let mut plain = Vec::new();
        if let Ok(Some((len, _))) = reader.read(rest, &mut plain) {
            rest = &rest[len..];
        }
        assert_eq!(&plain, reply);
    }
    (stream.len(), pack, begun.elapsed())
}

fn packet(id: u8, payload: &[u8], reply: &mut Vec<u8>) {
    wire::packet::split(payload, id, reply);
}

/// Column count, definitions, a row, OK: as MySQL 9.7 sends them.
fn reply(table: &str, columns: &[&str], values: &[String]) -> Vec<u8> {
    let mut reply = Vec::new();
    packet(1, &[u8::try_from(columns.len()).unwrap_or_default()], &mut reply);
    let mut id = 2;
    for column in columns {
        let mut definition = Vec::new();
        for text in ["def", "sbtest", table, table, column, column] {
            write_lenenc_bytes(&mut definition, text.as_bytes());
        }
        definition.extend_from_slice(&[0x0c, 0xff, 0, 0xe0, 1, 0, 0, 0xfe, 0, 0, 0, 0, 0]);
        packet(id, &definition, &mut reply);
        id += 1;
    }
    let mut row = Vec::new();
    for value in values {
        write_lenenc_bytes(&mut row, value.as_bytes());
    }
    packet(id, &row, &mut reply);
    packet(id + 1, &[0xfe, 0, 0, 2, 0, 0, 0], &mut reply);
    reply
}

fn point_selects() -> Vec<Vec<u8>> {
    (0..REPLIES)
        .map(|turn| reply("sbtest1", &["c"], &[sysbench_row(1, turn * 7919 % 100_000, 100_000).c]))
        .collect()
}

fn orm_rows() -> Vec<Vec<u8>> {
    let columns =
        ["id", "tenant_id", "email", "first_name", "last_name", "status", "created_at", "updated_at"];
    let row = |turn: u32| {
        let id = turn * 7919 % 100_000;
        let name = ["anna", "bert", "chris", "dora", "emil", "frieda", "gustav"][id as usize % 7];
        [
            id.to_string(),
            (id % 10).to_string(),
            format!("{name}.{}@example.com", id * 31 % 10_007),
            name.to_owned(),
            format!("Miller{}", id % 97),
            "active".to_owned(),
            format!("2026-01-{:02} {:02}:{:02}:{:02}", id % 28 + 1, id % 24, id % 60, id * 7 % 60),
            format!(
                "2026-11-{:02} {:02}:{:02}:{:02}",
                id * 3 % 28 + 1,
                id * 5 % 24,
                id * 7 % 60,
                id * 11 % 60
            ),
        ]
    };
    (0..REPLIES).map(|turn| reply("users", &columns, &row(turn))).collect()
}

const REPLIES: u32 = 5000;
const ROUNDS: usize = 9;
const FRAME_HEADER_LEN: usize = 7;
