//! What Linux does for a link beyond POSIX.
//!
//! ```text
//!  socket ──splice──▶ pipe ──splice──▶ socket        pages are handed over, not copied
//! ```
//!
//! Invariants: moving blocks until there are bytes; what was read is written before more is read, so the pipe's size bounds
//! what is in flight.
//!
//! Not here: waiting (`pump`), other systems (`posix`).

use std::io;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, pipe, splice};
use rustix::thread::{Pid, gettid, set_current_timer_slack};

use super::socket::Socket;
use super::traffic::{Counter, Direction};

/// A thread of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread(Pid);

impl Thread {
    pub(crate) fn this() -> Self {
        Self(gettid())
    }

    /// Its CPU time, from the scheduler's own accounting; `None` once it has ended or where the kernel keeps none.
    pub(crate) fn cpu(self) -> Option<Duration> {
        let path = format!("/proc/self/task/{}/schedstat", self.0.as_raw_pid());
        let text = std::fs::read_to_string(path).ok()?;
        let nanos = text.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    }
}

/// Asks the kernel to wake this thread when its time has come, and not up to 50 µs later (the default).
pub(crate) fn finest_timer() {
    // Refused only by a sandbox; the link is then late by the default slack.
    set_current_timer_slack(NonZeroU64::new(1)).ok();
}

/// Moves bytes without rate and delay until the source ends; then tells the destination so.
///
/// # Errors
/// Either socket broke. The caller closes both.
pub(super) fn move_all(
    from: &Socket,
    to: &Socket,
    direction: Direction,
    counter: &Counter,
) -> io::Result<()> {
    let (pipe_out, pipe_in) = pipe()?;
    // Without the privilege for large pipes the default of 64 KiB only costs more calls.
    fcntl_setpipe_size(&pipe_in, PIPE_BYTES).ok();
    loop {
        let read = retry(|| splice(from, None, &pipe_in, None, PIPE_BYTES, SpliceFlags::MOVE))?;
        if read == 0 {
            to.finish();
            return Ok(());
        }
        let mut left = read;
        while left > 0 {
            let written = retry(|| splice(&pipe_out, None, to, None, left, SpliceFlags::MOVE))?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            left -= written;
            counter.count(direction, Instant::now(), written);
        }
    }
}

fn retry(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Some hundred microseconds of loopback at full speed; the kernel lets every user have 64 pipes of 1 MiB.
const PIPE_BYTES: usize = 512 * 1024;
