//! The words of MySQL that are not names, and how its functions are called here.
//!
//! A word that is in none of these lists and has no bracket after it is a name, and is quoted for SQLite,
//! which has reserved words of its own (`transaction`, `index`, …).
//!
//! Not here: what each keyword does to a statement (`rewrite`).

/// Words that pass into SQLite as they are, when they are unquoted and not after a dot or AS.
const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "COLLATE",
    "CROSS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FOLLOWING",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INTERSECT",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PRECEDING",
    "RANGE",
    "RECURSIVE",
    "RIGHT",
    "ROWS",
    "SELECT",
    "SET",
    "THEN",
    "TRUE",
    "UNBOUNDED",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// Keywords that stand before a bracket without being a function.
const BEFORE_BRACKET: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "AS",
    "BETWEEN",
    "BINARY",
    "BY",
    "CASE",
    "DISTINCT",
    "DIV",
    "ELSE",
    "EXCEPT",
    "EXISTS",
    "FROM",
    "HAVING",
    "IN",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LIKE",
    "LIMIT",
    "NOT",
    "OFFSET",
    "ON",
    "OR",
    "OVER",
    "PARTITION",
    "REGEXP",
    "RLIKE",
    "SELECT",
    "SET",
    "SOME",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
    "XOR",
];

/// MySQL functions whose namesake in SQLite does something else, or which SQLite knows by another name.
const RENAMED: &[(&str, &str)] = &[
    ("BIT_LENGTH", "bit_length"),
    ("CHARACTER_LENGTH", "length"),
    ("CHAR_LENGTH", "length"),
    ("CURRENT_DATE", "curdate"),
    ("CURRENT_TIME", "curtime"),
    ("CURRENT_TIMESTAMP", "now"),
    ("CURRENT_USER", "current_user"),
    ("DATE", "mysql_date"),
    ("TIME", "mysql_time"),
    ("GREATEST", "max"),
    ("LCASE", "lower"),
    ("LEAST", "min"),
    ("LENGTH", "octet_length"),
    ("LOCALTIME", "now"),
    ("LOCALTIMESTAMP", "now"),
    ("MID", "substr"),
    ("OCTET_LENGTH", "octet_length"),
    ("POW", "power"),
    ("SCHEMA", "database"),
    ("SESSION_USER", "user"),
    ("SHA", "sha1"),
    ("SUBSTRING", "substr"),
    ("SYSDATE", "now"),
    ("SYSTEM_USER", "user"),
    ("UCASE", "upper"),
    ("UTC_DATE", "curdate"),
    ("UTC_TIME", "curtime"),
    ("UTC_TIMESTAMP", "now"),
    ("JSON_ARRAYAGG", "json_group_array"),
    ("JSON_OBJECTAGG", "json_group_object"),
    ("STDDEV_POP", "stddev"),
];

/// Functions that are called without brackets.
const BARE: &[&str] = &[
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

pub(crate) fn is_keyword(upper: &str) -> bool {
    KEYWORDS.binary_search(&upper).is_ok()
}

pub(crate) fn may_stand_before_bracket(upper: &str) -> bool {
    BEFORE_BRACKET.binary_search(&upper).is_ok()
}

pub(crate) fn is_bare_function(upper: &str) -> bool {
    BARE.contains(&upper)
}

/// The name of a MySQL function in our SQLite connections.
pub(crate) fn function(upper: &str) -> String {
    RENAMED
        .iter()
        .find(|(mysql, _)| *mysql == upper)
        .map_or_else(|| upper.to_ascii_lowercase(), |(_, sqlite)| (*sqlite).to_owned())
}

/// Can this word be an alias without AS, or does it go on with the statement?
pub(crate) fn may_be_alias(upper: &str) -> bool {
    const NOT: &[&str] = &[
        "FOR",
        "LOCK",
        "FORCE",
        "IGNORE",
        "USE",
        "STRAIGHT_JOIN",
        "INTO",
        "XOR",
        "DIV",
        "MOD",
        "REGEXP",
        "RLIKE",
        "ON",
        "SET",
        "LATERAL",
        "PROCEDURE",
    ];
    !is_keyword(upper) && !NOT.contains(&upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_for_the_binary_search() {
        assert!(KEYWORDS.is_sorted());
        assert!(BEFORE_BRACKET.is_sorted());
    }
}
