//! Which level the next history should have.
//!
//! ```text
//!  time of a plain byte:  what codec and link take in turn, if the codec is slower: some frames go stored meanwhile
//!                         the link alone, if it isn't
//! ```
//! A history can't change its level, and begins without anything to refer to. So a level is changed only where that promises
//! much for some frames on end, and rarely: what was tried is known, here or by an earlier session, what wasn't is guessed from
//! the level that is used. A first trial is short.
//!
//! Invariants: one level at a time; a change that is taken back makes the next one rarer.

use super::candidate::Candidate;
use crate::Algorithm;

/// The levels that are not used now.
#[derive(Debug)]
pub(super) struct HistoryLevel {
    algorithm: Algorithm,
    others: Vec<Candidate>,
    /// Large frames since the last change that were packed, or would have been if this level were faster.
    frames: u32,
    /// How many there have to be before the next one.
    stay: u32,
    /// Of the last ones on end, how many would have been better at another level.
    better: u32,
    /// Nothing was known of the level that is used when it was chosen.
    is_trial: bool,
    /// A frame was packed since that was told.
    is_news: bool,
    /// How well this level packed the data that the others are known by.
    ratio: Option<f64>,
}

/// What a level of frames with history was seen to do, for the next session over the same link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelSeen {
    /// Whose level.
    pub algorithm: Algorithm,
    /// zstd's.
    pub level: u8,
    /// Plain bytes per second that it packs.
    packs_per_s: f64,
    /// Plain in terms of packed length.
    ratio: f64,
    /// The one that is used.
    pub is_used: bool,
}

impl HistoryLevel {
    /// With the level that is used first, up to `level_max`.
    pub(super) fn new(algorithm: Algorithm, level_max: u8) -> (Self, Vec<Candidate>) {
        let (first, others) = match algorithm {
            Algorithm::Zstd => (level_max.clamp(1, LEVEL_FIRST), Candidate::all(algorithm, level_max)),
            // Deflate has one level.
            Algorithm::Zlib | Algorithm::Uncompressed => (1, Vec::new()),
        };
        let others = others.into_iter().filter(|other| other.level() != first).collect();
        let this = Self {
            algorithm,
            others,
            frames: 0,
            stay: STAY_MIN,
            better: 0,
            is_trial: false,
            ratio: None,
            is_news: false,
        };
        (this, Candidate::only(algorithm, first))
    }

    /// What was seen here since the last call, unless that is too little.
    pub(super) fn take_seen(&mut self, current: &Candidate) -> Vec<LevelSeen> {
        if !std::mem::take(&mut self.is_news) || self.is_trial || current.is_cold() {
            return Vec::new();
        }
        let algorithm = self.algorithm;
        let of = |it: &Candidate| {
            let (packs_per_s, ratio) = it.seen().filter(|_| !it.is_cold())?;
            let is_used = it.level() == current.level();
            Some(LevelSeen { algorithm, level: it.level(), packs_per_s, ratio, is_used })
        };
        std::iter::once(current).chain(&self.others).filter_map(of).collect()
    }

    /// Other sessions have seen that: the `current` level may be an easier one, as long as nothing was packed. A harder one takes more
    /// memory, and is no use to who has few large frames.
    pub(super) fn assume(&mut self, seen: &[LevelSeen], current: &mut Candidate) {
        let seen = seen.iter().filter(|seen| seen.algorithm == self.algorithm);
        for LevelSeen { level, packs_per_s, ratio, is_used, .. } in seen {
            let is_first = *is_used && *level < current.level();
            if is_first && let Some(other) = self.others.iter_mut().find(|other| other.level() == *level) {
                std::mem::swap(current, other);
            }
            let mut known = self.others.iter_mut().chain(Some(&mut *current));
            if let Some(it) = known.find(|it| it.level() == *level) {
                it.assume(*packs_per_s, *ratio);
            }
        }
        self.ratio = current.seen().map(|(_, ratio)| ratio);
    }

