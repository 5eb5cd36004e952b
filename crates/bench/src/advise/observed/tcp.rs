//! Puts the segments of a capture together again: two streams per connection, in order.
//!
//! ```text
//!  segments ─▶ by addresses ─▶ by sequence number ─▶ Session
//!              SYN, SYN-ACK, ACK: the round trip, in two halves around the place of the capture
//! ```
//! A byte that the other side has acknowledged and that isn't in the capture will never be in it: a gap, behind which the
//! session is taken up again with the next whole command.
//!
//! Invariants: what is held out of order is bounded, by stream and in all; sequence numbers wrap; nothing is handed on
//! twice.
//!
//! Not here: packets and their headers (`segment`), the file (`pcap`).

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use wire::Direction;

use super::gathered::Gathered;
use super::rate::Highest;
use super::segment::Segment;
use super::session::Session;

/// All connections of a capture to one port.
pub(super) struct Connections {
    port: u16,
    by_ends: HashMap<(SocketAddr, SocketAddr), Connection>,
    held_bytes: usize,
    /// Sessions and what they held.
    pub(super) gathered: Gathered,
    /// Rate towards clients.
    pub(super) highest: Highest,
    /// What was seen of the network.
    pub(super) seen: Network,
}

/// What was seen of the network.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Segments with bytes, to and from the port.
    pub(super) segments: u64,
    /// Those that brought nothing new.
    pub(super) retransmitted: u64,
    /// Those that the snap length has cut.
    pub(super) cut: u64,
    /// Bytes that are missing, as often as there was a hole.
    pub(super) gaps: u64,
    /// Connections between two machines.
    pub(super) remote: u64,
    /// Most connections at once.
    pub(super) at_once: usize,
    /// Connections beyond [`CONNECTIONS_MAX`] at once.
    pub(super) crowded_out: u64,
    /// Between SYN and SYN-ACK: from here to the server and back, s.
    pub(super) server_halves_s: Vec<f64>,
    /// Between SYN and the client's ACK: the whole round trip, s.
    pub(super) round_trips_s: Vec<f64>,
    /// Bytes towards clients by server.
    pub(super) servers: HashMap<SocketAddr, u64>,
}

/// Bytes that wait.
#[cfg(any(test, fuzzing))]
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// As they are counted on the way.
    pub(super) counted: usize,
    /// Out of order, of all streams.
    pub(super) of_all: usize,
    /// Of the stream with most of them.
    pub(super) of_a_stream: usize,
    /// In order, of the session with most of them.
    pub(super) of_a_session: usize,
}

struct Connection {
    session: Session,
    to_server: Stream,
    to_client: Stream,
    handshake: Handshake,
}

#[derive(Clone, Copy)]
enum Handshake {
    Syn {
        at: Duration,
    },
    SynAck {
        syn_at: Duration,
        at: Duration,
    },
    /// Over, or not to be believed.
    Over,
}

/// One direction.
#[derive(Default)]
struct Stream {
    /// Sequence number of the next byte, once it is known.
    next: Option<u32>,
    /// What came too early, by its distance from the stream's first known byte.
    held: BTreeMap<u64, (Vec<u8>, Duration)>,
    held_bytes: usize,
    /// Bytes that were handed on or given up.
    passed: u64,
}

impl Connections {
    pub(super) fn new(port: u16, gathered: Gathered) -> Self {
        Self {
            port,
            by_ends: HashMap::new(),
            held_bytes: 0,
            gathered,
            highest: Highest::default(),
            seen: Network::default(),
        }
    }

    /// A segment to or from the port; others are left alone.
    pub(super) fn segment(&mut self, segment: &Segment<'_>) {
        let (direction, client, server) = if segment.destination.port() == self.port {
            (Direction::ToServer, segment.source, segment.destination)
        } else if segment.source.port() == self.port {
            (Direction::ToClient, segment.destination, segment.source)
        } else {
            return;
        };
        let ends = (client, server);
        let begins_anew = segment.is_syn && direction == Direction::ToServer;
        if segment.is_syn
            && let Some(old) = self.by_ends.get(&ends)
            && !old.stream(direction).begins_behind(segment.sequence)
        {
            self.close(&ends);
        }
        if !self.by_ends.contains_key(&ends) {
            // The end of a connection that is over, or that nobody knows, begins none.
            if segment.payload_len == 0 && !segment.is_syn {
                return;
            }
            if self.by_ends.len() >= CONNECTIONS_MAX {
                self.seen.crowded_out += 1;
                return;
            }
            let connection = Connection::new(segment, begins_anew, &mut self.gathered);
            self.by_ends.insert(ends, connection);
            self.seen.remote += u64::from(client.ip() != server.ip());
            self.seen.at_once = self.seen.at_once.max(self.by_ends.len());
        }
        let Some(connection) = self.by_ends.get_mut(&ends) else { return };
        connection.handshake(segment, direction, &mut self.seen);
        if direction == Direction::ToClient && segment.payload_len > 0 {
            if self.seen.servers.len() < KEPT_MAX || self.seen.servers.contains_key(&server) {
                *self.seen.servers.entry(server).or_default() += segment.payload_len as u64;
            }
            self.highest.add(segment.at, segment.payload_len as u64);
        }
        let mut to = Hand {
            session: &mut connection.session,
            gathered: &mut self.gathered,
            seen: &mut self.seen,
            held_bytes: &mut self.held_bytes,
        };
        let (own, other, back) = match direction {
            Direction::ToServer => {
                (&mut connection.to_server, &mut connection.to_client, Direction::ToClient)
            }
            Direction::ToClient => {
                (&mut connection.to_client, &mut connection.to_server, Direction::ToServer)
            }
        };
        if let Some(acknowledged) = segment.acknowledges {
            other.acknowledged(acknowledged, back, &mut to);
        }
        own.take(segment, direction, &mut to);
        if segment.is_reset || (segment.is_fin && connection.is_ending(direction)) {
            self.close(&ends);
        }
    }

