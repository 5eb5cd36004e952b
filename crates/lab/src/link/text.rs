//! A link as text: `RATE` or `RATE,ROUND_TRIP`.
//!
//! ```text
//! 100mbit,1.4ms
//! │       └ round trip: number and us, ms or s; half each way
//! └ rate of each direction: number and kbit, mbit or gbit (powers of ten, as networks count), or 'unlimited'
//! ```
//!
//! Invariants: what is written can be read again and is the same link.

use std::fmt;
use std::time::Duration;

use super::{Link, LinkFault, LinkTextCause};

pub(super) fn parse(text: &str) -> Result<Link, LinkFault> {
    parts(text).map_err(|cause| LinkFault::Text { text: text.to_owned(), cause })
}

pub(crate) fn parts(text: &str) -> Result<Link, LinkTextCause> {
    let mut parts = text.split(',').map(str::trim);
    let rate = match parts.next() {
        None | Some("") => return Err(LinkTextCause::Empty),
        Some(part) => rate(&part.to_ascii_lowercase())?,
    };
    let round_trip = match parts.next() {
        None => Duration::ZERO,
        Some(part) => round_trip(&part.to_ascii_lowercase())?,
    };
    match parts.next() {
        None => Ok(Link::new(rate, round_trip)),
        Some(part) => Err(LinkTextCause::TooManyParts { part: part.to_owned() }),
    }
}

/// Bytes per second.
fn rate(part: &str) -> Result<Option<u64>, LinkTextCause> {
    if part == "unlimited" {
        return Ok(None);
    }
    let (number, unit) = number_and_unit(part)?;
    let Some((_, bits)) = RATE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(LinkTextCause::RateUnit { part: part.to_owned() });
    };
    let bits_per_s = number * bits;
    if !(1e3..=1e12).contains(&bits_per_s) {
        return Err(LinkTextCause::RateRange { part: part.to_owned() });
    }
    Ok(Some(whole(bits_per_s / 8.0)))
}

pub(crate) fn round_trip(part: &str) -> Result<Duration, LinkTextCause> {
    if part == "0" {
        return Ok(Duration::ZERO);
    }
    let (number, unit) = number_and_unit(part)?;
    let Some((_, seconds)) = TIME_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(LinkTextCause::RoundTripUnit { part: part.to_owned() });
    };
    let nanos = number * seconds * 1e9;
    if nanos > 60e9 {
        return Err(LinkTextCause::RoundTripRange { part: part.to_owned() });
    }
    Ok(Duration::from_nanos(whole(nanos)))
}

pub(crate) fn number_and_unit(part: &str) -> Result<(f64, &str), LinkTextCause> {
    let end = part.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(part.len());
    let (number, unit) = part.split_at(end);
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number, unit.trim())),
        _ => Err(LinkTextCause::NoNumber { part: part.to_owned() }),
    }
}

/// Rounds; the callers have checked the range, far below 2^53.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "range checked by the callers")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

pub(super) fn write(link: &Link, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match link.rate_bytes_per_s {
        None => f.write_str("unlimited")?,
        Some(rate) => {
            let bits = f64_of(rate) * 8.0;
            let (name, unit) =
                RATE_UNITS.iter().rev().find(|(_, unit)| bits >= *unit).unwrap_or(&RATE_UNITS[0]);
            write!(f, "{}{name}", bits / unit)?;
        }
    }
    if !link.round_trip.is_zero() {
        f.write_str(",")?;
        write_time(link.round_trip, f)?;
    }
    Ok(())
}

/// In the largest unit in which it is 1 or more.
pub(crate) fn write_time(time: Duration, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let nanos = time.as_nanos();
    let (name, unit) = match nanos {
        0..1_000_000 => ("us", 1e3),
        1_000_000..1_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    write!(f, "{}{name}", f64_of(u64::try_from(nanos).unwrap_or(u64::MAX)) / unit)
}

#[expect(clippy::cast_precision_loss, reason = "rates and times are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// Name and bits per second.
const RATE_UNITS: [(&str, f64); 3] = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];
/// Name and seconds.
const TIME_UNITS: [(&str, f64); 3] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_people_write_them() {
        for (text, rate, round_trip_us) in [
            ("unlimited", None, 0),
            ("1gbit", Some(125_000_000), 0),
            ("100mbit", Some(12_500_000), 0),
            ("100mbit,1.4ms", Some(12_500_000), 1400),
            ("100Mbit, 1.4 ms", Some(12_500_000), 1400),
            ("10mbit,40ms", Some(1_250_000), 40_000),
            ("2.5gbit,0.2s", Some(312_500_000), 200_000),
            ("56kbit,150us", Some(7_000), 150),
            ("unlimited,10ms", None, 10_000),
            ("1gbit,0", Some(125_000_000), 0),
        ] {
            let link = Link::parse(text).unwrap();
            assert_eq!(link.rate_bytes_per_s, rate, "{text}");
            assert_eq!(link.round_trip, Duration::from_micros(round_trip_us), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["unlimited", "1gbit", "100mbit,1.4ms", "10mbit,40ms", "2.5gbit,1s", "56kbit,150us"] {
            assert_eq!(Link::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_say_which_part_is_wrong_and_what_would_be_right() {
        for (text, part) in [
            ("", "it is empty"),
            ("fast", "'fast' does not begin with a number above 0"),
            ("0mbit", "'0mbit' does not begin with a number above 0"),
            ("100", "the rate '100' does not end in kbit, mbit or gbit"),
            ("100mb", "the rate '100mb' does not end in kbit, mbit or gbit"),
            ("2000gbit", "the rate '2000gbit' is not between 1kbit and 1000gbit"),
            ("1gbit,5", "the round trip '5' does not end in us, ms or s"),
            ("1gbit,-5ms", "'-5ms' does not begin with a number above 0"),
            ("1gbit,61s", "the round trip '61s' is above 60s"),
            ("1gbit,1ms,2ms", "'2ms' is left over after the round trip"),
        ] {
            let message = Link::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("link '{text}': ")), "{message}");
            assert!(message.contains(part), "{message}");
            assert!(message.contains("for example 'unlimited', '1gbit' or '100mbit,1.4ms'"), "{message}");
        }
    }
}
