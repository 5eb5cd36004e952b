//! A connected socket, TCP or Unix: all that the pumps need of it.
//!
//! Invariants: TCP sockets never wait to fill a packet (`TCP_NODELAY`); the link's schedule is the only one.
//!
//! Not here: addresses with names and passwords.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::Address;

/// Receive buffer on a shaped link. The kernel's default would let a sender pour megabytes into it before
/// the link's rate is felt; 256 KiB are 2 ms of 1 Gbit/s, enough to keep the pump busy between two wake-ups.
pub(super) const SHAPED_RECEIVE_BYTES: usize = 256 * 1024;

/// A connected socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects to the server; `receive_bytes` bounds the TCP receive buffer.
    pub(super) fn connect(address: &Address, receive_bytes: Option<usize>) -> io::Result<Self> {
        match address {
            Address::Unix(path) => UnixStream::connect(path).map(Self::Unix),
            Address::Tcp(name) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in name.to_socket_addrs()? {
                    match connect_tcp(address, receive_bytes) {
                        Ok(stream) => return Ok(Self::Tcp(stream)),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    /// No more bytes will be written.
    pub(super) fn finish(&self) {
        self.shutdown(Shutdown::Write);
    }

    /// Ends both ways, whoever waits on them.
    pub(super) fn close(&self) {
        self.shutdown(Shutdown::Both);
    }

    fn shutdown(&self, how: Shutdown) {
        // An error means that the peer has closed already, which is what is wanted.
        drop(match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        });
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&*stream).read(buffer),
            Self::Unix(stream) => (&*stream).read(buffer),
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&*stream).write(bytes),
            Self::Unix(stream) => (&*stream).write(bytes),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

fn connect_tcp(address: SocketAddr, receive_bytes: Option<usize>) -> io::Result<TcpStream> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    if let Some(bytes) = receive_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.connect(&address.into())?;
    Ok(socket.into())
}
