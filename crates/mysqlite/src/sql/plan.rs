//! What one statement asks for: a query for SQLite, a change, or something that the session does by itself.
//!
//! Not here: doing it (`store::engine`).

use std::sync::Arc;

use super::alter_table::{self, Alteration};
use super::create_table;
use super::cursor::{Cursor, Sql};
use super::insert::{self, Insert};
use super::load_data::{self, LoadData};
use super::quote;
use super::rewrite::{Frame, Rewriter, Scope};
use super::set::{self, Assignment};
use super::show;
use super::update::{self, Rewritten};
use crate::fault::SqlFault;
use crate::schema::catalog::is_built_in;
use crate::schema::table::Table;

/// A query for SQLite.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) sql: String,
    /// Reads a built-in database, which must be filled first.
    pub(crate) built_in: bool,
    /// Locks what it reads (FOR UPDATE).
    pub(crate) locks: bool,
}

impl Query {
    /// A query of the built-in databases, already SQLite's.
    pub(crate) fn listing(sql: String) -> Self {
        Self { sql, built_in: true, locks: false }
    }
}

/// What a statement asks for.
#[derive(Debug)]
pub(crate) enum Plan {
    Rows(Query),
    Insert(Insert),
    Change(Rewritten),
    CreateSchema {
        name: String,
        if_not_exists: bool,
    },
    DropSchema {
        name: String,
        if_exists: bool,
    },
    /// `fill` is the query of CREATE TABLE … SELECT.
    CreateTable {
        table: Box<Table>,
        if_not_exists: bool,
        fill: Option<String>,
    },
    DropTables {
        names: Vec<(String, String)>,
        if_exists: bool,
    },
    AlterTables(Vec<Alteration>),
    Truncate(Arc<Table>),
    Use(String),
    Begin {
        snapshot: bool,
    },
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    Set(Vec<Assignment>),
    /// The connection to end; `true` ends only its statement.
    Kill(u64, bool),
    LoadData(LoadData),
    /// Checks that the tables exist, answers OK: LOCK TABLES, FLUSH, …
    Nothing,
}

impl Plan {
    /// Can it be run again after the catalog changed, without a new plan?
    pub(crate) fn outlives_catalog(&self) -> bool {
        matches!(self, Self::Begin { .. } | Self::Commit | Self::Rollback | Self::Nothing)
    }

    /// Does MySQL commit the open transaction before it?
    pub(crate) fn commits_first(&self) -> bool {
        matches!(
            self,
            Self::CreateSchema { .. }
                | Self::DropSchema { .. }
                | Self::CreateTable { .. }
                | Self::DropTables { .. }
                | Self::AlterTables(_)
                | Self::Truncate(_)
                | Self::Begin { .. }
        )
    }
}

/// Reads one statement.
/// Errors: 1064 for what is no SQL, 1235 for what is not supported here, and those of names.
pub(crate) fn plan(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    match sql.upper(0).as_str() {
        "SELECT" | "WITH" | "VALUES" => rows(sql, scope),
        "" if sql.is_symbol(0, "(") => rows(sql, scope),
        "TABLE" => {
            let mut cursor = Cursor::new(sql, 1);
            let (schema, name) = cursor.table()?;
            let mut rewriter = Rewriter::new(sql, scope);
            let table = rewriter.table_name(schema, &name)?;
            Ok(Plan::Rows(Query {
                sql: format!("SELECT * FROM {table}"),
                built_in: rewriter.built_in,
                locks: false,
            }))
        }
        "INSERT" | "REPLACE" => insert::insert(sql, scope).map(Plan::Insert),
        "UPDATE" => update::update(sql, scope).map(Plan::Change),
        "DELETE" => update::delete(sql, scope).map(Plan::Change),
        "LOAD" => load_data::load_data(sql, scope).map(Plan::LoadData),
        "SHOW" => show::show(sql, scope).map(Plan::Rows),
        "DESC" | "DESCRIBE" | "EXPLAIN" => explain(sql, scope),
        "SET" => set::set(sql, scope).map(Plan::Set),
        "CREATE" => create(sql, scope),
        "DROP" => drop(sql, scope),
        "ALTER" => alter(sql, scope),
        "RENAME" if sql.is(1, "TABLE") => alter_table::rename_tables(sql, scope).map(Plan::AlterTables),
        "TRUNCATE" => truncate(sql, scope),
        "ANALYZE" | "OPTIMIZE" | "CHECK" | "REPAIR" | "CHECKSUM" => maintain(sql, scope),
        _ => session(sql, scope),
    }
}

