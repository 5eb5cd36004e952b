//! Segments of a few connections in any order, lost, cut, sent again and beginning anew: what is put together again is
//! in order, nothing of it comes twice, and a hole is told.
//!
//! ```text
//!  a stream's bytes    | generation 2 | place 6 | generation 2 | place 6 | ...    each eight say where they belong
//! ```
//! The file under test is compiled here by itself, above a session that only reads places.
//! Not here: what is in a stream, and files (`capture`).
#![no_main]

#[allow(dead_code, unreachable_pub, reason = "written for the advisor, which uses all of it")]
#[path = "../../crates/bench/src/advise/observed/rate.rs"]
mod rate;
#[allow(dead_code, unreachable_pub, reason = "written for the advisor, which uses all of it")]
#[path = "../../crates/bench/src/advise/observed/segment.rs"]
mod segment;
#[allow(dead_code, unreachable_pub, reason = "written for the advisor, which uses all of it")]
#[path = "../../crates/bench/src/advise/observed/tcp.rs"]
mod tcp;

use std::net::SocketAddr;
use std::time::Duration;

use gathered::Gathered;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use segment::Segment;
use tcp::{ALL_HELD_MAX, Connections, HELD_MAX};

/// What happens next on a connection, from one of its sides.
#[derive(Arbitrary, Debug)]
struct Step {
    connection: u8,
    is_from_server: bool,
    passed_ms: u8,
    what: What,
}

#[derive(Arbitrary, Debug)]
enum What {
    /// Of a new connection, if there is a number, or the same again.
    Syn(Option<u32>),
    /// From a place that is so far from the end of what was sent; `captured` is what the snap length leaves.
    Data {
        shift: i16,
        units: u16,
        captured: u16,
        acknowledges: Option<i8>,
    },
    /// The other side has all up to a place that is so far from the end of what it was sent.
    Acknowledge {
        shift: i16,
    },
    Fin,
    Reset,
}

/// One direction, as its sender knows it.
#[derive(Clone, Copy, Default)]
struct Sent {
    first: u32,
    generation: u16,
    units: u64,
}

impl Sent {
    fn place(self, shift: i16) -> u64 {
        self.units.saturating_add_signed(shift.into())
    }

    fn sequence(self, place: u64) -> u32 {
        self.first.wrapping_add(1).wrapping_add((place as u32).wrapping_mul(UNIT_LEN as u32))
    }
}

fuzz_target!(|input: ([u32; 2], Vec<Step>)| {
    let (firsts, steps) = input;
    let mut sent = [[0, 1].map(|side| Sent { first: firsts[side], ..Sent::default() }); CONNECTIONS];
    let mut connections = Connections::new(PORT, Gathered::default());
    let mut at = Duration::ZERO;
    for Step { connection, is_from_server, passed_ms, what } in steps {
        at += Duration::from_millis(passed_ms.into());
        let connection = usize::from(connection) % CONNECTIONS;
        let client = SocketAddr::from(([10, 0, 0, 1], 40_000 + connection as u16));
        let server = SocketAddr::from(([10, 0, 0, 2], PORT));
        let (source, destination) = if is_from_server { (server, client) } else { (client, server) };
        let [to_server, to_client] = &mut sent[connection];
        let (own, other) = if is_from_server { (to_client, to_server) } else { (to_server, to_client) };
        let mut payload = Vec::new();
        let mut segment = Segment {
            source,
            destination,
            sequence: own.sequence(own.units),
            acknowledges: None,
            is_syn: matches!(what, What::Syn(_)),
            is_fin: matches!(what, What::Fin),
            is_reset: matches!(what, What::Reset),
            payload: &[],
            payload_len: 0,
            at,
        };
        match what {
            What::Syn(first) => {
                if let Some(first) = first.filter(|first| *first != own.first) {
                    *own = Sent { first, generation: own.generation.wrapping_add(1), units: 0 };
                }
                segment.sequence = own.first;
            }
            What::Data { shift, units, captured, acknowledges } => {
                let begin = own.place(shift);
                let end = begin + u64::from(units);
                for place in begin..begin + u64::from(units.min(captured)) {
                    payload.extend(u64::from(own.generation).to_be_bytes()[6..].iter());
                    payload.extend(&place.to_be_bytes()[2..]);
                }
                own.units = own.units.max(end);
                segment.sequence = own.sequence(begin);
                segment.payload_len = usize::from(units) * UNIT_LEN;
                segment.acknowledges = acknowledges.map(|shift| other.sequence(other.place(shift.into())));
            }
            What::Acknowledge { shift } => segment.acknowledges = Some(other.sequence(other.place(shift))),
            What::Fin | What::Reset => {}
        }
        segment.payload = &payload;
        connections.segment(&segment);
        let held = connections.held();
        assert_eq!(held.counted, held.of_all);
        assert!(held.of_a_stream <= HELD_MAX && held.of_all <= ALL_HELD_MAX, "{held:?}");
    }
    connections.end();
    assert_eq!(connections.held(), tcp::Held::default());
    assert_eq!(connections.gathered.begun, connections.gathered.ended);
});

/// A session that wants every byte once, in order.
mod session {
    use std::time::Duration;

    use wire::Direction;

    use super::UNIT_LEN;
    use super::gathered::Gathered;

    #[derive(Default)]
    pub(super) struct Session {
        /// Of each direction, the generation and place of the last unit.
        last: [Option<(u16, u64)>; 2],
        /// Of each direction: units were lost since.
        is_lost: [bool; 2],
    }

    impl Session {
        pub(super) fn from_beginning(gathered: &mut Gathered) -> Self {
            gathered.begun += 1;
            Self::default()
        }

        pub(super) fn from_middle(gathered: &mut Gathered) -> Self {
            Self::from_beginning(gathered)
        }

        pub(super) fn held_bytes(&self) -> usize {
            0
        }

        pub(super) fn bytes(&mut self, direction: Direction, bytes: &[u8], _: Duration, _: &mut Gathered) {
            let side = usize::from(direction == Direction::ToClient);
            let units = bytes.chunks_exact(UNIT_LEN);
            assert!(units.remainder().is_empty());
            for unit in units {
                let unit = u64::from_be_bytes(unit.try_into().expect("eight bytes"));
                let (generation, place) = ((unit >> 48) as u16, unit & ((1 << 48) - 1));
                if let Some(last) = self.last[side] {
                    assert!((generation, place) > last, "{place} of {generation} after {last:?}");
                    let follows = last.0 != generation || last.1 + 1 == place;
                    assert!(follows || self.is_lost[side], "nobody told of a hole before {place}");
                }
                self.last[side] = Some((generation, place));
                self.is_lost[side] = false;
            }
        }

        pub(super) fn lose(&mut self, _: &mut Gathered) {
            self.is_lost = [true; 2];
        }

        pub(super) fn end(&mut self, gathered: &mut Gathered) {
            gathered.ended += 1;
        }
    }
}

/// Counts sessions.
mod gathered {
    #[derive(Default)]
    pub(super) struct Gathered {
        pub(super) begun: u64,
        pub(super) ended: u64,
    }
}

/// Their ports are the clients'.
const CONNECTIONS: usize = 3;
const PORT: u16 = 3306;
/// Bytes that say where they belong.
const UNIT_LEN: usize = 8;
