//! INSERT and REPLACE for SQLite.
//!
//! ```text
//! INSERT [IGNORE] INTO t [(columns)] VALUES (…),(…) | SET a=1, … | SELECT …
//!     [AS new] [ON DUPLICATE KEY UPDATE …]
//! ```
//! The columns are always named, DEFAULT becomes the column's default, and a zero for AUTO_INCREMENT becomes
//! NULL, as SQLite asks for a new value.
//!
//! Not here: expressions (`rewrite`).

use std::sync::Arc;

use super::cursor::{Cursor, Sql};
use super::quote;
use super::rewrite::{Frame, Rewriter, Scope};
use super::token::Kind;
use crate::fault::SqlFault;
use crate::schema::table::Table;

/// Who chose the AUTO_INCREMENT value of the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoValue {
    /// The table has no such column, or the statement named a value.
    Given,
    /// The database.
    Generated,
    /// The parameter of this index tells: NULL and 0 ask for a value.
    Parameter(usize),
}

/// An INSERT, rewritten.
#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) sql: String,
    pub(crate) auto_value: AutoValue,
    pub(crate) has_auto_column: bool,
    /// Reads a built-in database.
    pub(crate) built_in: bool,
    /// The rows of its VALUES.
    pub(crate) row_count: usize,
}

pub(crate) fn insert(sql: Sql<'_>, scope: Scope<'_>) -> Result<Insert, SqlFault> {
    let mut cursor = Cursor::new(sql, 0);
    let replace = cursor.word("REPLACE");
    if !replace {
        cursor.need_word("INSERT")?;
    }
    while cursor.any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"]) {}
    let ignore = cursor.word("IGNORE");
    cursor.word("INTO");
    let (schema, name) = cursor.table()?;
    let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
    let table = Arc::clone(scope.catalog.table(schema, &name)?);
    let mut rewriter = Rewriter::new(sql, scope);
    rewriter.out.push_str(match (replace, ignore) {
        (true, _) => "INSERT OR REPLACE INTO ",
        (_, true) => "INSERT OR IGNORE INTO ",
        _ => "INSERT INTO ",
    });
    rewriter.out.push_str(&format!("{} AS {}", table.sqlite_name(), quote::name(&table.name)));
    let mut writer =
        Writer { auto_value: AutoValue::Given, row_count: 0, columns: Vec::new(), table, rewriter };
    writer.statement(cursor)?;
    Ok(Insert {
        auto_value: writer.auto_value,
        has_auto_column: writer.table.auto_column().is_some(),
        built_in: writer.rewriter.built_in,
        row_count: writer.row_count,
        sql: writer.rewriter.out,
    })
}

struct Writer<'a> {
    rewriter: Rewriter<'a>,
    table: Arc<Table>,
    columns: Vec<String>,
    auto_value: AutoValue,
    row_count: usize,
}

