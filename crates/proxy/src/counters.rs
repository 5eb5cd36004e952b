//! What the proxy counts.
//!
//! Invariants: the hot path adds to plain integers of its own session; they are added to the shared totals when
//! the session ends. Not here: log lines (`session`), sessions that run (`meter`, `registry`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use wire::Side;

use crate::SessionError;

/// Bytes of one direction of a session, after the login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets with their headers, bytes: what a leg without compression carries.
    pub plain_len: u64,
    /// What the client leg carried, bytes.
    pub client_leg_len: u64,
    /// What the server leg carried, bytes.
    pub server_leg_len: u64,
    /// Frames that the proxy packed.
    pub frames_packed: u64,
    /// Frames that the proxy sent stored.
    pub frames_stored: u64,
    /// Frames that were forwarded as the peer had packed them.
    pub frames_forwarded: u64,
    /// Packed frames that came from the peer.
    pub source_frames_packed: u64,
    /// Stored frames that came from the peer.
    pub source_frames_stored: u64,
    /// CPU time spent packing, nanoseconds (`codec_time`).
    pub pack_ns: u64,
    /// CPU time spent unpacking, nanoseconds.
    pub unpack_ns: u64,
}

impl Traffic {
    /// How many numbers there are.
    pub(crate) const FIELDS: usize = 10;
    /// How many of them, the first, are lengths.
    pub(crate) const LENS: usize = 3;

    pub(crate) const fn fields(&self) -> [u64; Self::FIELDS] {
        let Self {
            plain_len,
            client_leg_len,
            server_leg_len,
            frames_packed,
            frames_stored,
            frames_forwarded,
            source_frames_packed,
            source_frames_stored,
            pack_ns,
            unpack_ns,
        } = *self;
        [
            plain_len,
            client_leg_len,
            server_leg_len,
            frames_packed,
            frames_stored,
            frames_forwarded,
            source_frames_packed,
            source_frames_stored,
            pack_ns,
            unpack_ns,
        ]
    }

    /// Whether any of it came or went in frames; if not, only the lengths are anything but 0.
    pub(crate) const fn has_frames(&self) -> bool {
        let packed = self.frames_packed | self.frames_stored | self.frames_forwarded;
        packed | self.source_frames_packed | self.source_frames_stored != 0
    }

    pub(crate) const fn of_fields(fields: [u64; Self::FIELDS]) -> Self {
        let [
            plain_len,
            client_leg_len,
            server_leg_len,
            frames_packed,
            frames_stored,
            frames_forwarded,
            source_frames_packed,
            source_frames_stored,
            pack_ns,
            unpack_ns,
        ] = fields;
        Self {
            plain_len,
            client_leg_len,
            server_leg_len,
            frames_packed,
            frames_stored,
            frames_forwarded,
            source_frames_packed,
            source_frames_stored,
            pack_ns,
            unpack_ns,
        }
    }
}

/// Totals of a proxy.
#[derive(Debug, Default)]
pub struct Counters {
    sessions: AtomicU64,
    sessions_open: AtomicU64,
    plain_len: AtomicU64,
    client_leg_len: AtomicU64,
    server_leg_len: AtomicU64,
    faults: Mutex<BTreeMap<FaultLabels, u64>>,
}

/// Counts a session as open until it is dropped, even by a panic.
pub(crate) struct OpenSession<'a>(&'a Counters);

impl OpenSession<'_> {
    /// Adds what the session has carried.
    pub(crate) fn carried(&self, directions: [Traffic; 2]) {
        for traffic in directions {
            self.0.plain_len.fetch_add(traffic.plain_len, Ordering::Relaxed);
            self.0.client_leg_len.fetch_add(traffic.client_leg_len, Ordering::Relaxed);
            self.0.server_leg_len.fetch_add(traffic.server_leg_len, Ordering::Relaxed);
        }
    }
}

impl Drop for OpenSession<'_> {
    fn drop(&mut self) {
        self.0.sessions_open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Side, phase and cause of a session's end.
pub type FaultLabels = (&'static str, &'static str, &'static str);

impl Counters {
    pub(crate) fn session_opened(&self) -> OpenSession<'_> {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.sessions_open.fetch_add(1, Ordering::Relaxed);
        OpenSession(self)
    }

    pub(crate) fn fault(&self, error: &SessionError) {
        let labels = (error.side.name(), error.phase.name(), error.cause.name());
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner).entry(labels).or_default() += 1;
    }

    /// Sessions begun so far.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Sessions that have not ended.
    pub fn sessions_open(&self) -> u64 {
        self.sessions_open.load(Ordering::Relaxed)
    }

    /// Bytes of ended sessions: plain, on the client leg, on the server leg.
    pub fn lens(&self) -> [u64; 3] {
        [&self.plain_len, &self.client_leg_len, &self.server_leg_len].map(|len| len.load(Ordering::Relaxed))
    }

    /// Sessions that ended out of order, by side, phase and cause.
    pub fn faults(&self) -> BTreeMap<FaultLabels, u64> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many sessions ended with this cause.
    pub fn faults_of(&self, side: Side, cause: &str) -> u64 {
        self.faults().iter().filter(|((s, _, c), _)| *s == side.name() && *c == cause).map(|(_, n)| n).sum()
    }
}
