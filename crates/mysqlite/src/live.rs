//! Tables that somebody else fills: what an admin port shows of a running process.
//!
//! ```text
//! SELECT ... FROM connections ──▶ LiveTables::rows("connections") ──▶ a temporary table of this connection ──▶ SQLite
//! KILL 7, SET GLOBAL x = 1    ──▶ LiveTables::kill, LiveTables::set
//! ```
//! Invariants: a database with live tables can't be written by SQL; each statement sees one moment of each table.
//! Not here: who fills them.

/// A value of a live table.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveValue {
    /// NULL
    Null,
    /// A whole number.
    Int(i64),
    /// Any number.
    Real(f64),
    /// A text.
    Text(String),
}

impl LiveValue {
    /// A count, which beyond 2^63 is as large as can be.
    pub fn count(count: u64) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// A text, or NULL.
    pub fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }
}

/// A live table.
#[derive(Debug, Clone, Copy)]
pub struct LiveTable {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Names and types of its columns, as in CREATE TABLE.
    pub columns: &'static [(&'static str, &'static str)],
}

/// One line of SHOW PROCESSLIST.
#[derive(Debug, Clone)]
pub struct LiveProcess {
    /// By which KILL ends it.
    pub id: u64,
    /// Account name.
    pub user: String,
    /// The client's address.
    pub host: String,
    /// Its database.
    pub database: Option<String>,
    /// What it does.
    pub command: String,
    /// For so many seconds.
    pub seconds: u64,
    /// What it waits for.
    pub state: String,
    /// The statement that it runs.
    pub info: Option<String>,
}

/// Who fills the tables.
pub trait LiveTables: Send + Sync {
    /// The database's name, in which clients find themselves.
    fn schema(&self) -> &'static str;
    /// Its tables.
    fn tables(&self) -> &'static [LiveTable];
    /// The rows of a table now, each with a value for each column.
    fn rows(&self, table: &str) -> Vec<Vec<LiveValue>>;
    /// What SHOW PROCESSLIST lists.
    fn processes(&self) -> Vec<LiveProcess>;
    /// KILL: was it there?
    fn kill(&self, id: u64) -> bool;
    /// Its own system variables, which hide those of the same name.
    fn variables(&self) -> Vec<(String, String)>;
    /// SET, of a variable of its own; `None` for any other.
    ///
    /// Errors: what is wrong with the value.
    fn set(&self, name: &str, value: &str) -> Option<Result<(), String>>;
}
