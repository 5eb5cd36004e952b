//! MySQL's functions with a grammar of their own: CAST, TRIM, EXTRACT, GROUP_CONCAT, DATE_ADD and so on.
//!
//! All others are called by their MySQL name in small letters; `store::functions` registers them with SQLite.
//!
//! Not here: what the functions compute.

use super::keyword;
use super::quote;
use super::rewrite::{Frame, Rewriter};
use super::token::Kind;
use crate::fault::SqlFault;

impl Rewriter<'_> {
    /// A call; `at` is at the function's name.
    pub(crate) fn function(&mut self, upper: &str) -> Result<(), SqlFault> {
        let open = self.at + 1;
        let close = self.sql.closing(open)?;
        let (start, end) = (open + 1, close);
        match upper {
            "CAST" => self.cast(start, end)?,
            "CONVERT" => self.convert(start, end)?,
            "TRIM" => self.trim(start, end)?,
            "SUBSTRING" | "SUBSTR" | "MID" if self.sql.find(start, end, &["FROM"]).is_some() => {
                self.separated("substr", start, end, &["FROM", "FOR"])?;
            }
            "POSITION" => self.separated("locate", start, end, &["IN"])?,
            "EXTRACT" => {
                self.unit_first("extract_unit", start, end, &["FROM"])?;
            }
            "TIMESTAMPDIFF" | "TIMESTAMPADD" => self.unit_then_comma(upper, start, end)?,
            "DATE_ADD" | "ADDDATE" => self.date_add("date_add", start, end)?,
            "DATE_SUB" | "SUBDATE" => self.date_add("date_sub", start, end)?,
            "GROUP_CONCAT" => self.group_concat(start, end)?,
            "VALUES" if self.new_row.is_some() => {
                let column = self.sql.name(start).ok_or_else(|| self.sql.syntax(start))?;
                self.push(&format!("excluded.{}", quote::name(&column)));
            }
            "CHAR" => {
                let end = self.sql.find(start, end, &["USING"]).unwrap_or(end);
                self.call("char", &[(start, end)])?;
            }
            _ => {
                let name = keyword::function(upper);
                self.call(&name, &[(start, end)])?;
            }
        }
        self.at = close + 1;
        Ok(())
    }

    /// `"name"(part, part, …)`
    fn call(&mut self, name: &str, parts: &[(usize, usize)]) -> Result<(), SqlFault> {
        self.push(&quote::name(name));
        self.out.push('(');
        for (n, &(start, end)) in parts.iter().enumerate() {
            if n > 0 {
                self.out.push(',');
            }
            self.range(start, end, Frame::EXPRESSION)?;
        }
        self.out.push(')');
        Ok(())
    }

    /// `f(a WORD b WORD c)` -> `f(a, b, c)`
    fn separated(&mut self, name: &str, start: usize, end: usize, words: &[&str]) -> Result<(), SqlFault> {
        let (mut parts, mut from) = (Vec::new(), start);
        while let Some(at) = self.sql.find(from, end, words) {
            parts.push((from, at));
            from = at + 1;
        }
        parts.push((from, end));
        self.call(name, &parts)
    }

    /// `f(UNIT FROM x)` -> `f('unit', x)`
    fn unit_first(&mut self, name: &str, start: usize, end: usize, words: &[&str]) -> Result<(), SqlFault> {
        let unit = quote::literal(self.sql.upper(start).as_bytes());
        let at = self.sql.find(start, end, words).ok_or_else(|| self.sql.syntax(start))?;
        self.push(&format!("{}({unit},", quote::name(name)));
        self.range(at + 1, end, Frame::EXPRESSION)?;
        self.out.push(')');
        Ok(())
    }

    /// `f(UNIT, a, b)` -> `f('unit', a, b)`
    fn unit_then_comma(&mut self, upper: &str, start: usize, end: usize) -> Result<(), SqlFault> {
        let unit = quote::literal(self.sql.upper(start).as_bytes());
        self.push(&format!("{}({unit}", quote::name(&upper.to_ascii_lowercase())));
        self.range(start + 1, end, Frame::EXPRESSION)?;
        self.out.push(')');
        Ok(())
    }

    /// `DATE_ADD(d, INTERVAL n unit)` -> `date_add(d, n, 'unit')`; without INTERVAL the unit is DAY.
    fn date_add(&mut self, name: &str, start: usize, end: usize) -> Result<(), SqlFault> {
        let parts = self.sql.split(start, end);
        let &[(from, to), (second, last)] = parts.as_slice() else { return Err(self.sql.syntax(start)) };
        let (amount, unit) = if self.sql.is(second, "INTERVAL") {
            ((second + 1, last - 1), self.sql.upper(last - 1))
        } else {
            ((second, last), "DAY".to_owned())
        };
        self.push(&quote::name(name));
        self.out.push('(');
        self.range(from, to, Frame::EXPRESSION)?;
        self.out.push(',');
        self.range(amount.0, amount.1, Frame::EXPRESSION)?;
        self.out.push_str(&format!(",{})", quote::literal(unit.as_bytes())));
        Ok(())
    }

    fn cast(&mut self, start: usize, end: usize) -> Result<(), SqlFault> {
        let at = self.sql.find(start, end, &["AS"]).ok_or_else(|| self.sql.syntax(start))?;
        self.cast_to((start, at), at + 1, end)
    }

    fn convert(&mut self, start: usize, end: usize) -> Result<(), SqlFault> {
        if let Some(at) = self.sql.find(start, end, &["USING"]) {
            // All text is UTF-8 here.
            self.push("(");
            self.range(start, at, Frame::EXPRESSION)?;
            self.out.push(')');
            return Ok(());
        }
        let parts = self.sql.split(start, end);
        let &[value, (kind, _)] = parts.as_slice() else { return Err(self.sql.syntax(start)) };
        self.cast_to(value, kind, end)
    }

    fn cast_to(&mut self, value: (usize, usize), kind: usize, end: usize) -> Result<(), SqlFault> {
        let upper = self.sql.upper(kind);
        let argument =
            |n: usize| (kind + n < end).then(|| String::from_utf8_lossy(self.sql.raw(kind + n)).into_owned());
        match upper.as_str() {
            "SIGNED" | "UNSIGNED" | "INTEGER" | "INT" | "BIGINT" | "YEAR" => {
                self.push("CAST(");
                self.range(value.0, value.1, Frame::EXPRESSION)?;
                self.out.push_str(" AS INTEGER)");
            }
            "DECIMAL" | "DEC" | "NUMERIC" => {
                let scale = if self.sql.is_symbol(kind + 3, ",") { argument(4) } else { None };
                self.push("to_decimal(");
                self.range(value.0, value.1, Frame::EXPRESSION)?;
                self.out.push_str(&format!(",{})", scale.as_deref().unwrap_or("0")));
            }
            "DOUBLE" | "FLOAT" | "REAL" => {
                self.push("CAST(");
                self.range(value.0, value.1, Frame::EXPRESSION)?;
                self.out.push_str(" AS REAL)");
            }
            "DATE" | "TIME" | "DATETIME" => {
                let name = match upper.as_str() {
                    "DATE" => "mysql_date",
                    "TIME" => "mysql_time",
                    _ => "timestamp",
                };
                self.call(name, &[value])?;
            }
            "JSON" => self.call("json", &[value])?,
            "CHAR" | "NCHAR" | "BINARY" | "VARCHAR" | "CHARACTER" => {
                let length = if self.sql.is_symbol(kind + 1, "(") { argument(2) } else { None };
                let blob = upper == "BINARY";
                self.push(if length.is_some() { "substr(CAST(" } else { "CAST(" });
                self.range(value.0, value.1, Frame::EXPRESSION)?;
                self.out.push_str(if blob { " AS BLOB)" } else { " AS TEXT)" });
                if let Some(length) = length {
                    self.out.push_str(&format!(",1,{length})"));
                }
            }
            _ => return Err(self.sql.syntax(kind)),
        }
        Ok(())
    }

    /// `TRIM([LEADING|TRAILING|BOTH] [x] FROM y)`
    fn trim(&mut self, start: usize, end: usize) -> Result<(), SqlFault> {
        let name = match self.sql.upper(start).as_str() {
            "LEADING" => "ltrim",
            "TRAILING" => "rtrim",
            _ => "trim",
        };
        let from = start + usize::from(self.sql.is_any(start, &["LEADING", "TRAILING", "BOTH"]));
        match self.sql.find(from, end, &["FROM"]) {
            Some(at) if at > from => self.call(name, &[(at + 1, end), (from, at)]),
            Some(at) => self.call(name, &[(at + 1, end)]),
            None => self.call(name, &[(from, end)]),
        }
    }

    /// `GROUP_CONCAT([DISTINCT] x [ORDER BY y] [SEPARATOR s])`
    fn group_concat(&mut self, start: usize, end: usize) -> Result<(), SqlFault> {
        let separator = self.sql.find(start, end, &["SEPARATOR"]);
        let order = self.sql.find(start, separator.unwrap_or(end), &["ORDER"]);
        let body = order.or(separator).unwrap_or(end);
        self.push("group_concat(");
        self.range(start, body, Frame::EXPRESSION)?;
        if let Some(at) = separator.filter(|&at| self.sql.kind(at + 1) == Some(Kind::Text)) {
            self.out.push(',');
            quote::push_literal(&mut self.out, &self.sql.text(at + 1));
        }
        if let Some(at) = order {
            self.range(at, separator.unwrap_or(end), Frame::EXPRESSION)?;
        }
        self.out.push(')');
        Ok(())
    }
}
