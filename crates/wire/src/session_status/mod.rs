//! The session's own status, as the client leg has it: `Compression`, `Compression_algorithm`, `Compression_level`.
//!
//! A server knows only its own leg. Through the proxy these three rows of `SHOW STATUS` and of the table behind it tell
//! what the client itself agreed on: what a direct connection would show. This is the only place where a payload may be
//! changed behind the login, and it can be switched off.
//!
//! ```text
//! COM_QUERY, COM_STMT_PREPARE   text -> `statement`: which of the results is it?  -> Watch, kept beside the command
//! reply                         definitions, rows -> `result`: pass, or other rows instead
//! ```
//! Invariants: only results of the status table are touched, and in them only rows of these names; results inside of
//! routines and of `GLOBAL` never are; commands longer than [`STATEMENT_LEN_MAX`] pass unread.
//! Not here: ids of packets (`conversation`), bytes (crate `proxy`).

mod filter;
mod result;
mod row;
mod statement;
mod text;
mod token;
mod watch;

use std::collections::HashMap;

use codec::Algorithm;
pub use result::Verdict;
use result::{Shape, StatusRows};
use statement::{Query, Statement, statements};
pub(crate) use text::behind_attributes;
pub(crate) use watch::Watch;

use crate::Capabilities;
use crate::command::{
    COM_CHANGE_USER, COM_QUERY, COM_RESET_CONNECTION, COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_FETCH,
    COM_STMT_PREPARE,
};

/// What is known of the statements that ask for the session's status.
#[derive(Debug)]
pub struct SessionStatus {
    own: OwnRows,
    /// Prepared statements that ask for it.
    prepared: HashMap<u32, Prepared>,
    /// Cursors of such statements whose rows come by COM_STMT_FETCH.
    cursors: HashMap<u32, StatusRows>,
    last_prepared: Option<u32>,
    /// One was prepared, or will be when its reply comes.
    any_prepared: bool,
}

#[derive(Debug)]
struct Prepared {
    query: Query,
    /// As it was told when it was prepared: MariaDB may leave it out later.
    shape: Shape,
}

impl SessionStatus {
    /// Tells of a client leg with this algorithm. `zstd_level`: what the login asked for.
    pub fn new(algorithm: Algorithm, zstd_level: u8) -> Self {
        Self {
            own: OwnRows::new(algorithm, zstd_level),
            prepared: HashMap::new(),
            cursors: HashMap::new(),
            last_prepared: None,
            any_prepared: false,
        }
    }

    /// Whether the text of such a command must be read before it goes on.
    pub(crate) const fn reads_command(byte: u8, payload_len: usize) -> bool {
        matches!(byte, COM_QUERY | COM_STMT_PREPARE) && payload_len <= STATEMENT_LEN_MAX
    }

    /// Reads a whole command that `reads_command` asked for.
    pub(crate) fn read_command(&mut self, payload: &[u8], agreed: Capabilities) -> Option<Watch> {
        match payload.split_first()? {
            (&COM_QUERY, rest) => {
                let due = statements(behind_attributes(rest, agreed)?);
                (!due.is_empty()).then(|| Watch::text(due))
            }
            (&COM_STMT_PREPARE, text) => match statements(text).as_slice() {
                [Statement::Status(query), ..] if self.prepared.len() < PREPARED_MAX => {
                    self.any_prepared = true;
                    Some(Watch::prepare(Some(query.clone())))
                }
                // Its id may be that of an earlier one.
                _ => self.any_prepared.then(|| Watch::prepare(None)),
            },
            _ => None,
        }
    }

    /// Takes the first bytes of any other command.
    pub(crate) fn command(&mut self, byte: u8, statement: Option<u32>) -> Option<Watch> {
        if !self.any_prepared {
            return None;
        }
        match (byte, statement) {
            (COM_STMT_PREPARE, _) => Some(Watch::prepare(None)),
            (COM_STMT_EXECUTE, Some(id)) => Some(Watch::execute(id)),
            (COM_STMT_FETCH, Some(id)) => Some(Watch::fetch(id)),
            (COM_STMT_CLOSE, Some(id)) => {
                self.forget(id);
                None
            }
            (COM_RESET_CONNECTION | COM_CHANGE_USER, _) => {
                self.user_changed();
                None
            }
            _ => None,
        }
    }

    /// The session begins anew, and of what was prepared nothing is left.
    pub(crate) fn user_changed(&mut self) {
        self.prepared.clear();
        self.cursors.clear();
    }

    fn forget(&mut self, id: u32) {
        self.prepared.remove(&id);
        self.cursors.remove(&id);
    }
}

/// The rows that tell of the client leg.
#[derive(Debug, Clone)]
struct OwnRows([Vec<u8>; OWN_COUNT]);

impl OwnRows {
    const NAMES: [&'static [u8]; OWN_COUNT] =
        [b"Compression", b"Compression_algorithm", b"Compression_level"];

    fn new(algorithm: Algorithm, zstd_level: u8) -> Self {
        let (name, level) = match algorithm {
            Algorithm::Uncompressed => ("", 0),
            Algorithm::Zlib => ("zlib", ZLIB_LEVEL),
            Algorithm::Zstd => ("zstd", zstd_level),
        };
        let on = if algorithm.is_framed() { "ON" } else { "OFF" };
        Self([on.into(), name.into(), level.to_string().into()])
    }

    fn value(&self, index: usize) -> Option<&[u8]> {
        self.0.get(index).map(Vec::as_slice)
    }

    fn each(&self, mut of: impl FnMut(&[u8], &[u8]) -> bool) -> [bool; OWN_COUNT] {
        let mut out = [false; OWN_COUNT];
        for ((out, name), value) in out.iter_mut().zip(Self::NAMES).zip(&self.0) {
            *out = of(name, value);
        }
        out
    }
}

/// Rows of ours.
const OWN_COUNT: usize = 3;
/// What MySQL shows for zlib, whose level is no part of the login.
pub const ZLIB_LEVEL: u8 = 6;
/// Longer commands aren't questions for a status. What is read costs a look at each of its bytes.
pub const STATEMENT_LEN_MAX: usize = 4 << 10;
/// Rows and definitions of the status table are far shorter.
pub(crate) const REPLY_LEN_MAX: usize = 16 << 10;
/// Statements of this kind that are remembered.
const PREPARED_MAX: usize = 1024;
