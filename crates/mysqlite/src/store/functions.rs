//! MySQL's functions for SQLite: texts, hashes and what a session knows of itself.
//!
//! Registered under MySQL's names in small letters (`sql::keyword` lists the few that are renamed). NULL in gives
//! NULL out, except where MySQL says otherwise.
//!
//! Not here: numbers (`numeric_functions`), dates and times (`time_functions`).

use std::sync::Arc;

use md5::Md5;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::session_state::{SharedState, lock};
use super::variables::Setting;
use super::{numeric_functions, time_functions};
use crate::login::SERVER_VERSION;

/// Depends on nothing but its arguments.
pub(super) const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);
/// Depends on the session or the clock.
pub(super) const VOLATILE: FunctionFlags = FunctionFlags::SQLITE_UTF8;

/// Results longer than this are refused, as MySQL refuses those over `max_allowed_packet`.
const RESULT_LEN_MAX: usize = 64 << 20;

/// An argument as bytes; `None` is NULL.
pub(super) fn bytes<'a>(context: &'a Context<'_>, index: usize) -> Option<std::borrow::Cow<'a, [u8]>> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes().into()),
        ValueRef::Real(number) => Some(crate::format::real(number, false).into_bytes().into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.into()),
    }
}

pub(super) fn string(context: &Context<'_>, index: usize) -> Option<String> {
    bytes(context, index).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn integer(context: &Context<'_>, index: usize) -> Option<i64> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number.round() as i64),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            let text = String::from_utf8_lossy(text);
            let number = text.trim();
            Some(number.parse().unwrap_or_else(|_| number.parse::<f64>().unwrap_or(0.0).round() as i64))
        }
    }
}

pub(super) fn float(context: &Context<'_>, index: usize) -> Option<f64> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Some(String::from_utf8_lossy(text).trim().parse().unwrap_or(0.0))
        }
    }
}

