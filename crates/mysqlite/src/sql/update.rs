//! UPDATE and DELETE of one table for SQLite.
//!
//! ORDER BY and LIMIT, which SQLite's build does not take here, become a choice of row ids.
//!
//! Not here: expressions (`rewrite`).

use std::sync::Arc;

use super::cursor::{Cursor, Sql};
use super::keyword;
use super::quote;
use super::rewrite::{Frame, Rewriter, Scope};
use super::token::Kind;
use crate::fault::SqlFault;
use crate::schema::table::Table;

pub(crate) fn update(sql: Sql<'_>, scope: Scope<'_>) -> Result<Rewritten, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    cursor.word("LOW_PRIORITY");
    let ignore = cursor.word("IGNORE");
    let (table, alias) = target(&mut cursor, scope)?;
    cursor.need_word("SET")?;
    let end = sql.find(cursor.at, sql.len(), &["WHERE", "ORDER", "LIMIT"]).unwrap_or(sql.len());
    let mut rewriter = Rewriter::new(sql, scope);
    rewriter.push(if ignore { "UPDATE OR IGNORE" } else { "UPDATE" });
    rewriter.push(&format!("{} AS {} SET", table.sqlite_name(), quote::name(&alias)));
    let assigned = assignments(&mut rewriter, cursor.at, end)?;
    for column in
        table.columns.iter().filter(|column| column.on_update_now && !assigned.contains(&column.name))
    {
        rewriter.out.push_str(&format!(", {} = CURRENT_TIMESTAMP", quote::name(&column.name)));
    }
    conditions(&mut rewriter, &table, &alias, end)?;
    Ok(Rewritten::new(rewriter))
}

pub(crate) fn delete(sql: Sql<'_>, scope: Scope<'_>) -> Result<Rewritten, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    while cursor.any(&["LOW_PRIORITY", "QUICK", "IGNORE"]) {}
    if !cursor.word("FROM") {
        return Err(SqlFault::NotSupported("DELETE of several tables".to_owned()));
    }
    let (table, alias) = target(&mut cursor, scope)?;
    let mut rewriter = Rewriter::new(sql, scope);
    rewriter.push(&format!("DELETE FROM {} AS {}", table.sqlite_name(), quote::name(&alias)));
    conditions(&mut rewriter, &table, &alias, cursor.at)?;
    Ok(Rewritten::new(rewriter))
}

/// An UPDATE or DELETE for SQLite.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) sql: String,
    /// Reads a built-in database.
    pub(crate) built_in: bool,
}

impl Rewritten {
    fn new(rewriter: Rewriter<'_>) -> Self {
        Self { built_in: rewriter.built_in, sql: rewriter.out }
    }
}

/// The one table of the statement, and its alias.
fn target(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<(Arc<Table>, String), SqlFault> {
    let (schema, name) = cursor.table()?;
    let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
    let table = Arc::clone(scope.catalog.table(schema, &name)?);
    let explicit = cursor.word("AS");
    let alias = match cursor.sql.kind(cursor.at) {
        Some(Kind::Quoted) => cursor.name()?,
        Some(Kind::Word) if explicit || keyword::may_be_alias(&cursor.sql.upper(cursor.at)) => {
            cursor.name()?
        }
        _ => table.name.clone(),
    };
    if cursor.sql.is_symbol(cursor.at, ",")
        || cursor.sql.is_any(cursor.at, &["JOIN", "LEFT", "INNER", "USING"])
    {
        return Err(SqlFault::NotSupported("UPDATE and DELETE of several tables".to_owned()));
    }
    Ok((table, alias))
}

/// `a = expression, t.b = expression`; returns the columns.
pub(crate) fn assignments(
    rewriter: &mut Rewriter<'_>,
    start: usize,
    end: usize,
) -> Result<Vec<String>, SqlFault> {
    let sql = rewriter.sql;
    let mut columns = Vec::new();
    for (from, to) in sql.split(start, end) {
        let equals = (from..to).find(|&n| sql.is_symbol(n, "=") || sql.is_symbol(n, ":="));
        let equals = equals.filter(|&equals| equals > from).ok_or_else(|| sql.syntax(from))?;
        let column = sql.name(equals - 1).ok_or_else(|| sql.syntax(from))?;
        rewriter.push(&format!("{}{} =", if columns.is_empty() { "" } else { ", " }, quote::name(&column)));
        if equals + 2 == to && sql.is(equals + 1, "DEFAULT") {
            return Err(SqlFault::NotSupported("SET column = DEFAULT".to_owned()));
        }
        rewriter.range(equals + 1, to, Frame::EXPRESSION)?;
        columns.push(column);
    }
    Ok(columns)
}

/// WHERE, and ORDER BY and LIMIT as a choice of row ids.
fn conditions(rewriter: &mut Rewriter<'_>, table: &Table, alias: &str, start: usize) -> Result<(), SqlFault> {
    let sql = rewriter.sql;
    if start < sql.len() && !sql.is_any(start, &["WHERE", "ORDER", "LIMIT"]) {
        return Err(sql.syntax(start));
    }
    let limited = sql.find(start, sql.len(), &["LIMIT"]).is_some();
    if !limited {
        let end = sql.find(start, sql.len(), &["ORDER"]).unwrap_or(sql.len());
        return rewriter.range(start, end, Frame::EXPRESSION);
    }
    let alias = quote::name(alias);
    rewriter.push(&format!("WHERE rowid IN (SELECT {alias}.rowid FROM {} AS {alias}", table.sqlite_name()));
    rewriter.range(start, sql.len(), Frame::EXPRESSION)?;
    rewriter.out.push(')');
    Ok(())
}
