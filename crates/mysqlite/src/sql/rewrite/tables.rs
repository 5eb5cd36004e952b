//! Tables of a FROM list: their names in the file, aliases and hints.
//!
//! Invariants: a table that does not exist is an error here, before SQLite.
//!
//! Not here: columns (`rewrite`).

use super::Rewriter;
use crate::fault::SqlFault;
use crate::schema::catalog::is_built_in;
use crate::sql::token::Kind;
use crate::sql::{keyword, quote};

impl Rewriter<'_> {
    /// A table in a FROM list, with its alias and hints.
    pub(super) fn table(&mut self) -> Result<(), SqlFault> {
        self.frame.table_due = false;
        let first = self.sql.name(self.at).ok_or_else(|| self.sql.syntax(self.at))?;
        self.at += 1;
        let (schema, name) = if self.sql.is_symbol(self.at, ".") {
            let name = self.sql.name(self.at + 1).ok_or_else(|| self.sql.syntax(self.at + 1))?;
            self.at += 2;
            (Some(first), name)
        } else {
            (None, first)
        };
        if schema.is_none() && self.common_tables.contains(&name) {
            self.push(&quote::name(&name));
        } else {
            let table = self.table_name(schema, &name)?;
            self.push(&table);
            let alias_follows = self.alias_follows();
            if !alias_follows {
                self.push(&format!("AS {}", quote::name(&name)));
            }
        }
        if self.sql.is(self.at, "AS") {
            self.at += 1;
        }
        if self.alias_follows() || self.after_as() {
            let alias = self.sql.name(self.at).ok_or_else(|| self.sql.syntax(self.at))?;
            self.push(&format!("AS {}", quote::name(&alias)));
            self.at += 1;
        }
        self.hints()
    }

    fn alias_follows(&self) -> bool {
        match self.sql.kind(self.at) {
            Some(Kind::Quoted) => true,
            Some(Kind::Word) => self.sql.is(self.at, "AS") || keyword::may_be_alias(&self.sql.upper(self.at)),
            _ => false,
        }
    }

    /// `FORCE INDEX (k)` and its kin: SQLite chooses by itself.
    fn hints(&mut self) -> Result<(), SqlFault> {
        while self.sql.is_any(self.at, &["USE", "FORCE", "IGNORE"])
            && self.sql.is_any(self.at + 1, &["INDEX", "KEY"])
        {
            let open = (self.at..self.sql.len()).find(|&index| self.sql.is_symbol(index, "("));
            self.at = self.sql.closing(open.ok_or_else(|| self.sql.syntax(self.at))?)? + 1;
            self.at += usize::from(
                self.sql.is_symbol(self.at, ",") && self.sql.is_any(self.at + 1, &["USE", "FORCE", "IGNORE"]),
            );
        }
        Ok(())
    }

    /// The name in SQLite of a table that a statement names.
    /// Errors: 1046, 1049, 1146.
    pub(crate) fn table_name(&mut self, schema: Option<String>, name: &str) -> Result<String, SqlFault> {
        let schema = match (&schema, self.scope.schema) {
            (Some(schema), _) => schema.as_str(),
            (None, Some(schema)) => schema,
            (None, None) => return Err(SqlFault::NoDatabase),
        };
        if is_built_in(schema) {
            self.built_in = true;
            return Ok(format!(
                "{}.{}",
                schema.to_ascii_lowercase(),
                quote::name(&name.to_ascii_lowercase())
            ));
        }
        Ok(self.scope.catalog.table(schema, name)?.sqlite_name())
    }
}
