//! A wish to stop, which every wait looks at.
//!
//! Not here: signals (`demo::interrupt`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by who may wish and who waits.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody has wished anything yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that waits shall end.
    pub fn wish(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody wants to stop.
    #[must_use]
    pub fn is_wished(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
