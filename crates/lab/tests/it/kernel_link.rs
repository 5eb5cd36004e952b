//! Kernel links between real TCP stacks: bytes, time, losses, and what is left when they end.
//!
//! Times are checked from below exactly (a packet never arrives early) and from above not at all, because the machine
//! that runs tests is not idle. How fast the links are is measured by `wirepress bench links`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::generate::blob;
use lab::kernel_link::{KernelLink, Kind, RunningKernelLink};
use lab::real::root_or_skip;
use socket2::SockRef;

/// A connection over the link: the client's end, then the server's.
fn connect(link: &RunningKernelLink) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((link.server_ip(), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let client = link.in_client(|| TcpStream::connect(address)).unwrap().unwrap();
    let (server, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), link.client_ip());
    for end in [&client, &server] {
        end.set_nodelay(true).unwrap();
    }
    (client, server)
}

/// Sends `sent` and reads it back, all at once.
fn echo(link: &RunningKernelLink, sent: &[u8]) -> Vec<u8> {
    let (client, server) = connect(link);
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::io::copy(&mut &server, &mut &server).unwrap();
            server.shutdown(Shutdown::Write).unwrap();
        });
        scope.spawn(|| {
            (&client).write_all(sent).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        });
        (&client).read_to_end(&mut got).unwrap();
    });
    got
}

fn open(text: &str) -> RunningKernelLink {
    KernelLink::parse(text).unwrap().open().unwrap()
}

#[test]
fn bytes_arrive_unchanged_and_are_counted_each_way() {
    if !root_or_skip() {
        return;
    }
    // Single segments, large packets, no rate, tbf, veth alone.
    for text in ["100mbit,1ms", "1gbit,1ms", "unlimited,1ms,jitter=0.5ms", "200mbit", "unlimited"] {
        let link = open(text);
        let sent = blob(1, 1, 3_000_001);
        assert!(echo(&link, &sent) == sent, "{text}");
        link.check().unwrap();
        let traffic = link.traffic();
        // What was sent again counts again; a veth pair's bytes are an estimate.
        let exact = if link.kind() == Kind::Tun { 0 } else { 3_000 };
        for bytes in [traffic.to_server_bytes(), traffic.to_client_bytes()] {
            assert!(bytes + exact >= 3_000_001, "{text}: {bytes}");
            assert!(bytes < 2 * 3_000_001, "{text}: {bytes}");
        }
        assert!(link.cpu() > Duration::ZERO, "{text}");
    }
}

#[test]
fn a_round_trip_takes_at_least_what_was_asked_for() {
    if !root_or_skip() {
        return;
    }
    // What the pumps are usually woken late is taken off, 0.2 ms at most, once each way: it may be too much.
    let least = |round_trip| Duration::from_millis(round_trip) - Duration::from_micros(400);
    for (text, round_trip) in [("1gbit,4ms", 4), ("10mbit,20ms,jitter=1ms", 20)] {
        let link = open(text);
        let start = Instant::now();
        let (mut client, mut server) = connect(&link);
        assert!(start.elapsed() >= least(round_trip), "{text}: the handshake");
        for _ in 0..5 {
            let start = Instant::now();
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
            server.write_all(b"y").unwrap();
            client.read_exact(&mut [0]).unwrap();
            assert!(start.elapsed() >= least(round_trip), "{text}");
        }
    }
}

#[test]
fn nothing_is_faster_than_the_rate() {
    if !root_or_skip() {
        return;
    }
    for (text, kind) in [("80mbit", Kind::Tun), ("80mbit", Kind::Veth)] {
        let link = KernelLink::parse(text).unwrap().open_as(kind).unwrap();
        let (client, mut server) = connect(&link);
        // 10 MB/s of frames.
        let sent = vec![7; 2_000_000];
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| server.write_all(&sent).unwrap());
            (&client).read_exact(&mut vec![0; 2_000_000]).unwrap();
        });
        assert!(start.elapsed() >= Duration::from_millis(200), "{kind}: {:?}", start.elapsed());
    }
}

