//! The text of the statement that runs, where the operator wants it shown (`--query-text`).
//!
//! ```text
//! command's first bytes ──▶ collected ──▶ shown while its reply is due ──▶ wiped
//! COM_STMT_PREPARE      ──▶ kept by its statement's id, for COM_STMT_EXECUTE
//! ```
//! Invariants: a session without it has none of this; no more of a statement is copied than is shown; what is not shown
//! any more is wiped.
//! Not here: who may see it (crate `admin`).

use std::collections::HashMap;

use wire::command::{COM_QUERY, COM_RESET_CONNECTION, COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_PREPARE};
use wire::conversation::Conversation;
use wire::packet;
use zeroize::Zeroizing;

use crate::meter::Meter;

type Text = Zeroizing<String>;

/// A session's statements.
pub(super) struct QueryText {
    /// Longest text that is shown, bytes.
    len_max: usize,
    /// First bytes of the last command.
    collected: Zeroizing<Vec<u8>>,
    /// Bytes of the packet's header that are to be passed over, and of its payload that are still wanted.
    due: (usize, usize),
    /// The last command.
    number: u64,
    /// Its text, once it is there.
    text: Option<Text>,
    /// The command whose text is shown; 0 for none.
    shown: u64,
    prepared: HashMap<u32, Text>,
}

impl QueryText {
    /// Texts of at most `len_max` bytes; nothing for 0.
    pub(super) fn new(len_max: usize) -> Option<Box<Self>> {
        (len_max > 0).then(|| {
            Box::new(Self {
                len_max,
                collected: Zeroizing::default(),
                due: (0, 0),
                number: 0,
                text: None,
                shown: 0,
                prepared: HashMap::new(),
            })
        })
    }

    /// A command's first packet begins, of `len` bytes with its header.
    pub(super) fn begin(&mut self, byte: u8, len: usize, conversation: &Conversation) {
        let wanted = match byte {
            COM_QUERY => self.len_max + ATTRIBUTES_LEN,
            COM_STMT_PREPARE => self.len_max + 1,
            COM_STMT_EXECUTE | COM_STMT_CLOSE => STATEMENT_ID_END,
            COM_RESET_CONNECTION => return self.forget(),
            _ => 0,
        };
        self.wipe();
        self.number = conversation.commands_begun();
        let wanted = wanted.min(len - packet::HEADER_LEN);
        self.due = (if wanted > 0 { packet::HEADER_LEN } else { 0 }, wanted);
        // One allocation, so that no copy is left behind.
        self.collected.reserve_exact(wanted);
    }

    /// More bytes of the packet that has begun, or of those behind it.
    pub(super) fn collect(&mut self, bytes: &[u8], conversation: &Conversation) {
        let (header_len, wanted) = self.due;
        if wanted == 0 {
            return;
        }
        let passed_len = header_len.min(bytes.len());
        let rest = bytes.get(passed_len..).unwrap_or_default();
        let taken = rest.get(..wanted.min(rest.len())).unwrap_or_default();
        self.collected.extend_from_slice(taken);
        self.due = (header_len - passed_len, wanted - taken.len());
        if self.due.1 == 0 {
            self.complete(conversation);
        }
    }

    fn complete(&mut self, conversation: &Conversation) {
        let id = self.collected.get(1..STATEMENT_ID_END).and_then(<[u8]>::first_chunk);
        let id = id.map(|bytes| u32::from_le_bytes(*bytes));
        match (self.collected.first(), id) {
            (Some(&COM_STMT_EXECUTE), Some(id)) => self.text = self.prepared.get(&id).cloned(),
            (Some(&COM_STMT_CLOSE), Some(id)) => drop(self.prepared.remove(&id)),
            _ => {
                let text = conversation.statement_text(&self.collected);
                let text = text.get(..self.len_max.min(text.len())).unwrap_or_default();
                self.text = (!text.is_empty()).then(|| Zeroizing::new(String::from_utf8_lossy(text).into()));
            }
        }
        self.collected = Zeroizing::default();
    }

    /// Shows the text of the command whose reply is due, if it is there, and wipes it otherwise.
    pub(super) fn show(&mut self, conversation: &mut Conversation, meter: &Meter) {
        if let Some((number, id)) = conversation.take_prepared()
            && number == self.number
            && let Some(text) = &self.text
            && self.prepared.values().map(|kept| kept.len()).sum::<usize>() + text.len() <= PREPARED_LEN_MAX
        {
            self.prepared.insert(id, text.clone());
        }
        let oldest = conversation.oldest_number();
        match &self.text {
            Some(_) if oldest == Some(self.number) && self.shown == self.number => {}
            Some(text) if oldest == Some(self.number) => {
                meter.show_text(Some(text.clone()));
                self.shown = self.number;
            }
            _ if std::mem::take(&mut self.shown) != 0 => meter.show_text(None),
            _ => {}
        }
        if oldest.is_none() && self.due.1 == 0 {
            self.wipe();
        }
    }

    /// Prepared statements are gone.
    pub(super) fn forget(&mut self) {
        self.wipe();
        self.prepared.clear();
    }

    fn wipe(&mut self) {
        self.text = None;
        self.collected = Zeroizing::default();
        self.due = (0, 0);
    }
}

/// Room for a query's attributes, which stand before its text.
const ATTRIBUTES_LEN: usize = 1 << 10;
/// A command's byte and the id behind it.
const STATEMENT_ID_END: usize = 5;
/// Of all prepared statements of a session together, so that thousands of sessions stay small.
const PREPARED_LEN_MAX: usize = 64 << 10;
