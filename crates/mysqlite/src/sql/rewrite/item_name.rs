//! What MySQL calls a column of a result that has no alias.

use crate::sql::cursor::Sql;
use crate::sql::keyword;
use crate::sql::token::Kind;

/// The name that MySQL gives to the select item `start..end`; none when it has an alias or is a star.
pub(super) fn item_name(sql: &Sql<'_>, start: usize, end: usize) -> Option<String> {
    let last = end.checked_sub(1).filter(|&last| last >= start)?;
    if sql.is_symbol(last, "*") {
        return None;
    }
    let operand = |index: usize| match sql.kind(index) {
        Some(Kind::Symbol) => sql.is_symbol(index, ")"),
        Some(Kind::Word) => {
            let upper = sql.upper(index);
            !keyword::is_keyword(&upper) || matches!(upper.as_str(), "NULL" | "TRUE" | "FALSE" | "END")
        }
        Some(_) => true,
        None => false,
    };
    let is_name = matches!(sql.kind(last), Some(Kind::Word | Kind::Quoted));
    if last > start {
        let before_is_text = sql.kind(last - 1) == Some(Kind::Text);
        let both_texts = sql.kind(last) == Some(Kind::Text) && before_is_text;
        let introducer = sql.kind(last - 1) == Some(Kind::Word) && sql.raw(last - 1).first() == Some(&b'_');
        let could_be_alias =
            (is_name && !keyword::is_keyword(&sql.upper(last))) || sql.kind(last) == Some(Kind::Text);
        let implicit = could_be_alias
            && operand(last - 1)
            && !both_texts
            && !introducer
            && !sql.is_any(last - 1, &["BINARY", "DIV", "MOD", "REGEXP", "RLIKE", "XOR"]);
        if sql.is(last - 1, "AS") || implicit {
            return None;
        }
        // `a.b.c` is named after its column.
        if is_name && sql.is_symbol(last - 1, ".") && (last - start).is_multiple_of(2) {
            let chain = (start..last).all(|n| sql.is_symbol(n, ".") || sql.name(n).is_some());
            if chain {
                return sql.name(last);
            }
        }
    } else if is_name && !keyword::is_keyword(&sql.upper(last)) {
        return sql.name(last);
    } else if sql.kind(last) == Some(Kind::Text) {
        return Some(String::from_utf8_lossy(&sql.text(last)).into_owned());
    }
    Some(String::from_utf8_lossy(sql.span(start, end)).into_owned())
}
