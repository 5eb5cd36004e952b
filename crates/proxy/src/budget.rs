//! The global limit on buffered bytes.
//!
//! Whoever must have memory (a frame that is to be unpacked) waits for all of it at once, holding none; whoever
//! may do without (packing a large packet) tries, and goes on stored.
//!
//! Not here: buffers of ordinary size (`buffer`), of which a half-pipe has one to three while bytes move through it
//! and none when it is idle.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Shared by all workers.
pub(crate) struct Budget(Mutex<Kib>);

#[derive(Clone)]
struct Kib {
    free: Arc<Semaphore>,
    total: u32,
}

/// Bytes set aside until dropped.
pub(crate) type Reservation = OwnedSemaphorePermit;
/// A wait for bytes.
pub(crate) type Waiting = Pin<Box<dyn Future<Output = Option<Reservation>>>>;

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Mutex::new(Kib::new(bytes)))
    }

    /// From now on it is so many bytes. What is set aside already, or waited for, is counted apart until it ends.
    pub(crate) fn set(&self, bytes: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kib::new(bytes);
    }

    /// Sets `bytes` aside if they are free now.
    pub(crate) fn try_reserve(&self, bytes: usize) -> Option<Reservation> {
        let kib = self.kib();
        let wanted = kib.of(bytes);
        kib.free.try_acquire_many_owned(wanted).ok()
    }

    /// Sets aside what `held` lacks to `bytes`, if it is free now.
    pub(crate) fn try_hold(&self, held: &mut Option<Reservation>, bytes: usize) -> bool {
        let kib = self.kib();
        let held_kib = match held {
            Some(held) if Arc::ptr_eq(held.semaphore(), &kib.free) => held.num_permits(),
            _ => 0,
        };
        let lacks = kib.of(bytes) - u32::try_from(held_kib).unwrap_or(u32::MAX).min(kib.of(bytes));
        let Ok(more) = kib.free.try_acquire_many_owned(lacks) else { return false };
        match held {
            Some(held) if held_kib > 0 => held.merge(more),
            // Or it was of a limit that is not in force any more.
            _ => *held = Some(more),
        }
        true
    }

    /// Waits until `bytes` are free.
    pub(crate) fn reserve(&self, bytes: usize) -> Waiting {
        let kib = self.kib();
        let wanted = kib.of(bytes);
        Box::pin(async move { kib.free.acquire_many_owned(wanted).await.ok() })
    }

    fn kib(&self) -> Kib {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Gives back what is more than `bytes`.
pub(crate) fn hold_at_most(held: &mut Option<Reservation>, bytes: usize) {
    if let Some(held) = held {
        drop(held.split(held.num_permits().saturating_sub(bytes.div_ceil(1024))));
    }
}

impl Kib {
    fn new(bytes: usize) -> Self {
        // Less than the largest frame and what it holds would let nobody through.
        let total = u32::try_from(bytes.max(LEAST_BYTES) / 1024).unwrap_or(u32::MAX);
        Self { free: Arc::new(Semaphore::new(total as usize)), total }
    }

    fn of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(self.total)
    }
}

/// A frame of 16 MiB and the 16 MiB that it holds.
const LEAST_BYTES: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_limit_holds_for_whoever_asks_from_now_on() {
        let budget = Budget::new(LEAST_BYTES);
        let all = budget.try_reserve(LEAST_BYTES).unwrap();
        assert!(budget.try_reserve(1).is_none());
        budget.set(LEAST_BYTES + 1024);
        drop(all);
        let all = budget.try_reserve(LEAST_BYTES + 1024).unwrap();
        assert!(budget.try_reserve(1).is_none(), "what was set aside before is not given to the new limit");
        drop(all);
        assert!(budget.try_reserve(1).is_some());
    }

    #[test]
    fn what_is_held_grows_by_what_it_lacks_and_shrinks_to_what_is_wanted() {
        let budget = Budget::new(LEAST_BYTES);
        let mut held = None;
        assert!(budget.try_hold(&mut held, LEAST_BYTES - 1024));
        assert!(budget.try_hold(&mut held, LEAST_BYTES) && budget.try_reserve(1).is_none());
        hold_at_most(&mut held, 1024);
        let mut others = None;
        assert!(budget.try_hold(&mut others, LEAST_BYTES - 1024) && !budget.try_hold(&mut held, 2048));
        assert!(budget.try_hold(&mut held, 1024), "it has so much");
        budget.set(LEAST_BYTES);
        assert!(budget.try_hold(&mut held, LEAST_BYTES), "the new limit has nobody yet");
    }
}
