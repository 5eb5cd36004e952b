//! What a session counts while it runs, where others can read it.
//!
//! ```text
//! session (plain integers) --publish, when it waits--> Meter (relaxed stores, one writer) <--read-- anybody
//! ```
//! Invariants: only the session's own worker stores, and it neither locks nor reads-and-writes on the way of a byte; a
//! reader sees each number whole, and numbers of the same moment only when the session rests (while nothing of a reply
//! has come, those of its request are missing).
//! Not here: sums (`registry`), what is done with the numbers (crate `admin`).

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use codec::Algorithm;
use codec::pace::Choice;
use zeroize::Zeroizing;

use crate::counters::Traffic;
use crate::ending::Kill;
use crate::{Address, Phase};

/// Bytes of one leg since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LegLens {
    /// Received, without those that TLS adds.
    pub received_len: u64,
    /// Sent, without those that TLS adds.
    pub sent_len: u64,
    /// Received by the socket: as its own `tcpi_bytes_received`, less the one of a FIN.
    pub socket_received_len: u64,
    /// Sent by the socket: as its own `tcpi_bytes_acked` once all is acknowledged, less the one of a FIN, and of a SYN on
    /// the server leg.
    pub socket_sent_len: u64,
}

/// How a leg is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegTerms {
    /// The algorithm of both its directions.
    pub algorithm: Algorithm,
    /// What the login agreed on: the zstd level; 6 for zlib, where MySQL has no choice; 0 for none.
    pub level_negotiated: u8,
    /// What the proxy packs with: zstd's counting or libdeflate's; 0 for none.
    pub level: u8,
    /// TLS version, empty without TLS.
    pub tls: &'static str,
}

/// Why the last frame of a direction went as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// What was done.
    pub choice: &'static str,
    /// Why.
    pub reason: &'static str,
}

impl Decision {
    pub(crate) const fn of(choice: Choice) -> Self {
        let packed = if choice.level.is_some() { "packed" } else { "stored" };
        Self { choice: packed, reason: choice.reason.words() }
    }
}

/// What is known of a session since its login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// The client's own address, `unix` for a socket.
    pub client: String,
    /// The server's address.
    pub server: String,
    /// The server's id of the connection.
    pub connection_id: u32,
    /// Account name, of the login or of a later COM_CHANGE_USER.
    pub user: String,
    /// The database of either, or of a later COM_INIT_DB.
    pub database: Option<String>,
    /// The client leg's terms.
    pub client_leg: LegTerms,
    /// The server leg's terms.
    pub server_leg: LegTerms,
    /// Why these.
    pub server_leg_reason: &'static str,
}

/// What a command waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// There is none.
    Rests,
    /// The rest of it has to come, or a file that the server asked the client for.
    ReadsClient,
    /// The server doesn't take it.
    SendsToServer,
    /// The server has not begun to answer.
    AwaitsServer,
    /// The answer has begun and is not complete.
    ReadsServer,
    /// The client doesn't take the answer.
    SendsToClient,
}

impl State {
    const ALL: [Self; 6] = [
        Self::Rests,
        Self::ReadsClient,
        Self::SendsToServer,
        Self::AwaitsServer,
        Self::ReadsServer,
        Self::SendsToClient,
    ];

    /// As a process list shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rests => "",
            Self::ReadsClient => "reading from the client",
            Self::SendsToServer => "sending to the server",
            Self::AwaitsServer => "waiting for the server",
            Self::ReadsServer => "reading from the server",
            Self::SendsToClient => "sending to the client",
        }
    }
}

