//! What the links to peers were seen to carry, and what is being tried on them, shared by their sessions.
//!
//! Invariants: bounded, and forgetting: what was seen long ago says nothing.
//! Not here: how it is seen (`codec::pace`).

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codec::Algorithm;
use codec::pace::{LevelSeen, PackingServer, Replies, RepliesSeen, ReplyTimes};
use wire::Side;

/// What is known of the link to a peer, in the direction towards it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkState {
    /// Whose link.
    pub peer: IpAddr,
    /// Whether it is a client or a server.
    pub side: Side,
    /// A server's port: behind those of one address may be different networks, as tunnels make them.
    pub port: Option<u16>,
    /// What it carries, bytes per second, and for how long that has been known.
    pub seen: Option<(f64, Duration)>,
    /// Whether whoever reads there gains by packed bytes when it is what others wait for.
    pub reader_gains: Option<bool>,
    /// What all but one in a hundred exchanges take at most, where that is a budget.
    pub reply_p99: Option<Duration>,
    /// What replies over it were seen to do, where the server leg's compression follows from that.
    pub replies: RepliesSeen,
    /// Sessions that use it now.
    pub sessions: usize,
}

/// Links by peer, clients apart from servers.
#[derive(Default)]
pub(crate) struct Links(Mutex<Known>);

#[derive(Default)]
struct Known {
    links: HashMap<Key, Arc<Link>>,
    /// When room was made last.
    swept: Option<Instant>,
}

/// Clients' ports are anything.
type Key = (IpAddr, Option<u16>, Side);

/// One link, in the direction towards the peer.
pub(crate) struct Link {
    since: Instant,
    seen: Mutex<Option<Seen>>,
    reader_gains: Mutex<Option<(bool, Instant)>>,
    levels: Mutex<Vec<(LevelSeen, Instant)>>,
    zlib: Mutex<Replies>,
    zstd: Mutex<Replies>,
    reply_times: Mutex<ReplyTimes>,
    server: Mutex<PackingServer>,
    sessions: AtomicUsize,
}

/// A session's use of a link, counted.
pub(crate) struct LinkUse(Arc<Link>);

impl LinkUse {
    pub(crate) fn of(link: Arc<Link>) -> Self {
        link.sessions.fetch_add(1, Ordering::Relaxed);
        Self(link)
    }

    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.0)
    }
}

impl Drop for LinkUse {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy)]
struct Seen {
    bytes_per_s: f64,
    at: Instant,
}

impl Links {
    /// The link to `peer`.
    pub(crate) fn to(&self, peer: SocketAddr, side: Side) -> Arc<Link> {
        let key = (peer.ip(), (side == Side::Server).then_some(peer.port()), side);
        let Known { links, swept } = &mut *lock(&self.0);
        if let Some(link) = links.get(&key) {
            return Arc::clone(link);
        }
        if links.len() >= LINKS_MAX && swept.is_none_or(|at| at.elapsed() >= SWEEP_PAUSE) {
            *swept = Some(Instant::now());
            links.retain(|_, link| Arc::strong_count(link) > 1 || link.is_known());
        }
        let link = Arc::new(Link::new());
        // One that has no room here is not shared.
        if links.len() < LINKS_MAX {
            links.insert(key, Arc::clone(&link));
        }
        link
    }

    /// A link that nobody else uses.
    pub(crate) fn unshared() -> Arc<Link> {
        Arc::new(Link::new())
    }

    /// All of them, by peer.
    pub(crate) fn states(&self) -> Vec<LinkState> {
        let state = |(&(peer, port, side), link): (&Key, &Arc<Link>)| LinkState {
            peer,
            side,
            port,
            reply_p99: lock(&link.reply_times).p99(),
            seen: link.seen(),
            reader_gains: link.reader_gains(),
            replies: lock(&link.server).replies_seen(),
            sessions: link.sessions.load(Ordering::Relaxed),
        };
        let mut states: Vec<_> = lock(&self.0).links.iter().map(state).collect();
        states.sort_by_key(|state| (state.peer, state.side.name(), state.port));
        states
    }
}

