//! The packets of replies: OK, ERR and EOF, which end them, and the text results of our own questions.
//!
//! Not here: where the relay is in a reply (`conversation`).

pub mod eof;
pub mod err;
pub mod ok;
pub mod text_result;

pub use err::ErrPacket;
pub use ok::OkPacket;

/// SERVER_STATUS flags, bits of the status field in OK and EOF.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 0x0001;
    /// Every statement is a transaction of its own.
    pub const AUTOCOMMIT: u16 = 0x0002;
    /// Another result follows in this reply.
    pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
    /// A cursor is open: rows come by COM_STMT_FETCH.
    pub const CURSOR_EXISTS: u16 = 0x0040;
    /// The last row of a cursor was sent.
    pub const LAST_ROW_SENT: u16 = 0x0080;
    /// The open transaction is READ ONLY.
    pub const IN_TRANSACTION_READ_ONLY: u16 = 0x2000;
    /// This result is the OUT parameters of a prepared CALL.
    pub const PS_OUT_PARAMS: u16 = 0x1000;
}
