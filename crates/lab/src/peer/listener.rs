//! Where a scripted server listens.
//!
//! Not here: what it says (`scripted`).

use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Instant;

use tempfile::TempDir;

use super::socket::Socket;
use super::{PATIENCE, Peer};

/// A listening socket on loopback or in a directory of its own.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener, TempDir),
}

impl Listener {
    /// On a free port of 127.0.0.1.
    ///
    /// Errors: the system's.
    pub fn tcp() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        Ok(Self(Kind::Tcp(listener)))
    }

    /// On a socket file.
    ///
    /// Errors: the system's.
    pub fn unix() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("wirepress-peer-").tempdir()?;
        let listener = UnixListener::bind(directory.path().join(SOCKET))?;
        listener.set_nonblocking(true)?;
        Ok(Self(Kind::Unix(listener, directory)))
    }

    /// `host:port` or `unix:/path`, as the proxy's options want it.
    ///
    /// Errors: the system's.
    pub fn address(&self) -> io::Result<String> {
        match &self.0 {
            Kind::Tcp(listener) => Ok(listener.local_addr()?.to_string()),
            Kind::Unix(_, directory) => Ok(format!("unix:{}", directory.path().join(SOCKET).display())),
        }
    }

    /// The next client.
    ///
    /// Errors: `TimedOut` when none came within [`PATIENCE`].
    pub fn accept(&self) -> io::Result<Peer> {
        let begun = Instant::now();
        loop {
            match self.accept_waiting()? {
                Some(peer) => return Ok(peer),
                None if begun.elapsed() < PATIENCE => std::thread::yield_now(),
                None => return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody connected")),
            }
        }
    }

    /// The next client, if one has connected already.
    ///
    /// Errors: the system's.
    pub fn accept_waiting(&self) -> io::Result<Option<Peer>> {
        let accepted = match &self.0 {
            Kind::Tcp(listener) => listener.accept().and_then(|(stream, _)| Socket::tcp(stream)),
            Kind::Unix(listener, _) => listener.accept().and_then(|(stream, _)| Socket::unix(stream)),
        };
        match accepted {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            accepted => accepted.map(|socket| Some(Peer::new(socket))),
        }
    }
}

const SOCKET: &str = "socket";
