//! ALTER TABLE, CREATE INDEX and DROP INDEX: from the table that is to the table that shall be.
//!
//! Not here: doing it (`store::ddl`).

use std::sync::Arc;

use super::create_table;
use super::cursor::{Cursor, Sql};
use super::rewrite::Scope;
use crate::fault::SqlFault;
use crate::schema::table::{DefaultValue, KeyKind, Table, TableColumn};

/// A table before and after.
#[derive(Debug)]
pub(crate) struct Alteration {
    pub(crate) before: Arc<Table>,
    pub(crate) after: Table,
    /// The columns that keep their values: (name after, name before).
    pub(crate) kept: Vec<(String, String)>,
}

impl Alteration {
    fn new(before: &Arc<Table>) -> Self {
        let kept = before.columns.iter().map(|column| (column.name.clone(), column.name.clone())).collect();
        Self { before: Arc::clone(before), after: Table::clone(before), kept }
    }

    /// Are only keys different, so that rows stay where they are?
    pub(crate) fn keeps_rows(&self) -> bool {
        let columns = |table: &Table| {
            table.columns.iter().map(|column| table.sqlite_column(column)).collect::<Vec<_>>()
        };
        columns(&self.before) == columns(&self.after)
            && self.before.foreign_keys.len() == self.after.foreign_keys.len()
            && self.before.sqlite_name() == self.after.sqlite_name()
    }
}

