//! Tokens of MySQL's SQL: where each word, literal and symbol of a command begins and ends.
//!
//! A command is bytes, not text: a dump carries binary strings unescaped. So tokens are ranges of the
//! source, and only a literal that is needed is ever decoded. Comments vanish, except executable ones
//! (`/*! … */`, `/*!80400 … */`), whose content counts when their version is not newer than ours.
//!
//! Invariants: every range lies in the source and ends after it starts; nothing is copied.
//!
//! Not here: what the words mean (`rewrite`, `plan`).

use crate::fault::SqlFault;

/// The version that executable comments are compared with: 8.4.0, the one the greeting tells.
const VERSION_NUMBER: u32 = 80_400;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An unquoted word: keyword, name or function.
    Word,
    /// A name in backticks (or double quotes under `ANSI_QUOTES`).
    Quoted,
    /// A string literal, quotes included.
    Text,
    /// A decimal number.
    Number,
    /// `0x41` or `x'41'`.
    Hex,
    /// `0b01` or `b'01'`.
    Bits,
    /// `?`
    Param,
    /// `@name`
    UserVariable,
    /// `@@name`, `@@session.name`
    SystemVariable,
    /// One of the operators, or a bracket.
    Symbol,
}

/// One token: its kind and its range in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The two SQL modes that change where tokens end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    pub(crate) ansi_quotes: bool,
    pub(crate) no_backslash_escapes: bool,
}

/// Splits `source` into tokens.
/// Errors: 1064 for a literal or comment without end.
pub(crate) fn tokens(source: &[u8], mode: Mode) -> Result<Vec<Token>, SqlFault> {
    let mut lexer = Lexer { source, at: 0, mode, executable: false, tokens: Vec::with_capacity(32) };
    while lexer.skip_blank()? {
        lexer.token()?;
    }
    Ok(lexer.tokens)
}

/// The bytes that a string literal stands for, escapes resolved.
pub(crate) fn text_value(raw: &[u8], mode: Mode) -> Vec<u8> {
    let (Some(&quote), true) = (raw.first(), raw.len() >= 2) else { return Vec::new() };
    let inner = raw.get(1..raw.len() - 1).unwrap_or_default();
    let mut value = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            bytes.next();
            value.push(quote);
        } else if byte == b'\\' && !mode.no_backslash_escapes {
            match bytes.next() {
                Some(b'0') => value.push(0),
                Some(b'b') => value.push(8),
                Some(b'n') => value.push(b'\n'),
                Some(b'r') => value.push(b'\r'),
                Some(b't') => value.push(b'\t'),
                Some(b'Z') => value.push(26),
                // LIKE patterns keep these two escapes.
                Some(wild @ (b'%' | b'_')) => value.extend([b'\\', wild]),
                Some(other) => value.push(other),
                None => {}
            }
        } else {
            value.push(byte);
        }
    }
    value
}