impl Link {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            seen: Mutex::default(),
            reader_gains: Mutex::default(),
            levels: Mutex::default(),
            zlib: Mutex::default(),
            zstd: Mutex::default(),
            reply_times: Mutex::default(),
            server: Mutex::default(),
            sessions: AtomicUsize::new(0),
        }
    }

    /// The time on the clock that its sessions share.
    pub(crate) fn now(&self) -> Duration {
        self.since.elapsed()
    }

    /// What it carries, bytes per second, if that was seen lately.
    pub(crate) fn bytes_per_s(&self) -> Option<f64> {
        self.seen().map(|(bytes_per_s, _)| bytes_per_s)
    }

    fn seen(&self) -> Option<(f64, Duration)> {
        let seen = lock(&self.seen).map(|seen| (seen.bytes_per_s, seen.at.elapsed()));
        seen.filter(|(_, ago)| *ago < TRUE_FOR)
    }

    /// Whether it has shown anything lately that a session would go by.
    fn is_known(&self) -> bool {
        let is_blank = self.server().is_blank(self.now());
        !is_blank
            || self.bytes_per_s().is_some()
            || self.reader_gains().is_some()
            || !self.levels().is_empty()
    }

    /// A session has seen it, at that time on the clock that sessions share. Those that are busy at once see their shares of
    /// it, so the greatest of some seconds counts.
    pub(crate) fn saw(&self, bytes_per_s: f64, at: Duration) {
        let at = self.since + at;
        let mut seen = lock(&self.seen);
        let counts = seen.is_none_or(|held| {
            at >= held.at + SHARED_FOR || (bytes_per_s >= held.bytes_per_s && at + SHARED_FOR > held.at)
        });
        if counts {
            *seen = Some(Seen { bytes_per_s, at });
        }
    }

    /// Whether whoever reads there gains by packed bytes when it is what others wait for, if that was found lately.
    pub(crate) fn reader_gains(&self) -> Option<bool> {
        lock(&self.reader_gains).filter(|(_, at)| at.elapsed() < TRUE_FOR).map(|(gains, _)| gains)
    }

    /// A session has found that, at that time on the clock that sessions share.
    pub(crate) fn found_reader(&self, gains: bool, at: Duration) {
        let at = self.since + at;
        let mut found = lock(&self.reader_gains);
        if found.is_none_or(|(_, earlier)| earlier <= at) {
            *found = Some((gains, at));
        }
    }

    /// What levels of frames with history do to what goes over it, as far as that was seen lately.
    pub(crate) fn levels(&self) -> Vec<LevelSeen> {
        let levels = lock(&self.levels);
        levels.iter().filter(|(_, at)| at.elapsed() < TRUE_FOR).map(|(seen, _)| *seen).collect()
    }

    /// A session has seen that just now.
    pub(crate) fn saw_levels(&self, seen: &[LevelSeen]) {
        if seen.is_empty() {
            return;
        }
        let mut levels = lock(&self.levels);
        for now in seen {
            levels.retain(|(before, _)| (before.algorithm, before.level) != (now.algorithm, now.level));
            for (before, _) in levels.iter_mut().filter(|(before, _)| before.algorithm == now.algorithm) {
                before.is_used &= !now.is_used;
            }
            levels.push((*now, Instant::now()));
        }
    }

    /// An exchange took so long, without what packing added.
    pub(crate) fn replied(&self, time: Duration) {
        lock(&self.reply_times).saw(time);
    }

    /// What all but one in a hundred exchanges take at most.
    pub(crate) fn reply_p99(&self) -> Option<Duration> {
        lock(&self.reply_times).p99()
    }

    /// What is known of the server behind it.
    pub(crate) fn server(&self) -> MutexGuard<'_, PackingServer> {
        lock(&self.server)
    }

    /// What is known of single replies.
    pub(crate) fn replies(&self, algorithm: Algorithm) -> MutexGuard<'_, Replies> {
        lock(if algorithm == Algorithm::Zlib { &self.zlib } else { &self.zstd })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Routes and loads change within minutes.
