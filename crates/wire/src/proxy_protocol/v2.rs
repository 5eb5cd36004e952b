//! Version 2: binary.
//!
//! ```text
//! 0            12             13       14    16
//! | signature  | 2, command   | family | len | addresses | TLVs             all numbers big endian
//! addresses    source | destination | source port 2 | destination port 2    of 4 or 16 bytes each
//!              source | destination                                         paths, 108 bytes each, filled with NULs
//! TLV          1 type | 2 length | value                                    type 3: CRC-32C of the whole header
//! ```
//! Invariants: TLVs fill the block behind the addresses exactly, in a LOCAL header too, unless its block doesn't fit
//! its family; a checksum that is there is right.
//! The checksum is a TLV like any other. So a header whose length, family or TLV types were damaged may read as one
//! without a checksum; all other damage is found.
//! Source: `doc/proxy-protocol.txt`, section 2.2.
//!
//! Not here: the line of text (`v1`); what TLVs other than the checksum say.

use std::net::{IpAddr, SocketAddr};

use super::{Address, Command, Header, Pair};
use crate::Fault;
use crate::limits::PROXY_HEADER_LEN_MAX;

/// What every header starts with.
pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Longest header that is built: two IPv6 addresses and a checksum.
pub(super) const SENT_LEN_MAX: usize = FIXED_LEN + TCP6_LEN + CRC32C_TLV_LEN;

/// What a header has beside its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Append a CRC-32C of the header, which receivers that know it check. MariaDB passes over it.
    pub crc32c: bool,
}

/// `header` in binary form, to be written at once: MariaDB does not wait for the rest of one that came in part.
///
/// Shape: at most 59 bytes. Unix sockets and a connection without addresses are sent as LOCAL: receivers then use
/// the socket's own addresses. UNSPEC would be the specification's word, but MariaDB refuses it. If one address is
/// IPv6, both are sent as IPv6, an IPv4 one as `::ffff:a.b.c.d`.
pub fn build(header: &Header, options: Options) -> Vec<u8> {
    let (version_and_command, family, addresses) = match header.pair() {
        Some(Pair::V4(from, to)) => {
            (PROXY, TCP4, tcp_block(&from.ip().octets(), &to.ip().octets(), from.port(), to.port()))
        }
        Some(Pair::V6(from, to)) => {
            (PROXY, TCP6, tcp_block(&from.ip().octets(), &to.ip().octets(), from.port(), to.port()))
        }
        None => (LOCAL, UNSPEC, Vec::new()),
    };
    let block_len = addresses.len() + if options.crc32c { CRC32C_TLV_LEN } else { 0 };
    let mut out = Vec::with_capacity(SENT_LEN_MAX);
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[version_and_command, family]);
    out.extend_from_slice(&u16::try_from(block_len).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(&addresses);
    if options.crc32c {
        out.extend_from_slice(&[TYPE_CRC32C, 0, 4]);
        let sum = crc32c(out.iter().chain(&[0; 4]));
        out.extend_from_slice(&sum.to_be_bytes());
    }
    out
}

/// Reads a header that starts with as much of [`SIGNATURE`] as is there.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Header, usize)>, Fault> {
    let Some(version_and_command) = bytes.get(SIGNATURE.len()) else { return Ok(None) };
    let command = match *version_and_command {
        LOCAL => Command::Local,
        PROXY => Command::Proxy,
        0x22..=0x2f => return Err(Fault::ProxyHeader("its command is neither LOCAL nor PROXY")),
        _ => return Err(Fault::ProxyHeader("its version is not 2")),
    };
    let Some(&family) = bytes.get(SIGNATURE.len() + 1) else { return Ok(None) };
    let addresses_len = match (command, addresses_len(family)) {
        (Command::Proxy, None) => return Err(Fault::ProxyHeader("its address family is unknown")),
        (Command::Proxy, _) if is_datagram(family) => return Err(Fault::ProxyNotStream),
        (_, len) => len,
    };
    let Some([.., high, low]) = bytes.first_chunk::<FIXED_LEN>() else { return Ok(None) };
    let block_len = usize::from(u16::from_be_bytes([*high, *low]));
    let len = FIXED_LEN + block_len;
    if len > PROXY_HEADER_LEN_MAX {
        return Err(Fault::ProxyHeaderTooLong { len, max: PROXY_HEADER_LEN_MAX });
    }
    let addresses_len = match addresses_len {
        Some(addresses_len) if addresses_len <= block_len => addresses_len,
        _ if command == Command::Proxy => {
            return Err(Fault::ProxyHeader("its length is less than its addresses take"));
        }
        // LOCAL: the family means nothing, nor does a block that does not fit it.
        _ => block_len,
    };
    let Some(header) = bytes.get(..len) else { return Ok(None) };
    let (_, block) = header.split_at(FIXED_LEN);
    let (addresses, tlvs) = block.split_at(addresses_len);
    check_tlvs(header, tlvs)?;
    let pair = match (command, family) {
        (Command::Proxy, TCP4) => tcp_pair::<4>(addresses),
        (Command::Proxy, TCP6) => tcp_pair::<16>(addresses),
        (Command::Proxy, UNIX_STREAM) => unix_pair(addresses),
        _ => None,
    };
    let (source, destination) = pair.unzip();
    Ok(Some((Header { command, source, destination }, len)))
}

