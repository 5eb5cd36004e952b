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
//! busy again. So where link and CPU cross some frames are packed and others are not, which no fixed setting does.
//!
//! Where the reader's window is what holds bytes back both forms are tried (`reader`), and where each frame waits for an
//! answer, so that there is never a queue (`replies`). Who wants few bytes more than little time has another controller
//! (`thrift`).
//!
//! Invariants: no clock (time is an argument), no randomness; bounded memory; while nothing is known of the link frames go
//! stored; data that doesn't shrink is tried ever more rarely.
//!
//! Not here: sockets (crate `proxy` looks at them), what servers pack at a level that is fixed at login. See `docs/adr/0021-pace-fills-an-idle-link.md`.

mod allowance;
mod candidate;
mod choice;
mod drain;
mod look;
mod packing_server;
mod reader;
mod replies;
mod reply_times;
mod thrift;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod thrift_simulation;

use std::time::Duration;

pub use self::allowance::Allowance;
use self::candidate::{Candidate, GUESS_IS_CAUTIOUS};
pub use self::choice::{Choice, Reason};
use self::drain::Drain;
pub use self::look::Look;
pub use self::packing_server::{LegChoice, LegReason, Packing, PackingServer, RepliesSeen};
use self::reader::Reader;
pub use self::replies::Replies;
use self::replies::{Reply, Turn};
pub use self::reply_times::ReplyTimes;
pub use self::thrift::{Limits, Thrift};
use crate::Algorithm;

