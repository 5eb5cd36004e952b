//! A kernel link as text: a link, and what only packets can suffer.
//!
//! ```text
//! 100mbit,1.4ms,loss=0.1%,jitter=0.2ms
//! └────┬──────┘ │         └ up to this much later, each packet by itself
//!      │        └ share of the packets that vanish, each way
//!      └ as in `link::text`
//! ```
//!
//! Invariants: what is written can be read again and is the same link.

use std::fmt;
use std::time::Duration;

use super::{KernelLink, KernelLinkFault, KernelLinkTextCause};
use crate::link::{LinkTextCause, text};

pub(super) fn parse(text: &str) -> Result<KernelLink, KernelLinkFault> {
    parts(text).map_err(|cause| KernelLinkFault::Text { text: text.to_owned(), cause })
}

fn parts(text: &str) -> Result<KernelLink, KernelLinkTextCause> {
    let mut positional = Vec::new();
    let (mut loss, mut jitter) = (None, None);
    for part in text.split(',').map(str::trim) {
        let Some((name, value)) = part.split_once('=') else {
            positional.push(part);
            continue;
        };
        let value = value.trim().to_ascii_lowercase();
        let is_second = match name.trim().to_ascii_lowercase().as_str() {
            "loss" => loss.replace(loss_ppm(&value)?).is_some(),
            "jitter" => jitter.replace(time(&value)?).is_some(),
            name => return Err(KernelLinkTextCause::Unknown { part: name.to_owned() }),
        };
        if is_second {
            return Err(KernelLinkTextCause::Twice { part: name.trim().to_owned() });
        }
    }
    Ok(KernelLink {
        link: text::parts(&positional.join(","))?,
        loss_ppm: loss.unwrap_or(0),
        jitter: jitter.unwrap_or(Duration::ZERO),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
fn loss_ppm(part: &str) -> Result<u32, KernelLinkTextCause> {
    let (number, unit) = text::number_and_unit(part)?;
    if unit != "%" {
        return Err(KernelLinkTextCause::LossUnit { part: part.to_owned() });
    }
    if !(1e-4..=50.0).contains(&number) {
        return Err(KernelLinkTextCause::LossRange { part: part.to_owned() });
    }
    Ok((number * PPM_PER_PERCENT).round() as u32)
}

fn time(part: &str) -> Result<Duration, KernelLinkTextCause> {
    let unfit = |cause| match cause {
        LinkTextCause::RoundTripUnit { part } => KernelLinkTextCause::JitterUnit { part },
        LinkTextCause::RoundTripRange { part } => KernelLinkTextCause::JitterRange { part },
        cause => cause.into(),
    };
    let time = text::round_trip(part).map_err(unfit)?;
    if time > JITTER_MAX {
        return Err(KernelLinkTextCause::JitterRange { part: part.to_owned() });
    }
    Ok(time)
}

pub(super) fn write(link: &KernelLink, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", link.link)?;
    if link.loss_ppm > 0 {
        write!(f, ",loss={}%", f64::from(link.loss_ppm) / PPM_PER_PERCENT)?;
    }
    if !link.jitter.is_zero() {
        f.write_str(",jitter=")?;
        text::write_time(link.jitter, f)?;
    }
    Ok(())
}

const PPM_PER_PERCENT: f64 = 1e4;
/// Far beyond any network; its nanoseconds fit 32 bits, which one random number has.
const JITTER_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;

    #[test]
    fn kernel_links_are_read_as_people_write_them() {
        let plain = KernelLink::from(Link::new(Some(12_500_000), Duration::from_micros(1400)));
        for (text, loss_ppm, jitter_us) in [
            ("100mbit,1.4ms", 0, 0),
            ("100mbit,1.4ms,loss=0.1%", 1000, 0),
            ("100Mbit, 1.4 ms, Loss = 2 %, jitter=0.2ms", 20_000, 200),
            ("100mbit,1.4ms,jitter=50us,loss=0.0001%", 1, 50),
            ("100mbit,jitter=1s,1.4ms", 0, 1_000_000),
        ] {
            let expected = KernelLink { loss_ppm, jitter: Duration::from_micros(jitter_us), ..plain };
            assert_eq!(KernelLink::parse(text).unwrap(), expected, "{text}");
        }
        let unlimited = KernelLink::parse("unlimited,loss=1%").unwrap();
        assert_eq!(unlimited, KernelLink { loss_ppm: 10_000, ..KernelLink::from(Link::UNLIMITED) });
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["unlimited", "1gbit", "100mbit,1.4ms,loss=0.1%", "10mbit,40ms,loss=12.5%,jitter=200us"] {
            assert_eq!(KernelLink::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_say_which_part_is_wrong_and_what_would_be_right() {
        for (text, part) in [
            ("", "it is empty"),
            ("loss=1%", "it is empty"),
            ("100mb", "the rate '100mb' does not end in kbit, mbit or gbit"),
            ("1gbit,1ms,2ms,loss=1%", "'2ms' is left over after the round trip"),
            ("1gbit,loss=0.1", "the loss '0.1' does not end in %"),
            ("1gbit,loss=60%", "the loss '60%' is not between 0.0001% and 50%"),
            ("1gbit,loss=some%", "'some%' does not begin with a number above 0"),
            ("1gbit,jitter=5", "the jitter '5' does not end in us, ms or s"),
            ("1gbit,jitter=2s", "the jitter '2s' is above 1s"),
            ("1gbit,jitter=61s", "the jitter '61s' is above 1s"),
            ("1gbit,reorder=1%", "'reorder' is not known; there are loss=… and jitter=…"),
            ("1gbit,loss=1%,loss=2%", "'loss' is there twice"),
        ] {
            let message = KernelLink::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("kernel link '{text}': ")), "{message}");
            assert!(message.contains(part), "{message}");
            assert!(message.contains("for example '1gbit', '100mbit,1.4ms' or"), "{message}");
        }
    }
}