    /// A large frame comes that waits for an answer. The history of such frames has large tables, and no queue will tell which level
    /// is worth its time: as long as nothing is known of any level the `current` one is the easiest.
    pub(super) fn large_reply(&mut self, current: &mut Candidate) {
        let is_known = |candidate: &Candidate| Speed::of(candidate).is_some();
        if !self.others.iter().any(is_known)
            && !is_known(current)
            && let Some(easiest) = self.others.iter_mut().find(|other| other.level() < current.level())
        {
            std::mem::swap(current, easiest);
        }
    }

    /// A large frame was packed or, for want of speed, was not, over a link that carries so many bytes per second, or is never the
    /// limit as far as anybody has seen: another level may be the `current` one from now on.
    pub(super) fn frame(&mut self, current: &mut Candidate, link_bytes_per_s: Option<f64>) {
        self.frames += 1;
        self.is_news = true;
        let Some(now) = Speed::of(current) else { return };
        self.follow_data(now.ratio);
        let better = self.better(current.level(), now, link_bytes_per_s);
        self.better = if better.is_some() { self.better + 1 } else { 0 };
        let was_tried = self.is_trial && self.frames >= TRIAL_FRAMES && !current.is_cold();
        self.is_trial &= !was_tried;
        if let Some(at) =
            better.filter(|_| was_tried || self.is_due(now, step(current.level()), link_bytes_per_s))
            && let Some(other) = self.others.get_mut(at)
        {
            let is_trial = Speed::of(other).is_none();
            std::mem::swap(current, other);
            self.changed(is_trial);
        } else if self.frames >= STAY_MAX {
            // What was seen so long ago may not be true of today's rows.
            self.others.iter_mut().for_each(Candidate::forget);
            (self.frames, self.stay) = (0, STAY_MIN);
        }
    }

    /// Whether enough frames on end speak for a change, and are behind the last one. The first one is due soon where the link is so
    /// slow that it waits for no level, whatever it carries in a moment.
    fn is_due(&self, now: Speed, step_now: i32, link_bytes_per_s: Option<f64>) -> bool {
        let hardest = self.others.iter().max_by_key(|other| other.level());
        let hardest = hardest
            .map(|it| Speed::of(it).unwrap_or_else(|| now.guessed((step(it.level()) - step_now).max(0))));
        let is_far_slower = hardest.is_some_and(|it| {
            link_bytes_per_s.is_some_and(|link| it.packs_per_s > link * it.ratio * FAR_SLOWER)
        });
        let is_soon = is_far_slower && self.stay == STAY_MIN;
        let agree = if step_now >= STEP_OF_SHORT_FRAMES { AGREE_IF_SHORT } else { AGREE };
        let (agree, stay) = if is_soon { (AGREE_IF_SLOW, AGREE_IF_SLOW) } else { (agree, self.stay) };
        self.better >= agree && self.frames >= stay
    }

    /// Which of the others would be better than the `level` that is used.
    fn better(&self, level: u8, now: Speed, link_bytes_per_s: Option<f64>) -> Option<usize> {
        let score = |level: u8, speed: Speed| speed.s_per_byte(link_bytes_per_s) * HARDER.powi(step(level));
        let known = |other: &Candidate| {
            Speed::of(other).unwrap_or_else(|| now.guessed(step(other.level()) - step(level)))
        };
        // Harder packing is slower, so it is no use where the link waits for the codec, whatever others were seen to do once.
        let hardest = if now.fills(link_bytes_per_s) { u8::MAX } else { level };
        let others = self.others.iter().enumerate().filter(|(_, other)| other.level() <= hardest);
        let scores = others.map(|(at, other)| (score(other.level(), known(other)), at, other.level()));
        let best = scores.min_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let gain = |other: u8| if other > level { GAIN } else { GAIN_OF_EASIER };
        best.filter(|(least, _, other)| *least < score(level, now) * gain(*other)).map(|(_, at, _)| at)
    }

