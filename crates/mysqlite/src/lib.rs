//! The MySQL protocol in front of SQLite: a small database that drivers, dumps and sysbench take for MySQL 8.
//!
//! ```text
//! client ── socket ──▶ stream ─▶ login ─▶ session ─▶ Engine (trait) ─▶ store ─▶ SQLite
//!                                            ◀─ reply ◀─ rows                └ sql: MySQL's SQL -> SQLite's
//! ```
//! A thread per connection, each with a SQLite connection to the same file (WAL): readers never wait, writers
//! take turns (`store::write_lock`).
//!
//! Invariants: the protocol half (`session`, `login`, `reply`) knows no SQL and no SQLite; the SQL half knows
//! no packets; between them stands `engine`.
//!
//! Not here: packets and frames (crate `wire`), generators of test rows (crate `lab`).

mod account;
mod change_user;
mod column;
mod engine;
mod fault;
mod format;
mod limits;
mod live;
mod login;
mod parameters;
mod reply;
mod schema;
mod server;
mod session;
mod sessions;
mod sql;
mod start_fault;
mod store;
mod stream;

pub use account::{Account, Method};
pub use column::{CHARSET_BINARY, CHARSET_UTF8MB4, Column, DECIMALS_NOT_FIXED, FieldType, flag};
pub use engine::{Database, Engine, Identity, Outcome, Prepared, Reply, Value};
pub use fault::{Fault, SqlFault};
pub use limits::{Limits, Tls};
pub use live::{LiveProcess, LiveTable, LiveTables, LiveValue};
pub use login::SERVER_VERSION;
pub use server::{Options, Server};
pub use sessions::{Process, Sessions};
pub use start_fault::StartFault;
pub use store::Store;
pub use stream::PACKET_LEN_MAX;
