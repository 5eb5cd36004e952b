//! A transfer, simulated: source, controller, socket, link, reader, each as fast as the test says.
//!
//! ```text
//!  source ─▶ pack ─▶ │ socket: at most LOWAT unsent │ ─▶ link ─▶ │ reader's buffer │ ─▶ unpack, read
//!           one thread                                             its own thread
//! ```
//! Times are computed frame by frame, without chance; the fixed settings run through the same.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Choice, Look, Next, Pace, PackedFrame, Reason, Replies};
use crate::Algorithm;

/// What a level does to the data.
#[derive(Clone, Copy)]
pub(super) struct Codec {
    pub(super) level: u8,
    pub(super) pack: f64,
    pub(super) ratio: f64,
    unpack: f64,
}

/// MB/s and ratios of facts that were measured (`examples/speeds.rs`).
pub(super) const DIGITS: [Codec; 3] = [
    Codec { level: 1, pack: 400e6, ratio: 2.05, unpack: 1500e6 },
    Codec { level: 3, pack: 100e6, ratio: 1.97, unpack: 700e6 },
    Codec { level: 7, pack: 41e6, ratio: 1.98, unpack: 600e6 },
];
pub(super) const TEXT: [Codec; 3] = [
    Codec { level: 1, pack: 350e6, ratio: 2.9, unpack: 1000e6 },
    Codec { level: 3, pack: 220e6, ratio: 3.3, unpack: 1000e6 },
    Codec { level: 7, pack: 70e6, ratio: 3.6, unpack: 1000e6 },
];
const WIDE: [Codec; 3] = [
    Codec { level: 1, pack: 1500e6, ratio: 60.0, unpack: 3000e6 },
    Codec { level: 3, pack: 1400e6, ratio: 70.0, unpack: 3000e6 },
    Codec { level: 7, pack: 700e6, ratio: 80.0, unpack: 3000e6 },
];
pub(super) const NOISE: [Codec; 3] = [
    Codec { level: 1, pack: 900e6, ratio: 1.0, unpack: 3000e6 },
    Codec { level: 3, pack: 700e6, ratio: 1.0, unpack: 3000e6 },
    Codec { level: 7, pack: 300e6, ratio: 1.0, unpack: 3000e6 },
];

/// Rows of 64,000 bytes that repeat 32 (`zstd -b1 -B64KB`).
const EQUAL: [Codec; 3] = [
    Codec { level: 1, pack: 6000e6, ratio: 500.0, unpack: 6000e6 },
    Codec { level: 3, pack: 5000e6, ratio: 600.0, unpack: 6000e6 },
    Codec { level: 7, pack: 3000e6, ratio: 700.0, unpack: 6000e6 },
];

#[derive(Clone, Copy)]
struct World {
    codecs: [Codec; 3],
    /// Wire bytes per second, from each of these times on.
    link: &'static [(f64, f64)],
    /// Bytes that may wait in the network, behind which they wait in the socket.
    network: f64,
    /// Plain bytes per second that the reader reads, besides unpacking.
    reader: f64,
    /// What it takes to copy a byte into the socket, besides.
    socket_s: f64,
    total: f64,
}

const FRAME: f64 = 131_072.0;
const LOWAT: f64 = 262_144.0;
/// How fast a stored frame gets through the proxy.
const COPY: f64 = 3e9;
/// What is acknowledged at once.
const ROUND_TRIP: Duration = Duration::from_micros(100);
const READER_BUFFER: f64 = 2e6;

/// Who decides.
enum Setting {
    Fixed(Option<u8>),
    Paced(Box<Pace>),
}

struct Run {
    time_s: f64,
    reasons: Vec<Reason>,
    /// Time at which each frame was handed over, and whether it was packed.
    frames: Vec<(f64, bool)>,
}

/// A frame that has left the proxy: when it has crossed the link, and when it was read.
struct Sent {
    wire: f64,
    arrived: f64,
    read: f64,
}

/// Everything behind the proxy.
struct Way<'a> {
    world: &'a World,
    sent: VecDeque<Sent>,
    link_free: f64,
    reader_free: f64,
    /// Time in which the window was closed, in terms of all: as the kernel counts it.
    waiting: f64,
}

