//! A captured packet's TCP segment.
//!
//! ```text
//!  Ethernet, VLAN │ Linux cooked 1 and 2 │ loopback │ raw ─▶ IPv4 or IPv6 ─▶ TCP ─▶ Segment
//! ```
//! Invariants: what the snap length has cut off is known by `payload_len`, and never guessed; fragments of IP are left
//! alone.
//!
//! Not here: putting segments together (`tcp`).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment<'a> {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) sequence: u32,
    pub(super) acknowledges: Option<u32>,
    pub(super) is_syn: bool,
    pub(super) is_fin: bool,
    pub(super) is_reset: bool,
    /// As far as it was captured.
    pub(super) payload: &'a [u8],
    /// As it was sent.
    pub(super) payload_len: usize,
    pub(super) at: Duration,
}

/// A packet as a file has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Captured<'a> {
    /// LINKTYPE_ as tcpdump.org lists them.
    pub(super) link_type: i32,
    pub(super) bytes: &'a [u8],
    /// As long as it was on the wire.
    pub(super) wire_len: usize,
    pub(super) at: Duration,
}

/// Whether packets of this kind of link can be read.
pub(super) const fn is_known(link_type: i32) -> bool {
    matches!(
        link_type,
        ETHERNET | NULL | LOOP | RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 | COOKED | COOKED_2
    )
}

impl<'a> Captured<'a> {
    /// Its segment, if it has one.
    pub(super) fn segment(&self) -> Option<Segment<'a>> {
        let packet = self.packet()?;
        let (Some(net), Some(TransportSlice::Tcp(tcp))) = (packet.net, packet.transport) else { return None };
        let (from, to, ip_payload) = match &net {
            LaxNetSlice::Ipv4(ip) => (
                IpAddr::from(ip.header().source()),
                IpAddr::from(ip.header().destination()),
                ip.payload().clone(),
            ),
            LaxNetSlice::Ipv6(ip) => (
                IpAddr::from(ip.header().source()),
                IpAddr::from(ip.header().destination()),
                ip.payload().clone(),
            ),
            LaxNetSlice::Arp(_) => return None,
        };
        if ip_payload.fragmented {
            return None;
        }
        let payload = tcp.payload();
        let cut_len = if ip_payload.incomplete { self.wire_len.saturating_sub(self.bytes.len()) } else { 0 };
        Some(Segment {
            source: SocketAddr::new(from, tcp.source_port()),
            destination: SocketAddr::new(to, tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledges: tcp.ack().then(|| tcp.acknowledgment_number()),
            is_syn: tcp.syn(),
            is_fin: tcp.fin(),
            is_reset: tcp.rst(),
            payload,
            payload_len: (payload.len() + cut_len).min(SEGMENT_MAX),
            at: self.at,
        })
    }

    fn packet(&self) -> Option<LaxSlicedPacket<'a>> {
        let behind = |len: usize| self.bytes.get(len..);
        let ether_type = |at: usize| {
            let bytes = self.bytes.get(at..at + 2)?;
            Some(EtherType(u16::from_be_bytes(bytes.try_into().ok()?)))
        };
        match self.link_type {
            ETHERNET => LaxSlicedPacket::from_ethernet(self.bytes).ok(),
            // Four bytes of an address family, in whichever order of bytes: the packet itself says which IP it is.
            NULL | LOOP => LaxSlicedPacket::from_ip(behind(4)?).ok(),
            RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => LaxSlicedPacket::from_ip(self.bytes).ok(),
            COOKED => Some(LaxSlicedPacket::from_ether_type(ether_type(14)?, behind(16)?)),
            COOKED_2 => Some(LaxSlicedPacket::from_ether_type(ether_type(0)?, behind(20)?)),
            _ => None,
        }
    }
}

/// Larger than what segmentation offload hands over (BIG TCP: 512 KiB).
const SEGMENT_MAX: usize = 1 << 20;
const NULL: i32 = 0;
const ETHERNET: i32 = 1;
/// DLT_RAW as BSDs and as OpenBSD number it.
const RAW_BSD: i32 = 12;
const RAW_OPENBSD: i32 = 14;
const RAW: i32 = 101;
const LOOP: i32 = 108;
const COOKED: i32 = 113;
const IPV4: i32 = 228;
const IPV6: i32 = 229;
const COOKED_2: i32 = 276;
