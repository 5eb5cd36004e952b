//! The border between the protocol and what answers: `Database`, one `Engine` per connection, and `Reply`.
//!
//! ```text
//! session ── query, prepare, execute ──▶ Engine
//!         ◀── begin, value…, end_row, finish ── through Reply
//! ```
//! The embedded database (`store`) is one implementation; anything that can list rows can be another.
//!
//! Not here: packets (`session`, `reply`), SQL (`sql`, `store`).

use std::sync::Arc;

use codec::Algorithm;

use crate::column::Column;
use crate::fault::{Fault, SqlFault};
use crate::sessions::Sessions;

/// One value of a row or one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point number.
    Real(f64),
    /// Text, a date or a time, or a decimal, as characters.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// Who is connected, and how.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The connection id of the greeting.
    pub id: u32,
    /// As logged in.
    pub user: String,
    /// `localhost` or the peer's address.
    pub host: String,
    /// What this connection's frames are packed with.
    pub algorithm: Algorithm,
    /// Its level; 0 when uncompressed.
    pub level: u8,
    /// Version and cipher suite of TLS, empty without.
    pub tls: [String; 2],
}

/// How a statement without rows, or the end of its rows, went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows inserted, changed or deleted.
    pub affected_rows: u64,
    /// The AUTO_INCREMENT value of the first row.
    pub last_insert_id: u64,
    /// See `wire::response::status`.
    pub status: u16,
    /// Warnings.
    pub warnings: u16,
    /// Such as `Records: 3  Duplicates: 0  Warnings: 0`.
    pub message: String,
}

/// Where an engine puts its results: `begin`, rows, `finish`; or only `finish`.
pub trait Reply {
    /// Rows of these columns follow.
    fn begin(&mut self, columns: Vec<Column>) -> Result<(), Fault>;
    /// The next value of the row.
    fn value(&mut self, value: Value<'_>);
    /// The row is complete. Cost: writes to the socket when enough has gathered.
    fn end_row(&mut self) -> Result<(), Fault>;
    /// The statement is done.
    fn finish(&mut self, outcome: &Outcome) -> Result<(), Fault>;
    /// Asks the client for a file and gives its bytes to `sink`, packet by packet, to the last one even when
    /// `sink` fails.
    fn local_file(
        &mut self,
        name: &str,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SqlFault>,
    ) -> Result<(), Fault>;
}

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// Its number in this connection.
    pub id: u32,
    /// How many `?` it has.
    pub param_count: usize,
    /// The columns of its rows; none when it has no rows.
    pub columns: Vec<Column>,
}

/// What answers one connection.
pub trait Engine {
    /// Runs one statement, or several when `multi`.
    fn query(&mut self, sql: &[u8], multi: bool, reply: &mut dyn Reply) -> Result<(), Fault>;
    /// Prepares a statement.
    fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlFault>;
    /// Runs a prepared statement.
    fn execute(&mut self, id: u32, params: &[Value<'_>], reply: &mut dyn Reply) -> Result<(), Fault>;
    /// Forgets a prepared statement.
    fn close(&mut self, id: u32);
    /// Chooses the database, as USE does.
    fn use_schema(&mut self, schema: &str) -> Result<(), SqlFault>;
    /// The columns of a table, each with its default.
    fn fields(&mut self, table: &str) -> Result<Vec<(Column, Option<String>)>, SqlFault>;
    /// Back to the state after the login: COM_RESET_CONNECTION.
    fn reset(&mut self) -> Result<(), SqlFault>;
    /// The client has another name now: COM_CHANGE_USER.
    fn change_user(&mut self, user: &str);
    /// The status bits of the next OK.
    fn status(&self) -> u16;
    /// Stops the running statement, from another thread.
    fn interrupter(&self) -> Box<dyn Fn() + Send>;
}

/// What answers all connections.
pub trait Database: Send + Sync {
    /// Opens an engine for a connection that has logged in.
    fn connect(&self, identity: Identity, sessions: Arc<Sessions>) -> Result<Box<dyn Engine>, SqlFault>;
}