fn rows(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let mut rewriter = Rewriter::new(sql, scope);
    rewriter.range(0, sql.len(), Frame::OUTERMOST)?;
    Ok(Plan::Rows(Query { built_in: rewriter.built_in, locks: rewriter.locks, sql: rewriter.out }))
}

/// Statements about the session itself.
fn session(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    match sql.upper(0).as_str() {
        "USE" => Ok(Plan::Use(cursor.name()?)),
        "BEGIN" => Ok(Plan::Begin { snapshot: false }),
        "START" if cursor.word("TRANSACTION") => {
            let snapshot = sql.find(2, sql.len(), &["CONSISTENT"]).is_some();
            Ok(Plan::Begin { snapshot })
        }
        "COMMIT" => Ok(Plan::Commit),
        "ROLLBACK" => {
            cursor.word("WORK");
            if !cursor.word("TO") {
                return Ok(Plan::Rollback);
            }
            cursor.word("SAVEPOINT");
            Ok(Plan::RollbackTo(cursor.name()?))
        }
        "SAVEPOINT" => Ok(Plan::Savepoint(cursor.name()?)),
        "RELEASE" => {
            cursor.need_word("SAVEPOINT")?;
            Ok(Plan::Release(cursor.name()?))
        }
        "LOCK" | "UNLOCK" | "FLUSH" | "RESET" | "PURGE" => lock(sql, scope),
        "KILL" => {
            let query = cursor.word("QUERY");
            cursor.word("CONNECTION");
            Ok(Plan::Kill(cursor.number()?, query))
        }
        "DO" => {
            let mut rewriter = Rewriter::new(sql, scope);
            rewriter.push("SELECT");
            rewriter.range(1, sql.len(), Frame::EXPRESSION)?;
            Ok(Plan::Rows(Query {
                sql: format!("{} LIMIT 0", rewriter.out),
                built_in: rewriter.built_in,
                locks: false,
            }))
        }
        "CALL" => Err(SqlFault::UnknownFunction(format!("(procedure) {}", cursor.name()?))),
        "GRANT" | "REVOKE" | "PREPARE" | "EXECUTE" | "DEALLOCATE" | "HANDLER" | "XA" | "INSTALL"
        | "UNINSTALL" => Err(SqlFault::NotSupported(sql.upper(0))),
        _ => Err(sql.syntax(0)),
    }
}

/// LOCK TABLES and FLUSH TABLES take no lock here, but their tables must exist.
fn lock(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    if sql.is(0, "LOCK") && sql.is_any(1, &["TABLES", "TABLE"]) {
        for (start, _) in sql.split(2, sql.len()) {
            let (schema, name) = Cursor::new(sql, start).table()?;
            Rewriter::new(sql, scope).table_name(schema, &name)?;
        }
    }
    Ok(Plan::Nothing)
}

fn explain(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let statement = (1..sql.len()).find(|&n| sql.is_any(n, &["SELECT", "WITH"]) || sql.is_symbol(n, "("));
    match statement {
        Some(start) if start <= 4 => {
            let mut rewriter = Rewriter::new(sql, scope);
            rewriter.push("EXPLAIN QUERY PLAN");
            rewriter.range(start, sql.len(), Frame::EXPRESSION)?;
            Ok(Plan::Rows(Query { built_in: rewriter.built_in, locks: false, sql: rewriter.out }))
        }
        _ => show::describe(sql, scope).map(Plan::Rows),
    }
}

fn create(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    match sql.upper(1).as_str() {
        "DATABASE" | "SCHEMA" => {
            cursor.at = 2;
            let if_not_exists = cursor.if_not_exists();
            Ok(Plan::CreateSchema { name: cursor.name()?, if_not_exists })
        }
        "TABLE" => {
            cursor.at = 2;
            create_table(cursor, scope)
        }
        "INDEX" | "UNIQUE" | "FULLTEXT" | "SPATIAL" => {
            alter_table::create_index(&mut cursor, scope).map(|one| Plan::AlterTables(vec![one]))
        }
        other => Err(SqlFault::NotSupported(format!("CREATE {other}"))),
    }
}

