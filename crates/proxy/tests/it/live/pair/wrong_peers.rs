//! Who is no pair gets, or is, a clear error within a deadline.
//!
//! Not here: keys (`keys`).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::peer::{Nobody, PATIENCE};
use lab::real::{Kind, required};
use lab::wait::wait_until;
use proxy::{Address, Config, Proxy};
use wire::pair::{CodecSet, Event, Hello, Mode, Preamble, Reader, VERSION, Writer};
use wire::response::ErrPacket;

use super::{pair_dialer, pair_listener};
use crate::live::client::{Client, Terms};

/// For a wait that is to end with the limit.
const LIMIT: Duration = Duration::from_secs(2);

fn listener(limit: Duration) -> Proxy {
    let nowhere = "127.0.0.1:1".parse().unwrap();
    Proxy::start(pair_listener(nowhere, |config| config.login_timeout = limit)).unwrap()
}

/// What a peer of a pair listener gets that says `words`.
fn told(listener: &Proxy, words: &[u8]) -> Vec<u8> {
    let Address::Tcp { host, port } = listener.address() else { panic!("no TCP address") };
    let mut stream = TcpStream::connect((host.as_str(), *port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
    stream.write_all(words).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn whoever_connects_to_a_pair_listener_and_is_no_pair_is_told_in_its_own_protocol() {
    let listener = listener(PATIENCE);
    let begun = Instant::now();
    // A MySQL client waits for a greeting.
    let refusal = Client::connect(listener.address(), &Terms::default()).err().unwrap();
    assert_eq!(refusal.code, 1043);
    assert!(refusal.to_string().contains("This is a wirepress pair listener"), "{refusal}");
    let http = String::from_utf8(told(&listener, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")).unwrap();
    assert!(http.starts_with("HTTP/1.1 400 ") && http.contains("pair listener"), "{http}");
    assert_eq!(told(&listener, b"\x16\x03\x01\x02\x00\x01\x00"), b"");
    let garbage = told(&listener, b"what is this");
    assert!(ErrPacket::parse(&garbage[4..]).unwrap().to_string().contains("pair listener"));
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    wait_until("four foreign peers", || {
        listener.counters().faults_of(wire::Side::Client, "pair_peer_foreign") == 4
    });
    assert_eq!(listener.counters().sessions(), 0, "none of them is a session");
}

#[test]
fn a_magic_that_is_followed_by_silence_ends_at_the_deadline() {
    let listener = listener(LIMIT);
    let begun = Instant::now();
    assert_eq!(told(&listener, b"\x89WPPAIRC"), b"\x89WPPAIRC");
    assert!(begun.elapsed() < LIMIT * 5, "{:?}", begun.elapsed());
    wait_until("one timeout", || listener.counters().faults_of(wire::Side::Client, "timed_out") == 1);
}

/// The error that a client of a pair's dialer gets, whose other half is at `peer` and has `limit` to answer.
fn refusal(peer: Address, limit: Duration) -> String {
    let dialer = Proxy::start(pair_dialer(peer, |config| config.connect_timeout = limit)).unwrap();
    Client::connect(dialer.address(), &Terms::default()).err().unwrap().to_string()
}

#[test]
fn a_mysql_server_where_a_pair_is_expected_is_named() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let told = refusal(server.address().into(), PATIENCE);
        assert!(told.contains("no wirepress pair") && told.contains("a MySQL server's greeting"), "{told}");
    }
}

#[test]
fn other_peers_where_a_pair_is_expected_are_named_and_a_silent_one_is_given_up() {
    for (words, limit, reason) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], PATIENCE, "look like HTTP"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", PATIENCE, "look like SSH"),
        (b"", LIMIT, "nothing came for 2 s"),
        (b"\x89WPPAIRX\x05\0never", PATIENCE, "the pair refused: never"),
    ] {
        let peer = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = peer.local_addr().unwrap().into();
        let held = thread::spawn(move || {
            let (mut stream, _) = peer.accept().unwrap();
            stream.write_all(words).unwrap();
            // Until the dialer gives up.
            std::io::copy(&mut stream, &mut std::io::sink()).ok()
        });
        let told = refusal(address, limit);
        assert!(told.contains("1429") && told.contains(reason), "{told}");
        assert!(held.join().is_ok());
    }
    let nobody = Nobody::new().unwrap();
    let told = refusal(nobody.address().unwrap().into(), PATIENCE);
    assert!(told.contains("1429") && told.contains("refused"), "{told}");
}

/// A half that agrees to everything and closes when a session begins; once it has seen too many it is gone.
struct Quitter {
    /// Streams that are ready for a session.
    ready: AtomicUsize,
    sessions: AtomicUsize,
}

const TOO_MANY: usize = 30;

impl Quitter {
    fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        while self.sessions.load(Ordering::SeqCst) < TOO_MANY {
            let Ok((stream, _)) = listener.accept() else { return };
            let quitter = Arc::clone(self);
            thread::spawn(move || quitter.converse(stream));
        }
    }

    fn converse(&self, mut stream: TcpStream) -> Option<()> {
        let mut words = Preamble::Mode(Mode::Clear).build();
        let codecs = CodecSet::default();
        let hello =
            Hello { versions: (VERSION, VERSION), codecs, proof: None, program: "quitter".to_owned() };
        Writer::hello(&hello, &mut words).ok()?;
        stream.write_all(&words).ok()?;
        let mut received = vec![0; Preamble::Mode(Mode::Clear).build().len()];
        stream.read_exact(&mut received).ok()?;
        received.clear();
        let (mut reader, mut piece) = (Reader::default(), [0; 1024]);
        loop {
            while let Some((len, event)) = reader.read(&received, &mut Vec::new()).ok()? {
                received.drain(..len);
                match event {
                    Event::Hello(_) => _ = self.ready.fetch_add(1, Ordering::SeqCst),
                    Event::Open(_) => {
                        self.sessions.fetch_add(1, Ordering::SeqCst);
                        self.ready.fetch_sub(1, Ordering::SeqCst);
                        wait_until("another stream is warm", || self.ready.load(Ordering::SeqCst) > 0);
                        return None;
                    }
                    _ => return None,
                }
            }
            match stream.read(&mut piece).ok()? {
                0 => return None,
                len => received.extend_from_slice(&piece[..len]),
            }
        }
    }
}

#[test]
fn a_half_that_closes_each_session_is_tried_a_few_times_and_the_client_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let quitter = Arc::new(Quitter { ready: AtomicUsize::new(0), sessions: AtomicUsize::new(0) });
    let accepting = Arc::clone(&quitter);
    thread::spawn(move || accepting.accept_all(&listener));
    let dialer = pair_dialer(address.into(), |config| {
        config.connect_timeout = LIMIT * 5;
        config.pair.warm_connections = 2;
    });
    let dialer = Proxy::start(Config { workers: 1, ..dialer.into() }).unwrap();
    let told = Client::connect(dialer.address(), &Terms::default()).err().unwrap();
    assert_eq!(told.code, 1429, "{told}");
    let sessions = quitter.sessions.load(Ordering::SeqCst);
    // Two that were warm, one that may have met a reload, and another.
    assert!((2..=4).contains(&sessions), "{sessions} tries");
}
