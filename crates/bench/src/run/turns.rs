//! Whose turn it is, of jobs that are measured in turns.
//!
//! ```text
//!  job a   logs in … ├ works ┤                  ├ works ┤├ works ┤                  …   order shuffled, then back again
//!  job b   logs in …          ├ works ┤├ works ┤                  ├ works ┤
//! ```
//! A machine that others use, too, changes within seconds: what two jobs do within one of them it meets alike.
//!
//! Invariants: nobody has a turn before all have asked for one or left; one has it at a time, and keeps it until it asks for the
//! next one or leaves; the order depends on the seed alone, and whoever is in it has as many turns as everybody else, but one.
//!
//! Not here: how long a turn is, what is done in it (`measure`, `job`).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use lab::generate::Sequence;

use super::order::shuffle;

/// The turns of some jobs.
pub(super) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    random: Sequence,
    /// Jobs that have not asked yet.
    awaited: usize,
    seated: Vec<usize>,
    /// The order, the last one first, and who is still to come in it.
    order: Vec<usize>,
    to_come: Vec<usize>,
    is_way_back: bool,
    has_turn: Option<usize>,
}

/// A job's; it leaves when it is dropped.
pub(super) struct Seat<'a> {
    turns: &'a Turns,
    number: usize,
    has_asked: bool,
}

impl Turns {
    /// Of so many jobs.
    pub(super) fn new(jobs: usize, random: Sequence) -> Self {
        let state = State {
            random,
            awaited: jobs,
            seated: (0..jobs).collect(),
            order: Vec::new(),
            to_come: Vec::new(),
            is_way_back: true,
            has_turn: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// All seats; as many as there are jobs must come.
    pub(super) fn seats(&self) -> Vec<Seat<'_>> {
        let numbers = self.lock().seated.clone();
        numbers.into_iter().map(|number| Seat { turns: self, number, has_asked: false }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat<'_> {
    /// Gives back the turn that it has, and waits for its next one.
    pub(super) fn take(&mut self) {
        let mut state = self.turns.lock();
        state.pass_on(self.number, !self.has_asked);
        self.has_asked = true;
        self.turns.changed.notify_all();
        let is_others = |state: &mut State| state.has_turn != Some(self.number);
        drop(self.turns.changed.wait_while(state, is_others));
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.seated.retain(|number| *number != self.number);
        state.to_come.retain(|number| *number != self.number);
        state.pass_on(self.number, !self.has_asked);
        self.turns.changed.notify_all();
    }
}

impl State {
    /// By the one that has it, if all are there.
    fn pass_on(&mut self, number: usize, was_awaited: bool) {
        self.awaited -= usize::from(was_awaited);
        if self.has_turn == Some(number) {
            self.has_turn = None;
        }
        if self.awaited > 0 || self.has_turn.is_some() {
            return;
        }
        if self.to_come.is_empty() {
            self.is_way_back = !self.is_way_back;
            if self.is_way_back {
                self.order.reverse();
            } else {
                self.order.clone_from(&self.seated);
                shuffle(&mut self.order, &mut self.random);
            }
            self.to_come.clone_from(&self.order);
            self.to_come.retain(|number| self.seated.contains(number));
        }
        self.has_turn = self.to_come.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Who worked, in order: each job so many times.
    fn worked(times: &[usize], seed: u64) -> Vec<usize> {
        let turns = Turns::new(times.len(), Sequence::new(seed, 0));
        let (log, busy) = (Mutex::new(Vec::new()), Mutex::new(()));
        thread::scope(|scope| {
            for (mut seat, times) in turns.seats().into_iter().zip(times) {
                let (log, busy) = (&log, &busy);
                scope.spawn(move || {
                    for _ in 0..*times {
                        seat.take();
                        let alone = busy.try_lock().expect("two at a time");
                        log.lock().unwrap().push(seat.number);
                        thread::sleep(Duration::from_millis(1));
                        drop(alone);
                    }
                });
            }
        });
        log.into_inner().unwrap()
    }

    #[test]
    fn every_job_has_its_turns_and_an_order_is_followed_back() {
        let log = worked(&[4, 4, 4], 7);
        assert_eq!(log, worked(&[4, 4, 4], 7));
        for there_and_back in log.chunks(6) {
            let (there, back) = there_and_back.split_at(3);
            assert!(there.iter().eq(back.iter().rev()), "{log:?}");
            let mut sorted = there.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!((0..20).any(|seed| worked(&[1, 1, 1], seed) != log[..3]));
    }

    #[test]
    fn who_leaves_early_or_never_asks_holds_up_nobody() {
        let log = worked(&[1, 5, 0, 3], 1);
        let count = |number| log.iter().filter(|it| **it == number).count();
        assert_eq!([0, 1, 2, 3].map(count), [1, 5, 0, 3]);
        assert_eq!(log[log.len() - 2..], [1, 1]);
        assert!(worked(&[0], 1).is_empty());
    }
}
