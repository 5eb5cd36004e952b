//! Codec work that takes longer than a worker may be away: done on a helper thread.
//!
//! Invariants: contexts belong to the pool, not to sessions; at most as many exist as ran at once.
//! Not here: which work is long (`codec::plain_bytes_per_ms`).

use std::sync::{Arc, Mutex, PoisonError};

use codec::{Algorithm, Contexts};
use tokio::task::JoinHandle;
use wire::{Fault, frame};

use crate::codec_time::Begun;

/// Contexts of helper threads that are idle.
#[derive(Default)]
pub(crate) struct ContextPool(Mutex<Vec<Contexts>>);

impl ContextPool {
    /// Runs `work` on a helper thread, with contexts of the pool.
    pub(crate) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Contexts) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let pool = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let idle = pool.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut contexts = idle.unwrap_or_default();
            let result = work(&mut contexts);
            pool.0.lock().unwrap_or_else(PoisonError::into_inner).push(contexts);
            result
        })
    }

    /// Unpacks a frame's body; gives the body back with what it held.
    pub(crate) fn decode(
        self: &Arc<Self>,
        algorithm: Algorithm,
        header: frame::Header,
        body: Vec<u8>,
    ) -> JoinHandle<Result<Decoded, Fault>> {
        self.run(move |contexts| {
            let mut plain = Vec::new();
            let begun = Begun::now(header.plain_len);
            frame::decode(contexts, algorithm, header, &body, &mut plain)?;
            Ok(Decoded { plain, body, ns: begun.end().cpu_ns })
        })
    }
}

/// A frame that a helper thread unpacked.
pub(crate) struct Decoded {
    pub(crate) plain: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// CPU time, nanoseconds.
    pub(crate) ns: u64,
}
