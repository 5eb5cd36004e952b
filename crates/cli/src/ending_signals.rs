//! SIGTERM and SIGINT of a command that has others to end first.
//!
//! Invariants: they are caught from [`EndingSignals::listen`] on; one that comes before somebody waits for it isn't lost.
//!
//! Not here: a running proxy, which drains (`words`).

use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Caught.
pub(crate) struct EndingSignals {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
}

/// The one that came.
pub(crate) struct Ending {
    /// As users know it.
    pub(crate) name: &'static str,
    /// What a shell makes of a process that it ends.
    pub(crate) exit_code: i32,
}

impl EndingSignals {
    /// From now on they end nothing by themselves.
    pub(crate) fn listen() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let (terminate, interrupt) = {
            let _entered = runtime.enter();
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
        };
        Ok(Self { runtime, terminate, interrupt })
    }

    /// Does it at the first of them, on a thread of its own.
    pub(crate) fn at_first(self, work: impl FnOnce(Ending) + Send + 'static) -> io::Result<()> {
        let Self { runtime, mut terminate, mut interrupt } = self;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let ending = runtime.block_on(async {
                tokio::select! {
                    _ = terminate.recv() => Ending { name: "SIGTERM", exit_code: 128 + 15 },
                    _ = interrupt.recv() => Ending { name: "SIGINT", exit_code: 128 + 2 },
                }
            });
            work(ending);
        })?;
        Ok(())
    }
}
