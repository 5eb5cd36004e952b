//! The listening socket, the workers behind it, and the way to stop them.
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
use crate::worker::{Accepted, Shared, Stop, WorkerHandle};
use crate::{Address, Config, Counters, leg};

/// A running proxy. Dropping it ends its sessions.
pub struct Proxy {
    address: Address,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    acceptor: Option<JoinHandle<()>>,
}

/// Why a proxy did not start.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {error}{advice}")]
pub struct StartError {
    address: Address,
    error: io::Error,
    advice: &'static str,
}

enum Listener {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener, PathBuf),
}

impl Proxy {
    /// Binds, and serves from threads of its own until stopped.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let asked = config.listen.clone();
        let failed = |error: io::Error| {
            let advice = match error.kind() {
                io::ErrorKind::AddrInUse => "; something listens there already, choose another --listen",
                io::ErrorKind::PermissionDenied => {
                    "; ports below 1024 need a privilege, choose another --listen"
                }
                io::ErrorKind::AddrNotAvailable => "; this host does not have that address",
                _ => "",
            };
            StartError { address: asked.clone(), error, advice }
        };
        let (listener, address) = bind(&config.listen).map_err(failed)?;
        let stop = Arc::<Stop>::default();
        let counters = Arc::<Counters>::default();
        let worker_count = config.workers.max(1);
        let shared = Arc::new(Shared {
            budget: Budget::new(config.buffer_memory_max),
            counters: Arc::clone(&counters),
            own_key: Arc::default(),
            context_pool: Arc::default(),
            stop: Arc::clone(&stop),
            config,
        });
        let workers = (0..worker_count)
            .map(|index| WorkerHandle::start(index, Arc::clone(&shared)))
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed)?;
        let stopping = Arc::clone(&stop);
        let acceptor = std::thread::Builder::new()
            .name("acceptor".to_owned())
            .spawn(move || accept_until_stopped(&listener, workers, &stopping))
            .map_err(failed)?;
        Ok(Self { address, counters, stop, acceptor: Some(acceptor) })
    }

    /// Where it listens; the port that the kernel chose if 0 was asked.
    pub const fn address(&self) -> &Address {
        &self.address
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
        let Some(acceptor) = self.acceptor.take() else { return };
        if let Err(error) = wake(&self.address) {
            // Its thread ends with the next connection or with the process; nothing is lost.
            tracing::warn!(%error, "the acceptor could not be woken");
            return;
        }
        if acceptor.join().is_err() {
            tracing::error!("the acceptor died");
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept_until_stopped(listener: &Listener, workers: Vec<WorkerHandle>, stop: &Stop) {
    while !stop.is_asked() {
        match listener.accept() {
            Ok(accepted) => hand_over(accepted, &workers),
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
    for WorkerHandle { accepted, thread, .. } in workers {
        drop(accepted);
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("a worker died");
        }
    }
}

impl Listener {
    /// Waits for a client. A plain blocking call on a thread of its own: its socket is then registered with its
    /// worker's runtime only.
    fn accept(&self) -> io::Result<Accepted> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, client) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Accepted::Tcp(stream, client)
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Accepted::Unix(stream)
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

/// As HAProxy and MySQL: bursts of reconnects after a failover are thousands.
const BACKLOG: i32 = 4096;
/// To our own socket it takes microseconds, unless the queue is full.
const WAKE_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two tries to accept when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
