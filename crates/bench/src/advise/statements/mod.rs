//! The statements of a file, and which of them may write.
//!
//! ```text
//!  text ─▶ split at ';' outside of quotes and comments ─▶ Statement { line, sql, words outside of quotes }
//! ```
//! Invariants: what is not known to read counts as writing. The text cannot tell it all (a stored function may write),
//! so whoever runs these also makes the session read-only.
//!
//! Not here: `delimiter`, which is a word of MySQL's client and not of SQL; statements with ';' in their bodies.

mod cutter;

use anyhow::bail;

use self::cutter::split;

/// Where a statement is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A line of a file.
    QueryFile,
    /// What sysbench sent.
    Sysbench,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The line on which it begins, or which of sysbench's it is, from 1.
    pub(crate) line: usize,
    origin: Origin,
    /// As it is sent, without the ';'.
    pub(crate) sql: String,
    /// Words outside of quotes and comments, in capitals.
    words: Vec<String>,
    /// Something stands in backquotes, or in the double quotes that may be a name's.
    has_quoted_name: bool,
    /// It has a comment that servers execute.
    has_executable_comment: bool,
}

impl Statement {
    /// A statement of our own.
    pub(crate) fn of(sql: String) -> Self {
        Self {
            line: 1,
            origin: Origin::QueryFile,
            sql,
            words: Vec::new(),
            has_quoted_name: false,
            has_executable_comment: false,
        }
    }

    /// `line 3 of the query file`.
    pub(crate) fn place(&self) -> String {
        match self.origin {
            Origin::QueryFile => format!("line {} of the query file", self.line),
            Origin::Sysbench => format!("statement {} of sysbench's", self.line),
        }
    }

    /// Why it may write, if it may.
    pub(crate) fn may_write(&self) -> Option<&'static str> {
        let has = |word: &str| self.words.iter().any(|own| own == word);
        let follows = |first: &str, then: &str| {
            self.words.windows(2).any(|pair| pair == [first, then].map(str::to_owned))
        };
        if self.has_executable_comment {
            return Some("has a comment that servers execute");
        }
        match self.words.first().map_or("", String::as_str) {
            "SELECT" | "TABLE" | "VALUES" | "WITH" => {
                if has("INTO") {
                    Some("has INTO")
                } else if follows("FOR", "UPDATE") || follows("FOR", "SHARE") || follows("LOCK", "IN") {
                    Some("locks rows")
                } else if CHANGES.iter().any(|word| has(word)) {
                    Some("has a word of statements that change rows")
                } else {
                    SIDE_EFFECTS.iter().any(|word| has(word)).then_some("calls a function with side effects")
                }
            }
            "SHOW" => None,
            "EXPLAIN" | "DESCRIBE" | "DESC" => {
                (has("ANALYZE") && CHANGES.iter().any(|word| has(word))).then_some("runs what it explains")
            }
            "SET" => self.may_set_more(),
            "BEGIN" | "START" | "COMMIT" | "ROLLBACK" => {
                let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
                // The session is read-only, and so is a transaction that doesn't say otherwise.
                (!TRANSACTIONS.contains(&words.join(" ").as_str()))
                    .then_some("does more than begin or end a transaction")
            }
            _ => Some(
                "is none of SELECT, WITH … SELECT, TABLE, VALUES, SHOW, EXPLAIN, SET of a session's variable, BEGIN and \
                 COMMIT",
            ),
        }
    }

    /// Why a SET may reach further than a variable of the session, or let the session write again.
    fn may_set_more(&self) -> Option<&'static str> {
        if self.has_quoted_name {
            return Some("has what may be a variable's name in quotes");
        }
        let is_wide = self.words.iter().any(|word| {
            let name = word.strip_prefix("@@").unwrap_or(word);
            // MySQL takes a name with accents for the same one.
            WIDE_SETTINGS.contains(&name) || !name.is_ascii()
        });
        is_wide.then_some("sets more than a variable of the session")
    }

    /// On one line, cut to a length that fits an error or a table.
    pub(crate) fn short(&self) -> String {
        let words: Vec<&str> = self.sql.split_whitespace().collect();
        let line = words.join(" ");
        if line.chars().count() <= SHORT_LEN {
            return line;
        }
        line.chars().take(SHORT_LEN - 1).chain(['…']).collect()
    }
}

/// Reads a file's statements; refuses those that may write, unless they are allowed.
///
/// # Errors
/// No statement; one that may write, with its line; a quote or comment without an end.
pub(crate) fn read(text: &str, allow_writes: bool) -> anyhow::Result<Vec<Statement>> {
    let statements = split(text)?;
    if statements.is_empty() {
        bail!("the query file has no statement");
    }
    checked(statements, allow_writes)
}

/// Statements that were sent one by one.
///
/// # Errors
/// One that may write, with its number.
pub(crate) fn of_texts(
    texts: &[String],
    origin: Origin,
    allow_writes: bool,
) -> anyhow::Result<Vec<Statement>> {
    let mut statements = Vec::with_capacity(texts.len());
    for (place, text) in texts.iter().enumerate() {
        // One text may hold several.
        statements.extend(split(text)?.into_iter().map(|one| Statement { line: place + 1, origin, ..one }));
    }
    checked(statements, allow_writes)
}

