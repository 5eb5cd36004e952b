//! The pump of a packet link: one thread moves the packets of one direction from one TUN device to the other.
//!
//! ```text
//!  loop: write what is due │ read while there are packets and nothing is due │ sleep until a packet comes or is due
//! ```
//!
//! A timer wakes a thread some tens of microseconds late, on a virtual machine up to a hundred. In a stream that is
//! nobody's time, because due times follow from each other. But where few packets are under way somebody waits for each:
//! then the timer is set earlier by as much as it was late before, and the rest is spun away.
//!
//! Invariants: never writes a packet before it is due; packets keep their order and their bytes; sleeps whenever nothing
//! can be done, and spins for no longer than threads are woken late; ends when it is told to.
//!
//! Not here: what becomes of a packet (`schedule`), what it costs (`packet`).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::packet::{Packet, VNET_HEADER_LEN};
use super::schedule::{Fate, Schedule};
use super::tun::Tun;
use crate::link::in_flight::InFlight;
use crate::link::pump::is_retry;
use crate::link::system::finest_timer;
use crate::link::traffic::{Counter, Direction};
use crate::link::wake::Wake;

/// One direction.
#[derive(Debug)]
pub(super) struct Pump {
    pub(super) from: Arc<Tun>,
    pub(super) to: Arc<Tun>,
    /// Readable when the pump shall end.
    pub(super) stop: Arc<OwnedFd>,
    pub(super) direction: Direction,
    pub(super) schedule: Schedule,
    pub(super) traffic: Arc<Counter>,
    pub(super) counts: Arc<Counts>,
}

/// Packets of one direction; what the kernel would have cut counts once.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) carried: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Pump {
    /// Moves packets until it is told to stop.
    ///
    /// # Errors
    /// A device broke.
    pub(super) fn run(mut self) -> io::Result<()> {
        finest_timer();
        // The schedule bounds what is under way, in time or in bytes.
        let mut in_flight = InFlight::new(u64::MAX);
        let mut wake = Wake::default();
        let mut buffer = vec![0; VNET_HEADER_LEN + IP_PACKET_LEN_MAX];
        loop {
            self.write_due(&mut in_flight)?;
            self.read(&mut in_flight, &mut wake, &mut buffer)?;
            if !self.sleep(&in_flight, &mut wake)? {
                return Ok(());
            }
        }
    }

    fn write_due(&self, in_flight: &mut InFlight) -> io::Result<()> {
        loop {
            let now = Instant::now();
            let Some(bytes) = in_flight.due(now) else { return Ok(()) };
            // Counted before: who reads the last byte finds it in the count.
            let payload_len = Packet::parse(bytes).map_or(0, |packet| packet.payload_len);
            if payload_len > 0 {
                self.traffic.count(self.direction, now, payload_len);
            }
            match self.write(bytes) {
                Ok(()) => self.counts.carried.fetch_add(1, Ordering::Relaxed),
                Err(error) if is_refusal(&error) => self.counts.refused.fetch_add(1, Ordering::Relaxed),
                Err(error) => return Err(error),
            };
            let len = bytes.len();
            in_flight.wrote(len);
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        loop {
            match self.to.write(bytes) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn read(&mut self, in_flight: &mut InFlight, wake: &mut Wake, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let len = match self.from.read(buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_retry(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            let now = wake.arrived(Instant::now());
            let bytes = buffer.get(..len).unwrap_or_default();
            if let Some(packet) = Packet::parse(bytes) {
                match self.schedule.fate(now, packet.frames_len, in_flight.held_bytes()) {
                    Fate::Due(due_at) => {
                        let mut kept = in_flight.buffer();
                        kept.extend_from_slice(bytes);
                        in_flight.push(kept, due_at);
                    }
                    Fate::Lost => {
                        self.counts.lost.fetch_add(1, Ordering::Relaxed);
                    }
                    Fate::Refused => {
                        self.counts.refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            // What is due goes first, so that a flood does not make it late.
            if in_flight.due_at().is_some_and(|due_at| due_at <= now) {
                return Ok(());
            }
        }
    }

    /// Whether to go on. If a packet is one of few the timer is set earlier by as much as it is late.
    fn sleep(&self, in_flight: &InFlight, wake: &mut Wake) -> io::Result<bool> {
        let now = Instant::now();
        let lead = if in_flight.chunk_count() <= FEW { wake.late() } else { Duration::ZERO };
        let due_in = in_flight.due_at().map(|due_at| due_at.saturating_duration_since(now));
        let wait = due_in.map(|due_in| due_in.saturating_sub(lead));
        let timeout = wait.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let mut fds = [PollFd::new(&*self.from, PollFlags::IN), PollFd::new(&*self.stop, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => {
                wake.slept(now, wait);
                while !lead.is_zero() && due_in.is_some_and(|due_in| now.elapsed() < due_in) {
                    std::hint::spin_loop();
                }
                Ok(true)
            }
            Ok(_) => {
                wake.slept(now, None);
                Ok(fds[1].revents().is_empty())
            }
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// The kernel has no room for the packet, or doesn't like it; the next one may pass.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::AGAIN, Errno::NOBUFS, Errno::NOMEM, Errno::INVAL];
    error.raw_os_error().is_some_and(|code| refusals.iter().any(|refusal| refusal.raw_os_error() == code))
}

/// A request and its acknowledgements; more is a stream.
const FEW: usize = 3;
/// Of IPv4; segmentation offload makes packets that large.
const IP_PACKET_LEN_MAX: usize = 65_535;
