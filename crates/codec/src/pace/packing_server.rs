//! What a server should pack its replies with, which is fixed at login: chosen from what its link has shown.
//!
//! ```text
//!  replies of all sessions   │▒▒▒▒ open ▒▒▒▒│      │▒▒ open ▒▒│     bytes in that time, plain and as they came
//!                            └ plain bytes/s, by what they were packed with ┘
//!  uncompressed seen ─▶ would packed be faster? ─▶ one session tries ─▶ the one that was faster
//! ```
//! What counts is how fast plain bytes of long replies come: the link, the server's packing, the server itself, our unpacking
//! are in it. Of packing that was never seen the server is taken to pack first and send then, which is the worst it can do.
//! Packed bytes that come clearly faster than uncompressed ones ever did tell that the link has changed.
//!
//! Invariants: no clock; bounded memory; uncompressed while nothing is known; one session at a time tries; what was seen
//! long ago says nothing.
//!
//! Not here: frames that the proxy packs itself (`super`), how replies are timed (crate `proxy`). See
//! `docs/adr/0032-the-server-leg-is-chosen-at-login.md`.

mod reply_lens;
mod sample;
mod samples;
mod seen;
mod window;

use std::time::Duration;

use self::reply_lens::ReplyLens;
use self::sample::AtLevel;
pub use self::sample::Sample;
use self::samples::Samples;
use self::seen::{Came, Seen};
use self::window::Window;
use crate::{Algorithm, plain_bytes_per_ms};

/// What a server packs with; the level is 0 where it has no choice of one.
pub type Packing = (Algorithm, u8);

/// What is known of a server behind a link. Share it between its sessions.
#[derive(Debug, Default)]
pub struct PackingServer {
    seen: Vec<Seen>,
    /// What parts of uncompressed replies packed like.
    samples: Samples,
    /// Bytes per second of requests that the link held back, and when.
    requests: Option<(f64, Duration)>,
    reply_lens: ReplyLens,
    window: Window,
    trial: Option<Open>,
    /// That there ever were.
    trials: u64,
    lost: Option<Lost>,
    last: Option<LegChoice>,
}

/// A session tries something, and the others wait for what it finds.
#[derive(Debug, Clone, Copy)]
struct Open {
    trial: Trial,
    packing: Packing,
    /// Nobody waits longer.
    until: Duration,
}

/// A trial that lost.
#[derive(Debug, Clone, Copy)]
struct Lost {
    /// Not tried again until then, unless uncompressed replies come much slower than they did.
    until: Duration,
    believed: Duration,
    stored_per_s: f64,
}

/// What a session asks the server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegChoice {
    /// What to pack with.
    pub packing: Packing,
    /// Why.
    pub reason: LegReason,
    /// The session tries that for the others: to be told when it [is logged in](PackingServer::trial_begins), and when it
    /// [ends](PackingServer::trial_ends).
    pub trial: Option<Trial>,
}

/// Which trial of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial(u64);

/// Why a server leg is compressed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LegReason {
    /// The options leave no choice.
    AsAsked,
    /// A socket of this host, which carries more than a server packs.
    NoLink,
    /// No long reply came lately.
    NothingKnown,
    /// Uncompressed replies come as fast as the server could pack them, or nearly.
    LinkIsFast,
    /// By what is known packed replies should come faster.
    LinkIsSlow,
    /// The same, but another session tries it first.
    OtherTries,
    /// They did.
    PackedWasFaster,
    /// They did not.
    PackedWasSlower,
    /// Packed replies come faster than the link was known to be.
    LinkHasChanged,
    /// The server may be what packed ones wait for, so uncompressed ones may do better than they did.
    LooksAgain,
    /// The server can't keep up with the link at the level that it had.
    ServerIsSlow,
    /// Packed replies wait for the link, and the server may keep up with it at a harder level, too.
    LinkIsTheLimit,
    /// Requests were held back, and of replies nothing is known.
    RequestsAreSlow,
    /// To pack such replies takes longer than the link saves.
    RepliesAreShort,
}

