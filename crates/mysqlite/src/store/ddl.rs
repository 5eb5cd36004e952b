//! CREATE, DROP, ALTER, RENAME and TRUNCATE: SQLite's tables, the stored definitions and the catalog, together.
//!
//! Invariants: each statement is one SQLite transaction under the write lock; the catalog in memory changes
//! only after it is committed.
//!
//! Not here: reading the statements (`sql::create_table`, `sql::alter_table`).

use std::sync::Arc;

use rusqlite::{Connection, params};

use super::engine::SqliteEngine;
use crate::fault::SqlFault;
use crate::schema::catalog::{Catalog, is_built_in};
use crate::schema::table::Table;
use crate::sql::alter_table::Alteration;
use crate::sql::plan::Plan;
use crate::sql::quote;

impl SqliteEngine {
    /// Runs a DDL statement; returns its affected rows.
    pub(super) fn ddl(&mut self, plan: &Plan) -> Result<u64, SqlFault> {
        let _guard = self.store.write_lock.take(self.lock_timeout())?;
        let mut catalog = Catalog::clone(&self.store.catalog());
        // A definition may name a table that comes later; a dropped parent leaves its children.
        self.sqlite.execute_batch("PRAGMA foreign_keys = OFF").map_err(|error| self.fault(error))?;
        let result = self.in_one_transaction(plan, &mut catalog);
        let on = super::session_state::lock(&self.state).variables.number("foreign_key_checks");
        self.sqlite
            .execute_batch(&format!("PRAGMA foreign_keys = {on}"))
            .map_err(|error| self.fault(error))?;
        let affected = result?;
        self.store.set_catalog(catalog);
        Ok(affected)
    }

    fn in_one_transaction(&self, plan: &Plan, catalog: &mut Catalog) -> Result<u64, SqlFault> {
        let transaction = self.sqlite.unchecked_transaction().map_err(|error| self.fault(error))?;
        let affected = self.apply(&transaction, plan, catalog)?;
        transaction.commit().map_err(|error| self.fault(error))?;
        Ok(affected)
    }

    fn apply(&self, sqlite: &Connection, plan: &Plan, catalog: &mut Catalog) -> Result<u64, SqlFault> {
        let fault = |error| self.fault(error);
        match plan {
            Plan::CreateSchema { name, if_not_exists } => {
                if catalog.has_schema(name) {
                    return if *if_not_exists { Ok(1) } else { Err(SqlFault::DatabaseExists(name.clone())) };
                }
                sqlite.execute("INSERT INTO wirepress_schemas VALUES (?)", [name]).map_err(fault)?;
                catalog.schemas.insert(name.clone(), Default::default());
                Ok(1)
            }
            Plan::DropSchema { name, if_exists } => {
                let Some(tables) = catalog.schemas.remove(name) else {
                    let refused = !*if_exists || is_built_in(name);
                    return if refused { Err(SqlFault::DatabaseToDropMissing(name.clone())) } else { Ok(0) };
                };
                for table in tables.values() {
                    drop_table(sqlite, table).map_err(fault)?;
                }
                sqlite.execute("DELETE FROM wirepress_schemas WHERE name = ?", [name]).map_err(fault)?;
                Ok(tables.len() as u64)
            }
            Plan::CreateTable { table, if_not_exists, fill } => {
                if catalog.find(&table.schema, &table.name).is_some() {
                    return if *if_not_exists {
                        Ok(0)
                    } else {
                        Err(SqlFault::TableExists(table.name.clone()))
                    };
                }
                // The database may have gone since the plan was made.
                let Some(tables) = catalog.schemas.get_mut(&table.schema) else {
                    return Err(SqlFault::UnknownDatabase(table.schema.clone()));
                };
                create_table(sqlite, table).map_err(fault)?;
                tables.insert(table.name.clone(), Arc::new(Table::clone(table)));
                match fill {
                    Some(query) => {
                        let sql = format!("INSERT INTO {} {query}", table.sqlite_name());
                        sqlite.execute(&sql, []).map(|count| count as u64).map_err(fault)
                    }
                    None => Ok(0),
                }
            }
            Plan::DropTables { names, if_exists } => self.drop_tables(sqlite, names, *if_exists, catalog),
            Plan::Truncate(table) => {
                let sql = format!("DELETE FROM {}", table.sqlite_name());
                sqlite.execute_batch(&sql).map_err(fault)?;
                if table.auto_column().is_some() {
                    let name = format!("{}.{}", table.schema, table.name);
                    sqlite.execute("DELETE FROM sqlite_sequence WHERE name = ?", [name]).map_err(fault)?;
                }
                Ok(0)
            }
            Plan::AlterTables(alterations) => {
                for alteration in alterations {
                    self.alter(sqlite, alteration, catalog)?;
                }
                Ok(0)
            }
            _ => Err(SqlFault::NotSupported("this statement as DDL".to_owned())),
        }
    }

