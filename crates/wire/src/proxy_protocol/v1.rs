//! Version 1: a line of text.
//!
//! ```text
//! PROXY TCP4 source destination source-port destination-port \r\n
//! PROXY TCP6 source destination source-port destination-port \r\n
//! PROXY UNKNOWN [anything but CR and LF] \r\n
//! ```
//! Invariants: one space between fields; ports are digits without a leading zero; addresses are literals of the
//! announced family; only CRLF ends the line, within [`PROXY_V1_LEN_MAX`] bytes.
//! Source: `doc/proxy-protocol.txt`, section 2.1.
//!
//! Not here: the binary form (`v2`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use super::{Address, Command, Header, Pair};
use crate::Fault;
use crate::limits::PROXY_V1_LEN_MAX;

/// What every line starts with.
pub(super) const SIGNATURE: &[u8] = b"PROXY ";

/// `header` as a line.
///
/// Shape: at most 104 bytes. Unix sockets, a LOCAL connection and one without addresses are sent as UNKNOWN:
/// receivers then use the socket's own addresses. If one address is IPv6, both are sent
/// as IPv6, an IPv4 one as `::ffff:a.b.c.d`.
pub fn build(header: &Header) -> Vec<u8> {
    match header.pair() {
        Some(Pair::V4(source, destination)) => {
            let (from, to) = (source.ip(), destination.ip());
            format!("PROXY TCP4 {from} {to} {} {}\r\n", source.port(), destination.port()).into_bytes()
        }
        Some(Pair::V6(source, destination)) => {
            let (from, to) = (source.ip(), destination.ip());
            format!("PROXY TCP6 {from} {to} {} {}\r\n", source.port(), destination.port()).into_bytes()
        }
        None => b"PROXY UNKNOWN\r\n".to_vec(),
    }
}

/// Reads a line that starts with as much of [`SIGNATURE`] as is there.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Header, usize)>, Fault> {
    let Some(line_len) = line_len(bytes)? else { return Ok(None) };
    let mut fields = bytes.get(..line_len).unwrap_or_default().split(|byte| *byte == b' ').skip(1);
    let pair = match fields.next() {
        Some(b"TCP4") => Some(tcp::<Ipv4Addr>(fields)?),
        Some(b"TCP6") => Some(tcp::<Ipv6Addr>(fields)?),
        Some(b"UNKNOWN") => None,
        _ => return Err(Fault::ProxyHeader("its protocol is none of TCP4, TCP6 and UNKNOWN")),
    };
    let (source, destination) = pair.unzip();
    Ok(Some((Header { command: Command::Proxy, source, destination }, line_len + CRLF_LEN)))
}

/// Bytes before the CRLF.
fn line_len(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let searched = bytes.get(..PROXY_V1_LEN_MAX - 1).unwrap_or(bytes);
    match searched.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        Some(at) => match bytes.get(at..at + CRLF_LEN) {
            Some(b"\r\n") => Ok(Some(at)),
            None if bytes.get(at) == Some(&b'\r') => Ok(None),
            _ => Err(Fault::ProxyHeader("its line ends with something other than CRLF")),
        },
        None if searched.len() < PROXY_V1_LEN_MAX - 1 => Ok(None),
        None => Err(Fault::ProxyHeader("its line does not end within 107 bytes")),
    }
}

/// What follows `TCP4 ` or `TCP6 `.
fn tcp<'a, Ip: FromStr + Into<IpAddr>>(
    mut fields: impl Iterator<Item = &'a [u8]>,
) -> Result<(Address, Address), Fault> {
    let mut field = || fields.next().ok_or(Fault::ProxyHeader("a field is missing"));
    let (source, destination) = (ip::<Ip>(field()?)?, ip::<Ip>(field()?)?);
    let (source_port, destination_port) = (port(field()?)?, port(field()?)?);
    if fields.next().is_some() {
        return Err(Fault::ProxyHeader("something follows the ports"));
    }
    Ok((SocketAddr::new(source, source_port).into(), SocketAddr::new(destination, destination_port).into()))
}

