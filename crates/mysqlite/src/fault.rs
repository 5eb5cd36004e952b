//! What can go wrong, by name: `SqlFault` is what a client is told, `Fault` is what ends a session.
//!
//! Each `SqlFault` carries MySQL's own error number and SQLSTATE, because drivers and sysbench act on
//! them (1213 and 1205 are retried, 1062 ignored, 1146 means "not there yet").
//!
//! Not here: why a server could not start (`start_fault`), how SQLite's errors become these (`store::sqlite_fault`), the
//! ERR packet (`wire`).

use thiserror::Error;

/// An error that a statement ends with; the session goes on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SqlFault {
    /// Wrong user name or password, or none where one is needed.
    #[error("Access denied for user '{user}'@'{host}' (using password: {password})")]
    AccessDenied { user: String, host: String, password: &'static str },
    #[error("Column '{0}' in field list is ambiguous")]
    AmbiguousColumn(String),
    #[error("Incorrect parameter count in the call to native function '{0}'")]
    ArgumentCount(String),
    #[error("Can't create database '{0}'; database exists")]
    DatabaseExists(String),
    #[error("Can't drop database '{0}'; database doesn't exist")]
    DatabaseToDropMissing(String),
    /// Data that does not fit its column's type.
    #[error("Incorrect value for a column: {0}")]
    DataType(String),
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    Deadlock,
    #[error("Duplicate column name '{0}'")]
    DuplicateColumn(String),
    #[error("Duplicate entry for key '{0}'")]
    DuplicateEntry(String),
    #[error("Duplicate key name '{0}'")]
    DuplicateKey(String),
    #[error("Query was empty")]
    EmptyQuery,
    #[error("Unknown prepared statement handler ({0}) given to EXECUTE")]
    UnknownStatement(u32),
    #[error("Can't find file '{0}' (LOCAL files come from the client only)")]
    FileNotLocal(String),
    #[error("Cannot add or update a child row: a foreign key constraint fails ({0})")]
    ForeignKeyChild(String),
    #[error("Cannot delete or update a parent row: a foreign key constraint fails ({0})")]
    ForeignKeyParent(String),
    #[error("Query execution was interrupted")]
    Interrupted,
    #[error("Key column '{0}' doesn't exist in table")]
    KeyColumnMissing(String),
    #[error("Can't DROP '{0}'; check that column/key exists")]
    KeyMissing(String),
    #[error("Loading local data is disabled; this must be enabled on both the client and server sides")]
    LocalFilesDisabled,
    #[error("Lock wait timeout exceeded; try restarting transaction")]
    LockWaitTimeout,
    #[error("Malformed packet: {0}")]
    MalformedPacket(&'static str),
    #[error("No database selected")]
    NoDatabase,
    #[error("Column '{0}' cannot be null")]
    NotNull(String),
    #[error("This version of MySQL doesn't yet support '{0}'")]
    NotSupported(String),
    #[error("Can't create more than max_prepared_stmt_count statements (current value: {0})")]
    TooManyStatements(usize),
    #[error("Got a packet bigger than 'max_allowed_packet' bytes")]
    PacketTooLarge,
    /// What SQLite said where MySQL has no number of its own.
    #[error("SQLite: {0}")]
    Sqlite(String),
    #[error(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
         the right syntax to use near '{0}'"
    )]
    Syntax(String),
    #[error("Table '{0}' already exists")]
    TableExists(String),
    #[error("Unknown table '{0}'")]
    TableToDropMissing(String),
    #[error("Unknown column '{0}' in 'field list'")]
    UnknownColumn(String),
    #[error("Unknown command")]
    UnknownCommand,
    #[error("Unknown database '{0}'")]
    UnknownDatabase(String),
    #[error("FUNCTION {0} does not exist")]
    UnknownFunction(String),
    #[error("SAVEPOINT {0} does not exist")]
    UnknownSavepoint(String),
    #[error("Table '{0}' doesn't exist")]
    UnknownTable(String),
    #[error("Unknown thread id: {0}")]
    UnknownThread(u64),
    #[error("Unknown system variable '{0}'")]
    UnknownVariable(String),
    #[error("Variable '{0}' is a read only variable")]
    VariableReadOnly(String),
    #[error("The MySQL server is running with the --read-only option so it cannot execute this statement")]
    ReadOnly,
    #[error("Variable '{name}' can't be set to the value of '{value}': {reason}")]
    WrongValue { name: String, value: String, reason: String },
    #[error("Too many connections")]
    TooManyConnections,
    #[error("Connections using insecure transport are prohibited: from another host only TLS will do")]
    InsecureTransport,
    #[error("Query execution was interrupted, maximum statement execution time exceeded")]
    StatementTimeout,
    #[error("Column count doesn't match value count at row {0}")]
    ValueCount(usize),
}

