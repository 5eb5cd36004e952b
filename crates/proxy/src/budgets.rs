//! What packing may take and add by `--policy cost`, for one session.
//!
//! ```text
//!  command ──▶ │ the server, the network, whoever reads … │ packing │ ──▶ the reply's end
//!              └────────────── the exchange's time ───────┘ ≤ a share of that, or of the link's p99
//! ```
//! Invariants: of several commands in flight the oldest counts, from when it became that.
//! Not here: what is chosen (`codec::pace::Thrift`), CPU of all sessions (`cpu_allowance`), the tap's exchanges
//! (`relay::watch`).

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cpu_allowance::CpuAllowance;

/// Of a session, for all directions that it packs.
#[derive(Clone)]
pub(crate) struct Budgets {
    pub(crate) cpu: Arc<CpuAllowance>,
    /// To a reply, in per cent of what all but one in a hundred take, or of its own time if that is longer.
    pub(crate) p99_percent: u32,
    pub(crate) exchange: Rc<Exchange>,
}

impl Budgets {
    /// What packing may still add to the exchange that goes on.
    pub(crate) fn added_max(&self, p99: Option<Duration>) -> Duration {
        let time = self.exchange.time().max(p99.unwrap_or_default());
        let may_add = time.saturating_mul(self.p99_percent) / 100;
        may_add.saturating_sub(self.exchange.added.get())
    }
}

/// The exchange that goes on: when it began, and what packing has added to it so far.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// The command's number, and when its exchange began.
    open: Cell<Option<(u64, Instant)>>,
    added: Cell<Duration>,
}

impl Exchange {
    /// `oldest` is the number of the command whose reply is due. Tells how long the one before took, without what packing
    /// added, once it is over.
    pub(crate) fn follow(&self, oldest: Option<u64>) -> Option<Duration> {
        let open = self.open.get();
        if open.map(|(number, _)| number) == oldest {
            return None;
        }
        let time = open.map(|_| self.time());
        self.open.set(oldest.map(|number| (number, Instant::now())));
        // What a request's packing added before it was seen to have begun belongs to its own exchange.
        if open.is_some() {
            self.added.set(Duration::ZERO);
        }
        time
    }

    /// So far, without what packing added.
    pub(crate) fn time(&self) -> Duration {
        self.open.get().map_or(Duration::ZERO, |(_, begun)| begun.elapsed().saturating_sub(self.added.get()))
    }

    /// Packing has added this.
    pub(crate) fn add(&self, time: Duration) {
        self.added.set(self.added.get() + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_told_without_what_packing_added() {
        let exchange = Exchange::default();
        assert_eq!((exchange.follow(None), exchange.time()), (None, Duration::ZERO));
        assert_eq!(exchange.follow(Some(1)), None);
        exchange.add(Duration::from_secs(1000));
        assert_eq!((exchange.follow(Some(1)), exchange.added.get()), (None, Duration::from_secs(1000)));
        // The next one waits already.
        assert_eq!(exchange.follow(Some(2)), Some(Duration::ZERO));
        assert_eq!(exchange.added.get(), Duration::ZERO);
        assert!(exchange.follow(None).is_some() && exchange.follow(None).is_none());
    }
}
