//! One run of the tap: what sessions tell it, and what it knows.
//!
//! Invariants: a session neither waits for a lock of this nor for room: what doesn't fit is not told; frames are wiped when
//! they are dropped, wherever that is.
//! Not here: packing (`packing`), sessions (`relay::watch`).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codec::Algorithm;
use wire::{Capabilities, Side};
use zeroize::Zeroizing;

use super::{FRAME_LEN, FRAMES_MAX, TapCodec, TapCounts, TapExchange, TapState, TapWay};

/// A run.
pub(crate) struct Run {
    number: u64,
    begun: Instant,
    time: Duration,
    is_over: AtomicBool,
    /// The budget is used up for now.
    pub(super) is_pausing: AtomicBool,
    /// Frames that may be held besides those that are.
    free: AtomicUsize,
    samples: Sender<Sample>,
    known: Mutex<Known>,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct Known {
    counts: TapCounts,
    ways: [TapWay; 2],
    server_capabilities: Option<Capabilities>,
    server: String,
    exchanges: Vec<TapExchange>,
    random: u64,
    pub(super) codecs: Vec<TapCodec>,
    pub(super) cpu: Duration,
    pub(super) sessions_at_once: u64,
    looked: Duration,
}

/// A frame's bytes on their way to be packed, wiped when this is dropped.
pub(crate) struct Sample {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    run: Arc<Run>,
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.run.free.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a session is, for the run.
pub(crate) struct Joined {
    pub(crate) server: String,
    pub(crate) server_capabilities: Capabilities,
    /// Of the server's leg.
    pub(crate) algorithm: Algorithm,
    pub(crate) level: u8,
    /// Client's, server's: round trip, and whether the peer is on this host.
    pub(crate) legs: [(Option<Duration>, bool); 2],
}

impl Run {
    /// It begins now.
    pub(super) fn begin(number: u64, time: Duration) -> (Self, Receiver<Sample>) {
        let (samples, receiver) = channel();
        let known = Known {
            ways: [Side::Client, Side::Server].map(|side| TapWay { side, ..TapWay::default() }),
            ..Known::default()
        };
        let run = Self {
            number,
            begun: Instant::now(),
            time,
            is_over: AtomicBool::new(false),
            is_pausing: AtomicBool::new(false),
            free: AtomicUsize::new(FRAMES_MAX),
            samples,
            known: Mutex::new(known),
        };
        (run, receiver)
    }

    /// Which one.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// How long until it ends by itself; `None` when it is over.
    pub(crate) fn left(&self) -> Option<Duration> {
        let left = self.time.saturating_sub(self.begun.elapsed());
        (!self.is_over.load(Ordering::Relaxed) && !left.is_zero()).then_some(left)
    }

    /// It is over.
    pub(super) fn end(&self) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            self.known().looked = self.begun.elapsed().min(self.time);
        }
    }

    /// For how long it has run.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Room for a frame; none while the budget is used up.
    pub(crate) fn claim(self: &Arc<Self>) -> Option<Sample> {
        if self.is_pausing.load(Ordering::Relaxed) || self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let less = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        // All of it at once: what a growing vector leaves behind would not be wiped.
        Some(Sample { bytes: Zeroizing::new(Vec::with_capacity(FRAME_LEN)), run: Arc::clone(self) })
    }

    /// A frame is complete.
    pub(crate) fn offer(&self, sample: Sample) {
        // Nobody receives any more: the run is over.
        drop(self.samples.send(sample));
    }

    /// A session takes part.
    pub(crate) fn join(&self, joined: Joined) {
        let mut known = self.known();
        known.counts.sessions += 1;
        known.counts.packed += u64::from(joined.algorithm.is_framed());
        known.server = joined.server;
        known.server_capabilities = Some(joined.server_capabilities);
        for (way, (round_trip, is_local)) in known.ways.iter_mut().zip(joined.legs) {
            way.is_local &= is_local;
            way.round_trip = match (way.round_trip, round_trip) {
                (Some(known), Some(seen)) => Some(known.min(seen)),
                (known, seen) => known.or(seen),
            };
        }
    }

