//! The CPU time that packing may take by `--policy cost`, shared by all sessions of the process.
//!
//! Not here: what is made of it (`codec::pace`), CPU time itself (`codec_time`).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codec::pace::Allowance;

/// It has a clock of its own.
pub(crate) struct CpuAllowance {
    since: Instant,
    allowance: Mutex<Allowance>,
}

impl CpuAllowance {
    /// In per cent of one core.
    pub(crate) fn new(percent: u32) -> Self {
        Self { since: Instant::now(), allowance: Mutex::new(Allowance::new(percent)) }
    }

    /// Held for the time of a choice: less than a microsecond.
    pub(crate) fn hold(&self) -> (MutexGuard<'_, Allowance>, Duration) {
        let held = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        (held, self.since.elapsed())
    }
}
