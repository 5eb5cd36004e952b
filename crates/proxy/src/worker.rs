//! A worker: one thread, one single-threaded runtime, its own codec contexts and spare buffers.
//!
//! Invariants: nothing on the path of a byte is shared between workers but the memory budget.
//! Not here: accepting (`acceptor`), helper threads for long codec work (`codec_threads`).

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::thread::JoinHandle;
use std::time::Duration;

use codec::Contexts;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;

use crate::acceptor::Acceptor;
use crate::admission::{Admission, Permit};
use crate::budget::Budget;
use crate::buffer::SpareBuffers;
use crate::codec_threads::ContextPool;
use crate::connect::rsa::OwnKey;
use crate::cpu_allowance::CpuAllowance;
use crate::ending::Ending;
use crate::links::Links;
use crate::lookups::Lookups;
use crate::pair::Pool;
use crate::registry::Registry;
use crate::route::Route;
use crate::sends::Sends;
use crate::tap::Tap;
use crate::{Address, Counters, session};

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) counters: Arc<Counters>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) budget: Budget,
    pub(crate) own_key: Arc<OwnKey>,
    pub(crate) context_pool: Arc<ContextPool>,
    pub(crate) ending: Arc<Ending>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) lookups: Lookups,
    pub(crate) links: Links,
    pub(crate) cpu_allowance: Arc<CpuAllowance>,
    pub(crate) tap: Tap,
    /// Held while settings change: SET and a reload each build on what the other left.
    pub(crate) changes: Mutex<()>,
}

/// What the sessions of one worker share.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) contexts: RefCell<Contexts>,
    pub(crate) spare: SpareBuffers,
    pub(crate) sends: Rc<Sends>,
    /// Warm streams to other halves of pairs.
    pub(crate) pairs: Rc<Pool>,
}

/// What a worker is given.
pub(crate) enum Work {
    Session(Accepted),
    /// To accept from; the first worker's.
    Listener(Acceptor),
}

/// A client on its way to a worker.
pub(crate) struct Accepted {
    pub(crate) socket: AcceptedSocket,
    /// Where it was accepted.
    pub(crate) listener: Address,
    pub(crate) route: Arc<Route>,
    pub(crate) permit: Permit,
}

/// Its socket.
pub(crate) enum AcceptedSocket {
    Tcp(std::net::TcpStream, std::net::SocketAddr),
    Unix(std::os::unix::net::UnixStream),
}

/// A worker's end that acceptors hold.
pub(crate) struct WorkerHandle {
    pub(crate) queue: mpsc::UnboundedSender<Work>,
    /// Sessions that this worker serves.
    load: Arc<AtomicUsize>,
}

impl WorkerHandle {
    /// Starts a worker's thread, which ends when the last of its handles is gone and its sessions have ended.
    pub(crate) fn start(
        index: usize,
        shared: Arc<Shared>,
        io_uring: bool,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (sender, queue) = mpsc::unbounded_channel();
        let load = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&load);
        let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(HELPER_THREADS_MAX)
                .event_interval(LOOK_INTERVAL)
                .global_queue_interval(LOOK_INTERVAL)
                .thread_name(format!("helper-{index}"))
                .build_local(LocalOptions::default());
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            drop(ready.send(Ok(())));
            runtime.block_on(async {
                // As a task: waking the outermost future costs a write to the runtime's own eventfd, even from here.
                let serving = tokio::task::spawn_local(serve(queue, shared, counted, Sends::new(io_uring)));
                if let Err(panic) = serving.await {
                    tracing::error!(%panic, "a worker died");
                }
            });
            // Sessions were told to stop; what hangs in a name lookup is not waited for.
            runtime.shutdown_background();
        })?;
        is_ready.recv().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))?;
        Ok((Self { queue: sender, load }, thread))
    }

    /// Sessions that it serves.
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Gives it a client.
    pub(crate) fn serve(&self, accepted: Accepted) {
        self.load.fetch_add(1, Ordering::Relaxed);
        if self.queue.send(Work::Session(accepted)).is_err() {
            tracing::error!("a worker is gone; its connection is dropped");
        }
    }
}

async fn serve(
    mut queue: mpsc::UnboundedReceiver<Work>,
    shared: Arc<Shared>,
    load: Arc<AtomicUsize>,
    sends: Sends,
) {
    let pairs = Rc::new(Pool::new(Arc::clone(&shared)));
    let contexts = RefCell::new(Contexts::new());
    let sends = Rc::new(sends);
    tokio::task::spawn_local(Rc::clone(&sends).run());
    tokio::task::spawn_local(keep_a_timer());
    let worker = Rc::new(Worker { shared, contexts, spare: SpareBuffers::default(), sends, pairs });
    let mut sessions = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            work = queue.recv() => match work {
                Some(Work::Listener(acceptor)) => {
                    tokio::task::spawn_local(acceptor.run(Arc::clone(&worker.shared)));
                }
                Some(Work::Session(accepted)) => {
                    let (worker, load) = (Rc::clone(&worker), Arc::clone(&load));
                    sessions.spawn_local(async move {
                        session::serve(accepted, &worker).await;
                        load.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                None => break,
            },
            Some(ended) = sessions.join_next() => {
                if let Err(panic) = ended {
                    load.fetch_sub(1, Ordering::Relaxed);
                    tracing::error!(%panic, "a session died; all others go on");
                }
            }
        }
    }
    while sessions.join_next().await.is_some() {}
}

/// A timer that is due before those of logins: one that becomes the earliest costs a write to the runtime's own eventfd,
/// and a turn of its loop.
async fn keep_a_timer() {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
    }
}

/// The task that is polled goes on when all others that are ready have had their turn, and sockets have been looked at if
/// there were none: unlike one that wakes itself, which could go on before the look, eight times in a row.
pub(crate) fn step_aside(cx: &mut Context<'_>) {
    let aside = pin!(tokio::task::yield_now());
    // Not ready the first time, by what it is.
    let _ = aside.poll(cx).is_ready();
}

/// Turns of sessions between two looks at sockets and at helper threads. While some sessions have work all the time, a
/// turn of theirs takes up to a millisecond, and nobody else gets one before such a look: with Tokio's own 61 the others
/// waited for a tenth of a second, several times for each statement. A look costs a microsecond or so.
const LOOK_INTERVAL: u32 = 8;
/// Codec work on large frames and name lookups (of which `lookups` lets through half as many); more would only compete
/// for the same cores.
const HELPER_THREADS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::io::Write;
    use std::task::Poll;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn who_steps_aside_goes_on_behind_a_socket_that_has_something_by_now() {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .event_interval(LOOK_INTERVAL)
            .build_local(LocalOptions::default())
            .unwrap();
        let (mut far, near) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let turns = Rc::new(Cell::new(0));
        let busy = Rc::clone(&turns);
        runtime.block_on(async move {
            let mut near = tokio::net::UnixStream::from_std(near).unwrap();
            let reader = tokio::task::spawn_local(async move { near.read_u8().await.unwrap() });
            let busy = tokio::task::spawn_local(poll_fn(move |cx| -> Poll<()> {
                busy.set(busy.get() + 1);
                if busy.get() == 20 {
                    far.write_all(b"x").unwrap();
                }
                step_aside(cx);
                Poll::Pending
            }));
            assert_eq!(reader.await.unwrap(), b'x');
            busy.abort();
        });
        assert!((20..=22).contains(&turns.get()), "{}", turns.get());
    }
}
