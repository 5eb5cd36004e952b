//! One side's connection: a TCP or Unix socket, with or without TLS, whose bytes are counted.
//!
//! Invariants: what `poll_write` took has reached the socket only when `poll_flush` is ready, or does so with the
//! worker's next small sends (`crate::sends`).
//! Not here: certificates (`tls`), frames (`relay`).

mod dial;
mod look;
mod stream;

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use wire::connect::auth::Security;

pub(crate) use self::dial::set_options;
pub(crate) use self::look::Looker;
pub(crate) use self::stream::{Stream, Tcp};
use crate::codec_time::Begun;
use crate::meter::LegLens;
use crate::pair::PairStream;
use crate::sends::Sends;
use crate::tls::Carrier;

/// A connected socket.
pub(crate) struct Leg {
    socket: Socket,
    /// Bytes read from the peer, without those that TLS adds.
    pub(crate) received_len: u64,
    /// Bytes written to the peer, without those that TLS adds.
    pub(crate) sent_len: u64,
    /// Received and sent by the socket before TLS began.
    plain_lens: [u64; 2],
    needs_flush: bool,
}

enum Socket {
    Plain(Stream),
    Tls(Box<TlsStream<Carrier>>),
    /// Frames, on another leg.
    Pair(Box<PairStream>),
    /// A TLS handshake failed, or was given up.
    Gone,
}

impl Leg {
    /// A TCP socket, whose options are set already.
    pub(crate) const fn tcp(stream: TcpStream) -> Self {
        Self::plain(Stream::Tcp(Tcp::new(stream)))
    }

    pub(crate) const fn unix(stream: UnixStream) -> Self {
        Self::plain(Stream::Unix(stream))
    }

    const fn plain(stream: Stream) -> Self {
        Self {
            socket: Socket::Plain(stream),
            received_len: 0,
            sent_len: 0,
            plain_lens: [0; 2],
            needs_flush: false,
        }
    }

    /// A pair's stream, on a leg of its own.
    pub(crate) fn pair(stream: PairStream) -> Self {
        let (received_len, sent_len) = (stream.below().received_len, stream.below().sent_len);
        Self {
            socket: Socket::Pair(Box::new(stream)),
            received_len,
            sent_len,
            plain_lens: [0; 2],
            needs_flush: false,
        }
    }

    /// The TCP socket; none for a Unix socket.
    fn tcp_socket(&self) -> Option<&TcpStream> {
        self.tcp_stream().map(Tcp::socket)
    }

    fn tcp_stream(&self) -> Option<&Tcp> {
        match &self.socket {
            Socket::Plain(Stream::Tcp(stream)) => Some(stream),
            Socket::Tls(stream) => match stream.get_ref().0.stream() {
                Stream::Tcp(stream) => Some(stream),
                Stream::Unix(_) => None,
            },
            Socket::Pair(stream) => stream.below().tcp_stream(),
            _ => None,
        }
    }

    /// From now on small sends go with those of the worker's other sessions.
    pub(crate) fn send_together(&mut self, sends: &Rc<Sends>) {
        match &mut self.socket {
            Socket::Plain(Stream::Tcp(stream)) => stream.send_together(sends),
            Socket::Tls(stream) => match stream.get_mut().0.stream_mut() {
                Stream::Tcp(stream) => stream.send_together(sends),
                Stream::Unix(_) => {}
            },
            Socket::Pair(stream) => stream.below_mut().send_together(sends),
            _ => {}
        }
    }

    /// Hands over what goes together with others' at once; says whether the socket took all of it.
    pub(crate) fn submit(&self) -> bool {
        self.tcp_stream().is_none_or(Tcp::submit)
    }

    /// Codec work on `len` bytes begins: what waits to go together with others' doesn't wait for it.
    pub(crate) fn begin_work(&self, len: usize) -> Begun {
        self.tcp_stream().map_or_else(|| Begun::now(len), |stream| stream.begin_work(len))
    }

    /// Whose socket it is; none for a Unix socket.
    pub(crate) fn peer_ip(&self) -> Option<std::net::IpAddr> {
        self.peer_address().map(|address| address.ip())
    }

    /// With its port.
    pub(crate) fn peer_address(&self) -> Option<SocketAddr> {
        self.tcp_socket()?.peer_addr().ok()
    }

    /// Whether it is a socket of this host that no network is behind.
    pub(crate) fn is_unix(&self) -> bool {
        match &self.socket {
            Socket::Plain(stream) => matches!(stream, Stream::Unix(_)),
            Socket::Tls(stream) => matches!(stream.get_ref().0.stream(), Stream::Unix(_)),
            Socket::Pair(stream) => stream.below().is_unix(),
            Socket::Gone => false,
        }
    }

