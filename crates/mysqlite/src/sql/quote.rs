//! Quoting for both sides: names and literals as SQLite reads them, and as MySQL's own output writes them.
//!
//! Not here: reading quotes (`token`).

use std::fmt::Write as _;

/// `name` in double quotes, for SQLite.
pub(crate) fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The one name that a table has in the SQLite file: all databases share that file.
/// Shape: `shop`, `orders` -> `"shop.orders"`
pub(crate) fn table(schema: &str, table: &str) -> String {
    name(&format!("{schema}.{table}"))
}

/// `value` as a SQLite literal of type text; bytes that are not UTF-8 become a blob, and NULs, which end
/// SQL text, take the way over a blob.
pub(crate) fn literal(value: &[u8]) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    push_literal(&mut out, value);
    out
}

pub(crate) fn push_literal(out: &mut String, value: &[u8]) {
    match std::str::from_utf8(value) {
        Ok(text) if !text.contains('\0') => {
            out.push('\'');
            for (n, part) in text.split('\'').enumerate() {
                if n > 0 {
                    out.push_str("''");
                }
                out.push_str(part);
            }
            out.push('\'');
        }
        Ok(_) => {
            out.push_str("CAST(");
            push_blob(out, value);
            out.push_str(" AS TEXT)");
        }
        Err(_) => push_blob(out, value),
    }
}

pub(crate) fn push_blob(out: &mut String, value: &[u8]) {
    out.push_str("x'");
    for byte in value {
        // Writing to a String cannot fail.
        write!(out, "{byte:02x}").ok();
    }
    out.push('\'');
}

/// `name` in backticks, as SHOW CREATE TABLE writes it.
pub(crate) fn mysql_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `value` as SHOW CREATE TABLE writes it.
pub(crate) fn mysql_text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\0', "\\0"))
}
