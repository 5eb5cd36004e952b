//! Follows one session by the bytes of both directions and their times.
//!
//! ```text
//!  Greeting ─▶ Login ─▶ Authentication ─▶ Commands ─▶ Over (quit, or of no use: TLS, a stream, …)
//!                              └─▶ Packed: frames are counted    ⇅
//!                                                               Lost: until a chunk is one whole command
//!
//!  an exchange   command, id 0 ──────▶│◀── first ──▶ reply ... last ◀──│ next command
//!                                     └ asked_at
//! ```
//! Invariants: nothing a peer sends makes it panic, and it holds at most a login's packet, a statement where statements
//! are wanted, and one frame; payloads are looked at only where they begin, and copied only for a frame that was chosen;
//! what doesn't fit the protocol loses the thread and never counts.
//!
//! Not here: the connection phase (`connect`), hopping over packets (`cursor`), what is kept (`gathered`), who reads the bytes (`tap`, `pcap`).

mod connect;

use std::time::Duration;

use codec::Algorithm;
use wire::{Capabilities, Direction, Reader, command, packet};

use super::cursor::{Cursor, Piece};
use super::frames::{FrameCursor, FrameFill};
use super::gathered::{Gathered, Seen};

/// A session that is followed.
#[derive(Debug)]
pub(crate) struct Session {
    phase: Phase,
    to_server: Cursor,
    to_client: Cursor,
    /// A packet of the connection phase, or a statement, as far as it has come.
    held: Vec<u8>,
    offered: Capabilities,
    agreed: Capabilities,
    /// A command's header came, and its first byte did not.
    announced: Option<packet::Header>,
    open: Option<Open>,
    fill: FrameFill,
    frames: FrameCursor,
    /// Bytes that belong to the next command.
    long_data_bytes: usize,
    /// The held bytes are a statement's.
    holds_query: bool,
    is_used: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    Login,
    Authentication(Algorithm),
    Commands,
    Lost,
    Packed(Algorithm),
    Over,
}

/// An exchange that has begun.
#[derive(Debug)]
struct Open {
    request_bytes: usize,
    reply_bytes: usize,
    reply_packets: u64,
    asked_at: Duration,
    first_at: Option<Duration>,
    last_at: Duration,
    /// Id of the server's next packet.
    next_id: u8,
    /// The client has more to say than its command.
    is_dialogue: bool,
}

/// The wire's own fault is no more than that: the thread is lost.
struct Unexpected;

impl Session {
    /// A session whose first byte comes next.
    pub(crate) fn from_beginning(gathered: &mut Gathered) -> Self {
        Self::new(Phase::Greeting, gathered)
    }

    /// A session that has begun before.
    pub(crate) fn from_middle(gathered: &mut Gathered) -> Self {
        Self::new(Phase::Lost, gathered)
    }

    fn new(phase: Phase, gathered: &mut Gathered) -> Self {
        gathered.counts.sessions += 1;
        Self {
            phase,
            to_server: Cursor::default(),
            to_client: Cursor::default(),
            held: Vec::new(),
            offered: Capabilities::NONE,
            agreed: Capabilities::NONE,
            announced: None,
            open: None,
            fill: FrameFill::default(),
            frames: FrameCursor::default(),
            long_data_bytes: 0,
            holds_query: false,
            is_used: false,
        }
    }

    /// Whether its bytes tell nothing more.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether it waits for a command to begin with.
    pub(crate) fn is_lost(&self) -> bool {
        self.phase == Phase::Lost
    }

