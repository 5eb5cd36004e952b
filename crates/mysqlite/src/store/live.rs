//! Live tables: made in the catalog once, and filled for each statement that names them.
//!
//! ```text
//! main  "wirepress.connections"   empty; its catalog entry has the columns' types
//! temp  "wirepress.connections"   this connection's, which SQLite finds first
//! ```
//! Invariants: nothing that is filled is seen by another connection.
//! Not here: where the rows come from (`crate::live`).

use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::Store;
use crate::fault::SqlFault;
use crate::live::{LiveTable, LiveTables, LiveValue};
use crate::sql::plan::Plan;
use crate::sql::quote;
use crate::start_fault::StartFault;

impl Store {
    /// A temporary database of nothing but live tables.
    pub fn open_live(live: Arc<dyn LiveTables>) -> Result<Arc<Self>, StartFault> {
        let store = Self::open(None)?;
        let fault = |cause| StartFault::Catalog { path: store.path.clone(), cause };
        let schema = live.schema();
        store.execute(&format!("CREATE DATABASE {schema}")).map_err(fault)?;
        for LiveTable { name, columns } in live.tables() {
            let columns: Vec<_> = columns.iter().map(|(name, kind)| format!("`{name}` {kind}")).collect();
            store
                .execute(&format!("CREATE TABLE {schema}.{name} ({})", columns.join(", ")))
                .map_err(fault)?;
        }
        // From now on nobody writes.
        drop(store.live.set(live));
        Ok(store)
    }

    /// No statement of a connection that is made from now on runs longer: it ends with 3024. The first call counts.
    pub fn limit_statements(&self, timeout: Duration) {
        self.statement_timeout.get_or_init(|| timeout);
    }

    pub(super) fn live(&self) -> Option<&dyn LiveTables> {
        self.live.get().map(Arc::as_ref)
    }

    /// Errors: `ReadOnly` for a statement that writes, where tables are live.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), SqlFault> {
        let harmless = matches!(
            plan,
            Plan::Rows(_)
                | Plan::Use(_)
                | Plan::Begin { .. }
                | Plan::Commit
                | Plan::Rollback
                | Plan::Savepoint(_)
                | Plan::RollbackTo(_)
                | Plan::Release(_)
                | Plan::Set(_)
                | Plan::Kill(..)
                | Plan::Nothing
        );
        if harmless || self.live().is_none() { Ok(()) } else { Err(SqlFault::ReadOnly) }
    }

    /// Fills the tables that `sql`, SQLite's, names.
    pub(super) fn fill_live(&self, sqlite: &Connection, sql: &str) -> rusqlite::Result<()> {
        let Some(live) = self.live() else { return Ok(()) };
        for LiveTable { name, columns } in live.tables() {
            let table = quote::name(&format!("{}.{name}", live.schema()));
            if !sql.contains(&table) {
                continue;
            }
            let names: Vec<_> =
                columns.iter().map(|(name, _)| format!("{} COLLATE NOCASE", quote::name(name))).collect();
            sqlite.execute_batch(&format!(
                "SAVEPOINT fill; CREATE TEMP TABLE IF NOT EXISTS {table} ({}); DELETE FROM temp.{table}",
                names.join(",")
            ))?;
            let marks = vec!["?"; columns.len()].join(",");
            let mut insert = sqlite.prepare_cached(&format!("INSERT INTO temp.{table} VALUES ({marks})"))?;
            for row in live.rows(name) {
                insert.execute(params_from_iter(row.into_iter().map(value)))?;
            }
            drop(insert);
            sqlite.execute_batch("RELEASE fill")?;
        }
        Ok(())
    }
}

fn value(value: LiveValue) -> Value {
    match value {
        LiveValue::Null => Value::Null,
        LiveValue::Int(number) => Value::Integer(number),
        LiveValue::Real(number) => Value::Real(number),
        LiveValue::Text(text) => Value::Text(text),
    }
}
