//! Streams that have proved themselves and wait for a session, so that the session needs no handshake across the link.
//!
//! ```text
//! take ──▶ a warm stream, or none: the session dials itself
//!   └────▶ a task dials until there are --pair-warm-connections again
//! ```
//! Invariants: a stream that was used is never put back; streams of settings that are not in force any more are dropped at once;
//! a pool is one worker's.
//! Not here: the dial (`dial`).

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use super::Pair;
use crate::Address;
use crate::leg::Leg;
use crate::worker::Shared;

/// The warm streams of one worker.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    slots: RefCell<Vec<Slot>>,
}

/// Those of one peer.
struct Slot {
    pair: Arc<Pair>,
    peer: Address,
    legs: Vec<Leg>,
    is_filling: bool,
}

impl Slot {
    fn is_of(&self, pair: &Arc<Pair>, peer: &Address) -> bool {
        Arc::ptr_eq(&self.pair, pair) && self.peer == *peer
    }
}

impl Pool {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, slots: RefCell::default() }
    }

    /// A stream to `peer` that is alive, if there is one; and others for those who come next.
    pub(super) async fn take(self: &Rc<Self>, pair: &Arc<Pair>, peer: &Address) -> Option<Leg> {
        let warm = loop {
            let Some(mut leg) = self.pop(pair, peer) else { break None };
            // So that the socket's news are fetched before it is asked.
            tokio::task::yield_now().await;
            if !poll_fn(|cx| Poll::Ready(leg.pair_mut().is_none_or(|stream| stream.poll_spoken(cx)))).await {
                break Some(leg);
            }
        };
        self.fill(pair, peer);
        warm
    }

    /// Dials what is missing, if nobody does so already.
    fn fill(self: &Rc<Self>, pair: &Arc<Pair>, peer: &Address) {
        let wanted = pair.config.pair.warm_connections;
        if wanted == 0 || pair.replaced.is_draining() {
            return;
        }
        {
            let mut slots = self.slots.borrow_mut();
            let index = slots.iter().position(|slot| slot.is_of(pair, peer)).unwrap_or_else(|| {
                tokio::task::spawn_local(Rc::clone(self).empty_once_replaced(Arc::clone(pair), peer.clone()));
                let pair = Arc::clone(pair);
                slots.push(Slot { pair, peer: peer.clone(), legs: Vec::new(), is_filling: false });
                slots.len() - 1
            });
            match slots.get_mut(index) {
                Some(slot) if !slot.is_filling && slot.legs.len() < wanted => slot.is_filling = true,
                _ => return,
            }
        }
        let (pool, pair, peer) = (Rc::clone(self), Arc::clone(pair), peer.clone());
        tokio::task::spawn_local(async move {
            loop {
                let dialled = pair.dial(&peer, &pool.shared.lookups).await;
                let mut slots = pool.slots.borrow_mut();
                let Some(slot) = slots.iter_mut().find(|slot| slot.is_of(&pair, &peer)) else { return };
                match dialled {
                    Ok(leg) => slot.legs.push(leg),
                    Err(cause) => {
                        // A session that needs one says so louder.
                        tracing::debug!(%peer, %cause, "no warm pair stream can be had");
                        slot.is_filling = false;
                        return;
                    }
                }
                if slot.legs.len() >= wanted {
                    slot.is_filling = false;
                    return;
                }
            }
        });
    }

    async fn empty_once_replaced(self: Rc<Self>, pair: Arc<Pair>, peer: Address) {
        let for_ever = std::future::pending::<()>();
        let in_force = pair.replaced.unless_draining(for_ever);
        self.shared.ending.unless_draining(in_force).await;
        self.slots.borrow_mut().retain(|slot| !slot.is_of(&pair, &peer));
    }

    fn pop(&self, pair: &Arc<Pair>, peer: &Address) -> Option<Leg> {
        self.slots.borrow_mut().iter_mut().find(|slot| slot.is_of(pair, peer))?.legs.pop()
    }
}
