//! What the statements of a command are to the session's status, by their text.
//!
//! ```text
//! SHOW [SESSION | LOCAL] STATUS [LIKE 'x' | WHERE condition]
//! SELECT ... FROM [performance_schema. | information_schema.]session_status [[AS] alias] [WHERE condition]
//!        [ORDER BY variable_name [ASC]]
//! ```
//! Several statements in a command are told apart because each has one result, but for CALL: its results end with an OK.
//!
//! Invariants: behind a statement whose count of results can't be told, nothing is followed.
//! Not here: whether the result really is of that table (`result`).

use super::filter::{Column, Filter};
use super::token::{Token, tokens};

/// A statement of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    /// It asks for the session's status.
    Status(Query),
    /// It has one result, or one OK.
    Other,
    /// It has any number of results, and then one OK.
    Call,
}

/// A question for the session's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    /// A SHOW, whose result can be nothing else.
    pub(super) is_show: bool,
    /// Rows that it asks for; `None` where that can't be told.
    pub(super) filter: Option<Filter>,
}

/// The statements of a text, up to the last that can be followed. Empty if none asks for the session's status.
pub(super) fn statements(text: &[u8]) -> Vec<Statement> {
    if !mentions_status(text) {
        return Vec::new();
    }
    let Some(tokens) = tokens(text) else { return Vec::new() };
    let mut statements = Vec::new();
    for tokens in tokens.split(|token| *token == Token::Sign(b';')) {
        match statement(tokens) {
            Some(statement) => statements.push(statement),
            None => break,
        }
    }
    let asks = |statement: &Statement| matches!(statement, Statement::Status(_));
    if statements.iter().any(asks) { statements } else { Vec::new() }
}

/// Nearly every statement ends here.
fn mentions_status(text: &[u8]) -> bool {
    const WORD: &[u8] = b"status";
    let begins = |byte: &u8| byte | 0x20 == b's';
    let mut rest = text;
    while let Some(at) = rest.iter().position(begins) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD)) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// One statement; `None` if its results can't be counted.
