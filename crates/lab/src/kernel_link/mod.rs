//! A network between two hosts that the kernel's TCP sees: a rate, a round trip, loss and jitter of packets.
//!
//! ```text
//!  client's host (a namespace)                                server's host (this namespace)
//!  TCP ─ eth0 10.213.x.y+2                                    10.213.x.y+1 ─ TCP
//!           │                                                     │
//!  Tun      └ TUN device ◀── a thread each way: loss, queue, ──▶ TUN device
//!                            rate, half the round trip, jitter
//!  Veth     └ veth, tbf ══════════════════════════════════════ tbf, veth
//! ```
//! The choice is the link's: where there is delay, loss or jitter packets pass through threads of ours ([`Kind::Tun`]),
//! because not every kernel has netem; where only a rate is wanted, or nothing, through the kernel alone
//! ([`Kind::Veth`]). Unlike with [`crate::link`] TCP runs from end to end: its window opens, it loses packets when the
//! queue is full, it retransmits.
//!
//! **Rate** is that of Ethernet frames with their headers of 14 bytes, for both kinds, because tbf counts so. Of full
//! segments TCP carries 1448 of 1514 bytes ([`PAYLOAD_SHARE`]). The queue in front of it is that of [`crate::link`], but
//! full it drops. **Traffic** is what TCP carried, as [`crate::link`] counts, so that both kinds of links can be
//! compared; what is delivered twice counts twice.
//!
//! **Large packets.** The MTU is 1500. A packet costs about as much whether it has 1500 bytes or 64 KiB: at
//! 1 Gbit/s single segments take 1.3 cores, which server and client miss (`docs/bench-method.md`, "Kernel links"). Where
//! [`LARGE_PACKET`] of the rate holds two segments or more, the kernel hands over packets of up to that size
//! (segmentation offload), which are scheduled and delivered whole: time is as coarse as that, the same as of a card that
//! collects interrupts. Slower links, and links that lose or jitter
//! single packets, have single segments at any rate.
//!
//! **Congestion control** is cubic on both sides, by an attribute of the route (`congctl`): nothing of the machine's own
//! settings is touched, so nothing has to be put back.
//!
//! Invariants: bytes arrive unchanged; never before they are due; nothing is overtaken; dropping the running link ends
//! its threads and removes its devices, addresses and namespace; so does the end of the process, but for a namespace
//! without a way to it, which the next process removes.
//!
//! Not here: reordering, duplication, corruption; IPv6; who listens and who connects.

mod fault;
mod packet;
mod pump;
mod running;
mod schedule;
mod tbf;
mod text;
mod tun;

pub use fault::{KernelLinkFault, KernelLinkTextCause};
pub use running::{PacketCounts, RunningKernelLink};

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::link::{Link, bytes_in};

/// A network between two hosts, of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelLink {
    /// Rate of frames and round trip. Its bound on bytes in flight is the queue's.
    pub link: Link,
    /// Of a million packets so many are lost, each way.
    pub loss_ppm: u32,
    /// Each packet is later by a random time up to this one, uniform; but none is overtaken.
    pub jitter: Duration,
}

/// What a kernel link is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Two TUN devices and a thread each way.
    Tun,
    /// A veth pair, with the token bucket filter if there is a rate.
    Veth,
}

impl KernelLink {
    /// Reads `RATE[,RTT][,loss=SHARE][,jitter=TIME]`: `100mbit,1.4ms`, `1gbit,loss=0.1%`, `unlimited`.
    ///
    /// # Errors
    /// [`KernelLinkFault::Text`], which says what is wrong, where, and what would be right.
    pub fn parse(text: &str) -> Result<Self, KernelLinkFault> {
        text::parse(text)
    }

