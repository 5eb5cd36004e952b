//! The commands in flight, oldest first, and the sequence ids of both legs.
//!
//! ```text
//! client packet -> begin_packet(ToServer) -> a new command, or more of one (file data, authentication)
//! server packet -> begin_packet(ToClient) -> part of the oldest command's reply
//! ```
//! Sequence ids, by leg. A plain leg counts packets, a framed leg counts frames, and both start again at 0 with
//! each command; the reply goes on where the command stopped. Inside the frames of a client leg packet ids start
//! at the id of the reply's first frame and count by one: that satisfies every driver known
//! (`docs/protocol.md`, rule 2). Towards a server they don't matter.
//!
//! Invariants: the ids of a packet are decided, and counters raised, before a byte of it is written; a frame
//! never holds the start of a second command.
//! Not here: bytes (`scanner`), frames' sizes (crate `proxy`).

mod held_state;
mod reply;
mod rows;
mod semi_sync;
mod status;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use held_state::{HeldState, statement_id};
pub use reply::{Outcome, Reply};
pub use rows::PassedRows;

use crate::command::{COM_INIT_DB, COM_QUIT};
use crate::limits::COMMANDS_IN_FLIGHT_MAX;
use crate::response::ok;
use crate::session_status::{SessionStatus, Watch};
use crate::{Capabilities, Direction, Fault, Side, frame, packet};

/// What both half-pipes of a relay know of the dialogue.
#[derive(Debug)]
pub struct Conversation {
    /// What both legs agreed on, compression and TLS aside.
    agreed: Capabilities,
    client_framed: bool,
    in_flight: VecDeque<Command>,
    /// Next ids to send to the client.
    client_send: Ids,
    /// Next ids to send to the server.
    server_send: Ids,
    /// Ids that follow the last received from the client.
    client_received: Ids,
    /// Ids that follow the last received from the server.
    server_received: Ids,
    /// The client's last frame was empty: its next one goes on counting.
    client_frame_was_empty: bool,
    /// The payload of a packet goes on in the next, by direction.
    to_server_continues: bool,
    to_client_continues: bool,
    /// The server asked for a local file, and the client has not ended it.
    file_open: bool,
    /// The server handed the turn to the client within a command, and the client has not begun.
    client_turn_begins: bool,
    /// The client handed it back, and the server has not begun.
    server_turn_begins: bool,
    /// A packet of the server wants an acknowledgement, and its last piece has not come.
    ack_wanted: bool,
    /// An event that asks for an acknowledgement has passed: the ids behind it start anew.
    ack_due: bool,
    /// The last command's bytes may still be arriving; its reply starts behind them.
    open_command: Option<u64>,
    commands_begun: u64,
    client_quits: bool,
    held: HeldState,
    /// Tells the client of its own leg; `None` where that is switched off.
    status: Option<Box<SessionStatus>>,
    /// What the command that begins next was found to be.
    read_watch: Option<Watch>,
    /// The database that a COM_INIT_DB asks for, and the one that such a command has chosen.
    asked_database: Option<Vec<u8>>,
    chosen_database: Option<Vec<u8>>,
    /// The last statement that was prepared: its command's number, and its id.
    prepared: Option<(u64, u32)>,
}

/// A sender's counters: the next packet and frame ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ids {
    packet: u8,
    frame: u8,
}

#[derive(Debug)]
struct Command {
    number: u64,
    byte: u8,
    /// Of a prepared statement's command.
    statement: Option<u32>,
    reply: Reply,
    /// Ids with which its reply starts on the client leg.
    reply_ids: Ids,
    reply_begun: bool,
    /// It may ask for the session's status.
    watch: Option<Box<Watch>>,
}

/// How a packet goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The id that it carries on the other leg.
    pub sequence_id: u8,
    /// No earlier packet may share its frame.
    pub starts_frame: bool,
    /// No later packet may share its frame.
    pub ends_frame: bool,
}

impl Conversation {
    /// A conversation right after the login's OK.
    pub fn new(agreed: Capabilities, client_framed: bool) -> Self {
        const START: Ids = Ids { packet: 0, frame: 0 };
        Self {
            agreed,
            client_framed,
            in_flight: VecDeque::new(),
            client_send: START,
            server_send: START,
            client_received: START,
            server_received: START,
            client_frame_was_empty: false,
            to_server_continues: false,
            to_client_continues: false,
            file_open: false,
            client_turn_begins: false,
            server_turn_begins: false,
            ack_wanted: false,
            ack_due: false,
            open_command: None,
            commands_begun: 0,
            client_quits: false,
            held: HeldState::default(),
            status: None,
            read_watch: None,
            asked_database: None,
            chosen_database: None,
            prepared: None,
        }
    }

