//! SQLite's prepared statements, with values bound.
//!
//! Not here: what they say (`sql`).

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use crate::engine::Value;

/// Prepares `sql`, or takes it from the cache, and works with it.
pub(super) fn with_statement<T>(
    sqlite: &Connection,
    sql: &str,
    keep: bool,
    work: impl FnOnce(&mut Statement<'_>) -> T,
) -> rusqlite::Result<T> {
    if keep { Ok(work(&mut *sqlite.prepare_cached(sql)?)) } else { Ok(work(&mut sqlite.prepare(sql)?)) }
}

pub(super) fn bind(statement: &mut Statement<'_>, params: &[Value<'_>]) -> rusqlite::Result<()> {
    if statement.parameter_count() != params.len() {
        return Err(rusqlite::Error::InvalidParameterCount(params.len(), statement.parameter_count()));
    }
    for (index, value) in params.iter().enumerate() {
        let digits;
        let value = match value {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Value::Uint(number) => match i64::try_from(*number) {
                Ok(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
                Err(_) => {
                    digits = number.to_string();
                    ToSqlOutput::Borrowed(ValueRef::Text(digits.as_bytes()))
                }
            },
            Value::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Value::Text(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        };
        statement.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}
