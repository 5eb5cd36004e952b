//! MySQL's functions of dates and times for SQLite. The time zone is UTC.
//!
//! Not here: texts (`functions`), numbers (`numeric_functions`).

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::functions::Context;
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use super::functions::{PURE, VOLATILE, float, integer, string};

/// Seconds since 1970.
pub(super) fn now_unix_s() -> i64 {
    i64::try_from(since_1970().as_secs()).unwrap_or(i64::MAX)
}

fn since_1970() -> std::time::Duration {
    // A clock before 1970 is as good as 1970.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A date and time, proleptic Gregorian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    /// Days since 1970-01-01.
    day: i64,
    /// Seconds of the day.
    second: i64,
    micro: i64,
    /// It was written without a time.
    only_date: bool,
}

impl Moment {
    fn now() -> Self {
        Self::from_unix(now_unix_s())
    }

    fn from_unix(seconds: i64) -> Self {
        Self {
            day: seconds.div_euclid(86_400),
            second: seconds.rem_euclid(86_400),
            micro: 0,
            only_date: false,
        }
    }

    /// Reads `2026-11-21`, `2026-11-21 20:55:53.5`, `20261121`, `20261121205553`.
    fn parse(text: &str) -> Option<Self> {
        let digits: Vec<i64> = text
            .split(|character: char| !character.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().unwrap_or(-1))
            .collect();
        let (date, rest) = match digits.as_slice() {
            [packed] if *packed >= 10_000_101_000_000 => {
                let (date, time) = (packed / 1_000_000, packed % 1_000_000);
                (unpack(date), vec![time / 10_000, time / 100 % 100, time % 100])
            }
            [packed] if *packed >= 10_000_101 => (unpack(*packed), Vec::new()),
            [year, month, day, rest @ ..] => ((*year, *month, *day), rest.to_vec()),
            _ => return None,
        };
        let (year, month, day) = date;
        let part = |at: usize| rest.get(at).copied().unwrap_or(0);
        let valid = (0..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_of_month(year, month)).contains(&day)
            && (0..24).contains(&part(0))
            && (0..60).contains(&part(1))
            && (0..60).contains(&part(2));
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        let micro = format!("{fraction:0<6}").get(..6).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        valid.then(|| Self {
            day: days_from_civil(year, month, day),
            second: part(0) * 3600 + part(1) * 60 + part(2),
            micro,
            only_date: rest.is_empty(),
        })
    }

    fn unix(self) -> i64 {
        self.day * 86_400 + self.second
    }

    fn date(self) -> String {
        let (year, month, day) = civil_from_days(self.day);
        format!("{year:04}-{month:02}-{day:02}")
    }

    fn time(self) -> String {
        let fraction = if self.micro > 0 { format!(".{:06}", self.micro) } else { String::new() };
        format!("{:02}:{:02}:{:02}{fraction}", self.second / 3600, self.second / 60 % 60, self.second % 60)
    }

    fn text(self) -> String {
        if self.only_date { self.date() } else { format!("{} {}", self.date(), self.time()) }
    }

    /// Adds `amount` of a unit.
    fn add(self, amount: f64, unit: &str) -> Option<Self> {
        let whole = amount.round() as i64;
        let seconds = match unit {
            "SECOND" => whole,
            "MINUTE" => whole.checked_mul(60)?,
            "HOUR" => whole.checked_mul(3600)?,
            "DAY" => return Some(Self { day: self.day.checked_add(whole)?, ..self }),
            "WEEK" => return Some(Self { day: self.day.checked_add(whole.checked_mul(7)?)?, ..self }),
            "MONTH" => return self.add_months(whole),
            "QUARTER" => return self.add_months(whole.checked_mul(3)?),
            "YEAR" => return self.add_months(whole.checked_mul(12)?),
            _ => return None,
        };
        let total = self.unix().checked_add(seconds)?;
        Some(Self { micro: self.micro, ..Self::from_unix(total) })
    }

    fn add_months(self, months: i64) -> Option<Self> {
        let (year, month, day) = civil_from_days(self.day);
        let total = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(months)?;
        let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
        (0..=9999)
            .contains(&year)
            .then(|| Self { day: days_from_civil(year, month, day.min(days_of_month(year, month))), ..self })
    }

    /// YEAR, MONTH, … of it.
    fn unit(self, unit: &str) -> Option<i64> {
        let (year, month, day) = civil_from_days(self.day);
        Some(match unit {
            "YEAR" => year,
            "QUARTER" => (month + 2) / 3,
            "MONTH" => month,
            "DAY" => day,
            "HOUR" => self.second / 3600,
            "MINUTE" => self.second / 60 % 60,
            "SECOND" => self.second % 60,
            "MICROSECOND" => self.micro,
            // 1970-01-01 was a Thursday.
            "WEEKDAY" => (self.day + 3).rem_euclid(7),
            "DAYOFWEEK" => (self.day + 4).rem_euclid(7) + 1,
            "DAYOFYEAR" => self.day - days_from_civil(year, 1, 1) + 1,
            _ => return None,
        })
    }

