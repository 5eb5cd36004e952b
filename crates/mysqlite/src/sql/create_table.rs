//! CREATE TABLE: from MySQL's text to a `Table`. Also the pieces that ALTER TABLE shares: a column, a key.
//!
//! Accepted and forgotten: options that only a storage engine of MySQL knows (ROW_FORMAT, KEY_BLOCK_SIZE, …)
//! and CHECK. Refused: partitions, generated columns.
//!
//! Not here: CREATE TABLE … LIKE and … SELECT (`plan`).

use super::cursor::Cursor;
use super::rewrite::{Frame, Rewriter, Scope};
use super::token::Kind;
use crate::fault::SqlFault;
use crate::schema::column_type::{Base, ColumnType};
use crate::schema::table::{DefaultValue, ForeignKey, Key, KeyKind, Table, TableColumn};

/// Reads `( columns and keys ) options` into `table`; the cursor stands at the bracket.
pub(crate) fn body(cursor: &mut Cursor<'_>, table: &mut Table, scope: Scope<'_>) -> Result<(), SqlFault> {
    cursor.need_symbol("(")?;
    loop {
        item(cursor, table, scope)?;
        if !cursor.symbol(",") {
            break;
        }
    }
    cursor.need_symbol(")")?;
    options(cursor, table)?;
    finish(table)
}

