//! One writer at a time, in the order of asking.
//!
//! SQLite lets one connection write and tells the others "busy"; who tries again wins by luck, and under load
//! some never do. So writers queue here before SQLite sees them. There is only one lock, hence no deadlock.
//!
//! Invariants: whoever asked first writes first; a guard that is dropped passes the turn on.
//!
//! Not here: when a transaction begins to write (`transaction`).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::SqlFault;

#[derive(Default)]
struct Queue {
    held: bool,
    /// The waiting, each with its number and its bell.
    waiting: VecDeque<(u64, Arc<Condvar>)>,
    /// Whose turn it is, until it notices.
    granted: Option<u64>,
    next_number: u64,
}

/// The lock of one file.
#[derive(Default)]
pub(crate) struct WriteLock {
    queue: Mutex<Queue>,
}

/// The right to write.
pub(crate) struct WriteGuard {
    lock: Arc<WriteLock>,
}

impl WriteLock {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn.
    /// Errors: 1205 after `timeout`.
    pub(crate) fn take(self: &Arc<Self>, timeout: Duration) -> Result<WriteGuard, SqlFault> {
        let mut queue = self.queue();
        if !queue.held {
            queue.held = true;
            return Ok(WriteGuard { lock: Arc::clone(self) });
        }
        let number = queue.next_number;
        queue.next_number += 1;
        let bell = Arc::new(Condvar::new());
        queue.waiting.push_back((number, Arc::clone(&bell)));
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            queue = bell
                .wait_timeout(queue, left)
                .map_or_else(|poisoned| poisoned.into_inner().0, |woken| woken.0);
            if queue.granted == Some(number) {
                queue.granted = None;
                return Ok(WriteGuard { lock: Arc::clone(self) });
            }
            if Instant::now() >= deadline {
                queue.waiting.retain(|(waiting, _)| *waiting != number);
                return Err(SqlFault::LockWaitTimeout);
            }
        }
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut queue = self.lock.queue();
        match queue.waiting.pop_front() {
            Some((number, bell)) => {
                queue.granted = Some(number);
                bell.notify_one();
            }
            None => queue.held = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn writers_take_turns_in_the_order_of_asking() {
        let lock = Arc::new(WriteLock::default());
        let first = lock.take(LONG).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut threads = Vec::new();
        for number in 0..8 {
            let (lock_of_thread, order) = (Arc::clone(&lock), Arc::clone(&order));
            threads.push(std::thread::spawn(move || {
                let _guard = lock_of_thread.take(LONG).unwrap();
                order.lock().unwrap().push(number);
            }));
            while lock.queue().waiting.len() <= number {
                std::thread::yield_now();
            }
        }
        drop(first);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn who_waits_too_long_is_told_so_and_leaves_the_queue() {
        let lock = Arc::new(WriteLock::default());
        let guard = lock.take(LONG).unwrap();
        assert!(matches!(lock.take(Duration::from_millis(1)), Err(SqlFault::LockWaitTimeout)));
        drop(guard);
        drop(lock.take(LONG).unwrap());
        assert!(!lock.queue().held);
    }
}
