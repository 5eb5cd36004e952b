//! Cuts a text into statements.
//!
//! Invariants: a ';' in quotes or in a comment ends nothing; neither is a word in them one of the statement's.
//!
//! Not here: what statements may do (`statements`).

use anyhow::bail;

use super::{Origin, Statement};

/// The text, cut.
///
/// # Errors
/// A quote or comment without an end.
pub(super) fn split(text: &str) -> anyhow::Result<Vec<Statement>> {
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
        let (mut has_quoted_name, mut has_executable_comment) = (false, false);
        let mut start: Option<(usize, usize)> = None;
        while let Some(c) = self.rest().chars().next() {
            let (from, line) = (self.at, self.line);
            match c {
                ';' => {
                    self.at += 1;
                    if let Some((from_at, line)) = start {
                        let sql = self.text.get(from_at..from).unwrap_or_default().trim_end().to_owned();
                        let origin = Origin::QueryFile;
                        return Ok(Some(Statement {
                            line,
                            origin,
                            sql,
                            words,
                            has_quoted_name,
                            has_executable_comment,
                        }));
                    }
                    continue;
                }
                '\'' | '"' | '`' => {
                    // With ANSI_QUOTES double quotes are around names.
                    has_quoted_name |= c != '\'';
                    self.skip_quoted(c)?;
                }
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
            let origin = Origin::QueryFile;
            Statement { line, origin, sql, words, has_quoted_name, has_executable_comment }
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

/// Beyond ASCII everything may be part of a name, whatever it is.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() || matches!(c, '_' | '$' | '@')
}