impl LegReason {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::AsAsked => "as the options say",
            Self::NoLink => "a Unix socket is no link",
            Self::NothingKnown => "nothing is known of the link",
            Self::LinkIsFast => "uncompressed replies come faster than the server would pack them",
            Self::LinkIsSlow => "packed replies should come sooner over this link",
            Self::OtherTries => "another session tries packed replies first",
            Self::PackedWasFaster => "packed replies came faster",
            Self::PackedWasSlower => "packed replies came no faster",
            Self::LinkHasChanged => "the link has become faster than it was known to be",
            Self::LooksAgain => "to learn how fast uncompressed replies come now",
            Self::ServerIsSlow => "a level at which the server may keep up with the link",
            Self::LinkIsTheLimit => "a harder level, at which the server may still keep up with the link",
            Self::RequestsAreSlow => "requests were held back by the link",
            Self::RepliesAreShort => {
                "the user's replies are so short that packing takes longer than it saves"
            }
        }
    }
}

/// What a link was seen to bring, as it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepliesSeen {
    /// Plain bytes per second of uncompressed replies.
    pub stored_per_s: Option<f64>,
    /// Plain bytes per second of the packed ones that came fastest.
    pub packed_per_s: Option<f64>,
    /// The last choice.
    pub last: Option<LegChoice>,
}

impl PackingServer {
    /// A session of the user whose key that is begins; `possible` is what the server can pack with, in order of wish.
    pub fn choose(&mut self, now: Duration, user: u64, possible: &[Packing]) -> LegChoice {
        let trials = self.trials;
        let (packing, reason) = self.weigh(now, user, possible);
        let trial = (self.trials > trials).then_some(Trial(self.trials));
        let choice = LegChoice { packing, reason, trial };
        self.last = Some(choice);
        choice
    }

    fn weigh(&mut self, now: Duration, user: u64, possible: &[Packing]) -> (Packing, LegReason) {
        let Some(&wish) = possible.first() else { return (STORED, LegReason::AsAsked) };
        if self.seen.iter().all(|seen| now.saturating_sub(seen.at) >= TRUE_FOR) {
            self.seen.clear();
            self.lost = None;
        }
        self.trial = self.trial.filter(|open| now < open.until);
        let stored = self.of(STORED);
        if let (Some(stored), Some(len)) = (stored, self.reply_lens.of(now, user))
            && !self.requests_are_slow(now)
            && self.are_short(len, stored)
        {
            return (STORED, LegReason::RepliesAreShort);
        }
        match (stored, self.fastest(possible)) {
            (None, None) => {
                if self.requests_are_slow(now) {
                    (wish, LegReason::RequestsAreSlow)
                } else {
                    (STORED, LegReason::NothingKnown)
                }
            }
            (Some(stored), None) => self.may_be_faster(now, stored, possible),
            (None, Some(packed)) => self.tries(now, STORED, LegReason::LinkHasChanged, packed.packing),
            (Some(stored), Some(packed)) => {
                let is_newer = packed.at > stored.at;
                if is_newer && packed.wire_per_s() > stored.wire_per_s() * CHANGED {
                    return self.tries(now, STORED, LegReason::LinkHasChanged, packed.packing);
                }
                if packed.plain_per_s() <= stored.plain_per_s() * GAIN_MIN {
                    if self.trial.is_some_and(|open| open.packing == packed.packing) {
                        return (STORED, LegReason::OtherTries);
                    }
                    self.lose(packed.at, stored);
                    return (STORED, LegReason::PackedWasSlower);
                }
                let fills_link = packed.wire_per_s() >= stored.wire_per_s() * SERVER_IS_LIMIT;
                let is_full = packed.wire_per_s() >= stored.wire_per_s() * LINK_IS_FULL;
                if let Some(smaller) = self.smaller(packed, stored, possible).filter(|_| is_full) {
                    return self.tries(now, smaller, LegReason::LinkIsTheLimit, packed.packing);
                }
                if packed.plain_per_s() < server_packs_per_s(packed.packing) * CLEARLY_SLOW {
                    // The server could pack many times as much: it waits for the link.
                    return (packed.packing, LegReason::PackedWasFaster);
                }
                let is_easier =
                    |packing: &Packing| packing.1 < packed.packing.1 && self.of(*packing).is_none();
                let unseen = possible.iter().copied().find(is_easier);
                if let Some(easier) = unseen.filter(|_| !fills_link) {
                    return self.tries(now, easier, LegReason::ServerIsSlow, packed.packing);
                }
                // The link may not have been what uncompressed replies waited for then: they came first, to cold caches.
                let doubted_after = if fills_link { DOUBTED_AFTER * 10 } else { DOUBTED_AFTER };
                let is_close = !fills_link && packed.plain_per_s() < stored.plain_per_s() * CHANGED;
                if now.saturating_sub(stored.at) >= doubted_after || (is_close && stored.at < packed.since) {
                    return self.tries(now, STORED, LegReason::LooksAgain, packed.packing);
                }
                (packed.packing, LegReason::PackedWasFaster)
            }
        }
    }

