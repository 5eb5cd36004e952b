//! Words, strings and signs of a statement's text, comments left out.
//!
//! What stands in executable comments (`/*!50002 GLOBAL */`, `/*M! ... */`) counts as if it stood there bare: servers of
//! today execute nearly all of them, and old clients write `SHOW /*!50002 SESSION */ STATUS`.
//!
//! Invariants: borrows where it can; a string or comment without its end is `None`, and nothing behind it is read.
//! Not here: what statements mean (`statement`), the modes ANSI_QUOTES and NO_BACKSLASH_ESCAPES, which are never assumed.

use std::borrow::Cow;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword, a bare name or a number.
    Word(&'a [u8]),
    /// A name in backticks.
    Name(Cow<'a, [u8]>),
    /// A string in quotes.
    Text(Cow<'a, [u8]>),
    /// Any other sign.
    Sign(u8),
}

impl Token<'_> {
    /// Whether it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword.as_bytes()))
    }

    /// Whether it names this, bare or in backticks.
    pub(super) fn names(&self, name: &str) -> bool {
        matches!(self, Self::Name(it) if it.eq_ignore_ascii_case(name.as_bytes())) || self.is(name)
    }
}

/// The tokens of a text; `None` where a string or comment has no end.
pub(super) fn tokens(text: &[u8]) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = match first {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => behind,
            b'#' => behind_line(rest),
            b'-' if is_line_comment(rest) => behind_line(rest),
            b'/' if behind.starts_with(b"*!") => behind_version(behind.get(2..)?),
            b'/' if behind.starts_with(b"*M!") => behind_version(behind.get(3..)?),
            b'/' if behind.starts_with(b"*") => {
                let body = behind.get(1..)?;
                let end = body.windows(2).position(|pair| pair == b"*/")?;
                body.get(end + 2..)?
            }
            b'*' if behind.starts_with(b"/") => behind.get(1..)?,
            b'\'' | b'"' => {
                let (text, behind) = quoted(*first, behind, true)?;
                tokens.push(Token::Text(text));
                behind
            }
            b'`' => {
                let (name, behind) = quoted(*first, behind, false)?;
                tokens.push(Token::Name(name));
                behind
            }
            sign if !is_word(*sign) => {
                tokens.push(Token::Sign(*sign));
                behind
            }
            _ => {
                let len = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
                let (word, behind) = rest.split_at(len);
                tokens.push(Token::Word(word));
                behind
            }
        };
    }
    Some(tokens)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | 0x80..)
}

/// `--` begins a comment only before a space or the end.
fn is_line_comment(rest: &[u8]) -> bool {
    matches!(rest, [b'-', b'-'] | [b'-', b'-', ..=b' ', ..])
}

fn behind_line(rest: &[u8]) -> &[u8] {
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    rest.get(end..).unwrap_or_default()
}

fn behind_version(rest: &[u8]) -> &[u8] {
    let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(end..).unwrap_or_default()
}

/// What stands in quotes, and what comes behind the closing one.
fn quoted(quote: u8, text: &[u8], escapes: bool) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let mut owned: Option<Vec<u8>> = None;
    let mut position = 0;
    loop {
        let byte = *text.get(position)?;
        let next = text.get(position + 1).copied();
        let taken = match (byte, next) {
            (b'\\', Some(escaped)) if escapes => Some(escaped),
            (b'\\', None) if escapes => return None,
            (byte, Some(again)) if byte == quote && again == quote => Some(quote),
            (byte, _) if byte == quote => {
                let inside = match owned {
                    Some(owned) => Cow::Owned(owned),
                    None => Cow::Borrowed(text.get(..position)?),
                };
                return Some((inside, text.get(position + 1..)?));
            }
            _ => None,
        };
        match taken {
            Some(taken) => {
                let owned = owned.get_or_insert_with(|| text.get(..position).unwrap_or_default().to_vec());
                if byte == b'\\' && matches!(taken, b'%' | b'_') {
                    // Kept as it is: for LIKE to find.
                    owned.push(b'\\');
                }
                owned.push(taken);
                position += 2;
            }
            None => {
                if let Some(owned) = &mut owned {
                    owned.push(byte);
                }
                position += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_and_executable_ones_are_read() {
        let of = |text: &'static str| tokens(text.as_bytes()).unwrap();
        let plain = of("show session status");
        for text in [
            "show /*!50002 session */ status",
            "show/*!session*/status",
            "show /* 'a */ session # b\n -- c\n status -- ",
            "show /*M!100 session */ status/**/",
        ] {
            assert_eq!(of(text), plain, "{text}");
        }
        assert_eq!(of("a--1").len(), 4);
    }

    #[test]
    fn strings_are_unescaped_but_for_what_like_reads() {
        let text = |text: &'static str| match tokens(text.as_bytes()).unwrap().as_slice() {
            [Token::Text(text) | Token::Name(text)] => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text("'it''s'"), "it's");
        assert_eq!(text("\"a\\\"b\""), "a\"b");
        assert_eq!(text("'Compression\\_%'"), "Compression\\_%");
        assert_eq!(text("`a``b\\`"), "a`b\\");
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        for text in ["'a", "\"a\\\"", "`a", "/* a", "'a\\"] {
            assert_eq!(tokens(text.as_bytes()), None, "{text}");
        }
    }
}
