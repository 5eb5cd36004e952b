//! A look at live traffic for the advisor: for a stated time, exchanges are timed and samples of replies are packed on the side.
//!
//! ```text
//!  Live::tap(seconds) ─▶ Run ─┬─▶ sessions (`relay::watch`): sizes and times, a frame of a reply now and then
//!                             └─▶ a thread (`packing`): packs each frame, adds up lengths and CPU time, wipes it
//! ```
//! Invariants: off by default, and while it is off a session pays one relaxed load each time it is polled; what leaves are
//! lengths, times and counts; at most [`FRAMES_MAX`] frames are held; a session never waits; it ends by itself.
//! Not here: where it is switched (`live`), who may (crate `admin`), what follows from it (crate `bench`, `advise`).

mod packing;
mod run;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use codec::Algorithm;
use wire::Side;

pub(crate) use run::{Joined, Run, Sample};

use crate::worker::Shared;

/// All runs of a process, of which one is on at most.
#[derive(Default)]
pub(crate) struct Tap {
    /// The number of the run that is on, 0 for none.
    on: AtomicU64,
    last: Mutex<Option<Arc<Run>>>,
}

/// Why no run begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TapRefused {
    /// One is on.
    #[error("another tap is on, for {left_s} s more; 0 ends it")]
    On {
        /// Seconds until it ends by itself.
        left_s: u64,
    },
    /// It has no thread.
    #[error("no thread can be started: {0}")]
    Thread(String),
}

/// A run at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TapState {
    /// Which one, counted from 1; 0 if there was none yet.
    pub number: u64,
    /// How long until it ends by itself; `None` when it is over.
    pub left: Option<Duration>,
    /// For how long it has looked.
    pub looked: Duration,
    /// CPU time of its own thread.
    pub cpu: Duration,
    /// Sums over sessions.
    pub counts: TapCounts,
    /// Most sessions at once.
    pub sessions_at_once: u64,
    /// Clients' legs, servers' legs.
    pub ways: [TapWay; 2],
    /// Whether the last server offers zlib, and zstd; `None` before any session was there.
    pub server_offers: Option<[bool; 2]>,
    /// Whose server that is.
    pub server: String,
}

/// What sessions have counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TapCounts {
    /// Those that were there.
    pub sessions: u64,
    /// Of them, those that the server packs itself.
    pub packed: u64,
    /// Commands that were begun.
    pub commands: u64,
    /// Exchanges that were timed.
    pub timed: u64,
    /// Exchanges in which the client had more to say than its command.
    pub dialogues: u64,
    /// Commands that were sent before the reply to the one before had come.
    pub pipelined: u64,
}

/// One side's legs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TapWay {
    /// Clients' or servers'.
    pub side: Side,
    /// The shortest of any session; `None` where the kernel has seen none.
    pub round_trip: Option<Duration>,
    /// Highest rate of any tenth of a second, towards clients.
    pub bytes_per_s: f64,
    /// No session came from, or went to, another host.
    pub is_local: bool,
}

/// What a codec made of the sampled replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapCodec {
    /// Longest frame that was packed at once.
    pub frame_len_max: usize,
    /// By what.
    pub algorithm: Algorithm,
    /// At which level.
    pub level: u8,
    /// Frames.
    pub frames: u64,
    /// Their plain bytes.
    pub plain_len: u64,
    /// What they take packed, headers included.
    pub packed_len: u64,
    /// CPU time of packing them.
    pub pack: Duration,
    /// CPU time of unpacking them.
    pub unpack: Duration,
}

/// One command and its reply, as lengths and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapExchange {
    /// Plain bytes of the command.
    pub request_len: u64,
    /// Plain bytes of the reply.
    pub reply_len: u64,
    /// Until the reply began.
    pub first: Duration,
    /// Until its last byte came, without what the client and the proxy's codecs kept it waiting.
    pub time: Duration,
    /// What the server packs with.
    pub server_algorithm: Algorithm,
    /// The level of that; 0 for none.
    pub server_level: u8,
}

impl Default for TapWay {
    fn default() -> Self {
        Self { side: Side::Client, round_trip: None, bytes_per_s: 0.0, is_local: true }
    }
}

impl Tap {
    /// The number of the run that is on; 0 for none.
    pub(crate) fn on(&self) -> u64 {
        self.on.load(Ordering::Relaxed)
    }

    /// The run that is on.
    pub(crate) fn join(&self) -> Option<Arc<Run>> {
        self.last().clone().filter(|run| run.number() == self.on())
    }

    /// The last run.
    pub(crate) fn last_run(&self) -> Option<Arc<Run>> {
        self.last().clone()
    }

    /// Begins a run of all sessions.
    ///
    /// Errors: one is on already.
    pub(crate) fn start(&self, time: Duration, shared: &Arc<Shared>) -> Result<(), TapRefused> {
        let mut last = self.last();
        if let Some(left) = last.as_ref().and_then(|run| run.left()) {
            return Err(TapRefused::On { left_s: left.as_secs() + 1 });
        }
        let number = last.as_ref().map_or(0, |run| run.number()) + 1;
        let (run, samples) = Run::begin(number, time);
        let run = Arc::new(run);
        let (own, weak) = (Arc::clone(&run), Arc::downgrade(shared));
        std::thread::Builder::new()
            .name("tap".to_owned())
            .spawn(move || {
                packing::pack(&own, &samples, &weak);
                over(&own, &weak);
            })
            .map_err(|error| TapRefused::Thread(error.to_string()))?;
        *last = Some(run);
        self.on.store(number, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the run that is on, if there is one.
    pub(crate) fn end(&self) {
        self.on.store(0, Ordering::Relaxed);
        if let Some(run) = self.last_run() {
            run.end();
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run's thread has ended. Another may have begun since it was told to.
fn over(run: &Run, shared: &Weak<Shared>) {
    run.end();
    if let Some(shared) = shared.upgrade() {
        // Where the number is another one's by now, nothing is exchanged, as it should be.
        shared.tap.on.compare_exchange(run.number(), 0, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}

/// As wirepress closes a frame of several packets (`docs/adr/0006-frame-size.md`).
pub(crate) const FRAME_LEN: usize = 128 << 10;
/// Of all sessions together.
pub(crate) const FRAMES_MAX: usize = 8;