    /// The capture is over.
    pub(super) fn end(&mut self) {
        let all: Vec<_> = self.by_ends.keys().copied().collect();
        for ends in all {
            self.close(&ends);
        }
    }

    /// What is held, counted anew.
    #[cfg(any(test, fuzzing))]
    pub(super) fn held(&self) -> Held {
        let mut held = Held { counted: self.held_bytes, ..Held::default() };
        for connection in self.by_ends.values() {
            for stream in [&connection.to_server, &connection.to_client] {
                let bytes = stream.held.values().map(|(bytes, _)| bytes.len() + HELD_OVERHEAD).sum();
                held.of_all += bytes;
                held.of_a_stream = held.of_a_stream.max(bytes);
            }
            held.of_a_session = held.of_a_session.max(connection.session.held_bytes());
        }
        held
    }

    fn close(&mut self, ends: &(SocketAddr, SocketAddr)) {
        if let Some(mut connection) = self.by_ends.remove(ends) {
            self.held_bytes -= connection.to_server.held_bytes + connection.to_client.held_bytes;
            connection.session.end(&mut self.gathered);
        }
    }
}

impl Connection {
    fn new(segment: &Segment<'_>, begins: bool, gathered: &mut Gathered) -> Self {
        let is_from_beginning = begins || segment.is_syn;
        Self {
            session: if is_from_beginning {
                Session::from_beginning(gathered)
            } else {
                Session::from_middle(gathered)
            },
            to_server: Stream::default(),
            to_client: Stream::default(),
            handshake: if begins { Handshake::Syn { at: segment.at } } else { Handshake::Over },
        }
    }

    fn handshake(&mut self, segment: &Segment<'_>, direction: Direction, seen: &mut Network) {
        self.handshake = match (self.handshake, direction, segment.is_syn) {
            // The same packet on a further interface of the capture; TCP itself waits longer before it sends one again.
            (Handshake::Syn { at }, Direction::ToServer, true)
            | (Handshake::SynAck { at, .. }, Direction::ToClient, true)
                if segment.at.saturating_sub(at) < SENT_AGAIN_MIN =>
            {
                return;
            }
            (Handshake::Syn { at }, Direction::ToClient, true) => {
                Handshake::SynAck { syn_at: at, at: segment.at }
            }
            (Handshake::SynAck { syn_at, at }, Direction::ToServer, false) => {
                if seen.round_trips_s.len() < KEPT_MAX {
                    seen.server_halves_s.push(at.saturating_sub(syn_at).as_secs_f64());
                    seen.round_trips_s.push(segment.at.saturating_sub(syn_at).as_secs_f64());
                }
                Handshake::Over
            }
            // One of the three was sent twice: nobody knows which of them was answered.
            (Handshake::Syn { .. } | Handshake::SynAck { .. }, _, true) => Handshake::Over,
            (other, ..) => other,
        };
    }

    const fn stream(&self, direction: Direction) -> &Stream {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }

    /// The server's end is the end; the client's is not, as its last reply may still come.
    const fn is_ending(&self, direction: Direction) -> bool {
        matches!(direction, Direction::ToClient) || self.to_client.next.is_none()
    }
}

/// Where bytes go, and what is counted on their way.
struct Hand<'a> {
    session: &'a mut Session,
    gathered: &'a mut Gathered,
    seen: &'a mut Network,
    held_bytes: &'a mut usize,
}

impl Stream {
    /// Whether this is the number of its SYN, as far as is known: another one is another connection's.
    fn begins_behind(&self, syn: u32) -> bool {
        self.next.is_none_or(|next| next.wrapping_sub(as_sequence(self.passed)) == syn.wrapping_add(1))
    }

