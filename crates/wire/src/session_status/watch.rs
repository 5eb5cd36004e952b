//! Follows the reply to one command that may ask for the session's status.
//!
//! ```text
//! First     the next statement's result begins: is it one of ours?
//! whole definitions, then whole rows, of such a result only
//! end       what is missing goes before it; with an open cursor the rest comes by COM_STMT_FETCH
//! ```
//! Not here: which part of a reply a packet is (`conversation::reply`).

use std::collections::VecDeque;

use super::{Prepared, Query, SessionStatus, Shape, Statement, StatusRows, Verdict};
use crate::conversation::Reply;
use crate::response::{eof, err, ok, status};
use crate::{Capabilities, Reader};

/// A command's own state.
#[derive(Debug)]
pub(crate) struct Watch {
    command: Command,
    /// The result that is being read, if it is one of ours.
    rows: Option<StatusRows>,
    /// Packets of ours that go before the next of the server's is looked at.
    own_left: usize,
}

#[derive(Debug)]
enum Command {
    Text(VecDeque<Statement>),
    /// `None`: any other statement, whose id is free again for ours.
    Prepare(Option<Query>),
    /// The definitions behind a statement's id: parameters, then columns.
    Prepared {
        id: u32,
        parameters: u16,
        columns: u16,
    },
    Execute(u32),
    Fetch(u32),
}

impl Watch {
    const fn new(command: Command) -> Self {
        Self { command, rows: None, own_left: 0 }
    }

    pub(super) fn text(due: Vec<Statement>) -> Self {
        Self::new(Command::Text(due.into()))
    }

    pub(super) const fn prepare(query: Option<Query>) -> Self {
        Self::new(Command::Prepare(query))
    }

    pub(super) const fn execute(id: u32) -> Self {
        Self::new(Command::Execute(id))
    }

    pub(super) const fn fetch(id: u32) -> Self {
        Self::new(Command::Fetch(id))
    }

    /// Whether packets must be whole to go on where `due` is due.
    pub(crate) fn reads(&self, due: Reply) -> bool {
        self.own_left > 0
            || match (&self.command, due) {
                (Command::Prepared { columns: 1.., .. }, Reply::Prepared { .. }) => true,
                (Command::Fetch(_), Reply::UntilEof) => true,
                (_, Reply::Definitions { left: 1.., .. } | Reply::Rows { .. }) => self.rows.is_some(),
                _ => false,
            }
    }

    /// Takes a packet's first bytes before the reply goes on from `due`.
    pub(crate) fn begins(&mut self, due: Reply, peek: &[u8], agreed: Capabilities, all: &mut SessionStatus) {
        match due {
            Reply::First => self.result_begins(peek, agreed, all),
            Reply::Prepare if peek.first() == Some(&ok::HEADER) => self.statement_is_prepared(peek, all),
            _ => {}
        }
    }

    fn result_begins(&mut self, peek: &[u8], agreed: Capabilities, all: &SessionStatus) {
        self.rows = None;
        let is_result = !matches!(peek.first(), None | Some(&ok::HEADER | &err::HEADER | &LOCAL_INFILE));
        let count = Reader::new(peek).lenenc_int().unwrap_or(u64::MAX);
        if peek.first() == Some(&LOCAL_INFILE) || err::ends_reply(peek) || peek.first() == Some(&err::HEADER)
        {
            return;
        }
        match &mut self.command {
            Command::Text(due) => {
                let statement = match due.front() {
                    // Its results end with an OK.
                    Some(Statement::Call) if is_result => None,
                    _ => due.pop_front(),
                };
                if let Some(Statement::Status(query)) = statement
                    && is_result
                    && count <= COLUMNS_MAX
                {
                    self.rows = Some(StatusRows::new(Shape::new(), query, false));
                }
            }
            Command::Execute(id) if is_result && count <= COLUMNS_MAX => {
                if *id == LAST_PREPARED {
                    *id = all.last_prepared.unwrap_or(LAST_PREPARED);
                }
                let Some(prepared) = all.prepared.get(id) else { return };
                // The count, and 0: the definitions are those that are known already.
                let spared = agreed.contains(Capabilities::MARIADB_CACHE_METADATA) && peek.get(1) == Some(&0);
                let shape = if spared { prepared.shape.clone() } else { Shape::new() };
                self.rows = Some(StatusRows::new(shape, prepared.query.clone(), true));
            }
            _ => {}
        }
    }