    fn drop_tables(
        &self,
        sqlite: &Connection,
        names: &[(String, String)],
        if_exists: bool,
        catalog: &mut Catalog,
    ) -> Result<u64, SqlFault> {
        let missing: Vec<String> = names
            .iter()
            .filter(|(schema, name)| catalog.find(schema, name).is_none())
            .map(|(schema, name)| format!("{schema}.{name}"))
            .collect();
        if !missing.is_empty() && !if_exists {
            return Err(SqlFault::TableToDropMissing(missing.join(",")));
        }
        for (schema, name) in names {
            if let Some(table) = catalog.schemas.get_mut(schema).and_then(|tables| tables.remove(name)) {
                drop_table(sqlite, &table).map_err(|error| self.fault(error))?;
            }
        }
        Ok(0)
    }

    fn alter(
        &self,
        sqlite: &Connection,
        alteration: &Alteration,
        catalog: &mut Catalog,
    ) -> Result<(), SqlFault> {
        let Alteration { before, after, .. } = alteration;
        let moved = before.sqlite_name() != after.sqlite_name();
        if moved && catalog.find(&after.schema, &after.name).is_some() {
            return Err(SqlFault::TableExists(after.name.clone()));
        }
        let Some(tables) = catalog.schemas.get_mut(&after.schema) else {
            return Err(SqlFault::UnknownDatabase(after.schema.clone()));
        };
        tables.insert(after.name.clone(), Arc::new(after.clone()));
        if moved {
            if let Some(tables) = catalog.schemas.get_mut(&before.schema) {
                tables.remove(&before.name);
            }
        }
        let work = if alteration.keeps_rows() {
            change_keys(sqlite, before, after)
        } else {
            rebuild(sqlite, alteration)
        };
        work.and_then(|()| {
            forget(sqlite, before)?;
            remember(sqlite, after)
        })
        .map_err(|error| self.fault(error))
    }
}

fn create_table(sqlite: &Connection, table: &Table) -> rusqlite::Result<()> {
    for statement in table.sqlite_statements() {
        sqlite.execute_batch(&statement)?;
    }
    remember(sqlite, table)
}

fn drop_table(sqlite: &Connection, table: &Table) -> rusqlite::Result<()> {
    sqlite.execute_batch(&format!("DROP TABLE IF EXISTS {}", table.sqlite_name()))?;
    forget(sqlite, table)
}

fn remember(sqlite: &Connection, table: &Table) -> rusqlite::Result<()> {
    sqlite
        .execute(
            "INSERT INTO wirepress_tables VALUES (?, ?, ?)",
            params![table.schema, table.name, table.to_string()],
        )
        .map(|_| ())
}

fn forget(sqlite: &Connection, table: &Table) -> rusqlite::Result<()> {
    sqlite
        .execute(
            "DELETE FROM wirepress_tables WHERE schema = ? AND name = ?",
            params![table.schema, table.name],
        )
        .map(|_| ())
}

/// Drops the indexes that are no more and makes the new ones.
fn change_keys(sqlite: &Connection, before: &Table, after: &Table) -> rusqlite::Result<()> {
    let indexes = |table: &Table| -> Vec<(String, String)> {
        let statements = table.sqlite_statements();
        table
            .keys
            .iter()
            .filter_map(|key| Some((table.sqlite_index_name(&key.name), table.sqlite_index(key)?)))
            .filter(|(_, sql)| statements.contains(sql))
            .collect()
    };
    let (old, new) = (indexes(before), indexes(after));
    for (name, _) in old.iter().filter(|index| !new.contains(index)) {
        sqlite.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    for (_, sql) in new.iter().filter(|index| !old.contains(index)) {
        sqlite.execute_batch(sql)?;
    }
    if after.auto_increment > before.auto_increment && after.auto_column().is_some() {
        sqlite.execute_batch(&after.sqlite_sequence())?;
    }
    Ok(())
}

/// Makes the table anew and copies the rows of the columns that stay.
fn rebuild(sqlite: &Connection, alteration: &Alteration) -> rusqlite::Result<()> {
    let Alteration { before, after, kept } = alteration;
    let old = quote::name(&format!("wirepress altering {}.{}", before.schema, before.name));
    sqlite.execute_batch(&format!("ALTER TABLE {} RENAME TO {old}", before.sqlite_name()))?;
    let row_id = before.row_id().map(|column| column.name.clone());
    for key in before.keys.iter().filter(|key| before.sqlite_index(key).is_some()) {
        let is_row_id = key.columns.len() == 1 && Some(&key.columns[0].0) == row_id.as_ref();
        if !is_row_id {
            sqlite.execute_batch(&format!("DROP INDEX IF EXISTS {}", before.sqlite_index_name(&key.name)))?;
        }
    }
    for statement in after.sqlite_statements() {
        sqlite.execute_batch(&statement)?;
    }
    let list = |pick: fn(&(String, String)) -> &String| {
        kept.iter().map(|pair| quote::name(pick(pair))).collect::<Vec<_>>().join(",")
    };
    if !kept.is_empty() {
        sqlite.execute_batch(&format!(
            "INSERT INTO {} ({}) SELECT {} FROM {old}",
            after.sqlite_name(),
            list(|pair| &pair.0),
            list(|pair| &pair.1)
        ))?;
    }
    sqlite.execute_batch(&format!("DROP TABLE {old}"))
}
