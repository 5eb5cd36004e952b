//! The relay of a tap: two threads per session that pass bytes as they come, and tell of them on the side.
//!
//! ```text
//!  client ═▶ read ─▶ tell (never waits) ─▶ write ═▶ server          one thread for each way
//!                     └▶ bounded channel ─▶ watcher
//! ```
//! What is told is told before it is written, so that a command stands before its reply in the channel.
//!
//! Invariants: bytes pass unaltered and at once; who ends sending has its end passed on, and may still receive; a full
//! channel costs what is told and not a moment.
//!
//! Not here: what the bytes mean (`watcher`), who listens (`tap`).

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use lab::link::Address;
use wire::response::ErrPacket;
use wire::{Direction, packet};

use super::socket::Socket;

/// What the watcher is told.
pub(super) enum Told {
    /// A session begins.
    Begin { session: u64, looked_at: Arc<AtomicBool> },
    /// Bytes passed; before them others may be missing.
    Bytes { session: u64, direction: Direction, bytes: Box<[u8]>, at: Duration, is_behind_gap: bool },
    /// A session has ended.
    End { session: u64 },
}

/// What all sessions of a tap share.
pub(super) struct Relay {
    server: Address,
    start: Instant,
    told: SyncSender<Told>,
    /// Bytes in the channel.
    told_bytes: Arc<AtomicUsize>,
    sockets: Mutex<HashMap<u64, Arc<Ends>>>,
    /// What has passed.
    pub(super) passed: Passed,
}

/// Counters.
#[derive(Default)]
pub(crate) struct Passed {
    /// Sessions that began.
    pub(crate) sessions: AtomicU64,
    /// Those that go on.
    pub(crate) open: AtomicU64,
    /// Most of them at once.
    pub(crate) at_once: AtomicU64,
    /// Clients for whom there was no server.
    pub(crate) unreachable: AtomicU64,
    /// Times that a client spoke after the server had.
    pub(crate) turns: AtomicU64,
    /// Bytes to clients.
    pub(crate) to_client_bytes: AtomicU64,
    /// Bytes to the server.
    pub(crate) to_server_bytes: AtomicU64,
}

/// Both connections of a session.
struct Ends {
    client: Socket,
    server: Socket,
}

/// One session, for both of its threads.
struct Line {
    session: u64,
    relay: Arc<Relay>,
    looked_at: Arc<AtomicBool>,
    /// Something that passed was not told.
    has_gap: AtomicBool,
    server_spoke: AtomicBool,
}

impl Relay {
    /// Sessions to `server`; times count from `start`; `told_bytes` is what the channel holds.
    pub(super) fn new(
        server: Address,
        start: Instant,
        told: SyncSender<Told>,
        told_bytes: Arc<AtomicUsize>,
    ) -> Self {
        Self { server, start, told, told_bytes, sockets: Mutex::default(), passed: Passed::default() }
    }

    /// Relays a client until it or the server has ended, in threads of its own.
    pub(super) fn take(self: &Arc<Self>, client: TcpStream, session: u64) -> io::Result<()> {
        let relay = Arc::clone(self);
        let open = relay.passed.open.fetch_add(1, Ordering::Relaxed) + 1;
        relay.passed.at_once.fetch_max(open, Ordering::Relaxed);
        let thread = move || {
            relay.session(client, session).ok();
            relay.passed.open.fetch_sub(1, Ordering::Relaxed);
        };
        let spawned = Builder::new().name("tap".to_owned()).stack_size(STACK_BYTES).spawn(thread);
        spawned.map(drop).inspect_err(|_| {
            self.passed.open.fetch_sub(1, Ordering::Relaxed);
        })
    }

