//! A capture, whatever is in the file; or, if it is none, segments of a few connections on which MySQL is nearly spoken:
//! what is kept and held stays within its bounds, and nothing is held at the end.
//!
//! The files under test are compiled here by themselves, so that fuzzing needs no database and no TLS library.
//! Not here: the order that segments are put into (`reassembly`).
#![no_main]

/// The advisor's files, flat: what they call each other by stands below.
macro_rules! advisor {
    ($($name:ident $path:literal)*) => {$(
        #[allow(dead_code, unreachable_pub, reason = "written for the advisor, which uses all of it")]
        #[path = $path]
        mod $name;
    )*};
}

advisor! {
    capture "../../crates/bench/src/advise/observed/capture.rs"
    cursor "../../crates/bench/src/advise/observed/cursor.rs"
    frames "../../crates/bench/src/advise/observed/frames.rs"
    gathered "../../crates/bench/src/advise/observed/gathered.rs"
    rate "../../crates/bench/src/advise/observed/rate.rs"
    reservoir "../../crates/bench/src/advise/reservoir.rs"
    samples "../../crates/bench/src/advise/samples.rs"
    segment "../../crates/bench/src/advise/observed/segment.rs"
    sequence "../../crates/lab/src/generate/sequence.rs"
    session "../../crates/bench/src/advise/observed/session/mod.rs"
    tcp "../../crates/bench/src/advise/observed/tcp.rs"
}

mod advise {
    pub(crate) use crate::{reservoir, samples};
    pub(crate) mod observed {
        pub(crate) use crate::{cursor, gathered};
    }
}

/// This crate stands for the one that has the sequence.
extern crate self as lab;
pub mod generate {
    pub use crate::sequence::Sequence;
}

mod stats {
    pub(crate) const fn f64_of(count: usize) -> f64 {
        count as f64
    }
}

use std::net::SocketAddr;
use std::time::Duration;

use capture::CaptureFault;
use gathered::Gathered;
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use samples::{FRAME_BYTES, FRAMES_KEPT};
use segment::Segment;
use tcp::{ALL_HELD_MAX, Connections, HELD_MAX, Held};
use wire::connect::{Greeting, Login};
use wire::{Capabilities, frame, packet};

fuzz_target!(|input: &[u8]| {
    let mut connections = Connections::new(PORT, Gathered::with_queries(1));
    let end = capture::read(input, |captured| {
        if let Some(segment) = captured.segment() {
            connections.segment(&segment);
            check(&connections);
        }
        true
    });
    if end == Err(CaptureFault::NoCapture)
        && let Ok(steps) = Vec::<Step<'_>>::arbitrary(&mut Unstructured::new(input))
    {
        let mut talks = [Talk::default(); CONNECTIONS];
        for step in &steps {
            let client = usize::from(step.client) % CONNECTIONS;
            talks[client].take(step, client as u16, &mut connections);
            check(&connections);
        }
    }
    connections.end();
    check(&connections);
    assert_eq!(connections.held(), Held::default());
});

fn check(connections: &Connections) {
    let held = connections.held();
    assert_eq!(held.counted, held.of_all);
    assert!(held.of_a_stream <= HELD_MAX && held.of_all <= ALL_HELD_MAX, "{held:?}");
    assert!(held.of_a_session <= SESSION_HELD_MAX, "{held:?}");
    let gathered = &connections.gathered;
    assert!(gathered.frames.kept().len() <= FRAMES_KEPT);
    assert!(gathered.frames.kept().iter().all(|frame| frame.len() <= FRAME_BYTES));
    let counts = &gathered.counts;
    assert!(counts.used <= counts.sessions);
    assert!(gathered.exchanges.seen() >= counts.used);
    for one in gathered.exchanges.kept() {
        assert!(one.first_s >= 0.0 && one.first_s <= one.time_s && one.request_bytes > 0.0, "{one:?}");
    }
}

/// What one side of a connection does.
#[derive(Arbitrary, Debug)]
struct Step<'a> {
    client: u8,
    is_from_server: bool,
    passed_ms: u8,
    acknowledges: bool,
    fate: Fate,
    what: What<'a>,
}

/// What becomes of its segment.
#[derive(Arbitrary, Debug)]
enum Fate {
    Comes,
    ComesTwice,
    /// It was sent, and isn't in the capture.
    Lost,
    /// Behind its first bytes.
    Cut(u8),
}

