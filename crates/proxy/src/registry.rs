//! All sessions that run, and the sums of those that ended.
//!
//! Invariants: a session is in the list until its end, even by a panic; a session's numbers are in the list or in the sums,
//! never in both; the list is locked at the beginning and the end of sessions, and to look at it.
//! Not here: a session's own numbers (`meter`), faults (`counters`).

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Address;
use crate::counters::Traffic;
use crate::meter::{Connection, LegLens, Meter};

/// What a sum is of: listener, client leg's and server leg's algorithm.
pub type SumLabels = (String, &'static str, &'static str);

/// A sum over sessions that have logged in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub sessions: u64,
    /// To the server, to the client.
    pub traffic: [Traffic; 2],
    /// The client's, the server's.
    pub legs: [LegLens; 2],
}

#[derive(Default)]
pub(crate) struct Registry {
    last_id: AtomicU64,
    held: Mutex<Held>,
}

/// A session in the list, until this is dropped.
pub(crate) struct Registered {
    registry: Arc<Registry>,
    pub(crate) meter: Arc<Meter>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.registry.deregister(&self.meter);
    }
}

#[derive(Default)]
struct Held {
    running: HashMap<u64, Arc<Meter>>,
    ended: BTreeMap<SumLabels, Sum>,
}

impl Registry {
    /// A new session by this listener.
    pub(crate) fn register(self: &Arc<Self>, listener: Address) -> Registered {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let meter = Arc::new(Meter::new(id, listener));
        self.held().running.insert(id, Arc::clone(&meter));
        Registered { registry: Arc::clone(self), meter }
    }

    fn deregister(&self, meter: &Meter) {
        let mut held = self.held();
        held.running.remove(&meter.id);
        if let Some(labels) = labels(meter) {
            held.ended.entry(labels).or_default().add(meter);
        }
    }

    /// Every session, by id.
    pub(crate) fn connections(&self) -> Vec<Connection> {
        // The lock is held for as long as it takes to count references.
        let meters: Vec<_> = self.held().running.values().cloned().collect();
        let mut connections: Vec<_> = meters.iter().map(|meter| meter.read()).collect();
        connections.sort_by_key(|connection| connection.id);
        connections
    }

    /// Ends a session; was it there?
    pub(crate) fn kill(&self, id: u64) -> bool {
        let meter = self.held().running.get(&id).cloned();
        meter.inspect(|meter| meter.kill.say()).is_some()
    }

    /// Sums of all sessions that have logged in, running or ended.
    pub(crate) fn sums(&self) -> BTreeMap<SumLabels, Sum> {
        let (meters, mut sums) = {
            let held = self.held();
            (held.running.values().cloned().collect::<Vec<_>>(), held.ended.clone())
        };
        for meter in meters {
            if let Some(labels) = labels(&meter) {
                sums.entry(labels).or_default().add(&meter);
            }
        }
        sums
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sum {
    fn add(&mut self, meter: &Meter) {
        *self = self.plus(&Self { sessions: 1, traffic: meter.traffic(), legs: meter.legs() });
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What came to it since it was `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        let mut result = *self;
        result.sessions = of(self.sessions, other.sessions);
        for (traffic, other) in result.traffic.iter_mut().zip(&other.traffic) {
            let mut fields = traffic.fields();
            fields.iter_mut().zip(other.fields()).for_each(|(field, other)| *field = of(*field, other));
            *traffic = Traffic::of_fields(fields);
        }
        for (lens, other) in result.legs.iter_mut().zip(&other.legs) {
            lens.received_len = of(lens.received_len, other.received_len);
            lens.sent_len = of(lens.sent_len, other.sent_len);
            lens.socket_received_len = of(lens.socket_received_len, other.socket_received_len);
            lens.socket_sent_len = of(lens.socket_sent_len, other.socket_sent_len);
        }
        result
    }
}

fn labels(meter: &Meter) -> Option<SumLabels> {
    let [client, server] = meter.algorithms()?;
    Some((meter.listener().to_string(), client.name(), server.name()))
}
