//! Whose turn it is where a workload is timed under several compressions in bounded time.
//!
//! ```text
//!  none none none │ none cheap … dear │ cheap … dear none │ …
//!  never dropped  │ rounds, each begun by another one, while what is wanted of all that take part fits into the time
//! ```
//! They alternate, so that a server that is slow for a while is slow for all of them. What a pass takes is what its last
//! one took; before the first it is none's and the codec's time.
//!
//! Invariants: no clock, no socket; [`NONE`] has [`ROUNDS_MIN`] passes before any other has one. Another is dropped, for
//! good, where the passes that it still wants don't fit behind those of all cheaper ones, or where one of them takes so
//! long that the cheaper ones' wouldn't, or many times what was predicted.
//!
//! Not here: running statements (`traffic`), what codecs take (`candidate`).

use std::collections::VecDeque;

use crate::stats::f64_of;

/// Of some runners, [`NONE`] and those that are laid beside it.
#[derive(Debug)]
pub(super) struct Schedule {
    runners: Vec<Runner>,
    /// As long as is asked for, s.
    time_s: f64,
    /// Nothing is begun that would take longer, s.
    time_max_s: f64,
    rounds: usize,
    round: VecDeque<usize>,
}

#[derive(Debug)]
struct Runner {
    /// What its codec takes of a pass, s.
    codec_s: f64,
    last_s: Option<f64>,
    passes: usize,
    /// It takes no part, or no more.
    is_out: bool,
}

/// A pass to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    /// Whose.
    pub(super) place: usize,
    /// When it has to be given up, s from the start.
    pub(super) until_s: f64,
}

impl Schedule {
    /// Of none, and of one for each codec's time in a pass, s.
    pub(super) fn new(codecs_s: &[f64], time_s: f64) -> Self {
        let runner = |codec_s: f64| Runner { codec_s, last_s: None, passes: 0, is_out: false };
        Self {
            runners: std::iter::once(0.0).chain(codecs_s.iter().copied()).map(runner).collect(),
            time_s,
            time_max_s: time_s.max(TIME_MAX_S),
            rounds: 0,
            round: VecDeque::new(),
        }
    }

    /// It takes no part.
    pub(super) fn leave_out(&mut self, place: usize) {
        if let Some(runner) = self.runners.get_mut(place) {
            runner.is_out = true;
        }
    }

    /// Who is to run when `elapsed_s` are over; none when all is done.
    pub(super) fn next(&mut self, elapsed_s: f64) -> Option<Turn> {
        if self.wanted(NONE) > ROUNDS_MIN {
            return Some(Turn { place: NONE, until_s: f64::INFINITY });
        }
        self.drop_what_does_not_fit(elapsed_s);
        loop {
            let Some(place) = self.round.pop_front() else {
                let is_enough = self.rounds >= ROUNDS_MIN;
                if is_enough && (elapsed_s >= self.time_s || self.rounds >= ROUNDS_MAX) {
                    return None;
                }
                self.begin_round();
                continue;
            };
            let wanted = self.wanted(place);
            let is_out = self.runners.get(place).is_none_or(|runner| runner.is_out);
            let fits = wanted > 0 || elapsed_s + self.pass_s(place) <= self.time_max_s;
            if !is_out && (fits || place == NONE && self.rounds <= ROUNDS_MIN) {
                // Dearer ones give way.
                let cheaper_s =
                    self.needs_s(|other| other == NONE || self.pass_s(other) < self.pass_s(place));
                let share_s = (self.time_max_s - elapsed_s - cheaper_s) / f64_of(wanted.max(1));
                let most_s = share_s.min(OVERRUN_MAX * self.pass_s(place));
                let until_s = if place == NONE { f64::INFINITY } else { elapsed_s + most_s };
                return Some(Turn { place, until_s });
            }
        }
    }

    /// A pass took so long; none if it was given up.
    pub(super) fn ran(&mut self, place: usize, took_s: Option<f64>) {
        let is_wanted = self.wanted(place) > 0;
        let Some(runner) = self.runners.get_mut(place) else { return };
        match took_s {
            Some(took_s) => {
                runner.last_s = Some(took_s);
                runner.passes += 1;
            }
            None => runner.is_out = is_wanted,
        }
    }

    /// Whether enough passes of it were run.
    pub(super) fn has_enough(&self, place: usize) -> bool {
        self.runners.get(place).is_some_and(|runner| runner.passes >= ROUNDS_MIN)
    }

