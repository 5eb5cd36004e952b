//! The global limit on buffered bytes.
//!
//! Whoever must have memory (a frame that is to be unpacked) waits for all of it at once, holding none; whoever
//! may do without (packing a large packet) tries, and goes on stored.
//!
//! Not here: buffers of ordinary size (`buffer`), of which a half-pipe has one to three while bytes move through it
//! and none when it is idle.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Shared by all workers.
#[derive(Clone)]
pub(crate) struct Budget {
    kib: Arc<Semaphore>,
    total_kib: u32,
}

/// Bytes set aside until dropped.
pub(crate) type Reservation = OwnedSemaphorePermit;
/// A wait for bytes.
pub(crate) type Waiting = Pin<Box<dyn Future<Output = Option<Reservation>>>>;

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        // Less than the largest frame and what it holds would let nobody through.
        let total_kib = u32::try_from(bytes.max(LEAST_BYTES) / 1024).unwrap_or(u32::MAX);
        Self { kib: Arc::new(Semaphore::new(total_kib as usize)), total_kib }
    }

    /// Sets `bytes` aside if they are free now.
    pub(crate) fn try_reserve(&self, bytes: usize) -> Option<Reservation> {
        Arc::clone(&self.kib).try_acquire_many_owned(self.kib_of(bytes)).ok()
    }

    /// Waits until `bytes` are free.
    pub(crate) fn reserve(&self, bytes: usize) -> Waiting {
        let kib = Arc::clone(&self.kib);
        let wanted = self.kib_of(bytes);
        Box::pin(async move { kib.acquire_many_owned(wanted).await.ok() })
    }

    fn kib_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(self.total_kib)
    }
}

/// A frame of 16 MiB and the 16 MiB that it holds.
const LEAST_BYTES: usize = 32 << 20;
