//! The tap's own thread: packs and unpacks sampled frames by each codec, within a budget of CPU time.
//!
//! ```text
//!  frame ─┬─▶ in pieces, as a server packs ─┐
//!         └─▶ whole, as wirepress does     ─┴─▶ each codec: lengths, CPU time ─▶ wiped
//! ```
//! Invariants: nothing is kept but sums; after a second or so, its CPU time is at most [`BUDGET`] of the run's time, but for
//! the frames that are held.
//! Not here: which bytes are sampled (`relay::watch`).

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use codec::{ADVISED, Contexts};
use rustix::time::{ClockId, clock_gettime};
use wire::frame;
use wire::limits::SHARED_FRAME_LEN_UNKNOWN;
use zeroize::Zeroizing;

use super::{FRAME_LEN, Run, Sample, TapCodec};
use crate::worker::Shared;

/// Packs until the run is over, or the proxy is gone.
pub(super) fn pack(run: &Run, samples: &Receiver<Sample>, shared: &Weak<Shared>) {
    let cpu_before = cpu();
    let mut bench = Bench::new();
    let mut rate = Rate { at: Instant::now(), lens: None };
    while let Some(left) = run.left() {
        match samples.recv_timeout(left.min(TICK)) {
            Ok(sample) => {
                bench.pack(&sample.bytes);
                drop(sample);
                run.known().codecs.clone_from(&bench.codecs);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // A run holds an end itself.
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(shared) = shared.upgrade() else { return };
        rate.look(run, &shared);
        let used = cpu().saturating_sub(cpu_before);
        run.is_pausing.store(used > run.age().mul_f64(BUDGET) + CREDIT, Ordering::Relaxed);
        run.known().cpu = used;
    }
}

/// The codecs, and what they made of everything so far.
struct Bench {
    wirepress: Contexts,
    server: Contexts,
    codecs: Vec<TapCodec>,
    packed: Zeroizing<Vec<u8>>,
    plain: Zeroizing<Vec<u8>>,
}

impl Bench {
    fn new() -> Self {
        let codec = |frame_len_max| {
            move |(algorithm, level)| TapCodec {
                frame_len_max,
                algorithm,
                level,
                frames: 0,
                plain_len: 0,
                packed_len: 0,
                pack: Duration::ZERO,
                unpack: Duration::ZERO,
            }
        };
        let codecs = [SHARED_FRAME_LEN_UNKNOWN, FRAME_LEN].map(|len| ADVISED.map(codec(len)));
        Self {
            wirepress: Contexts::new(),
            server: Contexts::of_a_server(),
            codecs: codecs.concat(),
            packed: Zeroizing::new(Vec::with_capacity(2 * FRAME_LEN)),
            plain: Zeroizing::new(Vec::with_capacity(FRAME_LEN)),
        }
    }

    fn pack(&mut self, plain: &[u8]) {
        let mut codecs = std::mem::take(&mut self.codecs);
        for codec in &mut codecs {
            if codec.frames == 0 {
                // The first time makes contexts and touches memory.
                self.once(*codec, plain);
            }
            // A codec does not fail on what it has packed itself; if it did, it would have no sums.
            *codec = self.once(*codec, plain).unwrap_or(*codec);
        }
        self.codecs = codecs;
    }

    /// The sums with this frame.
    fn once(&mut self, mut codec: TapCodec, plain: &[u8]) -> Option<TapCodec> {
        let is_whole = codec.frame_len_max == FRAME_LEN;
        let contexts = if is_whole { &mut self.wirepress } else { &mut self.server };
        self.packed.clear();
        let begin = cpu();
        for piece in plain.chunks(codec.frame_len_max) {
            frame::encode(contexts, codec.algorithm, codec.level, 0, piece, &mut self.packed).ok()?;
            codec.frames += 1;
        }
        let middle = cpu();
        let mut rest = self.packed.as_slice();
        while let Some((header, behind)) = frame::Header::parse(rest).zip(rest.get(frame::HEADER_LEN..)) {
            let (body, next) = behind.split_at_checked(header.packed_len)?;
            self.plain.clear();
            frame::decode(contexts, codec.algorithm, header, body, &mut self.plain).ok()?;
            rest = next;
        }
        codec.unpack += cpu().saturating_sub(middle);
        codec.pack += middle.saturating_sub(begin);
        codec.plain_len += plain.len() as u64;
        codec.packed_len += self.packed.len() as u64;
        Some(codec)
    }
}

/// What all sessions carried towards clients.
struct Rate {
    at: Instant,
    /// To clients, from servers.
    lens: Option<[u64; 2]>,
}

impl Rate {
    fn look(&mut self, run: &Run, shared: &Shared) {
        let time = self.at.elapsed();
        if self.lens.is_some() && time < TICK {
            return;
        }
        let mut lens = [0u64; 2];
        for sum in shared.registry.sums().values() {
            let [_, to_client] = sum.traffic;
            let carried = [to_client.client_leg_len, to_client.server_leg_len];
            lens.iter_mut().zip(carried).for_each(|(len, more)| *len += more);
        }
        if let Some(before) = self.lens.replace(lens) {
            let mut rates = [0.0; 2];
            for (rate, (now, before)) in rates.iter_mut().zip(lens.into_iter().zip(before)) {
                let len = u32::try_from(now.saturating_sub(before)).unwrap_or(u32::MAX);
                *rate = f64::from(len) / time.as_secs_f64();
            }
            run.tell_rates(rates);
        }
        self.at = Instant::now();
        let open = shared.counters.sessions_open();
        let mut known = run.known();
        known.sessions_at_once = known.sessions_at_once.max(open);
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}

/// What packing may take of one core.
const BUDGET: f64 = 0.05;
/// Before anything was earned.
const CREDIT: Duration = Duration::from_millis(30);
/// Long against what a socket's buffer hands over at once.
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_repeat_shrink_and_noise_does_not() {
        let text = b"the link carries what the server sends ".repeat(3000);
        let noise = lab::generate::blob(1, 1, 100_000);
        for (plain, ratio) in [(text, 20.0..1e6), (noise, 0.99..1.0)] {
            let mut bench = Bench::new();
            bench.pack(&plain);
            bench.pack(&plain);
            assert_eq!(bench.codecs.len(), 2 * ADVISED.len());
            for codec in &bench.codecs {
                assert_eq!(codec.plain_len, 2 * plain.len() as u64);
                assert_eq!(codec.frames, 2 * plain.len().div_ceil(codec.frame_len_max) as u64);
                let found = f64::from(u32::try_from(codec.plain_len).unwrap())
                    / f64::from(u32::try_from(codec.packed_len).unwrap());
                assert!(ratio.contains(&found), "{codec:?}");
                assert!(codec.pack > Duration::ZERO && codec.unpack > Duration::ZERO, "{codec:?}");
            }
        }
    }
}
