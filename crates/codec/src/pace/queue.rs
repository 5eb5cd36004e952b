//! A frame behind or before others, or a large one: which level costs the least time, by the rate of the link and what waits
//! for it.
//!
//! Not here: frames that wait for an answer (`replies`), what a level does (`candidate`).

use super::candidate::{Candidate, GUESS_IS_CAUTIOUS, SMALL_LEN};
use super::{Choice, LARGE_LEN, Pace, Reason, UNKNOWN_LEN, number};
use crate::{Algorithm, plain_bytes_per_ms};

/// What is to be decided about.
struct Frame {
    /// Plain bytes.
    len: f64,
    /// Others follow it at once.
    more: bool,
    /// It should go stored for want of time of the core's, if it is one of several.
    is_due: bool,
    /// How long the link is busy with what was sent before.
    queue_s: f64,
    /// How long it takes until all of it is here.
    missing_s: f64,
}

impl Pace {
    /// What to do with a frame whose last byte is here in `missing_s`.
    pub(super) fn in_a_queue(&mut self, plain_len: usize, more: bool, missing_s: f64) -> Choice {
        let Some(rate) = self.drain.bytes_per_s() else {
            return Choice { level: None, reason: Reason::LinkNotSeen };
        };
        let queue_s = self.queue_s(rate);
        self.follow_idleness(queue_s, rate);
        let is_due = more && self.pauses.is_due(queue_s);
        let frame = Frame { len: number(plain_len), more, is_due, queue_s, missing_s };
        if let Some(level) = self.untried(&frame, rate) {
            return Choice { level: Some(level), reason: Reason::TriesLevel };
        }
        let Some((level, packed_s)) = self.fastest(&frame, rate) else {
            if let Some(level) = self.packs_as_it_encrypts(frame.len) {
                return Choice { level: Some(level), reason: Reason::Faster };
            }
            self.pauses.stored();
            // The first of several doesn't count: there was nothing to be busy with.
            if self.had_more {
                self.hidden = 0;
            }
            let is_known = self.thriftiest(frame.len).is_some();
            let reason = if is_known { Reason::LinkIsIdle } else { Reason::DoesNotShrink };
            return Choice { level: None, reason };
        };
        let is_long =
            self.thriftiest(frame.len).is_some_and(|it| it.pack_s(frame.len) * QUEUE_IS_LONG < queue_s);
        self.hidden = self.hidden.saturating_add(if is_long { HIDDEN_WELL } else { 1 });
        let stored_s = (frame.len / rate).max(missing_s - queue_s);
        if packed_s >= stored_s * GAIN_MIN {
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

    /// How long the link is busy with what was sent before. What a look finds on its way may have been delivered and not
    /// acknowledged; but of a burst that has only begun nothing has left sooner than the link carries it.
    fn queue_s(&self, rate: f64) -> f64 {
        let seen_s = self.looked.busy_at_s(self.now, self.since_look_len, rate);
        if self.burst_len > BURST_LEN {
            return seen_s;
        }
        let there_s = (self.looked.unacknowledged_len() + self.since_look_len) as f64 / rate;
        let carried_s = self.busy_until.saturating_sub(self.now).as_secs_f64();
        seen_s.max(carried_s.min(there_s))
    }

    /// A frame of several while nothing is known of the link. What packs as fast as it is encrypted is no slower packed, whatever
    /// the link; and what one early frame tells of the data is known when the link is.
    pub(super) fn over_any_link(&mut self, len: f64) -> Choice {
        let round_trip_s = self.looked.round_trip.as_secs_f64();
        let stored = Choice { level: None, reason: Reason::LinkNotSeen };
        let Some(easiest) = self.candidates.first().filter(|_| len >= SMALL_LEN) else { return stored };
        let packed = |reason| Choice { level: Some(easiest.level()), reason };
        match easiest.ratio(len) {
            None if easiest.is_new() && easiest.likely_s(len) <= TRIAL_S.max(round_trip_s * TRIAL_PART) => {
                packed(Reason::TriesLevel)
            }
            Some(ratio) if self.encrypts && ratio >= RATIO_ANYWHERE && easiest.is_cold() => {
                packed(Reason::TriesLevel)
            }
            _ if self.packs_as_it_encrypts(len).is_some() => packed(Reason::Faster),
            None if self.is_sooner_in_slow_start(len) => packed(Reason::TriesLevel),
            Some(_) if self.is_sooner_in_slow_start(len) => packed(Reason::Faster),
            _ => stored,
        }
    }

    /// Whether a large packet, or a burst, over a link that nothing is known of is there sooner packed, whatever that carries: a
    /// fresh connection sends twice as much with each round trip, so half of it is there one sooner, which packing must not take.
    /// That is all of the packet, and of a burst as much as may be sent before the link is known.
    pub(super) fn is_sooner_in_slow_start(&self, len: f64) -> bool {
        // What packs to hardly anything never leaves a queue, so the link stays unknown however much is sent.
        let is_behind_much = self.sent_len >= UNKNOWN_LEN;
        if is_behind_much && !self.packs_to_hardly_anything(len) {
            return false;
        }
        let are_many = len < LARGE_LEN || is_behind_much;
        let frames = if are_many { (UNKNOWN_LEN as f64 / len).max(1.0) } else { 1.0 };
        self.candidates.first().is_some_and(|easiest| {
            let hoped = if easiest.rests() { 1.0 } else { RATIO_HOPED };
            let ratio = easiest.ratio(len).unwrap_or(hoped).min(RATIO_ANYWHERE);
            let pack_s = easiest.warm_s(len) * frames + self.helper_s;
            let round_trip_s = self.looked.round_trip.as_secs_f64();
            let saved_s = round_trip_s * ratio.log2();
            ratio >= RATIO_HOPED && pack_s * (1.0 + 1.0 / UNPACKING_IS_FASTER) < saved_s * SLOW_START_PART
        })
    }

    /// Whether many frames are little.
    pub(super) fn packs_to_hardly_anything(&self, len: f64) -> bool {
        self.candidates
            .first()
            .and_then(|easiest| easiest.ratio(len))
            .is_some_and(|ratio| ratio >= RATIO_ANYWHERE)
    }

    /// The easiest level, if it takes less time than encrypting what it saves. Copying into a socket is
    /// no such cost: equal rows pack at 6 GB/s, and were mostly there sooner stored where server and proxy share a core.
    pub(super) fn packs_as_it_encrypts(&self, len: f64) -> Option<u8> {
        let easiest = self.candidates.first().filter(|_| self.encrypts)?;
        let saved_len = len * (1.0 - 1.0 / easiest.ratio(len)?);
        (easiest.pack_s(len) < saved_len / ENCRYPTED_BYTES_PER_S).then(|| easiest.level())
    }

    /// A level that is not known on such data, where trying it costs no time of the link's, or hardly any.
    fn untried(&mut self, frame: &Frame, rate: f64) -> Option<u8> {
        let easiest = self.candidates.first()?;
        // What it makes no use of, harder ones make hardly any: incompressible data is tried by it alone.
        let tried_len = if easiest.rests() { 1 } else { self.candidates.len() };
        // Behind a queue that hides the hardest for several frames those between are not worth a trial.
        let is_known = !easiest.is_new() && easiest.ratio(frame.len).is_some();
        let is_hidden = |it: &&Candidate| it.likely_s(frame.len) * QUEUE_IS_LONG < frame.queue_s;
        let only = self.candidates.last().filter(is_hidden).filter(|_| is_known).map(Candidate::level);
        let easiest = easiest.level();
        let known = self.candidates.iter().filter_map(|it| Some((it.ratio(frame.len)?, it.level())));
        let best = known.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, level)| level);
        let (algorithm, waits_s) = (self.algorithm, self.helper_s);
        let helper_s = |candidate: &Candidate, len| wait_s(algorithm, candidate, len, waits_s);
        let tried = self.candidates.iter_mut().take(tried_len);
        let mut tried = tried.filter(|it| only.is_none_or(|hardest| it.level() == hardest));
        tried.find_map(|candidate| {
            let pack_s = candidate.pack_s(frame.len) + helper_s(candidate, frame.len);
            // The easiest may gain on an idle link, too, if it does what it mostly does.
            let is_easiest = candidate.level() == easiest;
            let is_hoped =
                pack_s * (1.0 + 1.0 / UNPACKING_IS_FASTER) < frame.len / rate * (1.0 - 1.0 / RATIO_HOPED);
            let may = pack_s < frame.queue_s * GUESS_IS_CAUTIOUS || (is_easiest && is_hoped);
            let packs_best = best == Some(candidate.level());
            candidate.takes_turn(frame.len, may, packs_best).then(|| candidate.level())
        })
    }

