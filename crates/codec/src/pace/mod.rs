//! The controller: for each frame whether to pack it, and how hard, so that it is never slower than sending it stored.
//!
//! ```text
//!            queued ahead     this frame
//!  stored    |▒▒▒▒▒▒▒▒▒▒|░░░░░░░░░░░░░░░|        S/B
//!  packed    |▒▒▒▒▒▒▒▒▒▒|░░░░░░|                 S/rB                   if S/C < Q/B: the link is busy meanwhile
//!            [ S/C ]                             S/C + S/rB + S/D       if nothing follows, and somebody waits
//! ```
//! `Q` bytes that wait, in the socket or in the network, `S` the frame's plain length, `B` the rate at which the destination
//! takes bytes (`drain`), `C` and `r` how fast and how well a level packs (`candidate`), `D` the receiver's unpacking. As long
//! as the link has something to send, packing takes none of its time; when it hasn't, the frame goes stored and the link is
//! busy again, unless packed it is through in far less time, or is the first of a burst that packing keeps up with. So where link and CPU cross some frames are packed and others are
//! not, which no fixed setting does; also where link and CPU wait in turn (`pauses`).
//!
//! Where the reader's window is what holds bytes back both forms are tried (`reader`), and where each frame waits for an
//! answer, so that there is never a queue (`replies`); what goes stored there is mostly not
//! even chosen about (`rest`). Who wants few bytes more than little time has another controller (`thrift`).
//!
//! Invariants: no clock (time is an argument), no randomness; bounded memory; while nothing is known of the link frames go
//! stored, but for a first one and, over TLS, for what packs faster than it is encrypted; data that doesn't shrink is tried ever
//! more rarely.
//!
//! Not here: sockets (crate `proxy` looks at them), what servers pack at a level that is fixed at login. See
//! `docs/adr/0021-pace-fills-an-idle-link.md` and `docs/adr/0036-pace-knows-what-is-not-there-yet.md`.

mod allowance;
mod candidate;
mod choice;
mod drain;
mod history_level;
mod look;
mod packing_server;
mod pauses;
mod queue;
mod reader;
mod replies;
mod reply_times;
mod reply_trial;
mod rest;
mod source;
mod thrift;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod thrift_simulation;

use std::time::Duration;

pub use self::allowance::Allowance;
use self::candidate::{Candidate, SMALL_LEN};
pub use self::choice::{Choice, Reason};
use self::drain::Drain;
use self::history_level::HistoryLevel;
pub use self::history_level::LevelSeen;
pub use self::look::Look;
pub use self::packing_server::{LegChoice, LegReason, Packing, PackingServer, RepliesSeen, Sample, Trial};
use self::pauses::Pauses;
use self::queue::SHORT_OF_CPU;
use self::reader::Reader;
pub use self::replies::Replies;
use self::replies::{Reply, Turn};
pub use self::reply_times::ReplyTimes;
pub use self::rest::Rest;
use self::source::Source;
pub use self::thrift::{Limits, Thrift};
use crate::Algorithm;

/// The controller of one direction of a connection.
#[derive(Debug)]
pub struct Pace {
    algorithm: Algorithm,
    candidates: Vec<Candidate>,
    drain: Drain,
    link_bytes_per_s: Option<f64>,
    /// The same and when that was, if this connection has seen it itself.
    link_seen: Option<(f64, Duration)>,
    /// The most that link or reader was ever taken to carry.
    fastest_bytes_per_s: f64,
    now: Duration,
    looked: Look,
    /// Frames since one went stored because the link had nothing to do, those behind a long queue several times.
    hidden: u32,
    /// The frame before was not the last of its kind.
    had_more: bool,
    /// Part of the frames behind stored ones, lately, that found the link done with most of those.
    idle_part: f64,
    /// Of the link, in the server's turns on the core that it shares with the proxy.
    pauses: Pauses,
    reader: Reader,
    last: Last,
    /// The frame that was chosen about is alone: the link is done with what was sent before, and nothing follows.
    is_alone: bool,
    /// Its plain length, until the first of it is handed over: one that passes stored goes in pieces.
    alone_len: Option<f64>,
    /// The frame before, if it was alone.
    turn: Option<Turn>,
    /// Bytes that were handed over.
    sent_len: u64,
    /// Those since the look.
    since_look_len: u64,
    /// Until then the link should be busy with what was sent.
    busy_until: Duration,
    /// Bytes that were sent since it should have been done with everything before.
    burst_len: u64,
    /// Of frames with history, of which small ones shrink, too.
    history: Option<HistoryLevel>,
    /// There is none: one begins with what is packed next.
    lacks_history: bool,
    /// One begins with what was packed last, and was not handed over yet.
    begins_history: bool,
    /// How fast large packets come.
    source: Source,
    /// The choice before was about a large packet, which may have left a queue.
    was_large: bool,
    /// The frame that was chosen about goes in pieces.
    in_pieces: bool,
    /// What long frames wait for a helper thread, seconds.
    helper_s: f64,
    /// Every byte is encrypted and decrypted, whatever the link.
    encrypts: bool,
}