    /// `00 | statement id 4 | columns 2 | parameters 2 | ...`
    fn statement_is_prepared(&mut self, peek: &[u8], all: &mut SessionStatus) {
        let mut reader = Reader::new(peek.get(1..).unwrap_or_default());
        let (Ok(id), Ok(columns), Ok(parameters)) = (reader.u32(), reader.u16(), reader.u16()) else {
            return;
        };
        all.forget(id);
        all.last_prepared = Some(id);
        if let Command::Prepare(Some(query)) = &mut self.command {
            all.prepared.insert(id, Prepared { query: query.clone(), shape: Shape::new() });
            let columns = if u64::from(columns) <= COLUMNS_MAX { columns } else { 0 };
            self.command = Command::Prepared { id, parameters, columns };
        }
    }

    /// Takes a whole packet that `reads` asked for.
    pub(crate) fn packet(
        &mut self,
        due: Reply,
        payload: &[u8],
        agreed: Capabilities,
        all: &mut SessionStatus,
    ) -> Verdict {
        if self.own_left > 0 {
            self.own_left -= 1;
            return Verdict::Pass;
        }
        if let Command::Fetch(id) = self.command
            && self.rows.is_none()
        {
            match all.cursors.remove(&id) {
                Some(rows) => self.rows = Some(rows),
                None => self.command = Command::Execute(id), // No cursor of ours: no more of it is read.
            }
        }
        let verdict = match due {
            Reply::Prepared { .. } => self.definition_of_prepared(payload, agreed, all),
            Reply::Definitions { .. } => {
                if let Some(rows) = &mut self.rows {
                    rows.define(payload, agreed);
                }
                Verdict::Pass
            }
            _ => self.row(payload, agreed, all),
        };
        if let Verdict::Replace(payloads) = &verdict {
            // The first is begun without another look.
            self.own_left = payloads.len().saturating_sub(1);
        }
        verdict
    }

    /// A packet that was too long to be read.
    pub(crate) fn passed_unread(&mut self, due: Reply) {
        if self.own_left > 0 {
            self.own_left -= 1;
        } else if !matches!(due, Reply::Rows { .. } | Reply::UntilEof) {
            self.rows = None;
        }
    }

    fn definition_of_prepared(
        &mut self,
        payload: &[u8],
        agreed: Capabilities,
        all: &mut SessionStatus,
    ) -> Verdict {
        let Command::Prepared { id, parameters, columns } = &mut self.command else { return Verdict::Pass };
        if eof::ends_rows(payload, payload.len(), false) {
            // Between parameters and columns.
        } else if *parameters > 0 {
            *parameters -= 1;
        } else if let Some(prepared) = all.prepared.get_mut(id) {
            prepared.shape.define(payload, prepared.query.is_show, agreed);
            *columns = columns.saturating_sub(1);
        }
        Verdict::Pass
    }

    fn row(&mut self, payload: &[u8], agreed: Capabilities, all: &mut SessionStatus) -> Verdict {
        let deprecate_eof = agreed.contains(Capabilities::DEPRECATE_EOF);
        let Some(rows) = &mut self.rows else { return Verdict::Pass };
        if payload.first() == Some(&err::HEADER) {
            if err::ends_reply(payload) {
                self.rows = None;
            }
            return Verdict::Pass;
        }
        if !eof::ends_rows(payload, payload.len(), deprecate_eof) {
            return rows.row(payload, &all.own);
        }
        let flags = if deprecate_eof { ok::status_of(payload) } else { eof::status_of(payload) };
        let Some(mut rows) = self.rows.take() else { return Verdict::Pass };
        if let Command::Execute(id) | Command::Fetch(id) = self.command
            && flags & status::CURSOR_EXISTS != 0
            && flags & status::LAST_ROW_SENT == 0
        {
            if all.cursors.len() < super::PREPARED_MAX {
                all.cursors.insert(id, rows);
            }
            return Verdict::Pass;
        }
        let mut payloads = rows.rest(&all.own);
        if payloads.is_empty() {
            return Verdict::Pass;
        }
        payloads.push(payload.to_vec());
        Verdict::Replace(payloads)
    }

    /// The reply ended with this packet. An EOF behind definitions opened a cursor: rows come by COM_STMT_FETCH.
    pub(crate) fn ended(&mut self, due: Reply, peek: &[u8], all: &mut SessionStatus) {
        if let (Command::Execute(id), Some(rows)) = (&self.command, self.rows.take())
            && matches!(due, Reply::Definitions { .. })
            && peek.first() == Some(&eof::HEADER)
            && all.cursors.len() < super::PREPARED_MAX
        {
            all.cursors.insert(*id, rows);
        }
    }
}

/// A status has two columns; a few of somebody's own may stand beside them.
const COLUMNS_MAX: u64 = 64;
/// MariaDB: the statement that was prepared last.
const LAST_PREPARED: u32 = u32::MAX;
/// First byte of a request for a local file.
const LOCAL_INFILE: u8 = 0xfb;
