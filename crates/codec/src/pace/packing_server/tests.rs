//! A server behind a link, simulated: sessions one after the other, each with a long reply.
//!
//! Not here: real servers (crate `proxy`).

use super::*;

const ZSTD: Packing = (Algorithm::Zstd, 3);
const EASY: Packing = (Algorithm::Zstd, 1);
const POSSIBLE: [Packing; 2] = [ZSTD, EASY];
/// A user's key.
const USER: u64 = 7;

/// Rows of sysbench's.
const ROW_LEN: f64 = 190.0;

/// Levels, each with its ratio and plain bytes per second.
fn sample(levels: &[(u8, f64, f64)]) -> Sample {
    sample_of(ROW_LEN, levels)
}

fn sample_of(row_len: f64, levels: &[(u8, f64, f64)]) -> Sample {
    let at = |(level, ratio, packs_per_s): &(u8, f64, f64)| AtLevel {
        level: *level,
        ratio: *ratio,
        packs_per_s: *packs_per_s,
    };
    Sample::at_levels(levels.iter().map(at).collect(), row_len)
}

fn s(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

/// A link, the server's speed without packing, and what it does while packing.
#[derive(Clone, Copy)]
struct World {
    link_per_s: f64,
    server_per_s: f64,
    ratio: f64,
    packs_per_s: [f64; 2],
    row_len: f64,
}

const WORLD: World = World {
    link_per_s: 1e12,
    server_per_s: 800e6,
    ratio: 2.0,
    packs_per_s: [120e6, 200e6],
    row_len: ROW_LEN,
};

impl World {
    fn plain_per_s(&self, packing: Packing) -> f64 {
        match POSSIBLE.iter().position(|possible| *possible == packing) {
            None => self.link_per_s.min(self.server_per_s),
            Some(number) => {
                let made = 1.0 / (1.0 / self.server_per_s + 1.0 / self.packs_per_s[number]);
                made.min(self.link_per_s * self.ratio)
            }
        }
    }

    /// Sessions one after the other, each with a reply of so many bytes; what each was packed with.
    fn run(&self, server: &mut PackingServer, now: &mut f64, sessions: usize) -> Vec<LegChoice> {
        let mut choices = Vec::new();
        for _ in 0..sessions {
            let choice = server.choose(s(*now), USER, &POSSIBLE);
            server.begin(s(*now), choice.packing);
            let rate = self.plain_per_s(choice.packing);
            let ratio = if choice.packing == STORED { 1.0 } else { self.ratio };
            for _ in 0..64 {
                *now += 65_536.0 / rate;
                server.got(s(*now), 65_536, (65_536.0 / ratio) as u64);
            }
            server.end(s(*now), choice.packing, false);
            if let Some(trial) = choice.trial {
                server.trial_ends(trial);
            }
            if choice.packing == STORED && server.wants_sample(s(*now)) {
                server.sampled(s(*now), sample_of(self.row_len, &[(1, self.ratio, self.packs_per_s[1])]));
            }
            *now += 0.1;
            choices.push(choice);
        }
        choices
    }
}

fn packings(choices: &[LegChoice]) -> Vec<Packing> {
    choices.iter().map(|choice| choice.packing).collect()
}

#[test]
fn the_first_session_is_uncompressed_and_a_fast_link_stays_so() {
    let choices = WORLD.run(&mut PackingServer::default(), &mut 0.0, 5);
    assert_eq!(packings(&choices), [STORED; 5]);
    assert_eq!(choices[0].reason, LegReason::NothingKnown);
    assert_eq!(choices[4].reason, LegReason::LinkIsFast);
}

#[test]
fn from_the_second_session_on_a_slow_link_is_compressed() {
    for link_per_s in [1.25e6, 2.5e6, 12.5e6] {
        let choices = World { link_per_s, ..WORLD }.run(&mut PackingServer::default(), &mut 0.0, 4);
        assert_eq!(packings(&choices), [STORED, ZSTD, ZSTD, ZSTD], "{link_per_s}");
        assert_eq!(choices[3].reason, LegReason::PackedWasFaster);
    }
}

#[test]
fn over_a_faster_link_the_easiest_level_is_tried_where_the_sample_promises_much() {
    // 1 Gbit/s, digits.
    let world =
        World { link_per_s: 119e6, server_per_s: 520e6, ratio: 2.06, packs_per_s: [110e6, 280e6], ..WORLD };
    let choices = world.run(&mut PackingServer::default(), &mut 0.0, 5);
    assert_eq!(packings(&choices), [STORED, EASY, EASY, EASY, EASY]);
    assert_eq!((choices[1].reason, choices[4].reason), (LegReason::LinkIsSlow, LegReason::PackedWasFaster));
    // Nothing is faster than what comes without a link.
    for (server_per_s, packs_per_s) in [(1.9e9, 3.4e9), (850e6, 5.4e9)] {
        let wide = World {
            link_per_s: 1e12,
            server_per_s,
            ratio: 700.0,
            packs_per_s: [3e9, packs_per_s],
            row_len: 65_536.0,
        };
        assert_eq!(packings(&wide.run(&mut PackingServer::default(), &mut 0.0, 3)), [STORED; 3]);
    }
    // A slower host makes such rows, and packs them, no faster than the link carries them; long ones it does.
    let slower = World { server_per_s: 300e6, packs_per_s: [80e6, 200e6], ..world };
    assert_eq!(packings(&slower.run(&mut PackingServer::default(), &mut 0.0, 3)), [STORED; 3]);
    let long = World { server_per_s: 1.2e9, row_len: 1_048_576.0, packs_per_s: [80e6, 160e6], ..world };
    let choices = long.run(&mut PackingServer::default(), &mut 0.0, 4);
    // What was hardly faster is looked at again once.
    assert_eq!(packings(&choices), [STORED, EASY, STORED, EASY]);
    // Dearer data, and a server that is no faster than the link.
    let dear = World { packs_per_s: [80e6, 150e6], ..world };
    assert_eq!(packings(&dear.run(&mut PackingServer::default(), &mut 0.0, 3)), [STORED; 3]);
    let slow = World { server_per_s: 119e6, ..world };
    let choices = slow.run(&mut PackingServer::default(), &mut 0.0, 50);
    assert_eq!(choices.iter().filter(|choice| choice.packing != STORED).count(), 1);
}

#[test]
fn a_slow_server_is_not_a_slow_link() {
    // The server makes 10 MB/s; packing them as well makes it slower.
    let world = World { server_per_s: 10e6, ..WORLD };
    let choices = world.run(&mut PackingServer::default(), &mut 0.0, 50);
    let packed = choices.iter().filter(|choice| choice.packing != STORED).count();
    assert_eq!((packed, choices[1].packing, choices[49].reason), (1, ZSTD, LegReason::PackedWasSlower));
    // Nor for the many that ask little: what short replies tell is added up.
    let mut server = PackingServer::default();
    for reply in 0..100_u32 {
        let now = f64::from(reply);
        server.begin(s(now), STORED);
        server.got(s(now + 8e-3), 10_000, 10_000);
        server.end(s(now + 8e-3), STORED, false);
    }
    let seen = server.replies_seen().stored_per_s.unwrap();
    assert!((seen / 1.25e6 - 1.0).abs() < 0.01, "{seen}");
}

#[test]
fn what_does_not_shrink_is_not_tried() {
    let choices =
        World { link_per_s: 2.5e6, ratio: 1.0, ..WORLD }.run(&mut PackingServer::default(), &mut 0.0, 4);
    assert_eq!(packings(&choices), [STORED; 4]);
}

#[test]
fn a_server_that_cannot_keep_up_is_asked_for_an_easier_level() {
    let world = World { link_per_s: 20e6, ratio: 10.0, packs_per_s: [50e6, 180e6], ..WORLD };
    let choices = world.run(&mut PackingServer::default(), &mut 0.0, 5);
    assert_eq!(packings(&choices)[1..], [ZSTD, EASY, EASY, EASY]);
}

#[test]
fn where_packed_replies_wait_for_the_link_a_harder_level_is_tried_once() {
    const HARD: Packing = (Algorithm::Zstd, 7);
    let packings = |hard_per_s: f64| -> Vec<Packing> {
        let (mut server, mut now) = (PackingServer::default(), 0.0);
        let session = |_| {
            let LegChoice { packing, trial, .. } = server.choose(s(now), USER, &[ZSTD, EASY, HARD]);
            // 100 Mbit/s, text.
            let (plain_per_s, ratio) = match packing {
                STORED => (12.5e6, 1.0),
                HARD => (hard_per_s, 3.6),
                _ => (40e6, 3.2),
            };
            server.begin(s(now), packing);
            for _ in 0..64 {
                now += 65_536.0 / plain_per_s;
                server.got(s(now), 65_536, (65_536.0 / ratio) as u64);
            }
            server.end(s(now), packing, false);
            if let Some(trial) = trial {
                server.trial_ends(trial);
            }
            packing
        };
        (0..6).map(session).collect()
    };
    assert_eq!(packings(45e6), [STORED, ZSTD, HARD, HARD, HARD, HARD]);
    assert_eq!(packings(38e6), [STORED, ZSTD, HARD, ZSTD, ZSTD, ZSTD]);
}

#[test]
fn a_link_that_changes_is_followed_both_ways_and_what_is_old_is_forgotten() {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    let slow = World { link_per_s: 2.5e6, ..WORLD };
    slow.run(&mut server, &mut now, 3);
    // Packed bytes come faster than the link was known to be.
    let choices = WORLD.run(&mut server, &mut now, 6);
    assert_eq!(packings(&choices)[1..], [STORED; 5]);
    let choices = slow.run(&mut server, &mut now, 6);
    assert_eq!(packings(&choices)[2..], [ZSTD; 4], "{choices:?}");
    now += 700.0;
    assert_eq!(server.choose(s(now), USER, &POSSIBLE).reason, LegReason::NothingKnown);
}

#[test]
fn a_moment_at_which_the_server_was_slow_does_not_decide_for_ever() {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    let world = World { server_per_s: 110e6, ratio: 2.7, ..WORLD };
    World { server_per_s: 20e6, ..world }.run(&mut server, &mut now, 1);
    let choices = world.run(&mut server, &mut now, 3000);
    // Packed was faster than then, and isn't.
    assert_eq!(choices[10].packing.0, Algorithm::Zstd);
    assert_eq!(packings(&choices[2990..]), [STORED; 10]);
}

#[test]
fn uncompressed_replies_that_came_first_to_cold_caches_are_looked_at_again() {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    let warm =
        World { server_per_s: 1.4e9, ratio: 700.0, packs_per_s: [3e9, 3e9], row_len: 65_536.0, ..WORLD };
    World { server_per_s: 0.7e9, ..warm }.run(&mut server, &mut now, 1);
    let choices = warm.run(&mut server, &mut now, 6);
    assert_eq!(packings(&choices[..2]), [EASY, STORED], "{choices:?}");
    assert_eq!(choices[1].reason, LegReason::LooksAgain);
    // Packed is 0.95e9 of these.
    assert_eq!(packings(&choices[2..]), [STORED; 4], "{choices:?}");
}

#[test]
fn one_session_tries_and_the_others_wait_for_what_it_finds() {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    World { link_per_s: 12.5e6, ..WORLD }.run(&mut server, &mut now, 1);
    let choices: Vec<_> = (0..3).map(|_| server.choose(s(now), USER, &POSSIBLE)).collect();
    assert_eq!(packings(&choices), [ZSTD, STORED, STORED]);
    // It never asked for anything.
    assert_eq!(server.choose(s(now + 11.0), USER, &POSSIBLE).packing, ZSTD);
    // Nobody waits where there is nothing to lose.
    World { link_per_s: 2.5e6, ..WORLD }.run(&mut server, &mut now, 2);
    let choices: Vec<_> = (0..3).map(|_| server.choose(s(now), USER, &POSSIBLE)).collect();
    assert_eq!(packings(&choices), [ZSTD; 3]);
}

#[test]
fn a_session_that_ends_without_a_word_lets_the_next_one_try() {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    World { link_per_s: 12.5e6, ..WORLD }.run(&mut server, &mut now, 1);
    let choose = |server: &mut PackingServer, now: f64| server.choose(s(now), USER, &POSSIBLE).trial;
    let first = choose(&mut server, now).unwrap();
    assert_eq!(choose(&mut server, now), None);
    server.trial_ends(first);
    let second = choose(&mut server, now).unwrap();
    // Who comes late takes nothing from whoever tries now.
    server.trial_ends(first);
    server.trial_begins(s(now + 100.0), first);
    assert_eq!(choose(&mut server, now), None);
    // A login that stalls is waited for a moment, a session that goes on for longer.
    let third = choose(&mut server, now + 2.5).unwrap();
    assert_ne!(second, third);
    server.trial_begins(s(now + 3.0), third);
    assert_eq!(choose(&mut server, now + 12.0), None);
    assert!(choose(&mut server, now + 13.5).is_some());
}

#[test]
fn a_server_is_blank_until_something_was_seen_of_it_and_again_when_that_is_old() {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    assert!(server.is_blank(s(0.0)));
    WORLD.run(&mut server, &mut now, 1);
    assert!(!server.is_blank(s(now + 300.0)) && server.is_blank(s(now + 600.0)));
    server.held_back(s(now + 600.0), 2.5e6);
    assert!(!server.is_blank(s(now + 700.0)));
}

#[test]
fn sessions_that_share_a_link_share_its_rate() {
    let mut server = PackingServer::default();
    server.begin(s(0.0), STORED);
    server.begin(s(0.0), STORED);
    for ms in 1..=200 {
        // 5 MB/s for both together.
        server.got(s(f64::from(ms) / 1e3), 2_500, 2_500);
        server.got(s(f64::from(ms) / 1e3), 2_500, 2_500);
    }
    server.end(s(0.2), STORED, false);
    server.end(s(0.2), STORED, false);
    let seen = server.replies_seen().stored_per_s.unwrap();
    assert!((seen / 5e6 - 1.0).abs() < 0.01, "{seen}");
}

#[test]
fn a_slow_reader_and_mixed_sessions_say_nothing() {
    let mut server = PackingServer::default();
    server.begin(s(0.0), STORED);
    server.holds();
    server.got(s(0.1), 1 << 20, 1 << 20);
    server.end(s(0.1), STORED, true);
    server.begin(s(1.0), STORED);
    server.begin(s(1.0), ZSTD);
    server.got(s(1.1), 1 << 20, 1 << 20);
    server.end(s(1.2), STORED, false);
    server.end(s(1.2), ZSTD, false);
    assert_eq!(server.replies_seen().stored_per_s, None);
}

/// Replies overlap all the time, so there is no moment without one.
#[test]
fn what_a_slow_reader_or_another_packing_spoilt_is_over_when_they_are() {
    for is_mixed in [false, true] {
        let mut server = PackingServer::default();
        let first = if is_mixed { ZSTD } else { STORED };
        server.begin(s(0.0), first);
        if !is_mixed {
            server.holds();
        }
        server.begin(s(0.0), STORED);
        let mut now = 0.0;
        let mut second = |server: &mut PackingServer| {
            for _ in 0..100 {
                now += 0.01;
                server.got(s(now), 25_000, 25_000);
            }
            now
        };
        second(&mut server);
        let now = second(&mut server);
        assert_eq!(server.replies_seen().stored_per_s, None);
        server.end(s(now), first, !is_mixed);
        for _ in 0..2 {
            server.begin(s(now), STORED);
            let now = second(&mut server);
            server.end(s(now), STORED, false);
        }
        let seen = server.replies_seen().stored_per_s.unwrap();
        assert!((seen / 2.5e6 - 1.0).abs() < 0.05, "{is_mixed}: {seen}");
        assert_eq!(server.replies_seen().packed_per_s, None);
    }
}

#[test]
fn requests_that_are_held_back_count_where_replies_tell_nothing() {
    let mut server = PackingServer::default();
    server.held_back(s(0.0), 2.5e6);
    assert_eq!(server.choose(s(1.0), USER, &POSSIBLE).reason, LegReason::RequestsAreSlow);
    server.held_back(s(0.0), 200e6);
    assert_eq!(server.choose(s(1.0), USER, &POSSIBLE).reason, LegReason::NothingKnown);
    assert_eq!(server.choose(s(1.0), USER, &[]).reason, LegReason::AsAsked);
}

#[test]
fn a_user_with_short_replies_gets_them_uncompressed_where_packing_takes_longer_than_it_saves() {
    let reason = |link_per_s: f64, reply_len: u64, held_back: bool| {
        let (mut server, mut now) = (PackingServer::default(), 0.0);
        let world = World { link_per_s, packs_per_s: [300e6, 400e6], ..WORLD };
        world.run(&mut server, &mut now, 3);
        if held_back {
            server.held_back(s(now), 1e6);
        }
        server.told(s(now), USER + 1, 1000, 1000 * reply_len);
        server.told(s(now), USER, 1, 1 << 20);
        assert_ne!(server.choose(s(now), USER, &POSSIBLE).reason, LegReason::RepliesAreShort);
        server.choose(s(now), USER + 1, &POSSIBLE).reason
    };
    // Over 1 Gbit/s, over 100 Mbit/s.
    assert_eq!(reason(117e6, 230, false), LegReason::RepliesAreShort);
    assert_eq!(reason(117e6, 12_500, false), LegReason::RepliesAreShort);
    assert_eq!(reason(12e6, 230, false), LegReason::RepliesAreShort);
    assert_eq!(reason(12e6, 12_500, false), LegReason::PackedWasFaster);
    assert_eq!(reason(12e6, 200_000, false), LegReason::PackedWasFaster);
    // Long requests gain.
    assert_eq!(reason(12e6, 60, true), LegReason::PackedWasFaster);
}

#[test]
fn a_link_far_slower_than_any_level_gets_the_hardest_at_once() {
    let second = |rate| {
        let mut server = PackingServer::default();
        server.begin(s(0.0), STORED);
        server.got(s(1.0), rate, rate);
        server.end(s(1.0), STORED, false);
        server.choose(s(2.0), USER, &[ZSTD, EASY, (Algorithm::Zstd, 7)])
    };
    assert_eq!((second(1_200_000).packing.1, second(1_200_000).reason), (7, LegReason::LinkIsSlow));
    assert_eq!(second(4_000_000).packing, ZSTD);
}

#[test]
fn the_first_packed_session_has_the_level_that_the_sample_is_made_smallest_by_if_a_server_can_keep_up() {
    let chosen = |link_per_s: f64, levels: &[(u8, f64, f64)]| {
        let mut server = PackingServer::default();
        server.begin(s(0.0), STORED);
        server.got(s(1.0), link_per_s as u64, link_per_s as u64);
        server.end(s(1.0), STORED, false);
        server.sampled(s(1.0), sample(levels));
        server.choose(s(2.0), USER, &[ZSTD, EASY, (Algorithm::Zstd, 7)]).packing.1
    };
    // 10, 100 and 500 Mbit/s.
    let digits = [(1, 2.05, 280e6), (3, 1.94, 110e6), (7, 1.96, 60e6)];
    assert_eq!([1.2e6, 12e6, 60e6].map(|link| chosen(link, &digits)), [1, 1, 1]);
    let text = [(1, 2.2, 270e6), (3, 2.5, 150e6), (7, 2.75, 70e6)];
    assert_eq!([1.2e6, 12e6, 60e6].map(|link| chosen(link, &text)), [7, 7, 1]);
    // Hardly smaller.
    let close = [(1, 2.2, 270e6), (3, 2.22, 150e6), (7, 2.23, 70e6)];
    assert_eq!(chosen(12e6, &close), 1);
    // Of a level that the operator named there is no sample.
    assert_eq!(chosen(12e6, &digits[..1]), 3);
}

#[test]
fn what_fills_the_link_gives_way_to_the_level_that_the_sample_says_is_smaller() {
    let mut server = PackingServer::default();
    let seven = (Algorithm::Zstd, 7);
    for (at, packing, plain_len) in [(0.0, STORED, 12_000_000), (2.0, ZSTD, 24_000_000)] {
        server.begin(s(at), packing);
        server.got(s(at + 1.0), plain_len, 12_000_000);
        server.end(s(at + 1.0), packing, false);
    }
    server.sampled(s(3.0), sample(&[(1, 2.2, 280e6), (3, 2.0, 110e6), (7, 2.1, 60e6)]));
    let choice = server.choose(s(4.0), USER, &[ZSTD, EASY, seven]);
    assert_eq!((choice.packing, choice.reason), (EASY, LegReason::LinkIsTheLimit));
    // It was seen, and was no smaller.
    server.begin(s(5.0), EASY);
    server.got(s(6.0), 23_000_000, 12_000_000);
    server.end(s(6.0), EASY, false);
    assert_eq!(server.choose(s(7.0), USER, &[ZSTD, EASY, seven]).packing, ZSTD);
}

/// A reply of 40 MB; nothing of it is taken for `stall_s` after `stall_at` of its 640 parts, and what came meanwhile, `waiting_max` at
/// most, comes at once behind that.
fn stalled_reply(
    server: &mut PackingServer,
    now: &mut f64,
    (packing, plain_per_s, ratio): (Packing, f64, f64),
    (stall_at, stall_s, waiting_max): (usize, f64, f64),
) {
    const PART: f64 = 62_500.0;
    server.begin(s(*now), packing);
    let mut waiting = 0.0;
    for part in 0..640 {
        if part == stall_at {
            *now += stall_s;
            waiting = (stall_s * plain_per_s).min(waiting_max);
        }
        let rate = if waiting > 0.0 { 4e9 } else { plain_per_s };
        waiting -= PART;
        *now += PART / rate;
        server.got(s(*now), PART as u64, (PART / ratio) as u64);
    }
    server.end(s(*now), packing, false);
}

/// Digits: MySQL makes 500 MB/s of them, and packs 280 MB/s.
fn server_of_digits(link_per_s: f64, stall: (usize, f64, f64)) -> (PackingServer, f64) {
    let (mut server, mut now) = (PackingServer::default(), 0.0);
    assert_eq!(server.choose(s(now), USER, &POSSIBLE).packing, STORED);
    stalled_reply(&mut server, &mut now, (STORED, link_per_s, 1.0), stall);
    server.sampled(s(now), sample(&[(1, 2.06, 280e6), (3, 1.94, 110e6), (7, 1.96, 60e6)]));
    (server, now)
}

#[test]
fn a_stall_in_the_first_reply_does_not_make_a_fast_link_slow() {
    for stall_at in 0..640 {
        let (mut server, now) = server_of_digits(500e6, (stall_at, 0.045, 0.0));
        let choice = server.choose(s(now), USER, &POSSIBLE);
        assert_eq!((choice.packing, choice.reason), (STORED, LegReason::LinkIsFast), "{stall_at}");
    }
}

#[test]
fn what_waited_in_buffers_in_the_first_reply_does_not_make_a_slow_link_fast() {
    for stall_at in 0..640 {
        let (mut server, now) = server_of_digits(119e6, (stall_at, 0.045, 6e6));
        assert_eq!(server.choose(s(now), USER, &POSSIBLE).packing, EASY, "{stall_at}");
    }
}

#[test]
fn a_stall_does_not_decide_a_trial() {
    for stall_at in 0..640 {
        let (mut server, mut now) = server_of_digits(119e6, (640, 0.0, 0.0));
        assert!(server.choose(s(now), USER, &POSSIBLE).trial.is_some());
        stalled_reply(&mut server, &mut now, (EASY, 180e6, 2.06), (stall_at, 0.09, 0.0));
        let choice = server.choose(s(now), USER, &POSSIBLE);
        assert_eq!((choice.packing, choice.reason), (EASY, LegReason::PackedWasFaster), "{stall_at}");
    }
    // While it goes on it has not lost.
    let (mut server, now) = server_of_digits(119e6, (640, 0.0, 0.0));
    let trial = server.choose(s(now), USER, &POSSIBLE).trial.unwrap();
    server.trial_begins(s(now), trial);
    server.begin(s(now), EASY);
    server.got(s(now + 0.1), 8_000_000, 4_000_000);
    assert_eq!(server.choose(s(now + 0.1), USER, &POSSIBLE).reason, LegReason::OtherTries);
    server.got(s(now + 0.15), 8_000_000, 4_000_000);
    assert_eq!(server.choose(s(now + 0.15), USER, &POSSIBLE).packing, EASY);
    // It was slow all the time.
    server.got(s(now + 0.25), 8_000_000, 4_000_000);
    assert_eq!(server.choose(s(now + 0.25), USER, &POSSIBLE).reason, LegReason::PackedWasSlower);
}

#[test]
fn one_long_reply_loses_once() {
    let (mut server, mut now) = server_of_digits(119e6, (640, 0.0, 0.0));
    assert!(server.choose(s(now), USER, &POSSIBLE).trial.is_some());
    stalled_reply(&mut server, &mut now, (EASY, 100e6, 2.06), (640, 0.0, 0.0));
    assert_eq!(server.choose(s(now + 55.0), USER, &POSSIBLE).reason, LegReason::PackedWasSlower);
    assert_eq!(server.choose(s(now + 61.0), USER, &POSSIBLE).packing, EASY);
}
