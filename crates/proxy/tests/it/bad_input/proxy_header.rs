//! Trusted peers: every form of PROXY header that is good, and what is told and counted of those that are not.
//!
//! Not here: the headers' own rules (`wire::proxy_protocol`), real senders and receivers (`live::proxy_protocol`),
//! peers that are not trusted (`first_bytes`).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use codec::Algorithm;
use lab::peer::{PATIENCE, Peer, packets};
use proxy::{ListenerConfig, SendProxy};
use socket2::SockRef;
use wire::connect::{Greeting, Login};
use wire::proxy_protocol::{Address, Header, Options, build_v1, build_v2, parse};
use wire::{Capabilities, Side};

use super::{SOON, assert_counted, assert_told};
use crate::scripted::{OK, Stage, Transport, greeting, login};

const CRC: Options = Options { crc32c: true };
const NO_CRC: Options = Options { crc32c: false };

fn tcp(source: &str, destination: &str) -> Header {
    let address = |text: &str| Address::Tcp(text.parse().unwrap());
    Header::proxied(address(source), address(destination))
}

fn client_header() -> Header {
    tcp("192.0.2.1:51874", "192.0.2.2:3306")
}

fn trusting(config: &mut ListenerConfig) {
    config.proxy_protocol_from = vec!["127.0.0.0/8".parse().unwrap(), "unix".parse().unwrap()];
}

fn stage() -> Stage {
    Stage::with(Transport::Tcp, trusting)
}

/// Waits until every session has ended; `meanwhile` is done again and again.
fn wait_until_ended(stage: &Stage, sessions: u64, mut meanwhile: impl FnMut()) {
    let (counters, begun) = (stage.proxy.counters(), Instant::now());
    while counters.sessions() < sessions || counters.sessions_open() > 0 {
        assert!(begun.elapsed() < PATIENCE, "a session does not end");
        meanwhile();
        std::thread::yield_now();
    }
}

fn assert_not_dialled(stage: &Stage) {
    assert!(stage.listener.accept_waiting().unwrap().is_none(), "the server was dialled");
}

/// A server whose clients may have connection attributes.
fn greeting_with_attributes() -> Vec<u8> {
    let capabilities = greeting().capabilities | Capabilities::CONNECT_ATTRS;
    packets(0, [Greeting { capabilities, ..greeting() }.build().as_slice()])
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        wire::write_lenenc_bytes(&mut out, text.as_bytes());
    }
    out
}

fn attribute(attributes: &[u8], wanted: &str) -> Vec<String> {
    let (mut reader, mut found) = (wire::Reader::new(attributes), Vec::new());
    while !reader.is_empty() {
        let (name, value) = (reader.lenenc_bytes().unwrap(), reader.lenenc_bytes().unwrap());
        if name == wanted.as_bytes() {
            found.push(String::from_utf8(value.to_vec()).unwrap());
        }
    }
    found
}

/// The rest of a session whose client has sent its header; the server is told that the client is `ip` and `port`.
fn assert_served(mut client: Peer, stage: &Stage, ip: Option<&str>, port: Option<&str>) {
    let mut server = stage.listener.accept().unwrap();
    server.send(&greeting_with_attributes()).unwrap();
    client.receive().unwrap();
    let forged = attributes(&[("_client_ip", "203.0.113.66"), ("_os", "Linux"), ("_client_port", "1")]);
    let own = login(Algorithm::Uncompressed);
    let capabilities = own.capabilities | Capabilities::CONNECT_ATTRS;
    let own = Login { capabilities, attributes: Some(forged.clone()), ..own };
    client.send(&packets(1, [own.build().as_slice()])).unwrap();
    let received = Login::parse(&server.receive().unwrap().payload).unwrap().attributes.unwrap();
    assert_attributes(&received, &forged, ip, port);
    server.send(&packets(2, [OK])).unwrap();
    client.receive().unwrap();

    let change_user = |plugin: &[u8], behind: &[u8]| {
        let mut command = [b"\x11tester\0\0db\0\x2d\0", plugin, b"\0"].concat();
        wire::write_lenenc_bytes(&mut command, behind);
        command
    };
    client.send(&packets(0, [change_user(b"caching_sha2_password", &forged).as_slice()])).unwrap();
    server.start_frames(Algorithm::Zstd);
    let command = server.receive().unwrap().payload;
    let behind = command.windows(9).position(|window| window == b"password\0").unwrap() + 9;
    let received = wire::Reader::new(&command[behind..]).lenenc_bytes().unwrap().to_vec();
    assert_attributes(&received, &forged, ip, port);
    server.send(&server.wrap(server.next_id(), [OK], usize::MAX)).unwrap();
    assert_eq!(client.receive().unwrap().payload, OK);
}