/// Walks the TLVs at the end of `header` and verifies the checksum, if there is one.
fn check_tlvs(header: &[u8], tlvs: &[u8]) -> Result<(), Fault> {
    const CUT: Fault = Fault::ProxyHeader("a TLV runs past its end");
    let mut rest = tlvs;
    let mut checksum = None;
    while let Some((kind, behind_kind)) = rest.split_first() {
        let (len, behind_len) = behind_kind.split_first_chunk::<2>().ok_or(CUT)?;
        let (value, behind) =
            behind_len.split_at_checked(usize::from(u16::from_be_bytes(*len))).ok_or(CUT)?;
        if *kind == TYPE_CRC32C {
            let announced = <[u8; 4]>::try_from(value)
                .map_err(|_| Fault::ProxyHeader("the length of its checksum is not 4"))?;
            if checksum.replace((u32::from_be_bytes(announced), behind)).is_some() {
                return Err(Fault::ProxyHeader("it has two checksums"));
            }
        }
        rest = behind;
    }
    let Some((announced, behind)) = checksum else { return Ok(()) };
    let before = header.get(..header.len() - behind.len() - 4).unwrap_or_default();
    let actual = crc32c(before.iter().chain(&[0; 4]).chain(behind));
    if actual == announced { Ok(()) } else { Err(Fault::ProxyCrcMismatch { announced, actual }) }
}

/// Bytes that the addresses of a family take; `None` for one that the specification doesn't have.
const fn addresses_len(family: u8) -> Option<usize> {
    match family {
        UNSPEC => Some(0),
        TCP4 | UDP4 => Some(TCP4_LEN),
        TCP6 | UDP6 => Some(TCP6_LEN),
        UNIX_STREAM | UNIX_DATAGRAM => Some(2 * UNIX_PATH_LEN),
        _ => None,
    }
}

const fn is_datagram(family: u8) -> bool {
    matches!(family, UDP4 | UDP6 | UNIX_DATAGRAM)
}

fn tcp_pair<const IP_LEN: usize>(addresses: &[u8]) -> Option<(Address, Address)>
where
    IpAddr: From<[u8; IP_LEN]>,
{
    let (source, rest) = addresses.split_first_chunk::<IP_LEN>()?;
    let (destination, ports) = rest.split_first_chunk::<IP_LEN>()?;
    let [a, b, c, d] = *ports.first_chunk::<4>()?;
    let address = |ip: [u8; IP_LEN], port| Address::Tcp(SocketAddr::new(ip.into(), u16::from_be_bytes(port)));
    Some((address(*source, [a, b]), address(*destination, [c, d])))
}

fn tcp_block(from: &[u8], to: &[u8], from_port: u16, to_port: u16) -> Vec<u8> {
    [from, to, &from_port.to_be_bytes(), &to_port.to_be_bytes()].concat()
}

fn unix_pair(addresses: &[u8]) -> Option<(Address, Address)> {
    let (source, destination) = addresses.split_at_checked(UNIX_PATH_LEN)?;
    Some((Address::Unix(unix_path(source)), Address::Unix(unix_path(destination))))
}

/// A path ends before its first NUL, an abstract name, which may hold NULs, before those that fill it up.
fn unix_path(field: &[u8]) -> Vec<u8> {
    let len = if field.starts_with(&[0]) {
        field.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    } else {
        field.iter().position(|byte| *byte == 0).unwrap_or(field.len())
    };
    field.get(..len).unwrap_or_default().to_vec()
}

/// CRC-32C (Castagnoli, reflected) bit by bit: some dozens of bytes per connection are no reason for a table, nor for
/// a dependency.
fn crc32c<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ (sum & 1).wrapping_neg() & 0x82f6_3b78)
    })
}

/// Signature, version and command, family, length.
const FIXED_LEN: usize = 16;

/// Version 2 in the high half, the command in the low one.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// The family in the high half, stream (1) or datagram (2) in the low one.
const UNSPEC: u8 = 0x00;
const TCP4: u8 = 0x11;
const UDP4: u8 = 0x12;
const TCP6: u8 = 0x21;
const UDP6: u8 = 0x22;
const UNIX_STREAM: u8 = 0x31;
const UNIX_DATAGRAM: u8 = 0x32;

