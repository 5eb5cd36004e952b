//! The thread that looks after the servers, each by itself, again and again.
//!
//! Invariants: no check runs longer than its limit and its farewell; a server has one check at a time.
//! Not here: what a check does (`check`).

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{MissedTickBehavior, interval};

use super::check::check;
use crate::lookups::Lookups;
use crate::route::Route;

/// A running thread; ends when dropped.
pub(crate) struct Checks {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checks {
    /// Looks after the servers of `routes`; `None` where none needs it.
    pub(crate) fn start(routes: Vec<Arc<Route>>) -> io::Result<Option<Self>> {
        if routes.iter().all(|route| route.servers.checked().is_empty()) {
            return Ok(None);
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (end, is_ending) = oneshot::channel();
        let thread = std::thread::Builder::new().name("health".to_owned()).spawn(move || {
            runtime.block_on(LocalSet::new().run_until(async {
                let mut tasks = JoinSet::new();
                // Of their own: sessions that look names up never wait for a check.
                let lookups = Arc::<Lookups>::default();
                for route in routes {
                    let period = route.config.health_check.interval.unwrap_or_default();
                    for server in route.servers.checked() {
                        let (route, server, lookups) =
                            (Arc::clone(&route), Arc::clone(server), Arc::clone(&lookups));
                        tasks.spawn_local(async move {
                            let mut ticks = interval(period);
                            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                            loop {
                                ticks.tick().await;
                                if let Some(seen) = check(&route, &server.address, &lookups).await {
                                    server.see(seen);
                                }
                            }
                        });
                    }
                }
                // Whoever drops the sender wants the same.
                drop(is_ending.await);
            }));
            // A name lookup that hangs is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Some(Self { end: Some(end), thread: Some(thread) }))
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        drop(self.end.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the health checks died");
        }
    }
}