fn ip<Ip: FromStr + Into<IpAddr>>(field: &[u8]) -> Result<IpAddr, Fault> {
    let text = std::str::from_utf8(field).unwrap_or_default();
    text.parse::<Ip>()
        .map(Into::into)
        .map_err(|_| Fault::ProxyHeader("an address is no literal of the announced family"))
}

/// `u16`'s own parser takes signs and leading zeros, so the digits are looked at first.
fn port(field: &[u8]) -> Result<u16, Fault> {
    let canonical = field.iter().all(u8::is_ascii_digit) && (field == b"0" || !field.starts_with(b"0"));
    let text = std::str::from_utf8(field).unwrap_or_default();
    text.parse().ok().filter(|_| canonical).ok_or(Fault::ProxyHeader("a port is no number from 0 to 65535"))
}

const CRLF_LEN: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy_protocol::parse;

    fn fault(bytes: &[u8]) -> &'static str {
        match parse(bytes) {
            Err(Fault::ProxyHeader(why)) => why,
            other => panic!("{}: {other:?}", String::from_utf8_lossy(bytes)),
        }
    }

    fn tcp_header(source: &str, destination: &str) -> Header {
        let address = |text: &str| Address::Tcp(text.parse().unwrap());
        Header::proxied(address(source), address(destination))
    }

    #[test]
    fn lines_of_both_families_are_read_and_what_follows_is_not_touched() {
        for (line, source, destination) in [
            (&b"PROXY TCP4 192.0.2.1 192.0.2.2 51874 3306\r\n"[..], "192.0.2.1:51874", "192.0.2.2:3306"),
            (b"PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n", "0.0.0.0:0", "255.255.255.255:65535"),
            (b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "[2001:db8::1]:1", "[::1]:2"),
            (b"PROXY TCP6 2001:0DB8:0:0:0:0:0:00aB ::1 1 2\r\n", "[2001:db8::ab]:1", "[::1]:2"),
            (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "[::ffff:192.0.2.1]:1", "[::1]:2"),
        ] {
            let whole = [line, b"\r\n more"].concat();
            assert_eq!(parse(&whole), Ok(Some((tcp_header(source, destination), line.len()))));
        }
    }

    #[test]
    fn behind_unknown_anything_is_passed_over_up_to_107_bytes() {
        for line in [
            &b"PROXY UNKNOWN\r\n"[..],
            b"PROXY UNKNOWN \r\n",
            b"PROXY UNKNOWN ffff:f  what ever\xff\0\r\n",
            b"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
              65535 65535\r\n",
        ] {
            let header = Header { command: Command::Proxy, source: None, destination: None };
            assert_eq!(parse(line), Ok(Some((header, line.len()))));
        }
    }

    #[test]
    fn a_line_of_107_bytes_is_complete_and_one_of_108_is_not() {
        let line = |len: usize| [&b"PROXY UNKNOWN "[..], &vec![b'x'; len - 16], b"\r\n"].concat();
        assert!(matches!(parse(&line(107)), Ok(Some((_, 107)))));
        assert_eq!(fault(&line(108)), "its line does not end within 107 bytes");
        assert_eq!(parse(&line(108)[..105]), Ok(None));
        assert!(parse(&line(108)[..106]).is_err());
    }

    #[test]
    fn only_crlf_ends_a_line() {
        let why = "its line ends with something other than CRLF";
        assert_eq!(fault(b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\n"), why);
        assert_eq!(fault(b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\n\r\n"), why);
        assert_eq!(fault(b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\r\r\n"), why);
        assert_eq!(fault(b"PROXY UNKNOWN x\ry\r\n"), why);
        assert_eq!(parse(b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\r"), Ok(None));
    }

    #[test]
    fn fields_are_exactly_those_of_the_form() {
        for (middle, why) in [
            ("", "its protocol is none of TCP4, TCP6 and UNKNOWN"),
            (" TCP4 192.0.2.1 192.0.2.2 1 2", "its protocol is none of TCP4, TCP6 and UNKNOWN"),
            ("tcp4 192.0.2.1 192.0.2.2 1 2", "its protocol is none of TCP4, TCP6 and UNKNOWN"),
            ("UDP4 192.0.2.1 192.0.2.2 1 2", "its protocol is none of TCP4, TCP6 and UNKNOWN"),
            ("UNKNOWNS", "its protocol is none of TCP4, TCP6 and UNKNOWN"),
            ("TCP4", "a field is missing"),
            ("TCP4 192.0.2.1 192.0.2.2 1", "a field is missing"),
            ("TCP4 192.0.2.1 192.0.2.2 1 2 ", "something follows the ports"),
            ("TCP4 192.0.2.1 192.0.2.2 1 2 3", "something follows the ports"),
        ] {
            assert_eq!(fault(format!("PROXY {middle}\r\n").as_bytes()), why, "{middle}");
        }
    }

    #[test]
    fn addresses_are_literals_of_the_announced_family() {
        for fields in [
            "TCP4 ::1 ::1",
            "TCP6 192.0.2.1 192.0.2.2",
            "TCP4 192.0.2.1 ::1",
            "TCP4 192.0.2.01 192.0.2.2",
            "TCP4 192.0.2.256 192.0.2.2",
            "TCP4 192.0.2 192.0.2.2",
            "TCP4 192.0.2.1\t192.0.2.2 192.0.2.3",
            "TCP4  192.0.2.1 192.0.2.2",
            "TCP4 localhost localhost",
            "TCP6 fe80::1%1 ::1",
            "TCP6 [::1] [::1]",
            "TCP6 1::2::3 ::1",
            "TCP6 12345::1 ::1",
            "TCP6 1:2:3:4:5:6:7:8:9 ::1",
            "TCP6 \u{ff}::1 ::1",
        ] {
            let line = format!("PROXY {fields} 1 2\r\n");
            assert_eq!(
                fault(line.as_bytes()),
                "an address is no literal of the announced family",
                "{fields}"
            );
        }
    }

    #[test]
    fn ports_are_plain_decimal() {
        for ports in ["01 2", "00 2", "+1 2", "-1 2", "65536 2", "1 0x2", "1  2", "1 ", "1 2.0", "1 \u{662}"]
        {
            let line = format!("PROXY TCP4 192.0.2.1 192.0.2.2 {ports}\r\n");
            assert_eq!(fault(line.as_bytes()), "a port is no number from 0 to 65535", "{ports}");
        }
    }

    #[test]
    fn a_line_is_built_in_the_family_that_both_addresses_have() {
        for (source, destination, line) in [
            ("192.0.2.1:51874", "192.0.2.2:3306", "PROXY TCP4 192.0.2.1 192.0.2.2 51874 3306\r\n"),
            ("[2001:db8::1]:1", "[::1]:2", "PROXY TCP6 2001:db8::1 ::1 1 2\r\n"),
            ("192.0.2.1:1", "[::1]:2", "PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n"),
            ("[::1]:1", "192.0.2.2:2", "PROXY TCP6 ::1 ::ffff:192.0.2.2 1 2\r\n"),
        ] {
            assert_eq!(String::from_utf8(build(&tcp_header(source, destination))).unwrap(), line);
        }
    }

    #[test]
    fn what_is_not_tcp_is_unknown() {
        let (unix, tcp) = (Address::Unix(b"/run/x".to_vec()), Address::Tcp("192.0.2.1:1".parse().unwrap()));
        for header in [
            Header::LOCAL,
            Header::proxied(unix.clone(), unix.clone()),
            Header::proxied(tcp.clone(), unix),
            Header { command: Command::Proxy, source: Some(tcp), destination: None },
        ] {
            assert_eq!(build(&header), b"PROXY UNKNOWN\r\n");
        }
    }
}
