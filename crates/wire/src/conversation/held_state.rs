//! What a session would lose if it ended between two commands: a transaction, open cursors, long data.
//!
//! ```text
//! SERVER_STATUS_IN_TRANS in the last OK or EOF        a transaction
//! SERVER_STATUS_CURSOR_EXISTS ... LAST_ROW_SENT       a cursor, by statement id
//! COM_STMT_SEND_LONG_DATA ... COM_STMT_EXECUTE        long data, by statement id
//! ```
//! An ERR tells no flags: what was held counts as held until the next OK.
//!
//! Source: MySQL `include/mysql_com.h`. Not here: prepared statements, session variables, temporary tables, named
//! locks; every reconnect loses those.

use std::collections::BTreeSet;

use super::Reply;
use crate::command::{
    COM_CHANGE_USER, COM_RESET_CONNECTION, COM_STMT_BULK_EXECUTE, COM_STMT_CLOSE, COM_STMT_EXECUTE,
    COM_STMT_FETCH, COM_STMT_RESET, COM_STMT_SEND_LONG_DATA,
};
use crate::response::{eof, ok, status};

/// State of the server's that belongs to this session.
#[derive(Debug, Default)]
pub(super) struct HeldState {
    in_transaction: bool,
    cursors: BTreeSet<u32>,
    long_data: BTreeSet<u32>,
}

impl HeldState {
    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        !self.in_transaction && self.cursors.is_empty() && self.long_data.is_empty()
    }

    /// A command begins with these bytes.
    pub(super) fn command(&mut self, peek: &[u8]) {
        let Some(&byte) = peek.first() else { return };
        match (byte, statement_id(peek)) {
            (COM_STMT_SEND_LONG_DATA, Some(id)) if self.long_data.len() < STATEMENTS_MAX => {
                self.long_data.insert(id);
            }
            (COM_STMT_EXECUTE | COM_STMT_BULK_EXECUTE | COM_STMT_CLOSE | COM_STMT_RESET, Some(id)) => {
                self.long_data.remove(&id);
                self.cursors.remove(&id);
            }
            (COM_RESET_CONNECTION | COM_CHANGE_USER, _) => *self = Self::default(),
            _ => {}
        }
    }

    /// The reply to `byte`, whose statement is `statement`, ended with this packet, which `reply` was due.
    pub(super) fn reply_ended(
        &mut self,
        byte: u8,
        statement: Option<u32>,
        reply: Reply,
        peek: &[u8],
        deprecate_eof: bool,
    ) {
        let flags = match peek.first() {
            Some(&ok::HEADER) if !matches!(reply, Reply::Prepare | Reply::Prepared { .. }) => {
                ok::status_of(peek)
            }
            Some(&eof::HEADER) if deprecate_eof && peek.len() > EOF_LEN => ok::status_of(peek),
            Some(&eof::HEADER) => eof::status_of(peek),
            _ => return,
        };
        self.in_transaction = flags & (status::IN_TRANSACTION | status::IN_TRANSACTION_READ_ONLY) != 0;
        match (byte, statement) {
            (COM_STMT_EXECUTE, Some(id))
                if flags & status::CURSOR_EXISTS != 0
                    && flags & status::LAST_ROW_SENT == 0
                    && self.cursors.len() < STATEMENTS_MAX =>
            {
                self.cursors.insert(id);
            }
            (COM_STMT_FETCH, Some(id)) if flags & status::LAST_ROW_SENT != 0 => {
                self.cursors.remove(&id);
            }
            _ => {}
        }
    }
}

/// The statement that a prepared statement's command names.
pub(super) fn statement_id(peek: &[u8]) -> Option<u32> {
    peek.get(1..5)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The least `max_prepared_stmt_count` by default; a client that names more names some that don't exist.
const STATEMENTS_MAX: usize = 16_382;
const EOF_LEN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(flags: u16) -> Vec<u8> {
        ok::OkPacket { status: flags, ..ok::OkPacket::default() }.build(0)
    }

    fn ended(state: &mut HeldState, byte: u8, statement: u32, packet: &[u8]) {
        state.reply_ended(byte, Some(statement), Reply::First, packet, false);
    }

    #[test]
    fn a_transaction_is_held_from_begin_to_commit_and_across_errors() {
        let mut state = HeldState::default();
        ended(&mut state, 3, 0, &ok(status::IN_TRANSACTION));
        assert!(!state.is_empty());
        ended(&mut state, 3, 0, &[0xff, 1, 2]);
        assert!(!state.is_empty());
        ended(&mut state, 3, 0, &eof::build(0, 2));
        assert!(state.is_empty());
        ended(&mut state, 3, 0, &ok(status::IN_TRANSACTION_READ_ONLY));
        assert!(!state.is_empty());
    }

    #[test]
    fn a_cursor_is_held_until_its_last_row_or_its_statements_end() {
        for end in [COM_STMT_CLOSE, COM_STMT_RESET, COM_STMT_EXECUTE, COM_RESET_CONNECTION] {
            let mut state = HeldState::default();
            ended(&mut state, COM_STMT_EXECUTE, 7, &eof::build(0, status::CURSOR_EXISTS));
            assert!(!state.is_empty());
            state.command(&[COM_STMT_CLOSE, 8, 0, 0, 0]);
            assert!(!state.is_empty());
            state.command(&[end, 7, 0, 0, 0]);
            assert!(state.is_empty(), "{end}");
        }
        let mut state = HeldState::default();
        ended(&mut state, COM_STMT_EXECUTE, 7, &eof::build(0, status::CURSOR_EXISTS));
        ended(&mut state, COM_STMT_FETCH, 7, &eof::build(0, status::CURSOR_EXISTS));
        assert!(!state.is_empty());
        ended(&mut state, COM_STMT_FETCH, 7, &eof::build(0, status::LAST_ROW_SENT));
        assert!(state.is_empty());
    }

    #[test]
    fn long_data_is_held_until_it_is_executed() {
        let mut state = HeldState::default();
        state.command(&[COM_STMT_SEND_LONG_DATA, 1, 0, 0, 0, 0, 0, b'x']);
        assert!(!state.is_empty());
        state.command(&[COM_STMT_EXECUTE, 1, 0, 0, 0]);
        assert!(state.is_empty());
    }

    #[test]
    fn a_client_can_not_make_it_grow_without_end() {
        let mut state = HeldState::default();
        for id in 0..100_000_u32 {
            let [a, b, c, d] = id.to_le_bytes();
            state.command(&[COM_STMT_SEND_LONG_DATA, a, b, c, d]);
        }
        assert_eq!(state.long_data.len(), STATEMENTS_MAX);
    }
}
