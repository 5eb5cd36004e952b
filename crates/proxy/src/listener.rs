//! The listening sockets, the workers behind it, and the way to stop them.
//!
//! Each accepted socket goes to the worker with the fewest sessions: with few, long-lived connections that is
//! fairer than the kernel's own spreading.
//!
//! Not here: what a worker does with a socket (`session`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::lookup_host;

use crate::budget::Budget;
use crate::route::Route;
use crate::worker::{Accepted, AcceptedSocket, Shared, Stop, WorkerHandle};
use crate::{Address, Config, Counters, TlsError, leg};

/// A running proxy. Dropping it ends its sessions.
pub struct Proxy {
    addresses: Vec<Address>,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    acceptors: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
}

/// Why a proxy did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A listening socket can't be had.
    #[error("can't listen on {address}: {error}{advice}")]
    Listen {
        /// Where.
        address: Address,
        /// Why.
        error: io::Error,
        /// What to do.
        advice: &'static str,
    },
    /// A thread can't be had.
    #[error("can't start a thread: {0}")]
    Thread(#[from] io::Error),
    /// Certificates and keys can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl StartError {
    fn listen(address: &Address, error: io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "; something listens there already, choose another --listen",
            io::ErrorKind::PermissionDenied => "; ports below 1024 need a privilege, choose another --listen",
            io::ErrorKind::AddrNotAvailable => "; this host does not have that address",
            _ => "",
        };
        Self::Listen { address: address.clone(), error, advice }
    }
}

enum Listener {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener, PathBuf),
}

/// Whether a proxy could start from `config`, as far as files tell.
pub fn check(config: &Config) -> Result<(), StartError> {
    for listener in &config.listeners {
        Route::new(listener.clone())?;
    }
    Ok(())
}

impl Proxy {
    /// Binds, and serves from threads of its own until stopped.
    pub fn start(config: impl Into<Config>) -> Result<Self, StartError> {
        let config = config.into();
        let mut bound = Vec::new();
        for listener in config.listeners {
            let route = Arc::new(Route::new(listener)?);
            let asked = &route.config.listen;
            let (listener, address) = bind(asked).map_err(|error| StartError::listen(asked, error))?;
            bound.push((listener, address, route));
        }
        let stop = Arc::<Stop>::default();
        let counters = Arc::<Counters>::default();
        let shared = Arc::new(Shared {
            budget: Budget::new(config.buffer_memory_max),
            counters: Arc::clone(&counters),
            own_key: Arc::default(),
            context_pool: Arc::default(),
            stop: Arc::clone(&stop),
        });
        let mut proxy =
            Self { addresses: Vec::new(), counters, stop, acceptors: Vec::new(), workers: Vec::new() };
        let mut handles = Vec::new();
        for index in 0..config.workers.max(1) {
            let (handle, thread) = WorkerHandle::start(index, Arc::clone(&shared))?;
            handles.push(handle);
            proxy.workers.push(thread);
        }
        let handles = Arc::new(handles);
        for (listener, address, route) in bound {
            proxy.addresses.push(address);
            let (handles, stop) = (Arc::clone(&handles), Arc::clone(&proxy.stop));
            let acceptor = std::thread::Builder::new()
                .name("acceptor".to_owned())
                .spawn(move || accept_until_stopped(&listener, &route, &handles, &stop))?;
            proxy.acceptors.push(acceptor);
        }
        Ok(proxy)
    }

    /// Where the first listener listens; the port that the kernel chose if 0 was asked.
    pub fn address(&self) -> &Address {
        // A configuration without a listener makes a proxy without an address.
        self.addresses.first().unwrap_or(&NOWHERE)
    }

    /// Where the listeners listen, in the order of the configuration.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What it has counted.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Ends the sessions, with an error to each client, and waits for the threads.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.ask();
        for (acceptor, address) in self.acceptors.drain(..).zip(&self.addresses) {
            if let Err(error) = wake(address) {
                // Its thread ends with the next connection or with the process; nothing is lost.
                tracing::warn!(%error, "an acceptor could not be woken");
                self.workers.clear();
            } else if acceptor.join().is_err() {
                tracing::error!("an acceptor died");
            }
        }
        for worker in self.workers.drain(..) {
            if worker.join().is_err() {
                tracing::error!("a worker died");
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept_until_stopped(listener: &Listener, route: &Arc<Route>, workers: &[WorkerHandle], stop: &Stop) {
    while !stop.is_asked() {
        match listener.accept() {
            Ok(socket) => hand_over(Accepted { socket, route: Arc::clone(route) }, workers),
            // The client left before its turn.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                // Out of file descriptors, mostly: the queue keeps, others end, and then it goes on.
                tracing::error!(%error, "no connection could be accepted; trying again");
                std::thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
    if let Listener::Unix(_, path) = listener
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::debug!(%error, "the socket file could not be removed");
    }
}

impl Listener {
    /// Waits for a client. A plain blocking call on a thread of its own: its socket is then registered with its
    /// worker's runtime only.
    fn accept(&self) -> io::Result<AcceptedSocket> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, client) = listener.accept()?;
                stream.set_nonblocking(true)?;
                AcceptedSocket::Tcp(stream, client)
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                AcceptedSocket::Unix(stream)
            }
        })
    }
}

/// Connects to our own listener, which ends its wait.
fn wake(address: &Address) -> io::Result<()> {
    match address {
        Address::Unix(path) => std::os::unix::net::UnixStream::connect(path).map(drop),
        Address::Tcp { host, port } => {
            let ip = host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            let ip = match ip {
                IpAddr::V4(v4) if v4.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(v6) if v6.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                ip => ip,
            };
            std::net::TcpStream::connect_timeout(&SocketAddr::new(ip, *port), WAKE_TIMEOUT).map(drop)
        }
    }
}

fn hand_over(accepted: Accepted, workers: &[WorkerHandle]) {
    let Some(least) = workers.iter().min_by_key(|worker| worker.load.load(Ordering::Relaxed)) else { return };
    least.load.fetch_add(1, Ordering::Relaxed);
    if least.accepted.send(accepted).is_err() {
        tracing::error!("a worker is gone; its connection is dropped");
    }
}

fn bind(address: &Address) -> io::Result<(Listener, Address)> {
    match address {
        Address::Unix(path) => {
            remove_stale_socket(path)?;
            let listener = std::os::unix::net::UnixListener::bind(path)?;
            Ok((Listener::Unix(listener, path.clone()), address.clone()))
        }
        Address::Tcp { host, port } => {
            let listener = bind_tcp(resolve(host, *port)?)?;
            let bound = listener.local_addr()?;
            Ok((Listener::Tcp(listener), bound.into()))
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    leg::set_options(&socket)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut found = runtime.block_on(lookup_host((host, port)))?;
    found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

/// A socket file that nobody listens on is left over from a crash; one that answers is somebody's.
fn remove_stale_socket(path: &PathBuf) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// What a proxy without listeners tells.
static NOWHERE: Address = Address::Tcp { host: String::new(), port: 0 };
/// As HAProxy and MySQL: bursts of reconnects after a failover are thousands.
const BACKLOG: i32 = 4096;
/// To our own socket it takes microseconds, unless the queue is full.
const WAKE_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two tries to accept when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