    /// Commands whose reply is not complete.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Another user's session begins: a COM_CHANGE_USER succeeded, whose packets were not followed here.
    pub fn user_changed(&mut self) {
        self.held = HeldState::default();
        if let Some(status) = &mut self.status {
            status.user_changed();
        }
    }

    /// The database that a COM_INIT_DB has chosen since the last call: its first bytes, as many as a packet is peeked at.
    pub const fn take_database(&mut self) -> Option<Vec<u8>> {
        self.chosen_database.take()
    }

    /// Commands that have a reply, since the login.
    pub const fn commands_begun(&self) -> u64 {
        self.commands_begun
    }

    /// Whether the client must not be read until replies came.
    pub fn is_full(&self) -> bool {
        self.in_flight.len() >= COMMANDS_IN_FLIGHT_MAX
    }

    /// Which command that is, counted from 1 at the login.
    pub fn oldest_number(&self) -> Option<u64> {
        self.in_flight.front().map(|command| command.number)
    }

    /// Whether any packet of the oldest command's reply has come.
    pub fn reply_has_begun(&self) -> bool {
        self.in_flight.front().is_some_and(|command| command.reply_begun)
    }

    /// The command and the id of the statement that was prepared since the last call.
    pub const fn take_prepared(&mut self) -> Option<(u64, u32)> {
        self.prepared.take()
    }

    /// The oldest command without its complete reply, and the part of the reply that is due.
    pub fn oldest(&self) -> Option<(u8, Reply)> {
        self.in_flight.front().map(|command| (command.byte, command.reply))
    }

    /// Whether the client said COM_QUIT: a close of the server is then in order.
    pub const fn client_quits(&self) -> bool {
        self.client_quits
    }

    /// Whether the client is the one to go on within the oldest command (file data, authentication).
    pub fn is_clients_turn(&self) -> bool {
        let authenticates = self.in_flight.front().is_some_and(|command| command.reply == Reply::Auth);
        self.file_open || (authenticates && self.client_turn_begins)
    }

    /// Whether more of a reply is due, behind what has come of it, of which an end is known.
    pub fn reply_goes_on(&self) -> bool {
        let has_end = |command: &Command| !matches!(command.reply, Reply::Stream | Reply::Foreign);
        self.reply_has_begun() && !self.is_clients_turn() && self.in_flight.front().is_some_and(has_end)
    }

    /// Whether the session may end between two packets without a loss: no reply is due, and no transaction, cursor or
    /// long data is open; or binary log events are streamed, which the replica asks for again.
    pub fn may_end(&self) -> bool {
        let streams = self.in_flight.len() == 1
            && self
                .in_flight
                .front()
                .is_some_and(|oldest| oldest.reply == Reply::Stream && oldest.reply_begun);
        let is_idle = self.in_flight.is_empty() && self.held.is_empty();
        (streams && !self.to_client_continues && !self.ack_wanted || is_idle) && !self.to_server_continues
    }

    /// Whether the client's next packet is a new command.
    pub fn awaits_command(&self) -> bool {
        !self.to_server_continues && !self.is_clients_turn()
    }

    /// Packet and frame id of an error that the proxy itself sends to the client now.
    pub fn error_ids(&self) -> (u8, u8) {
        let mut ids = match self.in_flight.front() {
            Some(command) if command.reply_begun => return (self.client_send.packet, self.client_send.frame),
            Some(command) => command.reply_ids,
            // It will be taken for the answer to the next command.
            None if self.awaits_command() => Ids { packet: 1, frame: 1 },
            None => self.client_received,
        };
        if self.client_framed {
            ids.packet = ids.frame;
        }
        (ids.packet, ids.frame)
    }

    /// Takes a frame's header from `side`. `inside_packet`: an earlier frame ended in the middle of a packet.
    ///
    /// Errors: `SequenceOutOfOrder` where a server would answer 1156.
    pub fn frame_received(
        &mut self,
        side: Side,
        header: frame::Header,
        inside_packet: bool,
    ) -> Result<(), Fault> {
        match side {
            Side::Client => self.client_frame_received(header, inside_packet),
            Side::Server => {
                self.server_received.frame = header.sequence_id.wrapping_add(1);
                Ok(())
            }
        }
    }

