//! Values as a MySQL server writes them: digits of text rows, bytes of binary rows.
//!
//! Not here: where they go (`reply`).

use wire::write_lenenc_bytes;

use crate::column::{Column, FieldType, flag};
use crate::engine::Value;

/// Appends a value of a text row.
pub(crate) fn text(out: &mut Vec<u8>, column: &Column, value: Value<'_>, scratch: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0xfb),
        Value::Text(bytes) | Value::Blob(bytes) => match column.field {
            FieldType::NewDecimal if column.decimals > 0 => {
                scratch.clear();
                decimal(scratch, bytes, column.decimals);
                write_lenenc_bytes(out, scratch);
            }
            _ => write_lenenc_bytes(out, bytes),
        },
        Value::Int(number) if column.field == FieldType::Bit => {
            let bytes = number.to_be_bytes();
            let len = (column.length as usize).div_ceil(8).clamp(1, 8);
            write_lenenc_bytes(out, bytes.get(8 - len..).unwrap_or_default());
        }
        Value::Int(number) => {
            scratch.clear();
            integer(scratch, number);
            if column.flags & flag::ZEROFILL != 0 && scratch.len() < column.length as usize {
                scratch.splice(0..0, std::iter::repeat_n(b'0', column.length as usize - scratch.len()));
            }
            write_lenenc_bytes(out, scratch);
        }
        Value::Uint(number) => write_lenenc_bytes(out, number.to_string().as_bytes()),
        Value::Real(number) => {
            let text = match column.field {
                FieldType::Float => real(f64::from(number as f32), true),
                FieldType::NewDecimal => format!("{number:.*}", usize::from(column.decimals)),
                _ => real(number, false),
            };
            write_lenenc_bytes(out, text.as_bytes());
        }
    }
}

/// Appends a value of a binary row that is not NULL.
/// Source: "Binary Protocol Value".
pub(crate) fn binary(out: &mut Vec<u8>, column: &Column, value: Value<'_>, scratch: &mut Vec<u8>) {
    match column.field {
        FieldType::Tiny => out.extend(&as_integer(value).to_le_bytes()[..1]),
        FieldType::Short | FieldType::Year => out.extend(&as_integer(value).to_le_bytes()[..2]),
        FieldType::Long | FieldType::Int24 => out.extend(&as_integer(value).to_le_bytes()[..4]),
        FieldType::LongLong => out.extend(as_integer(value).to_le_bytes()),
        FieldType::Float => out.extend((as_real(value) as f32).to_le_bytes()),
        FieldType::Double => out.extend(as_real(value).to_le_bytes()),
        FieldType::Date | FieldType::DateTime | FieldType::Timestamp => date(out, value),
        FieldType::Time => time(out, value),
        _ => text(out, column, value, scratch),
    }
}

/// Appends a number's digits.
fn integer(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend(&digits[at..]);
}

/// A float as MySQL prints it: the shortest digits that give the same number, with an exponent from 1e15 on.
pub(crate) fn real(number: f64, single: bool) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if (1e-15..1e15).contains(&size) {
        return if single { format!("{}", number as f32) } else { format!("{number}") };
    }
    if single { format!("{:e}", number as f32) } else { format!("{number:e}") }
}

/// Appends a decimal with exactly `scale` digits after the point, rounded half away from zero.
pub(crate) fn decimal(out: &mut Vec<u8>, digits: &[u8], scale: u8) {
    let scale = usize::from(scale);
    let plain = digits
        .iter()
        .enumerate()
        .all(|(n, byte)| byte.is_ascii_digit() || *byte == b'.' || (n == 0 && matches!(byte, b'-' | b'+')));
    let (whole, fraction) = match digits.iter().position(|&byte| byte == b'.') {
        Some(point) => (digits.get(..point).unwrap_or_default(), digits.get(point + 1..).unwrap_or_default()),
        None => (digits, &[][..]),
    };
    if !plain {
        // An exponent, or no number at all.
        match std::str::from_utf8(digits).ok().and_then(|text| text.trim().parse::<f64>().ok()) {
            Some(number) => out.extend(format!("{number:.scale$}").bytes()),
            None => out.extend(digits),
        }
        return;
    }
    let start = out.len();
    out.extend(if matches!(whole, [] | b"-") { [whole, b"0"].concat() } else { whole.to_vec() });
    if scale > 0 {
        out.push(b'.');
        out.extend(fraction.iter().copied().chain(std::iter::repeat(b'0')).take(scale));
    }
    if fraction.get(scale).is_some_and(|&digit| digit >= b'5') {
        round_up(out, start);
    }
}

/// Adds one to the last digit of the number that begins at `start`.
fn round_up(out: &mut Vec<u8>, start: usize) {
    for at in (start..out.len()).rev() {
        match out[at] {
            b'9' => out[at] = b'0',
            b'0'..=b'8' => {
                out[at] += 1;
                return;
            }
            b'-' => {
                out.insert(at + 1, b'1');
                return;
            }
            _ => {}
        }
    }
    out.insert(start, b'1');
}

fn as_integer(value: Value<'_>) -> i64 {
    match value {
        Value::Null => 0,
        Value::Int(number) => number,
        Value::Uint(number) => number.cast_signed(),
        Value::Real(number) => number.round() as i64,
        Value::Text(bytes) | Value::Blob(bytes) => {
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            text.parse::<i64>()
                .or_else(|_| text.parse::<u64>().map(u64::cast_signed))
                .unwrap_or_else(|_| text.parse::<f64>().unwrap_or_default().round() as i64)
        }
    }
}