/// Can `byte` be in an unquoted name? Bytes of multi-byte characters can.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    mode: Mode,
    /// Inside `/*! … */`: a `*/` ends it.
    executable: bool,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips blanks and comments. Is there a token?
    fn skip_blank(&mut self) -> Result<bool, SqlFault> {
        while self.at < self.source.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                // A NUL at the end is what some clients send after the text.
                0 if self.at + 1 == self.source.len() => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && (self.peek(2) <= b' ') => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.comment()?,
                b'*' if self.executable && self.peek(1) == b'/' => {
                    self.executable = false;
                    self.at += 2;
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn skip_line(&mut self) {
        let rest = self.source.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |n| n + 1);
    }

    /// At `/*`: skips a comment, or enters an executable one.
    fn comment(&mut self) -> Result<(), SqlFault> {
        if self.peek(2) == b'!' {
            let rest = self.source.get(self.at + 3..).unwrap_or_default();
            let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
            let digits = if digits >= 5 { digits } else { 0 };
            let version = rest.iter().take(digits).fold(0, |n, byte| n * 10 + u32::from(byte - b'0'));
            if version <= VERSION_NUMBER {
                self.at += 3 + digits;
                self.executable = true;
                return Ok(());
            }
        }
        let rest = self.source.get(self.at + 2..).unwrap_or_default();
        match rest.windows(2).position(|pair| pair == b"*/") {
            Some(n) => self.at += 2 + n + 2,
            None => return Err(SqlFault::syntax(self.source, self.at)),
        }
        Ok(())
    }

    fn token(&mut self) -> Result<(), SqlFault> {
        let start = self.at;
        let kind = match self.peek(0) {
            b'`' => self.quoted(b'`', Kind::Quoted)?,
            b'"' if self.mode.ansi_quotes => self.quoted(b'"', Kind::Quoted)?,
            quote @ (b'\'' | b'"') => self.quoted(quote, Kind::Text)?,
            b'x' | b'X' if self.peek(1) == b'\'' => self.prefixed(Kind::Hex)?,
            b'b' | b'B' if self.peek(1) == b'\'' => self.prefixed(Kind::Bits)?,
            b'n' | b'N' if self.peek(1) == b'\'' => {
                // N'text' is text in the national character set, which is ours anyway.
                self.at += 1;
                return self.token();
            }
            byte if byte.is_ascii_digit() || (byte == b'.' && self.starts_fraction()) => self.number(),
            byte if is_word(byte) => self.word(),
            b'@' => self.variable()?,
            b'?' => {
                self.at += 1;
                Kind::Param
            }
            _ => self.symbol(),
        };
        self.push(kind, start);
        Ok(())
    }

    fn push(&mut self, kind: Kind, start: usize) {
        // A command is at most 64 MiB (`max_allowed_packet`), so its offsets fit.
        let (start, end) = (start as u32, self.at as u32);
        self.tokens.push(Token { kind, start, end });
    }

    /// Is this `.` the beginning of a number such as `.5`, not the dot of `t.5`?
    fn starts_fraction(&self) -> bool {
        let after_name = self.tokens.last().is_some_and(|last| {
            matches!(last.kind, Kind::Word | Kind::Quoted) && last.end as usize == self.at
        });
        self.peek(1).is_ascii_digit() && !after_name
    }

    fn quoted(&mut self, quote: u8, kind: Kind) -> Result<Kind, SqlFault> {
        let start = self.at;
        let escapes = kind == Kind::Text && !self.mode.no_backslash_escapes;
        self.at += 1;
        loop {
            match self.source.get(self.at) {
                None => return Err(SqlFault::syntax(self.source, start)),
                Some(b'\\') if escapes => self.at += 2,
                Some(&byte) if byte == quote && self.peek(1) == quote => self.at += 2,
                Some(&byte) if byte == quote => break,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(kind)
    }

    fn prefixed(&mut self, kind: Kind) -> Result<Kind, SqlFault> {
        self.at += 1;
        self.quoted(b'\'', kind)
    }

    fn number(&mut self) -> Kind {
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') && self.peek(2).is_ascii_hexdigit() {
            self.at += 2;
            self.skip_while(|byte| byte.is_ascii_hexdigit());
            return Kind::Hex;
        }
        if self.peek(0) == b'0' && self.peek(1) == b'b' && matches!(self.peek(2), b'0' | b'1') {
            self.at += 2;
            self.skip_while(|byte| matches!(byte, b'0' | b'1'));
            return Kind::Bits;
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek(0) == b'.' {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.skip_while(|byte| byte.is_ascii_digit());
            }
        }
        Kind::Number
    }

    fn word(&mut self) -> Kind {
        self.skip_while(is_word);
        Kind::Word
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        let rest = self.source.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|&&byte| accept(byte)).count();
    }

    /// `@a`, `@'a'`, `@@a`, `@@session.a`
    fn variable(&mut self) -> Result<Kind, SqlFault> {
        let system = self.peek(1) == b'@';
        self.at += if system { 2 } else { 1 };
        match self.peek(0) {
            quote @ (b'`' | b'\'' | b'"') => {
                self.quoted(quote, Kind::Text)?;
            }
            _ => self.skip_while(|byte| is_word(byte) || byte == b'.'),
        }
        Ok(if system { Kind::SystemVariable } else { Kind::UserVariable })
    }

    fn symbol(&mut self) -> Kind {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let long =
            [&b"<=>"[..], b"->>", b"<<", b">>", b"<=", b">=", b"<>", b"!=", b"||", b"&&", b":=", b"->"];
        self.at += long.iter().find(|symbol| rest.starts_with(symbol)).map_or(1, |symbol| symbol.len());
        Kind::Symbol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found: Vec<String> = tokens(source.as_bytes(), Mode::default())
            .unwrap()
            .iter()
            .map(|t| source[t.start as usize..t.end as usize].to_owned())
            .collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn comments_vanish_and_executable_ones_count() {
        check("select /* a */ 1 -- b\n, 2 # c\n", &["select", "1", ",", "2"]);
        check("/*!40101 SET a=1 */;", &["SET", "a", "=", "1", ";"]);
        check("t ) /*! ENGINE = innodb */ ", &["t", ")", "ENGINE", "=", "innodb"]);
        check("/*!99999 SET a=1 */ x /*M!100100 y */ /*+ hint */", &["x"]);
        check("a--1", &["a", "-", "-", "1"]);
    }

    #[test]
    fn literals_end_where_their_quotes_do() {
        check(r#"'it''s' "a\"b" `x``y`"#, &["'it''s'", r#""a\"b""#, "`x``y`"]);
        check(
            "x'41' 0x41 b'01' 1.5e-3 .5 t.5 @a @@session.b @'c d'",
            &["x'41'", "0x41", "b'01'", "1.5e-3", ".5", "t", ".", "5", "@a", "@@session.b", "@'c d'"],
        );
    }

    #[test]
    fn escapes_are_resolved() {
        let value = |raw: &str| String::from_utf8(text_value(raw.as_bytes(), Mode::default())).unwrap();
        assert_eq!(value(r"'a\'b\n\\''c'"), "a'b\n\\'c");
        assert_eq!(value(r"'\%\_\x'"), r"\%\_x");
        assert_eq!(text_value(br"'a\0b'", Mode::default()), b"a\0b");
    }

    #[test]
    fn a_literal_without_end_is_a_syntax_error() {
        assert!(tokens(b"select 'abc", Mode::default()).is_err());
        assert!(tokens(b"select 'abc\\", Mode::default()).is_err());
        assert!(tokens(b"select /* abc", Mode::default()).is_err());
    }
}