    fn client_frame_received(&mut self, header: frame::Header, inside_packet: bool) -> Result<(), Fault> {
        let id = header.sequence_id;
        let was_empty = std::mem::replace(&mut self.client_frame_was_empty, header.packed_len == 0);
        let goes_on = inside_packet || self.to_server_continues || was_empty;
        let turn = !goes_on && self.is_clients_turn();
        let expected = if goes_on || (turn && !self.client_turn_begins) {
            self.client_received.frame
        } else if turn {
            self.client_send.frame
        } else {
            0
        };
        // PHP and Connector/J number what they send within a command by the packets they received.
        let by_packets = turn && id == self.client_send.packet;
        if id != expected && !by_packets {
            return Err(Fault::SequenceOutOfOrder { expected, actual: id });
        }
        self.client_received.frame = id.wrapping_add(1);
        if goes_on {
            self.extend_open_command();
            if self.server_turn_begins {
                // More of what the client said in its turn: the server's part starts behind it.
                self.client_send = self.client_received;
            }
        }
        Ok(())
    }

    /// The id of the next frame to `side`. Call it when the frame's first packet was begun.
    pub const fn take_frame_id(&mut self, side: Side) -> u8 {
        let ids = match side {
            Side::Client => &mut self.client_send,
            Side::Server => &mut self.server_send,
        };
        let id = ids.frame;
        ids.frame = id.wrapping_add(1);
        id
    }

    /// Takes a packet's header and its first payload bytes (all of it, or [`crate::limits::PEEK_LEN`]).
    ///
    /// Errors: `SequenceOutOfOrder` from a plain client where a server would answer 1156.
    pub fn begin_packet(
        &mut self,
        direction: Direction,
        header: packet::Header,
        peek: &[u8],
    ) -> Result<Plan, Fault> {
        match direction {
            Direction::ToServer => self.client_packet(header, peek),
            Direction::ToClient => Ok(self.server_packet(header, peek)),
        }
    }

    fn client_packet(&mut self, header: packet::Header, peek: &[u8]) -> Result<Plan, Fault> {
        let goes_on = std::mem::replace(&mut self.to_server_continues, header.continues());
        if !self.client_framed {
            let expected = if goes_on { self.client_received.packet } else { 0 };
            if (goes_on || !self.is_clients_turn()) && header.sequence_id != expected {
                return Err(Fault::SequenceOutOfOrder { expected, actual: header.sequence_id });
            }
        }
        self.client_received.packet = header.sequence_id.wrapping_add(1);
        let mut plan = Plan { sequence_id: 0, starts_frame: false, ends_frame: !header.continues() };
        if goes_on {
            if self.is_clients_turn() {
                self.client_went_on();
                plan.ends_frame = false;
            }
            self.extend_open_command();
        } else if self.is_clients_turn() {
            plan.starts_frame = self.client_turn_begins;
            plan.ends_frame = self.client_turn(header.payload_len);
        } else {
            plan.starts_frame = true;
            self.begin_command(peek);
        }
        plan.sequence_id = self.server_send.packet;
        self.server_send.packet = self.server_send.packet.wrapping_add(1);
        Ok(plan)
    }

    fn begin_command(&mut self, peek: &[u8]) {
        self.server_send = Ids::default();
        self.open_command = None;
        let byte = peek.first().copied().unwrap_or_default();
        self.client_quits |= byte == COM_QUIT;
        let streaming = self.in_flight.front().is_some_and(|oldest| oldest.reply == Reply::Stream);
        if streaming && semi_sync::is_ack(peek) {
            return;
        }
        self.held.command(peek);
        let watch = self.watch_of(byte, statement_id(peek));
        if byte == COM_INIT_DB {
            self.asked_database = peek.get(1..).map(<[u8]>::to_vec);
        }
        if let Some(reply) = Reply::to(byte) {
            self.commands_begun += 1;
            let number = self.commands_begun;
            self.open_command = Some(number);
            let reply_ids = self.client_received;
            self.in_flight.push_back(Command {
                number,
                byte,
                statement: statement_id(peek),
                reply,
                reply_ids,
                reply_begun: false,
                watch,
            });
        }
    }

    /// A further packet or frame of the last command: its reply starts behind it.
    fn extend_open_command(&mut self) {
        let ids = self.client_received;
        if let Some(command) = self.in_flight.back_mut()
            && Some(command.number) == self.open_command
            && !command.reply_begun
        {
            command.reply_ids = ids;
        }
    }