/// Bytes as a result: text where they are UTF-8.
pub(super) fn value(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(error) => Value::Blob(error.into_bytes()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(message: &str) -> Error {
    Error::UserFunctionError(message.into())
}

/// All functions, for a session.
pub(super) fn register(sqlite: &Connection, state: &SharedState) -> Result<()> {
    session(sqlite, state)
}

/// Those that need no session.
pub(super) fn register_stateless(sqlite: &Connection) -> Result<()> {
    texts(sqlite)?;
    more_texts(sqlite)?;
    hashes(sqlite)?;
    control(sqlite)?;
    numeric_functions::register(sqlite)?;
    time_functions::register(sqlite)
}

fn texts(sqlite: &Connection) -> Result<()> {
    sqlite.create_scalar_function("concat", -1, PURE, |context| {
        let mut joined = Vec::new();
        for index in 0..context.len() {
            match bytes(context, index) {
                Some(part) => joined.extend_from_slice(&part),
                None => return Ok(Value::Null),
            }
        }
        Ok(value(joined))
    })?;
    sqlite.create_scalar_function("left", 2, PURE, |context| {
        let (Some(text), Some(count)) = (string(context, 0), integer(context, 1)) else { return Ok(None) };
        Ok(Some(text.chars().take(usize::try_from(count).unwrap_or(0)).collect::<String>()))
    })?;
    sqlite.create_scalar_function("right", 2, PURE, |context| {
        let (Some(text), Some(count)) = (string(context, 0), integer(context, 1)) else { return Ok(None) };
        let skip = text.chars().count().saturating_sub(usize::try_from(count).unwrap_or(0));
        Ok(Some(text.chars().skip(skip).collect::<String>()))
    })?;
    sqlite.create_scalar_function("repeat", 2, PURE, |context| {
        let (Some(text), Some(count)) = (bytes(context, 0), integer(context, 1)) else {
            return Ok(Value::Null);
        };
        let count = usize::try_from(count).unwrap_or(0);
        if text.len().saturating_mul(count) > RESULT_LEN_MAX {
            return Err(failed("Result of repeat() was larger than max_allowed_packet (67108864)"));
        }
        Ok(value(text.repeat(count)))
    })?;
    sqlite.create_scalar_function("space", 1, PURE, |context| {
        Ok(integer(context, 0)
            .map(|count| " ".repeat(usize::try_from(count).unwrap_or(0).min(RESULT_LEN_MAX))))
    })?;
    sqlite.create_scalar_function("reverse", 1, PURE, |context| {
        Ok(string(context, 0).map(|text| text.chars().rev().collect::<String>()))
    })?;
    for (name, at_left) in [("lpad", true), ("rpad", false)] {
        sqlite.create_scalar_function(name, 3, PURE, move |context| {
            let (Some(text), Some(len), Some(pad)) =
                (string(context, 0), integer(context, 1), string(context, 2))
            else {
                return Ok(None);
            };
            let len = usize::try_from(len).unwrap_or(0).min(RESULT_LEN_MAX);
            let have = text.chars().count();
            if have >= len || pad.is_empty() {
                return Ok(Some(text.chars().take(len).collect::<String>()));
            }
            let padding: String = pad.chars().cycle().take(len - have).collect();
            Ok(Some(if at_left { padding + &text } else { text + &padding }))
        })?;
    }
    Ok(())
}

fn more_texts(sqlite: &Connection) -> Result<()> {
    sqlite.create_scalar_function("locate", -1, PURE, |context| {
        let (Some(part), Some(text)) = (string(context, 0), string(context, 1)) else { return Ok(None) };
        let from = if context.len() > 2 { integer(context, 2).unwrap_or(1) } else { 1 };
        let skip = usize::try_from(from - 1).unwrap_or(usize::MAX);
        let (part, text) = (part.to_lowercase(), text.to_lowercase());
        let rest: String = text.chars().skip(skip).collect();
        Ok(Some(rest.find(&part).map_or(0, |at| rest[..at].chars().count() + skip + 1) as i64))
    })?;
    sqlite.create_scalar_function("substring_index", 3, PURE, |context| {
        let (Some(text), Some(separator), Some(count)) =
            (string(context, 0), string(context, 1), integer(context, 2))
        else {
            return Ok(None);
        };
        let parts: Vec<&str> = text.split(separator.as_str()).collect();
        let count_len = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX).min(parts.len());
        let kept = if count >= 0 { &parts[..count_len] } else { &parts[parts.len() - count_len..] };
        Ok(Some(kept.join(&separator)))
    })?;
    sqlite.create_scalar_function("find_in_set", 2, PURE, |context| {
        let (Some(one), Some(set)) = (string(context, 0), string(context, 1)) else { return Ok(None) };
        Ok(Some(set.split(',').position(|item| item == one).map_or(0, |at| at as i64 + 1)))
    })?;
    sqlite.create_scalar_function("field", -1, PURE, |context| {
        let Some(wanted) = string(context, 0) else { return Ok(0) };
        let at = (1..context.len()).find(|&index| string(context, index).as_deref() == Some(&wanted));
        Ok(at.unwrap_or(0) as i64)
    })?;
    sqlite.create_scalar_function("elt", -1, PURE, |context| {
        let index = integer(context, 0).and_then(|index| usize::try_from(index).ok());
        Ok(index
            .filter(|&index| index >= 1 && index < context.len())
            .and_then(|index| string(context, index)))
    })?;
    sqlite.create_scalar_function("ascii", 1, PURE, |context| {
        Ok(bytes(context, 0).map(|bytes| bytes.first().map_or(0, |&byte| i64::from(byte))))
    })?;
    sqlite.create_scalar_function("strcmp", 2, PURE, |context| {
        let (Some(a), Some(b)) = (string(context, 0), string(context, 1)) else { return Ok(None) };
        Ok(Some(a.to_lowercase().cmp(&b.to_lowercase()) as i64))
    })?;
    sqlite.create_scalar_function("bit_length", 1, PURE, |context| {
        Ok(bytes(context, 0).map(|bytes| bytes.len() as i64 * 8))
    })?;
    sqlite.create_scalar_function("hex", 1, PURE, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Integer(number) => Some(format!("{number:X}")),
            _ => bytes(context, 0).map(|bytes| hex(&bytes).to_uppercase()),
        })
    })?;
    // SQLite's LIKE calls like(pattern, text).
    sqlite.create_scalar_function("like", 2, PURE, |context| {
        let (Some(pattern), Some(text)) = (bytes(context, 0), bytes(context, 1)) else { return Ok(None) };
        Ok(Some(like(&pattern, &text, Some(b'\\'))))
    })?;
    sqlite.create_scalar_function("like", 3, PURE, |context| {
        let (Some(pattern), Some(text), Some(escape)) =
            (bytes(context, 0), bytes(context, 1), bytes(context, 2))
        else {
            return Ok(None);
        };
        Ok(Some(like(&pattern, &text, escape.first().copied())))
    })
}

/// MySQL's LIKE: `%` any run, `_` one character, without regard to ASCII case.
pub(super) fn like(pattern: &[u8], text: &[u8], escape: Option<u8>) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on when a run after the last % turns out to be longer.
    let mut retry = None;
    let char_len = |at: usize| match text.get(at) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..) => 4,
        _ => 1,
    };
    while t < text.len() {
        match pattern.get(p) {
            Some(b'%') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') => {
                p += 1;
                t += char_len(t);
                continue;
            }
            Some(&byte) => {
                let escaped = Some(byte) == escape && p + 1 < pattern.len();
                let literal = if escaped { pattern[p + 1] } else { byte };
                if literal.eq_ignore_ascii_case(&text[t]) {
                    p += 1 + usize::from(escaped);
                    t += 1;
                    continue;
                }
            }
            None => {}
        }
        let Some((after, from)) = retry else { return false };
        t = from + char_len(from);
        p = after;
        retry = Some((after, t));
    }
    t <= text.len() && pattern.get(p..).unwrap_or_default().iter().all(|&byte| byte == b'%')
}

