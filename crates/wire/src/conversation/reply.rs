//! What a command is answered with, and where the answer ends.
//!
//! ```text
//! First -> OK | ERR                                  Done, or First again while more results exist
//!       -> 0xFB                                      LocalInfile: the client sends, then First
//!       -> column count -> Definitions -> Rows       Done, or First again while more results exist
//! Prepare -> OK with counts -> Definitions           Done
//! ```
//! Source: MySQL internals, command phase; MariaDB knowledge base, "result set packets"; pinned by
//! `tests.rs` here, whose packets were read from real servers, and the live tests of crate `proxy`.
//!
//! Not here: sequence ids and the queue of commands (`super`).

use crate::command::{
    COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID, COM_CHANGE_USER, COM_CLONE, COM_FIELD_LIST, COM_PROCESS_INFO,
    COM_QUERY, COM_QUIT, COM_STMT_BULK_EXECUTE, COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_FETCH,
    COM_STMT_PREPARE, COM_STMT_SEND_LONG_DATA, COM_SUBSCRIBE_GROUP_REPLICATION_STREAM, COM_TABLE_DUMP,
};
use crate::response::{eof, err, ok, status};
use crate::{Capabilities, Reader};

/// The part of a reply that is due next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// One packet of any kind.
    Single,
    /// OK, ERR, a request for a local file, or the count of columns.
    First,
    /// Column definitions, and the EOF behind them where it isn't deprecated.
    Definitions {
        /// Definitions still to come.
        left: u64,
        /// The EOF is still to come behind them.
        eof: bool,
    },
    /// Rows up to their end.
    Rows {
        /// Another result follows whatever the end of the rows says: MySQL announces the OK behind OUT
        /// parameters only in the EOF before them.
        more_announced: bool,
    },
    /// The answer to COM_STMT_PREPARE.
    Prepare,
    /// Definitions of parameters and columns: packets still to come, EOFs included.
    Prepared {
        /// Packets still to come.
        left: u32,
    },
    /// Definitions or rows up to EOF: COM_FIELD_LIST, COM_STMT_FETCH.
    UntilEof,
    /// The file that the server asked for: the client sends until an empty packet.
    LocalInfile,
    /// The exchange of COM_CHANGE_USER.
    Auth,
    /// Binary log events, without end.
    Stream,
    /// A protocol of its own behind the command (clone, group replication).
    Foreign,
}

/// What a packet of the server means for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server has more to say.
    More,
    /// It is the client's turn within this command.
    ClientTurn,
    /// The reply is complete.
    Done,
}

impl Reply {
    /// Rows whose end tells itself whether more follows.
    const ROWS: Self = Self::Rows { more_announced: false };

    /// The reply due to `command`; `None` for commands that have none.
    pub const fn to(command: u8) -> Option<Self> {
        Some(match command {
            COM_QUIT | COM_STMT_CLOSE | COM_STMT_SEND_LONG_DATA => return None,
            COM_QUERY | COM_STMT_EXECUTE | COM_PROCESS_INFO | COM_STMT_BULK_EXECUTE => Self::First,
            COM_FIELD_LIST | COM_STMT_FETCH => Self::UntilEof,
            COM_STMT_PREPARE => Self::Prepare,
            COM_CHANGE_USER => Self::Auth,
            COM_BINLOG_DUMP | COM_BINLOG_DUMP_GTID | COM_TABLE_DUMP => Self::Stream,
            COM_CLONE | COM_SUBSCRIBE_GROUP_REPLICATION_STREAM => Self::Foreign,
            _ => Self::Single,
        })
    }

