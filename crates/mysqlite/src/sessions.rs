//! The connections of a server: their list, and how to end one.
//!
//! Invariants: an entry lives exactly as long as its connection's thread.
//!
//! Not here: what a connection does (`session`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::fault::SqlFault;
use crate::stream::Stream;

/// What SHOW PROCESSLIST tells of a connection.
#[derive(Clone, Debug)]
pub struct Process {
    /// The connection id.
    pub id: u32,
    /// Who logged in.
    pub user: String,
    /// From where.
    pub host: String,
    /// The database that USE chose.
    pub schema: Option<String>,
    /// `Sleep`, `Query`, …
    pub command: &'static str,
    /// Since when it does that.
    pub since: Instant,
}

struct Entry {
    process: Process,
    stream: Stream,
    interrupt: Option<Box<dyn Fn() + Send>>,
}

/// All connections of one server.
pub struct Sessions {
    entries: Mutex<BTreeMap<u32, Entry>>,
    next_id: AtomicU32,
    connections_max: usize,
    stopping: AtomicBool,
    /// Commands that all connections sent.
    pub questions: AtomicU64,
    /// When the server started.
    pub started: Instant,
}

impl Sessions {
    pub(crate) fn new(connections_max: usize) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::default(),
            // MySQL's own first connections take the low numbers.
            next_id: AtomicU32::new(8),
            connections_max,
            stopping: AtomicBool::new(false),
            questions: AtomicU64::new(0),
            started: Instant::now(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Entry>> {
        // A panic of one connection must not end the others.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a connection; `false` when the server is stopping.
    ///
    /// Errors: `TooManyConnections`.
    pub(crate) fn add(&self, process: Process, stream: Stream) -> Result<bool, SqlFault> {
        let mut entries = self.lock();
        if self.stopping.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if entries.len() >= self.connections_max {
            return Err(SqlFault::TooManyConnections);
        }
        entries.insert(process.id, Entry { process, stream, interrupt: None });
        Ok(true)
    }

    pub(crate) fn remove(&self, id: u32) {
        self.lock().remove(&id);
    }

    pub(crate) fn set_interrupt(&self, id: u32, interrupt: Box<dyn Fn() + Send>) {
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.interrupt = Some(interrupt);
        }
    }

    /// Changes what the list tells of a connection.
    pub(crate) fn update(&self, id: u32, change: impl FnOnce(&mut Process)) {
        if let Some(entry) = self.lock().get_mut(&id) {
            change(&mut entry.process);
        }
    }

    /// The list.
    pub fn processes(&self) -> Vec<Process> {
        self.lock().values().map(|entry| entry.process.clone()).collect()
    }

    /// Ends a connection, or only its statement. Was it there?
    pub fn kill(&self, id: u32, only_statement: bool) -> bool {
        let entries = self.lock();
        let Some(entry) = entries.get(&id) else { return false };
        if let Some(interrupt) = &entry.interrupt {
            interrupt();
        }
        if !only_statement {
            entry.stream.shutdown();
        }
        true
    }

    /// Ends all, now and later.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        for entry in self.lock().values() {
            if let Some(interrupt) = &entry.interrupt {
                interrupt();
            }
            entry.stream.shutdown();
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}
