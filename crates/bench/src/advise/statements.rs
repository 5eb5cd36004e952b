//! The statements of a file, and which of them may write.
//!
//! ```text
//!  text ─▶ split at ';' outside of quotes and comments ─▶ Statement { line, sql, words outside of quotes }
//! ```
//! Invariants: what is not known to read counts as writing. The text cannot tell it all (a stored function may write),
//! so whoever runs these also makes the session read-only.
//!
//! Not here: `delimiter`, which is a word of MySQL's client and not of SQL; statements with ';' in their bodies.

use anyhow::bail;

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
    /// It has a comment that servers execute.
    has_executable_comment: bool,
}

impl Statement {
    /// A statement of our own.
    pub(crate) fn of(sql: String) -> Self {
        Self { line: 1, origin: Origin::QueryFile, sql, words: Vec::new(), has_executable_comment: false }
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
            "SET" => {
                let is_wide = self.words.iter().any(|word| {
                    WIDE_SETTINGS.contains(&word.as_str())
                        || word.starts_with("@@GLOBAL")
                        || word.starts_with("@@PERSIST")
                });
                is_wide.then_some("sets more than a variable of the session")
            }
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

/// The text, cut.
fn split(text: &str) -> anyhow::Result<Vec<Statement>> {
    let mut statements = Vec::new();
    let mut cutter = Cutter { text, at: 0, line: 1 };
    while let Some(statement) = cutter.next()? {
        statements.push(statement);
    }
    Ok(statements)
}

struct Cutter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Cutter<'_> {
    fn next(&mut self) -> anyhow::Result<Option<Statement>> {
        let mut words = Vec::new();
        let mut has_executable_comment = false;
        let mut start: Option<(usize, usize)> = None;
        while let Some(c) = self.rest().chars().next() {
            let (from, line) = (self.at, self.line);
            match c {
                ';' => {
                    self.at += 1;
                    if let Some((from_at, line)) = start {
                        let sql = self.text.get(from_at..from).unwrap_or_default().trim_end().to_owned();
                        let origin = Origin::QueryFile;
                        return Ok(Some(Statement { line, origin, sql, words, has_executable_comment }));
                    }
                    continue;
                }
                '\'' | '"' | '`' => self.skip_quoted(c)?,
                '#' => {
                    self.skip_line();
                    continue;
                }
                '-' if self.is_dash_comment() => {
                    self.skip_line();
                    continue;
                }
                '/' if self.rest().starts_with("/*") => {
                    let is_executable = ["/*!", "/*M!"].iter().any(|begin| self.rest().starts_with(begin));
                    self.skip_comment()?;
                    if !is_executable {
                        continue;
                    }
                    has_executable_comment = true;
                }
                c if is_word(c) => words.push(self.word()),
                c if c.is_whitespace() => {
                    self.step(c.len_utf8());
                    continue;
                }
                c => self.step(c.len_utf8()),
            }
            start = start.or(Some((from, line)));
        }
        Ok(start.map(|(from, line)| {
            let sql = self.text.get(from..).unwrap_or_default().trim_end().to_owned();
            Statement { line, origin: Origin::QueryFile, sql, words, has_executable_comment }
        }))
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn step(&mut self, len: usize) {
        let passed = self.text.get(self.at..self.at + len).unwrap_or_default();
        self.line += passed.matches('\n').count();
        self.at += len;
    }

    fn word(&mut self) -> String {
        let rest = self.rest();
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default().to_uppercase();
        self.step(len);
        word
    }

    /// `-- ` as MySQL has it: followed by a blank or the end.
    fn is_dash_comment(&self) -> bool {
        self.rest().strip_prefix("--").is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        let len = rest.find('\n').map_or(rest.len(), |at| at + 1);
        self.step(len);
    }

    fn skip_comment(&mut self) -> anyhow::Result<()> {
        match self.rest().find("*/") {
            Some(at) => self.step(at + 2),
            None => bail!("the comment that begins on line {} of the query file has no end", self.line),
        }
        Ok(())
    }

    fn skip_quoted(&mut self, quote: char) -> anyhow::Result<()> {
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            if c == '\\' && quote != '`' {
                chars.next();
            } else if c == quote {
                // A doubled quote ends one string and begins the next, which is the same to us.
                self.step(at + 1);
                return Ok(());
            }
        }
        bail!("the {quote} on line {} of the query file has no end", self.line)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '@')
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
