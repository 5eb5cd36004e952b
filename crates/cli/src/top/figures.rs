//! Numbers in few characters.
//!
//! Not here: which numbers (`column`, `screen`).

/// Bytes, with a decimal prefix as links have them: `1.23 MB`, in 8 characters at most.
pub(super) fn bytes(bytes: Option<f64>) -> String {
    let Some(mut rest) = bytes else { return NONE.to_owned() };
    for unit in ["B", "kB", "MB", "GB"] {
        if rest < 999.5 {
            return format!("{} {unit}", three_digits(rest, unit == "B"));
        }
        rest /= 1000.0;
    }
    format!("{rest:.0} TB")
}

/// `5.83x`.
pub(super) fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| NONE.to_owned(), |ratio| format!("{}x", three_digits(ratio, false)))
}

/// Of one CPU.
pub(super) fn percent(cpus: Option<f64>) -> String {
    cpus.map_or_else(|| NONE.to_owned(), |cpus| format!("{:.1}", cpus * 100.0))
}

/// `59s`, `3m07s`, `2h05m`, `12d3h`.
pub(super) fn seconds(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{}h", hours % 24),
    }
}

fn three_digits(number: f64, is_whole: bool) -> String {
    match number {
        _ if is_whole || number >= 99.95 => format!("{number:.0}"),
        9.995.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

const NONE: &str = "-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_three_digits() {
        let all = [0.0, 7.4, 999.4, 999.6, 1234.0, 12_345.0, 123_456.0, 9.87e6, 1.5e9, 9.9e14];
        let expected = [
            "0 B", "7 B", "999 B", "1.00 kB", "1.23 kB", "12.3 kB", "123 kB", "9.87 MB", "1.50 GB", "990 TB",
        ];
        assert_eq!(all.map(|number| bytes(Some(number))), expected);
        assert_eq!([ratio(Some(5.834)), ratio(Some(0.98)), ratio(None)], ["5.83x", "0.98x", "-"]);
        assert_eq!([percent(Some(0.0321)), percent(Some(1.5))], ["3.2", "150.0"]);
        let times = [59, 187, 7500, 1_047_600].map(seconds);
        assert_eq!(times, ["59s", "3m07s", "2h05m", "12d3h"]);
    }
}
