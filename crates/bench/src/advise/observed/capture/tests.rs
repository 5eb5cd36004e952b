//! Captures made by hand: every kind of file and link, what TCP does, and what no bytes can do.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use etherparse::PacketBuilder;
use lab::generate::Sequence;

use super::super::gathered::Gathered;
use super::super::segment::{Captured, Segment, is_known};
use super::super::tcp::{Connections, HELD_MAX, Held};
use super::{CaptureFault, End, read};

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 3306);
const ETHERNET: i32 = 1;
const RAW: i32 = 101;
const COOKED: i32 = 113;
const COOKED_2: i32 = 276;
const LOOP: i32 = 108;

/// A connection's packets, with a clock.
#[derive(Default)]
struct Talk {
    packets: Vec<(u64, Vec<u8>)>,
    at_us: u64,
    client_next: u32,
    server_next: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum From {
    Client,
    Server,
}

impl Talk {
    /// SYN, 3 ms to the server, 2 ms to the client.
    fn begun() -> Self {
        let mut talk = Self { client_next: u32::MAX - 10, server_next: 5_000, ..Self::default() };
        talk.raw(From::Client, b"", |tcp| tcp.syn());
        talk.client_next = talk.client_next.wrapping_add(1);
        talk.at_us += 3_000;
        talk.raw(From::Server, b"", |tcp| tcp.syn());
        talk.server_next += 1;
        talk.at_us += 2_000;
        talk.raw(From::Client, b"", |tcp| tcp);
        talk
    }

    fn raw(
        &mut self,
        from: From,
        payload: &[u8],
        flags: impl FnOnce(
            etherparse::PacketBuilderStep<etherparse::TcpHeader>,
        ) -> etherparse::PacketBuilderStep<etherparse::TcpHeader>,
    ) {
        let ((source, from_port), (to, to_port), sequence, acknowledged) = match from {
            From::Client => (CLIENT, SERVER, self.client_next, self.server_next),
            From::Server => (SERVER, CLIENT, self.server_next, self.client_next),
        };
        let is_first = self.packets.is_empty();
        let tcp = PacketBuilder::ipv4(source, to, 64).tcp(from_port, to_port, sequence, 65_000);
        let tcp = if is_first { tcp } else { tcp.ack(acknowledged) };
        let mut bytes = Vec::new();
        flags(tcp).write(&mut bytes, payload).unwrap();
        self.packets.push((self.at_us, bytes));
    }

    fn says(&mut self, from: From, payload: &[u8]) {
        self.at_us += 1_000;
        self.raw(from, payload, |tcp| tcp.psh());
        let next = if from == From::Client { &mut self.client_next } else { &mut self.server_next };
        *next = next.wrapping_add(u32::try_from(payload.len()).unwrap());
    }

    /// A login and `exchanges` replies of two segments.
    fn ordinary(exchanges: usize) -> Self {
        let mut talk = Self::begun();
        talk.says(From::Server, &greeting());
        talk.says(From::Client, &login());
        talk.says(From::Server, &packets(2, &[&[0, 0, 0, 2, 0, 0, 0]]));
        for _ in 0..exchanges {
            talk.says(From::Client, &packets(0, &[b"\x03select 1"]));
            talk.says(From::Server, &packets(1, &[&[1; 900]]));
            talk.says(From::Server, &packets(2, &[&[2; 900]]));
        }
        talk.says(From::Client, &packets(0, &[b"\x01"]));
        talk
    }

    fn gathered(&self) -> Connections {
        let mut connections = Connections::new(3306, Gathered::new(1));
        for (at_us, bytes) in &self.packets {
            let captured =
                Captured { link_type: RAW, bytes, wire_len: bytes.len(), at: Duration::from_micros(*at_us) };
            connections.segment(&captured.segment().unwrap());
        }
        connections.end();
        connections
    }
}

fn packets(mut id: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        id = wire::packet::split(payload, id, &mut bytes);
    }
    bytes
}

fn capabilities() -> wire::Capabilities {
    use wire::Capabilities as C;
    C::LONG_PASSWORD | C::PROTOCOL_41 | C::SECURE_CONNECTION
}

fn greeting() -> Vec<u8> {
    let greeting = wire::connect::Greeting {
        server_version: b"9.7.4".to_vec(),
        thread_id: 7,
        nonce: vec![1; 20],
        capabilities: capabilities(),
        charset: 45,
        status: 2,
        auth_plugin: b"mysql_native_password".to_vec(),
    };
    packets(0, &[&greeting.build()])
}