impl Way<'_> {
    fn link_rate(&self, time: f64) -> f64 {
        let link = self.world.link.iter().rev().find(|(from, _)| *from <= time);
        link.map_or(f64::INFINITY, |(_, rate)| *rate)
    }

    /// Bytes that have not crossed the link.
    fn queued(&self, now: f64) -> f64 {
        let left = |one: &Sent| {
            let rate = self.link_rate(one.arrived);
            ((one.arrived - now) * rate).clamp(0.0, one.wire)
        };
        // All of them are behind what has arrived.
        self.sent.iter().rev().take_while(|one| one.arrived > now).map(left).sum()
    }

    /// Those of them that are not on their way.
    fn unsent(&self, now: f64) -> f64 {
        (self.queued(now) - self.world.network).max(0.0)
    }

    /// Bytes of the receiver's buffer that hold something, or will.
    fn buffered(&self, at: f64) -> f64 {
        self.sent.iter().rev().take_while(|one| one.read > at).map(|one| one.wire).sum()
    }

    fn look(&self, now: f64) -> Look {
        let queued_len = self.queued(now) as u64;
        let held =
            self.sent.iter().rev().skip_while(|one| one.arrived > now).take_while(|one| now < one.read);
        Look {
            now: Duration::from_secs_f64(now),
            queued_len,
            unsent_len: self.unsent(now) as u64,
            unwritten_len: 0,
            reader_waits: self.waiting > 0.2,
            round_trip: ROUND_TRIP,
            delivered_per_s: 0,
            window_len: (READER_BUFFER - held.map(|one| one.wire).sum::<f64>()).max(0.0) as u64,
        }
    }

    /// When the socket takes another frame: while less than LOWAT is unsent.
    fn writable(&mut self, mut now: f64) -> f64 {
        while self.unsent(now) >= LOWAT {
            let next = self.sent.iter().rev().take_while(|one| one.arrived > now).last();
            let next = next.map_or(now, |one| one.arrived);
            let step = ((self.unsent(now) - LOWAT) / self.link_rate(next)).max(1e-6);
            now += step.min((next - now).max(1e-6));
        }
        while self.sent.front().is_some_and(|one| one.read < now) {
            self.sent.pop_front();
        }
        now
    }

    /// A frame that takes the reader so long is handed over.
    fn send(&mut self, now: f64, wire: f64, reading_s: f64) {
        let ready = now.max(self.link_free);
        let mut begin = ready;
        while self.buffered(begin) + wire > READER_BUFFER {
            let next = self.sent.iter().rev().take_while(|one| one.read > begin).last();
            begin = next.map_or(f64::INFINITY, |one| one.read);
        }
        let arrived = begin + wire / self.link_rate(begin);
        self.waiting += ((begin - ready) / (arrived - ready) - self.waiting) * 0.2;
        self.link_free = arrived;
        self.reader_free = self.reader_free.max(arrived) + reading_s;
        self.sent.push_back(Sent { wire, arrived, read: self.reader_free });
    }
}

fn run(world: World, mut setting: Setting) -> Run {
    let mut way =
        Way { world: &world, sent: VecDeque::new(), link_free: 0.0, reader_free: 0.0, waiting: 0.0 };
    let (mut reasons, mut frames) = (Vec::new(), Vec::new());
    let (mut now, mut moved) = (0.0, 0.0);
    while moved < world.total {
        now = way.writable(now);
        let frame = match &setting {
            Setting::Fixed(_) => FRAME,
            Setting::Paced(pace) => FRAME.min(pace.room().frame_len as f64),
        };
        let choice = match &mut setting {
            Setting::Fixed(level) => Choice { level: *level, reason: Reason::Faster },
            Setting::Paced(pace) => {
                pace.look(way.look(now));
                pace.choose(
                    frame as usize,
                    Next::Follows,
                    Duration::from_secs_f64(now),
                    &mut Replies::default(),
                )
            }
        };
        now += frame / COPY;
        let (mut wire, mut reading_s) = (frame, frame / world.reader);
        if let Some(codec) = world.codecs.iter().find(|codec| Some(codec.level) == choice.level) {
            let took = frame / codec.pack;
            now += took;
            if codec.ratio > 1.001 {
                wire = frame / codec.ratio;
                reading_s += frame / codec.unpack;
            }
            if let Setting::Paced(pace) = &mut setting {
                let frame = PackedFrame::alone(codec.level, frame as usize, wire as usize);
                pace.packed(frame, Duration::from_secs_f64(took));
            }
        }
        now += wire * world.socket_s;
        if let Setting::Paced(pace) = &mut setting {
            pace.look(way.look(now));
            pace.sent(frame as usize, wire as usize, Duration::from_secs_f64(now), &mut Replies::default());
        }
        reasons.push(choice.reason);
        frames.push((now, wire < frame));
        way.send(now, wire, reading_s);
        moved += frame;
    }
    Run { time_s: way.reader_free, reasons, frames }
}

