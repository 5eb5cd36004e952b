//! What a packet from a TUN device is, and what it costs on a wire.
//!
//! ```text
//!  virtio-net header │ IPv4 header │ TCP header │ payload
//!  10 bytes: flags, kind of segments, headers' length, segment's length, checksum's start and place
//! ```
//! With segmentation offload one packet here stands for several on a wire, all with the same headers: the device
//! would have cut it. It is counted as these.
//!
//! Invariants: never reads behind the bytes it was given; what is no IPv4 is no packet (the kernel sends IPv6's router
//! solicitations to every device that is up).
//!
//! Not here: changing a byte: packets pass as they came, with their unfinished checksums, because the kernel that takes
//! them is the one that made them.
//!
//! Source: Linux, `include/uapi/linux/virtio_net.h`, `struct virtio_net_hdr`; in the machine's own byte order.

/// Sizes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    /// Of all Ethernet frames that it would fill, as a queueing discipline of the kernel counts them: with their 14
    /// bytes of header, without preamble, checksum and gap.
    pub(super) frames_len: usize,
    /// What TCP carries in it; 0 of anything else.
    pub(super) payload_len: usize,
}

impl Packet {
    /// Of what was read from the device.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, ip) = bytes.split_at_checked(VNET_HEADER_LEN)?;
        let first = *ip.first()?;
        if first >> 4 != 4 {
            return None;
        }
        let ip_header_len = usize::from(first & 0xf) * 4;
        let is_tcp = *ip.get(IP_PROTOCOL_AT)? == TCP;
        let tcp_header_len =
            if is_tcp { usize::from(*ip.get(ip_header_len + TCP_OFFSET_AT)? >> 4) * 4 } else { 0 };
        let headers_len = ip_header_len + tcp_header_len;
        let data_len = ip.len().checked_sub(headers_len)?;
        let segment_len = usize::from(u16::from_ne_bytes([*header.get(4)?, *header.get(5)?]));
        let is_several = header.get(1) != Some(&VNET_NO_SEGMENTS) && segment_len > 0;
        let count = if is_several { data_len.div_ceil(segment_len).max(1) } else { 1 };
        Some(Self {
            frames_len: data_len + count * (headers_len + ETHERNET_HEADER_LEN),
            payload_len: if is_tcp { data_len } else { 0 },
        })
    }
}

/// `struct virtio_net_hdr`.
pub(super) const VNET_HEADER_LEN: usize = 10;
/// `VIRTIO_NET_HDR_GSO_NONE`.
const VNET_NO_SEGMENTS: u8 = 0;
/// Two addresses and a type; RFC 894.
const ETHERNET_HEADER_LEN: usize = 14;
/// RFC 791.
const IP_PROTOCOL_AT: usize = 9;
/// RFC 9293: length of the header in words, upper half of the byte.
const TCP_OFFSET_AT: usize = 12;
const TCP: u8 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with TCP's usual header of 32 bytes (timestamps).
    fn packet(segment_len: u16, payload_len: usize) -> Vec<u8> {
        let mut bytes = vec![0; VNET_HEADER_LEN + 20 + 32 + payload_len];
        bytes[1] = u8::from(segment_len > 0);
        bytes[4..6].copy_from_slice(&segment_len.to_ne_bytes());
        bytes[VNET_HEADER_LEN] = 0x45;
        bytes[VNET_HEADER_LEN + IP_PROTOCOL_AT] = TCP;
        bytes[VNET_HEADER_LEN + 20 + TCP_OFFSET_AT] = 0x80;
        bytes
    }

    #[test]
    fn a_full_segment_is_a_frame_of_1514_bytes_and_an_acknowledgement_one_of_66() {
        assert_eq!(Packet::parse(&packet(0, 1448)), Some(Packet { frames_len: 1514, payload_len: 1448 }));
        assert_eq!(Packet::parse(&packet(0, 0)), Some(Packet { frames_len: 66, payload_len: 0 }));
    }

    #[test]
    fn a_packet_of_several_segments_is_counted_as_the_frames_it_would_be() {
        let ten = Packet::parse(&packet(1448, 14_480)).unwrap();
        assert_eq!(ten, Packet { frames_len: 10 * 1514, payload_len: 14_480 });
        let with_a_rest = Packet::parse(&packet(1448, 1449)).unwrap();
        assert_eq!(with_a_rest, Packet { frames_len: 1514 + 67, payload_len: 1449 });
    }

    #[test]
    fn what_is_not_tcp_has_no_payload_of_tcp_and_what_is_not_ipv4_is_nothing() {
        let mut udp = packet(0, 100);
        udp[VNET_HEADER_LEN + IP_PROTOCOL_AT] = 17;
        assert_eq!(Packet::parse(&udp), Some(Packet { frames_len: 14 + 20 + 132, payload_len: 0 }));
        let mut ipv6 = packet(0, 100);
        ipv6[VNET_HEADER_LEN] = 0x60;
        assert_eq!(Packet::parse(&ipv6), None);
    }

    #[test]
    fn a_packet_that_is_cut_anywhere_is_read_without_a_panic() {
        let whole = packet(1448, 10);
        for len in 0..whole.len() {
            let packet = Packet::parse(&whole[..len]);
            assert_eq!(packet.is_some(), len >= VNET_HEADER_LEN + 52, "{len}");
        }
    }
}
