//! MySQL's functions of numbers for SQLite, the collation `exact`, and the checksum of a table.
//!
//! Not here: texts (`functions`), dates and times (`time_functions`).

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::functions::{PURE, VOLATILE, bytes, float, integer, string};
use crate::format;

#[expect(clippy::too_many_lines, reason = "a flat list of functions")]
pub(super) fn register(sqlite: &Connection) -> Result<()> {
    sqlite.create_collation("exact", compare_digits)?;
    sqlite.create_aggregate_function("table_checksum", -1, PURE, Checksum)?;
    for (name, round) in
        [("floor", f64::floor as fn(f64) -> f64), ("ceil", f64::ceil), ("ceiling", f64::ceil)]
    {
        sqlite.create_scalar_function(name, 1, PURE, move |context| {
            Ok(match context.get_raw(0) {
                ValueRef::Integer(number) => Value::Integer(number),
                _ => whole(float(context, 0).map(round)),
            })
        })?;
    }
    sqlite.create_scalar_function("truncate", 2, PURE, |context| {
        let (Some(number), Some(digits)) = (float(context, 0), integer(context, 1)) else { return Ok(None) };
        let factor = 10_f64.powi(i32::try_from(digits).unwrap_or(0));
        Ok(Some((number * factor).trunc() / factor))
    })?;
    sqlite.create_scalar_function("mod", 2, PURE, |context| {
        Ok(match (context.get_raw(0), context.get_raw(1)) {
            (ValueRef::Integer(a), ValueRef::Integer(b)) => {
                a.checked_rem(b).map_or(Value::Null, Value::Integer)
            }
            _ => match (float(context, 0), float(context, 1)) {
                (Some(a), Some(b)) if b != 0.0 => Value::Real(a % b),
                _ => Value::Null,
            },
        })
    })?;
    sqlite.create_scalar_function("log", 1, PURE, |context| {
        Ok(float(context, 0).filter(|&number| number > 0.0).map(f64::ln))
    })?;
    sqlite.create_scalar_function("rand", -1, VOLATILE, |context| Ok(random(seed(context))))?;
    sqlite.create_scalar_function("to_decimal", 2, PURE, |context| {
        let (Some(digits), Some(scale)) = (bytes(context, 0), integer(context, 1)) else { return Ok(None) };
        let mut out = Vec::new();
        format::decimal(&mut out, &digits, u8::try_from(scale).unwrap_or(0));
        Ok(Some(String::from_utf8_lossy(&out).into_owned()))
    })?;
    sqlite.create_scalar_function("format", 2, PURE, |context| {
        let (Some(number), Some(digits)) = (float(context, 0), integer(context, 1)) else { return Ok(None) };
        Ok(Some(with_commas(&format!("{number:.*}", usize::try_from(digits).unwrap_or(0).min(30)))))
    })?;
    sqlite.create_scalar_function("conv", 3, PURE, |context| {
        let (Some(text), Some(from), Some(to)) =
            (string(context, 0), integer(context, 1), integer(context, 2))
        else {
            return Ok(None);
        };
        let (Ok(from), Ok(to)) = (u32::try_from(from), u64::try_from(to)) else { return Ok(None) };
        if !(2..=36).contains(&from) || !(2..=36).contains(&to) {
            return Ok(None);
        }
        Ok(Some(in_base(u64::from_str_radix(text.trim(), from).unwrap_or(0), to)))
    })?;
    sqlite.create_scalar_function("to_bits", 1, PURE, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let bits = bytes.iter().fold(0_u64, |bits, &byte| (bits << 8) | u64::from(byte));
                Value::Integer(bits.cast_signed())
            }
            _ => integer(context, 0).map_or(Value::Null, Value::Integer),
        })
    })?;
    for (name, base) in [("bin", 2), ("oct", 8)] {
        sqlite.create_scalar_function(name, 1, PURE, move |context| {
            Ok(integer(context, 0).map(|number| in_base(number.cast_unsigned(), base)))
        })?;
    }
    sqlite.create_scalar_function("crc32", 1, PURE, |context| {
        Ok(bytes(context, 0).map(|bytes| i64::from(!crc32(u32::MAX, &bytes))))
    })
}