    /// How long all turns yet to come take, s.
    pub(super) fn left_s(&self, elapsed_s: f64) -> f64 {
        let rest_s = (self.time_s - elapsed_s).max(0.0);
        if self.wanted(NONE) > ROUNDS_MIN {
            return rest_s;
        }
        let round_s: f64 = self.taking_part().map(|place| self.pass_s(place)).sum();
        let most_s = round_s * f64_of(ROUNDS_MAX.saturating_sub(self.rounds) + 1);
        rest_s.min(most_s).max(self.needs_s(|_| true)).min((self.time_max_s - elapsed_s).max(0.0))
    }

    fn begin_round(&mut self) {
        let mut order = self.cheapest_first();
        // Each round begins with another one: what a pass finds in caches is not always from the same neighbour.
        let first = self.rounds % order.len().max(1);
        order.rotate_left(first);
        self.round = order.into();
        self.rounds += 1;
    }

    fn drop_what_does_not_fit(&mut self, elapsed_s: f64) {
        let left_s = self.time_max_s - elapsed_s;
        let mut need_s = self.need_s(NONE);
        for place in self.cheapest_first().into_iter().filter(|place| *place != NONE) {
            let own_s = self.need_s(place);
            if own_s > 0.0 && need_s + own_s > left_s {
                self.leave_out(place);
            } else {
                need_s += own_s;
            }
        }
    }

    fn cheapest_first(&self) -> Vec<usize> {
        let mut places: Vec<usize> = self.taking_part().collect();
        places.sort_by(|a, b| self.pass_s(*a).total_cmp(&self.pass_s(*b)));
        places
    }

    fn taking_part(&self) -> impl Iterator<Item = usize> {
        self.runners.iter().enumerate().filter(|(_, runner)| !runner.is_out).map(|(place, _)| place)
    }

    /// Passes that must come yet: none has its own first, and one beside each of the others'.
    fn wanted(&self, place: usize) -> usize {
        let all = if place == NONE { 2 * ROUNDS_MIN } else { ROUNDS_MIN };
        self.runners.get(place).map_or(0, |runner| all.saturating_sub(runner.passes))
    }

    fn pass_s(&self, place: usize) -> f64 {
        let none_s = self.runners.first().and_then(|none| none.last_s).unwrap_or_default();
        self.runners.get(place).map_or(0.0, |runner| runner.last_s.unwrap_or(none_s + runner.codec_s))
    }

    fn need_s(&self, place: usize) -> f64 {
        f64_of(self.wanted(place)) * self.pass_s(place)
    }

    fn needs_s(&self, is_meant: impl Fn(usize) -> bool) -> f64 {
        self.taking_part().filter(|place| is_meant(*place)).map(|place| self.need_s(place)).sum()
    }
}

/// The place of what isn't compressed.
pub(super) const NONE: usize = 0;
/// Fewer have no interval worth the name.
pub(super) const ROUNDS_MIN: usize = 3;
/// More tell nothing new.
const ROUNDS_MAX: usize = 200;
/// Of all passes, where not more is asked for: with sysbench, the link's measurement and the codecs' two minutes in all.
pub(super) const TIME_MAX_S: f64 = 90.0;

