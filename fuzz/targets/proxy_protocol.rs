//! Bytes before the first packet are a PROXY protocol header, the start of one, or refused; what was read is the
//! same from the header alone, is not there before its last byte, and survives building and reading again.
//!
//! Not here: what follows the header (`login`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::limits::PROXY_HEADER_SENT_LEN_MAX;
use wire::proxy_protocol::{Address, Command, Header, Options, build_v1, build_v2, parse, starts_like};

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (start, crc32c, bytes) = input;
    // Without a hand the signatures are found late.
    let start: &[u8] = match start % 4 {
        0 => b"",
        1 => b"PROXY TCP4 ",
        2 => b"PROXY TCP6 ",
        _ => b"\r\n\r\n\0\r\nQUIT\n",
    };
    let bytes = [start, bytes].concat();
    let Ok(Some((header, len))) = parse(&bytes) else { return };
    assert!(starts_like(&bytes));
    assert_eq!(header.source.is_some(), header.destination.is_some());
    assert_eq!(parse(&bytes[..len]), Ok(Some((header.clone(), len))));
    for shorter in 0..len {
        assert_eq!(parse(&bytes[..shorter]), Ok(None));
    }

    // Only TCP addresses are sent on.
    let is_tcp = matches!(header.source, Some(Address::Tcp(_)));
    let built = build_v2(&header, Options { crc32c });
    let expected = if is_tcp { header.clone() } else { Header::LOCAL };
    assert!(built.len() <= PROXY_HEADER_SENT_LEN_MAX);
    assert_eq!(parse(&built), Ok(Some((expected, built.len()))));
    let built = build_v1(&header);
    let unknown = Header { command: Command::Proxy, source: None, destination: None };
    let expected = if is_tcp { header } else { unknown };
    assert!(built.len() <= PROXY_HEADER_SENT_LEN_MAX);
    assert_eq!(parse(&built), Ok(Some((expected, built.len()))));
});
