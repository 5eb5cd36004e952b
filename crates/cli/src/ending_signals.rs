//! SIGTERM, SIGINT and SIGHUP of a command that has others to end first.
//!
//! Invariants: they are caught from [`EndingSignals::listen`] on; one that comes before somebody waits for it isn't lost;
//! one that we were told to ignore (`nohup`, a shell's `&`) stays ignored.
//!
//! Not here: a running proxy, which drains (`words`).

use std::io::{self, Write};
use std::sync::mpsc::channel;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Caught.
pub(crate) struct EndingSignals {
    runtime: Runtime,
    caught: Vec<(&'static str, i32, Signal)>,
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
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let caught = {
            let _entered = runtime.enter();
            let kinds = [
                ("SIGTERM", SignalKind::terminate()),
                ("SIGINT", SignalKind::interrupt()),
                ("SIGHUP", SignalKind::hangup()),
            ];
            let permitted =
                kinds.into_iter().filter(|(_, kind)| ignored >> (kind.as_raw_value() - 1) & 1 == 0);
            permitted
                .map(|(name, kind)| Ok((name, kind.as_raw_value(), signal(kind)?)))
                .collect::<io::Result<_>>()?
        };
        Ok(Self { runtime, caught })
    }

    /// Does it at the first of them, on a thread of its own.
    pub(crate) fn at_first(self, work: impl FnOnce(Ending) + Send + 'static) -> io::Result<()> {
        let Self { runtime, mut caught } = self;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let first = std::future::poll_fn(|context| {
                for (name, number, signal) in &mut caught {
                    if signal.poll_recv(context).is_ready() {
                        return Poll::Ready(Ending { name, exit_code: 128 + *number });
                    }
                }
                Poll::Pending
            });
            work(runtime.block_on(first));
        })?;
        Ok(())
    }
}

/// Writes a line to standard error, as far as somebody takes it in time: whoever ends must not wait for who doesn't read.
pub(crate) fn last_words(line: String) {
    let (done, is_done) = channel();
    let write = move || {
        // The exit code tells it, too.
        drop(writeln!(io::stderr(), "{line}"));
        done.send(()).ok();
    };
    if std::thread::Builder::new().name("last words".to_owned()).spawn(write).is_ok() {
        is_done.recv_timeout(LAST_WORDS).ok();
    }
}

/// Who reads at all reads a line in this time.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The signals that a process ignores, the first in the lowest bit.
///
/// Source: proc_pid_status(5), SigIgn.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        assert_eq!(ignored("Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored("rubbish"), 0);
    }
}