const TRUE_FOR: Duration = Duration::from_secs(600);
/// Sessions that have their turns within so long share the link.
const SHARED_FOR: Duration = Duration::from_secs(10);
/// Whoever comes from ever new addresses costs no more than this.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);
/// Some hundred bytes each.
const LINKS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use codec::pace::{Next, Pace, PackedFrame};

    use super::*;

    fn address(number: u32) -> SocketAddr {
        (Ipv4Addr::from(number), 3306).into()
    }

    #[test]
    fn of_the_shares_that_sessions_see_within_seconds_the_greatest_counts() {
        let link = Link::new();
        let known_after = |bytes_per_s: f64, s| {
            link.saw(bytes_per_s, Duration::from_secs(s));
            link.bytes_per_s().unwrap()
        };
        assert_eq!(known_after(3e6, 100), 3e6);
        assert_eq!(known_after(1e6, 105), 3e6);
        assert_eq!(known_after(4e6, 104), 4e6);
        // A session that ends tells again what it saw long ago.
        assert_eq!(known_after(9e6, 90), 4e6);
        assert_eq!(known_after(1e6, 114), 1e6);
    }

    #[test]
    fn what_was_found_of_a_reader_last_is_known() {
        let link = Link::new();
        for (gains, s) in [(true, 2), (false, 1)] {
            link.found_reader(gains, Duration::from_secs(s));
        }
        assert_eq!(link.reader_gains(), Some(true));
    }

    #[test]
    fn what_levels_were_seen_to_do_is_known_of_each_and_of_each_algorithm_which_is_used() {
        let seen = |algorithm, link_bytes_per_s| {
            let mut pace = Pace::with_history(algorithm, 7);
            pace.assume_link(link_bytes_per_s);
            for _ in 0..100 {
                pace.choose(1 << 17, Next::Follows, Duration::ZERO, &mut Replies::default());
                let level = pace.level();
                // Each step is twice as slow, and packs somewhat better.
                let took = Duration::from_micros(250 << level);
                pace.packed(PackedFrame::alone(level, 1 << 17, 40_000 - 1_500 * usize::from(level)), took);
            }
            pace.take_levels_seen()
        };
        let link = Link::new();
        assert_eq!(link.levels(), []);
        let used = |algorithm| {
            let levels = link.levels();
            let mut used = levels.iter().filter(|seen| seen.algorithm == algorithm && seen.is_used);
            (used.next().map(|seen| seen.level), used.count())
        };
        link.saw_levels(&seen(Algorithm::Zlib, 1e6));
        link.saw_levels(&seen(Algorithm::Zstd, 125e6));
        assert_eq!((used(Algorithm::Zlib), used(Algorithm::Zstd)), ((Some(1), 0), (Some(1), 0)));
        link.saw_levels(&seen(Algorithm::Zstd, 0.1e6));
        assert_eq!((used(Algorithm::Zlib), used(Algorithm::Zstd)), ((Some(1), 0), (Some(7), 0)));
        let levels: Vec<u8> = link.levels().iter().map(|seen| seen.level).collect();
        assert!(levels.len() == 4 && [1, 3, 7].iter().all(|level| levels.contains(level)), "{levels:?}");
    }

    #[test]
    fn the_rate_of_a_peer_is_known_and_there_are_not_too_many() {
        let links = Links::default();
        let link = |number: u32| links.to(address(number), Side::Client);
        link(1).saw(1e6, link(1).now());
        link(1).saw(2e6, link(1).now());
        assert_eq!((link(1).bytes_per_s(), link(2).bytes_per_s()), (Some(2e6), None));
        for number in 2..10_000 {
            link(number).saw(1e6, link(number).now());
        }
        let known = lock(&links.0).links.len();
        assert_eq!((known, link(1).bytes_per_s()), (LINKS_MAX, Some(2e6)));
    }

    #[test]
    fn each_link_is_told_of_with_the_sessions_that_use_it() {
        let links = Links::default();
        let to = |last: u8, side| links.to(SocketAddr::from(([127, 0, 0, last], 3306)), side);
        let (one, other) = (to(2, Side::Client), to(2, Side::Client));
        let _uses = [LinkUse::of(Arc::clone(&one)), LinkUse::of(other)];
        drop(to(1, Side::Server));
        one.saw(5e5, one.now());
        one.found_reader(false, one.now());
        let told: Vec<_> = links
            .states()
            .iter()
            .map(|it| {
                (it.peer.to_string(), it.side, it.seen.map(|(rate, _)| rate), it.reader_gains, it.sessions)
            })
            .collect();
        let expected = [
            ("127.0.0.1".to_owned(), Side::Server, None, None, 0),
            ("127.0.0.2".to_owned(), Side::Client, Some(5e5), Some(false), 2),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn links_that_nobody_uses_and_that_say_nothing_make_room() {
        let links = Links::default();
        let to = |number: u32| links.to(address(number), Side::Server);
        let used = to(0);
        for number in 1..10_000 {
            drop(to(number));
        }
        assert!(Arc::ptr_eq(&used, &to(0)));
        assert!(lock(&links.0).links.len() <= LINKS_MAX);
    }

    #[test]
    fn what_a_server_leg_or_a_reader_has_shown_is_kept_when_room_is_made() {
        let links = Links::default();
        let to = |number: u32| links.to(address(number), Side::Server);
        // Replies alone: an uncompressed leg tells no rate of its own.
        to(0).server().held_back(Duration::ZERO, 1e6);
        to(1).found_reader(true, to(1).now());
        for number in 2..10_000 {
            drop(to(number));
        }
        assert!(!to(0).server().is_blank(to(0).now()));
        assert_eq!(to(1).reader_gains(), Some(true));
    }
}