/// `CREATE [UNIQUE|FULLTEXT|SPATIAL] INDEX name ON table (columns)`; the cursor is after CREATE.
pub(crate) fn create_index(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<Alteration, SqlFault> {
    let kind = match cursor.sql.upper(cursor.at).as_str() {
        "UNIQUE" => KeyKind::Unique,
        "FULLTEXT" => KeyKind::Other("FULLTEXT"),
        "SPATIAL" => KeyKind::Other("SPATIAL"),
        _ => KeyKind::Plain,
    };
    cursor.at += usize::from(kind != KeyKind::Plain);
    cursor.need_word("INDEX")?;
    let name = cursor.name()?;
    if cursor.word("USING") {
        cursor.name()?;
    }
    cursor.need_word("ON")?;
    let mut alteration = Alteration::new(&existing(cursor, scope)?);
    let key = create_table::key_rest_named(cursor, kind, name)?;
    check_columns(&alteration.after, &key.columns)?;
    create_table::add_key(&mut alteration.after, key)?;
    Ok(alteration)
}

/// `DROP INDEX name ON table`; the cursor is after INDEX.
pub(crate) fn drop_index(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<Alteration, SqlFault> {
    let name = cursor.name()?;
    cursor.need_word("ON")?;
    let mut alteration = Alteration::new(&existing(cursor, scope)?);
    drop_key(&mut alteration.after, &name)?;
    Ok(alteration)
}

/// `ALTER TABLE table action, …`
pub(crate) fn alter_table(sql: Sql<'_>, scope: Scope<'_>) -> Result<Alteration, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    cursor.word("IGNORE");
    cursor.need_word("TABLE")?;
    let mut alteration = Alteration::new(&existing(&mut cursor, scope)?);
    while !cursor.done() {
        action(&mut cursor, &mut alteration, scope)?;
        if !cursor.symbol(",") && !cursor.done() {
            return Err(cursor.syntax());
        }
    }
    if alteration.after.columns.is_empty() {
        return Err(SqlFault::NotSupported("a table without columns".to_owned()));
    }
    Ok(alteration)
}

fn existing(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<Arc<Table>, SqlFault> {
    let (schema, name) = cursor.table()?;
    let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
    scope.catalog.table(schema, &name).cloned()
}

fn check_columns(table: &Table, columns: &[(String, Option<u32>, bool)]) -> Result<(), SqlFault> {
    match columns.iter().find(|(name, ..)| table.column(name).is_none()) {
        Some((name, ..)) => Err(SqlFault::KeyColumnMissing(name.clone())),
        None => Ok(()),
    }
}

fn drop_key(table: &mut Table, name: &str) -> Result<(), SqlFault> {
    let at = table.keys.iter().position(|key| key.name.eq_ignore_ascii_case(name));
    table.keys.remove(at.ok_or_else(|| SqlFault::KeyMissing(name.to_owned()))?);
    Ok(())
}

fn action(cursor: &mut Cursor<'_>, alteration: &mut Alteration, scope: Scope<'_>) -> Result<(), SqlFault> {
    if cursor.words(&["DISABLE", "KEYS"]) || cursor.words(&["ENABLE", "KEYS"]) || cursor.word("FORCE") {
        return Ok(());
    }
    if cursor.any(&["ALGORITHM", "LOCK"]) {
        cursor.symbol("=");
        return cursor.name().map(|_| ());
    }
    if cursor.word("ADD") {
        return add(cursor, alteration, scope);
    }
    if cursor.word("DROP") {
        return drop(cursor, alteration);
    }
    if cursor.word("MODIFY") {
        cursor.word("COLUMN");
        let old = cursor.sql.name(cursor.at).ok_or_else(|| cursor.syntax())?;
        return change(cursor, alteration, scope, &old);
    }
    if cursor.word("CHANGE") {
        cursor.word("COLUMN");
        let old = cursor.name()?;
        return change(cursor, alteration, scope, &old);
    }
    if cursor.word("ALTER") {
        return set_default(cursor, alteration, scope);
    }
    if cursor.word("RENAME") {
        return rename(cursor, alteration);
    }
    if cursor.words(&["CONVERT", "TO"]) {
        for column in &mut alteration.after.columns {
            (column.kind.charset, column.kind.collation) = (None, None);
        }
    }
    let before = cursor.at;
    create_table::options(cursor, &mut alteration.after)?;
    if cursor.at == before { Err(cursor.syntax()) } else { Ok(()) }
}

fn add(cursor: &mut Cursor<'_>, alteration: &mut Alteration, scope: Scope<'_>) -> Result<(), SqlFault> {
    let table = &mut alteration.after;
    if let Some(key) = create_table::key(cursor)? {
        check_columns(table, &key.columns)?;
        for (name, ..) in key.columns.iter().filter(|_| key.kind == KeyKind::Primary) {
            if let Some(column) =
                table.columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(name))
            {
                column.nullable = false;
            }
        }
        return create_table::add_key(table, key);
    }
    if let Some(foreign) = create_table::foreign_key(cursor, table)? {
        table.foreign_keys.push(foreign);
        return Ok(());
    }
    cursor.word("COLUMN");
    if cursor.symbol("(") {
        loop {
            let column = create_table::column(cursor, table, scope)?;
            insert_column(cursor, table, column)?;
            if !cursor.symbol(",") {
                return cursor.need_symbol(")");
            }
        }
    }
    let column = create_table::column(cursor, table, scope)?;
    insert_column(cursor, table, column)
}

/// Puts a column where FIRST or AFTER says, else last.
fn insert_column(cursor: &mut Cursor<'_>, table: &mut Table, column: TableColumn) -> Result<(), SqlFault> {
    if table.column(&column.name).is_some() {
        return Err(SqlFault::DuplicateColumn(column.name));
    }
    let at = if cursor.word("FIRST") {
        0
    } else if cursor.word("AFTER") {
        let name = cursor.name()?;
        let at = table.columns.iter().position(|other| other.name.eq_ignore_ascii_case(&name));
        at.ok_or(SqlFault::UnknownColumn(name))? + 1
    } else {
        table.columns.len()
    };
    table.columns.insert(at, column);
    Ok(())
}

fn drop(cursor: &mut Cursor<'_>, alteration: &mut Alteration) -> Result<(), SqlFault> {
    let table = &mut alteration.after;
    if cursor.words(&["PRIMARY", "KEY"]) {
        return drop_key(table, "PRIMARY");
    }
    if cursor.words(&["FOREIGN", "KEY"]) || cursor.word("CONSTRAINT") {
        let name = cursor.name()?;
        let at = table.foreign_keys.iter().position(|key| key.name.eq_ignore_ascii_case(&name));
        table.foreign_keys.remove(at.ok_or(SqlFault::KeyMissing(name))?);
        return Ok(());
    }
    if cursor.any(&["INDEX", "KEY"]) {
        let name = cursor.name()?;
        return drop_key(table, &name);
    }
    cursor.word("COLUMN");
    let name = cursor.name()?;
    let at = table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(&name));
    let column = table.columns.remove(at.ok_or_else(|| SqlFault::KeyMissing(name.clone()))?);
    for key in &mut table.keys {
        key.columns.retain(|(name, ..)| *name != column.name);
    }
    table.keys.retain(|key| !key.columns.is_empty());
    alteration.kept.retain(|(after, _)| *after != column.name);
    Ok(())
}