fn login() -> Vec<u8> {
    let login = wire::connect::Login { capabilities: capabilities(), ..wire::connect::Login::default() };
    packets(1, &[&login.build()])
}

fn on_link(link_type: i32, ip: &[u8]) -> Vec<u8> {
    let head: &[u8] = match link_type {
        ETHERNET => &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x81, 0, 0, 9, 8, 0],
        COOKED => &[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 1, 0, 0, 8, 0],
        COOKED_2 => &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 1, 0, 0],
        LOOP => &[0, 0, 0, 2],
        _ => &[],
    };
    [head, ip].concat()
}

/// A pcap file, little endian or not, in micro- or nanoseconds.
fn pcap(talk: &Talk, link_type: i32, is_big: bool, is_nano: bool) -> Vec<u8> {
    let number = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = number(if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).to_vec();
    file.extend(if is_big { [0, 2, 0, 4] } else { [2, 0, 4, 0] });
    for value in [0, 0, 262_144, u32::try_from(link_type).unwrap()] {
        file.extend(number(value));
    }
    for (at_us, ip) in &talk.packets {
        let bytes = on_link(link_type, ip);
        let len = u32::try_from(bytes.len()).unwrap();
        let fraction = (at_us % 1_000_000) * if is_nano { 1000 } else { 1 };
        let fraction = u32::try_from(fraction).unwrap();
        for value in [u32::try_from(at_us / 1_000_000).unwrap(), fraction, len, len] {
            file.extend(number(value));
        }
        file.extend(bytes);
    }
    file
}

