//! The built-in databases: tables in memory, attached to the connection and filled when a statement names them.
//!
//! As plain tables they can be joined, filtered and sorted like any other; SHOW is made of them too.
//!
//! Invariants: a table is filled anew for each statement that names it, so it is never older than the
//! statement.
//!
//! Not here: the tables' columns (`built_in`).

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::built_in::{BuiltIn, INFORMATION_SCHEMA, PERFORMANCE_SCHEMA};
use super::engine::SqliteEngine;
use super::session_state::lock;
use crate::column::{Column, FieldType};
use crate::schema::catalog::BUILT_IN;
use crate::schema::column_type::DEFAULT_COLLATION;
use crate::schema::table::{KeyKind, Table};
use crate::sql::quote;

type Row = Vec<Value>;

/// Fills the built-in tables that `sql` names.
pub(super) fn fill(engine: &SqliteEngine, sql: &str) -> rusqlite::Result<()> {
    attach(&engine.sqlite)?;
    let lower = sql.to_ascii_lowercase();
    for (schema, tables) in [(BUILT_IN[0], INFORMATION_SCHEMA), (BUILT_IN[1], PERFORMANCE_SCHEMA)] {
        for (table, columns) in tables.iter().filter(|(table, _)| lower.contains(table)) {
            engine.sqlite.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS {schema}.{table} ({}); DELETE FROM {schema}.{table}",
                columns
                    .split(',')
                    .map(|name| format!("{} COLLATE NOCASE", quote::name(name)))
                    .collect::<Vec<_>>()
                    .join(",")
            ))?;
            let marks = vec!["?"; columns.split(',').count()].join(",");
            let mut insert =
                engine.sqlite.prepare_cached(&format!("INSERT INTO {schema}.{table} VALUES ({marks})"))?;
            for row in rows(engine, table, columns)? {
                insert.execute(params_from_iter(row))?;
            }
        }
    }
    Ok(())
}

/// The columns of a built-in table, for COM_FIELD_LIST.
pub(super) fn fields(schema: &str, table: &str) -> Vec<(Column, Option<String>)> {
    let tables =
        if schema.eq_ignore_ascii_case(BUILT_IN[0]) { INFORMATION_SCHEMA } else { PERFORMANCE_SCHEMA };
    tables
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case(table))
        .flat_map(|(_, columns)| columns.split(','))
        .map(|name| (Column::expression(name, FieldType::VarString), None))
        .collect()
}

