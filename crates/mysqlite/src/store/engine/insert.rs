//! INSERT, and other statements that write rows.
//!
//! Invariants: a value that was generated is told as MySQL tells it, the first of a statement's.
//!
//! Not here: LOAD DATA (`load_data`).

use super::SqliteEngine;
use super::statement::{bind, with_statement};
use crate::engine::{Outcome, Reply, Value};
use crate::fault::{Fault, SqlFault};
use crate::sql::insert::{AutoValue, Insert};
use crate::store::session_state::lock;
use crate::store::sqlite_fault::sqlite_fault;

impl SqliteEngine {
    pub(super) fn insert(
        &mut self,
        insert: &Insert,
        params: &[Value<'_>],
        keep: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), Fault> {
        if insert.built_in {
            self.fill_built_in(&insert.sql)?;
        }
        let guard = self.begin_write()?;
        let affected = self.change(&insert.sql, params, keep, false)?;
        let last = self.sqlite.last_insert_rowid();
        drop(guard);
        let mut outcome = Outcome { affected_rows: affected, ..self.outcome() };
        let generated = match insert.auto_value {
            AutoValue::Given => false,
            AutoValue::Generated => true,
            AutoValue::Parameter(index) => {
                matches!(params.get(index), Some(Value::Null | Value::Int(0) | Value::Uint(0)))
            }
        };
        let mut state = lock(&self.state);
        state.row_count = affected.cast_signed();
        if insert.has_auto_column && affected > 0 {
            // The values of one statement are consecutive, as nobody else wrote meanwhile.
            let first = last - i64::try_from(affected).unwrap_or(1) + 1;
            outcome.last_insert_id = if generated { first } else { last }.cast_unsigned();
            if generated {
                state.last_insert_id = first;
            }
        }
        drop(state);
        if insert.row_count > 1 {
            let rows = insert.row_count as u64;
            outcome.message =
                format!("Records: {rows}  Duplicates: {}  Warnings: 0", rows.saturating_sub(affected));
        }
        reply.finish(&outcome)
    }

    /// Runs a statement that writes; returns how many rows it touched.
    pub(super) fn change(
        &self,
        sql: &str,
        params: &[Value<'_>],
        keep: bool,
        deletes: bool,
    ) -> Result<u64, SqlFault> {
        let changed = with_statement(&self.sqlite, sql, keep, |statement| {
            bind(statement, params)?;
            statement.raw_execute().map(|count| count as u64)
        });
        let changed = changed.and_then(|inner| inner);
        changed.map_err(|error| sqlite_fault(error, &self.store.catalog(), deletes))
    }
}