impl Run {
    fn reasons(&self) -> String {
        let mut counts = std::collections::BTreeMap::new();
        for reason in &self.reasons {
            *counts.entry(*reason).or_insert(0) += 1;
        }
        format!("{counts:?}, {} packed", self.frames.iter().filter(|(_, is_packed)| *is_packed).count())
    }
}

fn paced(link_bytes_per_s: Option<f64>) -> Setting {
    paced_by(Pace::new(Algorithm::Zstd, 22), link_bytes_per_s)
}

fn encrypted() -> Setting {
    paced_by(Pace::new(Algorithm::Zstd, 22).over_tls(), None)
}

fn paced_by(mut pace: Pace, link_bytes_per_s: Option<f64>) -> Setting {
    if let Some(rate) = link_bytes_per_s {
        pace.assume_link(rate);
    }
    Setting::Paced(Box::new(pace))
}

const LINKS: [&[(f64, f64)]; 10] = [
    &[(0.0, 1.25e6)],
    &[(0.0, 12.5e6)],
    &[(0.0, 40e6)],
    &[(0.0, 125e6)],
    &[(0.0, 200e6)],
    &[(0.0, 300e6)],
    &[(0.0, 450e6)],
    &[(0.0, 700e6)],
    &[(0.0, 1500e6)],
    &[(0.0, 1e12)],
];

#[test]
fn a_transfer_is_never_slower_and_as_fast_as_the_best_fixed_setting() {
    transfers(|| Pace::new(Algorithm::Zstd, 22), Start::Known, 2);
}

#[test]
fn nor_is_one_of_a_fresh_connection_slower_that_knows_nothing_of_its_link() {
    // Wide rows over slow links: what is sent before anything is known.
    transfers(|| Pace::new(Algorithm::Zstd, 22), Start::Fresh, 10);
}

#[test]
fn what_packs_faster_than_it_is_encrypted_is_packed_from_the_first_frames_on_over_any_link() {
    for link in LINKS {
        let world = World { socket_s: 1.0 / 0.7e9, ..world(EQUAL, link, 4e6) };
        let (none, own) = (run(world, Setting::Fixed(None)), run(world, encrypted()));
        assert!(own.time_s < none.time_s * 0.8, "{link:?}: {} {}", own.time_s, none.time_s);
        assert!(own.frames.iter().all(|(_, is_packed)| *is_packed), "{link:?}: {}", own.reasons());
    }
}

#[test]
fn what_does_not_costs_a_fresh_connection_one_frame_over_a_link_without_limit() {
    for codecs in [EQUAL, DIGITS, TEXT, NOISE] {
        let world = World { socket_s: 1.0 / 5e9, ..world(codecs, LINKS[9], 10e6) };
        let (none, own) = (run(world, Setting::Fixed(None)), run(world, paced(None)));
        assert!(own.time_s < none.time_s * 1.02, "{} {}, {}", own.time_s, none.time_s, own.reasons());
        let (first, others) = own.reasons.split_first().unwrap();
        assert_eq!(*first, Reason::TriesLevel);
        // Equal rows are no slower packed, so a megabyte that left no queue is no reason to send them stored.
        let is_equal = codecs[0].ratio == EQUAL[0].ratio;
        let is_expected =
            |reason: &Reason| *reason == Reason::LinkNotSeen || (is_equal && *reason == Reason::Faster);
        assert!(others.iter().all(is_expected), "{}", own.reasons());
    }
}

fn world(codecs: [Codec; 3], link: &'static [(f64, f64)], total: f64) -> World {
    World { codecs, link, network: 0.0, reader: 1e12, socket_s: 0.0, total }
}