/// MODIFY and CHANGE: the column gets a new definition and perhaps a new name.
fn change(
    cursor: &mut Cursor<'_>,
    alteration: &mut Alteration,
    scope: Scope<'_>,
    old: &str,
) -> Result<(), SqlFault> {
    let at = alteration.after.columns.iter().position(|column| column.name.eq_ignore_ascii_case(old));
    let at = at.ok_or_else(|| SqlFault::UnknownColumn(old.to_owned()))?;
    let old = alteration.after.columns.remove(at).name;
    let column = create_table::column(cursor, &mut alteration.after, scope)?;
    let name = column.name.clone();
    if cursor.sql.is_any(cursor.at, &["FIRST", "AFTER"]) {
        insert_column(cursor, &mut alteration.after, column)?;
    } else {
        alteration.after.columns.insert(at, column);
    }
    renamed(alteration, &old, &name);
    Ok(())
}

fn renamed(alteration: &mut Alteration, old: &str, new: &str) {
    for (name, ..) in alteration.after.keys.iter_mut().flat_map(|key| &mut key.columns) {
        if name == old {
            new.clone_into(name);
        }
    }
    for (after, _) in alteration.kept.iter_mut().filter(|(after, _)| after == old) {
        new.clone_into(after);
    }
}

fn set_default(
    cursor: &mut Cursor<'_>,
    alteration: &mut Alteration,
    scope: Scope<'_>,
) -> Result<(), SqlFault> {
    cursor.word("COLUMN");
    let name = cursor.name()?;
    let default = if cursor.words(&["DROP", "DEFAULT"]) {
        None
    } else if cursor.words(&["SET", "DEFAULT"]) {
        Some(create_table::default_value(cursor, scope)?)
    } else {
        return Err(cursor.syntax());
    };
    let column = alteration.after.columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(&name));
    let column = column.ok_or(SqlFault::UnknownColumn(name))?;
    column.default = default.filter(|default| *default != DefaultValue::Null || column.nullable);
    Ok(())
}

fn rename(cursor: &mut Cursor<'_>, alteration: &mut Alteration) -> Result<(), SqlFault> {
    let column = cursor.word("COLUMN");
    if column || cursor.any(&["INDEX", "KEY"]) {
        let old = cursor.name()?;
        cursor.need_word("TO")?;
        let new = cursor.name()?;
        if column {
            let found =
                alteration.after.columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(&old));
            let found = found.ok_or_else(|| SqlFault::UnknownColumn(old.clone()))?;
            let old = std::mem::replace(&mut found.name, new.clone());
            renamed(alteration, &old, &new);
        } else {
            let key = alteration.after.keys.iter_mut().find(|key| key.name.eq_ignore_ascii_case(&old));
            key.ok_or(SqlFault::KeyMissing(old))?.name = new;
        }
        return Ok(());
    }
    cursor.any(&["TO", "AS"]);
    let (schema, name) = cursor.table()?;
    if let Some(schema) = schema {
        alteration.after.schema = schema;
    }
    alteration.after.name = name;
    Ok(())
}

/// `RENAME TABLE a TO b, c TO d`
pub(crate) fn rename_tables(sql: Sql<'_>, scope: Scope<'_>) -> Result<Vec<Alteration>, SqlFault> {
    let mut cursor = Cursor::new(sql, 2);
    let mut alterations = Vec::new();
    loop {
        let mut alteration = Alteration::new(&existing(&mut cursor, scope)?);
        cursor.need_word("TO")?;
        let (schema, name) = cursor.table()?;
        alteration.after.name = name;
        if let Some(schema) = schema.as_deref().or(scope.schema) {
            schema.clone_into(&mut alteration.after.schema);
        }
        alterations.push(alteration);
        if !cursor.symbol(",") {
            return Ok(alterations);
        }
    }
}
