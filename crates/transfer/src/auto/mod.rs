//! The controller of `--auto`: for each chunk the setting with which the whole stream ends soonest.
//!
//! ```text
//! input  I bytes/s |  threads, c seconds a byte  |  output  B bytes/s, size z
//!      1/I         |     c / threads             |      z / B               seconds for a plain byte
//! ```
//! The slowest of the three stages is the stream's time. Each candidate has its own `c` and `z` (packed by plain), measured
//! on this very stream: the one in use by its chunks, the others by samples that are packed with them and with a reference.
//! Nothing is assumed of the order of levels. Where one candidate is too slow and another too long, a mix of both is
//! better than either, so the best mix of two is looked for.
//!
//! Invariants: no clock (time is an argument), no randomness, bounded memory; trials take at most about 1 % of the workers'
//! time.
//!
//! Not here: threads, chunks, the trials themselves (`pack`). See `docs/adr/0026-a-transfer-is-three-stages.md`.

mod candidate;
mod rate;

#[cfg(test)]
mod simulation;

use std::time::Duration;

use self::candidate::Candidate;
use self::rate::Rate;
use crate::Setting;

/// What is chosen from.
///
/// Levels above 6 cost ten times what 1 does and rarely gain a tenth; those below -1 find few matches in pages of digits.
pub const CANDIDATES: [Setting; 6] = [
    Setting::Stored,
    Setting::Level(-4),
    Setting::Level(-1),
    Setting::Level(1),
    Setting::Level(3),
    Setting::Level(6),
];

/// The controller of one stream.
#[derive(Debug)]
pub struct Controller {
    candidates: Vec<Candidate>,
    threads: f64,
    /// Seconds a byte, and packed by plain length, of the reference on what passes now.
    base: Base,
    input: Rate,
    /// Something was read.
    has_begun: bool,
    output: Rate,
    /// What the output took, before packing, bytes.
    plain_len: u64,
    /// Seconds that trials may still take.
    trial_credit_s: f64,
    next_trial: usize,
    /// What the mix owes its first part, in chunks.
    debt: f64,
}

/// Absolute figures of the reference setting.
#[derive(Debug, Clone, Copy)]
struct Base {
    cost: f64,
    size: f64,
}

/// A candidate alone, or a mix of two.
#[derive(Debug, Clone, Copy)]
struct Mix {
    first: usize,
    second: usize,
    /// Of the first.
    share: f64,
    cost: f64,
    size: f64,
    /// Seconds that a plain byte takes.
    time: f64,
}

impl Controller {
    /// What the others are compared with: never far from the best, and cheap.
    pub const REFERENCE: Setting = Setting::Level(1);
    /// Length of a sample, bytes: one block of zstd, 0.3 ms for the reference.
    pub const SAMPLE_LEN: usize = 128 << 10;

    /// For so many workers. `is_small`: nothing is stored that shrinks.
    pub fn new(threads: usize, is_small: bool) -> Self {
        let permitted = |setting: &&Setting| !is_small || matches!(setting, Setting::Level(1..));
        #[expect(clippy::cast_precision_loss, reason = "threads are few")]
        let threads = threads.max(1) as f64;
        Self {
            candidates: CANDIDATES.iter().filter(permitted).map(|&setting| Candidate::new(setting)).collect(),
            threads,
            base: Base { cost: FIRST_COST, size: FIRST_SIZE },
            input: Rate::new(),
            has_begun: false,
            output: Rate::new(),
            plain_len: 0,
            trial_credit_s: FIRST_TRIALS_S,
            next_trial: 0,
            debt: 0.0,
        }
    }

    /// Length of the next chunk, bytes: what is on its way before the output's rate is felt was chosen blindly, so the first
    /// chunks are short.
    pub fn chunk_len(&self, chunk_len_max: usize) -> usize {
        let len = usize::try_from(self.plain_len / CHUNKS_BEFORE).unwrap_or(usize::MAX);
        let whole_samples = len / Self::SAMPLE_LEN * Self::SAMPLE_LEN;
        whole_samples.max(Self::SAMPLE_LEN).min(chunk_len_max)
    }

    /// How the next chunk is packed; and what is to be tried on a sample of it.
    pub fn choose(&mut self, _now: Duration) -> (Setting, Option<Setting>) {
        let mix = self.best();
        self.debt += mix.share;
        let chosen = if self.debt >= 1.0 {
            self.debt -= 1.0;
            mix.first
        } else {
            mix.second
        };
        let setting = self.candidates.get(chosen).map_or(Self::REFERENCE, |candidate| candidate.setting);
        (setting, self.due_trial())
    }