    /// What others did to data that packed otherwise says nothing of this.
    fn follow_data(&mut self, ratio: f64) {
        if self.frames < TRIAL_FRAMES {
            return;
        }
        // More than that is all the same.
        let ratio = ratio.min(RATIO_HIGH);
        match self.ratio.map(|known| known.min(RATIO_HIGH)) {
            Some(known) if ratio < known * SAME_DATA && known < ratio * SAME_DATA => {}
            known => {
                if known.is_some() {
                    self.others.iter_mut().for_each(Candidate::forget);
                    self.stay = self.stay.min(STAY_OTHER_DATA);
                }
                self.ratio = Some(ratio);
            }
        }
    }

    /// A frame was packed at `level`: if that isn't the `current` one there was no memory for that, and it is taken back.
    pub(super) fn was_packed_at(&mut self, level: u8, current: &mut Candidate) {
        if level != current.level()
            && let Some(before) = self.others.iter_mut().find(|other| other.level() == level)
        {
            std::mem::swap(current, before);
            self.changed(false);
        }
    }

    fn changed(&mut self, is_trial: bool) {
        self.is_trial = is_trial;
        self.ratio = None;
        (self.frames, self.better) = (0, 0);
        self.stay = (self.stay * 2).min(STAY_MAX);
    }
}

/// What a level does.
#[derive(Debug, Clone, Copy)]
struct Speed {
    packs_per_s: f64,
    ratio: f64,
}

impl Speed {
    fn of(candidate: &Candidate) -> Option<Self> {
        let (packs_per_s, ratio) = candidate.seen()?;
        Some(Self { packs_per_s, ratio })
    }

    /// A level that is so many steps harder, or easier where that is less than 0.
    fn guessed(self, steps: i32) -> Self {
        Self {
            packs_per_s: self.packs_per_s / SLOWER.powi(steps),
            ratio: self.ratio * if steps > 0 { HARDER_PACKS.powi(steps) } else { EASIER_PACKS.powi(-steps) },
        }
    }

    /// Whether the link has always something to send.
    fn fills(self, link_bytes_per_s: Option<f64>) -> bool {
        link_bytes_per_s.is_some_and(|link| self.packs_per_s >= link * self.ratio)
    }

    fn s_per_byte(self, link_bytes_per_s: Option<f64>) -> f64 {
        let pack_s = 1.0 / self.packs_per_s;
        let Some(link) = link_bytes_per_s else { return pack_s };
        let (stored_s, link_s) = (1.0 / link, 1.0 / link / self.ratio);
        if pack_s <= link_s { link_s } else { pack_s * stored_s / (pack_s + stored_s - link_s) }
    }
}

fn step(level: u8) -> i32 {
    match level {
        0..=1 => 0,
        2..=3 => 1,
        _ => 2,
    }
}

