//! The kernel's own rate: a veth pair with the token bucket filter (`tc … tbf`) on each end, counted by the interface.
//!
//! ```text
//!  this namespace   veth, tbf ══ tbf, eth0   the client's
//!                    └ statistics, read every 100 ms: bytes and packets, both ways
//! ```
//! Interfaces count frames. What TCP carried in them is estimated: 66 bytes of each frame are headers (Ethernet 14,
//! IPv4 20, TCP 20 and its timestamps 12), whether it holds one segment or many that were never cut. Frames with more
//! options (the first of a connection, acknowledgements of gaps) make it some bytes too large, ARP changes nothing.
//!
//! Invariants: with a rate, both ends have the same filter, whose queue is that of [`crate::link`].
//!
//! Not here: delay, loss and jitter (`pump`).

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::KernelLinkFault;
use crate::link::running::lock;
use crate::link::traffic::{BUCKET, Counter, Direction};
use crate::link::{QUEUE, QUEUE_MIN_BYTES, bytes_in};
use crate::namespace::{Namespace, THEIR_DEVICE, run};

/// Puts the filter on both ends.
pub(super) fn limit(namespace: &Namespace, rate_bytes_per_s: u64) -> Result<(), KernelLinkFault> {
    let filter = filter(rate_bytes_per_s);
    let set =
        |words: String| run("tc", &words).map_err(KernelLinkFault::network("limit the rate by tc's tbf"));
    set(format!("qdisc replace dev {} root {filter}", namespace.device()))?;
    set(format!("-n {} qdisc replace dev {THEIR_DEVICE} root {filter}", namespace.name()))
}

fn filter(rate_bytes_per_s: u64) -> String {
    let burst_bytes = bytes_in(rate_bytes_per_s, BURST).max(BURST_MIN_BYTES);
    let queue_bytes = bytes_in(rate_bytes_per_s, QUEUE).max(QUEUE_MIN_BYTES);
    // tc's "bps" are bytes.
    format!("tbf rate {rate_bytes_per_s}bps burst {burst_bytes} limit {}", queue_bytes + burst_bytes)
}

/// Reads the interface's counts again and again.
#[derive(Debug)]
pub(super) struct Sampler {
    device: String,
    traffic: Arc<Counter>,
    before: Mutex<Both>,
}

/// What TCP carried since the interface is there.
#[derive(Debug, Clone, Copy, Default)]
struct Both {
    to_server_bytes: u64,
    to_client_bytes: u64,
}

impl Sampler {
    pub(super) fn new(device: &str, traffic: Arc<Counter>) -> Self {
        let sampler = Self { device: device.to_owned(), traffic, before: Mutex::default() };
        *lock(&sampler.before) = sampler.read();
        sampler
    }

    /// Samples until `stop` is readable.
    pub(super) fn run(&self, stop: &OwnedFd) -> io::Result<()> {
        let timeout = Timespec::try_from(BUCKET).map_err(io::Error::other)?;
        loop {
            self.sample(Instant::now());
            let mut fds = [PollFd::new(stop, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Counts what has passed since the last look.
    pub(super) fn sample(&self, now: Instant) {
        let mut before = lock(&self.before);
        let after = self.read();
        for (direction, passed) in [
            (Direction::ToServer, after.to_server_bytes.saturating_sub(before.to_server_bytes)),
            (Direction::ToClient, after.to_client_bytes.saturating_sub(before.to_client_bytes)),
        ] {
            if passed > 0 {
                self.traffic.count(direction, now, usize::try_from(passed).unwrap_or(usize::MAX));
            }
        }
        *before = after;
    }

    fn read(&self) -> Both {
        let count = |name: &str| {
            let text = fs::read_to_string(format!("/sys/class/net/{}/statistics/{name}", self.device));
            text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        Both {
            to_server_bytes: payload_bytes(count("rx_bytes"), count("rx_packets")),
            to_client_bytes: payload_bytes(count("tx_bytes"), count("tx_packets")),
        }
    }
}

fn payload_bytes(frames_bytes: u64, frames: u64) -> u64 {
    frames_bytes.saturating_sub(frames.saturating_mul(HEADERS_BYTES))
}

/// Ethernet, IPv4, TCP with timestamps.
const HEADERS_BYTES: u64 = 14 + 20 + 32;
/// 100 Gbit/s: some times what a veth pair carries.
pub(super) const NO_LIMIT_BYTES_PER_S: u64 = 12_500_000_000;
/// What may leave at once: the bucket fills while the kernel's timer is late. With half as much 1 Gbit/s reached 89 %: the
/// kernel's packets of 64 KiB did not fit into the bucket, and had to be cut.
const BURST: Duration = Duration::from_millis(1);
/// Two frames: less than one would let nothing pass.
const BURST_MIN_BYTES: u64 = 2 * 1514;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_has_the_queue_that_every_link_has() {
        assert_eq!(filter(125_000_000), "tbf rate 125000000bps burst 125000 limit 2625000");
        assert_eq!(filter(1_250_000), "tbf rate 1250000bps burst 3028 limit 68564");
    }

    #[test]
    fn headers_are_taken_off_whether_frames_were_cut_or_not() {
        assert_eq!(payload_bytes(10 * 1514, 10), 14_480);
        assert_eq!(payload_bytes(14_480 + 66, 1), 14_480);
        assert_eq!(payload_bytes(42, 1), 0);
    }
}
