//! Reading a statement's tokens: what stands here, what follows, where a bracket closes.
//!
//! `Sql` answers questions about any token by its index; `Cursor` walks, for the hand-written parsers
//! (CREATE TABLE, SET, SHOW and the like).
//!
//! Not here: finding the tokens (`token`).

use super::token::{Kind, Mode, Token, text_value};
use crate::fault::SqlFault;

/// One statement: its tokens and the bytes they point into.
#[derive(Clone, Copy)]
pub(crate) struct Sql<'a> {
    pub(crate) source: &'a [u8],
    pub(crate) tokens: &'a [Token],
    pub(crate) mode: Mode,
}

impl<'a> Sql<'a> {
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(crate) fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// The bytes of a token; none past the end.
    pub(crate) fn raw(&self, index: usize) -> &'a [u8] {
        self.tokens
            .get(index)
            .and_then(|token| self.source.get(token.start as usize..token.end as usize))
            .unwrap_or_default()
    }

    /// Is it this unquoted word, in any case?
    pub(crate) fn is(&self, index: usize, word: &str) -> bool {
        self.kind(index) == Some(Kind::Word) && self.raw(index).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(crate) fn is_any(&self, index: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(index, word))
    }

    pub(crate) fn is_symbol(&self, index: usize, symbol: &str) -> bool {
        self.kind(index) == Some(Kind::Symbol) && self.raw(index) == symbol.as_bytes()
    }

    /// The word in upper case; empty when it is none.
    pub(crate) fn upper(&self, index: usize) -> String {
        match self.kind(index) {
            Some(Kind::Word) => String::from_utf8_lossy(self.raw(index)).to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    /// The name that a word or quoted name stands for.
    pub(crate) fn name(&self, index: usize) -> Option<String> {
        let raw = self.raw(index);
        match self.kind(index)? {
            Kind::Word => Some(String::from_utf8_lossy(raw).into_owned()),
            Kind::Quoted => {
                let quote = char::from(*raw.first()?);
                let inner = String::from_utf8_lossy(raw.get(1..raw.len() - 1)?).into_owned();
                Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
            }
            _ => None,
        }
    }

    /// The bytes that a string literal stands for.
    pub(crate) fn text(&self, index: usize) -> Vec<u8> {
        text_value(self.raw(index), self.mode)
    }

    /// The source from token `start` up to token `end`, as written.
    pub(crate) fn span(&self, start: usize, end: usize) -> &'a [u8] {
        let (Some(first), Some(last)) =
            (self.tokens.get(start), end.checked_sub(1).and_then(|n| self.tokens.get(n)))
        else {
            return &[];
        };
        self.source.get(first.start as usize..last.end as usize).unwrap_or_default()
    }

    /// The index of the bracket that closes the one at `open`.
    /// Errors: 1064 when there is none.
    pub(crate) fn closing(&self, open: usize) -> Result<usize, SqlFault> {
        let mut depth = 0_usize;
        for index in open..self.len() {
            if self.kind(index) != Some(Kind::Symbol) {
                continue;
            }
            match self.raw(index) {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Ok(index);
            }
        }
        Err(self.syntax(open))
    }

    /// The ranges between the commas of `start..end` that are in no bracket.
    pub(crate) fn split(&self, start: usize, end: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut from, mut depth) = (Vec::new(), start, 0_usize);
        for index in start..end {
            if self.kind(index) != Some(Kind::Symbol) {
                continue;
            }
            match self.raw(index) {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                b"," if depth == 0 => {
                    parts.push((from, index));
                    from = index + 1;
                }
                _ => {}
            }
        }
        if from < end || !parts.is_empty() {
            parts.push((from, end));
        }
        parts
    }

    /// The first of `words` in `start..end` that is in no bracket.
    pub(crate) fn find(&self, start: usize, end: usize, words: &[&str]) -> Option<usize> {
        let mut depth = 0_usize;
        for index in start..end {
            match self.kind(index) {
                Some(Kind::Symbol) if self.raw(index) == b"(" => depth += 1,
                Some(Kind::Symbol) if self.raw(index) == b")" => depth = depth.saturating_sub(1),
                Some(Kind::Word) if depth == 0 && self.is_any(index, words) => return Some(index),
                _ => {}
            }
        }
        None
    }

    pub(crate) fn syntax(&self, index: usize) -> SqlFault {
        let at = self.tokens.get(index).map_or(self.source.len(), |token| token.start as usize);
        SqlFault::syntax(self.source, at)
    }

    /// The statements between the semicolons; empty ones are left out.
    pub(crate) fn statements(self) -> impl Iterator<Item = Sql<'a>> {
        self.tokens
            .split(move |token| {
                token.kind == Kind::Symbol && self.source.get(token.start as usize) == Some(&b';')
            })
            .filter(|tokens| !tokens.is_empty())
            .map(move |tokens| Sql { tokens, ..self })
    }
}

