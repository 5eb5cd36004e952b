//! Literals, parameters and variables.
//!
//! Invariants: a number that SQLite would make a float of, and so change, stays the digits it is.
//!
//! Not here: where a literal may stand (`rewrite`).

use super::{Clause, Rewriter};
use crate::sql::quote;
use crate::sql::token::Kind;

impl Rewriter<'_> {
    /// A literal, parameter or variable.
    pub(crate) fn literal(&mut self) {
        let raw = self.sql.raw(self.at);
        self.out.push(' ');
        match self.sql.kind(self.at) {
            Some(Kind::Text) => {
                let mut value = self.sql.text(self.at);
                // 'a' 'b' is one literal.
                while self.sql.kind(self.at + 1) == Some(Kind::Text) {
                    self.at += 1;
                    value.extend(self.sql.text(self.at));
                }
                quote::push_literal(&mut self.out, &value);
            }
            Some(Kind::Number) => self.number(raw),
            Some(Kind::Hex) => {
                quote::push_literal(&mut self.out, &hex_value(raw));
            }
            Some(Kind::Bits) => {
                let bits = raw.iter().skip(1).filter(|byte| matches!(byte, b'0' | b'1'));
                let value = bits.fold(0_i64, |n, bit| (n << 1) | i64::from(bit - b'0'));
                self.out.push_str(&value.to_string());
            }
            Some(Kind::UserVariable) => {
                let name = variable_name(raw.get(1..).unwrap_or_default());
                self.out.push_str(&format!("user_variable({})", quote::literal(name.as_bytes())));
            }
            Some(Kind::SystemVariable) => {
                let name = variable_name(raw.get(2..).unwrap_or_default());
                self.out.push_str(&format!("system_variable({})", quote::literal(name.as_bytes())));
            }
            _ => self.out.push_str(&String::from_utf8_lossy(raw)),
        }
        self.at += 1;
    }

    fn number(&mut self, raw: &[u8]) {
        let text = String::from_utf8_lossy(raw);
        let whole = text.bytes().all(|byte| byte.is_ascii_digit());
        let smallest = *text == *"9223372036854775808" && self.at > 0 && self.sql.is_symbol(self.at - 1, "-");
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let exact = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if !whole && exact && digits > FLOAT_DIGITS {
            // A float would lose digits that a decimal column keeps.
            self.out.push_str(&quote::literal(raw));
        } else if !whole || smallest || text.parse::<i64>().is_ok() {
            self.out.push_str(&text);
        } else if self.frame.clause == Clause::Other && text.parse::<u64>().is_ok() && self.after_limit() {
            // "All rows" in MySQL is 18446744073709551615.
            self.out.push_str("-1");
        } else {
            // SQLite would make a float of it; columns for such numbers hold digits.
            self.out.push_str(&quote::literal(raw));
        }
    }

    fn after_limit(&self) -> bool {
        (self.at.saturating_sub(3)..self.at).any(|index| self.sql.is_any(index, &["LIMIT"]))
    }
}

/// The bytes of `0x41` or `x'41'`.
fn hex_value(raw: &[u8]) -> Vec<u8> {
    let digits = raw.iter().skip(2).filter_map(|&byte| char::from(byte).to_digit(16));
    let mut digits: Vec<u8> = digits.map(|digit| digit as u8).collect();
    if digits.len() % 2 == 1 {
        digits.insert(0, 0);
    }
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A variable's name without its quotes.
pub(crate) fn variable_name(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw).to_ascii_lowercase();
    text.trim_matches(['`', '\'', '"']).to_owned()
}

/// Decimal digits that a double holds for certain.
const FLOAT_DIGITS: usize = 15;