    fn session(self: &Arc<Self>, client: TcpStream, session: u64) -> io::Result<()> {
        let client = Socket::tcp(client)?;
        let server = match Socket::connect(&self.server) {
            Ok(server) => server,
            Err(error) => {
                self.passed.unreachable.fetch_add(1, Ordering::Relaxed);
                return client.write_all(&unreachable(&self.server, &error));
            }
        };
        self.passed.sessions.fetch_add(1, Ordering::Relaxed);
        let ends = Arc::new(Ends { client, server });
        self.sockets().insert(session, Arc::clone(&ends));
        let looked_at = Arc::new(AtomicBool::new(true));
        let line = Arc::new(Line {
            session,
            relay: Arc::clone(self),
            looked_at: Arc::clone(&looked_at),
            has_gap: AtomicBool::new(false),
            server_spoke: AtomicBool::new(false),
        });
        if self.told.try_send(Told::Begin { session, looked_at }).is_err() {
            line.looked_at.store(false, Ordering::Relaxed);
        }
        let (other, other_ends) = (Arc::clone(&line), Arc::clone(&ends));
        let replies = Builder::new().name("tap".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            other.pass(&other_ends.server, &other_ends.client, Direction::ToClient);
        });
        if let Ok(replies) = replies {
            line.pass(&ends.client, &ends.server, Direction::ToServer);
            // It has ended well or badly; both ends are closed below.
            replies.join().ok();
        }
        self.sockets().remove(&session);
        ends.close();
        // The channel may be full: the watcher then learns it from the end of all.
        self.told.try_send(Told::End { session }).ok();
        Ok(())
    }

    fn sockets(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Ends>>> {
        // A thread that panicked has left a map behind that is as good as before.
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is still open.
    pub(super) fn close(&self) {
        self.sockets().values().for_each(|ends| ends.close());
    }
}

impl Ends {
    fn close(&self) {
        self.client.shutdown(Shutdown::Both);
        self.server.shutdown(Shutdown::Both);
    }
}

impl Line {
    fn pass(&self, from: &Socket, to: &Socket, direction: Direction) {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let len = match from.read(&mut buffer) {
                Ok(0) => return to.shutdown(Shutdown::Write),
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let bytes = buffer.get(..len).unwrap_or_default();
            self.tell(direction, bytes);
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        from.shutdown(Shutdown::Both);
        to.shutdown(Shutdown::Both);
    }

    fn tell(&self, direction: Direction, bytes: &[u8]) {
        let passed = &self.relay.passed;
        match direction {
            Direction::ToServer => {
                passed.to_server_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                if self.server_spoke.swap(false, Ordering::Relaxed) {
                    passed.turns.fetch_add(1, Ordering::Relaxed);
                }
            }
            Direction::ToClient => {
                passed.to_client_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                self.server_spoke.store(true, Ordering::Relaxed);
            }
        }
        if !self.looked_at.load(Ordering::Relaxed) {
            return;
        }
        let told = Told::Bytes {
            session: self.session,
            direction,
            bytes: bytes.into(),
            at: self.relay.start.elapsed(),
            is_behind_gap: self.has_gap.swap(false, Ordering::Relaxed),
        };
        let before = self.relay.told_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        if before > TOLD_BYTES_MAX || self.relay.told.try_send(told).is_err() {
            self.relay.told_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
            self.has_gap.store(true, Ordering::Relaxed);
        }
    }
}

/// What a client is told for whom there is no server.
fn unreachable(server: &Address, error: &io::Error) -> Vec<u8> {
    let message = format!("wirepress advise --tap cannot connect to {server}: {error}");
    let mut bytes = Vec::new();
    packet::split(&ErrPacket::new(CONN_HOST_ERROR, b"HY000", message).build(), 0, &mut bytes);
    bytes
}

/// As large as what a socket usually has at once.
const CHUNK_BYTES: usize = 64 << 10;
/// What the watcher may be behind: more would be memory.
const TOLD_BYTES_MAX: usize = 16 << 20;
/// Enough for looking up a name; buffers are on the heap.
const STACK_BYTES: usize = 256 << 10;
/// CR_CONN_HOST_ERROR, as clients call it.
const CONN_HOST_ERROR: u16 = 2003;
