//! How numbers, intervals, dates and texts of a file are written in reports.
//!
//! Invariants: three significant digits as far as they mean something; "—" is what is not known; no control character
//! of a file gets to a terminal.
//!
//! Not here: escaping for HTML and Markdown, which have rules of their own.

use time::OffsetDateTime;

use crate::record::Metric;
use crate::stats::Estimate;

/// What is neither measured nor published.
pub(crate) const DASH: &str = "—";

/// Three significant digits, as far as they mean something.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        99.95.. => grouped_f64(number),
        9.995.. => format!("{number:.1}"),
        0.0995.. => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// [`short`], or a dash.
pub(crate) fn or_dash(number: Option<f64>) -> String {
    number.map_or_else(|| DASH.to_owned(), short)
}

/// A metric's value as its column shows it.
pub(crate) fn value(metric: Metric, number: f64) -> String {
    short(number / metric.heading_divisor())
}

/// `1.21–1.34`; empty where there is no interval.
pub(crate) fn interval(estimate: &Estimate) -> String {
    if estimate.has_interval() {
        format!("{}–{}", short(estimate.low), short(estimate.high))
    } else {
        String::new()
    }
}

/// Half the interval's width in per cent; empty where there is none.
pub(crate) fn spread(estimate: &Estimate) -> String {
    if estimate.has_interval() { percent(estimate.relative_half_width()) } else { String::new() }
}

/// `2.1 %`.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.*} %", usize::from(part < 0.0995), part * 100.0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, far below 2^53")]
fn grouped_f64(number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.abs().round() as u64))
}

/// With a comma at every thousand.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 cell`, `3 cells`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// With a capital letter, as at the beginning of a sentence.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `4.2 s`, `12 min`, `3 h 20 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{} s", short(seconds));
    }
    let minutes = (seconds / 60.0).round();
    if minutes < 120.0 {
        return format!("{minutes} min");
    }
    format!("{} h {} min", (minutes / 60.0).floor(), minutes % 60.0)
}

/// `2026-11-22 07:02 UTC`.
pub(crate) fn date(unix_s: u64) -> String {
    let date = i64::try_from(unix_s).ok().and_then(|s| OffsetDateTime::from_unix_timestamp(s).ok());
    date.map_or_else(
        || format!("{unix_s} s since 1970"),
        |at| {
            let (year, month, day) = at.to_calendar_date();
            format!("{year}-{:02}-{day:02} {:02}:{:02} UTC", u8::from(month), at.hour(), at.minute())
        },
    )
}

/// A text of the file on one line, without control characters: they would move a terminal's cursor, or worse.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { '\u{fffd}' } else { c }).collect()
}

/// Characters that turn the direction of what follows them.
const fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        for (number, text) in [
            (1234.5, "1,235"),
            (231.0, "231"),
            (99.99, "100"),
            (12.54, "12.5"),
            (4.712, "4.71"),
            (0.0234, "0.023"),
            (-1234.0, "-1,234"),
        ] {
            assert_eq!(short(number), text);
        }
        assert_eq!((percent(0.0213), percent(0.213)), ("2.1 %".to_owned(), "21 %".to_owned()));
    }

    #[test]
    fn times_are_told_as_people_tell_them() {
        assert_eq!(date(1_795_330_947), "2026-11-22 07:02 UTC");
        assert_eq!(date(u64::MAX), "18446744073709551615 s since 1970");
        let told = [4.2, 1500.0, 12_000.0].map(duration);
        assert_eq!(told, ["4.20 s", "25 min", "3 h 20 min"]);
        assert_eq!((counted(1, "cell"), counted(1200, "cell")), ("1 cell".into(), "1,200 cells".into()));
    }

    #[test]
    fn no_control_character_is_printed() {
        assert_eq!(printable("a\x1b[2Jb\nc\u{202e}"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }
}