fn as_real(value: Value<'_>) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Int(number) => number as f64,
        Value::Uint(number) => number as f64,
        Value::Real(number) => number,
        Value::Text(bytes) | Value::Blob(bytes) => {
            std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
        }
    }
}

/// The numbers of a date or time: `2026-11-21 20:55:53.5` -> 2026 11 21 20 55 53, and 500,000 microseconds.
fn numbers(value: Value<'_>) -> (Vec<u32>, u32) {
    let (Value::Text(bytes) | Value::Blob(bytes)) = value else { return (Vec::new(), 0) };
    let (whole, fraction) = match bytes.iter().position(|&byte| byte == b'.') {
        Some(point) => (bytes.get(..point).unwrap_or_default(), bytes.get(point + 1..).unwrap_or_default()),
        None => (bytes, &[][..]),
    };
    let parts = whole.split(|byte| !byte.is_ascii_digit()).filter(|part| !part.is_empty());
    let number = |digits: &[u8]| {
        digits.iter().take(9).fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    let micros: Vec<u8> =
        fraction.iter().copied().filter(u8::is_ascii_digit).chain(std::iter::repeat(b'0')).take(6).collect();
    (parts.map(number).collect(), number(&micros))
}

fn date(out: &mut Vec<u8>, value: Value<'_>) {
    let (parts, micros) = numbers(value);
    let part = |n: usize| parts.get(n).copied().unwrap_or(0);
    let len: u8 = if micros > 0 {
        11
    } else if parts.iter().skip(3).any(|&part| part > 0) {
        7
    } else if parts.iter().any(|&part| part > 0) {
        4
    } else {
        0
    };
    out.push(len);
    let mut bytes = (part(0) as u16).to_le_bytes().to_vec();
    bytes.extend((1..6).map(|n| part(n) as u8));
    bytes.extend(micros.to_le_bytes());
    out.extend(bytes.iter().take(usize::from(len)));
}

fn time(out: &mut Vec<u8>, value: Value<'_>) {
    let (parts, micros) = numbers(value);
    let negative = matches!(value, Value::Text(bytes) if bytes.first() == Some(&b'-'));
    let part = |n: usize| parts.get(n).copied().unwrap_or(0);
    let len: u8 = if micros > 0 {
        12
    } else if parts.iter().any(|&part| part > 0) {
        8
    } else {
        0
    };
    out.push(len);
    let mut bytes = vec![u8::from(negative)];
    bytes.extend((part(0) / 24).to_le_bytes());
    bytes.extend([(part(0) % 24) as u8, part(1) as u8, part(2) as u8]);
    bytes.extend(micros.to_le_bytes());
    out.extend(bytes.iter().take(usize::from(len)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(field: FieldType) -> Column {
        Column::expression("x", field)
    }

    #[test]
    fn decimals_have_their_scale() {
        for (digits, scale, expected) in [
            ("1.5", 2, "1.50"),
            ("12345678901234567890.125", 2, "12345678901234567890.13"),
            ("-0.995", 2, "-1.00"),
            ("-9.995", 2, "-10.00"),
            ("99.5", 0, "100"),
            (".5", 1, "0.5"),
            ("1e2", 1, "100.0"),
        ] {
            let mut out = Vec::new();
            decimal(&mut out, digits.as_bytes(), scale);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{digits}");
        }
    }

    #[test]
    fn floats_look_like_mysqls() {
        for (number, expected) in
            [(0.1, "0.1"), (1.0, "1"), (1e20, "1e20"), (-2.5, "-2.5"), (1e14, "100000000000000")]
        {
            assert_eq!(real(number, false), expected);
        }
        assert_eq!(real(f64::from(0.1_f32), true), "0.1");
    }

    #[test]
    fn integers_have_all_their_digits() {
        for number in [0, 7, -1, i64::MIN, i64::MAX, 1_000_000] {
            let mut out = Vec::new();
            integer(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn dates_and_times_are_packed_as_the_binary_protocol_says() {
        let packed = |field, text: &str| {
            let mut out = Vec::new();
            binary(&mut out, &column(field), Value::Text(text.as_bytes()), &mut Vec::new());
            out
        };
        assert_eq!(packed(FieldType::Date, "2026-11-21"), [4, 0xea, 7, 11, 21]);
        assert_eq!(packed(FieldType::DateTime, "2026-11-21 20:55:53"), [7, 0xea, 7, 11, 21, 20, 55, 53]);
        assert_eq!(packed(FieldType::DateTime, "0000-00-00 00:00:00"), [0]);
        assert_eq!(packed(FieldType::Time, "-25:01:02"), [8, 1, 1, 0, 0, 0, 1, 1, 2]);
        assert_eq!(packed(FieldType::DateTime, "2026-11-21 00:00:00.5").len(), 12);
    }

    #[test]
    fn a_binary_integer_is_as_wide_as_its_column() {
        let mut out = Vec::new();
        for field in [FieldType::Tiny, FieldType::Short, FieldType::Long, FieldType::LongLong] {
            binary(&mut out, &column(field), Value::Int(-2), &mut Vec::new());
        }
        assert_eq!(out.len(), 1 + 2 + 4 + 8);
        assert_eq!(out[0], 0xfe);
    }
}