/// A column, key or constraint.
fn item(cursor: &mut Cursor<'_>, table: &mut Table, scope: Scope<'_>) -> Result<(), SqlFault> {
    if let Some(key) = key(cursor)? {
        return add_key(table, key);
    }
    if cursor.word("CHECK") {
        cursor.skip_bracket()?;
        cursor.word("NOT");
        cursor.word("ENFORCED");
        return Ok(());
    }
    if let Some(foreign) = foreign_key(cursor, table)? {
        table.foreign_keys.push(foreign);
        return Ok(());
    }
    if cursor.word("CONSTRAINT") {
        if !cursor.sql.is_any(cursor.at, &["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]) {
            cursor.name()?;
        }
        return item(cursor, table, scope);
    }
    let column = column(cursor, table, scope)?;
    if table.column(&column.name).is_some() {
        return Err(SqlFault::DuplicateColumn(column.name));
    }
    table.columns.push(column);
    Ok(())
}

pub(crate) fn add_key(table: &mut Table, mut key: Key) -> Result<(), SqlFault> {
    for (name, ..) in &mut key.columns {
        // Key columns are written as their table writes them.
        match table.column(name) {
            Some(column) => name.clone_from(&column.name),
            // The column may come later in the same CREATE TABLE; `finish` checks.
            None => continue,
        }
    }
    if key.name.is_empty() {
        let base = key.columns.first().map(|(name, ..)| name.clone()).unwrap_or_default();
        key.name = base.clone();
        let taken = |name: &str| table.keys.iter().any(|other| other.name == name);
        let mut number = 2;
        while taken(&key.name) {
            key.name = format!("{base}_{number}");
            number += 1;
        }
    }
    if table.keys.iter().any(|other| other.name.eq_ignore_ascii_case(&key.name)) {
        return Err(SqlFault::DuplicateKey(key.name));
    }
    // Listed as MySQL lists them: primary, unique, others.
    let rank = |key: &Key| match key.kind {
        KeyKind::Primary => 0,
        KeyKind::Unique => 1,
        _ => 2,
    };
    let at = table.keys.iter().position(|other| rank(other) > rank(&key)).unwrap_or(table.keys.len());
    table.keys.insert(at, key);
    Ok(())
}

/// `[CONSTRAINT name] PRIMARY KEY | UNIQUE | KEY | INDEX | FULLTEXT | SPATIAL …`, if that is here.
pub(crate) fn key(cursor: &mut Cursor<'_>) -> Result<Option<Key>, SqlFault> {
    let start = cursor.at;
    let mut name = String::new();
    if cursor.word("CONSTRAINT") && !cursor.sql.is_any(cursor.at, &["PRIMARY", "UNIQUE"]) {
        name = cursor.name()?;
    }
    let kind = if cursor.words(&["PRIMARY", "KEY"]) {
        KeyKind::Primary
    } else if cursor.word("UNIQUE") {
        cursor.any(&["KEY", "INDEX"]);
        KeyKind::Unique
    } else if cursor.sql.is_any(cursor.at, &["FULLTEXT", "SPATIAL"]) {
        let fulltext = cursor.word("FULLTEXT") || !cursor.word("SPATIAL");
        cursor.any(&["KEY", "INDEX"]);
        KeyKind::Other(if fulltext { "FULLTEXT" } else { "SPATIAL" })
    } else if cursor.any(&["KEY", "INDEX"]) {
        KeyKind::Plain
    } else {
        cursor.at = start;
        return Ok(None);
    };
    if !cursor.sql.is_symbol(cursor.at, "(") && !cursor.sql.is(cursor.at, "USING") {
        name = cursor.name()?;
    }
    if kind == KeyKind::Primary {
        name = "PRIMARY".to_owned();
    }
    key_rest_named(cursor, kind, name).map(Some)
}

/// `[USING BTREE] (columns) [options]`
pub(crate) fn key_rest_named(cursor: &mut Cursor<'_>, kind: KeyKind, name: String) -> Result<Key, SqlFault> {
    if cursor.word("USING") {
        cursor.name()?;
    }
    cursor.need_symbol("(")?;
    let mut columns = Vec::new();
    loop {
        if cursor.sql.is_symbol(cursor.at, "(") {
            return Err(SqlFault::NotSupported("an index on an expression".to_owned()));
        }
        let column = cursor.name()?;
        let mut prefix = None;
        if cursor.symbol("(") {
            prefix = u32::try_from(cursor.number()?).ok();
            cursor.need_symbol(")")?;
        }
        let descending = cursor.word("DESC");
        cursor.word("ASC");
        columns.push((column, prefix, descending));
        if !cursor.symbol(",") {
            break;
        }
    }
    cursor.need_symbol(")")?;
    let mut key = Key { kind, name, columns, comment: String::new() };
    loop {
        if cursor.word("USING") {
            cursor.name()?;
        } else if cursor.word("COMMENT") {
            key.comment = cursor.text()?;
        } else if cursor.word("KEY_BLOCK_SIZE") {
            cursor.symbol("=");
            cursor.number()?;
        } else if !cursor.any(&["VISIBLE", "INVISIBLE"]) {
            return Ok(key);
        }
    }
}

/// `[CONSTRAINT name] FOREIGN KEY … REFERENCES …`, if that is here.
pub(crate) fn foreign_key(cursor: &mut Cursor<'_>, table: &Table) -> Result<Option<ForeignKey>, SqlFault> {
    let start = cursor.at;
    let mut name = format!("{}_ibfk_{}", table.name, table.foreign_keys.len() + 1);
    if cursor.word("CONSTRAINT") && !cursor.sql.is(cursor.at, "FOREIGN") {
        if !cursor.sql.is(cursor.at + 1, "FOREIGN") {
            cursor.at = start;
            return Ok(None);
        }
        name = cursor.name()?;
    }
    if !cursor.words(&["FOREIGN", "KEY"]) {
        cursor.at = start;
        return Ok(None);
    }
    if !cursor.sql.is_symbol(cursor.at, "(") {
        cursor.name()?;
    }
    let columns = names(cursor)?;
    cursor.need_word("REFERENCES")?;
    let (schema, parent) = cursor.table()?;
    let references = names(cursor)?;
    let rules_start = cursor.at;
    while cursor.word("ON") {
        cursor.any(&["DELETE", "UPDATE"]);
        if !cursor.words(&["SET", "NULL"])
            && !cursor.words(&["NO", "ACTION"])
            && !cursor.words(&["SET", "DEFAULT"])
        {
            cursor.name()?;
        }
    }
    let rules = String::from_utf8_lossy(cursor.sql.span(rules_start, cursor.at)).into_owned();
    let schema = schema.unwrap_or_else(|| table.schema.clone());
    Ok(Some(ForeignKey { name, columns, schema, table: parent, references, rules }))
}

fn names(cursor: &mut Cursor<'_>) -> Result<Vec<String>, SqlFault> {
    cursor.need_symbol("(")?;
    let mut names = Vec::new();
    loop {
        names.push(cursor.name()?);
        if !cursor.symbol(",") {
            break;
        }
    }
    cursor.need_symbol(")")?;
    Ok(names)
}

/// A column with its attributes; `PRIMARY KEY` and `UNIQUE` among them become keys of `table`.
pub(crate) fn column(
    cursor: &mut Cursor<'_>,
    table: &mut Table,
    scope: Scope<'_>,
) -> Result<TableColumn, SqlFault> {
    let name = cursor.name()?;
    let serial = cursor.sql.is(cursor.at, "SERIAL");
    let mut column = TableColumn {
        name: name.clone(),
        kind: ColumnType::parse(cursor)?,
        nullable: !serial,
        default: None,
        on_update_now: false,
        auto_increment: serial,
        comment: String::new(),
    };
    let mut add = |kind| {
        let columns = vec![(name.clone(), None, false)];
        let name = if kind == KeyKind::Primary { "PRIMARY".to_owned() } else { String::new() };
        add_key(table, Key { kind, name, columns, comment: String::new() })
    };
    if serial {
        add(KeyKind::Unique)?;
    }
    loop {
        if cursor.words(&["NOT", "NULL"]) {
            column.nullable = false;
        } else if cursor.word("NULL") {
            column.nullable = true;
        } else if cursor.word("DEFAULT") {
            column.default = Some(default_value(cursor, scope)?);
        } else if cursor.words(&["ON", "UPDATE"]) {
            now(cursor).ok_or_else(|| cursor.syntax())?;
            column.on_update_now = true;
        } else if cursor.word("AUTO_INCREMENT") {
            (column.auto_increment, column.nullable) = (true, false);
        } else if cursor.words(&["PRIMARY", "KEY"]) || cursor.word("KEY") {
            column.nullable = false;
            add(KeyKind::Primary)?;
        } else if cursor.word("UNIQUE") {
            cursor.word("KEY");
            add(KeyKind::Unique)?;
        } else if cursor.word("COMMENT") {
            column.comment = cursor.text()?;
        } else if cursor.word("COLLATE") {
            column.kind.collation = Some(cursor.name()?.to_ascii_lowercase());
        } else if cursor.words(&["CHARACTER", "SET"]) {
            column.kind.charset = Some(cursor.name()?.to_ascii_lowercase());
        } else if cursor.any(&["COLUMN_FORMAT", "STORAGE", "SRID"]) {
            cursor.at += 1;
        } else if cursor.word("CHECK") {
            cursor.skip_bracket()?;
        } else if cursor.sql.is_any(cursor.at, &["GENERATED", "AS"]) {
            return Err(SqlFault::NotSupported(format!("the generated column {}", column.name)));
        } else if !cursor.any(&["VISIBLE", "INVISIBLE"]) {
            break;
        }
    }
    Ok(column)
}

pub(crate) fn default_value(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<DefaultValue, SqlFault> {
    if let Some(digits) = now(cursor) {
        return Ok(DefaultValue::Now(digits));
    }
    if cursor.word("NULL") {
        return Ok(DefaultValue::Null);
    }
    if cursor.sql.is_symbol(cursor.at, "(") {
        let close = cursor.sql.closing(cursor.at)?;
        let mysql = String::from_utf8_lossy(cursor.sql.span(cursor.at + 1, close)).into_owned();
        let mut rewriter = Rewriter::new(cursor.sql, scope);
        rewriter.range(cursor.at + 1, close, Frame::EXPRESSION)?;
        cursor.at = close + 1;
        return Ok(DefaultValue::Expression { mysql, sqlite: rewriter.out.trim().to_owned() });
    }
    let sign = if cursor.symbol("-") { "-" } else { "" };
    cursor.symbol("+");
    if cursor.sql.kind(cursor.at) == Some(Kind::Word) && cursor.sql.raw(cursor.at).first() == Some(&b'_') {
        cursor.at += 1;
    }
    let at = cursor.at;
    cursor.at += 1;
    match cursor.sql.kind(at) {
        Some(Kind::Text) => Ok(DefaultValue::Text(cursor.sql.text(at))),
        Some(Kind::Number) => Ok(DefaultValue::Text(
            format!("{sign}{}", String::from_utf8_lossy(cursor.sql.raw(at))).into_bytes(),
        )),
        Some(Kind::Word) if cursor.sql.is(at, "TRUE") => Ok(DefaultValue::Text(b"1".to_vec())),
        Some(Kind::Word) if cursor.sql.is(at, "FALSE") => Ok(DefaultValue::Text(b"0".to_vec())),
        Some(Kind::Bits | Kind::Hex) => {
            let mut rewriter = Rewriter::new(cursor.sql, scope);
            rewriter.range(at, at + 1, Frame::EXPRESSION)?;
            let mysql = String::from_utf8_lossy(cursor.sql.raw(at)).into_owned();
            Ok(DefaultValue::Expression { mysql, sqlite: rewriter.out })
        }
        _ => Err(cursor.sql.syntax(at)),
    }
}

/// `CURRENT_TIMESTAMP[(digits)]` and its kin, if that is here: the bracket, when it is not empty.
fn now(cursor: &mut Cursor<'_>) -> Option<String> {
    if !cursor.any(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]) {
        return None;
    }
    if !cursor.symbol("(") {
        return Some(String::new());
    }
    let digits = cursor.number().ok().filter(|&digits| digits > 0);
    cursor.symbol(")");
    Some(digits.map_or_else(String::new, |digits| format!("({digits})")))
}

/// `ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COMMENT='…'`
pub(crate) fn options(cursor: &mut Cursor<'_>, table: &mut Table) -> Result<(), SqlFault> {
    loop {
        cursor.symbol(",");
        let default = cursor.word("DEFAULT");
        if cursor.any(&["CHARSET"]) || cursor.words(&["CHARACTER", "SET"]) {
            cursor.symbol("=");
            table.charset = cursor.name()?.to_ascii_lowercase();
            table.collation = default_collation(&table.charset);
        } else if cursor.word("COLLATE") {
            cursor.symbol("=");
            table.collation = cursor.name()?.to_ascii_lowercase();
        } else if default {
            return Err(cursor.syntax());
        } else if cursor.word("ENGINE") {
            cursor.symbol("=");
            table.engine = engine(&cursor.name()?);
        } else if cursor.word("AUTO_INCREMENT") {
            cursor.symbol("=");
            table.auto_increment = cursor.number()?;
        } else if cursor.word("COMMENT") {
            cursor.symbol("=");
            table.comment = cursor.text()?;
        } else if cursor.word("PARTITION") {
            return Err(SqlFault::NotSupported("partitions".to_owned()));
        } else if cursor.sql.kind(cursor.at) == Some(Kind::Word) && cursor.sql.is_symbol(cursor.at + 1, "=") {
            // ROW_FORMAT=DYNAMIC and what else a storage engine knows.
            cursor.at += 3;
        } else {
            return Ok(());
        }
    }
}

/// Every engine is SQLite; the name is kept as MySQL spells it.
fn engine(name: &str) -> String {
    ["InnoDB", "MyISAM", "MEMORY", "Aria", "ARCHIVE", "CSV"]
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name))
        .map_or_else(|| name.to_owned(), |known| (*known).to_owned())
}