#[test]
fn packets_are_lost_and_tcp_sends_them_again() {
    if !root_or_skip() {
        return;
    }
    let link = open("unlimited,1ms,loss=2%");
    let sent = blob(2, 1, 2_000_000);
    assert!(echo(&link, &sent) == sent);
    let packets = link.packets().unwrap();
    assert!(packets.lost > 0 && packets.lost < packets.carried / 10, "{packets:?}");
    // What was lost was not delivered; what was sent again was, once or twice.
    assert!(link.traffic().bytes() >= 2 * 2_000_000);
}

#[test]
fn a_full_queue_refuses_packets() {
    if !root_or_skip() {
        return;
    }
    let link = open("1mbit,1ms");
    let server = UdpSocket::bind((link.server_ip(), 0)).unwrap();
    let address = server.local_addr().unwrap();
    let client = link.in_client(|| UdpSocket::bind((link.client_ip(), 0))).unwrap().unwrap();
    // The queue takes 64 KiB; this is four times as much at once.
    for _ in 0..200 {
        client.send_to(&[7; 1400], address).unwrap();
    }
    server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    server.recv_from(&mut [0; 1500]).unwrap();
    let packets = link.packets().unwrap();
    assert!(packets.refused > 100, "{packets:?}");
    assert_eq!(packets.lost, 0);
}

#[test]
fn both_sides_have_the_congestion_control_that_is_recorded() {
    if !root_or_skip() {
        return;
    }
    let default = "/proc/sys/net/ipv4/tcp_congestion_control";
    let before = std::fs::read_to_string(default).unwrap();
    for kind in [Kind::Tun, Kind::Veth] {
        let link = KernelLink::parse("unlimited").unwrap().open_as(kind).unwrap();
        let (client, server) = connect(&link);
        for end in [&client, &server] {
            let name = SockRef::from(end).tcp_congestion().unwrap();
            let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
            assert_eq!(name, link.congestion_control(), "{kind}");
        }
        assert_eq!(std::fs::read_to_string(default).unwrap(), before);
    }
}

#[test]
fn commands_run_on_the_clients_host() {
    if !root_or_skip() {
        return;
    }
    let link = open("unlimited,1ms");
    let exec = link.client_exec();
    let output = Command::new(exec[0]).args(&exec[1..]).args(["ip", "-o", "addr"]).output().unwrap();
    let addresses = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(addresses.contains(&link.client_ip().to_string()), "{addresses}");
    assert!(!addresses.contains(&link.server_ip().to_string()), "{addresses}");
}

/// Whether anything of a link with that address is left.
fn is_there(link_name: &str, server_ip: &str) -> bool {
    let output = Command::new("ip").args(["-o", "addr"]).output().unwrap();
    Path::new("/run/netns").join(link_name).exists()
        || String::from_utf8_lossy(&output.stdout).contains(&format!(" {server_ip}/"))
}

#[test]
fn nothing_is_left_of_a_link_even_after_a_panic() {
    if !root_or_skip() {
        return;
    }
    for text in ["10mbit,1ms", "10mbit"] {
        let mut seen = None;
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let link = open(text);
            let (_client, _server) = connect(&link);
            let name = (link.client_exec()[3].to_owned(), link.server_ip().to_string());
            assert!(is_there(&name.0, &name.1));
            seen = Some(name);
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        let (name, ip) = seen.unwrap();
        assert!(!is_there(&name, &ip), "{text}");
    }
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next() {
    if !root_or_skip() {
        return;
    }
    // No process has this id: the kernel's bound is 2^22.
    let leftover = "wirepress-4194999-0";
    let added = Command::new("ip").args(["netns", "add", leftover]).status().unwrap();
    assert!(added.success());
    let _link = open("10mbit,1ms");
    assert!(!Path::new("/run/netns").join(leftover).exists());
}