    /// A packet of the client within the oldest command; says whether its frame must end.
    fn client_turn(&mut self, payload_len: usize) -> bool {
        if std::mem::take(&mut self.client_turn_begins) {
            self.server_send = self.server_received;
        }
        self.client_went_on();
        if self.file_open && payload_len > 0 {
            return false;
        }
        self.file_open = false;
        // After an early error the command is gone, and the client still sent its file to the end.
        if let Some(command) = self.in_flight.front_mut()
            && command.reply == Reply::LocalInfile
        {
            command.reply = Reply::First;
        }
        true
    }

    const fn client_went_on(&mut self) {
        self.client_send = self.client_received;
        self.server_turn_begins = true;
    }

    fn server_packet(&mut self, header: packet::Header, peek: &[u8]) -> Plan {
        self.server_received.packet = header.sequence_id.wrapping_add(1);
        let goes_on = std::mem::replace(&mut self.to_client_continues, header.continues());
        let mut plan = Plan { sequence_id: 0, starts_frame: false, ends_frame: false };
        if std::mem::take(&mut self.ack_due) {
            // Only now: the event itself may have begun a frame, whose id still counted on.
            self.client_send = semi_sync::ids_after_ack(self.client_framed);
        }
        if !goes_on {
            plan.starts_frame = self.turn_to_server(header);
            if let Some(oldest) = self.in_flight.front_mut() {
                self.ack_wanted = oldest.reply == Reply::Stream && semi_sync::asks_for_ack(header, peek);
                let due = oldest.reply;
                if let (Some(watch), Some(status)) = (&mut oldest.watch, &mut self.status) {
                    watch.begins(due, peek, self.agreed, status);
                }
                if due == Reply::Prepare && peek.first() == Some(&ok::HEADER) {
                    self.prepared = statement_id(peek).map(|id| (oldest.number, id));
                }
                match oldest.reply.advance(self.agreed, header.payload_len, peek) {
                    Outcome::More => {}
                    Outcome::ClientTurn => {
                        self.client_turn_begins = true;
                        self.file_open = oldest.reply == Reply::LocalInfile;
                    }
                    Outcome::Done => {
                        let deprecate_eof = self.agreed.contains(Capabilities::DEPRECATE_EOF);
                        self.held.reply_ended(oldest.byte, oldest.statement, due, peek, deprecate_eof);
                        if oldest.byte == COM_INIT_DB && peek.first() == Some(&ok::HEADER) {
                            self.chosen_database = self.asked_database.take();
                        }
                        if let (Some(watch), Some(status)) = (&mut oldest.watch, &mut self.status) {
                            watch.ended(due, peek, status);
                        }
                        self.in_flight.pop_front();
                        // A file that was asked for still comes, even behind an early error; nothing else does.
                        self.client_turn_begins &= self.file_open;
                    }
                }
            }
        }
        let semi_sync_turn = self.ack_wanted && !header.continues();
        plan.ends_frame = self.client_turn_begins || semi_sync_turn;
        plan.sequence_id = self.client_send.packet;
        self.client_send.packet = self.client_send.packet.wrapping_add(1);
        if semi_sync_turn {
            self.ack_wanted = false;
            self.ack_due = true;
        }
        plan
    }

    /// Sets the client leg's counters where a reply, or a new part of one, begins; says whether one does.
    fn turn_to_server(&mut self, header: packet::Header) -> bool {
        let Some(oldest) = self.in_flight.front_mut() else {
            // Nobody asked: an idle timeout, a shutdown. MySQL numbers such a packet 0, and MariaDB 1: it is
            // what the client will take for the answer to its next command.
            if header.sequence_id <= 1 {
                self.client_send = Ids { packet: header.sequence_id, frame: header.sequence_id };
                return true;
            }
            return false;
        };
        if !std::mem::replace(&mut oldest.reply_begun, true) {
            self.client_send = oldest.reply_ids;
        } else if !std::mem::take(&mut self.server_turn_begins)
            && (oldest.reply != Reply::First || !self.client_framed)
        {
            // On a framed leg a further result begins like a reply, as a server's flush before it would make it:
            // mysql_async takes its packets for out of order otherwise.
            return false;
        }
        self.server_turn_begins = false;
        if self.client_framed {
            self.client_send.packet = self.client_send.frame;
        }
        true
    }
}
