//! The server: listens, gives each client a thread, ends them all when it is dropped.
//!
//! Invariants: dropping it returns only when every thread of it has ended.
//!
//! Not here: a client's story (`session`).

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use codec::AlgorithmSet;
use rustix::net::{Shutdown, shutdown};

use crate::account::{Account, Method};
use crate::engine::Database;
use crate::limits::{Limits, Tls};
use crate::session;
use crate::sessions::Sessions;
use crate::start_fault::StartFault;
use crate::store::Store;
use crate::stream::Stream;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen for TCP; port 0 takes a free one. `None`: no TCP.
    pub tcp: Option<SocketAddr>,
    /// A path for a Unix socket, which must not exist yet.
    pub unix: Option<PathBuf>,
    /// The SQLite file; `None` makes a temporary one that goes with the server.
    pub file: Option<PathBuf>,
    /// What clients may pack with (`protocol_compression_algorithms`).
    pub algorithms: AlgorithmSet,
    /// Who may log in.
    pub accounts: Vec<Account>,
    /// The method that the greeting names.
    pub method: Method,
    /// TLS, if it is offered: whoever comes from another host must then use it.
    pub tls: Option<Tls>,
    /// What it bears.
    pub limits: Limits,
}

/// A free TCP port of 127.0.0.1, a temporary file, `root` without a password, every algorithm.
impl Default for Options {
    fn default() -> Self {
        Self {
            tcp: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            unix: None,
            file: None,
            algorithms: AlgorithmSet::ALL,
            accounts: vec![Account::new("root", "")],
            method: Method::CachingSha2,
            tls: None,
            limits: Limits::default(),
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) database: Arc<dyn Database>,
    pub(crate) sessions: Arc<Sessions>,
}

/// A running server. Dropping it ends its connections.
pub struct Server {
    shared: Arc<Shared>,
    store: Option<Arc<Store>>,
    address: Option<SocketAddr>,
    /// The sockets, and who accepts from them.
    listeners: Vec<(OwnedFd, JoinHandle<()>)>,
    clients: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Server {
    /// Starts a server of the embedded database.
    /// Errors: the address is taken, the file cannot be opened.
    pub fn start(options: Options) -> Result<Self, StartFault> {
        let store = Store::open(options.file.as_deref())?;
        let mut server = Self::start_with(options, Arc::new(Arc::clone(&store)))?;
        server.store = Some(store);
        Ok(server)
    }

    /// Starts a server of any other database; `options.file` is not used.
    /// Errors: the address is taken.
    pub fn start_with(options: Options, database: Arc<dyn Database>) -> Result<Self, StartFault> {
        let sessions = Sessions::new(options.limits.connections_max);
        let shared = Arc::new(Shared { options, database, sessions });
        let clients = Arc::default();
        let mut server = Self { shared, store: None, address: None, listeners: Vec::new(), clients };
        if let Some(address) = server.shared.options.tcp {
            server.listen_tcp(address)?;
        }
        if let Some(path) = server.shared.options.unix.clone() {
            server.listen_unix(&path)?;
        }
        Ok(server)
    }

    /// Where it listens for TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Its Unix socket.
    pub fn socket(&self) -> Option<&Path> {
        self.shared.options.unix.as_deref()
    }

    /// The embedded database, to fill it without a connection.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    fn listen_tcp(&mut self, address: SocketAddr) -> Result<(), StartFault> {
        let fault = |cause| StartFault::Listen { address: address.to_string(), cause };
        let listener = TcpListener::bind(address).map_err(fault)?;
        self.address = Some(listener.local_addr().map_err(fault)?);
        let socket = listener.as_fd().try_clone_to_owned().map_err(fault)?;
        self.accept(socket, move || {
            let (stream, _) = listener.accept()?;
            // Replies are written whole; waiting for more would only delay them.
            stream.set_nodelay(true)?;
            Ok(Stream::from(stream))
        })
    }

    fn listen_unix(&mut self, path: &Path) -> Result<(), StartFault> {
        let fault = |cause| StartFault::Listen { address: path.display().to_string(), cause };
        let listener = UnixListener::bind(path).map_err(fault)?;
        let socket = listener.as_fd().try_clone_to_owned().map_err(fault)?;
        self.accept(socket, move || listener.accept().map(|(stream, _)| Stream::from(stream)))
    }

    /// A thread that takes clients, and one for each of them.
    fn accept(
        &mut self,
        socket: OwnedFd,
        next: impl Fn() -> io::Result<Stream> + Send + 'static,
    ) -> Result<(), StartFault> {
        let (shared, clients) = (Arc::clone(&self.shared), Arc::clone(&self.clients));
        let accepting = move || {
            loop {
                let stream = next();
                if shared.sessions.is_stopping() {
                    return;
                }
                let serving = stream.and_then(|stream| {
                    let shared = Arc::clone(&shared);
                    std::thread::Builder::new().spawn(move || {
                        // The client's own end: it has been told what can be told.
                        session::serve(stream, &shared).ok();
                    })
                });
                let Ok(client) = serving else {
                    // Out of files or threads, or a client that gave up: trying again at once would take a whole CPU.
                    std::thread::sleep(ACCEPT_PAUSE);
                    continue;
                };
                let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
                clients.retain(|client| !client.is_finished());
                clients.push(client);
            }
        };
        let thread = std::thread::Builder::new().spawn(accepting).map_err(StartFault::Thread)?;
        self.listeners.push((socket, thread));
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.sessions.stop();
        if let Some(path) = &self.shared.options.unix {
            std::fs::remove_file(path).ok();
        }
        for (socket, thread) in self.listeners.drain(..) {
            // Wakes who waits for a client; a connection to itself may find the queue full or the file gone.
            shutdown(&socket, Shutdown::Both).ok();
            thread.join().ok();
        }
        // Only now no client can be added.
        let clients = std::mem::take(&mut *self.clients.lock().unwrap_or_else(PoisonError::into_inner));
        for client in clients {
            client.join().ok();
        }
    }
}

/// For files or threads to come free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
