//! A proxy between client and server, whichever it is: a process that listens.
//!
//! Invariants: it is killed and waited for when this value is dropped.
//!
//! Not here: how one is started (`wirepress_process`, `relay_process`).

use std::net::SocketAddr;
use std::process::Child;
use std::time::Duration;

use lab::link::Address;

use crate::cpu;

/// A running proxy.
#[derive(Debug)]
pub(crate) struct ProxyProcess {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
}

impl ProxyProcess {
    /// Where it listens.
    pub(crate) fn address(&self) -> Address {
        self.address.into()
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// CPU time since it was started.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        cpu::of_process(self.child.id())
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill, and waiting only removes its entry.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