    /// Bytes that it holds.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.len() + self.fill.held_bytes()
    }

    /// Bytes that came at `at`; both directions' in the order of their times.
    pub(crate) fn bytes(
        &mut self,
        direction: Direction,
        mut bytes: &[u8],
        at: Duration,
        gathered: &mut Gathered,
    ) {
        if self.phase == Phase::Lost && direction == Direction::ToServer && is_command(bytes) {
            self.phase = Phase::Commands;
        }
        while !bytes.is_empty() && !matches!(self.phase, Phase::Lost | Phase::Over) {
            if let Phase::Packed(algorithm) = self.phase {
                self.packed(direction, bytes, algorithm, gathered);
                return;
            }
            let cursor = match direction {
                Direction::ToServer => &mut self.to_server,
                Direction::ToClient => &mut self.to_client,
            };
            let Some(piece) = cursor.next(&mut bytes) else { return };
            let step = match (self.phase, direction) {
                (Phase::Commands, Direction::ToServer) => self.command(&piece, at, gathered),
                (Phase::Commands, Direction::ToClient) => self.reply(&piece, at, gathered),
                (phase, _) => self.connect(phase, direction, &piece, gathered),
            };
            if step.is_err() {
                self.lose(gathered);
            }
        }
    }

    /// Bytes are missing, or what was understood can't be right: what has begun is given up.
    pub(crate) fn lose(&mut self, gathered: &mut Gathered) {
        if matches!(self.phase, Phase::Over | Phase::Lost) {
            return;
        }
        gathered.counts.lost += u64::from(self.open.is_some());
        self.forget(Phase::Lost);
    }

    /// No more bytes will come.
    pub(crate) fn end(&mut self, gathered: &mut Gathered) {
        if self.phase == Phase::Lost && !self.is_used {
            gathered.counts.unrecognised += 1;
        }
        self.forget(Phase::Over);
    }

    fn forget(&mut self, phase: Phase) {
        self.phase = phase;
        (self.to_server, self.to_client) = (Cursor::default(), Cursor::default());
        (self.announced, self.open, self.long_data_bytes) = (None, None, 0);
        self.held = Vec::new();
        self.holds_query = false;
        self.fill.drop_frame();
    }

    /// Frames of a session that is compressed already.
    fn packed(&mut self, direction: Direction, bytes: &[u8], algorithm: Algorithm, gathered: &mut Gathered) {
        if direction == Direction::ToServer {
            return;
        }
        let Some(packed) = gathered.counts.packed(algorithm) else { return };
        self.frames.walk(bytes, |header| packed.frame(header));
        if self.frames.is_enough() {
            self.forget(Phase::Over);
        }
    }

    /// A piece of what the client sends.
    fn command(
        &mut self,
        piece: &Piece<'_>,
        at: Duration,
        gathered: &mut Gathered,
    ) -> Result<(), Unexpected> {
        match piece {
            Piece::Header { header, goes_on: false } if header.sequence_id == 0 => {
                // A command has a first byte.
                self.announced = (header.payload_len > 0).then_some(*header);
                if self.announced.is_none() { Err(Unexpected) } else { Ok(()) }
            }
            Piece::Header { header, goes_on } => {
                let Some(open) = &mut self.open else { return Err(Unexpected) };
                open.request_bytes += packet::HEADER_LEN + header.payload_len;
                open.next_id = header.sequence_id.wrapping_add(1);
                open.is_dialogue |= !goes_on;
                open.asked_at = at;
                Ok(())
            }
            Piece::Body { bytes, is_last, .. } => {
                if let Some(header) = self.announced.take() {
                    self.begin(header, bytes.first().copied().unwrap_or_default(), at, gathered)?;
                }
                if let Some(open) = &mut self.open {
                    open.asked_at = at;
                }
                if self.holds_query {
                    self.hold_query(bytes, *is_last, gathered);
                }
                Ok(())
            }
        }
    }

    /// A command begins, so the one before is over.
    fn begin(
        &mut self,
        header: packet::Header,
        byte: u8,
        at: Duration,
        gathered: &mut Gathered,
    ) -> Result<(), Unexpected> {
        if let Some(open) = self.open.take() {
            if open.first_at.is_none() || !self.to_client.is_between() {
                gathered.counts.pipelined += 1;
                return Err(Unexpected);
            }
            self.finish(&open, gathered);
        }
        if gathered.is_pausing && byte != command::COM_QUIT {
            self.forget(Phase::Lost);
            return Ok(());
        }
        let len = packet::HEADER_LEN + header.payload_len;
        match byte {
            command::COM_QUIT => {
                gathered.counts.quits += 1;
                self.forget(Phase::Over);
            }
            command::COM_STMT_CLOSE => {}
            command::COM_STMT_SEND_LONG_DATA => {
                self.long_data_bytes = self.long_data_bytes.saturating_add(len);
            }
            command::COM_BINLOG_DUMP
            | command::COM_BINLOG_DUMP_GTID
            | command::COM_TABLE_DUMP
            | command::COM_CLONE
            | command::COM_SUBSCRIBE_GROUP_REPLICATION_STREAM => {
                gathered.counts.streams += 1;
                self.forget(Phase::Over);
            }
            _ if !is_known(byte) => return Err(Unexpected),
            _ => {
                self.holds_query = byte == command::COM_QUERY && gathered.wants_query();
                self.open = Some(Open {
                    request_bytes: len.saturating_add(std::mem::take(&mut self.long_data_bytes)),
                    reply_bytes: 0,
                    reply_packets: 0,
                    asked_at: at,
                    first_at: None,
                    last_at: at,
                    next_id: header.sequence_id.wrapping_add(1),
                    is_dialogue: byte == command::COM_CHANGE_USER,
                });
            }
        }
        Ok(())
    }

    /// A piece of what the server sends.
    fn reply(&mut self, piece: &Piece<'_>, at: Duration, gathered: &mut Gathered) -> Result<(), Unexpected> {
        // Nobody asked: a shutdown, a timeout; or commands that were sent at once.
        let Some(open) = &mut self.open else { return Err(Unexpected) };
        // Times of a capture may go back.
        open.last_at = open.last_at.max(at);
        open.first_at.get_or_insert(at);
        match piece {
            Piece::Header { header, goes_on } => {
                if header.sequence_id != open.next_id {
                    return Err(Unexpected);
                }
                open.next_id = open.next_id.wrapping_add(1);
                open.reply_bytes = open.reply_bytes.saturating_add(packet::HEADER_LEN + header.payload_len);
                open.reply_packets += u64::from(!goes_on);
                self.fill.header(*header, *goes_on, &mut gathered.frames);
            }
            Piece::Body { bytes, .. } => self.fill.body(bytes),
        }
        Ok(())
    }

    /// An exchange is complete.
    fn finish(&mut self, open: &Open, gathered: &mut Gathered) {
        self.fill.end_frame(&mut gathered.frames);
        if open.is_dialogue {
            gathered.counts.dialogues += 1;
            return;
        }
        let Some(first_at) = open.first_at else { return };
        gathered.counts.used += u64::from(!std::mem::replace(&mut self.is_used, true));
        gathered.exchanges.offer(Seen {
            request_bytes: crate::stats::f64_of(open.request_bytes),
            reply_bytes: crate::stats::f64_of(open.reply_bytes),
            reply_packets: open.reply_packets,
            first_s: first_at.saturating_sub(open.asked_at).as_secs_f64(),
            time_s: open.last_at.saturating_sub(open.asked_at).as_secs_f64(),
        });
    }

    fn hold_query(&mut self, bytes: &[u8], is_last: bool, gathered: &mut Gathered) {
        if self.held.len() + bytes.len() > QUERY_LEN_MAX {
            self.held = Vec::new();
            self.holds_query = false;
            return;
        }
        self.held.extend_from_slice(bytes);
        if is_last {
            self.holds_query = false;
            let payload = std::mem::take(&mut self.held);
            if let Some(sql) = sql_of(&payload, self.agreed) {
                gathered.query(sql);
            }
        }
    }
}

/// The text of a COM_QUERY's payload; none if it has parameters of its own.
fn sql_of(payload: &[u8], agreed: Capabilities) -> Option<&[u8]> {
    let mut reader = Reader::new(payload);
    reader.u8().ok()?;
    if agreed.contains(Capabilities::QUERY_ATTRIBUTES) {
        let parameters = reader.lenenc_int().ok()?;
        let sets = reader.lenenc_int().ok()?;
        if (parameters, sets) != (0, 1) {
            return None;
        }
    }
    Some(reader.rest())
}

/// Whether a chunk is one whole command, as clients send them.
fn is_command(chunk: &[u8]) -> bool {
    let Some(header) = packet::Header::parse(chunk) else { return false };
    header.sequence_id == 0
        && chunk.len() == packet::HEADER_LEN + header.payload_len
        && chunk.get(packet::HEADER_LEN).copied().is_some_and(is_known)
}

/// Whether it is a command's byte.
const fn is_known(byte: u8) -> bool {
    matches!(
        byte,
        command::COM_QUIT..=command::COM_SUBSCRIBE_GROUP_REPLICATION_STREAM | command::COM_STMT_BULK_EXECUTE
    )
}

/// Longer statements are not asked for twice.
const QUERY_LEN_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;