    /// The source waited so long for so many bytes.
    pub fn read(&mut self, now: Duration, len: usize, took: Duration) {
        // What the source took to start says nothing of its rate.
        let took = if std::mem::replace(&mut self.has_begun, true) { took } else { Duration::ZERO };
        self.input.add(now, len, took);
    }

    /// The sink waited so long for the output to take so many bytes, packed.
    pub fn written(&mut self, now: Duration, plain_len: usize, packed_len: usize, took: Duration) {
        self.plain_len += plain_len as u64;
        self.output.add(now, packed_len, took);
    }

    /// A chunk was packed.
    pub fn packed(
        &mut self,
        _now: Duration,
        setting: Setting,
        plain_len: usize,
        packed_len: usize,
        took: Duration,
    ) {
        let seconds = took.as_secs_f64();
        self.trial_credit_s = (self.trial_credit_s + seconds * TRIAL_SHARE).min(TRIAL_CREDIT_MAX_S);
        let Some(candidate) = self.candidates.iter().find(|candidate| candidate.setting == setting) else {
            return;
        };
        // A stored chunk says nothing of how long it would have been.
        if setting == Setting::Stored || plain_len == 0 {
            return;
        }
        let (cost, size) = per_byte(plain_len, packed_len, took);
        self.base.learn(cost / candidate.cost, size / candidate.size, CHUNK_WEIGHT);
    }

    /// A sample was packed with a candidate and with the reference: length and time of both.
    pub fn tried(
        &mut self,
        _now: Duration,
        setting: Setting,
        sample_len: usize,
        tried: (usize, Duration),
        reference: (usize, Duration),
    ) {
        self.trial_credit_s -= (tried.1 + reference.1).as_secs_f64();
        if sample_len == 0 {
            return;
        }
        let (cost, size) = per_byte(sample_len, tried.0, tried.1);
        let (base_cost, base_size) = per_byte(sample_len, reference.0, reference.1);
        self.base.learn(base_cost, base_size, SAMPLE_WEIGHT);
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.setting == setting) {
            candidate.learn(cost / base_cost, size / base_size);
        }
    }

    /// The best mix of two, or a candidate alone.
    fn best(&self) -> Mix {
        let input_time = self.input.seconds_a_byte().unwrap_or_default();
        // What was stored in vain has to be carried all the same; what was packed in vain costs a few milliseconds.
        let byte_time =
            self.output.seconds_a_byte().unwrap_or_else(|| self.output.waited().max(UNPROVEN_TIME));
        let figures: Vec<(f64, f64)> =
            self.candidates.iter().map(|candidate| self.figures(candidate)).collect();
        let mixed = |first: usize, second: usize, share: f64| {
            let (Some(a), Some(b)) = (figures.get(first), figures.get(second)) else { return None };
            let cost = share.mul_add(a.0 - b.0, b.0);
            let size = share.mul_add(a.1 - b.1, b.1);
            let time = input_time.max(cost / self.threads).max(size * byte_time);
            Some(Mix { first, second, share, cost, size, time })
        };
        let mut mixes = Vec::with_capacity(figures.len() * figures.len());
        for first in 0..figures.len() {
            mixes.extend(mixed(first, first, 1.0));
            for second in first + 1..figures.len() {
                let (Some(a), Some(b)) = (figures.get(first), figures.get(second)) else { continue };
                // Where CPU and output take the same time.
                let slope = (a.0 - b.0) / self.threads - (a.1 - b.1) * byte_time;
                let share = (b.1 * byte_time - b.0 / self.threads) / slope;
                if share > LEAST_SHARE && share < 1.0 - LEAST_SHARE {
                    mixes.extend(mixed(first, second, share));
                }
            }
        }
        let least =
            |mixes: &mut dyn Iterator<Item = &Mix>| mixes.map(|mix| mix.time).fold(f64::INFINITY, f64::min);
        let is_pure = |mix: &&Mix| mix.first == mix.second;
        let least_pure = least(&mut mixes.iter().filter(is_pure));
        // A slow chunk among fast ones holds those behind it up, so a mix has to be worth it.
        if least(&mut mixes.iter()) > least_pure / AS_GOOD {
            mixes.retain(|mix| is_pure(&mix));
        }
        let least = least(&mut mixes.iter());
        let as_good = || mixes.iter().filter(|mix| mix.time <= least * AS_GOOD);
        // Which of them is good even if the output can't take more than it does.
        let certain = self.output.certain().unwrap_or(byte_time);
        let with_certain = |mix: &Mix| mix.time.max(mix.size * certain);
        let least_certain = as_good().map(with_certain).fold(f64::INFINITY, f64::min);
        let as_good = || as_good().filter(|mix| with_certain(mix) <= least_certain * AS_GOOD);
        // Where the workers have time to spare the smallest is best, else the cheapest.
        let idle = as_good().filter(|mix| mix.cost / self.threads <= mix.time * IDLE_SHARE);
        let smallest = idle.min_by(|a, b| a.size.total_cmp(&b.size));
        let cheapest = || as_good().min_by(|a, b| a.cost.total_cmp(&b.cost));
        smallest.or_else(cheapest).copied().unwrap_or(Mix {
            first: 0,
            second: 0,
            share: 1.0,
            cost: 0.0,
            size: 1.0,
            time: 0.0,
        })
    }

    /// Seconds a byte, and packed by plain length.
    fn figures(&self, candidate: &Candidate) -> (f64, f64) {
        if candidate.setting == Setting::Stored {
            return (STORED_COST, 1.0);
        }
        // What doesn't shrink is stored, and found out by a sample.
        ((self.base.cost * candidate.cost).max(STORED_COST), (self.base.size * candidate.size).min(1.0))
    }

    /// The next candidate in turn, if trials have time left for it.
    fn due_trial(&mut self) -> Option<Setting> {
        let candidates = self.candidates.len();
        let turns = (0..candidates).map(|turn| (self.next_trial + turn) % candidates);
        let index = turns.into_iter().find(|&index| {
            self.candidates.get(index).is_some_and(|candidate| candidate.setting.is_tried())
        })?;
        let candidate = self.candidates.get(index)?;
        #[expect(clippy::cast_precision_loss, reason = "a sample is small")]
        let needed_s = self.base.cost * (candidate.cost + 1.0) * Self::SAMPLE_LEN as f64;
        if self.trial_credit_s < needed_s {
            return None;
        }
        self.next_trial = index + 1;
        // Taken at once, so that several workers don't spend the same credit; the rest is settled by `tried`.
        Some(candidate.setting)
    }
}

