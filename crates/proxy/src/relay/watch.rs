//! A session as the tap sees it: how long its exchanges take, and frames of its replies.
//!
//! ```text
//!  command begun ──▶ reply's first byte ──▶ its last ──▶ reply complete
//!                    └── bytes fill a frame, if the run had room when it began ──▶ `tap::packing`
//! ```
//! Invariants: nothing is here while the tap is off; of what passes, only replies' bytes are copied.
//! Not here: what is made of it (`tap`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use codec::Algorithm;
use wire::conversation::{Conversation, Reply};

use super::Relay;
use crate::leg::Leg;
use crate::tap::{FRAME_LEN, Joined, Run, Sample, TapCounts, TapExchange};

impl Relay<'_> {
    /// Tells the tap, while it is on.
    pub(super) fn watch(&mut self) {
        let on = self.worker.shared.tap.on();
        if on == 0 && self.watch.is_none() {
            return;
        }
        let lens = [&self.to_server, &self.to_client].map(|half| half.traffic().plain_len);
        if self.watch.as_ref().is_none_or(|watch| watch.run_number() != on) {
            self.watch = None;
            self.to_client.sampler = None;
            let (Some(run), Some(joined)) = (self.worker.shared.tap.join(), self.joined()) else { return };
            let (watch, sampler) = Watch::new(run, joined, self.conversation.commands_begun(), lens);
            self.watch = Some(Box::new(watch));
            self.to_client.sampler = Some(Box::new(sampler));
        }
        let is_held_back = self.to_client.is_held_back();
        if let (Some(watch), Some(sampler)) = (&mut self.watch, &mut self.to_client.sampler) {
            watch.step(&self.conversation, lens, sampler);
            if is_held_back {
                sampler.hold();
            }
        }
    }

    /// What the tap is told of this session.
    fn joined(&self) -> Option<Joined> {
        let is_local = |leg: &Leg| leg.peer_ip().is_none_or(|ip| ip.is_loopback());
        let facts = self.meter.read().logged_in?;
        Some(Joined {
            server: facts.server,
            server_capabilities: self.server_capabilities,
            algorithm: facts.server_leg.algorithm,
            level: facts.server_leg.level_negotiated,
            legs: [&self.client, &self.server].map(|leg| (leg.round_trip(), is_local(leg))),
        })
    }
}

/// Follows the exchanges of a session.
pub(super) struct Watch {
    run: Arc<Run>,
    /// What the server packs with, and at which level.
    server: (Algorithm, u8),
    /// Commands so far.
    begun: u64,
    /// Plain bytes to the server and to the client so far.
    lens: [u64; 2],
    open: Option<Open>,
    /// What was not told yet.
    counts: TapCounts,
}

/// An exchange that has begun.
struct Open {
    number: u64,
    /// Before its first byte.
    lens: [u64; 2],
    request_len: u64,
    asked_at: Instant,
    is_dialogue: bool,
    is_pipelined: bool,
}

/// Copies of what a half-pipe carries.
pub(super) struct Sampler {
    run: Arc<Run>,
    /// An exchange is open.
    is_active: bool,
    sample: Option<Sample>,
    /// Of the frame that fills, copied or not.
    frame_len: usize,
    first_at: Option<Instant>,
    last_at: Option<Instant>,
    /// The client takes nothing, since then.
    held_since: Option<Instant>,
    /// How long it did so, and the codec worked, between the reply's bytes.
    held: Duration,
    codec_ns: Option<u64>,
}

impl Watch {
    /// A session takes part in a run from now on.
    pub(super) fn new(run: Arc<Run>, joined: Joined, begun: u64, lens: [u64; 2]) -> (Self, Sampler) {
        let server = (joined.algorithm, joined.level);
        run.join(joined);
        let sampler = Sampler {
            run: Arc::clone(&run),
            is_active: false,
            sample: None,
            frame_len: 0,
            first_at: None,
            last_at: None,
            held_since: None,
            held: Duration::ZERO,
            codec_ns: None,
        };
        (Self { run, server, begun, lens, open: None, counts: TapCounts::default() }, sampler)
    }

    /// Which run it takes part in.
    pub(super) fn run_number(&self) -> u64 {
        self.run.number()
    }

