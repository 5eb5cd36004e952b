//! Which rows of the session's status a statement asks for, as far as its text tells.
//!
//! ```text
//! condition   and [OR and]...     and   not [AND not]...     not   [NOT] test | ( condition )
//! test        column = 'x' | column <> 'x' | column [NOT] LIKE 'x' | column [NOT] IN ('x', ...)
//! ```
//! Names and values compare as ASCII without case. Invariants: whatever else stands there is `None`, never a guess;
//! nesting is limited.
//! Not here: where a condition stands in a statement (`statement`).

use super::token::Token;

/// A condition on a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    /// Every row.
    All,
    /// A column against one text or several.
    Test { column: Column, texts: Vec<Vec<u8>>, is_pattern: bool },
    /// Not this.
    Not(Box<Self>),
    /// All of these.
    And(Vec<Self>),
    /// One of these.
    Or(Vec<Self>),
}

/// A column of the session's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// `Variable_name`.
    Name,
    /// `Value`, `VARIABLE_VALUE`.
    Value,
}

impl Column {
    /// By its name in any of the statements.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"variable_name") {
            Some(Self::Name)
        } else if name.eq_ignore_ascii_case(b"value") || name.eq_ignore_ascii_case(b"variable_value") {
            Some(Self::Value)
        } else {
            None
        }
    }
}

impl Filter {
    /// `LIKE 'pattern'` on the name.
    pub(super) fn like(pattern: &[u8]) -> Self {
        Self::Test { column: Column::Name, texts: vec![pattern.to_vec()], is_pattern: true }
    }

    /// A condition, and the tokens behind it; `None` where it is anything but the above.
    pub(super) fn parse<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(Self, &'t [Token<'a>])> {
        disjunction(tokens, DEPTH_MAX)
    }

    /// Whether a row is asked for.
    pub(super) fn admits(&self, name: &[u8], value: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Test { column, texts, is_pattern } => {
                let actual = if *column == Column::Name { name } else { value };
                texts.iter().any(|text| {
                    if *is_pattern {
                        is_like(actual, text)
                    } else {
                        actual.eq_ignore_ascii_case(&unescaped(text))
                    }
                })
            }
            Self::Not(inner) => !inner.admits(name, value),
            Self::And(all) => all.iter().all(|one| one.admits(name, value)),
            Self::Or(any) => any.iter().any(|one| one.admits(name, value)),
        }
    }

    /// Whether it asks for no other names than these.
    pub(super) fn admits_only(&self, names: &[&[u8]]) -> bool {
        match self {
            Self::Test { column: Column::Name, texts, is_pattern } => texts.iter().all(|text| {
                let is_open = *is_pattern && has_wildcard(text);
                !is_open && names.iter().any(|name| name.eq_ignore_ascii_case(&unescaped(text)))
            }),
            Self::All | Self::Test { .. } | Self::Not(_) => false,
            Self::And(all) => all.iter().any(|one| one.admits_only(names)),
            Self::Or(any) => any.iter().all(|one| one.admits_only(names)),
        }
    }
}

type Parsed<'t, 'a> = Option<(Filter, &'t [Token<'a>])>;

fn disjunction<'t, 'a>(tokens: &'t [Token<'a>], depth: usize) -> Parsed<'t, 'a> {
    series(tokens, "or", Filter::Or, |tokens| {
        series(tokens, "and", Filter::And, |tokens| negation(tokens, depth))
    })
}

fn series<'t, 'a>(
    tokens: &'t [Token<'a>],
    word: &str,
    joined: fn(Vec<Filter>) -> Filter,
    one: impl Fn(&'t [Token<'a>]) -> Parsed<'t, 'a>,
) -> Parsed<'t, 'a> {
    let (first, mut rest) = one(tokens)?;
    let mut all = vec![first];
    while let [next, behind @ ..] = rest
        && next.is(word)
    {
        let (further, behind) = one(behind)?;
        all.push(further);
        rest = behind;
    }
    let filter = if all.len() == 1 { all.pop()? } else { joined(all) };
    Some((filter, rest))
}

