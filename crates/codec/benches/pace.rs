//! The controller: what a choice costs beside the frame that it is about.
//!
//! Run: `cargo bench --package wirepress-codec`. Not here: whether its choices are right (`pace::simulation`).

use std::time::Duration;

use codec::Algorithm;
use codec::pace::{Look, Pace, Replies};
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
        let choice = pace.choose(black_box(len), false, now, &mut replies);
        let packed_len = if choice.level.is_some() { len / 3 } else { len };
        if let Some(level) = choice.level {
            pace.packed(level, len, packed_len, MS / 100);
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
            reader_waits: false,
            window_len: 1 << 20,
            round_trip: MS,
        });
        let choice = pace.choose(black_box(LEN), true, now, &mut replies);
        let packed_len = if choice.level.is_some() { LEN / 2 } else { LEN };
        if let Some(level) = choice.level {
            pace.packed(level, LEN, packed_len, MS / 3);
        }
        pace.sent(LEN, packed_len, now, &mut replies);
        choice
    });
}
