//! Accepts from a listening socket, as a task of the first worker.
//!
//! ```text
//! listening socket --accept--> permit --> the worker with the fewest sessions
//! ```
//! With few, long-lived connections the fewest sessions are fairer than the kernel's own spreading.
//!
//! Not here: the socket itself (`listener`), what a worker does with a client (`session`); why no thread of its own
//! (docs/adr/0035-the-first-worker-accepts.md).

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;
use tokio::time::sleep;
use wire::Side;

use crate::listener::Listener;
use crate::spare_file::SpareFile;
use crate::worker::{Accepted, AcceptedSocket, Shared, Work, WorkerHandle};
use crate::{Cause, Phase, SessionError, spare_file};

/// A listening socket on its way to the worker that accepts from it.
pub(crate) struct Acceptor {
    listener: Arc<Listener>,
    workers: Arc<RwLock<Vec<WorkerHandle>>>,
    /// Told when it begins, and when it ends.
    told: Sender<io::Result<()>>,
}

/// An acceptor that runs.
pub(crate) struct RunningAcceptor(Mutex<Receiver<io::Result<()>>>);

impl Acceptor {
    /// Gives the listener to the first of the workers.
    pub(crate) fn start(
        listener: &Arc<Listener>,
        workers: &Arc<RwLock<Vec<WorkerHandle>>>,
    ) -> io::Result<RunningAcceptor> {
        let (told, is_told) = channel();
        let acceptor = Self { listener: Arc::clone(listener), workers: Arc::clone(workers), told };
        let gone = || io::Error::other("a worker is gone");
        {
            let workers = workers.read().unwrap_or_else(PoisonError::into_inner);
            let first = workers.first().ok_or_else(gone)?;
            first.queue.send(Work::Listener(acceptor)).map_err(|_| gone())?;
        }
        is_told.recv().unwrap_or_else(|_| Err(gone()))?;
        Ok(RunningAcceptor(Mutex::new(is_told)))
    }

    /// Accepts until the drain begins.
    pub(crate) async fn run(self, shared: Arc<Shared>) {
        let told = match watch(self.listener.socket()) {
            Ok(listening) => {
                // Who started it waits for this word.
                self.told.send(Ok(())).ok();
                shared.ending.unless_draining(self.accept_all(&listening, &shared)).await;
                self.listener.remove_file();
                Ok(())
            }
            Err(error) => Err(error),
        };
        // Nobody listens any more where nobody else holds the listener.
        let Self { listener, told: teller, .. } = self;
        drop(listener);
        // A proxy that is gone needs no word.
        teller.send(told).ok();
    }

    async fn accept_all(&self, listening: &AsyncFd<BorrowedFd<'_>>, shared: &Shared) {
        let mut spare = SpareFile::new();
        let mut failing_since: Option<Instant> = None;
        let mut accepted: u32 = 0;
        loop {
            accepted += 1;
            if accepted.is_multiple_of(TURN_LEN) {
                // While clients come faster than they are accepted nothing else makes this wait: sessions want their turn, and
                // a drain wants to be seen.
                yield_now().await;
            }
            let mut ready = match listening.readable().await {
                Ok(ready) => ready,
                Err(error) => return tracing::error!(%error, "no connection is accepted any more"),
            };
            // Once nobody could be accepted for a while, whoever comes is told instead of kept waiting.
            let is_hopeless = failing_since.is_some_and(|since| since.elapsed() >= ACCEPT_PATIENCE);
            match accept(listening.get_ref()) {
                Ok(socket) => {
                    if let Some(since) = failing_since.take() {
                        tracing::info!(
                            seconds = since.elapsed().as_secs_f64(),
                            "connections are accepted again"
                        );
                    }
                    self.admit(socket, shared);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                // The client left before its turn.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if is_hopeless && spare_file::is_wanted(&error) => {
                    let refused = spare.lend(|| {
                        accept(listening.get_ref()).map(|socket| refuse_for_want_of_room(socket, shared))
                    });
                    match refused {
                        // The kernel looks for a file before it looks for a client.
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                        Err(_) => sleep(ACCEPT_PAUSE).await,
                        Ok(()) => {}
                    }
                }
                Err(error) => {
                    // Out of file descriptors, mostly: the queue keeps, others end, and then it goes on.
                    failing_since.get_or_insert_with(|| {
                        tracing::error!(%error, "no connection can be accepted; trying again");
                        Instant::now()
                    });
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, socket: AcceptedSocket, shared: &Shared) {
        let Some(permit) = shared.admission.admit() else {
            return refuse_for_want_of_room(socket, shared);
        };
        let workers = self.workers.read().unwrap_or_else(PoisonError::into_inner);
        let Some(least) = workers.iter().min_by_key(|worker| worker.load()) else { return };
        let (listener, route) = (self.listener.address().clone(), self.listener.route());
        least.serve(Accepted { socket, listener, route, permit });
    }
}

impl RunningAcceptor {
    /// Waits for its end, once the drain has begun.
    pub(crate) fn join(self) {
        if self.0.into_inner().unwrap_or_else(PoisonError::into_inner).recv().is_err() {
            tracing::error!("an acceptor died");
        }
    }
}

/// The listening socket, as this worker's runtime watches it.
fn watch(listening: BorrowedFd<'_>) -> io::Result<AsyncFd<BorrowedFd<'_>>> {
    // SAFETY: what is borrowed stays open for as long as the borrow, and is the same socket throughout.
    #[expect(unsafe_code, reason = "a runtime can't tell that a file stays open")]
    let watched = unsafe { AsyncFd::register_with_interest(listening, Interest::READABLE) };
    watched.map_err(|error| error.into_parts().1)
}

/// The socket of the first client in the queue.
fn accept(listening: &BorrowedFd<'_>) -> io::Result<AcceptedSocket> {
    let (socket, client) = acceptfrom_with(listening, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    Ok(match client.map(SocketAddr::try_from) {
        Some(Ok(client)) => AcceptedSocket::Tcp(socket.into(), client),
        _ => AcceptedSocket::Unix(socket.into()),
    })
}

fn refuse_for_want_of_room(socket: AcceptedSocket, shared: &Shared) {
    let error = SessionError { side: Side::Client, phase: Phase::Dial, cause: Cause::TooManyConnections };
    shared.counters.fault(&error);
    tracing::warn!("too many connections: a client is refused");
    refuse(socket, &error);
}

/// Tells a client that there is no room, at once, in the form before a greeting.
fn refuse(socket: AcceptedSocket, error: &SessionError) {
    let Some(mut told) = error.for_client("") else { return };
    told.sqlstate = None;
    let mut bytes = Vec::new();
    wire::packet::split(&told.build(), 0, &mut bytes);
    // The socket is new, so its buffer has room; whoever has left already needs no answer.
    drop(match &socket {
        AcceptedSocket::Tcp(stream, _) => {
            (&*stream).write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write))
        }
        AcceptedSocket::Unix(stream) => {
            (&*stream).write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write))
        }
    });
}

/// Between two tries to accept when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Clients between two turns of the sessions of this worker.
const TURN_LEN: u32 = 8;
/// How long clients wait in the queue for files to become free. A burst of sessions that end and begin passes in less;
/// clients that wait for a greeting give up only after ten seconds, or never.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(1);