fn negation<'t, 'a>(tokens: &'t [Token<'a>], depth: usize) -> Parsed<'t, 'a> {
    let depth = depth.checked_sub(1)?;
    match tokens {
        [not, rest @ ..] if not.is("not") => {
            let (inner, rest) = negation(rest, depth)?;
            Some((Filter::Not(Box::new(inner)), rest))
        }
        [Token::Sign(b'('), rest @ ..] => {
            let (inner, rest) = disjunction(rest, depth)?;
            match rest {
                [Token::Sign(b')'), rest @ ..] => Some((inner, rest)),
                _ => None,
            }
        }
        _ => test(tokens),
    }
}

fn test<'t, 'a>(tokens: &'t [Token<'a>]) -> Parsed<'t, 'a> {
    let (column, rest) = column(tokens)?;
    let (negated, rest) = match rest {
        [not, rest @ ..] if not.is("not") => (true, rest),
        _ => (false, rest),
    };
    let (negated, texts, is_pattern, rest) = match rest {
        [Token::Sign(b'='), Token::Text(text), rest @ ..] if !negated => {
            (false, vec![text.to_vec()], false, rest)
        }
        [Token::Sign(b'<'), Token::Sign(b'>'), Token::Text(text), rest @ ..]
        | [Token::Sign(b'!'), Token::Sign(b'='), Token::Text(text), rest @ ..]
            if !negated =>
        {
            (true, vec![text.to_vec()], false, rest)
        }
        [like, Token::Text(text), rest @ ..] if like.is("like") => (negated, vec![text.to_vec()], true, rest),
        [is_in, Token::Sign(b'('), rest @ ..] if is_in.is("in") => {
            let (texts, rest) = list(rest)?;
            (negated, texts, false, rest)
        }
        _ => return None,
    };
    let test = Filter::Test { column, texts, is_pattern };
    // What goes on behind a text (COLLATE, ESCAPE, an operator) is refused by whoever wants the end here.
    Some((if negated { Filter::Not(Box::new(test)) } else { test }, rest))
}

/// `name`, `alias.name` or `database.table.name`.
fn column<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(Column, &'t [Token<'a>])> {
    let mut rest = tokens;
    loop {
        match rest {
            [Token::Word(_) | Token::Name(_), Token::Sign(b'.'), behind @ ..] => rest = behind,
            [Token::Word(name), behind @ ..] => return Some((Column::named(name)?, behind)),
            [Token::Name(name), behind @ ..] => return Some((Column::named(name)?, behind)),
            _ => return None,
        }
    }
}

fn list<'t, 'a>(mut tokens: &'t [Token<'a>]) -> Option<(Vec<Vec<u8>>, &'t [Token<'a>])> {
    let mut texts = Vec::new();
    loop {
        match tokens {
            [Token::Text(text), Token::Sign(b','), rest @ ..] => {
                texts.push(text.to_vec());
                tokens = rest;
            }
            [Token::Text(text), Token::Sign(b')'), rest @ ..] => {
                texts.push(text.to_vec());
                return Some((texts, rest));
            }
            _ => return None,
        }
    }
}

/// SQL's LIKE: `%` is any run, `_` any byte, `\` makes the next literal.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let same = |a: &u8, b: &u8| a.eq_ignore_ascii_case(b);
    let (mut at, mut pattern_at) = (0, 0);
    // Where the last `%` stood, and what it has swallowed: there is never a need to go back further.
    let mut resume: Option<(usize, usize)> = None;
    loop {
        let wanted = pattern.get(pattern_at..).unwrap_or_default();
        let step = match (wanted, text.get(at)) {
            ([], None) => return true,
            ([b'%', ..], _) => {
                resume = Some((pattern_at + 1, at));
                pattern_at += 1;
                continue;
            }
            ([b'_', ..], Some(_)) => Some(1),
            ([b'\\', literal, ..], Some(byte)) if same(literal, byte) => Some(2),
            ([literal, ..], Some(byte)) if *literal != b'\\' && same(literal, byte) => Some(1),
            _ => None,
        };
        match (step, resume) {
            (Some(len), _) => {
                pattern_at += len;
                at += 1;
            }
            (None, Some((behind, swallowed))) if swallowed < text.len() => {
                resume = Some((behind, swallowed + 1));
                pattern_at = behind;
                at = swallowed + 1;
            }
            _ => return false,
        }
    }
}

