//! The controllers: what a choice costs beside the frame that it is about, and what is learnt of a server beside its replies.
//!
//! Run: `cargo bench --package wirepress-codec`. Not here: whether its choices are right (`pace::simulation`).

use std::time::Duration;

use codec::Algorithm;
use codec::pace::{
    Allowance, Limits, Look, Next, Pace, PackedFrame, Packing, PackingServer, Replies, Thrift,
};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const MS: Duration = Duration::from_millis(1);

/// A reply that waits for an answer each time: choose, and say what was sent.
#[divan::bench(args = [200, 10_000])]
fn a_reply(bencher: Bencher<'_, '_>, len: usize) {
    let (mut pace, mut replies, mut now) =
        (Pace::new(Algorithm::Zstd, 3), Replies::default(), Duration::ZERO);
    bencher.bench_local(|| {
        now += MS;
        let choice = pace.choose(black_box(len), Next::Unknown, now, &mut replies);
        let packed_len = if choice.level.is_some() { len / 3 } else { len };
        if let Some(level) = choice.level {
            pace.packed(PackedFrame::alone(level, len, packed_len), MS / 100);
        }
        pace.sent(len, packed_len, now, &mut replies);
        choice
    });
}

/// A frame of a scan over a link that is busy: look, choose, and say what became of it.
#[divan::bench]
fn a_frame_of_a_scan(bencher: Bencher<'_, '_>) {
    const LEN: usize = 128 << 10;
    let (mut pace, mut replies, mut now) =
        (Pace::new(Algorithm::Zstd, 3), Replies::default(), Duration::ZERO);
    pace.assume_link(12e6);
    bencher.bench_local(|| {
        now += MS * 5;
        pace.look(Look {
            now,
            queued_len: 100_000,
            unsent_len: 80_000,
            unwritten_len: 0,
            reader_waits: false,
            window_len: 1 << 20,
            round_trip: MS,
            delivered_per_s: 0,
        });
        let choice = pace.choose(black_box(LEN), Next::Follows, now, &mut replies);
        let packed_len = if choice.level.is_some() { LEN / 2 } else { LEN };
        if let Some(level) = choice.level {
            pace.packed(PackedFrame::alone(level, LEN, packed_len), MS / 3);
        }
        pace.sent(LEN, packed_len, now, &mut replies);
        choice
    });
}

/// The same by who wants the fewest bytes within budgets of CPU and time; the levels were tried before.
#[divan::bench]
fn a_frame_within_budgets(bencher: Bencher<'_, '_>) {
    const LEN: usize = 128 << 10;
    let (mut thrift, mut cpu, mut now) =
        (Thrift::new(Algorithm::Zstd, 7), Allowance::new(100), Duration::ZERO);
    bencher.bench_local(|| {
        now += MS * 5;
        thrift.look(&Look {
            now,
            queued_len: 100_000,
            unsent_len: 80_000,
            unwritten_len: 0,
            reader_waits: false,
            window_len: 1 << 20,
            round_trip: MS,
            delivered_per_s: 0,
        });
        let mut limits = Limits { cpu: &mut cpu, now, added_max: MS };
        let choice = thrift.choose(black_box(LEN), now, &mut limits);
        let packed_len = if choice.level.is_some() { LEN / 2 } else { LEN };
        if let Some(level) = choice.level {
            thrift.packed(PackedFrame::alone(level, LEN, packed_len), MS / 3, MS / 3, &mut cpu);
        }
        thrift.sent(packed_len, now);
        choice
    });
}

const POSSIBLE: [Packing; 2] = [(Algorithm::Zstd, 3), (Algorithm::Zstd, 1)];

/// What a server packs with, chosen by what both forms were seen to bring over a slow link.
#[divan::bench]
fn a_login(bencher: Bencher<'_, '_>) {
    let (mut server, mut now) = (PackingServer::default(), MS);
    for (packing, part) in [((Algorithm::Uncompressed, 0), MS * 8), (POSSIBLE[0], MS * 4)] {
        a_reply_of(&mut server, packing, &mut now, [part; 64]);
    }
    bencher.bench_local(|| {
        now += MS / 1000;
        server.choose(black_box(now), 1, &POSSIBLE)
    });
}

/// What is learnt of that from a reply that comes in so many parts.
#[divan::bench(consts = [1, 64])]
fn a_reply_of_a_server<const PARTS: usize>(bencher: Bencher<'_, '_>) {
    let (mut server, mut now) = (PackingServer::default(), MS);
    bencher.bench_local(|| a_reply_of(&mut server, black_box(POSSIBLE[0]), &mut now, [MS; PARTS]));
}

/// A reply whose parts of 64 KiB take so long each.
fn a_reply_of<const PARTS: usize>(
    server: &mut PackingServer,
    packing: Packing,
    now: &mut Duration,
    parts: [Duration; PARTS],
) {
    server.begin(*now, packing);
    for part in parts {
        *now += part;
        server.got(*now, 64 << 10, 32 << 10);
    }
    server.end(*now, packing, false);
}