fn assert_attributes(received: &[u8], forged: &[u8], ip: Option<&str>, port: Option<&str>) {
    assert_eq!(attribute(received, "_os"), ["Linux"]);
    match ip {
        Some(ip) => assert_eq!(attribute(received, "_client_ip"), [ip]),
        // The proxy knows nothing better of a client on a Unix socket.
        None => assert_eq!(received, forged),
    }
    match port {
        Some(port) => assert_eq!(attribute(received, "_client_port"), [port]),
        None => assert_ne!(attribute(received, "_client_port"), ["51874"]),
    }
}

#[test]
fn every_header_names_the_client_in_one_piece_and_byte_by_byte() {
    let (v4, v6) = (client_header(), tcp("[2001:db8::1]:51874", "[2001:db8::2]:3306"));
    let unspec = [&build_v2(&Header::LOCAL, NO_CRC)[..12], &[0x21, 0, 0, 0]].concat();
    let mapped = tcp("[::ffff:192.0.2.1]:51874", "[2001:db8::2]:3306");
    for (header, ip) in [
        (build_v1(&v4), Some("192.0.2.1")),
        (build_v1(&v6), Some("2001:db8::1")),
        (build_v2(&v4, NO_CRC), Some("192.0.2.1")),
        (build_v2(&v4, CRC), Some("192.0.2.1")),
        (build_v2(&v6, CRC), Some("2001:db8::1")),
        (build_v2(&mapped, CRC), Some("192.0.2.1")),
        (build_v2(&Header::LOCAL, CRC), None),
        (b"PROXY UNKNOWN 192.0.2.1 192.0.2.2 51874 3306\r\n".to_vec(), None),
        (unspec, None),
    ] {
        for transport in [Transport::Tcp, Transport::Unix] {
            let stage = Stage::with(transport, trusting);
            let real_ip = if transport == Transport::Tcp { Some("127.0.0.1") } else { None };
            for pieces in [vec![header.as_slice()], header.chunks(1).collect()] {
                let mut client = stage.connect();
                client.send_pieces(&pieces).unwrap();
                assert_served(client, &stage, ip.or(real_ip), ip.map(|_| "51874"));
            }
        }
    }
}