    /// Requests that the link held back would be packed, on a leg that is.
    fn requests_are_slow(&self, now: Duration) -> bool {
        self.requests.is_some_and(|(rate, at)| {
            now.saturating_sub(at) < TRUE_FOR
                && predicted(PACKS_PER_S, RATIO_HOPED, rate) > rate * TRIAL_GAIN_MIN
        })
    }

    /// Whether it takes longer to pack and unpack replies of `len` bytes than the link would save: nothing of such a reply is on
    /// its way while it is packed.
    fn are_short(&self, len: f64, stored: Seen) -> bool {
        let (ratio, packs_per_s) = match self.sampled_at(EASIEST) {
            Some(AtLevel { ratio, packs_per_s, .. }) => (ratio, packs_per_s),
            None => (RATIO_HOPED, server_packs_per_s(EASIEST)),
        };
        let saved_s = len * (1.0 - 1.0 / ratio) / stored.plain_per_s();
        let codec_s = PACKED_REPLY_S + len / packs_per_s * (1.0 + 1.0 / UNPACKING_IS_FASTER);
        len < LONG_REPLY_LEN && saved_s < codec_s * TRIAL_GAIN_MIN
    }

    /// Of what was packed, what came fastest: a harder level clearly faster than an easier one.
    fn fastest(&self, possible: &[Packing]) -> Option<Seen> {
        let mut packed: Vec<Seen> = possible.iter().filter_map(|packing| self.of(*packing)).collect();
        packed.sort_by_key(|seen| seen.packing.1);
        packed.into_iter().reduce(|easier, harder| {
            if harder.plain_per_s() > easier.plain_per_s() * GAIN_OF_HARDER { harder } else { easier }
        })
    }

    /// What the sample was made smaller by, if that was never seen; or what may make replies smaller, where there is no sample of it.
    fn smaller(&self, packed: Seen, stored: Seen, possible: &[Packing]) -> Option<Packing> {
        match self.best(possible, stored.plain_per_s()) {
            Some(best) => self.of(best).is_none().then_some(best),
            None => self.harder(packed, possible),
        }
    }

    /// By the sample, if that has all of them: packed with this, plain bytes come soonest over a link of so many bytes per second. A
    /// server sends what it has packed while it packs on.
    fn best(&self, packings: &[Packing], link_per_s: f64) -> Option<Packing> {
        let time_s = |packing: &Packing| {
            let AtLevel { ratio, packs_per_s, .. } = self.sampled_at(*packing)?;
            let time_s = (1.0 / (packs_per_s * SERVER_AS_THIS_HOST)).max(1.0 / (ratio * link_per_s));
            Some((*packing, time_s))
        };
        let mut times = packings.iter().map(time_s).collect::<Option<Vec<_>>>()?;
        times.sort_by_key(|((_, level), _)| *level);
        let best = times
            .into_iter()
            .reduce(|easier, harder| if harder.1 * GAIN_OF_HARDER < easier.1 { harder } else { easier });
        best.map(|(packing, _)| packing)
    }

    fn sampled_at(&self, (algorithm, level): Packing) -> Option<AtLevel> {
        if algorithm == Algorithm::Zstd { self.samples.at(level) } else { None }
    }