fn has_wildcard(pattern: &[u8]) -> bool {
    let mut escaped = false;
    pattern.iter().any(|byte| {
        let is_wild = !escaped && matches!(byte, b'%' | b'_');
        escaped = !escaped && *byte == b'\\';
        is_wild
    })
}

/// A text outside of LIKE, where `\_` stands for itself, and in MySQL both for `\_` and for `_`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && matches!(bytes.peek(), Some(b'%' | b'_')) {
            continue;
        }
        out.push(byte);
    }
    out
}

/// Deeper conditions are not read: nobody writes them by hand.
const DEPTH_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn filter(text: &str) -> Option<Filter> {
        let tokens = tokens(text.as_bytes()).unwrap();
        Filter::parse(&tokens).filter(|(_, rest)| rest.is_empty()).map(|(filter, _)| filter)
    }

    #[test]
    fn patterns_match_as_sqls_like() {
        for (text, pattern, expected) in [
            ("Compression", "compress%", true),
            ("Compression_level", "Compression", false),
            ("Compression_level", "%\\_level", true),
            ("CompressionXlevel", "%\\_level", false),
            ("Compression", "Compression_", false),
            ("Compression", "%", true),
            ("", "%", true),
            ("abcabd", "%abd", true),
            ("aXbXc", "a%b%c_", false),
        ] {
            assert_eq!(is_like(text.as_bytes(), pattern.as_bytes()), expected, "{text} like {pattern}");
        }
    }

    #[test]
    fn conditions_are_evaluated() {
        for (text, name, value, expected) in [
            ("Variable_name = 'compression'", "Compression", "ON", true),
            ("variable_name in ('a', 'Compression') and value = 'on'", "Compression", "ON", true),
            ("t.variable_name like 'c%' and not value = 'ON'", "Compression", "ON", false),
            ("`Variable_name` = 'a' or (variable_value <> 'OFF')", "Compression", "ON", true),
            ("variable_name not like '%level'", "Compression_level", "6", false),
            ("variable_name = 'Compression\\_level'", "Compression_level", "6", true),
        ] {
            assert_eq!(filter(text).unwrap().admits(name.as_bytes(), value.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn other_conditions_are_not_guessed() {
        for text in [
            "variable_name = ?",
            "lower(variable_name) = 'a'",
            "variable_name = 'a' collate utf8mb4_bin",
            "variable_name like 'a' escape 'b'",
            "other = 'a'",
            "variable_name = 'a' or 1",
            "variable_name in (select 1)",
            "variable_name rlike 'a'",
        ] {
            assert_eq!(filter(text), None, "{text}");
        }
        let deep = format!("{}variable_name = 'a'{}", "(".repeat(9_999), ")".repeat(9_999));
        assert_eq!(filter(&deep), None);
    }

    #[test]
    fn it_is_known_whether_others_are_asked_for() {
        let names: [&[u8]; 2] = [b"Compression", b"Compression_level"];
        for (text, expected) in [
            ("variable_name = 'compression'", true),
            ("variable_name in ('compression', 'uptime')", false),
            ("variable_name like 'compression\\_level'", true),
            ("variable_name like 'compression_level'", false),
            ("variable_name = 'compression' and value = 'ON'", true),
            ("variable_name = 'compression' or value = 'ON'", false),
        ] {
            assert_eq!(filter(text).unwrap().admits_only(&names), expected, "{text}");
        }
    }
}
