//! Which cores the server's host and the client's host have.
//!
//! Programs are started through `taskset`; our own client is threads of this process, which are pinned themselves.
//!
//! Invariants: only the threads that do a client's work are pinned, and never the one that asked for it.
//!
//! Not here: which programs belong to which host (`stage`).

use std::ffi::OsString;

use anyhow::{Context, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pins {
    /// All, shared.
    Shared,
    /// One each; links have what is left.
    OneEach {
        /// Of the server, and of a proxy beside it.
        server: usize,
        /// Of the client, and of a proxy beside it.
        client: usize,
    },
}

impl Pins {
    /// The first two cores that this process may use, one for each host.
    ///
    /// # Errors
    /// There is only one.
    pub fn one_each() -> anyhow::Result<Self> {
        let allowed = sched_getaffinity(None).context("cannot ask which cores this process may use")?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let (server, client) = (cores.next(), cores.next());
        ensure!(
            server.is_some() && client.is_some(),
            "--pin gives the server's host and the client's a core each, and this process may use one only"
        );
        Ok(server.zip(client).map_or(Self::Shared, |(server, client)| Self::OneEach { server, client }))
    }

    /// The command before one of the server's host.
    pub(crate) fn server_words(self) -> Vec<OsString> {
        match self {
            Self::Shared => Vec::new(),
            Self::OneEach { server, .. } => taskset(server),
        }
    }

    /// The command before one of the client's host.
    pub(crate) fn client_words(self) -> Vec<OsString> {
        match self {
            Self::Shared => Vec::new(),
            Self::OneEach { client, .. } => taskset(client),
        }
    }

    /// Runs something on a thread, and whatever threads that starts, where the client's programs are.
    pub(crate) fn on_client_cores<T: Send>(
        self,
        work: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let Self::OneEach { client, .. } = self else { return work() };
        let mut cores = CpuSet::new();
        cores.set(client);
        std::thread::scope(|scope| {
            let pinned = scope.spawn(|| {
                sched_setaffinity(None, &cores).context("cannot pin the client's threads")?;
                work()
            });
            pinned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn taskset(core: usize) -> Vec<OsString> {
    ["taskset".into(), "-c".into(), core.to_string().into()].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores that the calling thread may use, as the kernel tells.
    fn allowed() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        line.trim().to_owned()
    }

    #[test]
    fn a_clients_threads_are_on_its_core_and_the_asking_one_stays_where_it_was() {
        let Ok(pins @ Pins::OneEach { server, client }) = Pins::one_each() else { return };
        assert_ne!(server, client);
        let before = allowed();
        let inside = pins.on_client_cores(|| Ok([allowed(), std::thread::spawn(allowed).join().unwrap()]));
        assert_eq!(inside.unwrap(), [client.to_string(), client.to_string()]);
        assert_eq!(allowed(), before);
        assert_eq!(pins.client_words(), ["taskset", "-c", &client.to_string()]);
        assert_eq!(pins.server_words(), ["taskset", "-c", &server.to_string()]);
    }

    #[test]
    fn without_pins_nothing_is_moved() {
        let here = std::thread::current().id();
        assert_eq!(Pins::Shared.on_client_cores(|| Ok(std::thread::current().id())).unwrap(), here);
        assert!(Pins::Shared.client_words().is_empty() && Pins::Shared.server_words().is_empty());
    }
}