#[test]
fn what_is_no_header_is_named_and_no_server_is_dialled() {
    let v2 = build_v2(&client_header(), CRC);
    let mut wrong_sum = v2.clone();
    *wrong_sum.last_mut().unwrap() ^= 1;
    let over_long = [&v2[..14], &4096_u16.to_be_bytes()].concat();
    let datagrams = [&v2[..13], &[0x12], &v2[14..]].concat();
    let cut_addresses = [&v2[..14], &[0, 11], &v2[16..]].concat();
    let a_login = packets(1, [login(Algorithm::Zstd).build().as_slice()]);
    let line_of_108 = [&b"PROXY UNKNOWN "[..], &[b'x'; 94]].concat();
    for (bytes, text, cause) in [
        (&wrong_sum, "checksum", "proxy_header"),
        (&over_long, "4112 bytes", "proxy_header"),
        (&datagrams, "datagrams", "proxy_header"),
        (&cut_addresses, "less than its addresses", "proxy_header"),
        (&line_of_108, "107 bytes", "proxy_header"),
        (&b"PROXY TCP4 ::1 ::1 1 2\r\n".to_vec(), "announced family", "proxy_header"),
        (&b"PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n".to_vec(), "announced family", "proxy_header"),
        (&b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n".to_vec(), "CRLF", "proxy_header"),
        (&[v2.clone(), v2.clone()].concat(), "another one", "proxy_header"),
        (&[build_v1(&client_header()), v2.clone()].concat(), "another one", "proxy_header"),
        (&[v2, build_v1(&client_header())].concat(), "another one", "proxy_header"),
        (&a_login, "no PROXY protocol header", "proxy_header_missing"),
        (&b"GET / HTTP/1.1\r\n\r\n".to_vec(), "no PROXY protocol header", "proxy_header_missing"),
        (&b"PROXIMA".to_vec(), "no PROXY protocol header", "proxy_header_missing"),
        (&b"\r\n\r\n\0\r\nQUIT\r".to_vec(), "no PROXY protocol header", "proxy_header_missing"),
    ] {
        let stage = stage();
        let mut client = stage.connect();
        client.send(bytes).unwrap();
        let error = assert_told(&mut client, 1043, text);
        assert!(error.message.contains("--proxy-protocol-from"), "{error}");
        assert_eq!(error.sqlstate, None, "before a greeting errors have no state");
        drop(client);
        assert_counted(&stage, Side::Client, cause);
        assert_eq!(stage.proxy.counters().faults().keys().next().unwrap().1, "proxy_header");
        assert_not_dialled(&stage);
    }
}

#[test]
fn a_second_header_that_comes_later_is_named_too() {
    let stage = stage();
    let mut client = stage.connect();
    client.send(&build_v1(&client_header())).unwrap();
    let mut server = stage.listener.accept().unwrap();
    server.send(&greeting_with_attributes()).unwrap();
    client.receive().unwrap();
    client.send(&build_v1(&client_header())).unwrap();
    assert_told(&mut client, 1043, "a PROXY protocol header");
    assert_eq!(Login::parse(&server.receive().unwrap().payload).unwrap().user, b"wirepress_probe");
    drop((client, server));
    assert_counted(&stage, Side::Client, "not_mysql");
}

#[test]
fn a_header_that_does_not_come_is_not_waited_for_forever() {
    for sent in [0, 1, 20] {
        let stage = Stage::with(Transport::Tcp, |config| {
            trusting(config);
            config.login_timeout = SOON;
        });
        let begun = Instant::now();
        let mut client = stage.connect();
        client.send(&build_v2(&client_header(), CRC)[..sent]).unwrap();
        assert_told(&mut client, 1159, "a PROXY protocol header must come first");
        assert!(begun.elapsed() >= SOON);
        drop(client);
        assert_counted(&stage, Side::Client, "timed_out");
        assert_eq!(stage.proxy.counters().faults().keys().next().unwrap().1, "proxy_header");
        assert_not_dialled(&stage);
    }
}

#[test]
fn bytes_that_drip_do_not_move_the_deadline() {
    let stage = Stage::with(Transport::Tcp, |config| {
        trusting(config);
        config.login_timeout = SOON;
    });
    let (mut client, begun) = (stage.connect(), Instant::now());
    // A line of 107 bytes takes two seconds so.
    for byte in [&b"PROXY UNKNOWN "[..], &[b'x'; 90]].concat() {
        if client.send(&[byte]).is_err()
            || stage.proxy.counters().sessions_open() == 0 && begun.elapsed() > SOON
        {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(begun.elapsed() < Duration::from_millis(1900), "{:?}", begun.elapsed());
    drop(client);
    assert_counted(&stage, Side::Client, "timed_out");
}

/// A client's bare socket: header and end arrive together.
fn leave(stage: &Stage, header: &[u8], resets: bool) {
    let stream = TcpStream::connect(stage.proxy.address().to_string()).unwrap();
    let socket = SockRef::from(&stream);
    if resets {
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    }
    socket.send_with_flags(header, libc::MSG_MORE).unwrap();
}

#[test]
fn a_close_behind_the_header_dials_no_server_and_is_no_fault() {
    let stage = stage();
    let headers = [build_v2(&Header::LOCAL, NO_CRC), build_v1(&client_header())];
    for turn in 0..50 {
        leave(&stage, &headers[turn % 2], turn % 5 == 4);
        wait_until_ended(&stage, turn as u64 + 1, || {});
        assert_not_dialled(&stage);
    }
    assert_eq!(stage.proxy.counters().faults().len(), 0, "{:?}", stage.proxy.counters().faults());
}

#[test]
fn a_close_without_a_header_dials_no_server_and_is_no_fault() {
    let stage = stage();
    for turn in 1..=20 {
        let stream = TcpStream::connect(stage.proxy.address().to_string()).unwrap();
        if turn % 2 == 0 {
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        drop(stream);
        wait_until_ended(&stage, turn, || {});
    }
    assert_not_dialled(&stage);
    assert_eq!(stage.proxy.counters().faults().len(), 0, "{:?}", stage.proxy.counters().faults());
}

/// The close is seen only when the server was dialled already: its handshake is ended as nobody.
#[test]
fn a_close_some_time_behind_the_header_is_no_fault_and_leaves_no_broken_handshake() {
    let stage = stage();
    for turn in 1..=50 {
        let mut client = stage.connect();
        client.send(&build_v2(&Header::LOCAL, NO_CRC)).unwrap();
        if turn % 3 == 0 {
            let mut server = stage.listener.accept().unwrap();
            server.send(&greeting_with_attributes()).unwrap();
            client.receive().unwrap();
            drop(client);
            farewell(&mut server);
        } else {
            drop(client);
        }
        wait_until_ended(&stage, turn, || {
            if let Some(mut server) = stage.listener.accept_waiting().unwrap() {
                server.send(&greeting_with_attributes()).unwrap();
                farewell(&mut server);
            }
        });
    }
    assert_eq!(stage.proxy.counters().faults().len(), 0, "{:?}", stage.proxy.counters().faults());
}

fn farewell(server: &mut Peer) {
    assert_eq!(Login::parse(&server.receive().unwrap().payload).unwrap().user, b"wirepress_probe");
    server.send(&packets(2, [&b"\xff\x15\x04#28000Access denied"[..]])).unwrap();
    assert_eq!(server.receive_end().unwrap(), 0);
}

#[test]
fn who_leaves_in_the_middle_of_a_header_or_login_is_counted() {
    let header = build_v2(&client_header(), CRC);
    let half_login = packets(1, [login(Algorithm::Zstd).build().as_slice()])[..30].to_vec();
    let begins = stage();
    leave(&begins, &header[..20], false);
    assert_counted(&begins, Side::Client, "closed_early");
    assert_not_dialled(&begins);

    let logs_in = stage();
    let mut client = logs_in.connect();
    client.send(&header).unwrap();
    let mut server = logs_in.listener.accept().unwrap();
    server.send(&greeting_with_attributes()).unwrap();
    client.receive().unwrap();
    client.send(&half_login).unwrap();
    drop(client);
    farewell(&mut server);
    assert_counted(&logs_in, Side::Client, "closed_early");
}

#[test]
fn a_login_in_the_same_write_as_the_header_is_not_lost() {
    let stage = stage();
    let login = packets(1, [login(Algorithm::Uncompressed).build().as_slice()]);
    for header in
        [build_v1(&client_header()), build_v2(&client_header(), CRC), build_v2(&Header::LOCAL, NO_CRC)]
    {
        for behind_len in [1, 4, login.len() - 1, login.len()] {
            let mut client = stage.connect();
            client.send(&[&header, &login[..behind_len]].concat()).unwrap();
            let mut server = stage.listener.accept().unwrap();
            server.send(&packets(0, [greeting().build().as_slice()])).unwrap();
            client.receive().unwrap();
            client.send(&login[behind_len..]).unwrap();
            assert_eq!(Login::parse(&server.receive().unwrap().payload).unwrap().user, b"tester");
            server.send(&packets(2, [OK])).unwrap();
            assert_eq!(client.receive().unwrap().payload, OK);
        }
    }
}

#[test]
fn an_untrusted_peer_is_not_waited_for_and_its_header_is_no_login() {
    for trusted in [vec![], vec!["10.0.0.0/8".parse().unwrap(), "unix".parse().unwrap()]] {
        let stage = Stage::with(Transport::Tcp, |config| config.proxy_protocol_from = trusted);
        for header in [build_v1(&client_header()), build_v2(&client_header(), CRC)] {
            let mut session = stage.greeted();
            session.client.send(&header).unwrap();
            assert_told(&mut session.client, 1043, "a PROXY protocol header");
        }
        stage.open(Algorithm::Zstd).assert_alive();
        assert_eq!(stage.proxy.counters().faults_of(Side::Client, "not_mysql"), 2);
    }
}

#[test]
fn a_client_without_attributes_or_plugins_gets_what_its_packets_can_hold() {
    let stage = stage();
    for (flag, ip) in [(Capabilities::PLUGIN_AUTH, Some("192.0.2.1")), (Capabilities::NONE, None)] {
        let mut client = stage.connect();
        client.send(&build_v1(&client_header())).unwrap();
        let mut server = stage.listener.accept().unwrap();
        server.send(&greeting_with_attributes()).unwrap();
        client.receive().unwrap();
        let own = login(Algorithm::Uncompressed);
        let capabilities = (own.capabilities - Capabilities::PLUGIN_AUTH) | flag;
        client.send(&packets(1, [Login { capabilities, ..own }.build().as_slice()])).unwrap();
        let received = Login::parse(&server.receive().unwrap().payload).unwrap();
        assert_eq!(received.zstd_level, Some(3));
        let told = received.attributes.as_ref().map(|attributes| attribute(attributes, "_client_ip"));
        assert_eq!(told, ip.map(|ip| vec![ip.to_owned()]));
        server.send(&packets(2, [OK])).unwrap();
        client.receive().unwrap();
        server.start_frames(Algorithm::Zstd);
        // The command that ends where the oldest clients end it, and one with a plugin.
        let short = if ip.is_none() { &b"\x11me\0\0db\0"[..] } else { b"\x11me\0\0db\0\x2d\0p\0" };
        client.send(&packets(0, [short])).unwrap();
        let command = server.receive().unwrap().payload;
        assert!(command.starts_with(short));
        assert_eq!(command.len() == short.len(), ip.is_none());
        server.send(&server.wrap(server.next_id(), [OK], usize::MAX)).unwrap();
        assert_eq!(client.receive().unwrap().payload, OK);
    }
}

/// The header that a server gets, which says nothing before it has it whole.
fn header_to_server(stage: &Stage, listener: &TcpListener, mut client: Peer) -> Header {
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut received, mut room) = (Vec::new(), [0; 512]);
    let header = loop {
        let len = server.read(&mut room).unwrap();
        assert_ne!(len, 0);
        received.extend_from_slice(&room[..len]);
        if let Some((header, len)) = parse(&received).unwrap() {
            assert_eq!(len, received.len(), "nothing may follow before the greeting");
            break header;
        }
    };
    server.write_all(&greeting_with_attributes()).unwrap();
    client.receive().unwrap();
    drop((client, server));
    wait_until_ended(stage, 1, || {});
    header
}

#[test]
fn a_server_gets_the_header_before_it_greets() {
    let theirs = client_header();
    for version in [SendProxy::V1, SendProxy::V2] {
        for (transport, trusts) in [(Transport::Tcp, true), (Transport::Tcp, false), (Transport::Unix, false)]
        {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stage = Stage::with(transport, |config| {
                config.servers = vec![listener.local_addr().unwrap().into()];
                config.send_proxy = Some(version);
                if trusts {
                    trusting(config);
                }
            });
            let mut client = stage.connect();
            if trusts {
                client.send(&build_v2(&theirs, CRC)).unwrap();
            }
            let header = header_to_server(&stage, &listener, client);
            match (transport, trusts) {
                (_, true) => assert_eq!(header, theirs),
                (Transport::Tcp, false) => {
                    let Some(Address::Tcp(source)) = header.source else { panic!("{header:?}") };
                    let Some(Address::Tcp(destination)) = header.destination else { panic!("{header:?}") };
                    assert!(source.ip().is_loopback() && source.port() != 0);
                    assert_eq!(proxy::Address::from(destination), *stage.proxy.address());
                }
                (Transport::Unix, _) => assert_eq!((header.source, header.destination), (None, None)),
            }
        }
    }
}