fn whole(number: Option<f64>) -> Value {
    match number {
        None => Value::Null,
        // Exact up to here.
        Some(number) if number.abs() < 9e15 => Value::Integer(number as i64),
        Some(number) => Value::Real(number),
    }
}

/// 64 random bits, by a generator seeded from the system once per thread (xorshift64*).
pub(super) fn random_bits() -> u64 {
    thread_local!(static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1));
    STATE.with(|state| {
        let mut bits = state.get();
        bits ^= bits >> 12;
        bits ^= bits << 25;
        bits ^= bits >> 27;
        state.set(bits);
        bits.wrapping_mul(0x2545_f491_4f6c_dd1d)
    })
}

fn seed(context: &Context<'_>) -> Option<i64> {
    if context.is_empty() { None } else { Some(integer(context, 0).unwrap_or(0)) }
}

/// From 0 up to 1; the same for the same seed, though not MySQL's number for it.
fn random(seed: Option<i64>) -> f64 {
    let bits = match seed {
        None => random_bits(),
        Some(seed) => {
            let mixed = seed.cast_unsigned().wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
        }
    };
    // 53 bits are what a double holds.
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

fn in_base(mut number: u64, base: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits
            .push(char::from_digit((number % base) as u32, base as u32).unwrap_or('0').to_ascii_uppercase());
        number /= base;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

fn with_commas(number: &str) -> String {
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// Compares two numbers by their digits, so that none is lost: the order of decimals and big unsigned integers.
/// Texts that are no plain numbers are compared as floats, else as texts.
pub(crate) fn compare_digits(a: &str, b: &str) -> Ordering {
    match (Digits::parse(a), Digits::parse(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        _ => match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.total_cmp(&b),
            _ => a.cmp(b),
        },
    }
}

struct Digits<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> Digits<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let negative = text.starts_with('-');
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let some = !(whole.is_empty() && fraction.is_empty());
        (some && plain(whole) && plain(fraction)).then(|| Self {
            negative,
            whole: whole.trim_start_matches('0'),
            fraction: fraction.trim_end_matches('0'),
        })
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let size = || {
            (self.whole.len().cmp(&other.whole.len()))
                .then_with(|| self.whole.cmp(other.whole))
                .then_with(|| self.fraction.cmp(other.fraction))
        };
        match (self.negative && !self.is_zero(), other.negative && !other.is_zero()) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(),
            (true, true) => size().reverse(),
        }
    }
}

/// CRC-32 (IEEE), without the final inversion.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// The sum of each row's CRC, so that the order of rows does not matter. Not InnoDB's number for the same rows.
struct Checksum;

impl Aggregate<i64, i64> for Checksum {
    fn init(&self, _context: &mut Context<'_>) -> Result<i64> {
        Ok(0)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut i64) -> Result<()> {
        let mut crc = u32::MAX;
        for index in 0..context.len() {
            // The length keeps ('ab', 'c') and ('a', 'bc') apart, and NULL from the empty text.
            match bytes(context, index) {
                Some(bytes) => crc = crc32(crc32(crc, &(bytes.len() as u64 + 1).to_le_bytes()), &bytes),
                None => crc = crc32(crc, &0_u64.to_le_bytes()),
            }
        }
        *sum = (*sum + i64::from(!crc)) & 0xffff_ffff;
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, sum: Option<i64>) -> Result<i64> {
        Ok(sum.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_ordered_as_the_numbers_they_write() {
        for pair in
            ["-10", "-9.5", "-0", "0.001", "0.01", "1", "1.50", "9", "10", "18446744073709551615"].windows(2)
        {
            assert_eq!(compare_digits(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare_digits(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
        assert_eq!(compare_digits("1.50", "01.5"), Ordering::Equal);
        assert_eq!(compare_digits("-0", "0.0"), Ordering::Equal);
    }

    #[test]
    fn numbers_get_their_commas_and_bases() {
        assert_eq!(with_commas("1234567.891"), "1,234,567.891");
        assert_eq!(with_commas("-123"), "-123");
        assert_eq!(in_base(255, 16), "FF");
    }

    #[test]
    fn the_checksum_of_a_known_text_is_the_published_one() {
        assert_eq!(!crc32(u32::MAX, b"123456789"), 0xcbf4_3926);
    }
}
