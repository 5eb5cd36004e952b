//! The controller of one direction's frames, of the standard protocol or of a pair, with the socket that it watches.
//!
//! ```text
//! look at the socket -> choose -> pack or not -> look again -> hand over
//! ```
//! Not here: the choice (`codec::pace`), frames (`packer`, `pair::stream`), what a look costs the kernel (`leg::look`).

use std::net::SocketAddr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use codec::Algorithm;
use codec::pace::{Choice, Limits, Next, Pace, PackedFrame, Reason, Replies, Rest, Room, Thrift};
use wire::Side;
use wire::connect::auth::Security;

use crate::budgets::Budgets;
use crate::codec_time::Took;
use crate::core_share;
use crate::leg::{Leg, Looker};
use crate::links::Link;
use crate::meter::Decision;

pub(crate) struct Paced {
    chooser: Chooser,
    /// None where the socket is no TCP's.
    looker: Option<Looker>,
    algorithm: Algorithm,
    side: Side,
    link: Arc<Link>,
    /// Plain length and length of what waits to be handed over.
    made: Option<(usize, usize)>,
    /// What goes stored without a look at the chooser.
    rest: Option<Rest>,
    /// Frames until the socket is looked at although no choice depends on it.
    until_look: u8,
    /// When the link's other sessions were told last, on its clock.
    shared_at: Duration,
    reasons: Vec<(Reason, u64)>,
    last: Option<Choice>,
    told: Told,
}

/// What log lines of level debug tell of single choices.
#[derive(Default)]
struct Told {
    peer: Option<SocketAddr>,
    /// Bytes that waited in the socket, or were on their way, at the last look.
    queued_len: Option<u64>,
    /// Of the frame that was packed last.
    ratio: Option<f64>,
    /// When the last line was, and changes since.
    at: Option<Duration>,
    changes: u64,
}

/// Which levels there are to choose from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Levels {
    /// Those up to this.
    UpTo(u8),
    /// Of frames with history, which keep theirs for as long: what was agreed on, and the highest.
    OfHistory { agreed: u8, max: u8 },
}

enum Chooser {
    Latency(Box<Pace>),
    Cost(Box<Cost>),
    /// Nothing is sooner than stored bytes through a Unix socket.
    NoLink,
}

/// The fewest bytes within budgets.
struct Cost {
    thrift: Thrift,
    budgets: Budgets,
    /// The frame before was not the last of its kind, so there may be a queue.
    had_more: bool,
}

impl Paced {
    /// Of frames to `side`, for the least time. None where the leg's socket can't be watched.
    pub(super) fn by_latency(
        side: Side,
        leg: &Leg,
        algorithm: Algorithm,
        levels: Levels,
        link: Arc<Link>,
    ) -> Option<Self> {
        let mut pace = match levels {
            Levels::UpTo(level_max) => Pace::new(algorithm, level_max),
            Levels::OfHistory { max, .. } => Pace::with_history(algorithm, max),
        };
        if leg.security() == Security::Tls {
            pace = pace.over_tls();
        }
        if let Some(rate) = link.bytes_per_s() {
            pace.assume_link(rate);
        }
        if let Some(gains) = link.reader_gains() {
            pace.assume_reader(gains);
        }
        pace.assume_levels(&link.levels());
        if let Some(round_trip) = leg.round_trip() {
            link.replies(algorithm).saw_round_trip(round_trip);
        }
        let looker = Looker::new(leg, pace.room().unsent_len)?;
        let mut paced = Self::new(Chooser::Latency(Box::new(pace)), Some(looker), link, algorithm, side);
        paced.told.peer = leg.peer_address();
        Some(paced)
    }

    /// Of frames to `side`, for the fewest bytes.
    pub(super) fn by_cost(
        side: Side,
        leg: &Leg,
        algorithm: Algorithm,
        levels: Levels,
        link: Arc<Link>,
        budgets: Budgets,
    ) -> Self {
        let thrift = match levels {
            Levels::UpTo(level_max) => Thrift::new(algorithm, level_max),
            // A harder one could not be left where it costs too much.
            Levels::OfHistory { agreed, .. } => {
                Thrift::at_level(algorithm, agreed.min(codec::ZstdLevel::DEFAULT.get()))
            }
        };
        let looker = Looker::new(leg, thrift.room().unsent_len);
        let cost = Cost { thrift, budgets, had_more: false };
        let mut paced = Self::new(Chooser::Cost(Box::new(cost)), looker, link, algorithm, side);
        paced.told.peer = leg.peer_address();
        paced
    }

