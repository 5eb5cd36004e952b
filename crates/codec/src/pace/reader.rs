//! Where the reader's window is what holds bytes back: which form it gets through sooner.
//!
//! ```text
//!  sent │▒▒▒▒ stored ▒▒▒▒│░░ packed ░░│          phase: stored ──────│ packed ──────│ the better one ─────│ the other …
//!       └ read ┘└ window closed ┘                       rate, from when the reader has read all of the form before
//! ```
//! Who reads slowly may be busy with the rows, and then unpacking them as well makes it slower. Or it is a tunnel or another
//! proxy with a slow link behind it, and then packing makes it faster. Its window looks the same. So both forms are tried,
//! and what counts is plain bytes that were read in a second: what was acknowledged, without what the window says is still
//! in the receiver's buffer.
//!
//! Invariants: a form is measured behind what buffers still hold of the other; what a trial may cost is bounded.
//!
//! Not here: links, of which one rate tells both forms (`drain`).

use std::collections::VecDeque;
use std::time::Duration;

use super::{Last, Look};

/// What is known of a reader.
#[derive(Debug)]
pub(super) struct Reader {
    /// It is what others wait for.
    limit: Option<Limit>,
    /// The largest window that was seen: its buffer.
    buffer_len: u64,
    /// Lengths of all that was sent, and of what of it was read: as it was sent, and plain.
    sent: Lengths,
    read: Lengths,
    /// The same at frames' ends, of what was not read yet.
    ends: VecDeque<Lengths>,
    packs: bool,
    phase: Option<Phase>,
    /// Plain bytes that are read in a second.
    rates: Rates,
    due: Duration,
    pause: Duration,
    /// Packed is not tried before so many plain bytes were sent.
    due_len: f64,
    /// What another connection to it has found.
    assumed: Option<bool>,
    /// What was found here, and when.
    found: Option<(bool, Duration)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Rates {
    stored: Option<f64>,
    packed: Option<f64>,
}

impl Rates {
    const fn of(&mut self, packed: bool) -> &mut Option<f64> {
        if packed { &mut self.packed } else { &mut self.stored }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Lengths {
    len: f64,
    plain_len: f64,
}

/// The reader is the limit, unless something else is for a while.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// Since when something waits, and not for it.
    other_since: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Phase {
    /// What had been sent by then.
    sent: Lengths,
    /// When all of the form before was read, and the plain bytes that were read by then.
    measured: Option<(Duration, f64)>,
    is_told: bool,
}

impl Reader {
    pub(super) const fn new() -> Self {
        Self {
            limit: None,
            buffer_len: 0,
            sent: Lengths { len: 0.0, plain_len: 0.0 },
            read: Lengths { len: 0.0, plain_len: 0.0 },
            ends: VecDeque::new(),
            packs: false,
            phase: None,
            rates: Rates { stored: None, packed: None },
            due: Duration::ZERO,
            pause: PAUSE_MIN,
            due_len: 0.0,
            assumed: None,
            found: None,
        }
    }

    /// Another connection to it has found whether packed is faster.
    pub(super) const fn assume(&mut self, packs: bool) {
        self.assumed = Some(packs);
    }

    /// Whether packed was found to be faster, here, and when.
    pub(super) const fn found(&self) -> Option<(bool, Duration)> {
        self.found
    }

    /// Whether it is what others wait for.
    pub(super) const fn is_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// A frame was handed over.
    pub(super) fn sent(&mut self, plain_len: usize, len: usize) {
        self.sent.len += len as f64;
        self.sent.plain_len += plain_len as f64;
        self.ends.push_back(self.sent);
        if self.ends.len() > ENDS_MAX {
            self.ends.pop_front();
        }
    }

    /// Follows what was read.
    fn follow(&mut self, acknowledged_len: f64, unread_len: f64) {
        let len = (acknowledged_len - unread_len).max(self.read.len);
        while let Some(end) = self.ends.front().copied() {
            if end.len > len {
                // Within a frame, in proportion.
                let part = (len - self.read.len) / (end.len - self.read.len).max(1.0);
                self.read.plain_len += (end.plain_len - self.read.plain_len) * part;
                self.read.len = len;
                return;
            }
            self.read = end;
            self.ends.pop_front();
        }
    }

    /// The socket was looked at; the link was seen to carry so much when it was the limit.
    pub(super) fn look(&mut self, look: &Look, last: Last, link_bytes_per_s: Option<f64>) {
        self.buffer_len = self.buffer_len.max(look.window_len);
        let acknowledged_len = (self.sent.len - look.unacknowledged_len() as f64).max(0.0);
        self.follow(acknowledged_len, (self.buffer_len - look.window_len) as f64);
        if look.reader_waits && look.queued_len > 0 {
            if self.limit.replace(Limit { other_since: None }).is_none() {
                // Whatever is done goes on; what stored bytes would do is known if packed ones made it the limit.
                let stored = link_bytes_per_s.filter(|_| last.is_packed);
                self.packs = match self.assumed {
                    Some(packs) => packs,
                    None => stored.is_some(),
                };
                self.rates = Rates { stored, packed: None };
                self.phase = None;
                if self.assumed == Some(false) {
                    self.due = look.now + PAUSE_ASSUMED;
                }
            }
            return;
        }
        // Nothing waits while its buffer fills with packed bytes; that says nothing. Stored ones wait for the link then.
        let Some(limit) = &mut self.limit else { return };
        let says_nothing_len = if last.is_packed { last.len } else { 0 };
        if look.waiting_len() <= says_nothing_len {
            limit.other_since = None;
        } else if look.now.saturating_sub(*limit.other_since.get_or_insert(look.now)) >= OTHER_TIME {
            self.limit = None;
            // Should it be again, that is not tried from the start.
            self.assumed = self.found.map(|(packs, _)| packs).or(self.assumed);
        }
    }

    /// Whether to pack for it; both ends' codecs take `codec_s_per_byte`.
    pub(super) fn packs(&mut self, now: Duration, codec_s_per_byte: f64) -> bool {
        // If packing is no use at all it takes this part of the time besides.
        let loss = self.rates.stored.unwrap_or_default() * codec_s_per_byte * COMPETITION;
        let (sent, read) = (self.sent, self.read);
        let phase = self.phase.get_or_insert(Phase { sent, measured: None, is_told: false });
        let tried_len = sent.plain_len - phase.sent.plain_len;
        if self.packs && !phase.is_told && tried_len * loss > sent.plain_len * LOSS_MAX {
            // What packs very well takes long to be read. It is tried again when a trial may be longer.
            self.due_len = sent.plain_len * 2.0;
            self.turn(false);
            return false;
        }
        let Some((since, from)) = phase.measured else {
            if read.len >= phase.sent.len {
                phase.measured = Some((now, read.plain_len));
            }
            return self.packs;
        };
        let time = now.saturating_sub(since);
        if time < MEASURED_TIME {
            return self.packs;
        }
        *self.rates.of(self.packs) = Some((read.plain_len - from) / time.as_secs_f64());
        phase.measured = Some((now, read.plain_len));
        let Rates { stored, packed } = self.rates;
        if !std::mem::replace(&mut phase.is_told, true) {
            let is_clear = stored.zip(packed).is_some_and(|(a, b)| a.max(b) > a.min(b) * CLEAR);
            self.due = now + if is_clear { self.pause * 4 } else { self.pause };
        }
        let packs = match (stored, packed) {
            (Some(stored), Some(packed)) => packed > stored * GAIN_MIN,
            (None, _) => false,
            // A trial has to be cheap in terms of everything before it begins.
            (Some(stored), None) => {
                let trial_len = stored * MEASURED_TIME.as_secs_f64();
                sent.plain_len >= self.due_len.max(trial_len * loss / LOSS_MAX)
                    && (self.assumed != Some(false) || now >= self.due)
            }
        };
        if stored.is_some() && packed.is_some() {
            self.found = Some((packs, now));
        }
        if packs != self.packs {
            // A trial that lost, or the first look at the other form.
            self.turn(packs);
        } else if now >= self.due && sent.plain_len >= self.due_len {
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            *self.rates.of(!packs) = None;
            self.turn(!packs);
        }
        self.packs
    }

    fn turn(&mut self, packs: bool) {
        self.packs = packs;
        self.phase = None;
    }
}

/// Something else is the limit for so long.
const OTHER_TIME: Duration = Duration::from_millis(50);
/// Frames that are not read yet; what is older counts as read with the oldest of them.
const ENDS_MAX: usize = 4096;
/// Long enough for a rate that is known to a few per cent.
const MEASURED_TIME: Duration = Duration::from_millis(50);
/// Packed has to be so much faster: it takes CPU.
const GAIN_MIN: f64 = 1.03;
/// Codecs are so much slower where their threads compete with the reader's for cores.
const COMPETITION: f64 = 2.0;
/// What a trial may cost, in terms of everything.
const LOSS_MAX: f64 = 0.01;
/// A form that is so much faster is tried against the other less often.
const CLEAR: f64 = 1.5;
/// Between two trials of the form that lost.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// After what another connection has found.
const PAUSE_ASSUMED: Duration = Duration::from_secs(4);
const PAUSE_MAX: Duration = Duration::from_secs(16);

#[cfg(test)]
mod tests {
    use super::*;

    fn look(ms: u64, reader_waits: bool, unsent_len: u64) -> Look {
        let now = Duration::from_millis(ms);
        Look { now, reader_waits, queued_len: 300_000, unsent_len, window_len: 200_000, ..Look::NOTHING }
    }

    /// Whether it still passes for the limit `ms` after its window was closed once, behind such frames.
    fn is_limit_after(ms: u64, is_packed: bool, unsent_len: u64) -> bool {
        let mut reader = Reader::new();
        let last = Last { is_packed, len: 131_000 };
        reader.look(&look(0, true, unsent_len), last, Some(12e6));
        assert!(reader.is_limit());
        (1..=ms).for_each(|ms| reader.look(&look(ms, false, unsent_len), last, Some(12e6)));
        reader.is_limit()
    }

    #[test]
    fn a_reader_that_was_late_once_is_no_limit_any_more_when_stored_frames_wait_for_the_link() {
        assert!(is_limit_after(40, false, 64_000));
        assert!(!is_limit_after(60, false, 64_000));
        // A source that is slow, or a buffer that fills with packed bytes, says nothing.
        assert!(is_limit_after(60, false, 0));
        assert!(is_limit_after(60, true, 64_000));
    }
}
