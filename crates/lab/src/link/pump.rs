//! The pump of a shaped link: one thread moves one direction of one connection.
//!
//! ```text
//!  loop: write what is due │ read while there is room │ sleep until a byte can move or the next chunk is due
//! ```
//!
//! Invariants: writes a chunk when it is due, earlier at most by what this thread is usually woken late; never holds
//! more than the bound and one chunk; sleeps whenever nothing can be done, with the finest timer the kernel has, and
//! never spins.
//!
//! Not here: the effects themselves (`rate`, `delay`, `in_flight`).

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::delay::Delay;
use super::in_flight::InFlight;
use super::rate::Rate;
use super::socket::Socket;
use super::system::finest_timer;
use super::traffic::{Counter, Direction};
use super::wake::Wake;
use super::{Link, QUEUE, bytes_in};

/// What one direction of a link does to bytes; shared by its connections.
#[derive(Debug)]
pub(super) struct Effects {
    rate: Option<Mutex<Rate>>,
    delay: Delay,
    in_flight_bytes: u64,
    chunk_bytes: usize,
}

impl Effects {
    pub(super) fn new(link: Link, now: Instant) -> Arc<Self> {
        let chunk_bytes = link.rate_bytes_per_s.map_or(CHUNK_MAX_BYTES, |rate| {
            usize::try_from(bytes_in(rate, CHUNK))
                .unwrap_or(usize::MAX)
                .clamp(CHUNK_MIN_BYTES, CHUNK_MAX_BYTES)
        });
        Arc::new(Self {
            rate: link.rate_bytes_per_s.map(|rate| Mutex::new(Rate::new(rate, now))),
            delay: Delay::new(link.round_trip),
            in_flight_bytes: link.in_flight_bytes.max(1),
            chunk_bytes,
        })
    }

    fn rate(&self) -> Option<MutexGuard<'_, Rate>> {
        self.rate.as_ref().map(|rate| rate.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Moves bytes until the source has ended and all of it is delivered; then tells the destination so.
///
/// # Errors
/// Either socket broke. The caller closes both.
pub(super) fn run(
    from: &Socket,
    to: &Socket,
    direction: Direction,
    effects: &Effects,
    counter: &Counter,
) -> io::Result<()> {
    finest_timer();
    let mut pump = Pump {
        from,
        to,
        direction,
        effects,
        counter,
        in_flight: InFlight::new(effects.in_flight_bytes),
        wake: Wake::default(),
        ended: false,
    };
    while !(pump.ended && pump.in_flight.is_empty()) {
        let write_blocked = pump.write_due()?;
        let admission = pump.read()?;
        pump.sleep(write_blocked, &admission)?;
    }
    to.finish();
    Ok(())
}

struct Pump<'a> {
    from: &'a Socket,
    to: &'a Socket,
    direction: Direction,
    effects: &'a Effects,
    counter: &'a Counter,
    in_flight: InFlight,
    wake: Wake,
    /// The source has no more bytes.
    ended: bool,
}

/// Whether more may be read.
#[derive(Debug, PartialEq, Eq)]
enum Admission {
    /// As soon as the source has bytes.
    Open,
    /// Not before a chunk has left, or never again.
    Closed,
    /// When the link's queue has room for another chunk.
    After(Duration),
}

impl Pump<'_> {
    /// Writes what is due; tells whether the destination takes no more.
    fn write_due(&mut self) -> io::Result<bool> {
        loop {
            let now = Instant::now();
            let Some(bytes) = self.in_flight.due(now + self.wake.late()) else { return Ok(false) };
            match self.to.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => {
                    self.in_flight.wrote(len);
                    self.counter.count(self.direction, now, len);
                }
                Err(error) if is_retry(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads one chunk if there is room; a second waits for its turn, so that writes stay punctual.
    fn read(&mut self) -> io::Result<Admission> {
        let admission = self.admission(Instant::now());
        if admission != Admission::Open {
            return Ok(admission);
        }
        let mut chunk = self.in_flight.buffer();
        chunk.resize(self.effects.chunk_bytes, 0);
        match self.from.read(&mut chunk) {
            Ok(0) => {
                self.ended = true;
                return Ok(Admission::Closed);
            }
            Ok(len) => {
                chunk.truncate(len);
                let now = self.wake.arrived(Instant::now());
                let sent_at = self.effects.rate().map_or(now, |mut rate| rate.sent_at(now, len));
                self.in_flight.push(chunk, self.effects.delay.due_at(sent_at));
            }
            Err(error) if is_retry(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(self.admission(Instant::now()))
    }

    fn admission(&self, now: Instant) -> Admission {
        if self.ended || self.in_flight.is_full() {
            return Admission::Closed;
        }
        match self.effects.rate().map(|rate| rate.wait(now, QUEUE)) {
            None | Some(Duration::ZERO) => Admission::Open,
            Some(wait) => Admission::After(wait),
        }
    }

    fn sleep(&mut self, write_blocked: bool, admission: &Admission) -> io::Result<()> {
        let now = Instant::now();
        let due_in = self
            .in_flight
            .due_at()
            .filter(|_| !write_blocked)
            .map(|due_at| due_at.saturating_duration_since(now + self.wake.late()));
        let wait = match admission {
            Admission::After(wait) => Some(due_in.map_or(*wait, |due_in| due_in.min(*wait))),
            Admission::Open | Admission::Closed => due_in,
        };
        let mut fds = Vec::with_capacity(2);
        if *admission == Admission::Open {
            fds.push(PollFd::new(self.from, PollFlags::IN));
        }
        if write_blocked {
            fds.push(PollFd::new(self.to, PollFlags::OUT));
        }
        if fds.is_empty() && wait.is_none() {
            return Ok(());
        }
        let timeout = wait.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        match poll(&mut fds, timeout.as_ref()) {
            Ok(ready) => {
                self.wake.slept(now, wait.filter(|_| ready == 0));
                Ok(())
            }
            Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn is_retry(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A chunk is half a millisecond of the link: due times are that fine, and 2,000 wake-ups a second are cheap.
const CHUNK: Duration = Duration::from_micros(500);
/// A TCP segment over Ethernet: below it a real link moves nothing either.
const CHUNK_MIN_BYTES: usize = 1448;
/// Bounds the memory per chunk on fast links; 64 KiB take half a millisecond at 1 Gbit/s.
const CHUNK_MAX_BYTES: usize = 64 * 1024;