    /// The level that takes most bytes off the link in its time, a harder one clearly more than an easier.
    pub(super) fn thriftiest(&self, len: f64) -> Option<&Candidate> {
        let known = self.candidates.iter().filter_map(|candidate| {
            let ratio = candidate.ratio(len)?;
            Some((candidate, (1.0 - 1.0 / ratio) / candidate.pack_s(len)))
        });
        let best =
            known.reduce(|easier, harder| if easier.1 < harder.1 * GAIN_OF_LEVEL { harder } else { easier });
        best.map(|(candidate, _)| candidate)
    }

    /// Sees whether the link was done with most of a stored frame when the next one came.
    fn follow_idleness(&mut self, queue_s: f64, rate: f64) {
        let busy_until = if queue_s > 0.0 { self.now } else { self.busy_until };
        self.pauses.follow(self.now, self.had_more, busy_until);
        if self.had_more && !self.last.is_packed {
            // A full socket takes the next one when half of what it holds is left.
            let held_len = self.last.len.min(self.room().unsent_len / 2);
            let is_idle = queue_s * rate < held_len as f64 * IDLE_BEHIND;
            self.idle_part += (f64::from(u8::from(is_idle)) - self.idle_part) / IDLE_MEMORY;
        }
    }

    /// What frames wait for is where they come from, even if some find a short queue: work for it may be taken from a server on
    /// the same core.
    fn source_is_limit(&self) -> bool {
        self.idle_part > 0.5
    }

