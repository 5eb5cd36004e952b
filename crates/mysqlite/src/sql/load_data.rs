//! LOAD DATA LOCAL INFILE: how the file is cut into fields and rows, and where they go.
//!
//! Not here: asking the client for the file (`reply`), inserting its rows (`store::engine`).

use std::sync::Arc;

use super::cursor::{Cursor, Sql};
use super::quote;
use super::rewrite::Scope;
use crate::fault::SqlFault;
use crate::schema::table::Table;

/// A LOAD DATA LOCAL INFILE statement.
#[derive(Debug)]
pub(crate) struct LoadData {
    pub(crate) file: String,
    /// One row's INSERT, with a parameter per column.
    pub(crate) sql: String,
    pub(crate) column_count: usize,
    pub(crate) fields_terminated: Vec<u8>,
    pub(crate) enclosed: Option<u8>,
    pub(crate) escaped: Option<u8>,
    pub(crate) lines_starting: Vec<u8>,
    pub(crate) lines_terminated: Vec<u8>,
    pub(crate) ignore_lines: u64,
}

pub(crate) fn load_data(sql: Sql<'_>, scope: Scope<'_>) -> Result<LoadData, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    cursor.need_word("DATA")?;
    cursor.any(&["LOW_PRIORITY", "CONCURRENT"]);
    let local = cursor.word("LOCAL");
    cursor.need_word("INFILE")?;
    let file = cursor.text()?;
    if !local {
        return Err(SqlFault::FileNotLocal(file));
    }
    let replace = cursor.word("REPLACE");
    cursor.word("IGNORE");
    cursor.need_word("INTO")?;
    cursor.need_word("TABLE")?;
    let (schema, name) = cursor.table()?;
    let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
    let table = Arc::clone(scope.catalog.table(schema, &name)?);
    let mut load = LoadData {
        file,
        sql: String::new(),
        column_count: 0,
        fields_terminated: b"\t".to_vec(),
        enclosed: None,
        escaped: Some(b'\\'),
        lines_starting: Vec::new(),
        lines_terminated: b"\n".to_vec(),
        ignore_lines: 0,
    };
    load.format(&mut cursor)?;
    load.columns(&mut cursor, &table, replace)?;
    if cursor.done() { Ok(load) } else { Err(cursor.syntax()) }
}

impl LoadData {
    fn format(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
        if cursor.words(&["CHARACTER", "SET"]) {
            cursor.name()?;
        }
        let bytes = |cursor: &mut Cursor<'_>| cursor.text().map(String::into_bytes);
        if cursor.any(&["FIELDS", "COLUMNS"]) {
            loop {
                if cursor.words(&["TERMINATED", "BY"]) {
                    self.fields_terminated = bytes(cursor)?;
                } else if cursor.words(&["OPTIONALLY", "ENCLOSED", "BY"]) || cursor.words(&["ENCLOSED", "BY"])
                {
                    self.enclosed = bytes(cursor)?.first().copied();
                } else if cursor.words(&["ESCAPED", "BY"]) {
                    self.escaped = bytes(cursor)?.first().copied();
                } else {
                    break;
                }
            }
        }
        if cursor.word("LINES") {
            loop {
                if cursor.words(&["STARTING", "BY"]) {
                    self.lines_starting = bytes(cursor)?;
                } else if cursor.words(&["TERMINATED", "BY"]) {
                    self.lines_terminated = bytes(cursor)?;
                } else {
                    break;
                }
            }
        }
        if cursor.word("IGNORE") {
            self.ignore_lines = cursor.number()?;
            cursor.any(&["LINES", "ROWS"]);
        }
        if self.fields_terminated.is_empty() || self.lines_terminated.is_empty() {
            return Err(SqlFault::NotSupported("LOAD DATA with empty terminators".to_owned()));
        }
        Ok(())
    }

    fn columns(&mut self, cursor: &mut Cursor<'_>, table: &Table, replace: bool) -> Result<(), SqlFault> {
        let mut names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        if cursor.symbol("(") {
            names.clear();
            while !cursor.symbol(")") {
                let name = cursor.name()?;
                if table.column(&name).is_none() {
                    return Err(SqlFault::UnknownColumn(name));
                }
                names.push(name);
                cursor.symbol(",");
            }
        }
        self.column_count = names.len();
        let quoted: Vec<String> = names.iter().map(|name| quote::name(name)).collect();
        // LOCAL means IGNORE: a duplicate is a warning.
        self.sql = format!(
            "INSERT OR {} INTO {} ({}) VALUES ({})",
            if replace { "REPLACE" } else { "IGNORE" },
            table.sqlite_name(),
            quoted.join(","),
            vec!["?"; names.len()].join(",")
        );
        Ok(())
    }

    /// Takes one row from the front of `input`: its fields, and how many bytes it was.
    /// Shape: `None` when the row's end is not there yet; a field is `None` for `\N`.
    pub(crate) fn row(&self, input: &[u8], at_end: bool) -> Option<(Vec<Option<Vec<u8>>>, usize)> {
        if input.is_empty() {
            return None;
        }
        let mut at = if input.starts_with(&self.lines_starting) { self.lines_starting.len() } else { 0 };
        let mut fields = Vec::with_capacity(self.column_count);
        loop {
            let (field, end, enclosed) = self.field(input, at)?;
            let rest = input.get(end..).unwrap_or_default();
            let null = !enclosed && (field == b"\0N" || (self.escaped.is_none() && field == b"NULL"));
            fields.push((!null).then_some(field));
            if rest.starts_with(&self.lines_terminated) {
                return Some((fields, end + self.lines_terminated.len()));
            }
            if rest.starts_with(&self.fields_terminated) {
                at = end + self.fields_terminated.len();
            } else if at_end {
                return Some((fields, input.len()));
            } else {
                return None;
            }
        }
    }

    /// One field from `at`: its bytes, where it ends, whether it was enclosed. `\N` is given as `\0N`.
    fn field(&self, input: &[u8], at: usize) -> Option<(Vec<u8>, usize, bool)> {
        let enclosed = self.enclosed.filter(|quote| input.get(at) == Some(quote));
        let (mut field, mut at) = (Vec::new(), at + usize::from(enclosed.is_some()));
        while let Some(&byte) = input.get(at) {
            let rest = input.get(at..).unwrap_or_default();
            if Some(byte) == self.escaped {
                let Some(&next) = input.get(at + 1) else { return Some((field, input.len(), false)) };
                match next {
                    b'0' => field.push(0),
                    b'n' => field.push(b'\n'),
                    b't' => field.push(b'\t'),
                    b'r' => field.push(b'\r'),
                    b'b' => field.push(8),
                    b'Z' => field.push(26),
                    b'N' => field.extend(b"\0N"),
                    other => field.push(other),
                }
                at += 2;
            } else if let Some(quote) = enclosed {
                if byte == quote && input.get(at + 1) == Some(&quote) {
                    field.push(quote);
                    at += 2;
                } else if byte == quote {
                    return Some((field, at + 1, true));
                } else {
                    field.push(byte);
                    at += 1;
                }
            } else if rest.starts_with(&self.fields_terminated) || rest.starts_with(&self.lines_terminated) {
                return Some((field, at, false));
            } else {
                field.push(byte);
                at += 1;
            }
        }
        Some((field, input.len(), false))
    }
}
