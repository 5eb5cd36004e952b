//! One TCP connection, encrypted or, if asked for, in clear.
//!
//! Not here: what is said over it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
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
        let began = Instant::now();
        let stream = TcpStream::connect(to).await?;
        let round_trip = began.elapsed();
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