/// A session at one moment.
#[derive(Debug, Clone)]
pub struct Connection {
    /// wirepress's own id.
    pub id: u64,
    /// The listener that it came by.
    pub listener: Address,
    /// When it was accepted.
    pub begun: SystemTime,
    /// For how long it has run.
    pub age: Duration,
    /// `None` before the server's OK.
    pub logged_in: Option<LoggedIn>,
    /// The command byte whose reply is due, if any.
    pub command: Option<u8>,
    /// It was killed, and its client was not seen to go yet.
    pub is_killed: bool,
    /// What that command waits for.
    pub waits_for: State,
    /// The statement that runs, or its first bytes, where `--query-text` permits that.
    pub text: Option<String>,
    /// How long it has been so.
    pub command_age: Duration,
    /// Commands so far.
    pub commands: u64,
    /// To the server, to the client.
    pub traffic: [Traffic; 2],
    /// The client's, the server's.
    pub legs: [LegLens; 2],
    /// To the server, to the client: `None` where nothing has decided anything.
    pub decisions: [Option<Decision>; 2],
}

/// What a session has last shown of its commands. It is kept beside the session: to show something is only to store, and
/// a load from the meter, which no other part of the session touches, would wait for memory.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The number of the command that runs, 0 for none.
    number: u64,
    commands: u64,
}

/// The counters of one session.
pub(crate) struct Meter {
    pub(crate) id: u64,
    listener: Address,
    begun: SystemTime,
    begun_at: Instant,
    logged_in: Mutex<Option<LoggedIn>>,
    traffic: [[AtomicU64; Traffic::FIELDS]; 2],
    legs: [[AtomicU64; 4]; 2],
    command: AtomicU8,
    state: AtomicU8,
    text: Mutex<Option<Zeroizing<String>>>,
    commands: AtomicU64,
    /// By `ticked_ms`.
    command_since_ms: AtomicU64,
    decisions: Mutex<[Option<Decision>; 2]>,
    /// Ends the session.
    pub(crate) kill: Kill,
}

impl Meter {
    pub(crate) fn new(id: u64, listener: Address) -> Self {
        Self {
            id,
            listener,
            begun: SystemTime::now(),
            begun_at: Instant::now(),
            logged_in: Mutex::default(),
            traffic: Default::default(),
            legs: Default::default(),
            command: AtomicU8::new(NO_COMMAND),
            state: AtomicU8::new(State::Rests as u8),
            text: Mutex::default(),
            commands: AtomicU64::new(0),
            command_since_ms: AtomicU64::new(ticked_ms()),
            decisions: Mutex::default(),
            kill: Kill::default(),
        }
    }

    /// The server said OK.
    pub(crate) fn log_in(&self, facts: LoggedIn) {
        *held(&self.logged_in) = Some(facts);
        self.command_since_ms.store(ticked_ms(), Ordering::Relaxed);
    }

    pub(crate) fn use_database(&self, name: String) {
        if let Some(facts) = held(&self.logged_in).as_mut() {
            facts.database = Some(name);
        }
    }