/// What there is behind a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Others follow it at once, or somebody waits for it.
    Follows,
    /// More of its reply, which has not come yet. Whoever waits for that asks for nothing before it has, so where the link is known,
    /// or much has come already, that tells more than how soon the next frame goes out.
    Comes,
    /// Nothing that is known of.
    Unknown,
}

/// A frame that was packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedFrame {
    /// zstd's, or libdeflate's.
    pub level: u8,
    /// Bytes.
    pub plain_len: usize,
    /// Bytes, more than `plain_len` where it did not shrink.
    pub packed_len: usize,
    /// A history begins with it.
    pub begins_history: bool,
}

impl PackedFrame {
    /// One without history.
    #[must_use]
    pub const fn alone(level: u8, plain_len: usize, packed_len: usize) -> Self {
        Self { level, plain_len, packed_len, begins_history: false }
    }
}

/// How much may be on its way to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Longest frame of several packets, bytes.
    pub frame_len: usize,
    /// Bytes that wait in the socket.
    pub unsent_len: u64,
}

impl Pace {
    /// A controller that may use levels up to `level_max`.
    #[must_use]
    pub fn new(algorithm: Algorithm, level_max: u8) -> Self {
        Self {
            algorithm,
            candidates: Candidate::all(algorithm, level_max),
            drain: Drain::default(),
            link_bytes_per_s: None,
            link_seen: None,
            fastest_bytes_per_s: 0.0,
            now: Duration::ZERO,
            looked: Look::NOTHING,
            hidden: SHORT_OF_CPU,
            had_more: false,
            idle_part: 0.0,
            pauses: Pauses::default(),
            reader: Reader::new(),
            last: Last { is_packed: false, len: 0 },
            is_alone: false,
            alone_len: None,
            turn: None,
            sent_len: 0,
            since_look_len: 0,
            busy_until: Duration::ZERO,
            burst_len: 0,
            history: None,
            lacks_history: false,
            begins_history: false,
            source: Source::default(),
            was_large: false,
            in_pieces: false,
            helper_s: 0.0,
            encrypts: false,
        }
    }

    /// One whose frames have history: another level, up to `level_max`, begins a new one, and small frames are worth packing.
    #[must_use]
    pub fn with_history(algorithm: Algorithm, level_max: u8) -> Self {
        let (history, candidates) = HistoryLevel::new(algorithm, level_max);
        Self { candidates, history: Some(history), lacks_history: true, ..Self::new(algorithm, level_max) }
    }

    /// The same over TLS, where every byte is encrypted and decrypted besides.
    #[must_use]
    pub fn over_tls(self) -> Self {
        Self { encrypts: true, ..self }
    }

    /// Another connection over the same link has seen this rate, bytes per second.
    pub fn assume_link(&mut self, bytes_per_s: f64) {
        self.drain.assume(bytes_per_s);
        self.link_bytes_per_s.get_or_insert(bytes_per_s);
        self.fastest_bytes_per_s = self.fastest_bytes_per_s.max(bytes_per_s);
    }

    /// Another connection to the same reader has found whether packed bytes get through it sooner.
    pub const fn assume_reader(&mut self, gains: bool) {
        self.reader.assume(gains);
    }

    /// Whether packed bytes were found here to get through the reader sooner, and when, if it was ever the limit.
    #[must_use]
    pub const fn reader_gains(&self) -> Option<(bool, Duration)> {
        self.reader.found()
    }

