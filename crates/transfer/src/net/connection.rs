//! One TCP connection, encrypted or, if asked for, in clear.
//!
//! Not here: what is said over it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Both directions of a connection.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

pub(super) type Connection = Box<dyn Duplex>;

/// The connecting side's TLS, and the name that it looks for.
pub(super) type Connector = Option<(Arc<ClientConfig>, ServerName<'static>)>;

/// Connects, and proves both ends to each other; and about how long a round trip takes.
pub(super) async fn dial(to: &str, connector: &Connector) -> io::Result<(Connection, Duration)> {
    let dialled = async {
        let addresses: Vec<_> = lookup_host(to).await?.collect();
        let (stream, round_trip) = connect(&addresses, HANDSHAKE).await?;
        stream.set_nodelay(true)?;
        // Where the kernel has none or doesn't permit it, its own choice stays.
        let socket = SockRef::from(&stream);
        let _is_set = socket.set_tcp_congestion(CONGESTION_CONTROL);
        let unsent_len = if round_trip > LONG { UNSENT_LEN_LONG } else { UNSENT_LEN };
        let _is_set = socket.set_tcp_notsent_lowat(unsent_len);
        let connection: Connection = match connector {
            None => Box::new(stream),
            Some((config, name)) => {
                Box::new(TlsConnector::from(Arc::clone(config)).connect(name.clone(), stream).await?)
            }
        };
        Ok((connection, round_trip))
    };
    timeout(HANDSHAKE, dialled).await?
}

/// Connects to the first that answers, and how long that took; each has its share of the time.
async fn connect(addresses: &[SocketAddr], limit: Duration) -> io::Result<(TcpStream, Duration)> {
    let share = limit / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut failed = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    for address in addresses {
        let began = Instant::now();
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok((stream, began.elapsed())),
            Ok(Err(error)) => failed = error,
            Err(late) => failed = late.into(),
        }
    }
    Err(failed)
}

/// Proves both ends to each other.
pub(super) async fn accept(
    stream: TcpStream,
    acceptor: &Option<Arc<ServerConfig>>,
) -> io::Result<Connection> {
    let accepted = async {
        stream.set_nodelay(true)?;
        match acceptor {
            None => Ok(Box::new(stream) as Connection),
            Some(config) => {
                Ok(Box::new(TlsAcceptor::from(Arc::clone(config)).accept(stream).await?) as Connection)
            }
        }
    };
    timeout(HANDSHAKE, accepted).await?
}

/// On a long line cubic needs minutes to get back what one lost packet took; this one measures the rate instead.
const CONGESTION_CONTROL: &[u8] = b"bbr";
/// The kernel takes no more in advance than this, bytes, beside what is on the line: a queue there would hide from the
/// packer how fast the line is, and hold a piece back that another connection could carry sooner.
const UNSENT_LEN: u32 = 256 << 10;
/// On a long line a sender that has nothing ready for a moment loses more: at 500 Mbit and 80 ms 3 % (`scripts/bench-lines`).
const UNSENT_LEN_LONG: u32 = 1 << 20;
/// A round trip from which on a line is long.
pub(super) const LONG: Duration = Duration::from_millis(5);
/// Enough for a few lost packets on a long line.
const HANDSHAKE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_silent_does_not_keep_from_the_next() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // A queue of one, which is full: who comes next gets no answer.
            let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
            let silent = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            silent.bind(&any.into()).unwrap();
            silent.listen(0).unwrap();
            let silent_address = silent.local_addr().unwrap().as_socket().unwrap();
            let _filling = TcpStream::connect(silent_address).await.unwrap();
            let listener = tokio::net::TcpListener::bind(any).await.unwrap();
            let there = listener.local_addr().unwrap();
            let limit = Duration::from_millis(400);
            let (stream, _) = connect(&[silent_address, there], limit).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), there);
            let refused = connect(&[silent_address], limit).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
            assert!(connect(&[], limit).await.is_err());
        });
    }
}
