//! Rewrites a query or an expression for SQLite, token by token.
//!
//! What changes on the way: names are quoted and tables get their name in the file (`shop.orders`) with their
//! own name as alias; literals are decoded; MySQL's operators, functions, hints and lock clauses become
//! SQLite's or nothing; the outermost SELECT's expressions get MySQL's column names (their own text).
//!
//! Invariants: parameters keep their order.
//!
//! Not here: special function forms (`function`), INSERT (`insert`), UPDATE and DELETE (`update`).

mod item_name;
mod literal;
mod tables;

pub(crate) use literal::variable_name;

use self::item_name::item_name;
use super::cursor::Sql;
use super::keyword;
use super::quote;
use super::token::Kind;
use crate::fault::SqlFault;
use crate::schema::catalog::Catalog;

/// Brackets deeper than this are refused: each level is a stack frame here and in SQLite's parser, whose own
/// limit is 1,000.
const DEPTH_MAX: usize = 200;

/// What names mean where the statement runs.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) catalog: &'a Catalog,
    /// The database that USE chose.
    pub(crate) schema: Option<&'a str>,
    /// `||` joins texts instead of meaning OR (sql_mode PIPES_AS_CONCAT).
    pub(crate) pipes_as_concat: bool,
    /// A zero is a value for AUTO_INCREMENT (sql_mode NO_AUTO_VALUE_ON_ZERO).
    pub(crate) zero_is_value: bool,
}

/// Which part of a query the rewriter is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    Select,
    From,
    Other,
}

/// One level of brackets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    clause: Clause,
    /// The next name is a table.
    table_due: bool,
    /// Give the expressions of this SELECT their MySQL names.
    naming: bool,
    /// Where the current select item began, in tokens.
    item: Option<usize>,
}

impl Frame {
    pub(crate) const EXPRESSION: Self =
        Self { clause: Clause::Other, table_due: false, naming: false, item: None };
    pub(crate) const OUTERMOST: Self = Self { naming: true, ..Self::EXPRESSION };
    const TABLES: Self = Self { clause: Clause::From, table_due: true, ..Self::EXPRESSION };
}