    /// What levels of frames with history were seen to do here since the last call, if enough were packed.
    pub fn take_levels_seen(&mut self) -> Vec<LevelSeen> {
        match (&mut self.history, self.candidates.first()) {
            (Some(history), Some(current)) => history.take_seen(current),
            _ => Vec::new(),
        }
    }

    /// Other connections over the same link have seen that; call it before anything was packed.
    pub fn assume_levels(&mut self, seen: &[LevelSeen]) {
        if let (Some(history), Some(current)) = (&mut self.history, self.candidates.first_mut()) {
            history.assume(seen, current);
        }
    }

    /// The rate at which the destination takes bytes, per second, by which it is chosen, if it is known: that of the link, or of a
    /// reader that is slower.
    #[must_use]
    pub const fn bytes_per_s(&self) -> Option<f64> {
        self.drain.bytes_per_s()
    }

    /// The rate of the link, bytes per second, and when it was last seen, if it was ever the limit here; what was assumed is not
    /// told again.
    #[must_use]
    pub const fn link_seen(&self) -> Option<(f64, Duration)> {
        self.link_seen
    }

    /// The socket was looked at; call it before a choice, and again before what it led to is sent, if it is
    /// [wanted](Self::wants_look).
    pub fn look(&mut self, look: Look) {
        self.now = look.now;
        self.looked = look;
        self.since_look_len = 0;
        self.reader.look(&look, self.last, self.link_bytes_per_s);
        self.drain.look(&look);
        if look.unacknowledged_len() == 0 {
            // The last of it was acknowledged, which takes a round trip.
            self.busy_until = self.busy_until.min(look.now.saturating_sub(look.round_trip));
        }
        if !self.reader.is_limit() {
            self.link_bytes_per_s = self.drain.bytes_per_s();
            self.link_seen = self.drain.seen();
        }
        self.fastest_bytes_per_s = self.fastest_bytes_per_s.max(self.drain.bytes_per_s().unwrap_or_default());
    }

    /// What to do with a frame of `plain_len` bytes. `replies` is what all connections of this link and direction share.
    pub fn choose(&mut self, plain_len: usize, next: Next, now: Duration, replies: &mut Replies) -> Choice {
        let long_len = if self.drain.bytes_per_s().is_some() { SMALL_LEN } else { LONG_PART_LEN };
        let is_long = number(plain_len) >= long_len;
        let next = if next == Next::Comes && !is_long { Next::Unknown } else { next };
        let alone = self.begin(plain_len, next, now, replies);
        let choice = match alone {
            Some(choice) => choice,
            None if self.drain.bytes_per_s().is_none() => self.over_any_link(number(plain_len)),
            None => self.in_a_queue(plain_len, next == Next::Follows, 0.0),
        };
        if matches!(choice.reason, Reason::LinkIsIdle | Reason::Slower) {
            self.follow_level(plain_len);
        }
        self.had_more = next != Next::Unknown;
        self.was_large = number(plain_len) >= LARGE_LEN;
        choice
    }

    /// The same for a packet of which `missing_len` bytes have still to come: packed it waits for them, while stored it goes as
    /// they come. Nothing follows that is known of.
    pub fn choose_early(
        &mut self,
        plain_len: usize,
        missing_len: usize,
        now: Duration,
        replies: &mut Replies,
    ) -> Choice {
        let missing_s = self.source.time_s(missing_len);
        let choice = match self.begin(plain_len, Next::Unknown, now, replies) {
            Some(choice) => choice,
            None if self.drain.bytes_per_s().is_none() => self.over_any_link(number(plain_len)),
            None => self.in_a_queue(plain_len, false, missing_s),
        };
        self.source.chosen(choice.reason);
        self.had_more = false;
        self.was_large = true;
        self.in_pieces = choice.level.is_none();
        self.helper_s *= HELPER_MEMORY;
        choice
    }

    /// The choice, if it waits for an answer.
    fn begin(
        &mut self,
        plain_len: usize,
        next: Next,
        now: Duration,
        replies: &mut Replies,
    ) -> Option<Choice> {
        self.now = now;
        self.in_pieces = false;
        self.is_alone = next == Next::Unknown && !self.had_more && now >= self.busy_until;
        self.alone_len = self.is_alone.then(|| number(plain_len));
        if self.is_alone
            && number(plain_len) >= SMALL_LEN
            && let (Some(history), Some(current)) = (&mut self.history, self.candidates.first_mut())
        {
            history.large_reply(current);
        }
        if self.is_alone { self.alone(number(plain_len), replies) } else { None }
    }