    /// DATE_FORMAT
    fn format(self, format: &str) -> String {
        let unit = |name: &str| self.unit(name).unwrap_or(0);
        let hour12 = (unit("HOUR") + 11) % 12 + 1;
        let half = if unit("HOUR") < 12 { "AM" } else { "PM" };
        let name = |names: &[&str], at: i64| {
            usize::try_from(at).ok().and_then(|at| names.get(at)).map_or("", |name| name).to_owned()
        };
        let mut out = String::new();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                out.push(letter);
                continue;
            }
            out.push_str(&match letters.next().unwrap_or('%') {
                'Y' => format!("{:04}", unit("YEAR")),
                'y' => format!("{:02}", unit("YEAR") % 100),
                'm' => format!("{:02}", unit("MONTH")),
                'c' => unit("MONTH").to_string(),
                'd' => format!("{:02}", unit("DAY")),
                'e' => unit("DAY").to_string(),
                'H' => format!("{:02}", unit("HOUR")),
                'k' => unit("HOUR").to_string(),
                'h' | 'I' => format!("{hour12:02}"),
                'l' => hour12.to_string(),
                'i' => format!("{:02}", unit("MINUTE")),
                's' | 'S' => format!("{:02}", unit("SECOND")),
                'f' => format!("{:06}", self.micro),
                'p' => half.to_owned(),
                'T' => self.time(),
                'r' => format!("{hour12:02}:{:02}:{:02} {half}", unit("MINUTE"), unit("SECOND")),
                'j' => format!("{:03}", unit("DAYOFYEAR")),
                'w' => (unit("DAYOFWEEK") - 1).to_string(),
                'W' => name(&DAYS, unit("WEEKDAY")),
                'a' => name(&DAYS, unit("WEEKDAY")).chars().take(3).collect(),
                'M' => name(&MONTHS, unit("MONTH") - 1),
                'b' => name(&MONTHS, unit("MONTH") - 1).chars().take(3).collect(),
                other => other.to_string(),
            });
        }
        out
    }
}

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
#[rustfmt::skip]
const MONTHS: [&str; 12] = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December"];

