//! A running proxy: its listeners, its workers, and the ways to change and to end it.
//!
//! Not here: accepting (`acceptor`), serving (`worker`).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::acceptor::{Acceptor, RunningAcceptor};
use crate::admission::Admission;
use crate::budget::Budget;
use crate::cpu_allowance::CpuAllowance;
use crate::ending::Ending;
use crate::links::Links;
use crate::listener::{Inherited, Listener};
use crate::live::Live;
use crate::lookups::Lookups;
use crate::route::{FileError, Route};
use crate::servers::Checks;
use crate::tap::Tap;
use crate::worker::{Shared, WorkerHandle};
use crate::{Address, Config, Counters};

/// A running proxy. Dropping it ends its sessions.
pub struct Proxy {
    listeners: Vec<Arc<Listener>>,
    shared: Arc<Shared>,
    config: Config,
    acceptors: Vec<RunningAcceptor>,
    /// Those that get new sessions.
    workers: Arc<RwLock<Vec<WorkerHandle>>>,
    /// Those that still serve some, too.
    worker_threads: Vec<JoinHandle<()>>,
    checks: Option<Checks>,
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
    /// A file that the settings name can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a running proxy keeps its settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// A file that the settings name can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A thread can't be had.
    #[error("can't start a thread: {0}")]
    Thread(io::Error),
    /// What a running process can't change.
    #[error("{0} can't change while the proxy runs; restart it")]
    Fixed(&'static str),
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

/// Whether a proxy could start from `config`, as far as files tell.
pub fn check(config: &Config) -> Result<(), FileError> {
    config.listeners.iter().try_for_each(|listener| Route::new(listener.clone(), None).map(drop))
}

impl Proxy {
    /// Binds, and serves from threads of its own until stopped.
    pub fn start(config: impl Into<Config>) -> Result<Self, StartError> {
        Self::start_with(config, Vec::new())
    }

    /// Starts with listening sockets that somebody else has bound, by the addresses that they were asked for.
    pub fn start_with(config: impl Into<Config>, mut inherited: Vec<Inherited>) -> Result<Self, StartError> {
        let config = config.into();
        let mut listeners = Vec::new();
        for listener in &config.listeners {
            let asked = &listener.listen;
            let route = Arc::new(Route::new(listener.clone(), None)?);
            let index = inherited.iter().position(|inherited| inherited.address == *asked);
            let socket = index.map(|index| inherited.swap_remove(index));
            let opened = Listener::open(route, socket).map_err(|error| StartError::listen(asked, error))?;
            listeners.push(Arc::new(opened));
        }
        let shared = Arc::new(Shared {
            budget: Budget::new(config.buffer_memory_max),
            counters: Arc::default(),
            registry: Arc::default(),
            own_key: Arc::default(),
            context_pool: Arc::default(),
            ending: Arc::default(),
            admission: Arc::<Admission>::default(),
            lookups: Lookups::default(),
            links: Links::default(),
            cpu_allowance: Arc::new(CpuAllowance::new(config.cost_cpu_percent)),
            tap: Tap::default(),
            changes: Mutex::default(),
        });
        shared.admission.set(config.connections_max(), config.connections_per_address_max);
        let workers = config.workers;
        let mut proxy = Self {
            listeners,
            shared,
            config,
            acceptors: Vec::new(),
            workers: Arc::default(),
            worker_threads: Vec::new(),
            checks: None,
        };
        proxy.start_checks()?;
        proxy.set_workers(workers)?;
        proxy.start_acceptors()?;
        Ok(proxy)
    }

    /// Looks after the servers of today's routes, and no longer after those of earlier ones.
    fn start_checks(&mut self) -> io::Result<()> {
        self.checks = None;
        self.checks = Checks::start(self.listeners.iter().map(|listener| listener.route()).collect())?;
        Ok(())
    }

    /// So many workers get new sessions. One that gets no more ends with its last.
    fn set_workers(&mut self, count: usize) -> io::Result<()> {
        let count = count.max(1);
        let before = self.workers.read().unwrap_or_else(PoisonError::into_inner).len();
        // Started before the list is locked: acceptors read it between sessions.
        let mut new = Vec::new();
        for index in before..count {
            let (worker, thread) =
                WorkerHandle::start(index, Arc::clone(&self.shared), self.config.io_uring)?;
            new.push(worker);
            self.worker_threads.push(thread);
        }
        let mut workers = self.workers.write().unwrap_or_else(PoisonError::into_inner);
        workers.truncate(count);
        workers.extend(new);
        Ok(())
    }

    fn start_acceptors(&mut self) -> io::Result<()> {
        for listener in &self.listeners {
            self.acceptors.push(Acceptor::start(listener, &self.workers)?);
        }
        Ok(())
    }

    /// Where the first listener listens; the port that the kernel chose if 0 was asked.
    pub fn address(&self) -> &Address {
        // A configuration without a listener makes a proxy without an address.
        self.listeners.first().map_or(&NOWHERE, |listener| listener.address())
    }

    /// Where the listeners listen, in the order of the configuration.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.listeners.iter().map(|listener| listener.address())
    }

    /// Servers that get no new sessions, and why.
    pub fn servers_down(&self) -> Vec<(Address, String)> {
        self.listeners.iter().flat_map(|listener| listener.route().servers.down()).collect()
    }

    /// What it has counted.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    /// The proxy as others may look at it.
    pub fn live(&self) -> Live {
        Live::new(&self.listeners, Arc::clone(&self.shared))
    }

    /// New sessions go by `config` from now on; those that run keep what they have.
    ///
    /// Errors: all stays as it was.
    pub fn reload(&mut self, config: Config) -> Result<(), ReloadError> {
        let addresses = |config: &Config| -> Vec<Address> {
            config.listeners.iter().map(|listener| listener.listen.clone()).collect()
        };
        if addresses(&config) != addresses(&self.config) {
            return Err(ReloadError::Fixed("the addresses that are listened on"));
        }
        if config.io_uring != self.config.io_uring {
            return Err(ReloadError::Fixed("io-uring"));
        }
        let shared = Arc::clone(&self.shared);
        let _changing = shared.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let routes = config
            .listeners
            .iter()
            .zip(&self.listeners)
            .map(|(config, listener)| Route::new(config.clone(), Some(&listener.route())).map(Arc::new));
        let routes = routes.collect::<Result<Vec<_>, _>>()?;
        // The last that may fail.
        self.set_workers(config.workers).map_err(ReloadError::Thread)?;
        for (listener, route) in self.listeners.iter().zip(routes) {
            listener.set_route(route);
        }
        if let Err(error) = self.start_checks() {
            tracing::error!(%error, "the health checks could not be started; servers count as up");
        }
        self.shared.admission.set(config.connections_max(), config.connections_per_address_max);
        if config.buffer_memory_max != self.config.buffer_memory_max {
            self.shared.budget.set(config.buffer_memory_max);
        }
        if config.cost_cpu_percent != self.config.cost_cpu_percent {
            self.shared.cpu_allowance.hold().0.set(config.cost_cpu_percent);
        }
        self.config = config;
        Ok(())
    }

    pub(crate) fn ending(&self) -> Arc<Ending> {
        Arc::clone(&self.shared.ending)
    }

    /// The listening sockets, by the addresses that they were asked for.
    pub(crate) fn listeners(&self) -> &[Arc<Listener>] {
        &self.listeners
    }

    /// No new connections; ends each session when it holds nothing, and the rest after `limit`, or as soon as `hurry`
    /// says so. Returns how many it had to break off.
    pub fn drain(mut self, limit: Duration, hurry: &AtomicBool) -> u64 {
        self.shared.ending.drain();
        self.join_acceptors();
        // Whoever connects now is refused, or served by a successor.
        self.listeners.clear();
        let deadline = Instant::now() + limit;
        let counters = Arc::clone(&self.shared.counters);
        // Permits, not sessions: a connection that was accepted may still wait for its worker.
        while self.shared.admission.open() > 0 && Instant::now() < deadline && !hurry.load(Ordering::Relaxed)
        {
            std::thread::sleep(DRAIN_LOOK);
        }
        let left = counters.sessions_open();
        self.end();
        left
    }

    /// Ends the sessions, with an error to each client, and waits for the threads.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.ending.stop();
        self.checks = None;
        self.join_acceptors();
        self.workers.write().unwrap_or_else(PoisonError::into_inner).clear();
        for worker in self.worker_threads.drain(..) {
            if worker.join().is_err() {
                tracing::error!("a worker died");
            }
        }
    }

    fn join_acceptors(&mut self) {
        self.acceptors.drain(..).for_each(RunningAcceptor::join);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a proxy without listeners tells.
static NOWHERE: Address = Address::Tcp { host: String::new(), port: 0 };
/// A process that ends may be a moment late.
const DRAIN_LOOK: Duration = Duration::from_millis(10);