    /// What was missing of a packet came in this time.
    pub fn collected(&mut self, missing_len: usize, took: Duration) {
        self.source.came(missing_len, took);
    }

    /// So long a packed frame waited for the thread that packs long ones, without the work.
    pub fn waited(&mut self, time: Duration) {
        self.helper_s = f64::midpoint(self.helper_s, time.as_secs_f64());
    }

    /// A frame that waits for an answer.
    fn alone(&mut self, len: f64, replies: &mut Replies) -> Option<Choice> {
        if len >= LARGE_LEN && (self.drain.bytes_per_s().is_some() || self.is_sooner_in_slow_start(len)) {
            return None;
        }
        if let Some(level) = self.packs_as_it_encrypts(len) {
            return Some(Choice { level: Some(level), reason: Reason::Faster });
        }
        let level = match self.thriftiest(len) {
            Some(candidate) => Some(candidate.level()),
            None => self
                .candidates
                .first_mut()
                .and_then(|easiest| easiest.takes_turn(len, true, false).then(|| easiest.level())),
        };
        let Some(level) = level else {
            return Some(Choice { level: None, reason: Reason::DoesNotShrink });
        };
        let pack_s = self.candidates.iter().find(|candidate| candidate.level() == level)?.pack_s(len);
        let cost_s = pack_s + self.unpack_s(len);
        let round_trip_s = self.looked.round_trip.as_secs_f64();
        let packs = replies.packs(self.now, self.reply(len), cost_s, round_trip_s)
            && (!self.lacks_history || replies.may_begin_history(self.now, len));
        let reason = if packs { Reason::AnswerIsSooner } else { Reason::AnswerIsNotSooner };
        Some(Choice { level: packs.then_some(level), reason })
    }

    const fn reply(&self, len: f64) -> Reply {
        Reply { len, has_history: self.history.is_some(), begins_history: self.begins_history }
    }

    /// Frames of several packets should end at this length, and so many bytes may wait in the socket behind those that are on
    /// their way: little as long as nothing is known of the link, since all of it is sent before anything is known.
    #[must_use]
    pub fn room(&self) -> Room {
        match self.drain.bytes_per_s() {
            None if self.sent_len < UNKNOWN_LEN => {
                // Packed to next to nothing many frames are little; short ones would only be dearer.
                let len = number(FIRST_FRAME_LEN);
                let is_little = self.packs_as_it_encrypts(len).is_some()
                    || (self.packs_to_hardly_anything(len) && self.is_sooner_in_slow_start(len));
                let frame_len = if is_little { usize::MAX } else { FIRST_FRAME_LEN };
                Room { frame_len, unsent_len: UNSENT_LEN_MIN }
            }
            rate => {
                // Nobody decides by the queue of what doesn't shrink, and a short one only wakes us more often.
                let (time_s, len_max) = if self.shrinks_no_more() {
                    (UNSENT_STORED_S, UNSENT_STORED_LEN_MAX)
                } else {
                    (UNSENT_S, UNSENT_LEN_MAX)
                };
                // In steps, so that it rarely changes.
                let mut unsent_len = UNSENT_LEN_MIN;
                while unsent_len < len_max && rate.is_none_or(|rate| rate * time_s > unsent_len as f64) {
                    unsent_len *= 2;
                }
                Room { frame_len: usize::MAX, unsent_len }
            }
        }
    }

    /// Whether the next choice depends on the socket, and a [`look`](Self::look) may tell something new. It asks the time only where
    /// it may, which most replies that wait for an answer don't.
    pub fn wants_look(&self, now: impl FnOnce() -> Duration) -> bool {
        let follows = self.had_more || self.was_large;
        if !follows && self.now >= self.busy_until {
            return false;
        }
        let now = now();
        let is_in_a_queue = follows || now < self.busy_until;
        let age = now.saturating_sub(self.looked.now);
        let is_old = age >= LOOK_AFTER_MAX;
        let is_new = match self.drain.bytes_per_s() {
            _ if self.shrinks_no_more() => false,
            Some(rate) => is_old || (age >= LOOK_AFTER_MIN && age.as_secs_f64() * rate >= LOOK_AFTER_LEN),
            // Packed frames over a link that nothing is known of go so whatever it does.
            None => is_old || !self.last.is_packed,
        };
        is_in_a_queue && is_new
    }

