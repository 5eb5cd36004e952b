//! A link that runs: its listener, its connections, its threads.
//!
//! ```text
//!  thread "link listen"      accepts, connects to the server, starts two threads per connection
//!  thread "link to server"   pump, or without rate and delay `move_all`
//!  thread "link to client"   pump, or without rate and delay `move_all`
//! ```
//!
//! Invariants: dropping it closes every connection, and returns when all threads have ended.
//!
//! Not here: moving bytes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::pump::{self, Effects};
use super::socket::{SHAPED_RECEIVE_BYTES, Socket};
use super::system::{self, Thread};
use super::traffic::{Counter, Direction, Traffic};
use super::{Address, Link, LinkFault};

/// A link in front of a server.
#[derive(Debug)]
pub struct RunningLink {
    address: SocketAddr,
    shared: Arc<Shared>,
    listen: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    link: Link,
    server: Address,
    counter: Counter,
    to_server: Arc<Effects>,
    to_client: Arc<Effects>,
    stopping: AtomicBool,
    pumps: Mutex<Vec<RunningPump>>,
    /// CPU time of the threads that have ended.
    ended_cpu: Mutex<Duration>,
}

/// One direction of one connection.
#[derive(Debug)]
struct RunningPump {
    thread: JoinHandle<()>,
    from: Arc<Socket>,
    /// Set by the thread as its first act.
    id: Arc<Mutex<Option<Thread>>>,
}

impl RunningLink {
    pub(super) fn start(link: Link, server: Address) -> Result<Self, LinkFault> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(LinkFault::Listen)?;
        if !link.is_unlimited() {
            // Accepted sockets inherit it; set later it would not bound the first window.
            socket2::SockRef::from(&listener)
                .set_recv_buffer_size(SHAPED_RECEIVE_BYTES)
                .map_err(LinkFault::Listen)?;
        }
        let address = listener.local_addr().map_err(LinkFault::Listen)?;
        let now = Instant::now();
        let shared = Arc::new(Shared {
            link,
            server,
            counter: Counter::new(now),
            to_server: Effects::new(link, now),
            to_client: Effects::new(link, now),
            stopping: AtomicBool::new(false),
            pumps: Mutex::new(Vec::new()),
            ended_cpu: Mutex::new(Duration::ZERO),
        });
        let listen = {
            let shared = Arc::clone(&shared);
            Builder::new().name("link listen".to_owned()).spawn(move || shared.listen(&listener))
        };
        Ok(Self { address, shared, listen: Some(listen.map_err(LinkFault::Listen)?) })
    }

    /// Where clients connect: a loopback port chosen by the kernel.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has been carried since the start.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.counter.read()
    }

    /// CPU time that the link's own threads have used since the start: to be taken off a process's.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        let pumps = lock(&self.shared.pumps);
        let running = pumps.iter().filter_map(|pump| (*lock(&pump.id))?.cpu()).sum::<Duration>();
        running + *lock(&self.shared.ended_cpu)
    }
}

impl Drop for RunningLink {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        // Wakes the listener, which then sees that it should stop.
        drop(TcpStream::connect(self.address));
        if let Some(listen) = self.listen.take() {
            // A panic of the thread has been printed; there is nothing to add.
            drop(listen.join());
        }
        let pumps = std::mem::take(&mut *lock(&self.shared.pumps));
        pumps.iter().for_each(|pump| pump.from.close());
        for pump in pumps {
            drop(pump.thread.join());
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            self.forget_ended();
            // Client and server see a closed connection, as when a host has no listener.
            drop(self.connect(client));
        }
    }

    fn connect(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let receive_bytes = (!self.link.is_unlimited()).then_some(SHAPED_RECEIVE_BYTES);
        let server = Arc::new(Socket::connect(&self.server, receive_bytes)?);
        let client = Arc::new(Socket::Tcp(client));
        if !self.link.is_unlimited() {
            client.set_nonblocking()?;
            server.set_nonblocking()?;
        }
        self.pump(Direction::ToServer, Arc::clone(&client), Arc::clone(&server))?;
        self.pump(Direction::ToClient, server, client)
    }

    fn pump(self: &Arc<Self>, direction: Direction, from: Arc<Socket>, to: Arc<Socket>) -> io::Result<()> {
        let id = Arc::new(Mutex::new(None));
        let (name, effects) = match direction {
            Direction::ToServer => ("link to server", &self.to_server),
            Direction::ToClient => ("link to client", &self.to_client),
        };
        let effects = Arc::clone(effects);
        let (shared, own_from, own_id) = (Arc::clone(self), Arc::clone(&from), Arc::clone(&id));
        let work = move || {
            *lock(&own_id) = Some(Thread::this());
            let moved = if shared.link.is_unlimited() {
                system::move_all(&own_from, &to, direction, &shared.counter)
            } else {
                pump::run(&own_from, &to, direction, &effects, &shared.counter)
            };
            if moved.is_err() {
                own_from.close();
                to.close();
            }
            // From here on it counts among those that have ended.
            let mut id = lock(&own_id);
            *id = None;
            *lock(&shared.ended_cpu) += own_cpu();
        };
        // The pumps keep no deep stacks; thousands of connections fit.
        let thread = Builder::new().name(name.to_owned()).stack_size(128 * 1024).spawn(work)?;
        lock(&self.pumps).push(RunningPump { thread, from, id });
        Ok(())
    }

    fn forget_ended(&self) {
        lock(&self.pumps).retain(|pump| !pump.thread.is_finished());
    }
}

/// CPU time of this thread.
fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