/// The rewriter of one statement.
pub(crate) struct Rewriter<'a> {
    pub(crate) sql: Sql<'a>,
    pub(crate) scope: Scope<'a>,
    pub(crate) out: String,
    pub(crate) at: usize,
    frame: Frame,
    depth: usize,
    /// Names that WITH defines.
    common_tables: Vec<String>,
    /// The alias of the new row in ON DUPLICATE KEY UPDATE; `Some("")` when it has none but we are there.
    pub(crate) new_row: Option<String>,
    /// Does it read a built-in database?
    pub(crate) built_in: bool,
    /// Does it lock what it reads (FOR UPDATE)?
    pub(crate) locks: bool,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(sql: Sql<'a>, scope: Scope<'a>) -> Self {
        Self {
            sql,
            scope,
            out: String::with_capacity(sql.source.len() + 64),
            at: 0,
            frame: Frame::EXPRESSION,
            depth: 0,
            common_tables: Vec::new(),
            new_row: None,
            built_in: false,
            locks: false,
        }
    }

    /// Rewrites the tokens `start..end` as they stand in `frame`.
    pub(crate) fn range(&mut self, start: usize, end: usize, frame: Frame) -> Result<(), SqlFault> {
        if self.depth >= DEPTH_MAX {
            return Err(SqlFault::NotSupported(format!("more than {DEPTH_MAX} nested brackets")));
        }
        let outer = (self.at, self.frame);
        (self.at, self.frame) = (start, frame);
        self.depth += 1;
        while self.at < end {
            self.step(end)?;
        }
        self.end_item(end);
        self.depth -= 1;
        (self.at, self.frame) = outer;
        Ok(())
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.out.push(' ');
        self.out.push_str(text);
    }

    fn step(&mut self, end: usize) -> Result<(), SqlFault> {
        match self.sql.kind(self.at) {
            Some(Kind::Quoted) => self.names(end),
            Some(Kind::Word) => self.word(end),
            Some(Kind::Symbol) => self.symbol(),
            Some(_) => {
                self.literal();
                Ok(())
            }
            None => Err(self.sql.syntax(self.at)),
        }
    }

    fn symbol(&mut self) -> Result<(), SqlFault> {
        match self.sql.raw(self.at) {
            b"(" => return self.bracket(),
            b"," => {
                self.end_item(self.at);
                self.out.push(',');
                self.frame.table_due = self.frame.clause == Clause::From;
                self.begin_item(self.at + 1);
            }
            // MySQL divides exactly; SQLite would cut integers.
            b"/" => self.push("* 1.0 /"),
            b"&&" => self.push("AND"),
            b"||" if !self.scope.pipes_as_concat => self.push("OR"),
            b"!" => self.push("NOT"),
            b"<=>" => self.push("IS"),
            b":=" => {
                return Err(SqlFault::NotSupported(
                    "assignments with := inside a query (use SET)".to_owned(),
                ));
            }
            b"^" => return Err(SqlFault::NotSupported("the operator ^".to_owned())),
            b"{" | b"}" => return Err(self.sql.syntax(self.at)),
            other => {
                let text = String::from_utf8_lossy(other).into_owned();
                self.push(&text);
            }
        }
        self.at += 1;
        Ok(())
    }

    /// `( … )` that is no function's: an expression, a subquery, or tables to join.
    fn bracket(&mut self) -> Result<(), SqlFault> {
        let close = self.sql.closing(self.at)?;
        let query = self.sql.is_any(self.at + 1, &["SELECT", "WITH", "VALUES"]);
        let compound = ["UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT"];
        if query
            && self.depth == 1
            && self.frame.naming
            && (self.at == 0 || self.sql.is_any(self.at - 1, &compound))
        {
            // `(SELECT …) UNION (SELECT …)`: SQLite wants no brackets there.
            self.push("SELECT * FROM");
        }
        let frame = if self.frame.table_due && !query {
            Frame::TABLES
        } else if query && self.frame.naming && self.frame.clause == Clause::Other && self.at == 0 {
            // `(SELECT …) UNION (SELECT …)`
            Frame::OUTERMOST
        } else {
            Frame::EXPRESSION
        };
        self.push("(");
        self.range(self.at + 1, close, frame)?;
        self.out.push(')');
        self.at = close + 1;
        self.frame.table_due = false;
        Ok(())
    }

    fn word(&mut self, end: usize) -> Result<(), SqlFault> {
        let upper = self.sql.upper(self.at);
        let bracket = self.sql.is_symbol(self.at + 1, "(") && self.at + 1 < end;
        if self.sql.is_symbol(self.at + 1, ".") {
            return self.names(end);
        }
        let new_value = upper == "VALUES" && self.new_row.is_some();
        if bracket && new_value {
            return self.function(&upper);
        }
        if bracket && !self.frame.table_due && !keyword::may_stand_before_bracket(&upper) && !self.after_as()
        {
            return self.function(&upper);
        }
        if upper.starts_with('_') && matches!(self.sql.kind(self.at + 1), Some(Kind::Text | Kind::Hex)) {
            // A charset before a literal: bytes are bytes here.
            self.at += 1;
            return Ok(());
        }
        if self.after_as() {
            return self.names(end);
        }
        if self.keyword(&upper, end)? {
            return Ok(());
        }
        if keyword::is_keyword(&upper) {
            self.push(&upper);
            self.at += 1;
            return Ok(());
        }
        if keyword::is_bare_function(&upper) && !self.frame.table_due {
            let call = format!("{}()", quote::name(&keyword::function(&upper)));
            self.push(&call);
            self.at += 1;
            return Ok(());
        }
        self.names(end)
    }

    fn after_as(&self) -> bool {
        self.at > 0 && self.sql.is(self.at - 1, "AS")
    }

    /// The words that need more than passing through. Was it one?
    fn keyword(&mut self, upper: &str, end: usize) -> Result<bool, SqlFault> {
        match upper {
            "SELECT" => self.select(),
            "FROM" => self.from(),
            "JOIN" | "STRAIGHT_JOIN" => {
                self.push("JOIN");
                self.frame.table_due = true;
                self.at += 1;
            }
            "WHERE" | "GROUP" | "ORDER" | "HAVING" | "LIMIT" | "UNION" | "EXCEPT" | "INTERSECT"
            | "WINDOW" => {
                self.end_item(self.at);
                self.push(upper);
                (self.frame.clause, self.frame.table_due) = (Clause::Other, false);
                self.at += 1;
            }
            "ON" | "USING" => {
                self.push(upper);
                self.frame.table_due = false;
                self.at += 1;
            }
            "FOR" if self.sql.is_any(self.at + 1, &["UPDATE", "SHARE"]) => {
                self.end_item(self.at);
                self.locks = true;
                self.at = end;
            }
            "LOCK" if self.sql.is(self.at + 1, "IN") => {
                self.end_item(self.at);
                self.locks = true;
                self.at = end;
            }
            "INTO" => return Err(SqlFault::NotSupported("SELECT … INTO".to_owned())),
            "WITH" => self.with()?,
            "AS" if self.sql.kind(self.at + 1) == Some(Kind::Text) => {
                let alias = quote::name(&String::from_utf8_lossy(&self.sql.text(self.at + 1)));
                self.push(&format!("AS {alias}"));
                self.at += 2;
            }
            "XOR" => return Err(SqlFault::NotSupported("XOR".to_owned())),
            "DIV" => self.operator("/"),
            "MOD" => self.operator("%"),
            "RLIKE" => self.operator("REGEXP"),
            "BINARY" => self.at += 1,
            "COLLATE" => {
                let name = self.sql.name(self.at + 1).or_else(|| text_name(&self.sql, self.at + 1));
                let ignores_case = name.is_some_and(|name| name.to_ascii_lowercase().ends_with("_ci"));
                self.push(if ignores_case { "COLLATE NOCASE" } else { "COLLATE BINARY" });
                self.at += 2;
            }
            "INTERVAL" => {
                return Err(SqlFault::NotSupported("INTERVAL outside DATE_ADD and DATE_SUB".to_owned()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn operator(&mut self, symbol: &str) {
        self.push(symbol);
        self.at += 1;
    }

    fn select(&mut self) {
        self.push("SELECT");
        self.at += 1;
        const MODIFIERS: &[&str] = &[
            "SQL_NO_CACHE",
            "SQL_CACHE",
            "SQL_CALC_FOUND_ROWS",
            "HIGH_PRIORITY",
            "STRAIGHT_JOIN",
            "SQL_SMALL_RESULT",
            "SQL_BIG_RESULT",
            "SQL_BUFFER_RESULT",
        ];
        loop {
            if self.sql.is(self.at, "DISTINCTROW") {
                self.push("DISTINCT");
            } else if self.sql.is_any(self.at, &["DISTINCT", "ALL"]) {
                let word = self.sql.upper(self.at);
                self.push(&word);
            } else if !self.sql.is_any(self.at, MODIFIERS) {
                break;
            }
            self.at += 1;
        }
        self.frame.clause = Clause::Select;
        self.begin_item(self.at);
    }

    fn from(&mut self) {
        self.end_item(self.at);
        if self.sql.is(self.at + 1, "DUAL") {
            self.at += 2;
            self.frame.clause = Clause::Other;
            return;
        }
        self.push("FROM");
        self.at += 1;
        (self.frame.clause, self.frame.table_due) = (Clause::From, true);
    }

    /// `WITH a AS (…), b AS (…)`: remembers the names, which are no tables of ours.
    fn with(&mut self) -> Result<(), SqlFault> {
        self.push("WITH");
        self.at += 1;
        let mut index = self.at + usize::from(self.sql.is(self.at, "RECURSIVE"));
        while let Some(name) = self.sql.name(index) {
            self.common_tables.push(name);
            index += 1;
            if self.sql.is_symbol(index, "(") {
                index = self.sql.closing(index)? + 1;
            }
            if !self.sql.is(index, "AS") {
                break;
            }
            index = self.sql.closing(index + 1)? + 1;
            if !self.sql.is_symbol(index, ",") {
                break;
            }
            index += 1;
        }
        Ok(())
    }

    /// A name, or names with dots between: a table where one is due, else a column.
    fn names(&mut self, end: usize) -> Result<(), SqlFault> {
        if self.frame.table_due {
            return self.table();
        }
        let mut names = vec![self.sql.name(self.at).ok_or_else(|| self.sql.syntax(self.at))?];
        self.at += 1;
        let mut star = false;
        while self.at + 1 < end && self.sql.is_symbol(self.at, ".") {
            if self.sql.is_symbol(self.at + 1, "*") {
                star = true;
            } else {
                names.push(self.sql.name(self.at + 1).ok_or_else(|| self.sql.syntax(self.at))?);
            }
            self.at += 2;
        }
        if names.len() == 3 || (names.len() == 2 && star) {
            // The table's alias is enough.
            names.remove(0);
        }
        let new_row = self.new_row.as_deref().filter(|alias| !alias.is_empty());
        if names.len() == 2 && new_row == Some(&names[0]) {
            names[0] = "excluded".to_owned();
        }
        let quoted: Vec<String> = names.iter().map(|name| quote::name(name)).collect();
        let star = if star { ".*" } else { "" };
        self.push(&format!("{}{star}", quoted.join(".")));
        Ok(())
    }

    fn begin_item(&mut self, at: usize) {
        if self.frame.clause == Clause::Select && self.frame.naming {
            self.frame.item = Some(at);
        }
    }

    /// Ends a select item: gives it MySQL's name unless it has an alias.
    fn end_item(&mut self, end: usize) {
        let Some(start) = self.frame.item.take() else { return };
        if let Some(name) = item_name(&self.sql, start, end) {
            self.push(&format!("AS {}", quote::name(&name)));
        }
    }
}

fn text_name(sql: &Sql<'_>, index: usize) -> Option<String> {
    (sql.kind(index) == Some(Kind::Text)).then(|| String::from_utf8_lossy(&sql.text(index)).into_owned())
}