    /// What came lately goes stored, whatever the link does.
    #[must_use]
    pub fn shrinks_no_more(&self) -> bool {
        self.candidates.first().is_some_and(Candidate::rests_long)
    }

    /// A frame was packed, whether or not it became smaller.
    pub fn packed(&mut self, frame: PackedFrame, took: Duration) {
        if let (Some(history), Some(current)) = (&mut self.history, self.candidates.first_mut()) {
            history.was_packed_at(frame.level, current);
        }
        candidate::learn(&mut self.candidates, &frame, took);
        self.begins_history = frame.begins_history;
        self.lacks_history = false;
        self.follow_level(frame.plain_len);
    }

    /// The history was given back.
    pub const fn history_ended(&mut self) {
        self.lacks_history = self.history.is_some();
    }

    /// The level of what is packed next, if that has history.
    #[must_use]
    pub fn level(&self) -> u8 {
        self.candidates.first().map_or(0, Candidate::level)
    }

    /// Another level may be the better one for a history.
    fn follow_level(&mut self, plain_len: usize) {
        if number(plain_len) >= SMALL_LEN
            && !self.reader.is_limit()
            && let (Some(history), Some(current)) = (&mut self.history, self.candidates.first_mut())
        {
            let rate = self.drain.bytes_per_s();
            // What waits for an answer may be slow, and never leave a queue.
            if rate.is_some() || self.had_more {
                history.frame(current, rate);
            }
        }
    }

    /// A frame of `plain_len` bytes was handed over as `len` bytes.
    pub fn sent(&mut self, plain_len: usize, len: usize, now: Duration, replies: &mut Replies) {
        self.now = now;
        match self.alone_len.take().filter(|_| self.is_alone) {
            Some(len) => self.turn = Some(replies.sent(now, self.reply(len), self.turn)),
            None if self.is_alone && self.in_pieces => {}
            // Also behind frames that nothing was chosen about.
            None => self.turn = None,
        }
        self.begins_history = false;
        self.sent_len += len as u64;
        self.since_look_len += len as u64;
        if let Some(rate) = self.drain.bytes_per_s() {
            self.burst_len = if now < self.busy_until { self.burst_len + len as u64 } else { len as u64 };
            self.busy_until = self.busy_until.max(now) + Duration::from_secs_f64(number(len) / rate);
        }
        self.last = Last { is_packed: len < plain_len, len: len as u64 };
        self.reader.sent(plain_len, len);
        self.drain.sent(len as u64, now);
    }
}

/// The frame that was sent last.
#[derive(Debug, Clone, Copy)]
struct Last {
    is_packed: bool,
    /// As it was sent.
    len: u64,
}

fn number(len: usize) -> f64 {
    len as f64
}

/// A link that took so much without a queue has none.
const UNKNOWN_LEN: u64 = 1 << 20;
const FIRST_FRAME_LEN: usize = 32 << 10;
/// What waits in the socket keeps the link busy for so long, many times what packing a frame takes, and no longer: as
/// much is sent in the old way after a change.
const UNSENT_S: f64 = 4e-3;
const UNSENT_LEN_MIN: u64 = 64 << 10;
const UNSENT_LEN_MAX: u64 = 256 << 10;
/// The same of what doesn't shrink, which is sent so whatever is known: to be woken for it more often costs CPU. What shrinks behind it
/// is held up so long, once.
const UNSENT_STORED_S: f64 = 0.5;
const UNSENT_STORED_LEN_MAX: u64 = 2 << 20;
/// A look is two system calls, several times what packing a frame of equal rows takes. What has left since the last is reckoned
/// until it is so many bytes, or so long ago.
const LOOK_AFTER_LEN: f64 = 16.0 * 1024.0;
const LOOK_AFTER_MIN: Duration = Duration::from_micros(50);
const LOOK_AFTER_MAX: Duration = Duration::from_micros(200);
/// More than servers send at once (16 KiB): it is no answer of two parts.
const LONG_PART_LEN: f64 = 24.0 * 1024.0;
/// Frames of this length leave a queue, if the link is slow.
const LARGE_LEN: f64 = 64.0 * 1024.0;
/// What is left of a wait that was seen, for each long frame since.
const HELPER_MEMORY: f64 = 0.9;