    /// A level above `packed`'s that was never seen, if the server may pack as fast at it as the link carries what `packed` leaves.
    fn harder(&self, packed: Seen, possible: &[Packing]) -> Option<Packing> {
        possible.iter().copied().find(|packing| {
            let is_harder = packing.0 == packed.packing.0 && packing.1 > packed.packing.1;
            is_harder
                && self.of(*packing).is_none()
                && packed.plain_per_s() <= server_packs_per_s(*packing) * LEAST_IS_CAUTIOUS
        })
    }

    fn may_be_faster(&mut self, now: Duration, stored: Seen, possible: &[Packing]) -> (Packing, LegReason) {
        let ratio = self.sampled_at(EASIEST).map_or(RATIO_HOPED, |at| at.ratio);
        let rate = stored.plain_per_s();
        let gains = |per_s: f64, least: f64| per_s > rate * least;
        let cautious = possible
            .first()
            .copied()
            .filter(|wish| gains(predicted(server_packs_per_s(*wish), ratio, rate), TRIAL_GAIN_MIN));
        // At the rate at which it packed its sample, if it makes such rows easily, and sends what is packed meanwhile.
        let easiest = possible.iter().copied().find(|packing| *packing == EASIEST);
        let hoped = easiest
            .zip(self.sampled_at(EASIEST).zip(self.samples.row_len()))
            .filter(|(_, (sample, row_len))| gains(hoped(sample, *row_len, rate), SAMPLE_GAIN_MIN))
            .map(|(packing, _)| packing);
        let Some(wish) = cautious.or(hoped) else {
            return (STORED, LegReason::LinkIsFast);
        };
        if self.lost.is_some_and(|lost| now < lost.until && rate * CHANGED > lost.stored_per_s) {
            return (STORED, LegReason::PackedWasSlower);
        }
        // Should the server be slow, and not the link, its packing hardly makes it slower.
        let is_far_faster = |packing: Packing, cautious| {
            packing.0 == wish.0 && rate <= server_packs_per_s(packing) * cautious * LOSS_MAX
        };
        if is_far_faster(wish, 1.0) {
            let fast = possible.iter().copied().filter(|it| is_far_faster(*it, LEAST_IS_CAUTIOUS));
            let fast: Vec<Packing> = fast.collect();
            let hardest = fast.iter().copied().max_by_key(|packing| packing.1);
            return (self.best(&fast, rate).or(hardest).unwrap_or(wish), LegReason::LinkIsSlow);
        }
        self.tries(now, self.best(possible, rate).unwrap_or(wish), LegReason::LinkIsSlow, STORED)
    }

    /// One session tries `packing`; until that has shown something the others do what was done before.
    fn tries(
        &mut self,
        now: Duration,
        packing: Packing,
        reason: LegReason,
        before: Packing,
    ) -> (Packing, LegReason) {
        if self.trial.is_some() {
            let packs = before != STORED;
            return (before, if packs { LegReason::PackedWasFaster } else { LegReason::OtherTries });
        }
        if let Some(seen) = self.seen.iter_mut().find(|seen| seen.packing == packing) {
            seen.doubt();
        }
        self.trials += 1;
        self.trial = Some(Open { trial: Trial(self.trials), packing, until: now + LOGIN_FOR });
        (packing, reason)
    }

    /// Its session is logged in, and may ask for something now.
    pub fn trial_begins(&mut self, now: Duration, trial: Trial) {
        if let Some(open) = self.trial.as_mut().filter(|open| open.trial == trial) {
            open.until = now + TRIAL_FOR;
        }
    }

    /// Its session is gone, or was never logged in: if it has shown nothing, the next one tries.
    pub fn trial_ends(&mut self, trial: Trial) {
        self.trial = self.trial.filter(|open| open.trial != trial);
    }

    /// A reply is under way, of which something has come.
    pub fn begin(&mut self, now: Duration, packing: Packing) {
        self.window.begin(now, packing);
    }

    /// So much more of it came.
    pub fn got(&mut self, now: Duration, plain_len: u64, wire_len: u64) {
        if let Some((packing, came)) = self.window.got(now, plain_len, wire_len) {
            self.saw(now, packing, came);
        }
    }