    /// Of frames to `side` through a Unix socket, for the least time.
    pub(super) fn without_a_link(side: Side, algorithm: Algorithm, link: Arc<Link>) -> Self {
        Self::new(Chooser::NoLink, None, link, algorithm, side)
    }

    fn new(
        chooser: Chooser,
        looker: Option<Looker>,
        link: Arc<Link>,
        algorithm: Algorithm,
        side: Side,
    ) -> Self {
        Self {
            chooser,
            looker,
            algorithm,
            side,
            link,
            made: None,
            rest: None,
            until_look: 0,
            shared_at: Duration::ZERO,
            reasons: Vec::new(),
            last: None,
            told: Told::default(),
        }
    }

    /// Looks at the socket if the next choice may depend on it; `unwritten_len` bytes of what was handed over have not come into
    /// it yet.
    pub(crate) fn look(&mut self, leg: &Leg, unwritten_len: usize) {
        if self.rest.as_ref().is_some_and(|rest| rest.leaves_a_queue(|| self.link.now())) {
            self.end_rest();
        }
        if self.until_look == 0 || (self.rest.is_none() && self.chooser.wants_look(|| self.link.now())) {
            self.look_anyway(leg, unwritten_len);
        }
    }

    /// The same when the socket has just taken a part of what was left over: that tells how fast it does.
    pub(crate) fn look_anyway(&mut self, leg: &Leg, unwritten_len: usize) {
        self.until_look = LOOK_EVERY;
        self.end_rest();
        let Some(looker) = &mut self.looker else { return };
        let now = self.link.now();
        let Some(look) = looker.look(leg, now) else { return };
        let look = look.behind(unwritten_len as u64);
        self.told.queued_len = Some(look.queued_len + look.unwritten_len);
        match &mut self.chooser {
            Chooser::Latency(pace) => pace.look(look),
            Chooser::Cost(cost) => cost.thrift.look(&look),
            Chooser::NoLink => {}
        }
        // A socket that is gone is noticed when it is written to.
        looker.bound(leg, self.chooser.room().unsent_len);
        if now.saturating_sub(self.shared_at) >= SHARE_EVERY {
            self.shared_at = now;
            self.share();
            // What others have seen counts where nothing was seen here.
            if let (Chooser::Latency(pace), Some(rate)) = (&mut self.chooser, self.link.bytes_per_s()) {
                pace.assume_link(rate);
            }
        }
    }

    /// The link's other sessions are told what was seen here: those of a pool don't end for hours.
    fn share(&mut self) {
        if let Some((rate, at)) = self.chooser.link_seen() {
            self.link.saw(rate, at);
        }
        let Chooser::Latency(pace) = &mut self.chooser else { return };
        if let Some((gains, at)) = pace.reader_gains() {
            self.link.found_reader(gains, at);
        }
        self.link.saw_levels(&pace.take_levels_seen());
    }

    /// The next choice has what it depends on.
    pub(super) fn knows_link(&self) -> bool {
        !matches!(&self.chooser, Chooser::Latency(pace) if pace.bytes_per_s().is_none())
    }

    /// What came lately goes stored, whatever the link does.
    pub(super) fn shrinks_no_more(&self) -> bool {
        matches!(&self.chooser, Chooser::Latency(pace) if pace.shrinks_no_more())
    }

    /// Longest frame of several packets.
    pub(crate) fn frame_len(&self) -> usize {
        self.rest.as_ref().map_or_else(|| self.chooser.room().frame_len, Rest::frame_len)
    }

    /// The level that frames with history are packed at.
    pub(crate) fn level(&self) -> u8 {
        match &self.chooser {
            Chooser::Latency(pace) => self.rest.as_ref().map_or_else(|| pace.level(), Rest::level),
            Chooser::Cost(cost) => cost.thrift.level(),
            Chooser::NoLink => codec::ZstdLevel::MIN.get(),
        }
    }