/// A pcapng file, its times in units of 10 ns.
fn pcapng(talk: &Talk, link_type: u16) -> Vec<u8> {
    let block = |kind: u32, mut body: Vec<u8>| {
        body.resize(body.len().next_multiple_of(4), 0);
        let len = u32::try_from(body.len() + 12).unwrap().to_le_bytes();
        [&kind.to_le_bytes()[..], &len, &body, &len].concat()
    };
    let mut file =
        block(0x0a0d_0d0a, [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    let mut interface = link_type.to_le_bytes().to_vec();
    interface.extend([0, 0, 0, 0, 4, 0]);
    // if_tsresol, one byte: 8.
    interface.extend([9, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(block(1, interface));
    for (at_us, ip) in &talk.packets {
        let bytes = on_link(i32::from(link_type), ip);
        let (units, len) = (at_us * 100, u32::try_from(bytes.len()).unwrap());
        let mut body = 0u32.to_le_bytes().to_vec();
        for value in [u32::try_from(units >> 32).unwrap(), units as u32, len, len] {
            body.extend(value.to_le_bytes());
        }
        body.extend(bytes);
        file.extend(block(6, body));
    }
    file
}

/// Exchanges, and the round trip's median in ms.
fn read_all(file: &[u8]) -> Result<(u64, Option<f64>, End), CaptureFault> {
    let mut connections = Connections::new(3306, Gathered::new(1));
    let end = read(file, |captured| {
        if let Some(segment) = captured.segment() {
            connections.segment(&segment);
        }
        true
    })?;
    connections.end();
    let round_trip = connections.seen.round_trips_s.first().map(|seconds| (seconds * 1e6).round() / 1e3);
    Ok((connections.gathered.exchanges.seen(), round_trip, end))
}

#[test]
fn every_kind_of_file_and_link_is_read_the_same() {
    let talk = Talk::ordinary(7);
    for link_type in [ETHERNET, RAW, COOKED, COOKED_2, LOOP] {
        assert!(is_known(link_type));
        for (is_big, is_nano) in [(false, false), (true, false), (false, true), (true, true)] {
            let told = read_all(&pcap(&talk, link_type, is_big, is_nano));
            assert_eq!(told, Ok((7, Some(5.0), End::Whole)), "{link_type} {is_big} {is_nano}");
        }
        let told = read_all(&pcapng(&talk, u16::try_from(link_type).unwrap()));
        assert_eq!(told, Ok((7, Some(5.0), End::Whole)), "{link_type}");
    }
}

#[test]
fn times_and_bytes_are_those_of_the_capture() {
    let connections = Talk::ordinary(3).gathered();
    assert_eq!(connections.seen.server_halves_s, [0.003]);
    let one = connections.gathered.exchanges.kept()[0];
    assert_eq!((one.request_bytes, one.reply_bytes), (13.0, 1808.0));
    assert!((one.first_s - 0.001).abs() < 1e-9 && (one.time_s - 0.002).abs() < 1e-9, "{one:?}");
    let server = (Ipv4Addr::from(SERVER.0), SERVER.1).into();
    assert!(connections.seen.servers[&server] > 3 * 1808);
}

#[test]
fn segments_out_of_order_and_sent_again_change_nothing_but_counts() {
    let mut talk = Talk::ordinary(5);
    // Behind handshake and login, 6 packets, come 3 of each exchange.
    talk.packets.swap(7, 8);
    let again = talk.packets[7].clone();
    talk.packets.insert(9, again);
    let connections = talk.gathered();
    assert_eq!(connections.gathered.exchanges.seen(), 5);
    assert_eq!((connections.seen.retransmitted, connections.seen.gaps), (1, 0));
    assert_eq!(connections.gathered.counts.lost, 0);
}

#[test]
fn a_gap_costs_the_exchange_in_which_it_is() {
    let mut talk = Talk::ordinary(5);
    talk.packets.remove(8);
    let connections = talk.gathered();
    assert_eq!((connections.gathered.exchanges.seen(), connections.seen.gaps), (4, 1));
    assert_eq!(connections.gathered.counts.lost, 1);
}

#[test]
fn what_the_snap_length_has_cut_is_a_gap() {
    let talk = Talk::ordinary(2);
    let mut connections = Connections::new(3306, Gathered::new(1));
    for (at_us, bytes) in &talk.packets {
        let kept = bytes.get(..96).unwrap_or(bytes);
        let at = Duration::from_micros(*at_us);
        let captured = Captured { link_type: RAW, bytes: kept, wire_len: bytes.len(), at };
        connections.segment(&captured.segment().unwrap());
    }
    connections.end();
    assert_eq!(connections.gathered.exchanges.seen(), 0);
    assert!(connections.seen.cut >= 4, "{:?}", connections.seen);
}

#[test]
fn a_capture_that_begins_in_the_middle_is_used_from_the_next_command() {
    let mut talk = Talk::ordinary(5);
    talk.packets.drain(..8);
    let connections = talk.gathered();
    assert_eq!(connections.gathered.exchanges.seen(), 4);
    assert!(connections.seen.round_trips_s.is_empty());
}

#[test]
fn a_file_that_is_cut_off_is_used_up_to_there_and_what_is_none_is_told() {
    let file = pcap(&Talk::ordinary(5), ETHERNET, false, false);
    let (exchanges, _, end) = read_all(&file[..file.len() - 300]).unwrap();
    assert_eq!((exchanges, end), (4, End::Cut));
    assert_eq!(read_all(b""), Err(CaptureFault::Empty));
    assert_eq!(read_all(b"\x1f\x8b\x08\0\0"), Err(CaptureFault::Compressed("gzip")));
    assert_eq!(read_all(b"select 1; select 2; select 3;"), Err(CaptureFault::NoCapture));
}

#[test]
fn a_block_that_is_shorter_than_its_frame_is_damage() {
    let file = pcapng(&Talk::ordinary(1), 1);
    let block = 28;
    assert_eq!(file[block..block + 4], [1, 0, 0, 0]);
    for len in 0u32..12 {
        let mut short = file.clone();
        short[block..block + 4].copy_from_slice(&[9, 0, 0, 0]);
        short[block + 4..block + 8].copy_from_slice(&len.to_le_bytes());
        assert_eq!(read_all(&short), Ok((0, None, End::Damaged)), "{len}");
    }
}

#[test]
fn no_bytes_do_harm() {
    let mut sequence = Sequence::new(3, 3);
    let talk = Talk::ordinary(3);
    let files = [pcap(&talk, ETHERNET, false, false), pcap(&talk, RAW, true, true), pcapng(&talk, 1)];
    for _ in 0..400 {
        let mut file = files[sequence.below(3) as usize].clone();
        for _ in 0..=sequence.below(6) {
            let place = sequence.below(u32::try_from(file.len()).unwrap()) as usize;
            file[place] = sequence.next_u64().to_le_bytes()[0];
        }
        file.truncate(sequence.below(u32::try_from(file.len()).unwrap() * 2) as usize);
        // Whatever it says, it says it.
        drop(read_all(&file));
    }
}

#[test]
fn what_tcpdump_writes_of_real_sessions_is_read() {
    // tcpdump -i any: the mysql client of 9.7.4 without and with zstd, and with TLS, on one machine.
    let file = include_bytes!("../../../../tests/data/mysql-9.7.4-linux-cooked.pcap");
    let mut connections = Connections::new(3306, Gathered::new(1));
    let end = read(&file[..], |captured| {
        connections.segment(&captured.segment().unwrap());
        true
    });
    connections.end();
    assert_eq!(end, Ok(End::Whole));
    let counts = &connections.gathered.counts;
    assert_eq!((counts.sessions, counts.used, counts.tls, counts.zstd.sessions), (3, 1, 1, 1));
    assert!(
        counts.zstd.packed_bytes > 1000 && counts.zstd.packed_bytes < counts.zstd.plain_bytes,
        "{counts:?}"
    );
    assert_eq!((counts.lost, counts.pipelined, connections.seen.gaps, connections.seen.remote), (0, 0, 0, 0));
    assert_eq!(connections.seen.round_trips_s.len(), 3);
    // Two of a hundred rows, and one of one.
    let large = connections.gathered.exchanges.kept().iter().filter(|one| one.reply_packets > 100).count();
    assert_eq!(large, 2);
}

/// A segment without flags.
fn segment(from: From, sequence: u32, payload: &[u8], at_us: u64) -> Segment<'_> {
    let [client, server] = [CLIENT, SERVER].map(|(address, port)| SocketAddr::from((address, port)));
    let (source, destination) = if from == From::Client { (client, server) } else { (server, client) };
    Segment {
        source,
        destination,
        sequence,
        acknowledges: None,
        is_syn: false,
        is_fin: false,
        is_reset: false,
        payload,
        payload_len: payload.len(),
        at: Duration::from_micros(at_us),
    }
}

#[test]
fn a_syn_that_comes_again_begins_nothing_and_another_one_a_connection() {
    let syn = |sequence| Segment { is_syn: true, ..segment(From::Server, sequence, b"", 0) };
    let greeting = greeting();
    let len = u32::try_from(greeting.len()).unwrap();
    let mut connections = Connections::new(3306, Gathered::new(1));
    connections.segment(&syn(100));
    connections.segment(&segment(From::Server, 101, &greeting, 1));
    connections.segment(&segment(From::Server, 200 + len, b"too early", 2));
    // Nothing comes twice behind it.
    connections.segment(&syn(100));
    connections.segment(&segment(From::Server, 101, &greeting, 3));
    assert_eq!((connections.gathered.counts.sessions, connections.seen.retransmitted), (1, 1));
    // What was held belongs to the connection before.
    connections.segment(&syn(150));
    assert_eq!((connections.gathered.counts.sessions, connections.held()), (2, Held::default()));
    connections.segment(&segment(From::Server, 151, &greeting, 4));
    connections.segment(&segment(From::Client, 1, &login(), 5));
    connections.end();
    assert_eq!(connections.gathered.counts.foreign, 0);
}

#[test]
fn large_segments_behind_many_small_ones_are_not_held_beyond_the_bound() {
    let mut connections = Connections::new(3306, Gathered::new(1));
    connections.segment(&segment(From::Client, 0, b"x", 0));
    // Each leaves a hole, and costs more than its byte.
    let small = u32::try_from(HELD_MAX / 256).unwrap();
    for number in 1..=small {
        connections.segment(&segment(From::Client, number * 2, b"x", 1));
    }
    let large = vec![0; 1 << 20];
    for number in 1..20 {
        connections.segment(&segment(From::Client, number << 21, &large, 2));
        assert!(connections.held().of_a_stream <= HELD_MAX, "{:?}", connections.held());
    }
    connections.end();
    assert_eq!(connections.held(), Held::default());
}

#[test]
fn a_reply_whose_times_go_back_ends_no_earlier_than_it_begins() {
    let mut talk = Talk::ordinary(2);
    // The first reply's second segment, by a clock that was set back.
    talk.packets[8].0 -= 3_000;
    let connections = talk.gathered();
    for one in connections.gathered.exchanges.kept() {
        assert!(one.first_s <= one.time_s, "{one:?}");
    }
    assert_eq!(connections.gathered.exchanges.seen(), 2);
}