#[test]
fn nor_is_one_whose_frames_have_history_and_all_the_same_level() {
    transfers(|| Pace::with_history(Algorithm::Zstd, 7), Start::Known, 2);
}

/// Whether a connection knows the rate of its link.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    Known,
    Fresh,
}

/// Of 120 at most `far_max` are not as fast as the best fixed setting.
fn transfers(pace: fn() -> Pace, start: Start, far_max: u32) {
    let mut told = String::new();
    let (mut slower, mut far) = (0, 0);
    for (name, codecs) in [("digits", DIGITS), ("text", TEXT), ("wide", WIDE), ("noise", NOISE)] {
        for link in LINKS {
            for reader in [1e12, 600e6, 150e6] {
                let rate = link[0].1.min(reader).min(2e9);
                // A second of it: a scan, and its beginning counts.
                let world = World { reader, ..world(codecs, link, rate.max(20e6)) };
                let none = run(world, Setting::Fixed(None)).time_s;
                let best = [1, 3, 7].map(|level| run(world, Setting::Fixed(Some(level))).time_s);
                let best = best.into_iter().fold(none, f64::min);
                let known = (start == Start::Known).then_some(link[0].1);
                let own = run(world, paced_by(pace(), known));
                let (to_none, to_best) = (own.time_s / none, own.time_s / best);
                slower += u32::from(to_none > 1.03);
                far += u32::from(to_best > 1.05);
                let mark = match () {
                    () if to_none > 1.03 => "SLOWER",
                    () if to_best > 1.05 => "FAR",
                    () => "",
                };
                let (link, reader) = (link[0].1 / 1e6, reader / 1e6);
                told += &format!(
                    "{name:6} link {link:>9.2} MB/s, reader {reader:>9.0}: best/none {:5.3} own/none {to_none:5.3} \
                     own/best {to_best:5.3} {mark:6} {}\n",
                    best / none,
                    own.reasons()
                );
            }
        }
    }
    assert_eq!(slower, 0, "{told}");
    assert!(far <= far_max, "{far} of 120\n{told}");
}

/// Part of the frames that were packed between two moments.
fn packed_part(run: &Run, from_s: f64, to_s: f64) -> f64 {
    let frames: Vec<bool> =
        run.frames.iter().filter(|(at, _)| (from_s..to_s).contains(at)).map(|(_, packed)| *packed).collect();
    assert!(frames.len() > 20, "{}", frames.len());
    frames.iter().filter(|packed| **packed).count() as f64 / frames.len() as f64
}

#[test]
fn a_link_that_becomes_slow_and_fast_again_is_followed_within_half_a_second() {
    const STEPS: &[(f64, f64)] = &[(0.0, 1e12), (0.3, 12.5e6), (2.3, 1e12)];
    let world = world(TEXT, STEPS, 3e9);
    let own = run(world, paced(None));
    // Its first frame was tried.
    assert!(packed_part(&own, 0.0, 0.3) < 1e-3, "{}", own.reasons());
    assert!(packed_part(&own, 0.5, 2.2) > 0.97, "{}", own.reasons());
    assert!(packed_part(&own, 2.6, 3.0) < 0.02, "{}", own.reasons());
}

#[test]
fn bytes_that_wait_in_the_network_keep_the_link_busy_as_those_in_the_socket_do() {
    for network in [200e3, 500e3, 2e6] {
        let world = World { network, ..world(TEXT, &[(0.0, 12.5e6)], 100e6) };
        let best = [1, 3, 7].map(|level| run(world, Setting::Fixed(Some(level))).time_s);
        let best = best.into_iter().fold(f64::INFINITY, f64::min);
        let own = run(world, paced(Some(12.5e6)));
        assert!(own.time_s < best * 1.05, "{network}: {} {best}, {}", own.time_s, own.reasons());
    }
}

#[test]
fn where_link_and_cpu_cross_frames_of_both_forms_are_faster_than_either() {
    let world = world(DIGITS, &[(0.0, 400e6)], 400e6);
    let none = run(world, Setting::Fixed(None)).time_s;
    let packed = run(world, Setting::Fixed(Some(1))).time_s;
    assert!((packed / none - 1.0).abs() < 0.15, "no crossing: {none} {packed}");
    let own = run(world, paced(None)).time_s;
    assert!(own < 0.9 * none.min(packed), "{own} {none} {packed}");
}