    /// What it will be made of.
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.needs_packets() { Kind::Tun } else { Kind::Veth }
    }

    fn needs_packets(&self) -> bool {
        !self.link.round_trip.is_zero() || self.loss_ppm > 0 || !self.jitter.is_zero()
    }

    /// Makes the namespace and the way to it.
    ///
    /// # Errors
    /// Not root, no iproute2, no `/dev/net/tun`; each says that a link in user space needs none of it.
    pub fn open(self) -> Result<RunningKernelLink, KernelLinkFault> {
        self.open_as(self.kind())
    }

    /// The same with a kind of the caller's choice, to compare them.
    ///
    /// # Errors
    /// As of [`KernelLink::open`]; and what a veth pair cannot do is refused.
    pub fn open_as(self, kind: Kind) -> Result<RunningKernelLink, KernelLinkFault> {
        if kind == Kind::Veth && self.needs_packets() {
            return Err(KernelLinkFault::NeedsPackets { link: self.to_string() });
        }
        RunningKernelLink::start(self, kind)
    }

    /// Size of the packets that the kernel may hand over; none if only single segments.
    fn large_packet_bytes(&self) -> Option<u64> {
        if self.loss_ppm > 0 || !self.jitter.is_zero() {
            return None;
        }
        let bytes =
            self.link.rate_bytes_per_s.map_or(LARGE_PACKET_BYTES_MAX, |rate| bytes_in(rate, LARGE_PACKET));
        (bytes >= 2 * MTU_BYTES).then_some(bytes.min(LARGE_PACKET_BYTES_MAX))
    }
}

impl From<Link> for KernelLink {
    fn from(link: Link) -> Self {
        Self { link, loss_ppm: 0, jitter: Duration::ZERO }
    }
}

impl FromStr for KernelLink {
    type Err = KernelLinkFault;

    fn from_str(text: &str) -> Result<Self, KernelLinkFault> {
        Self::parse(text)
    }
}

impl fmt::Display for KernelLink {
    /// In the form that [`KernelLink::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tun => "TUN",
            Self::Veth => "tbf",
        })
    }
}

/// Share of the rate that TCP's bytes have in a stream of full segments: 1448 of 1514 bytes.
pub const PAYLOAD_SHARE: f64 = 1448.0 / 1514.0;
/// Time on the link of a large packet: 8,000 packets a second are cheap, and no reply is later than this.
pub const LARGE_PACKET: Duration = Duration::from_micros(125);
/// Ethernet's.
const MTU_BYTES: u64 = 1500;
/// IPv4's bound is 65,535 with headers; this is the kernel's own bound for a device.
const LARGE_PACKET_BYTES_MAX: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_pass_through_threads_only_where_the_kernel_cannot_do_it_alone() {
        for (text, kind) in [
            ("unlimited", Kind::Veth),
            ("100mbit", Kind::Veth),
            ("100mbit,0", Kind::Veth),
            ("100mbit,1.4ms", Kind::Tun),
            ("unlimited,loss=1%", Kind::Tun),
            ("1gbit,jitter=1ms", Kind::Tun),
        ] {
            assert_eq!(KernelLink::parse(text).unwrap().kind(), kind, "{text}");
        }
    }

    #[test]
    fn large_packets_take_an_eighth_of_a_millisecond_at_most_and_are_not_lost_whole() {
        for (text, bytes) in [
            ("10mbit,40ms", None),
            ("100mbit,1.4ms", None),
            ("200mbit,1ms", Some(3_125)),
            ("1gbit,0.5ms", Some(15_625)),
            ("10gbit,1ms", Some(65_536)),
            ("unlimited,1ms", Some(65_536)),
            ("1gbit,0.5ms,loss=0.1%", None),
            ("1gbit,0.5ms,jitter=1us", None),
        ] {
            assert_eq!(KernelLink::parse(text).unwrap().large_packet_bytes(), bytes, "{text}");
        }
    }

    #[test]
    fn a_veth_pair_is_refused_what_it_cannot_do() {
        let fault = KernelLink::parse("10mbit,40ms").unwrap().open_as(Kind::Veth).unwrap_err();
        assert!(matches!(fault, KernelLinkFault::NeedsPackets { .. }), "{fault}");
    }
}
