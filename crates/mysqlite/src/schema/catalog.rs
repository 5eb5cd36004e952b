//! Which databases exist and which tables are in them.
//!
//! Invariants: the names of tables are compared as written, those of databases too, as MySQL does on Linux;
//! the built-in databases are never in here.
//!
//! Not here: the copy of it in the file (`store`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::Table;
use crate::fault::SqlFault;

/// The databases that are views of the server itself; filled when a statement names them.
pub(crate) const BUILT_IN: [&str; 2] = ["information_schema", "performance_schema"];

/// All databases. A clone shares the tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) schemas: BTreeMap<String, BTreeMap<String, Arc<Table>>>,
    /// Counts the changes, so that a prepared statement sees that it is older.
    pub(crate) generation: u64,
}

impl Catalog {
    pub(crate) fn has_schema(&self, schema: &str) -> bool {
        self.schemas.contains_key(schema) || is_built_in(schema)
    }

    pub(crate) fn find(&self, schema: &str, table: &str) -> Option<&Arc<Table>> {
        self.schemas.get(schema)?.get(table)
    }

    /// The table, which must exist.
    /// Errors: 1049, 1146.
    pub(crate) fn table(&self, schema: &str, table: &str) -> Result<&Arc<Table>, SqlFault> {
        if !self.has_schema(schema) {
            return Err(SqlFault::UnknownDatabase(schema.to_owned()));
        }
        self.find(schema, table).ok_or_else(|| SqlFault::UnknownTable(format!("{schema}.{table}")))
    }

    /// The table of a SQLite name such as `shop.orders`.
    pub(crate) fn by_sqlite_name(&self, name: &str) -> Option<&Arc<Table>> {
        // A database's name may contain a dot, so the first dot need not be the border.
        name.match_indices('.')
            .find_map(|(dot, _)| self.find(name.get(..dot)?, name.get(dot + 1..).unwrap_or_default()))
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(BTreeMap::values)
    }
}

pub(crate) fn is_built_in(schema: &str) -> bool {
    BUILT_IN.iter().any(|name| name.eq_ignore_ascii_case(schema))
}
