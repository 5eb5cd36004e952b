//! The dialogue's part in telling the client of its own leg: which commands and packets are read whole for it.
//!
//! Not here: what is read and changed (`crate::session_status`).

use super::Conversation;
use crate::Direction;
use crate::command::{COM_QUERY, COM_STMT_PREPARE};
use crate::session_status::{REPLY_LEN_MAX, SessionStatus, Verdict, Watch, behind_attributes};

impl Conversation {
    /// The same, and the client is told of its own leg where it asks for the session's status.
    #[must_use]
    pub fn telling(mut self, status: SessionStatus) -> Self {
        self.status = Some(Box::new(status));
        self
    }

    /// The statement in a COM_QUERY or COM_STMT_PREPARE that begins with `command`, its byte included; nothing of any
    /// other command, or where its attributes are longer.
    pub fn statement_text<'a>(&self, command: &'a [u8]) -> &'a [u8] {
        match command.split_first() {
            Some((&COM_QUERY, rest)) => behind_attributes(rest, self.agreed).unwrap_or_default(),
            Some((&COM_STMT_PREPARE, rest)) => rest,
            _ => &[],
        }
    }

    /// Whether a packet of `payload_len` bytes that begins with `byte` is to be read whole before it is begun.
    pub fn reads(&self, direction: Direction, byte: u8, payload_len: usize) -> bool {
        match direction {
            Direction::ToServer => {
                self.status.is_some()
                    && SessionStatus::reads_command(byte, payload_len)
                    && self.awaits_command()
            }
            Direction::ToClient => self.watch().is_some(),
        }
    }

    /// Whether such a packet may come from there at all: cheaper to ask.
    pub fn may_read(&self, direction: Direction) -> bool {
        match direction {
            Direction::ToServer => self.status.is_some(),
            Direction::ToClient => self.watch().is_some(),
        }
    }

    /// Reads the payload of a packet that `reads` asked for, and says what goes on in its place. It must be begun next.
    pub fn read(&mut self, direction: Direction, payload: &[u8]) -> Verdict {
        let Some(status) = &mut self.status else { return Verdict::Pass };
        match (direction, self.in_flight.front_mut()) {
            (Direction::ToServer, _) => self.read_watch = status.read_command(payload, self.agreed),
            (Direction::ToClient, Some(oldest)) => {
                if let Some(watch) = &mut oldest.watch {
                    return watch.packet(oldest.reply, payload, self.agreed, status);
                }
            }
            (Direction::ToClient, None) => {}
        }
        Verdict::Pass
    }

    /// A packet of the server that `reads` asked for is longer than what is waited for.
    pub fn passes_unread(&mut self) {
        if let Some(oldest) = self.in_flight.front_mut()
            && let Some(watch) = &mut oldest.watch
        {
            watch.passed_unread(oldest.reply);
        }
    }

    /// Longest payload that is waited for, bytes.
    pub const READ_LEN_MAX: usize = REPLY_LEN_MAX;

    fn watch(&self) -> Option<&Watch> {
        let oldest = self.in_flight.front().filter(|_| !self.to_client_continues)?;
        oldest.watch.as_deref().filter(|watch| watch.reads(oldest.reply))
    }

    pub(super) fn watch_of(&mut self, byte: u8, statement: Option<u32>) -> Option<Box<Watch>> {
        let status = self.status.as_mut()?;
        let read = self.read_watch.take();
        read.or_else(|| status.command(byte, statement)).map(Box::new)
    }
}