fn create_table(mut cursor: Cursor<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let sql = cursor.sql;
    let if_not_exists = cursor.if_not_exists();
    let (schema, name) = cursor.table()?;
    let schema = schema.or_else(|| scope.schema.map(str::to_owned)).ok_or(SqlFault::NoDatabase)?;
    if !scope.catalog.has_schema(&schema) || is_built_in(&schema) {
        return Err(SqlFault::UnknownDatabase(schema));
    }
    let bracket = sql.is_symbol(cursor.at, "(");
    if sql.is_any(cursor.at, &["LIKE"]) || (bracket && sql.is(cursor.at + 1, "LIKE")) {
        cursor.at += 1 + usize::from(bracket);
        let (other_schema, other) = cursor.table()?;
        let other_schema = other_schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
        let mut table = Table::clone(scope.catalog.table(other_schema, &other)?);
        (table.schema, table.name, table.auto_increment) = (schema, name, 0);
        return Ok(Plan::CreateTable { table: Box::new(table), if_not_exists, fill: None });
    }
    if !bracket {
        return Err(SqlFault::NotSupported("CREATE TABLE … SELECT without columns".to_owned()));
    }
    let mut table = Box::new(Table::new(schema, name));
    create_table::body(&mut cursor, &mut table, scope)?;
    let mut fill = None;
    cursor.any(&["IGNORE", "REPLACE"]);
    cursor.word("AS");
    if sql.is_any(cursor.at, &["SELECT", "WITH"]) {
        let mut rewriter = Rewriter::new(sql, scope);
        rewriter.range(cursor.at, sql.len(), Frame::EXPRESSION)?;
        fill = Some(rewriter.out);
        cursor.at = sql.len();
    }
    if cursor.done() { Ok(Plan::CreateTable { table, if_not_exists, fill }) } else { Err(cursor.syntax()) }
}

fn drop(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let mut cursor = Cursor::new(sql, 2);
    match sql.upper(1).as_str() {
        "DATABASE" | "SCHEMA" => {
            let if_exists = cursor.if_exists();
            Ok(Plan::DropSchema { name: cursor.name()?, if_exists })
        }
        "TABLE" | "TABLES" => {
            let if_exists = cursor.if_exists();
            let mut names = Vec::new();
            loop {
                let (schema, name) = cursor.table()?;
                let schema =
                    schema.or_else(|| scope.schema.map(str::to_owned)).ok_or(SqlFault::NoDatabase)?;
                names.push((schema, name));
                if !cursor.symbol(",") {
                    break;
                }
            }
            cursor.any(&["RESTRICT", "CASCADE"]);
            if cursor.done() { Ok(Plan::DropTables { names, if_exists }) } else { Err(cursor.syntax()) }
        }
        "INDEX" => alter_table::drop_index(&mut cursor, scope).map(|one| Plan::AlterTables(vec![one])),
        // A dump drops what it is about to make; there are none of these here.
        "VIEW" | "TRIGGER" | "FUNCTION" | "PROCEDURE" | "EVENT" if cursor.if_exists() => Ok(Plan::Nothing),
        other => Err(SqlFault::NotSupported(format!("DROP {other}"))),
    }
}

fn alter(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    match sql.upper(1).as_str() {
        "DATABASE" | "SCHEMA" => Ok(Plan::Nothing),
        "TABLE" | "IGNORE" => alter_table::alter_table(sql, scope).map(|one| Plan::AlterTables(vec![one])),
        other => Err(SqlFault::NotSupported(format!("ALTER {other}"))),
    }
}

fn truncate(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    cursor.word("TABLE");
    let (schema, name) = cursor.table()?;
    let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
    Ok(Plan::Truncate(Arc::clone(scope.catalog.table(schema, &name)?)))
}

/// ANALYZE TABLE and its kin: one row per table, as mysqlcheck and sysbench's prewarm want it.
fn maintain(sql: Sql<'_>, scope: Scope<'_>) -> Result<Plan, SqlFault> {
    let operation = sql.upper(0);
    let mut cursor = Cursor::new(sql, 1);
    cursor.any(&["LOCAL", "NO_WRITE_TO_BINLOG"]);
    if !cursor.any(&["TABLE", "TABLES"]) {
        return Err(cursor.syntax());
    }
    let mut parts = Vec::new();
    loop {
        let (schema, name) = cursor.table()?;
        let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?.to_owned();
        let table = Rewriter::new(sql, scope).table_name(Some(schema.clone()), &name)?;
        let label = quote::literal(format!("{schema}.{name}").as_bytes());
        parts.push(if operation == "CHECKSUM" {
            let columns: Vec<String> = scope
                .catalog
                .table(&schema, &name)?
                .columns
                .iter()
                .map(|column| quote::name(&column.name))
                .collect();
            format!(
                "SELECT {label} AS \"Table\", (SELECT table_checksum({}) FROM {table}) AS \"Checksum\"",
                columns.join(",")
            )
        } else {
            format!(
                "SELECT {label} AS \"Table\", {} AS \"Op\", 'status' AS \"Msg_type\", 'OK' AS \"Msg_text\"",
                quote::literal(operation.to_ascii_lowercase().as_bytes())
            )
        });
        if !cursor.symbol(",") {
            break;
        }
    }
    Ok(Plan::Rows(Query { sql: parts.join(" UNION ALL "), built_in: false, locks: false }))
}