    fn take(&mut self, segment: &Segment<'_>, direction: Direction, to: &mut Hand<'_>) {
        if segment.is_syn {
            self.next.get_or_insert_with(|| segment.sequence.wrapping_add(1));
            return;
        }
        if segment.payload_len == 0 {
            return;
        }
        to.seen.segments += 1;
        let next = *self.next.get_or_insert(segment.sequence);
        let ahead = distance(next, segment.sequence);
        let end = ahead + segment.payload_len as i64;
        if end <= 0 {
            // A byte before the next one is how an idle connection is kept alive.
            to.seen.retransmitted += u64::from(segment.payload_len > 1);
            return;
        }
        if segment.payload.len() < segment.payload_len {
            to.seen.cut += 1;
        }
        if ahead > 0 {
            self.hold(ahead.unsigned_abs(), segment, to);
            // What is next may be small, and what has come large.
            while self.held_bytes > HELD_MAX || *to.held_bytes > ALL_HELD_MAX {
                let Some(place) = self.held.keys().next() else { break };
                self.lose(place.saturating_sub(self.passed), direction, to);
            }
            return;
        }
        let already = usize::try_from(ahead.unsigned_abs()).unwrap_or(usize::MAX);
        let bytes = segment.payload.get(already..).unwrap_or_default();
        self.hand(bytes, segment.payload_len - already, segment.at, direction, to);
        self.hand_held(direction, to);
    }

    /// Hands on `bytes` of a segment that had `len`.
    fn hand(&mut self, bytes: &[u8], len: usize, at: Duration, direction: Direction, to: &mut Hand<'_>) {
        to.session.bytes(direction, bytes, at, to.gathered);
        if bytes.len() < len {
            to.session.lose(to.gathered);
        }
        self.skip(len as u64);
    }

    fn skip(&mut self, len: u64) {
        self.passed = self.passed.wrapping_add(len);
        self.next = self.next.map(|next| next.wrapping_add(as_sequence(len)));
    }

    fn hold(&mut self, ahead: u64, segment: &Segment<'_>, to: &mut Hand<'_>) {
        let place = self.passed.wrapping_add(ahead);
        if self.held.contains_key(&place) {
            to.seen.retransmitted += 1;
            return;
        }
        let mut bytes = segment.payload.to_vec();
        // What was cut off is a hole; its beginning says so.
        bytes.truncate(segment.payload_len);
        self.held_bytes += bytes.len() + HELD_OVERHEAD;
        *to.held_bytes += bytes.len() + HELD_OVERHEAD;
        self.held.insert(place, (bytes, segment.at));
    }

    /// What was held and is due.
    fn hand_held(&mut self, direction: Direction, to: &mut Hand<'_>) {
        while let Some(first) = self.held.first_entry() {
            let place = *first.key();
            if place > self.passed {
                return;
            }
            let (bytes, at) = first.remove();
            self.held_bytes -= bytes.len() + HELD_OVERHEAD;
            *to.held_bytes -= bytes.len() + HELD_OVERHEAD;
            let already = usize::try_from(self.passed - place).unwrap_or(usize::MAX);
            if let Some(new) = bytes.get(already..).filter(|new| !new.is_empty()) {
                self.hand(new, new.len(), at, direction, to);
            }
        }
    }

    /// The other side has all up to this number.
    fn acknowledged(&mut self, number: u32, direction: Direction, to: &mut Hand<'_>) {
        let Some(next) = self.next else { return };
        let missing = distance(next, number);
        // One more than all is what a FIN counts.
        if missing <= 1 || missing > WINDOW_MAX {
            return;
        }
        let to_held = self.held.keys().next().map(|place| place.saturating_sub(self.passed));
        let missing = missing.unsigned_abs();
        self.lose(to_held.map_or(missing, |held| held.min(missing)), direction, to);
    }

    fn lose(&mut self, len: u64, direction: Direction, to: &mut Hand<'_>) {
        to.seen.gaps += 1;
        to.session.lose(to.gathered);
        self.skip(len);
        self.hand_held(direction, to);
    }
}

/// The low half is what sequence numbers count in.
const fn as_sequence(len: u64) -> u32 {
    (len & u32::MAX as u64) as u32
}

/// How far `to` is ahead of `from`, by the shorter way round.
const fn distance(from: u32, to: u32) -> i64 {
    to.wrapping_sub(from).cast_signed() as i64
}

/// Of one stream: what a long link holds while one segment is sent again.
pub(super) const HELD_MAX: usize = 4 << 20;
/// Of all streams.
pub(super) const ALL_HELD_MAX: usize = 64 << 20;
/// Of a held segment, besides its bytes.
const HELD_OVERHEAD: usize = 128;
/// TCP's largest window: beyond it an acknowledgement is of another connection.
const WINDOW_MAX: i64 = 1 << 30;
/// More at once are not followed.
const CONNECTIONS_MAX: usize = 50_000;
/// Linux waits for a second, and never less than 200 ms.
const SENT_AGAIN_MIN: Duration = Duration::from_millis(100);
/// Of handshakes, and of servers: enough for a median, and more than a capture of one server has.
const KEPT_MAX: usize = 10_000;