    /// The session waits; `lens` are the plain bytes that it has carried.
    pub(super) fn step(&mut self, conversation: &Conversation, lens: [u64; 2], sampler: &mut Sampler) {
        let now = Instant::now();
        let (begun, oldest) = (conversation.commands_begun(), conversation.oldest_number());
        let new = begun.saturating_sub(std::mem::replace(&mut self.begun, begun));
        let lens_before = std::mem::replace(&mut self.lens, lens);
        let [to_server_len, to_client_len] = lens;
        self.counts.commands += new;
        let mut ended = None;
        if let Some(open) = &mut self.open {
            open.is_dialogue |= conversation.is_clients_turn();
            if oldest == Some(open.number) {
                open.is_pipelined |= new > 0;
                if sampler.first_at.is_none() && to_server_len > open.lens[0] + open.request_len {
                    open.request_len = to_server_len - open.lens[0];
                    open.asked_at = now;
                }
            } else {
                ended = self.open.take();
            }
        }
        let exchange = ended.and_then(|open| {
            let exchange = sampler.end(open.asked_at);
            self.counts.dialogues += u64::from(open.is_dialogue);
            self.counts.pipelined += u64::from(open.is_pipelined);
            let (first, time) = exchange.filter(|_| !open.is_dialogue && !open.is_pipelined)?;
            let reply_len = to_client_len.saturating_sub(open.lens[1]);
            let (server_algorithm, server_level) = self.server;
            let request_len = open.request_len;
            Some(TapExchange { request_len, reply_len, first, time, server_algorithm, server_level })
        });
        let is_one = conversation.in_flight() == 1 && oldest == Some(begun) && new > 0;
        match conversation.oldest() {
            Some((_, Reply::Stream | Reply::Foreign)) | None => {}
            Some(_) if self.open.is_none() && is_one => {
                let lens = [lens_before[0], to_client_len];
                let request_len = to_server_len - lens_before[0];
                let number = begun;
                self.open = Some(Open {
                    number,
                    lens,
                    request_len,
                    asked_at: now,
                    is_dialogue: false,
                    is_pipelined: false,
                });
                sampler.begin();
            }
            Some(_) if self.open.is_none() => self.counts.pipelined += new,
            Some(_) => {}
        }
        if (exchange.is_some() || self.counts.commands >= COMMANDS_UNTOLD)
            && self.run.tell(&self.counts, exchange)
        {
            self.counts = TapCounts::default();
        }
    }
}

impl Sampler {
    fn begin(&mut self) {
        self.drop_frame();
        self.is_active = true;
        (self.first_at, self.last_at, self.held_since, self.codec_ns) = (None, None, None, None);
        self.held = Duration::ZERO;
    }

    /// The reply is complete. Until its first and its last byte, from `asked_at` on.
    fn end(&mut self, asked_at: Instant) -> Option<(Duration, Duration)> {
        self.is_active = false;
        self.end_frame();
        let first = self.first_at?.saturating_duration_since(asked_at);
        let last = self.last_at?.saturating_duration_since(asked_at);
        Some((first, last.saturating_sub(self.held).max(first)))
    }

    /// The client takes no more for now.
    pub(super) fn hold(&mut self) {
        if self.is_active {
            self.held_since.get_or_insert_with(Instant::now);
        }
    }

    /// Plain bytes came; until now this direction took `codec_ns` of codecs.
    pub(super) fn grew(&mut self, mut bytes: &[u8], codec_ns: u64) {
        if !self.is_active || bytes.is_empty() {
            return;
        }
        let now = Instant::now();
        let worked_ns = codec_ns.saturating_sub(self.codec_ns.replace(codec_ns).unwrap_or(codec_ns));
        self.held += match self.held_since.take() {
            // Work that another thread did meanwhile is in it.
            Some(since) => now.saturating_duration_since(since).max(Duration::from_nanos(worked_ns)),
            None => Duration::from_nanos(worked_ns),
        };
        self.first_at.get_or_insert(now);
        self.last_at = Some(now);
        while !bytes.is_empty() {
            if self.frame_len == 0 {
                self.sample = self.run.claim();
            }
            let (part, rest) = bytes.split_at(bytes.len().min(FRAME_LEN - self.frame_len));
            if let Some(sample) = &mut self.sample {
                sample.bytes.extend_from_slice(part);
            }
            self.frame_len += part.len();
            bytes = rest;
            if self.frame_len == FRAME_LEN {
                self.end_frame();
            }
        }
    }

    fn end_frame(&mut self) {
        if let Some(sample) = self.sample.take().filter(|sample| !sample.bytes.is_empty()) {
            self.run.offer(sample);
        }
        self.frame_len = 0;
    }

    fn drop_frame(&mut self) {
        self.sample = None;
        self.frame_len = 0;
    }
}

/// Where no exchange ends in between.
const COMMANDS_UNTOLD: u64 = 64;
