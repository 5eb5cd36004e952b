//! A client's socket, TCP or Unix, with or without TLS, with the packets on it.
//!
//! Invariants: no read lasts beyond the deadline, if there is one; no byte of a TLS handshake is taken for a packet.
//! Not here: what the packets say (`login`, `session`).

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use wire::{Endpoint, packet};

use crate::fault::{Fault, SqlFault};

/// `max_allowed_packet`, bytes: MySQL's default.
pub const PACKET_LEN_MAX: usize = 64 << 20;

/// Rows are written when this much has gathered: large enough that a write's cost vanishes, small enough to
/// stay in the processor's cache.
const WRITE_LEN: usize = 64 << 10;

/// A socket.
pub(crate) struct Stream {
    socket: Socket,
    deadline: Option<Instant>,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self { socket: Socket::Tcp(stream), deadline: None }
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self { socket: Socket::Unix(stream), deadline: None }
    }
}

impl Stream {
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let socket = match &self.socket {
            Socket::Tcp(stream) => Socket::Tcp(stream.try_clone()?),
            Socket::Unix(stream) => Socket::Unix(stream.try_clone()?),
        };
        Ok(Self { socket, deadline: self.deadline })
    }

    /// Ends both directions, which wakes whoever reads or writes.
    pub(crate) fn shutdown(&self) {
        let result = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
        // The peer may have been faster.
        result.ok();
    }

    /// `localhost` for a Unix socket, as MySQL calls it, else the peer's address.
    pub(crate) fn host(&self) -> String {
        match self.peer() {
            Some(Ok(address)) => address.to_string(),
            Some(Err(_)) => "unknown".to_owned(),
            None => "localhost".to_owned(),
        }
    }

    /// Whether nobody on a network sees what passes.
    pub(crate) fn is_local(&self) -> bool {
        match self.peer() {
            Some(Ok(address)) => address.to_canonical().is_loopback(),
            Some(Err(_)) => false,
            None => true,
        }
    }

    fn peer(&self) -> Option<io::Result<IpAddr>> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream.peer_addr().map(|address| address.ip())),
            Socket::Unix(_) => None,
        }
    }

    /// From now on all reads together may take so long.
    fn set_deadline(&mut self, limit: Duration) {
        self.deadline = Some(Instant::now() + limit);
    }

    /// From now on each read may take so long.
    fn set_patience(&mut self, limit: Duration) -> io::Result<()> {
        self.deadline = None;
        self.set_read_timeout(limit)
    }

    fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Socket::Unix(stream) => stream.set_read_timeout(Some(limit)),
        }
    }

    fn set_write_timeout(&self, limit: Duration) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_write_timeout(Some(limit)),
            Socket::Unix(stream) => stream.set_write_timeout(Some(limit)),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.set_read_timeout(left)?;
        }
        match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What carries the packets.
enum Carrier {
    Plain(Stream),
    Tls(Box<StreamOwned<ServerConnection, Stream>>),
    /// Between the two.
    Gone,
}

impl Carrier {
    fn socket(&mut self) -> Option<&mut Stream> {
        match self {
            Self::Plain(stream) => Some(stream),
            Self::Tls(stream) => Some(&mut stream.sock),
            Self::Gone => None,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Gone => Ok(0),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Gone => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.flush(),
            Self::Plain(_) | Self::Gone => Ok(()),
        }
    }
}

/// A socket that speaks packets.
pub(crate) struct Connection {
    carrier: Carrier,
    pub(crate) endpoint: Endpoint,
    buffer: Vec<u8>,
}

impl Connection {
    /// All of a login may take `login`, each write `write`.
    pub(crate) fn new(mut stream: Stream, login: Duration, write: Duration) -> io::Result<Self> {
        stream.set_deadline(login);
        stream.set_write_timeout(write)?;
        let carrier = Carrier::Plain(stream);
        Ok(Self { carrier, endpoint: Endpoint::new(FIRST_LEN_MAX), buffer: vec![0; WRITE_LEN] })
    }

    /// The login is over: each command may be waited for so long, and be as long as a server's.
    pub(crate) fn logged_in(&mut self, limit: Duration) -> io::Result<()> {
        self.endpoint.set_packet_len_max(PACKET_LEN_MAX);
        self.carrier.socket().map_or(Ok(()), |stream| stream.set_patience(limit))
    }

    /// From now on inside TLS; the client was told to begin, and nothing behind its request was read.
    pub(crate) fn start_tls(&mut self, config: Arc<ServerConfig>) -> Result<(), Fault> {
        let Carrier::Plain(stream) = std::mem::replace(&mut self.carrier, Carrier::Gone) else {
            return Err(SqlFault::MalformedPacket("TLS within TLS").into());
        };
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(tls, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        self.carrier = Carrier::Tls(Box::new(stream));
        Ok(())
    }

    /// Version and cipher suite of TLS, empty without.
    pub(crate) fn tls_names(&self) -> [String; 2] {
        let Carrier::Tls(stream) = &self.carrier else { return Default::default() };
        let version = match stream.conn.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "",
        };
        let suite = stream.conn.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        // As OpenSSL writes those of TLS 1.3, and MySQL with it.
        [version.to_owned(), suite.unwrap_or_default().replace("TLS13_", "TLS_")]
    }

    /// The first packet, without a byte of what follows it: that may be TLS already.
    pub(crate) fn first_packet(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut bytes = vec![0; packet::HEADER_LEN];
        for (from, what) in [(0, "header"), (packet::HEADER_LEN, "payload")] {
            let mut at = from;
            while at < bytes.len() {
                match self.carrier.read(bytes.get_mut(at..).unwrap_or_default()) {
                    Ok(0) => return Ok(None),
                    Ok(len) => at += len,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if what == "header" {
                let len = packet::Header::parse(&bytes).map_or(0, |header| header.payload_len);
                if len > FIRST_LEN_MAX {
                    return Err(SqlFault::PacketTooLarge.into());
                }
                bytes.resize(packet::HEADER_LEN + len, 0);
            }
        }
        self.endpoint.receive(&bytes);
        self.packet()
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
            let len = match self.carrier.read(&mut self.buffer) {
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
            match self.carrier.write(self.endpoint.output()) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(len) => self.endpoint.sent(len),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.carrier.flush()?)
    }
}

/// A login with attributes is far shorter; before its end nobody is worth memory, inside TLS neither.
const FIRST_LEN_MAX: usize = 64 << 10;
