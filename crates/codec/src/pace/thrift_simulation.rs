//! The controller of cost, simulated: replies of several frames, a link, one core that packs, all as fast as the test says.
//!
//! ```text
//!  reply: the server's time ─▶ frame, frame, frame … each packed or not ─▶ link
//! ```
//! Times are computed frame by frame, without chance.
//! Not here: the controller of latency (`simulation`).

use std::time::Duration;

use super::simulation::{Codec, DIGITS, NOISE, TEXT};
use super::{Allowance, Limits, Look, PackedFrame, Thrift};
use crate::Algorithm;

/// One connection's replies, one after the other.
#[derive(Clone, Copy)]
struct World {
    codecs: [Codec; 3],
    link_bytes_per_s: f64,
    /// Until a reply begins.
    server_s: f64,
    frames: usize,
    level_max: u8,
    cpu_percent: u32,
    p99_percent: f64,
}

const WORLD: World = World {
    codecs: TEXT,
    link_bytes_per_s: 1e9,
    server_s: 1e-3,
    frames: 16,
    level_max: 7,
    cpu_percent: 10_000,
    p99_percent: 1e6,
};
const FRAME: f64 = 131_072.0;

#[derive(Default)]
struct Run {
    time_s: f64,
    cpu_s: f64,
    plain_len: f64,
    wire_len: f64,
    /// Frames by level, stored ones as 0.
    frames: [usize; 8],
    /// The most that was added to a reply, in terms of its time without.
    added_most: f64,
}

impl World {
    fn run(&self, time_s: f64) -> Run {
        let mut thrift = Thrift::new(Algorithm::Zstd, self.level_max);
        let mut cpu = Allowance::new(self.cpu_percent);
        let mut run = Run::default();
        let (mut now, mut link_free) = (0.0_f64, 0.0_f64);
        while now < time_s {
            let begun = now;
            now += self.server_s;
            let mut added_s = 0.0;
            for _ in 0..self.frames {
                let queued = ((link_free - now) * self.link_bytes_per_s).max(0.0);
                let at = Duration::from_secs_f64(now);
                thrift.look(&Look {
                    now: at,
                    queued_len: queued as u64,
                    unsent_len: queued as u64,
                    unwritten_len: 0,
                    reader_waits: false,
                    window_len: 1 << 20,
                    round_trip: Duration::ZERO,
                    delivered_per_s: 0,
                });
                let allowed_s = (now - begun - added_s) * self.p99_percent / 100.0 - added_s;
                let added_max = Duration::from_secs_f64(allowed_s.max(0.0));
                let mut limits = Limits { cpu: &mut cpu, now: at, added_max };
                let choice = thrift.choose(FRAME as usize, at, &mut limits);
                let codec = self.codecs.iter().find(|codec| Some(codec.level) == choice.level);
                run.frames[usize::from(choice.level.unwrap_or_default())] += 1;
                let mut wire = FRAME;
                if let Some(codec) = codec {
                    wire = FRAME / codec.ratio;
                    let took = Duration::from_secs_f64(FRAME / codec.pack);
                    let frame = PackedFrame::alone(codec.level, FRAME as usize, wire as usize);
                    added_s += thrift.packed(frame, took, took, &mut cpu).as_secs_f64();
                    now += took.as_secs_f64();
                    run.cpu_s += took.as_secs_f64();
                }
                thrift.sent(wire as usize, Duration::from_secs_f64(now));
                // The socket takes a quarter of a megabyte before it waits.
                now = now.max(link_free - 262_144.0 / self.link_bytes_per_s);
                link_free = link_free.max(now) + wire / self.link_bytes_per_s;
                run.plain_len += FRAME;
                run.wire_len += wire;
            }
            now = now.max(link_free);
            run.added_most = run.added_most.max(added_s / (now - begun - added_s));
        }
        run.time_s = now;
        run
    }
}

impl Run {
    fn ratio(&self) -> f64 {
        self.plain_len / self.wire_len
    }
}

#[test]
fn with_enough_of_both_budgets_the_level_of_the_fewest_bytes_is_taken_whichever_that_is() {
    for (codecs, best, ratio) in [(TEXT, 7, 3.6), (DIGITS, 1, 2.05)] {
        let run = World { codecs, ..WORLD }.run(10.0);
        assert!(run.frames[best] * 100 > run.frames.iter().sum::<usize>() * 95, "{:?}", run.frames);
        assert!(run.ratio() > ratio * 0.98, "{}", run.ratio());
    }
}

#[test]
fn a_link_that_is_never_the_limit_gets_packed_frames_too() {
    // Latency's controller stores all of it.
    let run = World { link_bytes_per_s: 1e12, cpu_percent: 100, ..WORLD }.run(10.0);
    assert!(run.ratio() > 2.5, "{}", run.ratio());
}

