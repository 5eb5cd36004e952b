//! How a connection to a server or a pair is made, and the options that every TCP socket has.
//!
//! Not here: which server (`crate::servers`), names (`crate::lookups`).

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, SockRef, Socket as Socket2, TcpKeepalive, Type};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{sleep, timeout};

use super::Leg;
use crate::Address;
use crate::lookups::Lookups;

impl Leg {
    /// Connects to `address`, whose name is looked up now; every address of the name is tried, each as long as
    /// `limit`.
    pub(crate) async fn dial(
        address: &Address,
        limit: Duration,
        user_timeout: Duration,
        lookups: &Lookups,
    ) -> io::Result<Self> {
        let (host, port) = match address {
            Address::Unix(path) => {
                return within(limit, connect_unix(path)).await.map(Self::unix);
            }
            Address::Tcp { host, port } => (host.as_str(), *port),
            Address::Pair(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        if let Ok(ip) = host.parse() {
            return within(limit, connect(SocketAddr::new(ip, port), user_timeout)).await;
        }
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in within(limit, lookups.addresses(host, port)).await? {
            match within(limit, connect(address, user_timeout)).await {
                Ok(leg) => return Ok(leg),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", limit.as_secs())))
    })
}

/// Waits for a place in the listener's queue, as a blocking socket does; without one the kernel refuses at once.
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(FULL_QUEUE_PAUSE).await,
            connected => return connected,
        }
    }
}

async fn connect(address: SocketAddr, user_timeout: Duration) -> io::Result<Leg> {
    let socket = Socket2::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    let is_there = is_there_at_once(&socket, &address.into())?;
    let stream = TcpStream::from_std(socket.into())?;
    if !is_there {
        stream.writable().await?;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
    }
    set_options(&SockRef::from(&stream), user_timeout)?;
    if address.ip().to_canonical().is_loopback() {
        receive_at_once(&stream);
    }
    Ok(Leg::tcp(stream))
}

/// Makes room for all that a server on this host may send before any of it is read: then it is the server that sends, and sleeps
/// when it has sent that much. With less room each of our reads sends some of what the server holds ready, on our time.
///
/// Source: `tcp_set_rcvlowat` of the kernel, which sees to room for twice the bytes that are to be waited for, at most half of
/// `net.ipv4.tcp_rmem`; `SO_RCVBUF` makes mostly less room, and for good.
fn receive_at_once(socket: &impl AsRawFd) {
    // Nothing is to be waited for, though. Without the room all is as it was.
    for len in [RECEIVED_AT_ONCE_LEN, 1] {
        // SAFETY: the kernel reads one int.
        #[expect(unsafe_code, reason = "SO_RCVLOWAT has no safe binding")]
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVLOWAT,
                (&raw const len).cast(),
                INT_LEN,
            );
        }
    }
}

/// Begins to connect, and tells whether that is done already. A server on this host has answered by the time that `connect`
/// returns, but the kernel says so only to who asks again. Tokio's own connect would wait for the next look at all sockets.
fn is_there_at_once(socket: &Socket2, address: &SockAddr) -> io::Result<bool> {
    for _ in 0..2 {
        match socket.connect(address).map_err(|error| (error.raw_os_error(), error)) {
            Ok(()) => return Ok(true),
            Err((Some(libc::EINPROGRESS | libc::EALREADY), _)) => {}
            Err((_, error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Options of every TCP socket; accepted ones inherit them from their listener.
pub(crate) fn set_options(socket: &Socket2, user_timeout: Duration) -> io::Result<()> {
    // Replies are small and their ends are known: Nagle's wait would only add latency.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(user_timeout))?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE.min(user_timeout))
        .with_interval(KEEPALIVE_INTERVAL.min(user_timeout));
    socket.set_tcp_keepalive(&keepalive)
}

/// Twice what a server's socket holds by Linux's defaults (`net.ipv4.tcp_wmem`): a pair's end gained half as much by 4 MiB. See
/// `docs/adr/0038-what-a-server-on-this-host-sends-has-room.md`.
const RECEIVED_AT_ONCE_LEN: libc::c_int = 8 << 20;
/// Of `libc::c_int`.
const INT_LEN: libc::socklen_t = 4;
/// The kernel tells no one that a listener's queue has room again. A server accepts more than one in that time, and to ask
/// costs little.
const FULL_QUEUE_PAUSE: Duration = Duration::from_millis(5);
/// A peer that was silent for so long is probed. Where nothing is in flight, only that finds a dead one.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// Between two probes without an answer. The kernel looks at TCP_USER_TIMEOUT only when it sends one, so a silent dead
/// peer is found this much late; its own 75 s would be too late by far.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_server_on_this_host_is_there_at_once_and_one_that_does_not_listen_refuses_at_once() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().into();
        let socket = || Socket2::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
        assert!(is_there_at_once(&socket(), &address).unwrap());
        drop(listener);
        let refused = is_there_at_once(&socket(), &address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn a_full_queue_of_a_unix_socket_is_waited_for_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server");
        let listener = Socket2::new(Domain::UNIX, Type::STREAM, None).unwrap();
        listener.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        listener.listen(0).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = UnixStream::connect(&path).await {
            waiting.push(stream);
        }
        let (address, lookups) = (Address::Unix(path), Lookups::default());
        let dial = |limit| Leg::dial(&address, limit, Duration::from_secs(1), &lookups);
        let in_vain = dial(Duration::from_millis(50)).await.map(drop).unwrap_err();
        assert_eq!(in_vain.kind(), io::ErrorKind::TimedOut);
        let (dialled, ()) = tokio::join!(dial(Duration::from_secs(20)), async {
            sleep(Duration::from_millis(20)).await;
            listener.accept().unwrap();
        });
        dialled.map(drop).unwrap();
    }

    #[test]
    fn what_a_server_on_this_host_sends_has_room_and_is_not_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut theirs = listener.accept().unwrap().0;
        let room = |stream: &std::net::TcpStream| SockRef::from(stream).recv_buffer_size().unwrap();
        let before = room(&ours);
        receive_at_once(&ours);
        // Half of tcp_rmem's last figure is 3 MiB by default.
        assert!(room(&ours) > before.max(4 << 20), "{before} {}", room(&ours));
        theirs.write_all(b"x").unwrap();
        assert_eq!(ours.read(&mut [0; 2]).unwrap(), 1);
    }

    /// The kernel's end of a silent dead peer: the first probe at or behind the user timeout that another went before.
    #[test]
    fn a_silent_dead_peer_is_found_soon_after_the_user_timeout() {
        let socket = Socket2::new(Domain::IPV4, Type::STREAM, None).unwrap();
        for (user_timeout_s, found_after_s) in [(3, 6), (30, 45), (60, 75), (70, 75), (900, 900), (905, 915)]
        {
            set_options(&socket, Duration::from_secs(user_timeout_s)).unwrap();
            let idle_s = socket.tcp_keepalive_time().unwrap().as_secs();
            let interval_s = socket.tcp_keepalive_interval().unwrap().as_secs();
            let probes = (1..).find(|probes| idle_s + probes * interval_s >= user_timeout_s).unwrap();
            assert_eq!(idle_s + probes * interval_s, found_after_s, "of {user_timeout_s}");
        }
    }
}
