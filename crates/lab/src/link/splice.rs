//! The pump of a link without rate and delay: bytes stay in the kernel.
//!
//! ```text
//!  socket ──splice──▶ pipe ──splice──▶ socket        pages are handed over, not copied
//! ```
//!
//! Invariants: blocks until there are bytes; what was read is written before more is read, so the pipe's
//! size bounds what is in flight.
//!
//! Not here: waiting (`pump`).

use std::io;
use std::time::Instant;

use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, pipe, splice};

use super::socket::Socket;
use super::traffic::{Counter, Direction};

/// Moves bytes until the source ends; then tells the destination so.
///
/// # Errors
/// Either socket broke. The caller closes both.
pub(super) fn run(from: &Socket, to: &Socket, direction: Direction, counter: &Counter) -> io::Result<()> {
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