/// A history's level as long as nothing is known. A dialogue's is short and has small tables, whatever the level.
const LEVEL_FIRST: u8 = 3;
/// What a step to a harder level costs in speed at least, and may gain in size (`examples/speeds.rs`).
const SLOWER: f64 = 2.0;
const HARDER_PACKS: f64 = 1.1;
/// What one to an easier level loses in size.
const EASIER_PACKS: f64 = 1.0 / 1.05;
/// A harder level has to be so much faster than the one before: it takes more CPU.
const HARDER: f64 = 1.02;
/// A change to a harder level has to promise so much,
const GAIN: f64 = 0.97;
/// and one to an easier level less: what is gained by that is CPU.
const GAIN_OF_EASIER: f64 = 0.99;
/// Large frames between two changes.
const STAY_MIN: u32 = 16;
const STAY_MAX: u32 = 4096;
/// Where the data has changed.
const STAY_OTHER_DATA: u32 = 256;
/// Frames on end for which it has to: the rate of a link looks otherwise for a few between two scans.
const AGREE: u32 = 16;
/// Those of the hardest level are a fifth as long: a core that is taken away for 10 ms, or a burst that is read as a rate, is sixteen.
const AGREE_IF_SHORT: u32 = 80;
const STEP_OF_SHORT_FRAMES: i32 = 2;
/// Where the link is so much slower than the hardest level,
const FAR_SLOWER: f64 = 4.0;
/// so many are enough: what they leave is a queue.
const AGREE_IF_SLOW: u32 = 4;
/// Frames at a new level until it is known: those that pay for memory, and as many.
const TRIAL_FRAMES: u32 = 8;
/// The same data packs as well but for so much.
const SAME_DATA: f64 = 1.25;
/// Rows that pack so well do so by half or twice as well from one frame to the next.
const RATIO_HIGH: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: f64 = 120_000.0;

    /// Levels after so many frames each, over a link of so many bytes per second; what the levels do.
    fn levels(link_bytes_per_s: f64, does: fn(u8) -> (f64, f64), level_max: u8) -> Vec<u8> {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, level_max);
        let current = &mut candidates[0];
        let mut levels = vec![current.level()];
        for _ in 0..10_000 {
            let (packs_per_s, ratio) = does(current.level());
            current.learn(LEN, LEN / ratio, LEN / packs_per_s);
            history.frame(current, Some(link_bytes_per_s));
            if levels.last() != Some(&current.level()) {
                levels.push(current.level());
            }
        }
        levels
    }

    fn digits(level: u8) -> (f64, f64) {
        match level {
            1 => (350e6, 2.04),
            3 => (100e6, 2.06),
            _ => (36e6, 2.04),
        }
    }

    fn text(level: u8) -> (f64, f64) {
        match level {
            1 => (250e6, 2.98),
            3 => (110e6, 3.23),
            _ => (52e6, 3.66),
        }
    }

    #[test]
    fn where_the_codec_is_the_limit_the_easiest_level_is_used() {
        assert_eq!(levels(125e6, digits, 7), [3, 1]);
        assert_eq!(levels(125e6, text, 7), [3, 1]);
    }

    #[test]
    fn what_lasts_for_some_short_frames_of_the_hardest_level_changes_nothing() {
        let changes = |slow_frames: u32| {
            let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
            let current = &mut candidates[0];
            let (mut at_hardest, mut changes) = (0, Vec::new());
            for _ in 0..4000 {
                let level = current.level();
                let (packs_per_s, ratio) = text(level);
                at_hardest = if level == 7 { at_hardest + 1 } else { 0 };
                // Now and then the core is taken away for a while.
                let is_slow = level == 7 && at_hardest % 1000 > 1000 - slow_frames;
                let packs_per_s = if is_slow { packs_per_s * 0.6 } else { packs_per_s };
                let len = if level == 7 { LEN / 5.0 } else { LEN };
                current.learn(len, len / ratio, len / packs_per_s);
                history.frame(current, Some(12.5e6));
                if changes.last() != Some(&current.level()) {
                    changes.push(current.level());
                }
            }
            changes
        };
        assert_eq!(changes(0), [3, 7]);
        assert_eq!(changes(40), [3, 7]);
        // What lasts does.
        assert_ne!(changes(900), [3, 7]);
    }

    #[test]
    fn where_the_link_is_the_limit_the_level_that_packs_best_is_used() {
        assert_eq!(levels(12.5e6, text, 7), [3, 7]);
        assert_eq!(levels(1.25e6, text, 7), [3, 7]);
        assert_eq!(levels(12.5e6, text, 3), [3]);
    }

    #[test]
    fn over_a_link_far_slower_than_any_level_a_few_frames_are_enough() {
        let frames = |link_bytes_per_s| {
            let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
            let current = &mut candidates[0];
            (1..100).find(|_| pack((&mut history, current), 1, Some(link_bytes_per_s), text) == 7)
        };
        assert_eq!(frames(1.25e6), Some(AGREE_IF_SLOW));
        assert_eq!(frames(12.5e6), Some(STAY_MIN));
    }

    #[test]
    fn the_hardest_counts_wherever_a_change_has_left_it() {
        let (mut history, _) = HistoryLevel::new(Algorithm::Zstd, 7);
        (history.better, history.frames) = (AGREE_IF_SLOW, AGREE_IF_SLOW);
        let now = Speed { packs_per_s: 110e6, ratio: 3.23 };
        for _ in 0..2 {
            // Level 1 is far faster than this link, 7 is not.
            assert!(!history.is_due(now, step(3), Some(7e6)));
            assert!(history.is_due(now, step(3), Some(1e6)));
            history.others.reverse();
        }
    }

    #[test]
    fn what_gains_nothing_is_taken_back_and_hardly_ever_tried_again() {
        let tried = levels(12.5e6, digits, 7);
        assert!(tried.starts_with(&[3, 7]) && tried.len() <= 8, "{tried:?}");
        assert_ne!(tried.last(), Some(&7), "{tried:?}");
    }

    #[test]
    fn a_harder_level_that_packs_six_per_cent_better_is_used_where_the_link_is_the_limit() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 3);
        let current = &mut candidates[0];
        history.large_reply(current);
        let rows = |level| if level == 1 { (250e6, 3.2) } else { (110e6, 3.4) };
        assert_eq!(pack((&mut history, current), 1, Some(12.5e6), rows), 1);
        assert_eq!(pack((&mut history, current), 200, Some(12.5e6), rows), 3);
        // Where it is not, the easier one.
        assert_eq!(pack((&mut history, current), 200, Some(125e6), rows), 1);
    }

    #[test]
    fn a_level_that_there_is_no_memory_for_is_taken_back_and_tried_ever_more_rarely() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        let mut refused = Vec::new();
        for frame in 0..2_000 {
            if current.level() == 7 {
                refused.push(frame);
            }
            history.was_packed_at(3, current);
            let (packs_per_s, ratio) = text(3);
            current.learn(LEN, LEN / ratio, LEN / packs_per_s);
            history.frame(current, Some(12.5e6));
        }
        assert_eq!(candidates[0].level(), 3);
        assert!((2..6).contains(&refused.len()) && refused[1] - refused[0] > 60, "{refused:?}");
    }

    /// Packs so many frames; returns the level behind them.
    fn pack(
        (history, current): (&mut HistoryLevel, &mut Candidate),
        frames: u32,
        link_bytes_per_s: Option<f64>,
        does: fn(u8) -> (f64, f64),
    ) -> u8 {
        for _ in 0..frames {
            let (packs_per_s, ratio) = does(current.level());
            current.learn(LEN, LEN / ratio, LEN / packs_per_s);
            history.frame(current, link_bytes_per_s);
        }
        current.level()
    }

    #[test]
    fn a_rate_that_is_other_for_some_frames_changes_nothing() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        assert_eq!(pack((&mut history, current), 100, Some(12.5e6), text), 7);
        assert_eq!(pack((&mut history, current), AGREE_IF_SHORT - 1, Some(60e6), text), 7);
        assert_eq!(pack((&mut history, current), 1, Some(12.5e6), text), 7);
        assert_ne!(pack((&mut history, current), AGREE_IF_SHORT, Some(125e6), text), 7);
    }

    #[test]
    fn a_first_trial_of_a_level_is_short() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        let slow = |level| if level == 7 { (20e6, 2.2) } else { (400e6, 2.0) };
        // It looks as if there were time for it.
        assert_eq!(pack((&mut history, current), STAY_MIN, Some(60e6), slow), 7);
        assert_ne!(pack((&mut history, current), TRIAL_FRAMES, Some(60e6), slow), 7);
    }

    #[test]
    fn a_link_that_is_never_the_limit_gets_the_fastest_level() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        assert_eq!(pack((&mut history, &mut candidates[0]), 1_000, None, digits), 1);
    }

    #[test]
    fn the_next_session_begins_with_what_was_seen_and_other_data_is_found_out_about() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        assert_eq!(history.take_seen(&candidates[0]), []);
        assert_eq!(pack((&mut history, &mut candidates[0]), 1_000, Some(125e6), digits), 1);
        let seen = history.take_seen(&candidates[0]);
        let used = |seen: &[LevelSeen]| seen.iter().find(|it| it.is_used).map(|it| it.level);
        assert_eq!((used(&seen), seen.len()), (Some(1), 2));
        assert_eq!(history.take_seen(&candidates[0]), [], "it is told once");

        let (mut next, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        next.assume(&seen, current);
        assert_eq!(current.level(), 1);
        // What others have seen is not told as if it were new.
        pack((&mut next, current), 1, Some(125e6), digits);
        assert_eq!(next.take_seen(current), []);
        assert_eq!(pack((&mut next, current), 1_000, Some(125e6), digits), 1);
        let told = next.take_seen(current);
        assert_eq!((used(&told), told.len()), (Some(1), 1), "levels that are known are not tried again");
        // What digits do says nothing of text.
        assert_eq!(pack((&mut next, current), 400, Some(12.5e6), text), 7);
        let seen = next.take_seen(current);
        assert_eq!(used(&seen), Some(7));

        // A harder one has to be worth it here.
        let (mut large, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        large.assume(&seen, &mut candidates[0]);
        assert_eq!(candidates[0].level(), 3);
        assert_eq!(pack((&mut large, &mut candidates[0]), 2 * AGREE, Some(12.5e6), text), 7);
        let (mut first, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        first.assume(&seen, &mut candidates[0]);
        first.large_reply(&mut candidates[0]);
        assert_eq!(candidates[0].level(), 3);
        // It has no such level, or packs otherwise.
        let (mut low, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 3);
        low.assume(&seen, &mut candidates[0]);
        assert_eq!(candidates[0].level(), 3);
        let (mut deflate, mut candidates) = HistoryLevel::new(Algorithm::Zlib, 9);
        deflate.assume(&seen, &mut candidates[0]);
        assert_eq!(candidates[0].seen(), None);
    }

    #[test]
    fn large_replies_that_wait_for_answers_begin_at_the_easiest_level() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        assert_eq!(current.level(), 3);
        history.large_reply(current);
        assert_eq!(current.level(), 1);
        // A slow link finds its own.
        assert_eq!(pack((&mut history, current), 2 * STAY_MIN, Some(12.5e6), text), 7);
        history.large_reply(current);
        assert_eq!(current.level(), 7);
    }

    #[test]
    fn one_slow_first_frame_is_no_verdict() {
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zstd, 7);
        let current = &mut candidates[0];
        assert_eq!(pack((&mut history, current), STAY_MIN, Some(12.5e6), text), 7);
        current.learn(LEN, LEN / 3.0, LEN / 2e6);
        // The others go stored.
        (0..2 * TRIAL_FRAMES).for_each(|_| history.frame(current, Some(12.5e6)));
        assert_eq!((current.level(), history.take_seen(current)), (7, Vec::new()));
        assert_eq!(pack((&mut history, current), TRIAL_FRAMES, Some(12.5e6), text), 7);
        assert_ne!(history.take_seen(current), []);
    }

    #[test]
    fn data_that_does_not_shrink_and_deflate_keep_their_level() {
        assert_eq!(levels(12.5e6, |_| (400e6, 1.0), 7), [3]);
        let (mut history, mut candidates) = HistoryLevel::new(Algorithm::Zlib, 9);
        for _ in 0..100 {
            candidates[0].learn(LEN, LEN / 2.0, 1e-3);
            history.frame(&mut candidates[0], Some(1e9));
        }
        assert_eq!(candidates[0].level(), 1);
    }
}
