//! From a SQLite statement's rows to a reply: the columns' types, then the values as they come.
//!
//! A column of a table has its declared type. An expression has the type of its first value, as SQLite knows no
//! other; where that is NULL or there is no row, it is text, unless the function's name tells.
//!
//! Invariants: one row at a time; no row is held.
//!
//! Not here: writing them (`reply`).

use rusqlite::Statement;
use rusqlite::types::ValueRef;

use crate::column::{CHARSET_BINARY, Column, FieldType};
use crate::engine::{Reply, Value};
use crate::fault::Fault;
use crate::schema::catalog::Catalog;

/// A column, and whether its type waits for the first value.
pub(crate) struct Described {
    pub(crate) column: Column,
    pub(crate) open: bool,
}

/// The columns of a statement as far as they are known before its first row.
pub(crate) fn describe(statement: &Statement<'_>, catalog: &Catalog) -> Vec<Described> {
    let mut described = Vec::with_capacity(statement.column_count());
    for metadata in statement.columns_with_metadata() {
        let declared = metadata
            .table_name()
            .filter(|_| metadata.database_name() == Some("main"))
            .and_then(|table| catalog.by_sqlite_name(table))
            .and_then(|table| Some((table, table.column(metadata.origin_name()?)?)));
        described.push(match declared {
            Some((table, column)) => {
                Described { column: table.describe(column, metadata.name()), open: false }
            }
            None => expression(metadata.name()),
        });
    }
    described
}

/// What an expression's text tells of its type.
fn expression(name: &str) -> Described {
    let end =
        name.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_').unwrap_or(name.len());
    let function = name.get(..end).unwrap_or_default().to_ascii_lowercase();
    let call = name.as_bytes().get(end) == Some(&b'(');
    let field = match function.as_str() {
        "now" | "sysdate" | "utc_timestamp" if call => FieldType::DateTime,
        "current_timestamp" | "localtimestamp" | "localtime" => FieldType::DateTime,
        "curdate" | "utc_date" if call => FieldType::Date,
        "current_date" => FieldType::Date,
        "curtime" | "utc_time" if call => FieldType::Time,
        "current_time" => FieldType::Time,
        "count" | "length" | "char_length" | "connection_id" | "last_insert_id" | "row_count"
        | "found_rows"
            if call =>
        {
            FieldType::LongLong
        }
        "rand" if call => FieldType::Double,
        _ => return Described { column: Column::expression(name, FieldType::VarString), open: true },
    };
    // Only when the call is the whole expression.
    let whole = name.ends_with(')') && name.matches('(').count() == 1;
    if whole || !call {
        Described { column: Column::expression(name, field), open: false }
    } else {
        Described { column: Column::expression(name, FieldType::VarString), open: true }
    }
}

/// Gives an expression the type of its first value.
fn settle(column: &mut Column, value: ValueRef<'_>) {
    let lower = column.name.to_ascii_lowercase();
    let sum = lower.starts_with("sum(");
    let average = lower.starts_with("avg(");
    let field = match value {
        ValueRef::Integer(_) | ValueRef::Null if sum => FieldType::NewDecimal,
        ValueRef::Real(_) if average => FieldType::NewDecimal,
        ValueRef::Integer(_) => FieldType::LongLong,
        ValueRef::Real(_) => FieldType::Double,
        _ => FieldType::VarString,
    };
    let name = std::mem::take(&mut column.name);
    *column = Column::expression(name, field);
    if average && field == FieldType::NewDecimal {
        // The scale of AVG over integers.
        column.decimals = 4;
    }
    if matches!(value, ValueRef::Blob(_)) {
        column.charset = CHARSET_BINARY;
    }
}

/// Sends all rows; returns how many there were.
pub(crate) fn send(
    statement: &mut Statement<'_>,
    catalog: &Catalog,
    limit: u64,
    reply: &mut dyn Reply,
) -> Result<Result<i64, rusqlite::Error>, Fault> {
    let mut described = describe(statement, catalog);
    let count = described.len();
    let mut rows = statement.raw_query();
    let mut row_count = 0_i64;
    let mut begun = false;
    while limit > row_count.cast_unsigned() || !begun {
        let row = match rows.next() {
            Ok(row) => row,
            Err(error) => return Ok(Err(error)),
        };
        if !begun {
            begun = true;
            if let Some(row) = row {
                for (at, described) in
                    described.iter_mut().enumerate().filter(|(_, described)| described.open)
                {
                    if let Ok(value) = row.get_ref(at) {
                        settle(&mut described.column, value);
                    }
                }
            }
            reply.begin(
                std::mem::take(&mut described).into_iter().map(|described| described.column).collect(),
            )?;
            if limit == 0 {
                break;
            }
        }
        let Some(row) = row else { break };
        for at in 0..count {
            reply.value(match row.get_ref(at) {
                Ok(ValueRef::Integer(number)) => Value::Int(number),
                Ok(ValueRef::Real(number)) => Value::Real(number),
                Ok(ValueRef::Text(bytes)) => Value::Text(bytes),
                Ok(ValueRef::Blob(bytes)) => Value::Blob(bytes),
                Ok(ValueRef::Null) => Value::Null,
                Err(error) => return Ok(Err(error)),
            });
        }
        reply.end_row()?;
        row_count += 1;
    }
    Ok(Ok(row_count))
}