    /// What protects this leg's bytes.
    pub(crate) fn security(&self) -> Security {
        match &self.socket {
            Socket::Tls(_) => Security::Tls,
            Socket::Pair(stream) => stream.below().security(),
            Socket::Plain(Stream::Unix(_)) => Security::Socket,
            Socket::Plain(Stream::Tcp(_)) | Socket::Gone => Security::Plain,
        }
    }

    /// Whether its bytes are those of the socket.
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.socket, Socket::Plain(_))
    }

    /// The TLS version in use, like `TLSv1_3`; empty without TLS.
    pub(crate) fn tls_version(&self) -> &'static str {
        match &self.socket {
            Socket::Tls(stream) => {
                stream.get_ref().1.protocol_version().and_then(|it| it.as_str()).unwrap_or("")
            }
            Socket::Pair(stream) => stream.below().tls_version(),
            _ => "",
        }
    }

    /// Whether the peer is on this host.
    pub(crate) fn is_local(&self) -> bool {
        match &self.socket {
            Socket::Plain(Stream::Unix(_)) => true,
            _ => self.peer_ip().is_some_and(|ip| ip.to_canonical().is_loopback()),
        }
    }

    /// A secret of this TLS connection alone, which both ends know.
    ///
    /// Errors: it isn't TLS 1.3, whose exporters bind to the whole handshake.
    pub(crate) fn exporter(&self) -> io::Result<[u8; 32]> {
        let Socket::Tls(stream) = &self.socket else { return Err(gone()) };
        if self.tls_version() != "TLSv1_3" {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a pair needs TLS 1.3"));
        }
        const LABEL: &[u8] = b"EXPORTER-wirepress-pair";
        let exported = match stream.as_ref() {
            TlsStream::Client(stream) => stream.get_ref().1.export_keying_material([0; 32], LABEL, None),
            TlsStream::Server(stream) => stream.get_ref().1.export_keying_material([0; 32], LABEL, None),
        };
        exported.map_err(io::Error::other)
    }

    /// Whether what was written waits for a flush, or for more.
    pub(crate) const fn collects(&self) -> bool {
        matches!(self.socket, Socket::Pair(_))
    }

    /// The stream, where it is a pair's.
    pub(crate) fn pair_mut(&mut self) -> Option<&mut PairStream> {
        match &mut self.socket {
            Socket::Pair(stream) => Some(stream),
            _ => None,
        }
    }

    /// The stream, where it is a pair's.
    pub(crate) const fn as_pair(&self) -> Option<&PairStream> {
        match &self.socket {
            Socket::Pair(stream) => Some(stream),
            _ => None,
        }
    }

    /// What it packs with below MySQL's protocol; `None` where it is no pair's.
    pub(crate) fn pair_codec(&self) -> Option<&'static str> {
        self.as_pair().map(|stream| match stream.algorithm() {
            codec::Algorithm::Zstd => "pair-zstd",
            codec::Algorithm::Zlib => "pair-deflate",
            codec::Algorithm::Uncompressed => "pair-stored",
        })
    }

    /// Goes on as a TLS server; `received` is what came behind the request for it.
    ///
    /// Not cancel-safe: a handshake that fails or is given up takes the socket with it.
    pub(crate) async fn accept_tls(
        &mut self,
        config: Arc<ServerConfig>,
        received: Vec<u8>,
    ) -> io::Result<()> {
        let carrier = self.begin_tls(received)?;
        let stream = TlsAcceptor::from(config).accept(carrier).await?;
        self.socket = Socket::Tls(Box::new(stream.into()));
        Ok(())
    }

    /// Goes on as a TLS client; not cancel-safe either.
    pub(crate) async fn connect_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        received: Vec<u8>,
    ) -> io::Result<()> {
        let carrier = self.begin_tls(received)?;
        let stream = TlsConnector::from(config).connect(name, carrier).await?;
        self.socket = Socket::Tls(Box::new(stream.into()));
        Ok(())
    }

    /// The socket for TLS, to which the bytes that were `received` already belong.
    fn begin_tls(&mut self, received: Vec<u8>) -> io::Result<Carrier> {
        let stream = self.take_plain()?;
        self.plain_lens = [self.received_len, self.sent_len];
        self.received_len -= received.len() as u64;
        Ok(Carrier::new(stream, received))
    }

    /// What it has carried.
    pub(crate) fn lens(&self) -> LegLens {
        let (received_len, sent_len) = (self.received_len, self.sent_len);
        let [socket_received_len, socket_sent_len] = match &self.socket {
            Socket::Tls(stream) => {
                let ([received, sent], carrier) = (self.plain_lens, stream.get_ref().0);
                [received + carrier.received_len, sent + carrier.sent_len]
            }
            Socket::Pair(stream) => {
                let below = stream.below().lens();
                [below.socket_received_len, below.socket_sent_len]
            }
            Socket::Plain(_) | Socket::Gone => [received_len, sent_len],
        };
        LegLens { received_len, sent_len, socket_received_len, socket_sent_len }
    }

    fn take_plain(&mut self) -> io::Result<Stream> {
        match std::mem::replace(&mut self.socket, Socket::Gone) {
            Socket::Plain(stream) => Ok(stream),
            Socket::Tls(_) | Socket::Pair(_) | Socket::Gone => Err(gone()),
        }
    }

    /// Reads into the room behind `bytes`; 0 at the peer's end.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, bytes: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::uninit(bytes.spare_capacity_mut());
        match &mut self.socket {
            Socket::Plain(stream) => ready!(Pin::new(stream).poll_read(cx, &mut buffer))?,
            Socket::Tls(stream) => match ready!(Pin::new(stream).poll_read(cx, &mut buffer)) {
                // A close without TLS's own word for it: whether packets are missing shows in the packets.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Poll::Ready(Ok(0)),
                read => read?,
            },
            Socket::Pair(stream) => {
                let read = stream.poll_read(cx, bytes);
                self.received_len = stream.below().received_len;
                return read;
            }
            Socket::Gone => return Poll::Ready(Err(gone())),
        }
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
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    /// The same of several pieces, none of them empty.
    pub(crate) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = match &mut self.socket {
            Socket::Plain(stream) => ready!(Pin::new(stream).poll_write_vectored(cx, slices))?,
            Socket::Tls(stream) => {
                self.needs_flush = true;
                ready!(Pin::new(stream).poll_write_vectored(cx, slices))?
            }
            Socket::Pair(stream) => {
                let written = stream.poll_write(cx, slices.first().map_or(&[], |slice| slice));
                self.sent_len = stream.below().sent_len;
                return written;
            }
            Socket::Gone => return Poll::Ready(Err(gone())),
        };
        self.sent_len += len as u64;
        Poll::Ready(Ok(len))
    }

    /// Waits until the socket has everything.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tls(stream) if self.needs_flush => {
                ready!(Pin::new(stream).poll_flush(cx))?;
                self.needs_flush = false;
            }
            Socket::Tls(stream) => return Pin::new(stream.get_mut().0).poll_flush(cx),
            Socket::Pair(stream) => {
                let flushed = stream.poll_flush(cx);
                self.sent_len = stream.below().sent_len;
                return flushed;
            }
            Socket::Plain(stream) => return Pin::new(stream).poll_flush(cx),
            Socket::Gone => {}
        }
        Poll::Ready(Ok(()))
    }

    /// No more bytes to the peer.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Pair(stream) => stream.poll_shutdown(cx),
            Socket::Gone => Poll::Ready(Ok(())),
        }
    }

    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.socket {
            Socket::Plain(stream) => stream.write_all(bytes).await?,
            Socket::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await?;
            }
            Socket::Pair(_) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let len = std::future::poll_fn(|cx| self.poll_write(cx, rest)).await?;
                    rest = rest.get(len..).unwrap_or_default();
                }
                return std::future::poll_fn(|cx| self.poll_flush(cx)).await;
            }
            Socket::Gone => return Err(gone()),
        }
        self.sent_len += bytes.len() as u64;
        Ok(())
    }

    /// Appends what the peer sends next; 0 at its end.
    pub(crate) async fn read(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        bytes.reserve(SHORT_READ_LEN);
        std::future::poll_fn(|cx| self.poll_read(cx, bytes)).await
    }

    /// Ends our half and reads what still comes for a moment, so that the peer sees our last bytes and not a
    /// reset. Tells what it has carried in all.
    pub(crate) async fn linger(mut self) -> LegLens {
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
        self.lens()
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "its TLS handshake did not succeed")
}

/// What goes before the MySQL protocol in a pair, and what comes behind its end, is little.
const SHORT_READ_LEN: usize = 4 << 10;
/// Long enough for a client to read an error, short enough not to pile up.
const LINGER: Duration = Duration::from_secs(1);
