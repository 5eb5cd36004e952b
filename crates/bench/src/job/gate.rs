//! What lets a job's clients work, and holds them.
//!
//! ```text
//!  driver   close ───────── open ── keep_open(250 ms) ── close ───── end
//!  client   log in, pass … wait … │ one statement, pass, one, pass … │ pass … wait … │ pass: no more
//! ```
//! Invariants: behind [`Gate::close`] nobody is at work, and a client that is gone is waited for by nobody.
//!
//! Not here: whose turn it is (`run::turns`), what clients do (`statements`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One for all clients of a job, closed at first.
pub(super) struct Gate {
    /// Looked at before every statement, so without a lock.
    is_open: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Clients that are not waiting.
    at_work: u32,
    is_one_gone: bool,
    is_over: bool,
}

/// A client's.
pub(super) struct Ticket<'a>(&'a Gate);

impl Gate {
    /// For so many clients, each of which must [come](Self::ticket).
    pub(super) fn new(clients: u32) -> Self {
        let state = State { at_work: clients, is_one_gone: false, is_over: false };
        Self { is_open: AtomicBool::new(false), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Of one client; it counts as being at work until it waits at the gate, or the ticket is dropped.
    pub(super) const fn ticket(&self) -> Ticket<'_> {
        Ticket(self)
    }

    /// Lets them work for so long, or until one of them is gone.
    pub(super) fn keep_open(&self, time: Duration) {
        let state = self.lock();
        self.is_open.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        drop(self.changed.wait_timeout_while(state, time, |state| !state.is_one_gone));
    }

    /// Waits until all of them wait; tells whether all are still there.
    pub(super) fn close(&self) -> bool {
        self.is_open.store(false, Ordering::Relaxed);
        let state = self.changed.wait_while(self.lock(), |state| state.at_work > 0);
        !state.unwrap_or_else(PoisonError::into_inner).is_one_gone
    }

    /// None of them works any more.
    pub(super) fn end(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    /// Whether it shall do one thing more; waits for an open gate.
    pub(super) fn pass(&self) -> bool {
        let Self(gate) = self;
        if gate.is_open.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = gate.lock();
        state.at_work -= 1;
        gate.changed.notify_all();
        let is_shut = |state: &mut State| !state.is_over && !gate.is_open.load(Ordering::Relaxed);
        state = gate.changed.wait_while(state, is_shut).unwrap_or_else(PoisonError::into_inner);
        state.at_work += 1;
        !state.is_over
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.at_work -= 1;
        state.is_one_gone = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn clients_work_while_it_is_open_and_none_behind_its_closing() {
        let (gate, done) = (Gate::new(3), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let ticket = gate.ticket();
                    while ticket.pass() {
                        done.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(1));
                    }
                });
            }
            let mut before = 0;
            for _ in 0..3 {
                assert!(gate.close());
                assert_eq!(done.load(Ordering::Relaxed), before);
                thread::sleep(Duration::from_millis(5));
                assert_eq!(done.load(Ordering::Relaxed), before, "somebody passed a closed gate");
                gate.keep_open(Duration::from_millis(30));
                assert!(gate.close());
                let after = done.load(Ordering::Relaxed);
                assert!(after >= before + 3, "{before} to {after}");
                before = after;
            }
            gate.end();
        });
    }

    #[test]
    fn who_is_gone_holds_up_nobody_and_ends_the_time() {
        let gate = Gate::new(2);
        thread::scope(|scope| {
            scope.spawn(|| while gate.ticket_that_stays().pass() {});
            scope.spawn(|| drop(gate.ticket()));
            assert!(!gate.close());
            let start = Instant::now();
            gate.keep_open(Duration::from_secs(60));
            assert!(start.elapsed() < Duration::from_secs(30));
            assert!(!gate.close());
            gate.end();
        });
    }

    impl Gate {
        /// One that is never given back.
        fn ticket_that_stays(&self) -> std::mem::ManuallyDrop<Ticket<'_>> {
            std::mem::ManuallyDrop::new(self.ticket())
        }
    }
}
