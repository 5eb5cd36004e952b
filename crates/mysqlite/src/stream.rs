//! A client's socket, TCP or Unix, with the packets on it.
//!
//! Not here: what the packets say (`login`, `session`).

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use wire::Endpoint;

use crate::fault::{Fault, SqlFault};

/// `max_allowed_packet`, bytes: MySQL's default.
pub const PACKET_LEN_MAX: usize = 64 << 20;

/// Rows are written when this much has gathered: large enough that a write's cost vanishes, small enough to
/// stay in the processor's cache.
const WRITE_LEN: usize = 64 << 10;

/// A socket.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Ends both directions, which wakes whoever reads or writes.
    pub(crate) fn shutdown(&self) {
        let result = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
        // The peer may have been faster.
        result.ok();
    }

    /// `localhost` for a Unix socket, as MySQL calls it, else the peer's address.
    pub(crate) fn host(&self) -> String {
        match self {
            Self::Tcp(stream) => {
                stream.peer_addr().map_or_else(|_| "unknown".to_owned(), |address| address.ip().to_string())
            }
            Self::Unix(_) => "localhost".to_owned(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }
}

/// A socket that speaks packets.
pub(crate) struct Connection {
    stream: Stream,
    pub(crate) endpoint: Endpoint,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, endpoint: Endpoint::new(PACKET_LEN_MAX), buffer: vec![0; WRITE_LEN] }
    }

    /// The next packet; `None` when the client has gone.
    /// Errors: 1153 for one that is longer than `max_allowed_packet`.
    pub(crate) fn packet(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            match self.endpoint.packet() {
                Ok(Some(packet)) => return Ok(Some(packet)),
                Ok(None) => {}
                Err(wire::Fault::PacketTooLarge { .. }) => return Err(SqlFault::PacketTooLarge.into()),
                Err(fault) => return Err(fault.into()),
            }
            let len = match self.stream.read(&mut self.buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if len == 0 {
                return Ok(None);
            }
            self.endpoint.receive(self.buffer.get(..len).unwrap_or_default());
        }
    }

    /// A packet that must come.
    pub(crate) fn need_packet(&mut self) -> Result<Vec<u8>, Fault> {
        self.packet()?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof).into())
    }

    /// Queues a packet; writes when enough has gathered.
    pub(crate) fn send(&mut self, payload: &[u8]) -> Result<(), Fault> {
        self.endpoint.send(payload);
        if self.endpoint.output().len() >= WRITE_LEN { self.write() } else { Ok(()) }
    }

    /// Writes all that is queued: the client's turn.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        self.endpoint.flush();
        self.write()
    }

    fn write(&mut self) -> Result<(), Fault> {
        while !self.endpoint.output().is_empty() {
            match self.stream.write(self.endpoint.output()) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(len) => self.endpoint.sent(len),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