/// A place in a statement that moves forward.
pub(crate) struct Cursor<'a> {
    pub(crate) sql: Sql<'a>,
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(sql: Sql<'a>, at: usize) -> Self {
        Self { sql, at }
    }

    pub(crate) fn done(&self) -> bool {
        self.at >= self.sql.len()
    }

    /// Is this word here? Then passes it.
    pub(crate) fn word(&mut self, word: &str) -> bool {
        let here = self.sql.is(self.at, word);
        self.at += usize::from(here);
        here
    }

    /// Are all these words here, in this order? Then passes them.
    pub(crate) fn words(&mut self, words: &[&str]) -> bool {
        let here = words.iter().enumerate().all(|(n, word)| self.sql.is(self.at + n, word));
        self.at += if here { words.len() } else { 0 };
        here
    }

    pub(crate) fn any(&mut self, words: &[&str]) -> bool {
        let here = self.sql.is_any(self.at, words);
        self.at += usize::from(here);
        here
    }

    pub(crate) fn symbol(&mut self, symbol: &str) -> bool {
        let here = self.sql.is_symbol(self.at, symbol);
        self.at += usize::from(here);
        here
    }

    pub(crate) fn need_word(&mut self, word: &str) -> Result<(), SqlFault> {
        if self.word(word) { Ok(()) } else { Err(self.syntax()) }
    }

    pub(crate) fn need_symbol(&mut self, symbol: &str) -> Result<(), SqlFault> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.syntax()) }
    }

    /// A name, which must be here.
    pub(crate) fn name(&mut self) -> Result<String, SqlFault> {
        let name = self.sql.name(self.at).ok_or_else(|| self.syntax())?;
        self.at += 1;
        Ok(name)
    }

    /// A string literal, which must be here, as text.
    pub(crate) fn text(&mut self) -> Result<String, SqlFault> {
        if self.sql.kind(self.at) != Some(Kind::Text) {
            return Err(self.syntax());
        }
        self.at += 1;
        Ok(String::from_utf8_lossy(&self.sql.text(self.at - 1)).into_owned())
    }

    /// An unsigned number, which must be here.
    pub(crate) fn number(&mut self) -> Result<u64, SqlFault> {
        let number = std::str::from_utf8(self.sql.raw(self.at)).ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.syntax())?;
        self.at += 1;
        Ok(number)
    }

    /// `name` or `schema.name`.
    pub(crate) fn table(&mut self) -> Result<(Option<String>, String), SqlFault> {
        let first = self.name()?;
        if self.symbol(".") { Ok((Some(first), self.name()?)) } else { Ok((None, first)) }
    }

    /// Passes a whole bracket, contents included.
    pub(crate) fn skip_bracket(&mut self) -> Result<(), SqlFault> {
        self.at = self.sql.closing(self.at)? + 1;
        Ok(())
    }

    /// `IF EXISTS`
    pub(crate) fn if_exists(&mut self) -> bool {
        self.words(&["IF", "EXISTS"])
    }

    /// `IF NOT EXISTS`
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.words(&["IF", "NOT", "EXISTS"])
    }

    pub(crate) fn syntax(&self) -> SqlFault {
        self.sql.syntax(self.at)
    }
}