#[test]
fn the_cpu_budget_is_kept_and_spent_where_it_saves_most() {
    for cpu_percent in [1, 5, 20, 50] {
        let run = World { cpu_percent, ..WORLD }.run(20.0);
        let budget_s = f64::from(cpu_percent) / 100.0 * (run.time_s + 1.0);
        assert!(run.cpu_s <= budget_s * 1.02 + 2e-3, "{cpu_percent} %: {} of {budget_s}", run.cpu_s);
        // What the same CPU saves at the level that saves most in a second, at most all there is.
        let most_per_s =
            TEXT.map(|codec| codec.pack * (1.0 - 1.0 / codec.ratio)).into_iter().fold(0.0, f64::max);
        let possible = (budget_s * most_per_s).min(run.plain_len * (1.0 - 1.0 / 3.6));
        let saved = run.plain_len - run.wire_len;
        assert!(saved > possible * 0.75, "{cpu_percent} %: {saved} of {possible}, {:?}", run.frames);
    }
}

#[test]
fn a_scarce_second_goes_to_the_data_that_shrinks_better() {
    // Two connections, one allowance: what each was given.
    let mut cpu = Allowance::new(10);
    let mut pair = [(TEXT, 2.9, 0), (NOISE, 1.06, 0)]
        .map(|(codecs, ratio, packed)| (Thrift::new(Algorithm::Zstd, 1), codecs[0].pack, ratio, packed));
    for frame in 0..20_000_u64 {
        // 1 ms for each: together more than there is.
        let now = Duration::from_micros(frame * 500);
        for (thrift, pack, ratio, packed) in &mut pair {
            let mut limits = Limits { cpu: &mut cpu, now, added_max: Duration::MAX / 4 };
            if let Some(level) = thrift.choose(FRAME as usize, now, &mut limits).level {
                *packed += 1;
                let took = Duration::from_secs_f64(FRAME / *pack);
                let frame = PackedFrame::alone(level, FRAME as usize, (FRAME / *ratio) as usize);
                thrift.packed(frame, took, took, &mut cpu);
            }
        }
    }
    let [(.., text), (.., noise)] = pair;
    assert!(text > 2_000 && noise * 20 < text, "{text} {noise}");
}

#[test]
fn packing_adds_no_more_to_a_reply_than_its_budget() {
    for p99_percent in [0.0, 2.0, 50.0, 200.0] {
        let run = World { link_bytes_per_s: 1e10, p99_percent, ..WORLD }.run(5.0);
        // A level that was never seen is guessed.
        assert!(run.added_most <= p99_percent / 100.0 * 1.02 + 1e-9, "{p99_percent} %: {}", run.added_most);
        // A frame takes a third of a millisecond.
        assert_eq!(run.cpu_s > 0.0, p99_percent >= 50.0, "{p99_percent} %");
    }
    // What a slow link hides adds nothing.
    let hidden = World { link_bytes_per_s: 12.5e6, p99_percent: 0.0, ..WORLD }.run(20.0);
    assert!(hidden.ratio() > 2.0, "{} {:?}", hidden.ratio(), hidden.frames);
}

#[test]
fn what_has_left_the_queue_since_a_look_hides_nothing_and_what_was_sent_since_does() {
    let mut thrift = Thrift::new(Algorithm::Zstd, 1);
    let queued =
        |ms, len| Look { now: Duration::from_millis(ms), queued_len: len, unsent_len: len, ..Look::NOTHING };
    // 10 MB/s, and a level that packs a frame in 1.3 ms.
    thrift.sent(1 << 20, Duration::ZERO);
    thrift.look(&queued(0, 1 << 20));
    thrift.look(&queued(50, (1 << 20) - 500_000));
    let mut cpu = Allowance::new(100);
    for _ in 0..4 {
        let frame = PackedFrame::alone(1, FRAME as usize, FRAME as usize / 3);
        thrift.packed(frame, Duration::from_secs_f64(FRAME / 100e6), Duration::ZERO, &mut cpu);
    }
    let mut level_at = |thrift: &mut Thrift, ms| {
        let now = Duration::from_millis(ms);
        let mut limits = Limits { cpu: &mut cpu, now, added_max: Duration::ZERO };
        thrift.choose(FRAME as usize, now, &mut limits).level
    };
    assert_eq!([51, 2_000].map(|ms| level_at(&mut thrift, ms)), [Some(1), None]);
    thrift.look(&queued(2_000, 0));
    thrift.sent(100_000, Duration::from_millis(2_000));
    assert_eq!([2_001, 2_020].map(|ms| level_at(&mut thrift, ms)), [Some(1), None]);
}

#[test]
fn what_does_not_shrink_is_tried_ever_more_rarely_and_nothing_at_all_without_cpu() {
    let noise = World { codecs: NOISE, ..WORLD }.run(20.0);
    let packed: usize = noise.frames[1..].iter().sum();
    assert!(packed * 200 < noise.frames[0], "{:?}", noise.frames);
    let none = World { cpu_percent: 0, ..WORLD }.run(2.0);
    assert_eq!((none.cpu_s, none.wire_len), (0.0, none.plain_len));
}

#[test]
fn no_level_above_the_highest_is_chosen() {
    for (level_max, levels) in [(1, 1..2), (3, 1..4), (6, 1..4)] {
        let run = World { level_max, ..WORLD }.run(3.0);
        let outside: usize =
            (1..8).filter(|level| !levels.contains(level)).map(|level| run.frames[level]).sum();
        assert!(outside == 0 && run.cpu_s > 0.0, "{level_max}: {:?}", run.frames);
    }
}