    pub(crate) fn choose(&mut self, plain_len: usize, next: Next) -> Choice {
        if let Some(rest) = &mut self.rest
            && let Some(choice) = rest.covers(plain_len, next, || self.link.now())
        {
            self.until_look = self.until_look.saturating_sub(1);
            return choice;
        }
        self.account();
        self.end_rest();
        let choice = match &mut self.chooser {
            Chooser::Latency(pace) => {
                let mut replies = replies_to_choose(&self.link, self.algorithm);
                pace.choose(plain_len, next, self.link.now(), &mut replies)
            }
            Chooser::Cost(cost) => cost.choose(plain_len, next == Next::Follows, &self.link),
            Chooser::NoLink => STORED,
        };
        self.chose(choice)
    }

    /// The same for a packet of which `missing_len` bytes have still to come.
    pub(super) fn choose_early(&mut self, plain_len: usize, missing_len: usize) -> Choice {
        self.account();
        self.end_rest();
        let choice = match &mut self.chooser {
            Chooser::Latency(pace) => {
                let mut replies = replies_to_choose(&self.link, self.algorithm);
                pace.choose_early(plain_len, missing_len, self.link.now(), &mut replies)
            }
            Chooser::Cost(cost) => cost.choose(plain_len, false, &self.link),
            Chooser::NoLink => STORED,
        };
        self.chose(choice)
    }

    /// They came in this time.
    pub(super) fn collected(&mut self, missing_len: usize, took: Duration) {
        if let Chooser::Latency(pace) = &mut self.chooser {
            pace.collected(missing_len, took);
        }
    }

    /// A frame waited so long for a helper thread, without its work.
    pub(super) fn waited(&mut self, time: Duration) {
        if let Chooser::Latency(pace) = &mut self.chooser {
            pace.waited(time);
        }
    }

    fn chose(&mut self, choice: Choice) -> Choice {
        self.until_look = self.until_look.saturating_sub(1);
        let before = self.last.replace(choice);
        if before != Some(choice) && tracing::enabled!(tracing::Level::DEBUG) {
            self.tell(choice);
        }
        match self.reasons.iter_mut().find(|(reason, _)| *reason == choice.reason) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((choice.reason, 1)),
        }
        choice
    }

    /// Frames go another way than the last one: says so, and what is known where it is chosen.
    #[cold]
    fn tell(&mut self, choice: Choice) {
        let now = self.link.now();
        let told = &mut self.told;
        told.changes += 1;
        if told.at.is_some_and(|at| now.saturating_sub(at) < TELL_EVERY) {
            return;
        }
        told.at = Some(now);
        let rate = self.chooser.bytes_per_s();
        let Decision { choice: goes, reason } = Decision::of(choice);
        tracing::debug!(
            side = %self.side,
            peer = told.peer.map(tracing::field::display),
            choice = goes,
            level = choice.level,
            reason,
            bytes_per_s = rate,
            queued_len = told.queued_len,
            ratio = told.ratio,
            changes = std::mem::take(&mut told.changes),
            "frames go another way"
        );
    }

    /// The last choice, to be shown.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.last.map(Decision::of)
    }

    pub(crate) fn packed(&mut self, frame: PackedFrame, took: Took) {
        self.told.ratio = Some(frame.plain_len as f64 / frame.packed_len.max(1) as f64);
        match &mut self.chooser {
            Chooser::Latency(pace) => pace.packed(frame, took.wall),
            Chooser::Cost(cost) => {
                let (mut cpu, _) = cost.budgets.cpu.hold();
                let cpu_time = Duration::from_nanos(took.cpu_ns);
                let added = cost.thrift.packed(frame, took.wall, cpu_time, &mut cpu);
                cost.budgets.exchange.add(added);
            }
            Chooser::NoLink => {}
        }
    }

    /// The history of packed frames was given back.
    pub(crate) const fn history_ended(&mut self) {
        if let Chooser::Latency(pace) = &mut self.chooser {
            pace.history_ended();
        }
    }

    /// A frame that was to be packed went stored all the same.
    pub(crate) fn left(&mut self) {
        if let Chooser::Cost(cost) = &mut self.chooser {
            cost.thrift.left(&mut cost.budgets.cpu.hold().0);
        }
    }

    /// A frame, or a part of one, is ready.
    pub(crate) fn made(&mut self, plain_len: usize, len: usize) {
        let (plain, all) = self.made.unwrap_or_default();
        self.made = Some((plain + plain_len, all + len));
    }

    /// Bytes that wait to be handed over.
    pub(super) fn made_len(&self) -> usize {
        self.made.map_or(0, |(_, len)| len)
    }

    /// What is ready is written now, behind `unwritten_len` bytes that still wait.
    pub(crate) fn hand_over(&mut self, leg: &Leg, unwritten_len: usize) {
        if self.made.is_some() && !self.went_in_rest() {
            self.look(leg, unwritten_len);
            self.account();
        }
    }

    /// What is ready counts as sent: it goes before all that is decided from now on.
    fn account(&mut self) {
        if self.went_in_rest() {
            return;
        }
        if let Some((plain_len, len)) = self.made.take() {
            self.end_rest();
            match &mut self.chooser {
                Chooser::Latency(pace) => {
                    let mut replies = self.link.replies(self.algorithm);
                    pace.sent(plain_len, len, self.link.now(), &mut replies);
                    self.rest = self.last.and_then(|choice| pace.rest(choice, &replies));
                }
                Chooser::Cost(cost) => cost.thrift.sent(len, self.link.now()),
                Chooser::NoLink => {}
            }
        }
    }

    /// Whether what is ready was covered by a rest, in which it then counts.
    fn went_in_rest(&mut self) -> bool {
        let (Some(rest), Some((_, len))) = (&mut self.rest, self.made) else { return false };
        let is_covered = rest.sent(len);
        if is_covered {
            self.made = None;
        }
        is_covered
    }

    /// What went out in it is told before anything else is.
    fn end_rest(&mut self) {
        let Some(rest) = self.rest.take() else { return };
        if let Chooser::Latency(pace) = &mut self.chooser {
            pace.rested(&rest);
        }
        let (replies, reason) = rest.replies();
        if let Some((_, count)) = self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            *count += u64::from(replies);
        }
    }
}