fn hashes(sqlite: &Connection) -> Result<()> {
    sqlite.create_scalar_function("md5", 1, PURE, |context| {
        Ok(bytes(context, 0).map(|bytes| hex(&Md5::digest(&bytes))))
    })?;
    sqlite.create_scalar_function("sha1", 1, PURE, |context| {
        Ok(bytes(context, 0).map(|bytes| hex(&Sha1::digest(&bytes))))
    })?;
    sqlite.create_scalar_function("sha2", 2, PURE, |context| {
        let (Some(bytes), Some(bits)) = (bytes(context, 0), integer(context, 1)) else { return Ok(None) };
        Ok(match bits {
            0 | 256 => Some(hex(&Sha256::digest(&bytes))),
            224 => Some(hex(&Sha224::digest(&bytes))),
            384 => Some(hex(&Sha384::digest(&bytes))),
            512 => Some(hex(&Sha512::digest(&bytes))),
            _ => None,
        })
    })?;
    sqlite.create_scalar_function("uuid", 0, VOLATILE, |_| {
        let mut bytes = [0_u8; 16];
        for half in bytes.chunks_exact_mut(8) {
            half.copy_from_slice(&numeric_functions::random_bits().to_le_bytes());
        }
        let text = hex(&bytes);
        Ok(format!("{}-{}-4{}-a{}-{}", &text[..8], &text[8..12], &text[13..16], &text[17..20], &text[20..]))
    })
}

fn control(sqlite: &Connection) -> Result<()> {
    sqlite.create_scalar_function("if", 3, PURE, |context| {
        let truth = float(context, 0).is_some_and(|number| number != 0.0);
        context.get::<Value>(if truth { 1 } else { 2 })
    })?;
    sqlite.create_scalar_function("isnull", 1, PURE, |context| Ok(context.get_raw(0) == ValueRef::Null))?;
    for name in ["charset", "collation"] {
        sqlite.create_scalar_function(name, 1, PURE, move |_| {
            Ok(if name == "charset" { "utf8mb4" } else { crate::schema::column_type::DEFAULT_COLLATION })
        })?;
    }
    sqlite.create_scalar_function("sleep", 1, VOLATILE, |context| {
        let seconds = float(context, 0).unwrap_or(0.0).clamp(0.0, 86_400.0);
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
        Ok(0)
    })?;
    sqlite.create_scalar_function("version", 0, PURE, |_| Ok(SERVER_VERSION))
}

fn session(sqlite: &Connection, state: &SharedState) -> Result<()> {
    let with = |read: fn(&super::session_state::SessionState) -> Value| {
        let state = Arc::clone(state);
        move |_: &Context<'_>| Ok(read(&lock(&state)))
    };
    sqlite.create_scalar_function(
        "connection_id",
        0,
        VOLATILE,
        with(|state| i64::from(state.identity.id).into()),
    )?;
    sqlite.create_scalar_function("database", 0, VOLATILE, with(|state| state.schema.clone().into()))?;
    sqlite.create_scalar_function("row_count", 0, VOLATILE, with(|state| state.row_count.into()))?;
    sqlite.create_scalar_function("found_rows", 0, VOLATILE, with(|state| state.found_rows.into()))?;
    let user = with(|state| format!("{}@{}", state.identity.user, state.identity.host).into());
    sqlite.create_scalar_function("user", 0, VOLATILE, user)?;
    let current_user = with(|state| format!("{}@%", state.identity.user).into());
    sqlite.create_scalar_function("current_user", 0, VOLATILE, current_user)?;
    let last = with(|state| state.last_insert_id.into());
    sqlite.create_scalar_function("last_insert_id", 0, VOLATILE, last)?;
    let shared = Arc::clone(state);
    sqlite.create_scalar_function("last_insert_id", 1, VOLATILE, move |context| {
        let number = integer(context, 0).unwrap_or(0);
        lock(&shared).last_insert_id = number;
        Ok(number)
    })?;
    let shared = Arc::clone(state);
    sqlite.create_scalar_function("user_variable", 1, VOLATILE, move |context| {
        let name = string(context, 0).unwrap_or_default();
        Ok(lock(&shared).user_variables.get(&name).cloned().unwrap_or(Value::Null))
    })?;
    let shared = Arc::clone(state);
    sqlite.create_scalar_function("system_variable", 1, VOLATILE, move |context| {
        let setting = lock(&shared).system_variable(&string(context, 0).unwrap_or_default());
        Ok(match setting.map_err(|fault| Error::UserFunctionError(Box::new(fault)))? {
            Setting::Number(number) => Value::Integer(number),
            Setting::Text(text) => Value::Text(text),
            Setting::Null => Value::Null,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_matches_as_mysqls_does() {
        for (pattern, text, matches) in [
            ("%", "", true),
            ("a%c", "abbbc", true),
            ("a%c", "abbb", false),
            ("A_C", "abc", true),
            ("%b%b%", "abab", true),
            (r"a\_c", "abc", false),
            (r"a\_c", "a_c", true),
            (r"100\%", "100%", true),
            ("_", "é", true),
            ("__", "é", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(
                like(pattern.as_bytes(), text.as_bytes(), Some(b'\\')),
                matches,
                "{text} LIKE {pattern}"
            );
        }
    }
}
