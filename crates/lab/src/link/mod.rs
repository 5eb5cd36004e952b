//! A network between two hosts, in user space: a rate, a round trip, and every byte counted.
//!
//! ```text
//!  client ──▶ listener 127.0.0.1:0
//!               per connection and direction, one thread:
//!               socket ─▶ Rate (shared by all connections) ─▶ Delay ─▶ InFlight ─▶ Traffic ─▶ socket ──▶ server
//!               chunk, stamped with its arrival     chunk, stamped with the time it is due
//! ```
//! One effect, one file: [`rate`] gives each chunk the time at which the link has sent it, [`delay`] adds
//! half the round trip, [`in_flight`] bounds what is under way, [`traffic`] counts. [`pump`] moves the bytes.
//! A link without rate and delay has nothing to wait for: on Linux its bytes stay inside the kernel ([`linux`]), elsewhere
//! they are copied (`posix`, never tried there).
//!
//! A link's time is its **round trip**, half each way. The rate is that of the bytes TCP carries, each way by
//! itself (full duplex); headers of packets below TCP are not counted. All connections of a link share it,
//! first come, first served.
//!
//! Measured by `cargo run --release -p wirepress-lab --example link_speed` on 2 cores at 3.0 GHz: 1 Gbit/s
//! and 100 Mbit/s are kept within 0.1 %, the median delay within 0.2 ms; a full 1 Gbit/s direction costs about
//! a fifth of a core, 100 Mbit/s a tenth, and an unlimited link a third at 1 GB/s.
//!
//! Invariants: bytes arrive unchanged, in order, never before they are due; no timer error accumulates,
//! because due times are computed from each other and not from when a thread woke up; dropping the running
//! link ends its threads and connections.
//!
//! Not here: loss, jitter, reordering, and what TCP makes of them: a relay ends TCP on each side, so window,
//! retransmission and `TCP_INFO` are loopback's and not the link's.

mod address;
mod delay;
mod fault;
pub(crate) mod in_flight;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(any(test, not(target_os = "linux")))]
pub(crate) mod posix;
pub(crate) mod pump;
pub(crate) mod rate;
pub(crate) mod running;
mod socket;
pub(crate) mod text;
pub(crate) mod traffic;
pub(crate) mod wake;

#[cfg(target_os = "linux")]
pub(crate) use linux as system;
#[cfg(not(target_os = "linux"))]
pub(crate) use posix as system;

pub use address::Address;
pub use fault::{LinkFault, LinkTextCause};
pub use running::RunningLink;
pub use traffic::{BUCKET, Traffic};

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A network between two hosts: what it can carry and how long that takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// What each direction carries, in bytes per second; `None` is as much as the machine can.
    pub rate_bytes_per_s: Option<u64>,
    /// There and back; half of it each way.
    pub round_trip: Duration,
    /// Bytes that one direction of the link holds at most, sent or waiting to be; the sender has to wait
    /// for the rest. [`Link::new`] gives the default.
    pub in_flight_bytes: u64,
}

impl Link {
    /// Neither rate nor delay: what loopback can do, counted.
    pub const UNLIMITED: Self =
        Self { rate_bytes_per_s: None, round_trip: Duration::ZERO, in_flight_bytes: UNRATED_IN_FLIGHT_BYTES };

    /// A link with the default bound on bytes in flight: what is on its way (rate × half the round trip) and
    /// a queue in front of it, as a network card and a router have one, of [`QUEUE`] and at least
    /// [`QUEUE_MIN_BYTES`]. Without a rate: [`UNRATED_IN_FLIGHT_BYTES`].
    #[must_use]
    pub fn new(rate_bytes_per_s: Option<u64>, round_trip: Duration) -> Self {
        let in_flight_bytes = rate_bytes_per_s.map_or(UNRATED_IN_FLIGHT_BYTES, |rate| {
            let queue = bytes_in(rate, QUEUE).max(QUEUE_MIN_BYTES);
            bytes_in(rate, round_trip / 2).saturating_add(queue)
        });
        Self { rate_bytes_per_s, round_trip, in_flight_bytes }
    }

    /// Reads `unlimited`, `RATE` or `RATE,RTT`: `1gbit`, `100mbit,1.4ms`, `10mbit,40ms`, `unlimited,10ms`.
    ///
    /// # Errors
    /// [`LinkFault::Text`], which says what is wrong, where, and what would be right.
    pub fn parse(text: &str) -> Result<Self, LinkFault> {
        text::parse(text)
    }

    /// Starts the link in front of `server`; clients connect to [`RunningLink::address`].
    ///
    /// # Errors
    /// [`LinkFault::Listen`] when no loopback port can be had. A server that cannot be reached is not an
    /// error here: the client's connection is closed, as by a host without a listener.
    pub fn open(self, server: Address) -> Result<RunningLink, LinkFault> {
        RunningLink::start(self, server)
    }

    /// Whether there is nothing to wait for.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.rate_bytes_per_s.is_none() && self.round_trip.is_zero()
    }
}

impl FromStr for Link {
    type Err = LinkFault;

    fn from_str(text: &str) -> Result<Self, LinkFault> {
        Self::parse(text)
    }
}

impl fmt::Display for Link {
    /// In the form that [`Link::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

/// Bytes that a rate carries in a time.
pub(crate) fn bytes_in(rate_bytes_per_s: u64, time: Duration) -> u64 {
    let bytes = u128::from(rate_bytes_per_s) * time.as_nanos() / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Queue in front of the rate. 20 ms is what the kernel's token bucket filter is usually given
/// (`tbf … latency 20ms`); it also covers a thread that wakes up late, so the rate is kept on a busy machine.
pub const QUEUE: Duration = Duration::from_millis(20);

/// A socket buffer's worth: below it, TCP over slow links would stop at every packet.
pub const QUEUE_MIN_BYTES: u64 = 64 * 1024;

/// Without a rate only the delay fills the link; 16 MiB in half a millisecond is more than loopback does,
/// and ten times what the kernel's socket buffers hold by default.
pub const UNRATED_IN_FLIGHT_BYTES: u64 = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_bound_is_what_is_on_its_way_and_a_queue() {
        // 12.5 MB/s: 0.7 ms one way are 8,750 bytes, 20 ms of queue 250,000.
        let link = Link::new(Some(12_500_000), Duration::from_micros(1400));
        assert_eq!(link.in_flight_bytes, 8_750 + 250_000);
        // 1 Mbit/s: 20 ms would be 2,500 bytes.
        assert_eq!(Link::new(Some(125_000), Duration::ZERO).in_flight_bytes, QUEUE_MIN_BYTES);
        assert_eq!(Link::new(None, Duration::ZERO), Link::UNLIMITED);
    }
}
