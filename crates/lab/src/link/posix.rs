//! What stands for Linux's own means in a link on other systems: bytes are copied, timers are as they are, and the CPU time
//! of a thread is known when it ends.
//!
//! It compiles for macOS and FreeBSD, and its tests run on Linux; nobody has tried it there.
//!
//! Not here: waiting (`pump`), Linux (`linux`).

use std::io;
use std::time::{Duration, Instant};

use super::pump::is_retry;
use super::socket::Socket;
use super::traffic::{Counter, Direction};

/// A thread of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread;

impl Thread {
    pub(crate) const fn this() -> Self {
        Self
    }

    /// Unknown while it runs.
    pub(crate) const fn cpu(self) -> Option<Duration> {
        None
    }
}

/// The kernel's own timers are all there is.
pub(crate) const fn finest_timer() {}

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
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let len = retry(|| from.read(&mut buffer))?;
        if len == 0 {
            to.finish();
            return Ok(());
        }
        let mut left = buffer.get(..len).unwrap_or_default();
        while !left.is_empty() {
            let written = retry(|| to.write(left))?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            left = left.get(written..).unwrap_or_default();
            counter.count(direction, Instant::now(), written);
        }
    }
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if is_retry(&error) => {}
            done => return done,
        }
    }
}

/// Stays in a core's cache.
const BUFFER_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn all_bytes_arrive_and_the_end_behind_them() {
        let (mut client, from) = UnixStream::pair().unwrap();
        let (to, mut server) = UnixStream::pair().unwrap();
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let counter = Counter::new(Instant::now());
        let received = std::thread::scope(|scope| {
            let moving = scope.spawn(|| {
                finest_timer();
                assert_eq!(Thread::this().cpu(), None);
                move_all(&Socket::Unix(from), &Socket::Unix(to), Direction::ToServer, &counter)
            });
            let reading = scope.spawn(move || {
                let mut received = Vec::new();
                server.read_to_end(&mut received).unwrap();
                received
            });
            client.write_all(&sent).unwrap();
            drop(client);
            moving.join().unwrap().unwrap();
            reading.join().unwrap()
        });
        assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
        assert_eq!(counter.read().to_server_bytes(), 3_000_000);
    }

    #[test]
    fn a_destination_that_is_gone_is_an_error() {
        let (mut client, from) = UnixStream::pair().unwrap();
        let (to, server) = UnixStream::pair().unwrap();
        drop(server);
        client.write_all(b"x").unwrap();
        let counter = Counter::new(Instant::now());
        move_all(&Socket::Unix(from), &Socket::Unix(to), Direction::ToServer, &counter).unwrap_err();
    }
}
