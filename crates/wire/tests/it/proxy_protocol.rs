//! PROXY protocol headers of a real HAProxy, read, and built again byte for byte.
//!
//! Each file `captures/haproxy-<version>-proxy-...` is all that HAProxy sent to a server that said nothing, in
//! hexadecimal: `v1` with `send-proxy`, `v2` with `send-proxy-v2`, `crc32c` and `unique-id` with these
//! `proxy-v2-options`. Its client came over loopback or, `unix-client`, over a Unix socket; `check` is a health
//! check (`check` on the same server line).
//!
//! Not here: headers that break the rules (`src/proxy_protocol`).

use wire::Fault;
use wire::proxy_protocol::{Address, Command, Header, Options, build_v1, build_v2, parse, starts_like};

use crate::captures::bytes_of;

macro_rules! capture {
    ($name:literal) => {
        bytes_of(include_str!(concat!("captures/haproxy-2.6.12-proxy-", $name, ".hex")))
    };
}

const UNKNOWN: Header = Header { command: Command::Proxy, source: None, destination: None };

fn tcp(source: &str, destination: &str) -> Header {
    let address = |text: &str| Address::Tcp(text.parse().unwrap());
    Header::proxied(address(source), address(destination))
}

/// Headers of version 1, and what they say.
fn lines() -> Vec<(Vec<u8>, Header)> {
    vec![
        (capture!("v1-tcp4"), tcp("127.0.0.1:36368", "127.0.0.1:46467")),
        (capture!("v1-tcp6"), tcp("[::1]:38886", "[::1]:43583")),
        (capture!("v1-unix-client"), UNKNOWN),
        // As the specification recommends: the check's own addresses.
        (capture!("v1-check"), tcp("127.0.0.1:60698", "127.0.0.1:59707")),
    ]
}

/// Headers of version 2, what they say, and whether they have a checksum.
fn binary() -> Vec<(Vec<u8>, Header, bool)> {
    vec![
        (capture!("v2-tcp4"), tcp("127.0.0.1:38552", "127.0.0.1:42307"), false),
        (capture!("v2-tcp6"), tcp("[::1]:52068", "[::1]:52727"), false),
        (capture!("v2-unix-client"), Header::LOCAL, false),
        (capture!("v2-check"), Header::LOCAL, false),
        (capture!("v2-tcp4-crc32c"), tcp("127.0.0.1:40652", "127.0.0.1:46209"), true),
        (capture!("v2-tcp6-crc32c"), tcp("[::1]:54080", "[::1]:60211"), true),
        (capture!("v2-unix-client-crc32c"), Header::LOCAL, true),
        (capture!("v2-check-crc32c"), Header::LOCAL, true),
    ]
}

fn with_unique_id() -> (Vec<u8>, Header) {
    (capture!("v2-tcp4-crc32c-and-unique-id"), tcp("127.0.0.1:45294", "127.0.0.1:49693"))
}

#[test]
fn haproxys_headers_say_who_connected() {
    let all = lines().into_iter().chain(binary().into_iter().map(|(bytes, header, _)| (bytes, header)));
    for (bytes, header) in all.chain([with_unique_id()]) {
        assert!(starts_like(&bytes));
        assert_eq!(parse(&bytes), Ok(Some((header.clone(), bytes.len()))));
        let followed = [&bytes[..], b"\x4a\0\0\x01"].concat();
        assert_eq!(parse(&followed), Ok(Some((header, bytes.len()))));
        for len in 0..bytes.len() {
            assert_eq!(parse(&bytes[..len]), Ok(None));
        }
    }
}

#[test]
fn haproxys_headers_are_built_byte_for_byte() {
    for (bytes, header) in lines() {
        assert_eq!(build_v1(&header), bytes);
    }
    for (bytes, header, crc32c) in binary() {
        assert_eq!(build_v2(&header, Options { crc32c }), bytes);
    }
}

#[test]
fn haproxys_checksum_is_verified_with_a_tlv_behind_it() {
    let (bytes, _) = with_unique_id();
    for at in (16..28).chain(31..35).chain(38..bytes.len()) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(matches!(parse(&changed), Err(Fault::ProxyCrcMismatch { .. })), "byte {at}");
    }
}