impl SqlFault {
    /// A syntax error whose message shows what begins at `at`.
    pub(crate) fn syntax(source: &[u8], at: usize) -> Self {
        let rest = source.get(at..).unwrap_or_default();
        // MySQL shows at most 80 characters of what it could not read.
        let rest = rest.get(..80).unwrap_or(rest);
        Self::Syntax(String::from_utf8_lossy(rest).into_owned())
    }

    /// MySQL's error number and SQLSTATE.
    /// Source: MySQL's error message reference.
    pub fn code(&self) -> (u16, &'static [u8; 5]) {
        match self {
            Self::AccessDenied { .. } => (1045, b"28000"),
            Self::AmbiguousColumn(_) => (1052, b"23000"),
            Self::ArgumentCount(_) => (1582, b"42000"),
            Self::DatabaseExists(_) => (1007, b"HY000"),
            Self::DatabaseToDropMissing(_) => (1008, b"HY000"),
            Self::DataType(_) => (1366, b"HY000"),
            Self::Deadlock => (1213, b"40001"),
            Self::DuplicateColumn(_) => (1060, b"42S21"),
            Self::DuplicateEntry(_) => (1062, b"23000"),
            Self::DuplicateKey(_) => (1061, b"42000"),
            Self::EmptyQuery => (1065, b"42000"),
            Self::UnknownStatement(_) => (1243, b"HY000"),
            Self::FileNotLocal(_) => (1290, b"HY000"),
            Self::ForeignKeyChild(_) => (1452, b"23000"),
            Self::ForeignKeyParent(_) => (1451, b"23000"),
            Self::Interrupted => (1317, b"70100"),
            Self::KeyColumnMissing(_) => (1072, b"42000"),
            Self::KeyMissing(_) => (1091, b"42000"),
            Self::LocalFilesDisabled => (3948, b"42000"),
            Self::LockWaitTimeout => (1205, b"HY000"),
            Self::MalformedPacket(_) => (1835, b"HY000"),
            Self::NoDatabase => (1046, b"3D000"),
            Self::NotNull(_) => (1048, b"23000"),
            Self::NotSupported(_) => (1235, b"42000"),
            Self::PacketTooLarge => (1153, b"08S01"),
            Self::Sqlite(_) => (1105, b"HY000"),
            Self::Syntax(_) => (1064, b"42000"),
            Self::TableExists(_) => (1050, b"42S01"),
            Self::TableToDropMissing(_) => (1051, b"42S02"),
            Self::UnknownColumn(_) => (1054, b"42S22"),
            Self::UnknownCommand => (1047, b"08S01"),
            Self::UnknownDatabase(_) => (1049, b"42000"),
            Self::UnknownFunction(_) => (1305, b"42000"),
            Self::UnknownSavepoint(_) => (1305, b"42000"),
            Self::UnknownTable(_) => (1146, b"42S02"),
            Self::UnknownThread(_) => (1094, b"HY000"),
            Self::UnknownVariable(_) => (1193, b"HY000"),
            Self::VariableReadOnly(_) => (1238, b"HY000"),
            Self::ReadOnly => (1290, b"HY000"),
            Self::WrongValue { .. } => (1231, b"42000"),
            Self::TooManyStatements(_) => (1461, b"42000"),
            Self::TooManyConnections => (1040, b"08004"),
            Self::InsecureTransport => (3159, b"HY000"),
            Self::StatementTimeout => (3024, b"HY000"),
            Self::ValueCount(_) => (1136, b"21S01"),
        }
    }
}

/// Why a statement stopped: it failed, or its client is gone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The peer's bytes break the protocol.
    #[error("the client breaks the protocol: {0}")]
    Protocol(#[from] wire::Fault),
    /// The socket.
    #[error("the connection failed: {0}")]
    Socket(#[from] std::io::Error),
    /// The statement; the client is told and may go on.
    #[error(transparent)]
    Sql(#[from] SqlFault),
}
