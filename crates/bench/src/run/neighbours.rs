//! What else used this machine meanwhile: on a busy machine its times are too long.
//!
//! Not here: what to do about it; that is the user's.

use std::time::{Duration, Instant};

use super::proxy_process::ProxyProcess;
use crate::cpu;

/// CPU time of everything that is not ours, since a moment.
pub(crate) struct Neighbours {
    start: Instant,
    others: Option<Duration>,
}

impl Neighbours {
    /// From now on.
    pub(crate) fn watch(proxy: &ProxyProcess) -> Self {
        Self { start: Instant::now(), others: others(proxy) }
    }

    /// Cores that others have kept busy on average; `None` where that cannot be known.
    pub(crate) fn busy_cores(&self, proxy: &ProxyProcess) -> Option<f64> {
        let used = others(proxy)?.saturating_sub(self.others?);
        Some(used.as_secs_f64() / self.start.elapsed().as_secs_f64().max(1e-9))
    }
}

/// All CPU time but this process's and the proxy's.
fn others(proxy: &ProxyProcess) -> Option<Duration> {
    Some(cpu::of_machine()?.saturating_sub(cpu::this_process() + proxy.cpu()?))
}
