//! The listening socket, the workers behind it, and the way to stop them.
//!
//! Each accepted socket goes to the worker with the fewest sessions: with few, long-lived connections that is
//! fairer than the kernel's own spreading.
//!
//! Not here: what a worker does with a socket (`session`).

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, UnixListener, lookup_host};
use tokio::sync::watch;

use crate::budget::Budget;
use crate::worker::{Accepted, Shared, WorkerHandle};
use crate::{Address, Config, Counters};

/// A running proxy. Dropping it ends its sessions.
pub struct Proxy {
    address: Address,
    counters: Arc<Counters>,
    stop: watch::Sender<bool>,
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
        let (stop, stopping) = watch::channel(false);
        let counters = Arc::<Counters>::default();
        let worker_count = config.workers.max(1);
        let shared = Arc::new(Shared {
            budget: Budget::new(config.buffer_memory_max),
            counters: Arc::clone(&counters),
            own_key: Arc::default(),
            context_pool: Arc::default(),
            stopping: stopping.clone(),
            config,
        });
        let workers = (0..worker_count)
            .map(|index| WorkerHandle::start(index, Arc::clone(&shared)))
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed)?;
        let acceptor = std::thread::Builder::new()
            .name("acceptor".to_owned())
            .spawn(move || accept_until_stopped(listener, workers, stopping))
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
        self.stop.send_replace(true);
        if let Some(acceptor) = self.acceptor.take()
            && acceptor.join().is_err()
        {
            tracing::error!("the acceptor died");
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept_until_stopped(listener: Listener, workers: Vec<WorkerHandle>, mut stopping: watch::Receiver<bool>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(async {
            tokio::select! {
                () = accept(&listener, &workers) => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
        }),
        Err(error) => tracing::error!(%error, "the acceptor has no runtime"),
    }
    if let Listener::Unix(_, path) = &listener
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

async fn accept(listener: &Listener, workers: &[WorkerHandle]) {
    loop {
        let Err(error) = accept_until_error(listener, workers).await;
        // Out of file descriptors, mostly: the queue keeps, others end, and then it goes on.
        tracing::error!(%error, "no connection could be accepted; trying again");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

async fn accept_until_error(
    listener: &Listener,
    workers: &[WorkerHandle],
) -> Result<std::convert::Infallible, io::Error> {
    match listener {
        Listener::Tcp(listener) => {
            let listener = TcpListener::from_std(listener.try_clone()?)?;
            loop {
                let (stream, _) = listener.accept().await?;
                hand_over(Accepted::Tcp(stream.into_std()?), workers);
            }
        }
        Listener::Unix(listener, _) => {
            let listener = UnixListener::from_std(listener.try_clone()?)?;
            loop {
                let (stream, _) = listener.accept().await?;
                hand_over(Accepted::Unix(stream.into_std()?), workers);
            }
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
            listener.set_nonblocking(true)?;
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
    socket.set_nonblocking(true)?;
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
/// Between two tries to accept when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