#[derive(Arbitrary, Debug)]
enum What<'a> {
    Syn,
    Fin,
    Reset,
    Greeting {
        capabilities: u32,
    },
    Login {
        capabilities: u32,
    },
    Ok,
    /// A packet with the id that is due, or so far from it: the first byte, and the rest so many times.
    Packet {
        id: u8,
        first: u8,
        rest: &'a [u8],
        times: u8,
    },
    Frame {
        packed_len: u16,
        plain_len: u16,
        body_len: u16,
    },
    Bytes(&'a [u8]),
}

/// A connection as its two sides know it.
#[derive(Clone, Copy, Default)]
struct Talk {
    at: Duration,
    next: [u32; 2],
    id: u8,
}

impl Talk {
    fn take(&mut self, step: &Step<'_>, client: u16, connections: &mut Connections) {
        self.at += Duration::from_millis(step.passed_ms.into());
        let client = SocketAddr::from(([10, 0, 0, 1], 40_000 + client));
        let server = SocketAddr::from(([10, 0, 0, 2], PORT));
        let side = usize::from(step.is_from_server);
        let (source, destination) = if step.is_from_server { (server, client) } else { (client, server) };
        let bytes = self.bytes(&step.what, step.is_from_server);
        let captured_len = match step.fate {
            Fate::Cut(len) => bytes.len().min(len.into()),
            _ => bytes.len(),
        };
        let segment = Segment {
            source,
            destination,
            sequence: self.next[side],
            acknowledges: step.acknowledges.then_some(self.next[1 - side]),
            is_syn: matches!(step.what, What::Syn),
            is_fin: matches!(step.what, What::Fin),
            is_reset: matches!(step.what, What::Reset),
            payload: &bytes[..captured_len],
            payload_len: bytes.len(),
            at: self.at,
        };
        let times = match step.fate {
            Fate::Lost => 0,
            Fate::Comes | Fate::Cut(_) => 1,
            Fate::ComesTwice => 2,
        };
        (0..times).for_each(|_| connections.segment(&segment));
        let counted = bytes.len() as u32 + u32::from(segment.is_syn);
        self.next[side] = self.next[side].wrapping_add(counted);
    }

    fn bytes(&mut self, what: &What<'_>, is_from_server: bool) -> Vec<u8> {
        match *what {
            What::Syn | What::Fin | What::Reset => Vec::new(),
            What::Greeting { capabilities } => {
                let greeting = Greeting {
                    server_version: b"9.7.4".to_vec(),
                    thread_id: 7,
                    nonce: vec![1; 20],
                    capabilities: Capabilities::from_bits(capabilities, 0) | base(),
                    charset: 45,
                    status: 2,
                    auth_plugin: b"caching_sha2_password".to_vec(),
                };
                self.packet(0, &greeting.build())
            }
            What::Login { capabilities } => {
                let capabilities = Capabilities::from_bits(capabilities, 0) | base();
                self.packet(1, &Login { capabilities, user: b"me".to_vec(), ..Login::default() }.build())
            }
            What::Ok => self.packet(self.id, &[0, 0, 0, 2, 0, 0, 0]),
            What::Packet { id, first, rest, times } => {
                // A client begins anew.
                let id = if is_from_server { self.id.wrapping_add(id) } else { id };
                let mut payload = vec![first];
                payload.extend(rest.repeat(times.into()));
                self.packet(id, &payload)
            }
            What::Frame { packed_len, plain_len, body_len } => {
                let header = frame::Header {
                    packed_len: packed_len.into(),
                    sequence_id: 0,
                    plain_len: plain_len.into(),
                };
                let mut bytes = header.build().to_vec();
                bytes.resize(bytes.len() + usize::from(body_len), 9);
                bytes
            }
            What::Bytes(bytes) => bytes.to_vec(),
        }
    }

    fn packet(&mut self, id: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.id = packet::split(payload, id, &mut bytes);
        bytes
    }
}

fn base() -> Capabilities {
    Capabilities::LONG_PASSWORD | Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION
}

/// Their ports are the clients'.
const CONNECTIONS: usize = 3;
const PORT: u16 = 3306;
/// A statement that is wanted, and a frame.
const SESSION_HELD_MAX: usize = (1 << 20) + FRAME_BYTES;