fn statement(tokens: &[Token<'_>]) -> Option<Statement> {
    let is_any = |token: &Token<'_>, words: &[&str]| words.iter().any(|word| token.is(word));
    let Some(first) = tokens.iter().find(|token| **token != Token::Sign(b'(')) else {
        return Some(Statement::Other);
    };
    match tokens {
        [_, Token::Sign(b':'), ..] => return None, // A label.
        [begin, rest @ ..] if begin.is("begin") => {
            let is_transaction = rest.first().is_none_or(|word| word.is("work"));
            return is_transaction.then_some(Statement::Other);
        }
        _ => {}
    }
    let has_body = &["if", "case", "loop", "while", "repeat", "for", "declare", "execute"];
    let makes_body = || {
        let routine = |token| is_any(token, &["procedure", "function", "trigger", "event", "package"]);
        is_any(first, &["create", "alter"]) && tokens.iter().any(routine)
    };
    if is_any(first, has_body) || makes_body() {
        return None;
    }
    if first.is("call") {
        return Some(Statement::Call);
    }
    if first.is("show") {
        return Some(show(tokens).map_or(Statement::Other, Statement::Status));
    }
    let reads = is_any(first, &["select", "with", "table"]);
    if reads && tokens.iter().any(|token| token.names(TABLE)) {
        return Some(Statement::Status(Query { is_show: false, filter: selected(tokens) }));
    }
    Some(Statement::Other)
}

fn show(tokens: &[Token<'_>]) -> Option<Query> {
    let rest = match tokens {
        [_, scope, status, rest @ ..]
            if status.is("status") && (scope.is("session") || scope.is("local")) =>
        {
            rest
        }
        [_, status, rest @ ..] if status.is("status") => rest,
        _ => return None,
    };
    let filter = match rest {
        [] => Some(Filter::All),
        [like, Token::Text(pattern)] if like.is("like") => Some(Filter::like(pattern)),
        [word, condition @ ..] if word.is("where") => ended(condition),
        _ => None,
    };
    Some(Query { is_show: true, filter })
}

/// The rows that a SELECT of the simple form asks for.
fn selected(tokens: &[Token<'_>]) -> Option<Filter> {
    let (first, behind) = tokens.split_first()?;
    let from = behind.iter().position(|token| token.is("from"))?;
    let (columns, behind) = behind.split_at_checked(from)?;
    // What is read of the columns is told by their definitions; but an aggregate is none of them, nor a DISTINCT.
    let plain = |token: &Token<'_>| !matches!(token, Token::Sign(b'(')) && !token.is("distinct");
    if !first.is("select") || !columns.iter().all(plain) {
        return None;
    }
    let behind = match behind.get(1..)? {
        [_, Token::Sign(b'.'), table, rest @ ..] | [table, rest @ ..] if table.names(TABLE) => rest,
        _ => return None,
    };
    let is_clause =
        |token: &Token<'_>| CLAUSES.iter().any(|word| token.is(word)) || matches!(token, Token::Sign(_));
    let behind = match behind {
        [word, Token::Word(_) | Token::Name(_), rest @ ..] if word.is("as") => rest,
        [alias @ (Token::Word(_) | Token::Name(_)), rest @ ..] if !is_clause(alias) => rest,
        rest => rest,
    };
    match behind {
        [word, condition @ ..] if word.is("where") => ended(condition),
        rest => is_harmless_end(rest).then_some(Filter::All),
    }
}

fn ended(condition: &[Token<'_>]) -> Option<Filter> {
    Filter::parse(condition).filter(|(_, rest)| is_harmless_end(rest)).map(|(filter, _)| filter)
}

/// Nothing, or the order that rows are added in.
fn is_harmless_end(tokens: &[Token<'_>]) -> bool {
    let rest = match tokens {
        [] => return true,
        [order, by, rest @ ..] if order.is("order") && by.is("by") => rest,
        _ => return false,
    };
    let rest = match rest {
        [Token::Word(_) | Token::Name(_), Token::Sign(b'.'), rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        [Token::Word(name), end @ ..] => Column::named(name) == Some(Column::Name) && is_ascending(end),
        [Token::Name(name), end @ ..] => Column::named(name) == Some(Column::Name) && is_ascending(end),
        _ => false,
    }
}

fn is_ascending(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, []) || matches!(tokens, [word] if word.is("asc"))
}

/// Both servers have it, in different schemas.
pub(super) const TABLE: &str = "session_status";
/// What may stand behind a table's name and is no alias.
const CLAUSES: [&str; 16] = [
    "where", "order", "group", "having", "limit", "join", "inner", "left", "right", "natural", "cross",
    "union", "for", "window", "use", "into",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Option<Query> {
        match statements(text.as_bytes()).as_slice() {
            [Statement::Status(query)] => Some(query.clone()),
            [] => None,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_spelling_of_the_statement_is_known() {
        for text in [
            "SHOW STATUS",
            "show session status like 'Compression%'",
            " show local\tstatus ",
            "show /*!50002 session */ status where `Variable_name` = 'Compression'",
            "select * from performance_schema.session_status",
            "SELECT VARIABLE_VALUE FROM `performance_schema`.`session_status` AS s WHERE s.VARIABLE_NAME = 'x'",
            "select variable_name, variable_value from information_schema.SESSION_STATUS t order by variable_name asc",
            "/* tool */ select variable_value from session_status where variable_name in ('a', 'b')",
        ] {
            let query = one(text).unwrap_or_else(|| panic!("{text}"));
            assert!(query.filter.is_some(), "{text}");
        }
    }

    #[test]
    fn other_statements_are_not() {
        for text in [
            "show global status",
            "show /*!50002 GLOBAL */ status like 'Compression'",
            "show table status",
            "show master status",
            "show engine innodb status",
            "select 'show status'",
            "select * from performance_schema.global_status",
            "select status from orders",
            "insert into t select * from performance_schema.session_status",
            "select 'session_status' as status",
            "show status like 'unended",
        ] {
            assert_eq!(one(text), None, "{text}");
        }
    }

    #[test]
    fn what_limits_or_joins_rows_has_no_filter() {
        for text in [
            "select * from performance_schema.session_status limit 1",
            "select * from performance_schema.session_status where variable_name = ?",
            "select * from performance_schema.session_status s join other using (variable_name)",
            "select count(*) from performance_schema.session_status",
            "select distinct variable_value from performance_schema.session_status",
            "select * from session_status order by variable_name desc",
            "with s as (select * from performance_schema.session_status) select * from s",
            "table performance_schema.session_status",
            "show status where variable_name like concat('a')",
        ] {
            assert_eq!(one(text).map(|query| query.filter), Some(None), "{text}");
        }
    }

    #[test]
    fn statements_of_a_command_are_counted_as_long_as_that_can_be_done() {
        use Statement::{Call, Other, Status};
        let all = Status(Query { is_show: true, filter: Some(Filter::All) });
        for (text, expected) in [
            ("select 1; show status; do 1;", vec![Other, all.clone(), Other, Other]),
            ("call p(';'); show status", vec![Call, all.clone()]),
            ("show status; execute s; show status", vec![all.clone()]),
            ("begin; show status; commit", vec![Other, all.clone(), Other]),
            ("begin not atomic show status; end; show status", vec![]),
            ("create procedure p() show status; show status", vec![]),
            ("show status; l: loop show status; end loop", vec![all]),
            ("select 1; select 2", vec![]),
        ] {
            assert_eq!(statements(text.as_bytes()), expected, "{text}");
        }
    }
}