    /// The server took another user, with a database or an empty name.
    pub(crate) fn change_user(&self, user: &[u8], database: &[u8]) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        if let Some(facts) = held(&self.logged_in).as_mut() {
            facts.user = text(user);
            facts.database = (!database.is_empty()).then(|| text(database));
        }
    }

    /// Stores the session's numbers.
    pub(crate) fn publish(&self, traffic: &[Traffic; 2], legs: &[LegLens; 2]) {
        for (cells, traffic) in self.traffic.iter().zip(traffic) {
            let fields = traffic.fields();
            let (lens, frames) = fields.split_at(Traffic::LENS);
            let (len_cells, frame_cells) = cells.split_at(Traffic::LENS);
            store(len_cells, lens);
            if traffic.has_frames() {
                store(frame_cells, frames);
            }
        }
        for (cells, lens) in self.legs.iter().zip(legs) {
            let LegLens { received_len, sent_len, socket_received_len, socket_sent_len } = *lens;
            store(cells, &[received_len, sent_len, socket_received_len, socket_sent_len]);
        }
    }

    /// Which command's reply is due, its number (0 for none) and how many commands there were, and what it waits for.
    pub(crate) fn publish_command(
        &self,
        shown: &mut Shown,
        command: Option<u8>,
        [number, commands]: [u64; 2],
        state: State,
    ) {
        self.state.store(state as u8, Ordering::Relaxed);
        // A rest is another one when there was a command in between; a command stays when others queue behind it.
        let goes_on = shown.number == number && (number > 0 || shown.commands == commands);
        *shown = Shown { number, commands };
        self.commands.store(commands, Ordering::Relaxed);
        if !goes_on {
            self.command.store(command.unwrap_or(NO_COMMAND), Ordering::Relaxed);
            self.command_since_ms.store(ticked_ms(), Ordering::Relaxed);
        }
    }

    /// The statement that runs, which the operator wants to see.
    pub(crate) fn show_text(&self, text: Option<Zeroizing<String>>) {
        *held(&self.text) = text;
    }

    /// Why the last frames went as they did, to the server and to the client.
    pub(crate) fn publish_decisions(&self, decisions: [Option<Decision>; 2]) {
        *held(&self.decisions) = decisions;
    }

    /// Terms of both legs since the login.
    pub(crate) fn algorithms(&self) -> Option<[Algorithm; 2]> {
        held(&self.logged_in).as_ref().map(|facts| [facts.client_leg.algorithm, facts.server_leg.algorithm])
    }

    pub(crate) const fn listener(&self) -> &Address {
        &self.listener
    }

    pub(crate) fn traffic(&self) -> [Traffic; 2] {
        self.traffic.each_ref().map(|cells| Traffic::of_fields(cells.each_ref().map(load)))
    }

    pub(crate) fn legs(&self) -> [LegLens; 2] {
        self.legs.each_ref().map(|cells| {
            let [received_len, sent_len, socket_received_len, socket_sent_len] = cells.each_ref().map(load);
            LegLens { received_len, sent_len, socket_received_len, socket_sent_len }
        })
    }

    /// The session as it is now.
    pub(crate) fn read(&self) -> Connection {
        let age = self.begun_at.elapsed();
        let command = self.command.load(Ordering::Relaxed);
        let state = usize::from(self.state.load(Ordering::Relaxed));
        let since_ms = self.command_since_ms.load(Ordering::Relaxed);
        Connection {
            id: self.id,
            listener: self.listener.clone(),
            begun: self.begun,
            age,
            logged_in: held(&self.logged_in).clone(),
            command: (command != NO_COMMAND).then_some(command),
            is_killed: self.kill.is_said(),
            waits_for: State::ALL.get(state).copied().unwrap_or(State::Rests),
            text: held(&self.text).as_ref().map(|text| text.to_string()),
            command_age: Duration::from_millis(ticked_ms().saturating_sub(since_ms)),
            commands: self.commands.load(Ordering::Relaxed),
            traffic: self.traffic(),
            legs: self.legs(),
            decisions: *held(&self.decisions),
        }
    }
}

impl Connection {
    /// What a process list calls its command.
    pub const fn command_name(&self) -> &'static str {
        match (&self.logged_in, self.command) {
            _ if self.is_killed => "Killed",
            (None, _) => "Connect",
            (_, None) => "Sleep",
            (_, Some(byte)) => wire::command::name(byte),
        }
    }

    /// What it waits for.
    pub const fn state(&self) -> &'static str {
        match (&self.logged_in, self.command) {
            (None, _) => Phase::Login.name(),
            (_, None) => "",
            (_, Some(_)) => self.waits_for.name(),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By the kernel's last tick, some milliseconds ago: seconds are shown of it, and it is asked twice for each command. It
/// costs a fifth of `Instant`.
fn ticked_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    let ms = now.tv_sec * 1_000 + now.tv_nsec / 1_000_000;
    u64::try_from(ms).unwrap_or_default()
}

fn store(cells: &[AtomicU64], values: &[u64]) {
    for (cell, value) in cells.iter().zip(values) {
        cell.store(*value, Ordering::Relaxed);
    }
}

fn load(cell: &AtomicU64) -> u64 {
    cell.load(Ordering::Relaxed)
}

/// No command's byte.
const NO_COMMAND: u8 = 0xff;