    /// A session of the user whose key that is got so many replies since it was last told of, of so many plain bytes together.
    pub fn told(&mut self, now: Duration, user: u64, replies: u64, plain_len: u64) {
        self.reply_lens.told(now, user, replies, plain_len);
    }

    /// Its client takes no more for now, so what comes until it is complete says nothing.
    pub const fn holds(&mut self) {
        self.window.holds();
    }

    /// It is complete, or will never be; whether its client held it back.
    pub fn end(&mut self, now: Duration, packing: Packing, was_held: bool) {
        if let Some((packing, came)) = self.window.end(now, packing, was_held) {
            self.saw(now, packing, came);
        }
    }

    fn saw(&mut self, now: Duration, packing: Packing, came: Came) {
        let seen = match self.seen.iter_mut().find(|seen| seen.packing == packing) {
            Some(seen) => {
                if now.saturating_sub(seen.at) >= TRUE_FOR {
                    seen.doubt();
                }
                seen.again(now, came);
                *seen
            }
            None => {
                let seen = Seen::first(now, packing, came);
                self.seen.push(seen);
                seen
            }
        };
        if !seen.is_sure() {
            return;
        }
        self.trial = self.trial.filter(|open| open.packing != packing);
        let Some(stored) = self.of(STORED).filter(|_| packing != STORED) else { return };
        if seen.plain_per_s() > stored.plain_per_s() * GAIN_MIN {
            self.lost = None;
            return;
        }
        self.lose(now, stored);
    }

    /// Packed was not faster than `stored` at that time; what it did then says nothing of another.
    fn lose(&mut self, at: Duration, stored: Seen) {
        self.seen.retain(|seen| seen.packing == STORED);
        let believed = self.lost.map_or(LOST_FOR, |lost| {
            let is_known = at < lost.until;
            if is_known { lost.believed } else { (lost.believed * 2).min(TRUE_FOR) }
        });
        self.lost = Some(Lost { until: at + believed, believed, stored_per_s: stored.plain_per_s() });
    }

    /// Whether a sample of uncompressed replies is wanted: who is told so takes it, and nobody else for a while.
    #[must_use]
    pub fn wants_sample(&mut self, now: Duration) -> bool {
        self.samples.wants(now)
    }

    /// Who went to take one is gone without it.
    pub const fn not_sampled(&mut self) {
        self.samples.not_taken();
    }

    /// What became of it.
    pub fn sampled(&mut self, now: Duration, sample: Sample) {
        self.samples.taken(now, sample);
    }

    /// Requests were held back, and went at this rate.
    pub const fn held_back(&mut self, now: Duration, bytes_per_s: f64) {
        self.requests = Some((bytes_per_s, now));
    }

    /// Whether it would choose now as if it had never seen anything.
    #[must_use]
    pub fn is_blank(&self, now: Duration) -> bool {
        let is_old = |at: Duration| now.saturating_sub(at) >= TRUE_FOR;
        self.seen.iter().all(|seen| is_old(seen.at)) && self.requests.is_none_or(|(_, at)| is_old(at))
    }

    /// What is known, to be shown.
    #[must_use]
    pub fn replies_seen(&self) -> RepliesSeen {
        let packed = self.seen.iter().filter(|seen| seen.packing != STORED).map(|seen| seen.plain_per_s());
        RepliesSeen {
            stored_per_s: self.of(STORED).map(|seen| seen.plain_per_s()),
            packed_per_s: packed.max_by(f64::total_cmp),
            last: self.last,
        }
    }

    fn of(&self, packing: Packing) -> Option<Seen> {
        self.seen.iter().find(|seen| seen.packing == packing).copied()
    }
}

/// Plain bytes per second, if all is packed before any of it is sent.
fn predicted(packs_per_s: f64, ratio: f64, link_per_s: f64) -> f64 {
    1.0 / (1.0 / packs_per_s + 1.0 / (ratio * link_per_s))
}

