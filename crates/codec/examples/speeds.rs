//! Prints how fast each algorithm and level packs frames of 16 and 128 KiB of digits and of text, and at what ratio.
//!
//! The figures behind `plain_bytes_per_ms`, and behind the longer minimum match of zstd's low levels: rows
//! "server" are the libraries' own choice of parameters, as MySQL packs, in frames of 16 KiB; `--fast` is what could be
//! gained by giving up ratio, and "target" the same of our level 1, which keeps its literals packed (Huffman). Run it with
//! `--release`; an argument N does an Nth of it, to see that it runs.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example prints, and fails by panicking")]

use std::num::NonZeroUsize;
use std::time::Instant;

use codec::{Algorithm, Contexts};
use zstd_safe::{CCtx, CParameter, ParamSwitch};

fn main() {
    let part = std::env::args().nth(1).map_or(NonZeroUsize::MIN, |part| part.parse().unwrap());
    let len = (4_usize << 20) / part;
    println!(
        "{:<17} {:>8} {:>12} {:>8} {:>12} {:>8}",
        "", "KiB", "digits MB/s", "ratio", "text MB/s", "ratio"
    );
    for frame_len in [16 << 10, 128 << 10] {
        let data = [digits(len), text(len)];
        for (algorithm, levels) in
            [(Algorithm::Zlib, &[1, 2, 6, 9, 12][..]), (Algorithm::Zstd, &[1, 3, 4, 7, 10, 15, 19][..])]
        {
            for level in levels {
                let mut contexts = Contexts::new();
                let name = format!("{algorithm} {level}");
                row(&name, frame_len, &data, |plain, out| {
                    contexts.compress(algorithm, *level, plain, out).unwrap();
                });
            }
        }
        for (algorithm, level) in [(Algorithm::Zlib, 6), (Algorithm::Zstd, 1), (Algorithm::Zstd, 3)] {
            let mut contexts = Contexts::of_a_server();
            row(&format!("{algorithm} {level} server"), frame_len, &data, |plain, out| {
                contexts.compress(algorithm, level, plain, out).unwrap();
            });
        }
        for level in [-1, -3] {
            row_by(
                &format!("zstd --fast={}", -level),
                frame_len,
                &data,
                &[CParameter::CompressionLevel(level)],
            );
        }
        for target_len in [4, 8, 12, 16] {
            let parameters = [
                CParameter::CompressionLevel(1),
                CParameter::MinMatch(7),
                CParameter::MaxBlockSize(32 << 10),
                CParameter::LiteralCompressionMode(ParamSwitch::Enable),
                CParameter::TargetLength(target_len),
            ];
            row_by(&format!("zstd 1 target {target_len}"), frame_len, &data, &parameters);
        }
    }
}

/// By parameters that no level of ours has.
fn row_by(name: &str, frame_len: usize, data: &[Vec<u8>; 2], parameters: &[CParameter]) {
    let mut context = CCtx::create();
    for parameter in parameters {
        context.set_parameter(*parameter).unwrap();
    }
    let mut room = vec![0; frame_len + 1024];
    row(name, frame_len, data, |plain, out| {
        let len = context.compress2(&mut room[..], plain).unwrap();
        out.extend_from_slice(&room[..len]);
    });
}

fn row(name: &str, frame_len: usize, data: &[Vec<u8>; 2], mut pack: impl FnMut(&[u8], &mut Vec<u8>)) {
    print!("{name:<17} {:>8}", frame_len >> 10);
    for plain in data {
        // Slow levels get less to do; the best of three rounds counts.
        let plain = &plain
            [..if name.ends_with("19") || name.ends_with("15") { plain.len() / 16 } else { plain.len() }];
        let mut best_s = f64::MAX;
        let mut packed_len = 0;
        for _ in 0..3 {
            let begun = Instant::now();
            packed_len = 0;
            for frame in plain.chunks(frame_len) {
                let mut out = Vec::with_capacity(frame.len() + 1024);
                pack(frame, &mut out);
                packed_len += if out.is_empty() { frame.len() } else { out.len() };
            }
            best_s = best_s.min(begun.elapsed().as_secs_f64());
        }
        print!(
            " {:>12.0} {:>8.2}",
            plain.len() as f64 / best_s / 1e6,
            plain.len() as f64 / packed_len as f64
        );
    }
    println!();
}

/// Groups of eleven digits, as sysbench's columns.
fn digits(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..len)
        .map(|at| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if at % 12 == 11 { b'-' } else { b'0' + u8::try_from((state >> 32) % 10).unwrap() }
        })
        .collect()
}

/// Rows of an order table.
fn text(len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 200);
    for n in 0_u64.. {
        let status = ["open", "paid", "shipped", "returned"][usize::try_from(n * 7 % 4).unwrap()];
        out.extend_from_slice(
            format!(
                "order {n}, customer {}, {status}, total {}.{:02} EUR; ",
                n * 7919 % 10_007,
                n * 31 % 999,
                n % 100
            )
            .as_bytes(),
        );
        if out.len() >= len {
            break;
        }
    }
    out.truncate(len);
    out
}