fn attach(sqlite: &Connection) -> rusqlite::Result<()> {
    let attached: i64 = sqlite.query_row(
        "SELECT count(*) FROM pragma_database_list WHERE name = ?",
        [BUILT_IN[0]],
        |row| row.get(0),
    )?;
    if attached == 0 {
        for schema in BUILT_IN {
            sqlite.execute_batch(&format!("ATTACH ':memory:' AS {schema}"))?;
        }
    }
    Ok(())
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn number(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn optional(condition: bool, value: impl FnOnce() -> Value) -> Value {
    if condition { value() } else { Value::Null }
}

/// The rows of a built-in table; each in the order of `columns`.
fn rows(engine: &SqliteEngine, table: &str, columns: &str) -> rusqlite::Result<Vec<Row>> {
    let catalog = engine.store.catalog();
    let named: Vec<Vec<(&str, Value)>> = match table {
        "schemata" => BUILT_IN
            .into_iter()
            .chain(catalog.schemas.keys().map(String::as_str))
            .map(|name| {
                vec![
                    ("catalog_name", text("def")),
                    ("schema_name", text(name)),
                    ("default_character_set_name", text("utf8mb4")),
                    ("default_collation_name", text(DEFAULT_COLLATION)),
                    ("default_encryption", text("NO")),
                ]
            })
            .collect(),
        "tables" => {
            let mut rows = built_in_tables();
            for table in catalog.tables() {
                rows.push(table_row(&engine.sqlite, table)?);
            }
            rows
        }
        "columns" => catalog.tables().flat_map(column_rows).collect(),
        "statistics" => catalog.tables().flat_map(statistics_rows).collect(),
        "key_column_usage" => catalog.tables().flat_map(key_usage_rows).collect(),
        "table_constraints" => catalog.tables().flat_map(constraint_rows).collect(),
        "engines" => vec![vec![
            ("engine", text("InnoDB")),
            ("support", text("DEFAULT")),
            ("comment", text("SQLite under MySQL's name; transactions, foreign keys")),
            ("transactions", text("YES")),
            ("xa", text("NO")),
            ("savepoints", text("YES")),
        ]],
        "character_sets" => vec![
            charset_row("binary", "binary", "Binary pseudo charset", 1),
            charset_row("utf8mb4", DEFAULT_COLLATION, "UTF-8 Unicode", 4),
        ],
        "collations" => vec![
            collation_row("binary", "binary", 63, true),
            collation_row("utf8mb4_general_ci", "utf8mb4", 45, false),
            collation_row("utf8mb4_bin", "utf8mb4", 46, false),
            collation_row("utf8mb4_unicode_ci", "utf8mb4", 224, false),
            collation_row(DEFAULT_COLLATION, "utf8mb4", 255, true),
        ],
        "global_variables" => pairs(lock(&engine.state).listed(true).into_iter()),
        "session_variables" => pairs(lock(&engine.state).listed(false).into_iter()),
        "global_status" | "session_status" => pairs(status(engine).into_iter()),
        "processlist" => processes(engine),
        // Always empty here.
        _ => Vec::new(),
    };
    let columns: Vec<&str> = columns.split(',').collect();
    let place = |mut row: Vec<(&str, Value)>| -> Row {
        columns
            .iter()
            .map(|column| {
                let at = row.iter().position(|(name, _)| name == column);
                at.map_or(Value::Null, |at| row.swap_remove(at).1)
            })
            .collect()
    };
    Ok(named.into_iter().map(place).collect())
}

fn pairs(pairs: impl Iterator<Item = (impl Into<String>, String)>) -> Vec<Vec<(&'static str, Value)>> {
    pairs
        .map(|(name, value)| vec![("variable_name", text(name.into())), ("variable_value", text(value))])
        .collect()
}

/// The status variables that are true here.
fn status(engine: &SqliteEngine) -> Vec<(&'static str, String)> {
    let identity = lock(&engine.state).identity.clone();
    let framed = identity.algorithm.is_framed();
    let [ssl_version, ssl_cipher] = identity.tls.clone();
    let sessions = &engine.sessions;
    let threads = sessions.processes();
    let running = threads.iter().filter(|process| process.command != "Sleep").count();
    vec![
        ("Compression", if framed { "ON" } else { "OFF" }.to_owned()),
        ("Compression_algorithm", if framed { identity.algorithm.name() } else { "" }.to_owned()),
        ("Compression_level", identity.level.to_string()),
        ("Queries", sessions.questions.load(std::sync::atomic::Ordering::Relaxed).to_string()),
        ("Questions", sessions.questions.load(std::sync::atomic::Ordering::Relaxed).to_string()),
        ("Ssl_cipher", ssl_cipher),
        ("Ssl_version", ssl_version),
        ("Threads_connected", threads.len().to_string()),
        ("Threads_running", running.to_string()),
        ("Uptime", sessions.started.elapsed().as_secs().to_string()),
    ]
}

fn processes(engine: &SqliteEngine) -> Vec<Vec<(&'static str, Value)>> {
    let row = |process: crate::sessions::Process| {
        vec![
            ("id", Value::Integer(i64::from(process.id))),
            ("user", text(process.user)),
            ("host", text(process.host)),
            ("db", process.schema.map_or(Value::Null, text)),
            ("command", text(process.command)),
            ("time", number(usize::try_from(process.since.elapsed().as_secs()).unwrap_or(usize::MAX))),
            ("state", text("")),
        ]
    };
    let Some(live) = engine.store.live() else {
        return engine.sessions.processes().into_iter().map(row).collect();
    };
    let row = |process: crate::live::LiveProcess| {
        vec![
            ("id", Value::Integer(i64::try_from(process.id).unwrap_or(i64::MAX))),
            ("user", text(process.user)),
            ("host", text(process.host)),
            ("db", process.database.map_or(Value::Null, text)),
            ("command", text(process.command)),
            ("time", Value::Integer(i64::try_from(process.seconds).unwrap_or(i64::MAX))),
            ("state", text(process.state)),
            ("info", process.info.map_or(Value::Null, text)),
        ]
    };
    live.processes().into_iter().map(row).collect()
}

fn charset_row(
    name: &'static str,
    collation: &'static str,
    description: &'static str,
    bytes: i64,
) -> Vec<(&'static str, Value)> {
    vec![
        ("character_set_name", text(name)),
        ("default_collate_name", text(collation)),
        ("description", text(description)),
        ("maxlen", Value::Integer(bytes)),
    ]
}

fn collation_row(
    name: &'static str,
    charset: &'static str,
    id: i64,
    default: bool,
) -> Vec<(&'static str, Value)> {
    vec![
        ("collation_name", text(name)),
        ("character_set_name", text(charset)),
        ("id", Value::Integer(id)),
        ("is_default", text(if default { "Yes" } else { "" })),
        ("is_compiled", text("Yes")),
        ("sortlen", Value::Integer(1)),
        ("pad_attribute", text("NO PAD")),
    ]
}

fn built_in_tables() -> Vec<Vec<(&'static str, Value)>> {
    let row = |schema: &'static str, (name, _): &BuiltIn| {
        vec![
            ("table_catalog", text("def")),
            ("table_schema", text(schema)),
            ("table_name", text(name.to_ascii_uppercase())),
            ("table_type", text("SYSTEM VIEW")),
            ("table_comment", text("")),
        ]
    };
    let information = INFORMATION_SCHEMA.iter().map(|table| row(BUILT_IN[0], table));
    information.chain(PERFORMANCE_SCHEMA.iter().map(|table| row(BUILT_IN[1], table))).collect()
}

fn table_row(sqlite: &Connection, table: &Arc<Table>) -> rusqlite::Result<Vec<(&'static str, Value)>> {
    // An estimate, as InnoDB's is: the largest row id.
    let rows: i64 = sqlite.query_row(
        &format!("SELECT coalesce(max(rowid), 0) FROM {}", table.sqlite_name()),
        [],
        |row| row.get(0),
    )?;
    let auto = table.auto_column().map(|_| {
        let name = format!("{}.{}", table.schema, table.name);
        let last =
            sqlite.query_row("SELECT seq FROM sqlite_sequence WHERE name = ?", [name], |row| row.get(0));
        last.unwrap_or(0_i64) + 1
    });
    Ok(vec![
        ("table_catalog", text("def")),
        ("table_schema", text(&table.schema)),
        ("table_name", text(&table.name)),
        ("table_type", text("BASE TABLE")),
        ("engine", text(&table.engine)),
        ("version", Value::Integer(10)),
        ("row_format", text("Dynamic")),
        ("table_rows", Value::Integer(rows)),
        ("avg_row_length", Value::Integer(0)),
        ("data_length", Value::Integer(0)),
        ("max_data_length", Value::Integer(0)),
        ("index_length", Value::Integer(0)),
        ("data_free", Value::Integer(0)),
        ("auto_increment", auto.map_or(Value::Null, Value::Integer)),
        ("table_collation", text(&table.collation)),
        ("create_options", text("")),
        ("table_comment", text(&table.comment)),
    ])
}

fn column_rows(table: &Arc<Table>) -> Vec<Vec<(&'static str, Value)>> {
    let row = |(at, column): (usize, &crate::schema::table::TableColumn)| {
        let kind = &column.kind;
        let numeric = kind.is_integer() || kind.is_exact();
        let collation = kind.collation.as_ref().unwrap_or(&table.collation);
        let characters = i64::from(kind.characters());
        vec![
            ("table_catalog", text("def")),
            ("table_schema", text(&table.schema)),
            ("table_name", text(&table.name)),
            ("column_name", text(&column.name)),
            ("ordinal_position", number(at + 1)),
            ("column_default", column.shown_default().map_or(Value::Null, text)),
            ("is_nullable", text(if column.nullable { "YES" } else { "NO" })),
            ("data_type", text(kind.name())),
            ("character_maximum_length", optional(kind.is_text(), || Value::Integer(characters))),
            (
                "character_octet_length",
                optional(kind.is_text(), || Value::Integer(characters.saturating_mul(4))),
            ),
            ("numeric_precision", optional(numeric, || Value::Integer(kind.precision()))),
            ("numeric_scale", optional(numeric, || Value::Integer(i64::from(kind.scale())))),
            (
                "datetime_precision",
                optional(kind.is_temporal(), || Value::Integer(i64::from(kind.length.unwrap_or(0)))),
            ),
            ("character_set_name", optional(kind.is_text(), || text("utf8mb4"))),
            ("collation_name", optional(kind.is_text(), || text(collation))),
            ("column_type", text(kind.to_string())),
            ("column_key", text(table.key_of(&column.name))),
            ("extra", text(column.extra())),
            ("privileges", text("select,insert,update,references")),
            ("column_comment", text(&column.comment)),
            ("generation_expression", text("")),
        ]
    };
    table.columns.iter().enumerate().map(row).collect()
}

fn statistics_rows(table: &Arc<Table>) -> Vec<Vec<(&'static str, Value)>> {
    let mut rows = Vec::new();
    for key in &table.keys {
        let unique = matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
        let kind = if let KeyKind::Other(kind) = key.kind { kind } else { "BTREE" };
        for (at, (name, prefix, descending)) in key.columns.iter().enumerate() {
            let nullable = table.column(name).is_some_and(|column| column.nullable);
            rows.push(vec![
                ("table_catalog", text("def")),
                ("table_schema", text(&table.schema)),
                ("table_name", text(&table.name)),
                ("non_unique", Value::Integer(i64::from(!unique))),
                ("index_schema", text(&table.schema)),
                ("index_name", text(&key.name)),
                ("seq_in_index", number(at + 1)),
                ("column_name", text(name)),
                ("collation", text(if *descending { "D" } else { "A" })),
                ("cardinality", Value::Integer(0)),
                ("sub_part", prefix.map_or(Value::Null, |length| Value::Integer(i64::from(length)))),
                ("nullable", text(if nullable { "YES" } else { "" })),
                ("index_type", text(kind)),
                ("comment", text("")),
                ("index_comment", text(&key.comment)),
                ("is_visible", text("YES")),
            ]);
        }
    }
    rows
}

fn key_usage_rows(table: &Arc<Table>) -> Vec<Vec<(&'static str, Value)>> {
    let base = |constraint: &str, at: usize, column: &str| {
        vec![
            ("constraint_catalog", text("def")),
            ("constraint_schema", text(&table.schema)),
            ("constraint_name", text(constraint)),
            ("table_catalog", text("def")),
            ("table_schema", text(&table.schema)),
            ("table_name", text(&table.name)),
            ("column_name", text(column)),
            ("ordinal_position", number(at + 1)),
        ]
    };
    let unique = table.keys.iter().filter(|key| matches!(key.kind, KeyKind::Primary | KeyKind::Unique));
    let keys = unique.flat_map(|key| {
        key.columns.iter().enumerate().map(|(at, (name, ..))| base(&key.name, at, name)).collect::<Vec<_>>()
    });
    let foreign = table.foreign_keys.iter().flat_map(|key| {
        let pairs = key.columns.iter().zip(&key.references).enumerate();
        pairs
            .map(|(at, (column, reference))| {
                let mut row = base(&key.name, at, column);
                row.push(("position_in_unique_constraint", number(at + 1)));
                row.push(("referenced_table_schema", text(&key.schema)));
                row.push(("referenced_table_name", text(&key.table)));
                row.push(("referenced_column_name", text(reference)));
                row
            })
            .collect::<Vec<_>>()
    });
    keys.chain(foreign).collect()
}

fn constraint_rows(table: &Arc<Table>) -> Vec<Vec<(&'static str, Value)>> {
    let row = |name: &str, kind: &str| {
        vec![
            ("constraint_catalog", text("def")),
            ("constraint_schema", text(&table.schema)),
            ("constraint_name", text(name)),
            ("table_schema", text(&table.schema)),
            ("table_name", text(&table.name)),
            ("constraint_type", text(kind)),
            ("enforced", text("YES")),
        ]
    };
    let keys = table.keys.iter().filter_map(|key| match key.kind {
        KeyKind::Primary => Some(row(&key.name, "PRIMARY KEY")),
        KeyKind::Unique => Some(row(&key.name, "UNIQUE")),
        _ => None,
    });
    keys.chain(table.foreign_keys.iter().map(|key| row(&key.name, "FOREIGN KEY"))).collect()
}