    /// Takes the next packet of the server: `payload_len` bytes that start with `peek`.
    pub fn advance(&mut self, agreed: Capabilities, payload_len: usize, peek: &[u8]) -> Outcome {
        let deprecate_eof = agreed.contains(Capabilities::DEPRECATE_EOF);
        if err::ends_reply(peek) && *self != Self::Foreign {
            return Outcome::Done;
        }
        if peek.first() == Some(&err::HEADER) {
            return Outcome::More; // A progress report of MariaDB's.
        }
        match self {
            Self::Single => Outcome::Done,
            Self::First => self.first(agreed, peek),
            Self::Definitions { left: 0, .. } => self.end_of_definitions(peek),
            Self::Definitions { left, eof } => {
                *left -= 1;
                if *left == 0 && !*eof {
                    *self = Self::ROWS;
                }
                Outcome::More
            }
            Self::Rows { more_announced } if eof::ends_rows(peek, payload_len, deprecate_eof) => {
                let flags = if deprecate_eof { ok::status_of(peek) } else { eof::status_of(peek) };
                let announced = if *more_announced { status::MORE_RESULTS_EXISTS } else { 0 };
                self.end_of_result(flags | announced)
            }
            Self::UntilEof | Self::Stream if eof::ends_rows(peek, payload_len, deprecate_eof) => {
                Outcome::Done
            }
            Self::Prepare => self.prepared(agreed, peek),
            Self::Prepared { left } => {
                *left = left.saturating_sub(1);
                if *left == 0 { Outcome::Done } else { Outcome::More }
            }
            Self::Auth if peek.first() == Some(&ok::HEADER) => Outcome::Done,
            Self::Auth => Outcome::ClientTurn,
            Self::Rows { .. } | Self::UntilEof | Self::Stream | Self::LocalInfile | Self::Foreign => {
                Outcome::More
            }
        }
    }

    fn first(&mut self, agreed: Capabilities, peek: &[u8]) -> Outcome {
        match peek.first() {
            Some(&ok::HEADER) => self.end_of_result(ok::status_of(peek)),
            Some(&LOCAL_INFILE) => {
                *self = Self::LocalInfile;
                Outcome::ClientTurn
            }
            None | Some(&eof::HEADER) => Outcome::Done,
            Some(_) => {
                let mut reader = Reader::new(peek);
                let count = reader.lenenc_int().unwrap_or(0);
                let spared = agreed.contains(Capabilities::OPTIONAL_RESULTSET_METADATA)
                    || agreed.contains(Capabilities::MARIADB_CACHE_METADATA);
                let left = if spared && reader.u8() == Ok(METADATA_NONE) { 0 } else { count };
                let eof = !agreed.contains(Capabilities::DEPRECATE_EOF);
                *self = if left == 0 && !eof { Self::ROWS } else { Self::Definitions { left, eof } };
                Outcome::More
            }
        }
    }

    /// The EOF between definitions and rows. With an open cursor the rows come by COM_STMT_FETCH.
    fn end_of_definitions(&mut self, peek: &[u8]) -> Outcome {
        let flags = eof::status_of(peek);
        if flags & status::CURSOR_EXISTS != 0 {
            return self.end_of_result(flags);
        }
        let out_parameters = flags & status::PS_OUT_PARAMS != 0;
        *self = Self::Rows { more_announced: out_parameters && flags & status::MORE_RESULTS_EXISTS != 0 };
        Outcome::More
    }

    const fn end_of_result(&mut self, flags: u16) -> Outcome {
        if flags & status::MORE_RESULTS_EXISTS == 0 {
            return Outcome::Done;
        }
        *self = Self::First;
        Outcome::More
    }

    /// `00 | statement id 4 | columns 2 | parameters 2 | 00 | warnings 2 | [metadata follows 1]`
    fn prepared(&mut self, agreed: Capabilities, peek: &[u8]) -> Outcome {
        let mut reader = Reader::new(peek);
        let counts = (|| {
            reader.bytes(5)?;
            let counts = (reader.u16()?, reader.u16()?);
            reader.bytes(3)?;
            Ok::<_, crate::Fault>(counts)
        })();
        let (columns, parameters) = counts.unwrap_or_default();
        let spared =
            agreed.contains(Capabilities::OPTIONAL_RESULTSET_METADATA) && reader.u8() == Ok(METADATA_NONE);
        let eof = u32::from(!agreed.contains(Capabilities::DEPRECATE_EOF));
        // MySQL sends the EOFs even behind definitions that it spares.
        let definitions = |count: u16| if spared { 0 } else { u32::from(count) };
        let packets = |count: u16| if count == 0 { 0 } else { definitions(count) + eof };
        *self = Self::Prepared { left: packets(columns) + packets(parameters) };
        if *self == (Self::Prepared { left: 0 }) { Outcome::Done } else { Outcome::More }
    }
}

/// First byte of a request for a local file.
const LOCAL_INFILE: u8 = 0xfb;
/// RESULTSET_METADATA_NONE, and MariaDB's "no metadata follows".
const METADATA_NONE: u8 = 0;