impl Base {
    fn learn(&mut self, cost: f64, size: f64, weight: f64) {
        self.cost += (cost - self.cost) * weight;
        self.size += (size - self.size) * weight;
    }
}

impl Setting {
    /// Whether a sample tells anything about it.
    fn is_tried(self) -> bool {
        self != Self::Stored && self != Controller::REFERENCE
    }
}

#[expect(clippy::cast_precision_loss, reason = "chunks are small")]
fn per_byte(plain_len: usize, packed_len: usize, took: Duration) -> (f64, f64) {
    let plain_len = plain_len.max(1) as f64;
    // A clock may stand still for a small sample.
    (took.as_secs_f64().max(1e-9) / plain_len, packed_len as f64 / plain_len)
}

/// A chunk is as long as what was written before it by this.
const CHUNKS_BEFORE: u64 = 12;
/// Seconds a byte of an output that is not known yet, at least: 1 Gbit.
const UNPROVEN_TIME: f64 = 8e-9;
/// Before anything was measured: 300 MB/s and a ratio of 3, a slow machine's zstd -1 on pages.
const FIRST_COST: f64 = 1.0 / 300e6;
const FIRST_SIZE: f64 = 1.0 / 3.0;
/// Storing copies and hashes: measured 3 to 6 GB/s.
const STORED_COST: f64 = 1.0 / 3e9;
/// Enough to try the cheap candidates once; the others come when chunks have earned it.
const FIRST_TRIALS_S: f64 = 0.004;
/// Of the workers' time.
const TRIAL_SHARE: f64 = 0.01;
/// Or a long quiet time would be followed by a burst of trials.
const TRIAL_CREDIT_MAX_S: f64 = 0.1;
/// Pages differ from table to table: about eight chunks are remembered.
const CHUNK_WEIGHT: f64 = 0.12;
/// A sample is a twelfth of a chunk.
const SAMPLE_WEIGHT: f64 = 0.04;
/// Shares that one chunk in fifty would not show are no mix.
const LEAST_SHARE: f64 = 0.02;
/// Differences below this are noise.
const AS_GOOD: f64 = 1.02;
/// Below this much of the workers' time nobody else on the machine is hurt.
const IDLE_SHARE: f64 = 0.5;
