//! The words that end sessions: all of them, first each when it holds nothing, then all at once; and one by itself.
//!
//! Not here: which session holds something (`wire::conversation`), what clients are told (`session`).

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::Poll;

use tokio::sync::Notify;

/// How far the end has come. It never goes back.
#[derive(Default)]
pub(crate) struct Ending {
    stage: AtomicU8,
    notify: Notify,
}

/// The word that ends one session.
#[derive(Default)]
pub(crate) struct Kill {
    is_said: AtomicBool,
    notify: Notify,
}

/// Why work was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// All sessions end.
    Stopped,
    /// This one was killed.
    Killed,
}

const DRAINING: u8 = 1;
const STOPPED: u8 = 2;

impl Ending {
    /// Sessions that hold nothing end, and new ones don't begin.
    pub(crate) fn drain(&self) {
        self.reach(DRAINING);
    }

    /// All sessions end.
    pub(crate) fn stop(&self) {
        self.reach(STOPPED);
    }

    fn reach(&self, stage: u8) {
        self.stage.fetch_max(stage, Ordering::AcqRel);
        self.notify.notify_waiters();
    }

    /// Whether sessions that hold nothing shall end.
    pub(crate) fn is_draining(&self) -> bool {
        self.stage.load(Ordering::Acquire) >= DRAINING
    }

    fn is_stopped(&self) -> bool {
        self.stage.load(Ordering::Acquire) >= STOPPED
    }

    /// Runs `work` until it is done, or `None` when all sessions end first. It is polled when the drain begins.
    pub(crate) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.unless_over(&Kill::default(), work).await.ok()
    }

    /// Runs `work` until it is done, or `None` when the drain begins first.
    pub(crate) async fn unless_draining<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let working = std::future::poll_fn(|cx| match self.is_draining() {
            true => Poll::Ready(None),
            false => work.as_mut().poll(cx).map(Some),
        });
        self.unless_stopped(working).await.flatten()
    }

    /// Runs `work` until it is done, or all sessions end, or its own is killed. It is polled when the drain begins.
    ///
    /// Cost: two atomic loads per poll; notifications are subscribed to only once per stage.
    pub(crate) async fn unless_over<T>(
        &self,
        kill: &Kill,
        work: impl Future<Output = T>,
    ) -> Result<T, GivenUp> {
        let mut work = std::pin::pin!(work);
        let mut notified = std::pin::pin!(self.notify.notified());
        let mut killed = std::pin::pin!(kill.notify.notified());
        let mut seen = None;
        std::future::poll_fn(|cx| {
            let stage = self.stage.load(Ordering::Acquire);
            if seen.replace(stage) != Some(stage) {
                // Subscribed before the stage is looked at again, so that no word is missed.
                while notified.as_mut().poll(cx).is_ready() {
                    notified.set(self.notify.notified());
                }
                if killed.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Err(GivenUp::Killed));
                }
            }
            if self.is_stopped() {
                return Poll::Ready(Err(GivenUp::Stopped));
            }
            if kill.is_said() {
                return Poll::Ready(Err(GivenUp::Killed));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }
}

impl Kill {
    pub(crate) fn say(&self) {
        self.is_said.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    pub(crate) fn is_said(&self) -> bool {
        self.is_said.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_polled_at_the_drain_and_given_up_at_the_stop() {
        let ending = Ending::default();
        let drained = ending.unless_stopped(std::future::poll_fn(|_| match ending.is_draining() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }));
        let (drained, ()) = tokio::join!(drained, async { ending.drain() });
        assert_eq!(drained, Some(()));

        let never = ending.unless_stopped(std::future::pending::<()>());
        let (ended, ()) = tokio::join!(never, async { ending.stop() });
        assert_eq!(ended, None);
        assert_eq!(ending.unless_stopped(std::future::pending::<()>()).await, None);
    }

    #[tokio::test]
    async fn a_stop_right_behind_a_drain_is_seen() {
        let ending = Ending::default();
        let never = ending.unless_stopped(std::future::pending::<()>());
        let (ended, ()) = tokio::join!(never, async {
            ending.drain();
            tokio::task::yield_now().await;
            ending.stop();
        });
        assert_eq!(ended, None);
    }
    #[tokio::test]
    async fn a_kill_ends_its_own_work_only_before_it_begins_and_while_it_waits() {
        let ending = Ending::default();
        let (killed, other) = (Kill::default(), Kill::default());
        let never = ending.unless_over(&killed, std::future::pending::<()>());
        let brief = ending.unless_over(&other, tokio::task::yield_now());
        let (ended, done, ()) = tokio::join!(never, brief, async { killed.say() });
        assert_eq!((ended, done), (Err(GivenUp::Killed), Ok(())));
        assert_eq!(ending.unless_over(&killed, std::future::ready(())).await, Err(GivenUp::Killed));
    }
}