impl Writer<'_> {
    fn statement(&mut self, mut cursor: Cursor<'_>) -> Result<(), SqlFault> {
        let sql = cursor.sql;
        let columns_named =
            sql.is_symbol(cursor.at, "(") && !sql.is_any(cursor.at + 1, &["SELECT", "WITH"]) && {
                cursor.at += 1;
                self.column_list(&mut cursor)?;
                true
            };
        if !columns_named {
            self.columns = self.table.columns.iter().map(|column| column.name.clone()).collect();
        }
        if cursor.word("SET") {
            self.set(&mut cursor)?;
        } else if cursor.any(&["VALUES", "VALUE"]) {
            self.values(&mut cursor)?;
        } else {
            self.select(&mut cursor)?;
        }
        let mut alias = String::new();
        if cursor.word("AS") {
            alias = cursor.name()?;
        }
        if cursor.words(&["ON", "DUPLICATE", "KEY", "UPDATE"]) {
            self.rewriter.new_row = Some(alias);
            self.rewriter.push("ON CONFLICT DO UPDATE SET");
            super::update::assignments(&mut self.rewriter, cursor.at, sql.len())?;
            cursor.at = sql.len();
        }
        if cursor.done() { Ok(()) } else { Err(cursor.syntax()) }
    }

    fn column_list(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
        while !cursor.symbol(")") {
            let mut name = cursor.name()?;
            while cursor.symbol(".") {
                name = cursor.name()?;
            }
            if self.table.column(&name).is_none() {
                return Err(SqlFault::UnknownColumn(name));
            }
            self.columns.push(name);
            if !cursor.symbol(",") && !cursor.sql.is_symbol(cursor.at, ")") {
                return Err(cursor.syntax());
            }
        }
        Ok(())
    }

    fn push_columns(&mut self) {
        let names: Vec<String> = self.columns.iter().map(|name| quote::name(name)).collect();
        self.rewriter.out.push_str(&format!("({})", names.join(",")));
    }

    /// The index of the AUTO_INCREMENT column in the column list.
    fn auto_index(&self) -> Option<usize> {
        let auto = self.table.auto_column()?;
        self.columns.iter().position(|name| name.eq_ignore_ascii_case(&auto.name))
    }

    fn values(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
        let auto_index = self.auto_index();
        if self.table.auto_column().is_some() && auto_index.is_none() {
            self.auto_value = AutoValue::Generated;
        }
        let sql = cursor.sql;
        loop {
            cursor.word("ROW");
            if !sql.is_symbol(cursor.at, "(") {
                return Err(cursor.syntax());
            }
            let close = sql.closing(cursor.at)?;
            self.row_count += 1;
            if close == cursor.at + 1 && (self.columns.is_empty() || self.row_count == 1) {
                // `VALUES ()`: every column's default.
                self.auto_value =
                    if self.table.auto_column().is_some() { AutoValue::Generated } else { AutoValue::Given };
                self.rewriter.push("DEFAULT VALUES");
                cursor.at = close + 1;
                return Ok(());
            }
            if self.row_count == 1 {
                self.push_columns();
                self.rewriter.push("VALUES");
            } else {
                self.rewriter.out.push(',');
            }
            self.row(cursor.at + 1, close, auto_index)?;
            cursor.at = close + 1;
            if !cursor.symbol(",") {
                return Ok(());
            }
        }
    }

    fn row(&mut self, start: usize, end: usize, auto_index: Option<usize>) -> Result<(), SqlFault> {
        self.rewriter.out.push('(');
        let (mut from, mut column) = (start, 0);
        while from < end {
            let to = self.value_end(from, end);
            if column > 0 {
                self.rewriter.out.push(',');
            }
            self.value(from, to, column, auto_index == Some(column))?;
            column += 1;
            from = to + 1;
        }
        self.rewriter.out.push(')');
        if column == self.columns.len() { Ok(()) } else { Err(SqlFault::ValueCount(self.row_count)) }
    }

    /// Where the value that begins at `from` ends. Most values are one token.
    fn value_end(&self, from: usize, end: usize) -> usize {
        let sql = &self.rewriter.sql;
        if from + 1 >= end || sql.is_symbol(from + 1, ",") {
            return from + 1;
        }
        sql.split(from, end).first().map_or(end, |&(_, to)| to)
    }

    fn value(&mut self, from: usize, to: usize, column: usize, is_auto: bool) -> Result<(), SqlFault> {
        let sql = self.rewriter.sql;
        let single = to == from + 1;
        if single && sql.is(from, "DEFAULT") {
            let name = self.columns.get(column).cloned().unwrap_or_default();
            let default = self.table.column(&name).and_then(|column| column.sqlite_default());
            self.rewriter.push(default.as_deref().unwrap_or("NULL"));
            self.note_auto(is_auto, AutoValue::Generated);
            return Ok(());
        }
        if !is_auto {
            return self.rewriter.range(from, to, Frame::EXPRESSION);
        }
        let zero_asks = !self.rewriter.scope.zero_is_value;
        if single && zero_asks && matches!(sql.raw(from), b"0" | b"'0'") {
            self.rewriter.push("NULL");
            self.note_auto(true, AutoValue::Generated);
        } else if single && sql.kind(from) == Some(Kind::Param) {
            let index = (0..from).filter(|&n| sql.kind(n) == Some(Kind::Param)).count();
            self.rewriter.push(if zero_asks { "nullif(?,0)" } else { "?" });
            self.note_auto(true, AutoValue::Parameter(index));
        } else {
            if single && sql.is(from, "NULL") {
                self.note_auto(true, AutoValue::Generated);
            }
            self.rewriter.range(from, to, Frame::EXPRESSION)?;
        }
        Ok(())
    }

    fn note_auto(&mut self, is_auto: bool, value: AutoValue) {
        if is_auto && self.row_count == 1 {
            self.auto_value = value;
        }
    }

    /// `SET a = 1, b = 2`
    fn set(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
        let sql = cursor.sql;
        let end = sql.find(cursor.at, sql.len(), &["ON", "AS"]).unwrap_or(sql.len());
        self.columns.clear();
        let mut values = Vec::new();
        for (from, to) in sql.split(cursor.at, end) {
            let equals = (from..to).find(|&n| sql.is_symbol(n, "=") || sql.is_symbol(n, ":="));
            let equals = equals.ok_or_else(|| sql.syntax(from))?;
            let name = sql.name(equals - 1).ok_or_else(|| sql.syntax(from))?;
            if self.table.column(&name).is_none() {
                return Err(SqlFault::UnknownColumn(name));
            }
            self.columns.push(name);
            values.push((equals + 1, to));
        }
        let auto_index = self.auto_index();
        self.row_count = 1;
        if self.table.auto_column().is_some() && auto_index.is_none() {
            self.auto_value = AutoValue::Generated;
        }
        self.push_columns();
        self.rewriter.push("VALUES (");
        for (column, (from, to)) in values.into_iter().enumerate() {
            if column > 0 {
                self.rewriter.out.push(',');
            }
            self.value(from, to, column, auto_index == Some(column))?;
        }
        self.rewriter.out.push(')');
        cursor.at = end;
        Ok(())
    }

    fn select(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
        let sql = cursor.sql;
        if !sql.is_any(cursor.at, &["SELECT", "WITH", "TABLE"]) && !sql.is_symbol(cursor.at, "(") {
            return Err(cursor.syntax());
        }
        if self.table.auto_column().is_some() && self.auto_index().is_none() {
            self.auto_value = AutoValue::Generated;
        }
        let end = (cursor.at..sql.len())
            .find(|&n| sql.is(n, "ON") && sql.is(n + 1, "DUPLICATE"))
            .unwrap_or(sql.len());
        self.push_columns();
        // The outer SELECT with WHERE tells SQLite's parser that a following ON belongs to the INSERT.
        self.rewriter.push("SELECT * FROM (");
        let bracket = sql.is_symbol(cursor.at, "(") && sql.closing(cursor.at)? + 1 == end;
        let (from, to) = if bracket { (cursor.at + 1, end - 1) } else { (cursor.at, end) };
        self.rewriter.range(from, to, Frame::EXPRESSION)?;
        self.rewriter.push(") WHERE true");
        cursor.at = end;
        Ok(())
    }
}