    /// What came of commands since the last time, and the exchange that ended, if any. False if it has to be told again.
    pub(crate) fn tell(&self, counts: &TapCounts, exchange: Option<TapExchange>) -> bool {
        // Somebody else is telling: this session has better to do than to wait.
        let Ok(mut known) = self.known.try_lock() else { return false };
        known.counts.commands += counts.commands;
        known.counts.dialogues += counts.dialogues;
        known.counts.pipelined += counts.pipelined;
        if let Some(exchange) = exchange {
            known.keep(exchange);
        }
        true
    }

    /// Rates towards clients, of the clients' legs and of the servers'.
    pub(super) fn tell_rates(&self, bytes_per_s: [f64; 2]) {
        for (way, rate) in self.known().ways.iter_mut().zip(bytes_per_s) {
            way.bytes_per_s = way.bytes_per_s.max(rate);
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All but what is listed.
    pub(crate) fn state(&self) -> TapState {
        let left = self.left();
        let known = self.known();
        TapState {
            number: self.number,
            left,
            looked: if left.is_some() { self.begun.elapsed() } else { known.looked.max(LOOKED_MIN) },
            cpu: known.cpu,
            counts: known.counts,
            sessions_at_once: known.sessions_at_once,
            ways: known.ways,
            server_offers: known.server_capabilities.map(|offered| {
                [Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION_ALGORITHM]
                    .map(|capability| offered.contains(capability))
            }),
            server: known.server.clone(),
        }
    }

    /// Each codec's sums.
    pub(crate) fn codecs(&self) -> Vec<TapCodec> {
        self.known().codecs.clone()
    }

    /// Exchanges, all with the same probability.
    pub(crate) fn exchanges(&self) -> Vec<TapExchange> {
        self.known().exchanges.clone()
    }
}

impl Known {
    /// Vitter's algorithm R: the n-th exchange takes a place with probability places/n.
    fn keep(&mut self, exchange: TapExchange) {
        self.counts.timed += 1;
        if self.exchanges.len() < EXCHANGES_KEPT {
            return self.exchanges.push(exchange);
        }
        let place = usize::try_from(self.random() % self.counts.timed).unwrap_or(usize::MAX);
        if let Some(kept) = self.exchanges.get_mut(place) {
            *kept = exchange;
        }
    }

    /// splitmix64.
    const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// As many as the advisor's own tap keeps: a mean within a percent where times are ordinary.
const EXCHANGES_KEPT: usize = 10_000;
/// A run that was ended at once.
const LOOKED_MIN: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(number: u64) -> TapExchange {
        TapExchange {
            request_len: number,
            reply_len: 1,
            first: Duration::ZERO,
            time: Duration::ZERO,
            server_algorithm: Algorithm::Uncompressed,
            server_level: 0,
        }
    }

    #[test]
    fn late_exchanges_are_kept_as_often_as_early_ones() {
        let (run, _) = Run::begin(1, Duration::from_secs(60));
        let count = 4 * EXCHANGES_KEPT as u64;
        (0..count).for_each(|number| assert!(run.tell(&TapCounts::default(), Some(exchange(number)))));
        let kept = run.exchanges();
        assert_eq!((kept.len(), run.state().counts.timed), (EXCHANGES_KEPT, count));
        let late = kept.iter().filter(|one| one.request_len >= count / 2).count();
        // Half of them, give or take six standard deviations.
        assert!(late.abs_diff(EXCHANGES_KEPT / 2) < 300, "{late}");
    }

    #[test]
    fn no_more_frames_are_held_than_were_promised_and_a_session_waits_for_nobody() {
        let (run, samples) = Run::begin(1, Duration::from_secs(60));
        let run = Arc::new(run);
        let held: Vec<_> = std::iter::from_fn(|| run.claim()).collect();
        assert_eq!(held.len(), FRAMES_MAX);
        held.into_iter().for_each(|sample| run.offer(sample));
        assert!(run.claim().is_none(), "they wait to be packed");
        drop(samples.recv().unwrap());
        assert!(run.claim().is_some());
        let known = run.known();
        assert!(!run.tell(&TapCounts::default(), Some(exchange(1))));
        drop(known);
        run.is_pausing.store(true, Ordering::Relaxed);
        assert!(run.claim().is_none());
    }
}