/// Where server, codec and client share cores, and the codec's rate was that of another moment, a pass takes up to twice what was
/// predicted.
const OVERRUN_MAX: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a workload of so many seconds a pass comes to, where those beside none take so long: places in turn, and the time.
    fn run(schedule: &mut Schedule, passes_s: &[f64]) -> (Vec<usize>, f64) {
        let (mut places, mut elapsed_s) = (Vec::new(), 0.0);
        while let Some(turn) = schedule.next(elapsed_s) {
            let took_s = passes_s[turn.place];
            let is_whole = elapsed_s + took_s <= turn.until_s;
            elapsed_s = if is_whole { elapsed_s + took_s } else { turn.until_s };
            schedule.ran(turn.place, is_whole.then_some(took_s));
            places.push(turn.place);
        }
        (places, elapsed_s)
    }

    fn count(places: &[usize], place: usize) -> usize {
        places.iter().filter(|one| **one == place).count()
    }

    #[test]
    fn codecs_that_make_a_pass_of_2_s_ten_times_longer_leave_none_and_what_fits() {
        let mut schedule = Schedule::new(&[18.0, 18.0, 0.4, 18.0], 30.0);
        let (places, elapsed_s) = run(&mut schedule, &[2.0, 20.0, 20.0, 2.4, 20.0]);
        assert_eq!(&places[..3], [NONE; 3]);
        assert_eq!([3, 1].map(|place| schedule.has_enough(place)), [true, true]);
        assert_eq!([2, 4].map(|place| count(&places, place)), [0, 0], "{places:?}");
        assert!(count(&places, NONE) >= 6 && elapsed_s <= TIME_MAX_S, "{elapsed_s} s: {places:?}");
    }

    #[test]
    fn where_nothing_beside_none_fits_none_is_timed_all_the_same() {
        let mut schedule = Schedule::new(&[200.0; 4], 30.0);
        let (places, elapsed_s) = run(&mut schedule, &[3.0, 200.0, 200.0, 200.0, 200.0]);
        assert!(places.iter().all(|place| *place == NONE) && places.len() >= ROUNDS_MIN, "{places:?}");
        assert!(schedule.has_enough(NONE) && elapsed_s < 35.0, "{elapsed_s}");
    }

    #[test]
    fn a_pass_that_takes_far_longer_than_predicted_takes_nothing_from_the_others() {
        let mut schedule = Schedule::new(&[0.1, 0.2, 0.3], 30.0);
        let (places, elapsed_s) = run(&mut schedule, &[2.0, 1000.0, 2.2, 2.3]);
        assert_eq!([1, 2, 3].map(|place| schedule.has_enough(place)), [false, true, true], "{places:?}");
        assert_eq!(count(&places, 1), 1);
        assert!(schedule.has_enough(NONE) && elapsed_s <= TIME_MAX_S, "{elapsed_s}");
    }

    #[test]
    fn where_the_codecs_time_is_not_known_a_generous_one_leaves_room_for_what_takes_many_times_nones() {
        let mut schedule = Schedule::new(&[5.0], 1.0);
        let (places, _) = run(&mut schedule, &[0.02, 2.0]);
        assert!(schedule.has_enough(1), "{places:?}");
    }

    #[test]
    fn a_cheap_one_that_takes_twice_as_long_as_predicted_keeps_its_turns_and_the_dearest_gives_way() {
        let mut schedule = Schedule::new(&[1.0, 20.0], 30.0);
        let (places, elapsed_s) = run(&mut schedule, &[2.0, 6.0, 22.0]);
        assert_eq!([1, 2].map(|place| schedule.has_enough(place)), [true, false], "{places:?}");
        assert!(elapsed_s <= TIME_MAX_S, "{elapsed_s}");
    }

    #[test]
    fn short_passes_alternate_until_the_time_is_up_or_nothing_new_is_told() {
        let passes_s = [0.1, 0.3, 0.2];
        let mut schedule = Schedule::new(&[0.2, 0.1], 30.0);
        let (places, elapsed_s) = run(&mut schedule, &passes_s);
        assert_eq!(&places[..12], [0, 0, 0, 0, 2, 1, 2, 1, 0, 1, 0, 2]);
        assert!((30.0..30.7).contains(&elapsed_s), "{elapsed_s}");
        let counts = [0, 1, 2].map(|place| count(&places, place));
        assert_eq!(counts[0] - ROUNDS_MIN, counts[1]);
        assert_eq!(counts[1], counts[2]);
        let mut schedule = Schedule::new(&[0.0; 2], 30.0);
        let (places, _) = run(&mut schedule, &[0.001; 3]);
        assert_eq!(count(&places, 1), ROUNDS_MAX);
    }

    #[test]
    fn who_takes_no_part_has_no_turn() {
        let mut schedule = Schedule::new(&[0.1, 0.1], 1.0);
        schedule.leave_out(1);
        let (places, _) = run(&mut schedule, &[0.1; 3]);
        assert_eq!(count(&places, 1), 0);
        assert!(schedule.has_enough(2) && !schedule.has_enough(1));
    }

    #[test]
    fn the_time_left_is_that_of_the_time_box_or_of_what_is_wanted() {
        let mut schedule = Schedule::new(&[10.0], 30.0);
        assert!((schedule.left_s(0.0) - 30.0).abs() < 1e-6);
        for _ in 0..ROUNDS_MIN {
            schedule.ran(NONE, Some(2.0));
        }
        // Three passes of 2 s and of 12 s.
        assert!((schedule.left_s(6.0) - 42.0).abs() < 1e-6, "{}", schedule.left_s(6.0));
        assert!((schedule.left_s(80.0) - 10.0).abs() < 1e-6);
        assert!(schedule.left_s(95.0).abs() < 1e-6);
    }
}
