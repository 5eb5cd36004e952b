//! A listening socket: bound, inherited or handed over.
//!
//! Not here: accepting from it (`acceptor`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::lookup_host;

use crate::route::Route;
use crate::{Address, ListenerConfig, leg};

/// A listening socket and the settings of those who come by it.
pub(crate) struct Listener {
    socket: Socket,
    address: Address,
    /// As configured: the port may be 0.
    asked: Address,
    route: Mutex<Arc<Route>>,
    /// The socket file is another process's: a successor's, or the service manager's.
    is_given_away: AtomicBool,
}

/// A listening socket that somebody else has bound.
#[derive(Debug)]
pub struct Inherited {
    /// The address that it was asked for.
    pub address: Address,
    /// The socket.
    pub socket: OwnedFd,
    /// Whether its file, if it has one, is ours to remove: a predecessor's is, a service manager's is not.
    pub is_ours: bool,
}

impl Listener {
    /// Binds, or takes a socket that somebody else has bound.
    pub(crate) fn open(route: Arc<Route>, inherited: Option<Inherited>) -> io::Result<Self> {
        let ListenerConfig { listen, tcp_user_timeout, .. } = &route.config;
        let asked = listen.clone();
        let is_given_away = inherited.as_ref().is_some_and(|inherited| !inherited.is_ours);
        let socket = match (inherited, listen) {
            (Some(inherited), _) => {
                let socket = Socket::from(inherited.socket);
                check_address(&socket, listen)?;
                socket
            }
            (None, Address::Unix(path)) => bind_unix(path)?,
            (None, Address::Tcp { host, port }) => bind_tcp(resolve(host, *port)?)?,
            (None, Address::Pair(_)) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a pair listens by --pair-listen, without wirepress://",
                ));
            }
        };
        socket.set_nonblocking(true)?;
        let address = address_of(&socket.local_addr()?).unwrap_or_else(|| asked.clone());
        if matches!(address, Address::Tcp { .. }) {
            leg::set_options(&socket, *tcp_user_timeout)?;
        }
        let is_given_away = AtomicBool::new(is_given_away);
        Ok(Self { socket, address, asked, route: Mutex::new(route), is_given_away })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Where it was asked to listen.
    pub(crate) const fn asked(&self) -> &Address {
        &self.asked
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What new sessions go by.
    pub(crate) fn route(&self) -> Arc<Route> {
        Arc::clone(&self.route.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// New sessions go by `route` from now on.
    pub(crate) fn set_route(&self, route: Arc<Route>) {
        // Sockets that are accepted from now on take it over.
        if matches!(self.address, Address::Tcp { .. })
            && let Err(error) = leg::set_options(&self.socket, route.config.tcp_user_timeout)
        {
            tracing::warn!(%error, "the listening socket keeps its options");
        }
        let mut current = self.route.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, route);
        if let Some(pair) = &before.pair {
            pair.replace();
        }
    }

    /// Another process listens here from now on: its socket file stays. Was it ours?
    pub(crate) fn give_away(&self) -> bool {
        !self.is_given_away.swap(true, Ordering::AcqRel)
    }

    /// No other process listens here any more.
    pub(crate) fn take_over(&self) {
        self.is_given_away.store(false, Ordering::Release);
    }

    /// Removes its socket file, unless it is another process's by now.
    pub(crate) fn remove_file(&self) {
        if let Address::Unix(path) = &self.address
            && !self.is_given_away.load(Ordering::Acquire)
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::debug!(%error, "the socket file could not be removed");
        }
    }
}

/// Whether an inherited socket is the one that was meant: the order of a service manager's sockets is easily wrong.
fn check_address(socket: &Socket, asked: &Address) -> io::Result<()> {
    let Some(actual) = address_of(&socket.local_addr()?) else { return Ok(()) };
    let is_same = match (&actual, asked) {
        (Address::Unix(actual), Address::Unix(asked)) => actual == asked,
        (Address::Tcp { host: actual, port: bound }, Address::Tcp { host: asked, port }) => {
            // A name is not looked up for this: its port tells enough.
            let is_other_ip = asked.parse::<IpAddr>().is_ok_and(|asked| actual.parse() != Ok(asked));
            !is_other_ip && (*port == 0 || port == bound)
        }
        _ => false,
    };
    let other =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("the socket handed over is {actual}'s"));
    is_same.then_some(()).ok_or_else(other)
}

fn bind_unix(path: &Path) -> io::Result<Socket> {
    remove_stale_socket(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn bind_tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn address_of(bound: &SockAddr) -> Option<Address> {
    let unix = || bound.as_pathname().map(|path| Address::Unix(path.to_owned()));
    bound.as_socket().map(Address::from).or_else(unix)
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut found = runtime.block_on(lookup_host((host, port)))?;
    found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

/// A socket file that nobody listens on is left over from a crash; one that answers is somebody's.
///
/// # Errors
/// It can't be removed.
pub fn remove_stale_socket(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// As HAProxy and MySQL: bursts of reconnects after a failover are thousands.
const BACKLOG: i32 = 4096;