/// Two addresses and two ports.
const TCP4_LEN: usize = 2 * 4 + 2 * 2;
const TCP6_LEN: usize = 2 * 16 + 2 * 2;

/// Linux's `sun_path`.
const UNIX_PATH_LEN: usize = 108;

/// `PP2_TYPE_CRC32C`.
const TYPE_CRC32C: u8 = 0x03;

/// Type, length, four bytes.
const CRC32C_TLV_LEN: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy_protocol::parse;

    /// A header of these fields, whatever they are.
    fn raw(version_and_command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let len = u16::try_from(block.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[version_and_command, family], &len, block].concat()
    }

    /// `header` with one TLV more.
    fn with_tlv(mut header: Vec<u8>, kind: u8, value: &[u8]) -> Vec<u8> {
        header.push(kind);
        header.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        header.extend(value);
        let block_len = u16::try_from(header.len() - FIXED_LEN).unwrap();
        header[14..16].copy_from_slice(&block_len.to_be_bytes());
        header
    }

    fn tcp4() -> Header {
        let address = |text: &str| Address::Tcp(text.parse().unwrap());
        Header::proxied(address("192.0.2.1:51874"), address("192.0.2.2:3306"))
    }

    fn unix(source: &[u8], destination: &[u8]) -> Header {
        Header::proxied(Address::Unix(source.to_vec()), Address::Unix(destination.to_vec()))
    }

    const WITH_CRC: Options = Options { crc32c: true };
    const WITHOUT: Options = Options { crc32c: false };

    #[test]
    fn the_checksum_is_that_of_castagnoli() {
        // RFC 3720, appendix B.4, and the customary check value.
        for (bytes, sum) in
            [(&b"123456789"[..], 0xe306_9283), (&[0; 32], 0x8a91_36aa), (&[0xff; 32], 0x62a8_ab43), (&[], 0)]
        {
            assert_eq!(crc32c(bytes.iter()), sum);
        }
    }

    #[test]
    fn what_follows_a_header_is_not_touched() {
        let bytes = build(&tcp4(), WITH_CRC);
        let followed = [&bytes[..], &bytes].concat();
        assert_eq!(parse(&followed), Ok(Some((tcp4(), bytes.len()))));
    }

    #[test]
    fn versions_and_commands_that_do_not_exist_are_named_at_the_13th_byte() {
        for (byte, why) in [
            (0x10, "its version is not 2"),
            (0x31, "its version is not 2"),
            (0x22, "its command is neither LOCAL nor PROXY"),
            (0x2f, "its command is neither LOCAL nor PROXY"),
        ] {
            assert_eq!(parse(&[SIGNATURE, &[byte]].concat()), Err(Fault::ProxyHeader(why)));
        }
    }

    #[test]
    fn datagrams_are_refused_and_unknown_families_named() {
        for family in [UDP4, UDP6, UNIX_DATAGRAM] {
            assert_eq!(parse(&raw(PROXY, family, &[0; 216])), Err(Fault::ProxyNotStream));
        }
        for family in [0x01, 0x10, 0x13, 0x30, 0x41, 0xff] {
            let why = "its address family is unknown";
            assert_eq!(parse(&raw(PROXY, family, &[0; 216])), Err(Fault::ProxyHeader(why)));
        }
    }

    #[test]
    fn local_is_accepted_with_any_family_and_any_addresses() {
        for (family, block_len) in [(UNSPEC, 0), (TCP4, 12), (UDP6, 36), (TCP6, 0), (TCP4, 5), (0x77, 40)] {
            let bytes = raw(LOCAL, family, &vec![7; block_len]);
            assert_eq!(parse(&bytes), Ok(Some((Header::LOCAL, bytes.len()))), "{family:#x}");
        }
    }

    #[test]
    fn a_relayed_connection_of_unspecified_family_has_no_addresses() {
        let header = Header { command: Command::Proxy, source: None, destination: None };
        assert_eq!(parse(&raw(PROXY, UNSPEC, &[])), Ok(Some((header, FIXED_LEN))));
    }

    #[test]
    fn a_length_below_that_of_the_addresses_is_named_before_they_arrive() {
        for (family, len) in [(TCP4, 11), (TCP6, 35), (UNIX_STREAM, 215)] {
            let why = "its length is less than its addresses take";
            let bytes = raw(PROXY, family, &vec![0; len]);
            assert_eq!(parse(&bytes[..FIXED_LEN]), Err(Fault::ProxyHeader(why)));
        }
    }

    #[test]
    fn a_header_of_4096_bytes_is_read_and_a_longer_one_is_named_before_it_arrives() {
        let longest = with_tlv(build(&tcp4(), WITHOUT), 0xe0, &vec![0; 4096 - 28 - 3]);
        assert_eq!(parse(&longest), Ok(Some((tcp4(), 4096))));
        let longer = with_tlv(build(&tcp4(), WITHOUT), 0xe0, &vec![0; 4096 - 28 - 2]);
        let fault = Fault::ProxyHeaderTooLong { len: 4097, max: 4096 };
        assert_eq!(parse(&longer[..FIXED_LEN]), Err(fault));
    }

    #[test]
    fn tlvs_that_are_not_known_are_passed_over() {
        let mut bytes = build(&tcp4(), WITHOUT);
        for (kind, value) in [(0x04, &b""[..]), (0x02, b"db.example"), (0x20, b"any"), (0xff, &[0; 300])] {
            bytes = with_tlv(bytes, kind, value);
        }
        assert_eq!(parse(&bytes), Ok(Some((tcp4(), bytes.len()))));
    }

    #[test]
    fn tlvs_that_do_not_fill_the_block_are_named() {
        let addresses = [0; 12];
        for tlvs in [&[4][..], &[4, 0], &[4, 0, 1], &[4, 0xff, 0xff, 0], &[4, 0, 0, 4]] {
            let bytes = raw(PROXY, TCP4, &[&addresses[..], tlvs].concat());
            assert_eq!(parse(&bytes), Err(Fault::ProxyHeader("a TLV runs past its end")));
        }
    }

    #[test]
    fn a_checksum_of_another_length_and_a_second_one_are_named() {
        let bytes = with_tlv(build(&tcp4(), WITHOUT), TYPE_CRC32C, &[0; 3]);
        assert_eq!(parse(&bytes), Err(Fault::ProxyHeader("the length of its checksum is not 4")));
        let bytes = with_tlv(build(&tcp4(), WITH_CRC), TYPE_CRC32C, &[0; 4]);
        assert_eq!(parse(&bytes), Err(Fault::ProxyHeader("it has two checksums")));
    }

    #[test]
    fn the_checksum_covers_what_stands_behind_it() {
        let tailed = with_tlv(build(&tcp4(), WITH_CRC), 0x04, b"tail");
        assert!(matches!(parse(&tailed), Err(Fault::ProxyCrcMismatch { .. })));
        let mut zeroed = tailed;
        zeroed[31..35].fill(0);
        let sum = crc32c(zeroed.iter());
        zeroed[31..35].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(parse(&zeroed), Ok(Some((tcp4(), zeroed.len()))));
    }

    #[test]
    fn a_local_headers_checksum_is_verified_too() {
        let mut bytes = build(&Header::LOCAL, WITH_CRC);
        assert_eq!(parse(&bytes), Ok(Some((Header::LOCAL, bytes.len()))));
        bytes[20] ^= 1;
        assert!(matches!(parse(&bytes), Err(Fault::ProxyCrcMismatch { .. })));
    }

    #[test]
    fn an_ipv4_address_beside_an_ipv6_one_is_mapped() {
        let (v4, v6) = ("192.0.2.1:1".parse().unwrap(), "[2001:db8::1]:2".parse().unwrap());
        let mapped = Address::Tcp("[::ffff:192.0.2.1]:1".parse().unwrap());
        let bytes = build(&Header::proxied(Address::Tcp(v4), Address::Tcp(v6)), WITHOUT);
        assert_eq!(parse(&bytes), Ok(Some((Header::proxied(mapped, Address::Tcp(v6)), 52))));
    }

    #[test]
    fn unix_paths_are_read_whether_full_abstract_or_without_a_name() {
        let field = |path: &[u8]| [path, &vec![0; UNIX_PATH_LEN - path.len()]].concat();
        for path in [&b"/run/mysqld.sock"[..], &[b'x'; 108], b"\0abstract\0name", b""] {
            let bytes = raw(PROXY, UNIX_STREAM, &[field(path), field(b"/srv\0left over")].concat());
            assert_eq!(parse(&bytes), Ok(Some((unix(path, b"/srv"), 232))));
        }
    }

    #[test]
    fn what_is_not_tcp_is_local() {
        let tcp = Address::Tcp("192.0.2.1:1".parse().unwrap());
        for header in [
            Header::LOCAL,
            unix(b"/run/a", b"/run/b"),
            Header::proxied(tcp.clone(), Address::Unix(Vec::new())),
            Header { command: Command::Proxy, source: Some(tcp), destination: None },
        ] {
            assert_eq!(build(&header, WITHOUT), raw(LOCAL, UNSPEC, &[]));
        }
    }
}
