//! A blocking TCP or Unix socket whose waits end.
//!
//! Not here: packets.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::ioctl::{Getter, Opcode, ioctl};

use super::PATIENCE;

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(super) fn connect(address: &str) -> io::Result<Self> {
        match address.strip_prefix("unix:") {
            Some(path) => Self::unix(UnixStream::connect(path)?),
            None => Self::tcp(TcpStream::connect(address)?),
        }
    }

    pub(super) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self::Tcp(stream))
    }

    pub(super) fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self::Unix(stream))
    }

    /// Waits until the kernel holds none of what was written: on a Unix socket the other end has read it all, on
    /// TCP its kernel has it.
    pub(super) fn wait_until_taken(&self) -> io::Result<()> {
        let begun = Instant::now();
        while self.unsent_len()? > 0 {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not read"));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn unsent_len(&self) -> io::Result<i32> {
        let descriptor = match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        };
        // SAFETY: TIOCOUTQ stores an int, and is defined for both kinds of socket (tcp(7), unix(7)).
        #[expect(unsafe_code, reason = "the only way to learn that a peer has read")]
        Ok(unsafe { ioctl(descriptor, Getter::<TIOCOUTQ, i32>::new()) }?)
    }

    /// No more bytes to the other end.
    pub(super) fn shut_writing(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            Self::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Linux, `include/uapi/asm-generic/ioctls.h`.
const TIOCOUTQ: Opcode = 0x5411;
