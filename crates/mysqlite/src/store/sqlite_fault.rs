//! SQLite's errors as MySQL's.
//!
//! Not here: errors that are found before SQLite sees the statement (`sql`).

use rusqlite::{Error, ErrorCode, ffi};

use crate::fault::SqlFault;
use crate::schema::catalog::Catalog;

/// `deletes`: the statement takes rows away, so a foreign key failure is the parent's.
pub(crate) fn sqlite_fault(error: Error, catalog: &Catalog, deletes: bool) -> SqlFault {
    let (code, message) = match error {
        Error::SqliteFailure(code, message) => (code, message.unwrap_or_default()),
        Error::SqlInputError { error, msg, .. } => (error, msg),
        Error::UserFunctionError(inner) => return SqlFault::Sqlite(inner.to_string()),
        Error::InvalidParameterCount(..) => {
            return SqlFault::MalformedPacket("the number of parameters of a prepared statement");
        }
        other => return SqlFault::Sqlite(other.to_string()),
    };
    match (code.code, code.extended_code) {
        (ErrorCode::OperationInterrupted, _) => SqlFault::Interrupted,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => SqlFault::LockWaitTimeout,
        (ErrorCode::ConstraintViolation, extended) => constraint(extended, &message, catalog, deletes),
        (ErrorCode::TypeMismatch, _) => SqlFault::DataType(message),
        (ErrorCode::TooBig, _) => SqlFault::PacketTooLarge,
        _ => by_message(message),
    }
}

fn constraint(extended: i32, message: &str, catalog: &Catalog, deletes: bool) -> SqlFault {
    let subject = message.split_once(": ").map_or(message, |(_, subject)| subject);
    match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            SqlFault::DuplicateEntry(duplicate_key(subject, catalog))
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            SqlFault::NotNull(subject.rsplit('.').next().unwrap_or_default().to_owned())
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY if deletes => {
            SqlFault::ForeignKeyParent("by another table".to_owned())
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => SqlFault::ForeignKeyChild("of this table".to_owned()),
        ffi::SQLITE_CONSTRAINT_DATATYPE => SqlFault::DataType(message.to_owned()),
        _ => SqlFault::Sqlite(message.to_owned()),
    }
}

/// `shop.orders.a, shop.orders.b` -> `orders.PRIMARY`, MySQL's name of the key over these columns.
fn duplicate_key(subject: &str, catalog: &Catalog) -> String {
    let columns: Vec<&str> =
        subject.split(", ").map(|column| column.rsplit('.').next().unwrap_or(column)).collect();
    let first = subject.split(", ").next().unwrap_or_default();
    let table = first.rsplit_once('.').and_then(|(table, _)| catalog.by_sqlite_name(table));
    let Some(table) = table else { return subject.to_owned() };
    let key = table
        .keys
        .iter()
        .find(|key| key.columns.iter().map(|(name, ..)| name.as_str()).eq(columns.iter().copied()));
    format!("{}.{}", table.name, key.map_or("PRIMARY", |key| key.name.as_str()))
}

fn by_message(message: String) -> SqlFault {
    let after = |prefix: &str| message.strip_prefix(prefix).map(|rest| rest.trim_matches('"').to_owned());
    if let Some(name) = after("no such column: ").or_else(|| {
        // `table shop.orders has no column named x`
        message.rsplit_once(" has no column named ").map(|(_, name)| name.to_owned())
    }) {
        // SQLite may add where it looked; MySQL tells the name only.
        return SqlFault::UnknownColumn(
            name.split(" - ").next().unwrap_or_default().trim_matches('"').to_owned(),
        );
    }
    if let Some(name) = message.strip_prefix("Unknown system variable '") {
        // From our own function.
        return SqlFault::UnknownVariable(name.trim_end_matches('\'').to_owned());
    }
    if let Some(name) = after("ambiguous column name: ") {
        return SqlFault::AmbiguousColumn(name);
    }
    if let Some(name) = after("no such function: ") {
        return SqlFault::UnknownFunction(name);
    }
    if let Some(name) = after("no such table: ") {
        return SqlFault::UnknownTable(name);
    }
    if let Some(rest) = message.strip_prefix("near \"").and_then(|rest| rest.strip_suffix("\": syntax error"))
    {
        return SqlFault::Syntax(rest.to_owned());
    }
    if let Some(rest) = message.strip_prefix("wrong number of arguments to function ") {
        return SqlFault::ArgumentCount(rest.trim_end_matches("()").to_owned());
    }
    if message.ends_with("syntax error") || message.starts_with("incomplete input") {
        return SqlFault::Syntax(message);
    }
    SqlFault::Sqlite(message)
}