fn default_collation(charset: &str) -> String {
    match charset {
        "utf8mb4" => "utf8mb4_0900_ai_ci".to_owned(),
        "binary" => "binary".to_owned(),
        "latin1" => "latin1_swedish_ci".to_owned(),
        "utf8" | "utf8mb3" => "utf8mb3_general_ci".to_owned(),
        other => format!("{other}_general_ci"),
    }
}

/// What holds only when all is read: primary keys are NOT NULL, key columns exist.
fn finish(table: &mut Table) -> Result<(), SqlFault> {
    let mut keys = std::mem::take(&mut table.keys);
    for key in &mut keys {
        for (name, ..) in &mut key.columns {
            let found = table.columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(name));
            let Some(column) = found else { return Err(SqlFault::KeyColumnMissing(name.clone())) };
            name.clone_from(&column.name);
            column.nullable &= key.kind != KeyKind::Primary;
        }
    }
    table.keys = keys;
    for column in &mut table.columns {
        // TIMESTAMP had rules of its own before MySQL 8.
        let timestamp = column.kind.base == Base::Timestamp;
        if timestamp && !column.nullable && column.default == Some(DefaultValue::Null) {
            column.default = None;
        }
    }
    if table.columns.is_empty() {
        return Err(SqlFault::Syntax("a table without columns".to_owned()));
    }
    Ok(())
}