/// The same, if the server sends what it has packed while it packs on, and is as fast as this host; rows of `row_len` bytes come at
/// `rate`.
fn hoped(sample: &AtLevel, row_len: f64, rate: f64) -> f64 {
    let made_s = MADE_BYTE_S + MADE_ROW_S / row_len;
    let packed_per_s = 1.0 / (made_s + 1.0 / sample.packs_per_s);
    packed_per_s.min(sample.ratio * rate)
}

/// How fast a server packs, cautiously.
fn server_packs_per_s((algorithm, level): Packing) -> f64 {
    match algorithm {
        // At 6, and by zlib itself: a quarter of what libdeflate does (`examples/speeds.rs`).
        Algorithm::Zlib => plain_bytes_per_ms(Algorithm::Zlib, 6) as f64 * 1e3 / 3.0,
        algorithm => plain_bytes_per_ms(algorithm, level) as f64 * 1e3,
    }
}

/// What a server packs with in the least time.
const EASIEST: Packing = (Algorithm::Zstd, 1);
/// What a row takes a server besides packing, however short: MySQL 9.7 took 0.3 to 0.8 us of CPU for one of sysbench's (`wirepress
/// bench never-slower`, two machines).
const MADE_ROW_S: f64 = 500e-9;
/// And each byte of it, until it has come: 0.3 to 0.6 ns of the server's CPU in rows of 64 KB, as much of the proxy's and of the
/// client's.
const MADE_BYTE_S: f64 = 1e-9;
/// No frames.
const STORED: Packing = (Algorithm::Uncompressed, 0);
/// Routes and loads change within minutes.
const TRUE_FOR: Duration = Duration::from_secs(600);
/// A login takes some round trips. Whoever does not log in, which anybody can do, holds up the others no longer.
const LOGIN_FOR: Duration = Duration::from_secs(2);
/// A session that tries something may have nothing to ask.
const TRIAL_FOR: Duration = Duration::from_secs(10);
/// What lost is tried again after this, then twice as much.
const LOST_FOR: Duration = Duration::from_secs(60);
/// What all sessions may lose at most where a guess is wrong.
const LOSS_MAX: f64 = 0.05;
/// A guess has to promise so much.
const TRIAL_GAIN_MIN: f64 = 1.25;
/// What a sample promises, which is no guess any more: one session tries it, and others follow what that has found.
const SAMPLE_GAIN_MIN: f64 = 1.05;
/// What was seen has to be so much faster: it takes the server's CPU.
const GAIN_MIN: f64 = 1.05;
/// And a harder level so much faster than an easier one, or a smaller sample.
const GAIN_OF_HARDER: f64 = 1.02;
/// How fast a server packs at least, in terms of what the sample took here.
const SERVER_AS_THIS_HOST: f64 = 0.75;
/// Rates so far apart are of different links.
const CHANGED: f64 = 1.5;
/// One moment's rate that was not seen again since; ten times as long where packed bytes come as fast.
const DOUBTED_AFTER: Duration = Duration::from_secs(30);
/// In terms of how fast a server packs.
const CLEARLY_SLOW: f64 = 0.2;
/// Servers pack most data at least so much faster than what they are taken to.
const LEAST_IS_CAUTIOUS: f64 = 1.8;
/// Packed bytes that fill less of the link than this wait for the server.
const SERVER_IS_LIMIT: f64 = 0.7;
/// Packed bytes that fill so much of it wait for the link, and fewer would be there sooner.
const LINK_IS_FULL: f64 = 0.9;
/// What is hoped of data that was never packed.
const RATIO_HOPED: f64 = 1.5;
/// Of our own packing, which is stopped where it doesn't gain.
const PACKS_PER_S: f64 = 150e6;
/// What packing adds to a reply, however short, at server and proxy together (MySQL 9.7: 8 to 13 and 3 to 7 us of CPU for a point
/// select, zstd 1; `wirepress bench never-slower`).
const PACKED_REPLY_S: f64 = 15e-6;
/// Of a longer reply some is on its way while the rest is packed.
const LONG_REPLY_LEN: f64 = 64.0 * 1024.0;
const UNPACKING_IS_FASTER: f64 = 2.0;

#[cfg(test)]
mod tests;