    /// Lately a frame went stored because the link had nothing to do.
    fn is_short_of_cpu(&self) -> bool {
        self.hidden < SHORT_OF_CPU
    }

    /// How long the receiver unpacks a frame, which hardly depends on the level.
    pub(super) fn unpack_s(&self, len: f64) -> f64 {
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
            let pack_s =
                candidate.pack_s(frame.len) + wait_s(self.algorithm, candidate, frame.len, self.helper_s);
            let link_s = frame.len / ratio / rate;
            let time_s = if frame.more && frame.len <= ALONE_LEN {
                // A harder level leaves enough of the queue for the next frame.
                let next_s = if is_thriftiest { 0.0 } else { thriftiest.pack_s(frame.len) };
                let idle_s = (pack_s + next_s - frame.queue_s).max(0.0);
                let time_s = idle_s + link_s.max(unpack_s);
                // While the link is idle the next frame isn't sent either, unless this one saves far more than that, or is the
                // first and will be the only one that the link waits for, though hardly anything may follow that hides its unpacking.
                let stored_s = frame.len / rate;
                let keeps_up = !self.had_more
                    && pack_s < link_s
                    && pack_s + link_s + unpack_s < stored_s * GAIN_MIN
                    && !self.source_is_limit();
                let saved_s = stored_s - time_s;
                let pays = (time_s < stored_s * IDLE_PAYS && saved_s > IDLE_PAYS_S)
                    || (time_s < stored_s * IDLE_PAYS_MUCH
                        && self.fastest_bytes_per_s <= IDLE_PAYS_MUCH_RATE);
                if (idle_s > 0.0 || frame.is_due || self.source_is_limit()) && !(pays || keeps_up) {
                    continue;
                }
                time_s
            } else {
                (frame.missing_s + pack_s - frame.queue_s).max(0.0) + link_s + unpack_s
            };
            if best.is_none_or(|(_, best_s)| time_s < best_s * GAIN_OF_HARDER) {
                best = Some((candidate.level(), time_s));
            }
        }
        best
    }
}

/// How long a frame waits for a thread, if it is so long that a worker doesn't pack it itself.
fn wait_s(algorithm: Algorithm, candidate: &Candidate, len: f64, waits_s: f64) -> f64 {
    let is_short = len <= plain_bytes_per_ms(algorithm, candidate.level()) as f64;
    if is_short { 0.0 } else { waits_s }
}

