//! Properties that hold of either version, on headers made at random.
//!
//! Not here: the rules of one version (`v1`, `v2`), headers that HAProxy sent (`tests/it/proxy_protocol.rs`).

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn tcp() -> impl Strategy<Value = Header> {
    (ip(), any::<u16>(), ip(), any::<u16>()).prop_map(|(from, from_port, to, to_port)| {
        Header::proxied(SocketAddr::new(from, from_port).into(), SocketAddr::new(to, to_port).into())
    })
}

fn any_header() -> impl Strategy<Value = Header> {
    prop_oneof![4 => tcp(), 1 => Just(Header::LOCAL)]
}

/// What the other end reads: both addresses of one family.
fn of_one_family(header: &Header) -> Header {
    match header.pair() {
        Some(Pair::V6(from, to)) => Header::proxied(Address::Tcp(from.into()), Address::Tcp(to.into())),
        _ => header.clone(),
    }
}

fn every_prefix_is_incomplete(bytes: &[u8]) -> Result<(), TestCaseError> {
    for len in 0..bytes.len() {
        prop_assert_eq!(parse(&bytes[..len]), Ok(None), "{} of {} bytes", len, bytes.len());
        prop_assert_eq!(starts_like(&bytes[..len]), len >= 4);
    }
    prop_assert!(starts_like(bytes));
    prop_assert!(bytes.len() <= PROXY_HEADER_SENT_LEN_MAX);
    Ok(())
}

proptest! {
    #[test]
    fn a_line_that_was_built_is_read_and_no_prefix_of_it_is(header in tcp(), tail: Vec<u8>) {
        let bytes = build_v1(&header);
        every_prefix_is_incomplete(&bytes)?;
        let read = parse(&[&bytes[..], &tail].concat());
        prop_assert_eq!(read, Ok(Some((of_one_family(&header), bytes.len()))));
    }

    #[test]
    fn a_binary_header_that_was_built_is_read_and_no_prefix_of_it_is(
        header in any_header(), crc32c: bool, tail: Vec<u8>,
    ) {
        let bytes = build_v2(&header, Options { crc32c });
        every_prefix_is_incomplete(&bytes)?;
        let read = parse(&[&bytes[..], &tail].concat());
        prop_assert_eq!(read, Ok(Some((of_one_family(&header), bytes.len()))));
    }

    /// The checksum's own type is the one byte whose change leaves a good header: then nobody looks at the sum.
    #[test]
    fn a_changed_bit_of_a_header_with_a_checksum_never_changes_what_is_read(header in any_header()) {
        let bytes = build_v2(&header, Options { crc32c: true });
        let type_at = bytes.len() - 7;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                match parse(&changed) {
                    Err(_) | Ok(None) => {}
                    // LOCAL: the family is said to mean nothing.
                    read if at == type_at || (at == 13 && header == Header::LOCAL) => {
                        prop_assert_eq!(read, Ok(Some((of_one_family(&header), bytes.len()))));
                    }
                    read => prop_assert!(false, "bit {} of byte {}: {:?}", bit, at, read),
                }
            }
        }
    }

    /// Any other value of any byte that is neither a length, a type nor the family, which say where the sum is.
    #[test]
    fn a_changed_byte_of_a_header_with_a_checksum_is_a_fault(header in any_header(), at: usize, xor in 1_u8..) {
        let mut bytes = build_v2(&header, Options { crc32c: true });
        let at = at % bytes.len();
        let says_where = [13, 14, 15, bytes.len() - 7];
        prop_assume!(!says_where.contains(&at));
        bytes[at] ^= xor;
        prop_assert!(parse(&bytes).is_err());
    }

    #[test]
    fn random_bytes_are_read_or_refused_within_what_is_there(
        start in prop::sample::select(vec![&b""[..], v1::SIGNATURE, b"PROXY TCP4 ", v2::SIGNATURE]),
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let bytes = [start, &bytes].concat();
        if let Ok(Some((header, len))) = parse(&bytes) {
            prop_assert!(len <= bytes.len());
            prop_assert_eq!(header.source.is_some(), header.destination.is_some());
            prop_assert_eq!(parse(&bytes[..len]), Ok(Some((header, len))));
        }
    }

    #[test]
    fn binary_headers_of_random_fields_are_read_or_refused(
        version_and_command in 0x20_u8..=0x22,
        family in prop::sample::select(vec![0_u8, 0x11, 0x21, 0x31, 0x12, 0x41]),
        block in prop::collection::vec(prop_oneof![Just(0_u8), 0_u8..8, any::<u8>()], 0..300),
    ) {
        let len = u16::try_from(block.len()).unwrap().to_be_bytes();
        let bytes = [v2::SIGNATURE, &[version_and_command, family], &len, &block].concat();
        if let Ok(read) = parse(&bytes) {
            prop_assert_eq!(read.map(|(_, len)| len), Some(bytes.len()));
        }
    }
}

#[test]
fn what_is_no_header_is_named_at_its_first_wrong_byte() {
    for bytes in [&b"G"[..], b"PRO\0", b"PROXYTCP4", b"\r\n\r\nX", b"\x4a\0\0\x01\x85\xa6", b"\0"] {
        assert_eq!(parse(bytes), Err(Fault::ProxyHeaderMissing));
        assert!(!starts_like(bytes));
    }
    assert_eq!(parse(b""), Ok(None));
}

#[test]
fn a_packets_header_does_not_look_like_one() {
    // The lengths are those of the signatures; the id is what a client's first packet has.
    for id in [0, 1] {
        assert!(!starts_like(&[b'P', b'R', b'O', id, 1, 2]));
        assert!(!starts_like(&[0x0d, 0x0a, 0x0d, id, 1, 2]));
    }
    assert!(!starts_like(b"PRO"));
    assert!(starts_like(b"PROX"));
    assert!(starts_like(b"PROXY TCP4 192.0.2.1"));
    assert!(!starts_like(b"PROXIMA"));
}
