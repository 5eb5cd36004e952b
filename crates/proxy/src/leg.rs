//! One side's connection: a TCP or Unix socket whose bytes are counted.
//!
//! Not here: TLS (there is none yet), frames (`relay`).

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::{SockRef, Socket as Socket2, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;

use crate::Address;

/// A connected socket.
pub(crate) struct Leg {
    socket: Socket,
    /// Bytes read from the peer.
    pub(crate) received_len: u64,
    /// Bytes written to the peer.
    pub(crate) sent_len: u64,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Leg {
    /// A TCP socket, whose options are set already.
    pub(crate) const fn tcp(stream: TcpStream) -> Self {
        Self { socket: Socket::Tcp(stream), received_len: 0, sent_len: 0 }
    }

    pub(crate) const fn unix(stream: UnixStream) -> Self {
        Self { socket: Socket::Unix(stream), received_len: 0, sent_len: 0 }
    }

    /// Connects to `address`, whose name is looked up now; every address of the name is tried.
    pub(crate) async fn dial(address: &Address, limit: Duration) -> io::Result<Self> {
        let connected = timeout(limit, async {
            match address {
                Address::Unix(path) => UnixStream::connect(path).await.map(Self::unix),
                Address::Tcp { host, port } => {
                    if let Ok(ip) = host.parse() {
                        return connect(SocketAddr::new(ip, *port)).await;
                    }
                    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                    for address in lookup_host((host.as_str(), *port)).await? {
                        match connect(address).await {
                            Ok(leg) => return Ok(leg),
                            Err(error) => last = error,
                        }
                    }
                    Err(last)
                }
            }
        });
        connected.await.unwrap_or_else(|_| {
            Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", limit.as_secs())))
        })
    }

    /// Whether `caching_sha2_password` counts this leg as secure.
    pub(crate) const fn is_secure(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    /// Reads into the room behind `bytes`; 0 at the peer's end.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, bytes: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::uninit(bytes.spare_capacity_mut());
        ready!(match &mut self.socket {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
        })?;
        let len = buffer.filled().len();
        // SAFETY: the reader filled `len` bytes of the spare capacity.
        #[expect(unsafe_code, reason = "reads into spare capacity, so that no buffer is zeroed per read")]
        unsafe {
            bytes.set_len(bytes.len() + len);
        }
        self.received_len += len as u64;
        Poll::Ready(Ok(len))
    }

    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let len = ready!(match &mut self.socket {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        })?;
        self.sent_len += len as u64;
        Poll::Ready(Ok(len))
    }

    /// No more bytes to the peer.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write_all(bytes).await?,
            Socket::Unix(stream) => stream.write_all(bytes).await?,
        }
        self.sent_len += bytes.len() as u64;
        Ok(())
    }

    /// Appends what the peer sends next; 0 at its end.
    pub(crate) async fn read(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        bytes.reserve(CONNECT_READ_LEN);
        std::future::poll_fn(|cx| self.poll_read(cx, bytes)).await
    }

    /// Ends our half and reads what still comes for a moment, so that the peer sees our last bytes and not a
    /// reset.
    pub(crate) async fn linger(mut self) {
        let drained = timeout(LINGER, async {
            std::future::poll_fn(|cx| self.poll_shutdown(cx)).await?;
            let mut rest = Vec::new();
            while self.read(&mut rest).await? > 0 {
                rest.clear();
            }
            io::Result::Ok(())
        });
        // Whatever came of it, the socket closes now.
        drop(drained.await);
    }
}

async fn connect(address: SocketAddr) -> io::Result<Leg> {
    let stream = TcpStream::connect(address).await?;
    set_options(&SockRef::from(&stream))?;
    Ok(Leg::tcp(stream))
}

/// Options of every TCP socket; accepted ones inherit them from their listener.
pub(crate) fn set_options(socket: &Socket2) -> io::Result<()> {
    // Replies are small and their ends are known: Nagle's wait would only add latency.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE))
}

/// Dead peers are found after this silence (and the kernel's probes).
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// A login's packets are small.
const CONNECT_READ_LEN: usize = 4 << 10;
/// Long enough for a client to read an error, short enough not to pile up.
const LINGER: Duration = Duration::from_secs(1);