/// Packed has to be so much faster: what is known is not known better.
const GAIN_MIN: f64 = 0.97;
/// Part of the time of a stored frame in which a packed one has to be through if the link waits for it meanwhile. Where link
/// and CPU cross it is longer, and frames of both forms are faster.
const IDLE_PAYS: f64 = 0.5;
/// And what it has to save: on a faster link it may be the reader that is waited for.
const IDLE_PAYS_S: f64 = 2e-3;
/// Where it is through in so little of it, what the kernels need for the bytes that are saved is more than packing; over a link
/// that was never seen to be faster than so many bytes per second, since it may be the reader that is waited for.
const IDLE_PAYS_MUCH: f64 = 0.2;
const IDLE_PAYS_MUCH_RATE: f64 = 140e6;
/// Of a stored frame so much may still be in the queue of an idle link when the next one comes.
const IDLE_BEHIND: f64 = 0.5;
/// Frames.
const IDLE_MEMORY: f64 = 16.0;
/// A harder level has to save so much more in its time than an easier one.
const GAIN_OF_LEVEL: f64 = 0.95;
/// And to be so much faster where it has the time: what is known of either is not known better.
const GAIN_OF_HARDER: f64 = 0.98;
/// Unpacking is faster than packing by at least this, for every algorithm and level (`examples/speeds.rs`).
const UNPACKING_IS_FASTER: f64 = 2.0;
/// What is hoped of data that was never packed.
const RATIO_HOPED: f64 = 1.5;
/// What one frame of a connection may cost to see what its data does: less than its login did, and enough for a row of 64 KiB.
const TRIAL_S: f64 = 200e-6;
/// Or of a round trip.
const TRIAL_PART: f64 = 0.03;
/// Part of what is saved so that packing may take.
const SLOW_START_PART: f64 = 0.5;
/// Both ends' AES-GCM, and the copies into and out of records (a pair without compression, and one that packs: 1.2 ns for a byte).
const ENCRYPTED_BYTES_PER_S: f64 = 0.7e9;
/// What packs so well mostly packs faster than it is encrypted, but for the first frames, which pay for memory.
const RATIO_ANYWHERE: f64 = 16.0;
/// As long as a frame in so many goes stored for want of time, the time goes where it saves most.
pub(super) const SHORT_OF_CPU: u32 = 128;
/// A queue of so many times what a frame takes to be packed is no crossing's of link and CPU,
const QUEUE_IS_LONG: f64 = 4.0;
/// and one frame that it hides says as much as so many others.
const HIDDEN_WELL: u32 = 8;
/// Of so much the link's rate tells well enough what has left; behind more an error of it would count for more than
/// acknowledgements that are late.
const BURST_LEN: u64 = 256 << 10;
/// Longer frames are large packets, which nothing else hides.
const ALONE_LEN: f64 = 256.0 * 1024.0;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Look, Next, PackedFrame, Replies};
    use super::*;

    const MIB: usize = 1 << 20;

    /// Over 1 Gbit/s, with rows that level 1 packs to two fifths at 400 MB/s.
    fn pace(source_bytes_per_s: f64) -> Pace {
        let mut pace = Pace::new(Algorithm::Zstd, 1);
        pace.assume_link(125e6);
        for _ in 0..4 {
            pace.packed(PackedFrame::alone(1, MIB, MIB * 2 / 5), Duration::from_secs_f64(MIB as f64 / 400e6));
        }
        pace.collected(MIB, Duration::from_secs_f64(MIB as f64 / source_bytes_per_s));
        pace
    }

    fn early(source_bytes_per_s: f64) -> Choice {
        pace(source_bytes_per_s).choose_early(16 * MIB, 16 * MIB, Duration::ZERO, &mut Replies::default())
    }

    #[test]
    fn what_has_come_of_a_reply_that_goes_on_is_no_answer_that_somebody_waits_for() {
        let mut replies = Replies::default();
        let mut pace = pace(1e9);
        let now = Duration::from_secs(1);
        // Of an answer it is found out which form is sooner, and stored goes first.
        assert_eq!(pace.choose(48 << 10, Next::Unknown, now, &mut replies).reason, Reason::AnswerIsNotSooner);
        let part = pace.choose(48 << 10, Next::Comes, now, &mut replies);
        assert_eq!((part.level, part.reason), (Some(1), Reason::Faster));
        // Nor does the next frame end a cycle.
        pace.sent(48 << 10, 20 << 10, now, &mut replies);
        assert!(pace.turn.is_none());
        // Where nothing is known of the link, and no more has come than servers send at once, or next to nothing, it passes for one.
        let mut unknown = Pace::new(Algorithm::Zstd, 1);
        assert_eq!(
            unknown.choose(16 << 10, Next::Comes, now, &mut replies),
            unknown.choose(16 << 10, Next::Unknown, now, &mut replies)
        );
        assert_eq!(pace.choose(400, Next::Comes, now + now, &mut replies).reason, Reason::DoesNotShrink);
    }

    #[test]
    fn a_long_part_of_a_reply_over_a_link_that_nothing_is_known_of_is_no_answer() {
        // Scans of equal rows over 10 Mbit/s, 40 ms: the server sends a part, and goes on with others behind it.
        let scans = |frames, packed_len, cold_us, took_us| {
            let (mut replies, mut pace) = (Replies::default(), Pace::new(Algorithm::Zstd, 1));
            let (mut now, mut choices) = (Duration::from_secs(1), Vec::new());
            for frame in 0..frames {
                pace.look(Look { now, round_trip: Duration::from_millis(40), ..Look::NOTHING });
                let choice = pace.choose(64_000, Next::Comes, now, &mut replies);
                let mut len = 64_000;
                if let Some(level) = choice.level {
                    len = packed_len;
                    let took = Duration::from_micros(if frame == 0 { cold_us } else { took_us });
                    pace.packed(PackedFrame::alone(level, 64_000, len), took);
                }
                pace.sent(64_000, len, now, &mut replies);
                // It is no cycle of any form's.
                assert!(pace.turn.is_none());
                now += Duration::from_micros(if frame % 4 == 3 { 50_000 } else { 100 });
                choices.push((choice.reason, pace.wants_look(|| now)));
            }
            choices
        };
        // Also if the first was interrupted, and however much was sent that never left a queue.
        for packed in [scans(80, 80, 300, 10), scans(80, 80, 20_000, 10), scans(1000, 3000, 300, 10)] {
            assert_eq!(packed[0].0, Reason::TriesLevel);
            assert!(packed[1..].iter().all(|(reason, _)| *reason == Reason::Faster), "{packed:?}");
        }
        // If the codec is so slow they go stored, and are looked after, so that the link gets known.
        let slow = scans(80, 80, 20_000, 20_000);
        assert!(slow[4..16].iter().all(|choice| *choice == (Reason::LinkNotSeen, true)), "{slow:?}");
    }

    #[test]
    fn a_first_large_packet_is_packed_where_that_takes_less_than_the_round_trips_that_it_saves() {
        let first = |round_trip_s: f64, sent_len: usize, more: bool| {
            let mut pace = Pace::new(Algorithm::Zstd, 7);
            pace.look(Look { round_trip: Duration::from_secs_f64(round_trip_s), ..Look::NOTHING });
            pace.had_more = more;
            pace.sent(sent_len, sent_len, Duration::ZERO, &mut Replies::default());
            pace.choose_early(MIB, MIB, Duration::ZERO, &mut Replies::default()).level
        };
        for more in [false, true] {
            assert_eq!(first(40e-3, 100, more), Some(1), "{more}");
            assert_eq!(first(0.5e-3, 100, more), None, "{more}");
            // All of that without a queue.
            assert_eq!(first(40e-3, 2 * MIB, more), None, "{more}");
        }
    }

    #[test]
    fn so_are_the_first_frames_of_a_burst_until_the_link_must_have_shown_its_rate() {
        let choices = |round_trip_s: f64, cold_us, frames: usize| {
            let mut pace = Pace::new(Algorithm::Zstd, 7);
            pace.look(Look { round_trip: Duration::from_secs_f64(round_trip_s), ..Look::NOTHING });
            let (len, packed_len) = (32 << 10, 16 << 10);
            let mut took_us = cold_us;
            let mut choose = || {
                let choice = pace.choose(len, Next::Follows, Duration::ZERO, &mut Replies::default());
                if let Some(level) = choice.level {
                    let took = Duration::from_micros(std::mem::replace(&mut took_us, 80));
                    pace.packed(PackedFrame::alone(level, len, packed_len), took);
                }
                pace.sent(len, packed_len, Duration::ZERO, &mut Replies::default());
                choice.reason
            };
            (0..frames).map(|_| choose()).last()
        };
        assert_eq!(choices(40e-3, 80, 2), Some(Reason::Faster));
        assert_eq!(choices(40e-3, 80, 65), Some(Reason::LinkNotSeen));
        assert_eq!(choices(2e-3, 80, 2), Some(Reason::LinkNotSeen));
        // The first pays for new memory, of a cold core too.
        assert_eq!(choices(40e-3, 460, 2), Some(Reason::Faster));
    }

    #[test]
    fn behind_a_queue_that_hides_any_level_the_hardest_is_tried_next() {
        let next = |queued_len| {
            let mut pace = Pace::new(Algorithm::Zstd, 7);
            pace.assume_link(1.25e6);
            let mut pace = seen(pace, 128 << 10, 50_000, Duration::from_micros(400));
            let at = Duration::from_secs(1);
            pace.look(Look { now: at, queued_len, unsent_len: queued_len, ..Look::NOTHING });
            pace.choose(128 << 10, Next::Follows, at, &mut Replies::default())
        };
        // 200 ms of it.
        assert_eq!(next(256 << 10), Choice { level: Some(7), reason: Reason::TriesLevel });
        assert_eq!(next(8 << 10), Choice { level: Some(3), reason: Reason::TriesLevel });
    }

    #[test]
    fn a_long_frame_that_paid_for_new_memory_is_believed_of_no_level_that_packs_best() {
        let mut pace = Pace::new(Algorithm::Zstd, 7);
        pace.assume_link(12.5e6);
        let mut levels = Vec::new();
        for ms in (0..8).map(|frame| 20 * frame) {
            let at = Duration::from_millis(ms);
            pace.look(Look { now: at, queued_len: 300_000, unsent_len: 300_000, ..Look::NOTHING });
            let choice = pace.choose(MIB, Next::Unknown, at, &mut Replies::default());
            let Some(level) = choice.level else { panic!("{choice:?} behind {levels:?}") };
            let is_first = !levels.contains(&level);
            let (packed_len, took_ms) =
                if level == 7 { (280_000, if is_first { 60 } else { 18 }) } else { (320_000, 3) };
            pace.packed(PackedFrame::alone(level, MIB, packed_len), Duration::from_millis(took_ms));
            pace.sent(MIB, packed_len, at, &mut Replies::default());
            levels.push(level);
        }
        assert_eq!(levels, [1, 7, 3, 7, 7, 7, 7, 7]);
    }

    #[test]
    fn a_large_packet_that_comes_slowly_is_not_held_up_to_be_packed() {
        assert_eq!(early(125e6), Choice { level: None, reason: Reason::Slower });
        assert_eq!(early(5e9).level, Some(1));
        // Once it is here.
        assert_eq!(
            pace(125e6).choose(16 * MIB, Next::Unknown, Duration::ZERO, &mut Replies::default()).level,
            Some(1)
        );
    }

    /// Packed four times.
    fn seen(mut pace: Pace, len: usize, packed_len: usize, took: Duration) -> Pace {
        for _ in 0..4 {
            pace.packed(PackedFrame::alone(1, len, packed_len), took);
        }
        pace
    }

    #[test]
    fn what_does_not_shrink_is_not_looked_at_and_queues_longer() {
        let mut pace = Pace::new(Algorithm::Zstd, 1);
        pace.assume_link(12.5e6);
        let mut pace = seen(pace, MIB, MIB + 9, Duration::from_millis(1));
        let at = Duration::from_secs(1);
        assert_eq!(pace.choose(MIB, Next::Follows, at, &mut Replies::default()).level, None);
        assert_eq!((pace.wants_look(|| at), pace.room().unsent_len), (false, 2 << 20));
        // It does again.
        let pace = seen(pace, MIB, MIB / 2, Duration::from_millis(1));
        assert_eq!((pace.wants_look(|| at), pace.room().unsent_len), (true, 64 << 10));
    }

    #[test]
    fn over_tls_packing_may_take_as_long_as_encrypting_what_it_saves() {
        let rows = |pace| {
            let mut pace = seen(pace, 64 << 10, 3 << 10, Duration::from_micros(60));
            pace.choose(64 << 10, Next::Follows, Duration::from_secs(1), &mut Replies::default())
        };
        assert_eq!(rows(Pace::new(Algorithm::Zstd, 1)).level, None);
        assert_eq!(rows(Pace::new(Algorithm::Zstd, 1).over_tls()).level, Some(1));
    }

    #[test]
    fn a_single_reply_that_packs_as_it_encrypts_needs_no_trial() {
        let mut pace = seen(Pace::new(Algorithm::Zstd, 1).over_tls(), 60_000, 200, Duration::from_micros(12));
        let choice = pace.choose(60_000, Next::Unknown, Duration::from_secs(1), &mut Replies::default());
        assert_eq!(choice, Choice { level: Some(1), reason: Reason::Faster });
    }

    #[test]
    fn what_was_in_the_queue_at_an_old_look_has_left_it() {
        let mut pace = pace(5e9);
        let at = Duration::from_secs(1);
        pace.look(Look { now: at, queued_len: 1 << 20, unsent_len: 1 << 20, ..Look::NOTHING });
        let mut then =
            |ms| pace.choose(100_000, Next::Follows, at + Duration::from_millis(ms), &mut Replies::default());
        assert_eq!(then(0), Choice { level: Some(1), reason: Reason::Faster });
        assert_eq!(then(20), Choice { level: None, reason: Reason::LinkIsIdle });
    }

    #[test]
    fn a_short_queue_hides_no_packing_where_frames_wait_for_their_source() {
        let last_choice = |source_is_limit| {
            let mut pace = Pace::new(Algorithm::Zstd, 1);
            pace.assume_link(5e9);
            let mut pace = seen(pace, 128 << 10, 200, Duration::from_micros(25));
            let mut now = Duration::from_secs(1);
            let mut choose = |queued_len| {
                now += Duration::from_micros(100);
                pace.look(Look { now, queued_len, unsent_len: queued_len, ..Look::NOTHING });
                let choice = pace.choose(128 << 10, Next::Follows, now, &mut Replies::default());
                pace.sent(128 << 10, choice.level.map_or(128 << 10, |_| 200), now, &mut Replies::default());
                choice
            };
            for _ in 0..if source_is_limit { 32 } else { 2 } {
                assert_eq!(choose(0).reason, Reason::LinkIsIdle);
            }
            choose(512 << 10)
        };
        assert_eq!(last_choice(true), Choice { level: None, reason: Reason::LinkIsIdle });
        assert_eq!(last_choice(false), Choice { level: Some(1), reason: Reason::Faster });
    }

    #[test]
    fn the_first_of_several_is_packed_where_packing_keeps_up_with_the_link() {
        let choices = |rate, between_us| {
            let mut pace = Pace::new(Algorithm::Zstd, 1);
            pace.assume_link(rate);
            let mut pace = seen(pace, 128 << 10, 63_000, Duration::from_micros(900));
            let mut now = Duration::from_secs(1);
            [(); 2].map(|()| {
                let choice = pace.choose(128 << 10, Next::Follows, now, &mut Replies::default());
                pace.sent(128 << 10, 63_000, now, &mut Replies::default());
                now += Duration::from_micros(between_us);
                // All of it has left the socket, and may be there already for all that a look can tell.
                let round_trip = Duration::from_millis(1);
                pace.look(Look { now, queued_len: 63_000, round_trip, ..Look::NOTHING });
                choice
            })
        };
        let packed = Choice { level: Some(1), reason: Reason::Faster };
        assert_eq!(choices(12.5e6, 900), [packed; 2]);
        // Had the link been done with the first, packing would not keep up.
        assert_eq!(choices(12.5e6, 6000)[1].reason, Reason::LinkIsIdle);
        assert_eq!(choices(125e6, 900)[0].reason, Reason::LinkIsIdle);
    }

    #[test]
    fn what_a_look_can_not_tell_apart_is_a_queue_in_a_burst_that_has_just_begun_and_no_longer() {
        // Frames of 63,000 bytes, a millisecond apart, over 12.5 MB/s; a look finds so much on its way.
        let last = |frames: usize, queued_len| {
            let mut pace = Pace::new(Algorithm::Zstd, 1);
            pace.assume_link(12.5e6);
            let mut pace = seen(pace, 128 << 10, 63_000, Duration::from_micros(900));
            let mut now = Duration::from_secs(1);
            let mut choice = None;
            for _ in 0..frames {
                choice = Some(pace.choose(128 << 10, Next::Follows, now, &mut Replies::default()));
                pace.sent(128 << 10, 63_000, now, &mut Replies::default());
                now += Duration::from_millis(1);
                pace.look(Look { now, queued_len, round_trip: Duration::from_millis(1), ..Look::NOTHING });
            }
            choice.unwrap().reason
        };
        assert_eq!(last(5, 63_000), Reason::Faster);
        assert_eq!(last(6, 63_000), Reason::LinkIsIdle);
        // There is no more of it than that.
        assert_eq!(last(2, 5_000), Reason::LinkIsIdle);
    }

    #[test]
    fn the_first_of_several_goes_stored_where_the_source_was_waited_for() {
        let mut pace = Pace::new(Algorithm::Zstd, 1);
        pace.assume_link(12.5e6);
        let mut pace = seen(pace, 128 << 10, 63_000, Duration::from_micros(900));
        pace.idle_part = 1.0;
        let at = Duration::from_secs(1);
        let choice = pace.choose(128 << 10, Next::Follows, at, &mut Replies::default());
        assert_eq!(choice, Choice { level: None, reason: Reason::LinkIsIdle });
    }

    #[test]
    fn what_packs_to_next_to_nothing_at_once_is_packed_though_the_link_is_idle() {
        // Of several, behind others: equal rows at 2.6 GB/s.
        let choice = |rate, packed_len| {
            let mut pace = Pace::new(Algorithm::Zstd, 1);
            pace.assume_link(rate);
            let mut pace = seen(pace, 128 << 10, packed_len, Duration::from_micros(50));
            pace.had_more = true;
            let at = Duration::from_secs(1);
            pace.look(Look { now: at, ..Look::NOTHING });
            pace.choose(128 << 10, Next::Follows, at, &mut Replies::default()).reason
        };
        assert_eq!(choice(119e6, 200), Reason::Faster);
        // Where it is through sooner stored, or saves half.
        assert_eq!(choice(300e6, 200), Reason::LinkIsIdle);
        assert_eq!(choice(119e6, 64 << 10), Reason::LinkIsIdle);
    }

    #[test]
    fn what_a_socket_holds_when_it_wakes_its_writer_keeps_the_link_busy() {
        let mut pace = Pace::new(Algorithm::Zstd, 1);
        pace.assume_link(12.5e6);
        let mut pace = seen(pace, 128 << 10, 94_000, Duration::from_micros(450));
        let mut choices = (0..96).map(|frame| {
            let now = Duration::from_millis(1000 + 10 * frame);
            let queued_len = if frame < 32 { 0 } else { 40 << 10 };
            pace.look(Look { now, queued_len, unsent_len: queued_len, ..Look::NOTHING });
            let choice = pace.choose(128 << 10, Next::Follows, now, &mut Replies::default());
            pace.sent(128 << 10, choice.level.map_or(128 << 10, |_| 94_000), now, &mut Replies::default());
            choice
        });
        assert_eq!(choices.nth(31).unwrap().reason, Reason::LinkIsIdle);
        assert_eq!(choices.last(), Some(Choice { level: Some(1), reason: Reason::Faster }));
    }

    #[test]
    fn behind_a_long_queue_a_harder_level_is_soon_used_though_the_link_was_idle() {
        let mut pace = Pace::new(Algorithm::Zstd, 7);
        pace.assume_link(40e6);
        for (level, packed_len, us) in [(1, 50_000, 300), (3, 47_000, 450), (7, 40_000, 2000)] {
            for _ in 0..4 {
                pace.packed(PackedFrame::alone(level, 128 << 10, packed_len), Duration::from_micros(us));
            }
        }
        let mut levels = (0..22).map(|frame| {
            let now = Duration::from_micros(1_000_000 + 1250 * frame);
            let queued_len = if frame < 2 { 0 } else { 128 << 10 };
            pace.look(Look { now, queued_len, unsent_len: queued_len, ..Look::NOTHING });
            pace.choose(128 << 10, Next::Follows, now, &mut Replies::default()).level
        });
        // At the second the link had nothing to do.
        assert_eq!(levels.nth(4), Some(Some(1)));
        assert_eq!(levels.last(), Some(Some(7)));
    }
}