/// The controller of one direction of a connection.
#[derive(Debug)]
pub struct Pace {
    candidates: Vec<Candidate>,
    drain: Drain,
    link_bytes_per_s: Option<f64>,
    now: Duration,
    looked: Look,
    /// Frames since one went stored because the link had nothing to do.
    hidden: u32,
    /// The frame before was not the last of its kind.
    had_more: bool,
    reader: Reader,
    last: Last,
    /// The frame that was chosen about is alone: nothing was sent just before, and nothing follows.
    is_alone: bool,
    /// The frame before, if it was alone.
    turn: Option<Turn>,
    /// Bytes that were handed over.
    sent_len: u64,
    /// Small replies shrink, too.
    has_history: bool,
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
            candidates: Candidate::all(algorithm, level_max),
            drain: Drain::default(),
            link_bytes_per_s: None,
            now: Duration::ZERO,
            looked: Look::NOTHING,
            hidden: SHORT_OF_CPU,
            had_more: false,
            reader: Reader::new(),
            last: Last { is_packed: false, len: 0 },
            is_alone: false,
            turn: None,
            sent_len: 0,
            has_history: false,
        }
    }

    /// One whose frames have history: they can't change their level, and small ones are worth packing.
    #[must_use]
    pub fn with_history(algorithm: Algorithm, level: u8) -> Self {
        let candidates = Candidate::only(algorithm, level);
        Self { candidates, has_history: true, ..Self::new(algorithm, level) }
    }

    /// Another connection over the same link has seen this rate, bytes per second.
    pub fn assume_link(&mut self, bytes_per_s: f64) {
        self.drain.assume(bytes_per_s);
        self.link_bytes_per_s.get_or_insert(bytes_per_s);
    }

    /// Another connection to the same reader has found whether packed bytes get through it sooner.
    pub const fn assume_reader(&mut self, gains: bool) {
        self.reader.assume(gains);
    }

    /// Whether packed bytes were found to get through the reader sooner, if it was ever the limit.
    #[must_use]
    pub const fn reader_gains(&self) -> Option<bool> {
        self.reader.found()
    }

    /// The rate of the link, bytes per second, if it was ever the limit.
    #[must_use]
    pub fn link_bytes_per_s(&self) -> Option<f64> {
        self.link_bytes_per_s
    }

    /// The socket was looked at; call it before a choice, and again before what it led to is sent.
    pub fn look(&mut self, look: Look) {
        self.now = look.now;
        self.looked = look;
        self.reader.look(&look, self.last, self.link_bytes_per_s);
        self.drain.look(look.now, look.queued_len);
        if !self.reader.is_limit() {
            self.link_bytes_per_s = self.drain.bytes_per_s();
        }
    }

    /// What to do with a frame of `plain_len` bytes; `more` follow it at once, or somebody waits for it.
    /// `replies` is what all connections of this link and direction share.
    pub fn choose(&mut self, plain_len: usize, more: bool, now: Duration, replies: &mut Replies) -> Choice {
        self.now = now;
        self.is_alone = !more && !self.had_more;
        if self.is_alone
            && let Some(choice) = self.alone(number(plain_len), replies)
        {
            return choice;
        }
        let choice = self.in_a_queue(plain_len, more);
        self.had_more = more;
        choice
    }

    /// A frame that waits for an answer.
    fn alone(&mut self, len: f64, replies: &mut Replies) -> Option<Choice> {
        if len >= LARGE_LEN && self.drain.bytes_per_s().is_some() {
            return None;
        }
        let level = match self.thriftiest(len) {
            Some(candidate) => Some(candidate.level()),
            None => self
                .candidates
                .first_mut()
                .and_then(|easiest| easiest.takes_turn(len, true).then(|| easiest.level())),
        };
        let Some(level) = level else {
            return Some(Choice { level: None, reason: Reason::DoesNotShrink });
        };
        let pack_s = self.candidates.iter().find(|candidate| candidate.level() == level)?.pack_s(len);
        let cost_s = pack_s + self.unpack_s(len);
        let round_trip_s = self.looked.round_trip.as_secs_f64();
        let packs = replies.packs(self.now, self.reply(len), cost_s, round_trip_s);
        let reason = if packs { Reason::AnswerIsSooner } else { Reason::AnswerIsNotSooner };
        Some(Choice { level: packs.then_some(level), reason })
    }

    const fn reply(&self, len: f64) -> Reply {
        Reply { len, has_history: self.has_history }
    }

    fn in_a_queue(&mut self, plain_len: usize, more: bool) -> Choice {
        let Some(rate) = self.drain.bytes_per_s() else {
            return Choice { level: None, reason: Reason::LinkNotSeen };
        };
        let frame = Frame { len: number(plain_len), more, queue_s: self.looked.busy_s(rate) };
        if let Some(level) = self.untried(&frame, rate) {
            return Choice { level: Some(level), reason: Reason::TriesLevel };
        }
        let Some((level, packed_s)) = self.fastest(&frame, rate) else {
            // The first of several doesn't count: there was nothing to be busy with.
            if self.had_more {
                self.hidden = 0;
            }
            let is_known = self.thriftiest(frame.len).is_some();
            let reason = if is_known { Reason::LinkIsIdle } else { Reason::DoesNotShrink };
            return Choice { level: None, reason };
        };
        self.hidden = self.hidden.saturating_add(1);
        if packed_s >= frame.len / rate * GAIN_MIN {
            return Choice { level: None, reason: Reason::Slower };
        }
        if !(self.reader.is_limit() && more) {
            return Choice { level: Some(level), reason: Reason::Faster };
        }
        let pack_s = self
            .candidates
            .iter()
            .find(|candidate| candidate.level() == level)
            .map_or(0.0, |it| it.pack_s(frame.len));
        let codec_s_per_byte = (pack_s + self.unpack_s(frame.len)) / frame.len;
        if self.reader.packs(self.now, codec_s_per_byte) {
            Choice { level: Some(level), reason: Reason::ReaderGains }
        } else {
            Choice { level: None, reason: Reason::ReaderLoses }
        }
    }

    /// A level that is not known on such data, where trying it costs no time of the link's, or hardly any.
    fn untried(&mut self, frame: &Frame, rate: f64) -> Option<u8> {
        let easiest = self.candidates.first()?.level();
        self.candidates.iter_mut().find_map(|candidate| {
            let pack_s = candidate.pack_s(frame.len);
            // The easiest may gain on an idle link, too, if it does what it mostly does.
            let is_easiest = candidate.level() == easiest;
            let is_hoped =
                pack_s * (1.0 + 1.0 / UNPACKING_IS_FASTER) < frame.len / rate * (1.0 - 1.0 / RATIO_HOPED);
            let may = pack_s < frame.queue_s * GUESS_IS_CAUTIOUS || (is_easiest && is_hoped);
            candidate.takes_turn(frame.len, may).then(|| candidate.level())
        })
    }

    /// The level that takes most bytes off the link in its time.
    fn thriftiest(&self, len: f64) -> Option<&Candidate> {
        let known = self.candidates.iter().filter_map(|candidate| {
            let ratio = candidate.ratio(len)?;
            Some((candidate, (1.0 - 1.0 / ratio) / candidate.pack_s(len)))
        });
        known.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(candidate, _)| candidate)
    }

    /// Lately a frame went stored because the link had nothing to do.
    fn is_short_of_cpu(&self) -> bool {
        self.hidden < SHORT_OF_CPU
    }

    /// How long the receiver unpacks a frame, which hardly depends on the level.
    fn unpack_s(&self, len: f64) -> f64 {
        self.candidates.first().map_or(0.0, |easiest| easiest.pack_s(len)) / UNPACKING_IS_FASTER
    }

    /// The level that costs the least time at this rate of the link, and that time.
    fn fastest(&self, frame: &Frame, rate: f64) -> Option<(u8, f64)> {
        let unpack_s = self.unpack_s(frame.len);
        let thriftiest = self.thriftiest(frame.len)?;
        let mut best: Option<(u8, f64)> = None;
        for candidate in &self.candidates {
            let Some(ratio) = candidate.ratio(frame.len) else { continue };
            let is_thriftiest = candidate.level() == thriftiest.level();
            if self.is_short_of_cpu() && !is_thriftiest {
                continue;
            }
            let pack_s = candidate.pack_s(frame.len);
            let link_s = frame.len / ratio / rate;
            let time_s = if frame.more && frame.len <= ALONE_LEN {
                // A harder level leaves enough of the queue for the next frame.
                let next_s = if is_thriftiest { 0.0 } else { thriftiest.pack_s(frame.len) };
                if pack_s + next_s > frame.queue_s {
                    continue;
                }
                link_s.max(unpack_s)
            } else {
                (pack_s - frame.queue_s).max(0.0) + link_s + unpack_s
            };
            if best.is_none_or(|(_, best_s)| time_s < best_s * GAIN_OF_LEVEL) {
                best = Some((candidate.level(), time_s));
            }
        }
        best
    }

    /// Nothing is sent any more.
    pub fn left(&mut self, replies: &mut Replies) {
        if let Some(turn) = self.turn.take() {
            replies.left(turn, self.now);
        }
    }

    /// Frames of several packets should end at this length, and so many bytes may wait in the socket behind those that are on
    /// their way: little as long as nothing is known of the link, since all of it is sent before anything is known.
    #[must_use]
    pub fn room(&self) -> Room {
        match self.drain.bytes_per_s() {
            None if self.sent_len < UNKNOWN_LEN => {
                Room { frame_len: FIRST_FRAME_LEN, unsent_len: UNSENT_LEN_MIN }
            }
            None => Room { frame_len: usize::MAX, unsent_len: UNSENT_LEN_MAX },
            Some(rate) => {
                // In steps, so that it rarely changes.
                let steps = [UNSENT_LEN_MIN, UNSENT_LEN_MIN * 2];
                let enough = steps.into_iter().find(|len| rate * UNSENT_S <= *len as f64);
                Room { frame_len: usize::MAX, unsent_len: enough.unwrap_or(UNSENT_LEN_MAX) }
            }
        }
    }

    /// Whether the next choice depends on the socket: call [`look`](Self::look) then.
    #[must_use]
    pub const fn is_in_a_queue(&self) -> bool {
        self.had_more
    }

    /// A frame was packed, whether or not it became smaller.
    pub fn packed(&mut self, level: u8, plain_len: usize, packed_len: usize, took: Duration) {
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.level() == level) {
            candidate.learn(number(plain_len), number(packed_len), took.as_secs_f64());
        }
    }

    /// A frame of `plain_len` bytes was handed over as `len` bytes.
    pub fn sent(&mut self, plain_len: usize, len: usize, now: Duration, replies: &mut Replies) {
        self.now = now;
        if self.is_alone {
            self.turn = Some(replies.sent(now, self.reply(number(plain_len)), self.turn));
        } else {
            self.left(replies);
        }
        self.sent_len += len as u64;
        self.last = Last { is_packed: len < plain_len, len: len as u64 };
        self.reader.sent(plain_len, len);
        self.drain.sent(len as u64);
    }
}