fn unpack(date: i64) -> (i64, i64, i64) {
    (date / 10_000, date / 100 % 100, date % 100)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = (shifted + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn moment(context: &Context<'_>, index: usize) -> Option<Moment> {
    Moment::parse(&string(context, index)?)
}

pub(super) fn register(sqlite: &Connection) -> Result<()> {
    clocks(sqlite)?;
    parts(sqlite)?;
    for (name, sign) in [("date_add", 1.0), ("date_sub", -1.0)] {
        sqlite.create_scalar_function(name, 3, PURE, move |context| {
            let (Some(moment), Some(amount), Some(unit)) =
                (moment(context, 0), float(context, 1), string(context, 2))
            else {
                return Ok(None);
            };
            Ok(moment.add(sign * amount, &unit).map(Moment::text))
        })?;
    }
    sqlite.create_scalar_function("datediff", 2, PURE, |context| {
        let (Some(a), Some(b)) = (moment(context, 0), moment(context, 1)) else { return Ok(None) };
        Ok(Some(a.day - b.day))
    })?;
    sqlite.create_scalar_function("timestampdiff", 3, PURE, |context| {
        let (Some(unit), Some(a), Some(b)) = (string(context, 0), moment(context, 1), moment(context, 2))
        else {
            return Ok(None);
        };
        Ok(difference(&unit, a, b))
    })?;
    sqlite.create_scalar_function("date_format", 2, PURE, |context| {
        let (Some(moment), Some(format)) = (moment(context, 0), string(context, 1)) else { return Ok(None) };
        Ok(Some(moment.format(&format)))
    })?;
    sqlite.create_scalar_function("last_day", 1, PURE, |context| {
        Ok(moment(context, 0).map(|moment| {
            let (year, month, _) = civil_from_days(moment.day);
            Moment { day: days_from_civil(year, month, days_of_month(year, month)), ..moment }.date()
        }))
    })
}

fn clocks(sqlite: &Connection) -> Result<()> {
    sqlite.create_scalar_function("now", -1, VOLATILE, |context| {
        let digits = if context.is_empty() { 0 } else { integer(context, 0).unwrap_or(0).clamp(0, 6) };
        let micros = format!("{:06}", since_1970().subsec_micros());
        let fraction = micros.get(..usize::try_from(digits).unwrap_or(0)).unwrap_or_default();
        let point = if fraction.is_empty() { "" } else { "." };
        Ok(format!("{}{point}{fraction}", Moment::now().text()))
    })?;
    sqlite.create_scalar_function("curdate", 0, VOLATILE, |_| Ok(Moment::now().date()))?;
    sqlite.create_scalar_function("curtime", -1, VOLATILE, |_| Ok(Moment::now().time()))?;
    sqlite.create_scalar_function("unix_timestamp", 0, VOLATILE, |_| Ok(now_unix_s()))?;
    sqlite.create_scalar_function("unix_timestamp", 1, PURE, |context| {
        Ok(moment(context, 0).map(Moment::unix))
    })?;
    sqlite.create_scalar_function("from_unixtime", 1, PURE, |context| {
        Ok(integer(context, 0).map(|seconds| Moment::from_unix(seconds).text()))
    })?;
    sqlite.create_scalar_function("from_unixtime", 2, PURE, |context| {
        let (Some(seconds), Some(format)) = (integer(context, 0), string(context, 1)) else {
            return Ok(None);
        };
        Ok(Some(Moment::from_unix(seconds).format(&format)))
    })
}

fn parts(sqlite: &Connection) -> Result<()> {
    #[rustfmt::skip]
    const UNITS: [(&str, &str); 12] = [("year", "YEAR"), ("quarter", "QUARTER"), ("month", "MONTH"), ("day", "DAY"),
        ("dayofmonth", "DAY"), ("hour", "HOUR"), ("minute", "MINUTE"), ("second", "SECOND"),
        ("microsecond", "MICROSECOND"), ("weekday", "WEEKDAY"), ("dayofweek", "DAYOFWEEK"), ("dayofyear", "DAYOFYEAR")];
    for (name, unit) in UNITS {
        sqlite.create_scalar_function(name, 1, PURE, move |context| {
            Ok(moment(context, 0).and_then(|moment| moment.unit(unit)))
        })?;
    }
    sqlite.create_scalar_function("extract_unit", 2, PURE, |context| {
        let Some(unit) = string(context, 0) else { return Ok(None) };
        Ok(moment(context, 1).and_then(|moment| moment.unit(&unit)))
    })?;
    for (name, format) in [("dayname", "%W"), ("monthname", "%M")] {
        sqlite.create_scalar_function(name, 1, PURE, move |context| {
            Ok(moment(context, 0).map(|moment| moment.format(format)))
        })?;
    }
    sqlite
        .create_scalar_function("mysql_date", 1, PURE, |context| Ok(moment(context, 0).map(Moment::date)))?;
    sqlite.create_scalar_function("mysql_time", 1, PURE, |context| {
        Ok(match moment(context, 0) {
            Some(moment) => Some(moment.time()),
            // A time without a date stays as it is.
            None => string(context, 0).filter(|text| text.contains(':')),
        })
    })?;
    sqlite.create_scalar_function("timestamp", 1, PURE, |context| {
        Ok(match moment(context, 0) {
            Some(moment) => Value::Text(Moment { only_date: false, ..moment }.text()),
            None => Value::Null,
        })
    })
}

/// TIMESTAMPDIFF: whole units from `a` to `b`.
fn difference(unit: &str, a: Moment, b: Moment) -> Option<i64> {
    let seconds = b.unix() - a.unix();
    let months = || {
        let whole =
            |moment: Moment| moment.unit("YEAR").unwrap_or(0) * 12 + moment.unit("MONTH").unwrap_or(0);
        let mut months = whole(b) - whole(a);
        let rest = |moment: Moment| (moment.unit("DAY").unwrap_or(0), moment.second);
        if months > 0 && rest(b) < rest(a) {
            months -= 1;
        } else if months < 0 && rest(b) > rest(a) {
            months += 1;
        }
        months
    };
    Some(match unit {
        "MICROSECOND" => seconds * 1_000_000 + b.micro - a.micro,
        "SECOND" => seconds,
        "MINUTE" => seconds / 60,
        "HOUR" => seconds / 3600,
        "DAY" => seconds / 86_400,
        "WEEK" => seconds / 604_800,
        "MONTH" => months(),
        "QUARTER" => months() / 3,
        "YEAR" => months() / 12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        Moment::parse(text).unwrap()
    }

    #[test]
    fn dates_survive_the_way_to_days_and_back() {
        for text in ["1970-01-01", "2000-02-29", "2026-11-21", "0001-01-01", "9999-12-31"] {
            assert_eq!(at(text).date(), text);
        }
        assert_eq!(at("1970-01-02 00:00:01").unix(), 86_401);
        assert_eq!(at("20261121205553").text(), "2026-11-21 20:55:53");
        assert!(Moment::parse("2026-02-30").is_none());
        assert!(Moment::parse("yesterday").is_none());
    }

    #[test]
    fn units_are_added_as_the_calendar_has_them() {
        assert_eq!(at("2026-01-31").add(1.0, "MONTH").unwrap().text(), "2026-02-28");
        assert_eq!(at("2026-11-21").add(-1.0, "DAY").unwrap().text(), "2026-11-20");
        assert_eq!(at("2026-12-31 23:59:59").add(1.0, "SECOND").unwrap().text(), "2027-01-01 00:00:00");
        assert!(at("2026-11-21").add(1e18, "YEAR").is_none());
    }

    #[test]
    fn formats_and_differences_are_mysqls() {
        let moment = at("2026-11-21 20:05:03");
        assert_eq!(moment.format("%W %d.%m.%y %H:%i:%s %p %h"), "Saturday 21.11.26 20:05:03 PM 08");
        assert_eq!(difference("MONTH", at("2026-01-31"), at("2026-02-28")), Some(0));
        assert_eq!(difference("DAY", at("2026-11-21"), at("2026-11-20 23:00:00")), Some(0));
        assert_eq!(moment.unit("DAYOFWEEK"), Some(7));
    }
}