impl Chooser {
    /// Whether the next choice depends on the socket, and a look may tell something new.
    fn wants_look(&self, now: impl FnOnce() -> Duration) -> bool {
        match self {
            Self::Latency(pace) => pace.wants_look(now),
            Self::Cost(cost) => cost.had_more,
            Self::NoLink => false,
        }
    }

    fn bytes_per_s(&self) -> Option<f64> {
        match self {
            Self::Latency(pace) => pace.bytes_per_s(),
            Self::Cost(cost) => cost.thrift.bytes_per_s(),
            Self::NoLink => None,
        }
    }

    fn link_seen(&self) -> Option<(f64, Duration)> {
        match self {
            Self::Latency(pace) => pace.link_seen(),
            Self::Cost(cost) => cost.thrift.link_seen(),
            Self::NoLink => None,
        }
    }

    fn room(&self) -> Room {
        match self {
            Self::Latency(pace) => pace.room(),
            Self::Cost(cost) => cost.thrift.room(),
            Self::NoLink => Room { frame_len: usize::MAX, unsent_len: u64::MAX },
        }
    }
}

impl Cost {
    fn choose(&mut self, plain_len: usize, more: bool, link: &Link) -> Choice {
        self.had_more = more;
        let added_max = self.budgets.added_max(link.reply_p99());
        let (mut cpu, now) = self.budgets.cpu.hold();
        self.thrift.choose(plain_len, link.now(), &mut Limits { cpu: &mut cpu, now, added_max })
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.end_rest();
        self.left();
        self.share();
        let link_bytes_per_s = self.chooser.link_seen().map(|(rate, _)| rate);
        tracing::debug!(side = %self.side, reasons = ?self.reasons, ?link_bytes_per_s, "frames were paced");
    }
}

/// What is known of the link's replies, with what the next choice goes by.
fn replies_to_choose(link: &Link, algorithm: Algorithm) -> MutexGuard<'_, Replies> {
    let mut replies = link.replies(algorithm);
    if replies.wants_core_share() {
        replies.core_share(core_share::of_this_thread());
    }
    replies
}

/// A tenth of what a user calls at once; few locks of what workers share.
const SHARE_EVERY: Duration = Duration::from_millis(100);
/// What becomes of each frame through a Unix socket.
const STORED: Choice = Choice { level: None, reason: Reason::NoLink };
/// The controllers try things, and change their mind with every other frame meanwhile.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Two system calls among so many frames don't show.
const LOOK_EVERY: u8 = 64;