/// The frame that was sent last.
#[derive(Debug, Clone, Copy)]
struct Last {
    is_packed: bool,
    /// As it was sent.
    len: u64,
}

/// What is to be decided about.
struct Frame {
    /// Plain bytes.
    len: f64,
    /// Others follow it at once.
    more: bool,
    /// How long the link is busy with what was sent before.
    queue_s: f64,
}

fn number(len: usize) -> f64 {
    len as f64
}

/// Packed has to be so much faster: what is known is not known better.
const GAIN_MIN: f64 = 0.97;
/// A harder level has to be so much faster than an easier one: it takes more CPU.
const GAIN_OF_LEVEL: f64 = 0.95;
/// Unpacking is faster than packing by at least this, for every algorithm and level (`examples/speeds.rs`).
const UNPACKING_IS_FASTER: f64 = 2.0;
/// What is hoped of data that was never packed.
const RATIO_HOPED: f64 = 1.5;
/// As long as a frame in so many goes stored for want of time, the time goes where it saves most.
const SHORT_OF_CPU: u32 = 128;
/// A link that took so much without a queue has none.
const UNKNOWN_LEN: u64 = 1 << 20;
const FIRST_FRAME_LEN: usize = 32 << 10;
/// What waits in the socket keeps the link busy for so long, many times what packing a frame takes, and no longer: as
/// much is sent in the old way after a change.
const UNSENT_S: f64 = 4e-3;
const UNSENT_LEN_MIN: u64 = 64 << 10;
const UNSENT_LEN_MAX: u64 = 256 << 10;
/// Frames of this length leave a queue, if the link is slow.
const LARGE_LEN: f64 = 64.0 * 1024.0;
/// Longer frames are large packets, which nothing else hides.
const ALONE_LEN: f64 = 256.0 * 1024.0;
