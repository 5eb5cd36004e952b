//! SET: which variables get which values.
//!
//! Not here: what the variables do (`store::variables`).

use super::cursor::{Cursor, Sql};
use super::quote;
use super::rewrite::{Frame, Rewriter, Scope, variable_name};
use super::token::Kind;
use crate::fault::SqlFault;

/// What a SET assigns to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `@name`
    User(String),
    /// A system variable, and whether its global value is meant.
    System { name: String, global: bool },
    /// `SET NAMES x [COLLATE y]`: three variables at once.
    Names,
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewValue {
    Default,
    /// An expression for SQLite.
    Expression {
        sql: String,
        built_in: bool,
    },
}

pub(crate) type Assignment = (Target, NewValue);

pub(crate) fn set(sql: Sql<'_>, scope: Scope<'_>) -> Result<Vec<Assignment>, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    let text = |value: &str| NewValue::Expression { sql: quote::literal(value.as_bytes()), built_in: false };
    if cursor.word("NAMES") {
        let charset = word_or_text(&mut cursor)?;
        return Ok(vec![(Target::Names, text(&charset))]);
    }
    if cursor.words(&["CHARACTER", "SET"]) || cursor.word("CHARSET") {
        let charset = word_or_text(&mut cursor)?;
        return Ok(vec![(Target::Names, text(&charset))]);
    }
    if cursor.sql.is_any(1, &["PASSWORD", "ROLE", "DEFAULT", "RESOURCE"]) && !cursor.sql.is_symbol(2, "=") {
        return Err(SqlFault::NotSupported(format!("SET {}", sql.upper(1))));
    }
    let mut global = false;
    let mut assignments = Vec::new();
    for (start, end) in sql.split(1, sql.len()) {
        cursor.at = start;
        if cursor.any(&["GLOBAL", "PERSIST", "PERSIST_ONLY"]) {
            global = true;
        } else if cursor.any(&["SESSION", "LOCAL"]) {
            global = false;
        } else if start != 1 && sql.kind(start) == Some(Kind::Word) {
            global = false;
        }
        if cursor.word("TRANSACTION") {
            assignments.extend(isolation(&mut cursor, end, global)?);
            return Ok(assignments);
        }
        let raw = sql.raw(cursor.at);
        let target = match sql.kind(cursor.at) {
            Some(Kind::UserVariable) => Target::User(variable_name(raw.get(1..).unwrap_or_default())),
            Some(Kind::SystemVariable) => {
                let name = variable_name(raw.get(2..).unwrap_or_default());
                let (scope, name) = name.split_once('.').unwrap_or(("session", &name));
                Target::System { name: name.to_owned(), global: matches!(scope, "global" | "persist") }
            }
            Some(Kind::Word | Kind::Quoted) => {
                let name = sql.name(cursor.at).unwrap_or_default().to_ascii_lowercase();
                Target::System { name, global }
            }
            _ => return Err(cursor.syntax()),
        };
        cursor.at += 1;
        if !cursor.symbol("=") && !cursor.symbol(":=") {
            return Err(cursor.syntax());
        }
        assignments.push((target, value(&cursor, end, scope)?));
    }
    Ok(assignments)
}

fn word_or_text(cursor: &mut Cursor<'_>) -> Result<String, SqlFault> {
    if cursor.sql.kind(cursor.at) == Some(Kind::Text) { cursor.text() } else { cursor.name() }
}

fn value(cursor: &Cursor<'_>, end: usize, scope: Scope<'_>) -> Result<NewValue, SqlFault> {
    let sql = cursor.sql;
    if cursor.at >= end {
        return Err(cursor.syntax());
    }
    if end == cursor.at + 1 {
        if sql.is(cursor.at, "DEFAULT") {
            return Ok(NewValue::Default);
        }
        // A bare word is a text: ON, utf8mb4, STRICT_ALL_TABLES.
        let literal = sql.is_any(cursor.at, &["NULL", "TRUE", "FALSE"]);
        if let (Some(name), Some(Kind::Word), false) = (sql.name(cursor.at), sql.kind(cursor.at), literal) {
            return Ok(NewValue::Expression { sql: quote::literal(name.as_bytes()), built_in: false });
        }
    }
    let mut rewriter = Rewriter::new(sql, scope);
    rewriter.range(cursor.at, end, Frame::EXPRESSION)?;
    Ok(NewValue::Expression { built_in: rewriter.built_in, sql: rewriter.out })
}

/// `TRANSACTION ISOLATION LEVEL x, READ ONLY`: the cursor is after TRANSACTION.
fn isolation(cursor: &mut Cursor<'_>, _end: usize, global: bool) -> Result<Vec<Assignment>, SqlFault> {
    let mut assignments = Vec::new();
    let mut add = |name: &str, value: &str| {
        let value = NewValue::Expression { sql: quote::literal(value.as_bytes()), built_in: false };
        assignments.push((Target::System { name: name.to_owned(), global }, value));
    };
    loop {
        if cursor.words(&["ISOLATION", "LEVEL"]) {
            let first = cursor.name()?.to_ascii_uppercase();
            let level = match first.as_str() {
                "SERIALIZABLE" => first,
                _ => format!("{first}-{}", cursor.name()?.to_ascii_uppercase()),
            };
            add("transaction_isolation", &level);
        } else if cursor.word("READ") {
            add("transaction_read_only", if cursor.name()?.eq_ignore_ascii_case("ONLY") { "1" } else { "0" });
        } else {
            return Err(cursor.syntax());
        }
        if !cursor.symbol(",") {
            return if cursor.done() { Ok(assignments) } else { Err(cursor.syntax()) };
        }
    }
}