fn checked(statements: Vec<Statement>, allow_writes: bool) -> anyhow::Result<Vec<Statement>> {
    if !allow_writes {
        for statement in &statements {
            if let Some(why) = statement.may_write() {
                bail!(
                    "{} may write, because it {why}: {}; --allow-writes runs it, several times",
                    statement.place(),
                    statement.short()
                );
            }
        }
    }
    Ok(statements)
}

/// Words that begin what changes rows; none is a usual column's name without backquotes.
const CHANGES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "CALL"];
/// Functions that leave something behind in the server.
const SIDE_EFFECTS: [&str; 6] =
    ["GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS", "NEXTVAL", "SETVAL", "NEXT"];
/// Words of SET that reach further than a session's variable, that would let the session write again, or behind which another
/// statement stands (MariaDB's SET STATEMENT … FOR).
const WIDE_SETTINGS: [&str; 10] = [
    "STATEMENT",
    "GLOBAL",
    "PERSIST",
    "PERSIST_ONLY",
    "PASSWORD",
    "ROLE",
    "RESOURCE",
    "TRANSACTION",
    "TRANSACTION_READ_ONLY",
    "TX_READ_ONLY",
];
/// What begins and ends a transaction, and nothing more.
const TRANSACTIONS: [&str; 8] = [
    "BEGIN",
    "BEGIN WORK",
    "START TRANSACTION",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "COMMIT WORK",
    "ROLLBACK",
    "ROLLBACK WORK",
];
const SHORT_LEN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn sqls(text: &str) -> Vec<(usize, String)> {
        split(text).unwrap().into_iter().map(|statement| (statement.line, statement.sql)).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let text = "-- first; comment\nselect 'a;b', \"c\\\";d\", `e;f` /* ; */ from t;\n\n;\n# x;\nselect 2";
        let expected = [(2, "select 'a;b', \"c\\\";d\", `e;f` /* ; */ from t"), (6, "select 2")];
        assert_eq!(sqls(text), expected.map(|(line, sql)| (line, sql.to_owned())));
        assert_eq!(sqls("select 1 - -1; "), [(1, "select 1 - -1".to_owned())]);
        assert!(split("select 'a").unwrap_err().to_string().contains("has no end"));
        assert!(read(" -- nothing\n", false).unwrap_err().to_string().contains("no statement"));
    }

    #[test]
    fn what_reads_passes() {
        for sql in [
            "select * from t where a = 'delete into'",
            "with a as (select 1) select * from a",
            "table t",
            "values row(1)",
            "show tables",
            "explain update t set a = 1",
            "set sql_mode = ''",
            "set @a = 1",
            "set @global = 1, @@session.sql_mode = default",
            "set @a = @@transaction_isolation",
            "select @a := 1",
            "select `update` from t",
            "begin",
            "start transaction read only",
            "commit",
            "rollback work",
        ] {
            assert_eq!(split(sql).unwrap()[0].may_write(), None, "{sql}");
        }
    }

    #[test]
    fn what_may_write_is_refused_with_its_line() {
        for sql in [
            "insert into t values (1)",
            "(select 1) union (select 2) into outfile '/tmp/x'",
            "select * from t into outfile '/tmp/x'",
            "select * from t for  update",
            "select * from t lock in share mode",
            "with a as (select 1) delete from t",
            "explain analyze delete from t",
            "analyze update t set a = 1",
            "set global max_connections = 1",
            "set statement max_statement_time = 1 for delete from t",
            "set @@global.max_connections = 1",
            "set session transaction read write",
            "set transaction_read_only = 0",
            "set @@transaction_read_only = 0",
            "set @@session.transaction_read_only = 0",
            "set @@local . tx_read_only = off",
            "set @a = 1, @@tx_read_only := 0",
            "set session tx_read_only = 0",
            "set `transaction_read_only` = 0",
            "set @@session.`transaction_read_only` = 0",
            "set session \"transaction_read_only\" = 0",
            "set tránsaction_read_only = 0",
            "set tx\u{301}_read_only = 0",
            "set @@persist.max_connections = 1",
            "set @@persist_only.max_connections = 1",
            "/*!50000 delete from t */",
            "select get_lock('a', 1)",
            "call p()",
            "start transaction read write",
            "commit and chain",
            "begin not atomic delete from t; end",
        ] {
            assert!(split(sql).unwrap()[0].may_write().is_some(), "{sql}");
        }
        let error = read("select 1;\ndrop table t;", false).unwrap_err().to_string();
        assert!(error.starts_with("line 2 of the query file may write"), "{error}");
        assert!(error.contains("drop table t"), "{error}");
        assert_eq!(read("select 1;\ndrop table t;", true).unwrap().len(), 2);
        let texts = ["BEGIN".to_owned(), "DELETE FROM t".to_owned()];
        let error = of_texts(&texts, Origin::Sysbench, false).unwrap_err().to_string();
        assert!(error.starts_with("statement 2 of sysbench's may write"), "{error}");
        assert_eq!(of_texts(&texts, Origin::Sysbench, true).unwrap().len(), 2);
    }
}
