//! Where a link is not what was wished: one rule, for the terminal while it is calibrated and for every report.
//!
//! Invariants: nothing is told of a rate that nobody promised; the remedy is of the link's own kind.
//!
//! Not here: measuring (`calibrate`), what a link promises (`record::LinkPromise`).

use std::fmt;

use crate::record::LinkCheck;
use crate::report::number::{printable, short};

/// In what a link is not what was wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shortfall {
    /// Which link, how much, and what was wished; the end of a sentence.
    pub(crate) text: String,
    /// What to do, in a sentence.
    pub(crate) remedy: &'static str,
}

impl Shortfall {
    /// The rate's, or else the round trip's; none of a link that does what was wished.
    pub(crate) fn of(check: &LinkCheck) -> Option<Self> {
        let slow = || rate(check).or_else(|| late(check)).map(|text| (text, remedy(&check.kind)));
        let (text, remedy) = slow().or_else(|| Some((early(check)?, EARLY)))?;
        Some(Self { text: format!("{} {text}", printable(&check.link)), remedy })
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the link {}. {}", self.text, self.remedy)
    }
}

fn rate(check: &LinkCheck) -> Option<String> {
    let promise = check.promise();
    let share = check.rate_share().filter(|share| promise.is_rate_promised && *share < RATE_SHARE_MIN)?;
    let can_have = check.wished_mbit_per_s? * promise.payload_share;
    let (achieved, percent) = (short(check.achieved_mbit_per_s), share * 100.0);
    Some(format!(
        "carried {achieved} Mbit/s, {percent:.1} % of the {} that TCP can have of it",
        short(can_have)
    ))
}

fn late(check: &LinkCheck) -> Option<String> {
    let most_ms = expected_ms(check) * ROUND_TRIP_FACTOR + ROUND_TRIP_GRACE_MS;
    (check.achieved_round_trip_ms > most_ms).then(|| round_trip(check))
}

/// The grace is for what is added, and nothing takes that away.
fn early(check: &LinkCheck) -> Option<String> {
    let least_ms = expected_ms(check) / ROUND_TRIP_FACTOR;
    (check.achieved_round_trip_ms < least_ms).then(|| round_trip(check))
}

/// Twice half the jitter is what both ways add on average.
fn expected_ms(check: &LinkCheck) -> f64 {
    check.wished_round_trip_ms + check.promise().jitter_ms
}

fn round_trip(check: &LinkCheck) -> String {
    let (wished_ms, achieved_ms) = (check.wished_round_trip_ms, check.achieved_round_trip_ms);
    let jitter_ms = check.promise().jitter_ms;
    let jitter = if jitter_ms > 0.0 { format!(" and {} of jitter", short(jitter_ms)) } else { String::new() };
    format!("took {} ms there and back instead of {}{jitter}", short(achieved_ms), short(wished_ms))
}

/// Of a link that is too slow, by what carries its bytes.
fn remedy(kind: &str) -> &'static str {
    match kind {
        "user space" => {
            "A link in user space needs a core of its own: leave the machine alone, or wish for a slower link."
        }
        "kernel (TUN)" => {
            "A TUN link's two threads need cores that nobody else uses: leave the machine alone, or wish for a slower link."
        }
        "kernel (tbf)" => {
            "This link is the kernel's own and needs no threads: leave the machine alone, or wish for a slower link."
        }
        _ => "Leave the machine and the network alone, and measure again.",
    }
}

/// Of a link whose round trip is too short.
const EARLY: &str = "A link takes off what its threads are usually woken late, and they were woken sooner: leave the machine alone \
                     and measure again, or wish for a longer round trip.";

/// Of what TCP can have: five percent are what links may differ by.
const RATE_SHARE_MIN: f64 = 0.95;

/// A timer that is late, or taken for one, and not a link.
const ROUND_TRIP_FACTOR: f64 = 1.2;

/// What a loopback's ping-pong itself takes on a slow machine.
const ROUND_TRIP_GRACE_MS: f64 = 0.3;

#[cfg(test)]
mod tests {
    use lab::kernel_link::KernelLink;

    use super::*;
    use crate::record::LinkPromise;
    use crate::results::fixture::link_check;

    /// A kernel link without a name's help.
    fn kernel(link: &str, achieved_mbit_per_s: f64, round_trip_ms: (f64, f64)) -> LinkCheck {
        let promise = LinkPromise::of_kernel(&KernelLink::parse(link).unwrap());
        LinkCheck {
            kind: "kernel (TUN)".to_owned(),
            promise: Some(promise),
            ..link_check(link, Some(100.0), achieved_mbit_per_s, round_trip_ms)
        }
    }

    #[test]
    fn below_95_percent_of_what_tcp_can_have_is_too_little() {
        let user_space = |achieved| Shortfall::of(&link_check("100mbit", Some(100.0), achieved, (0.0, 0.1)));
        assert_eq!(user_space(95.5), None);
        let slow = user_space(93.0).unwrap();
        assert_eq!(slow.text, "100mbit carried 93.0 Mbit/s, 93.0 % of the 100 that TCP can have of it");
        assert!(slow.to_string().contains("A link in user space needs a core of its own"), "{slow}");
        // Headers are no want of rate.
        assert_eq!(Shortfall::of(&kernel("100mbit,1ms", 91.5, (1.0, 1.1))), None);
        let slow = Shortfall::of(&kernel("100mbit,1ms", 90.0, (1.0, 1.1))).unwrap();
        assert!(slow.text.contains("94.1 % of the 95.6 that") && slow.remedy.contains("TUN"), "{slow}");
    }

    #[test]
    fn over_a_link_that_loses_packets_no_rate_is_promised() {
        assert_eq!(Shortfall::of(&kernel("100mbit,1ms,loss=1%", 20.0, (1.0, 1.1))), None);
        assert!(Shortfall::of(&kernel("100mbit,1ms,loss=1%", 20.0, (1.0, 1.9))).is_some());
    }

    #[test]
    fn the_jitter_that_was_asked_for_is_not_late() {
        assert_eq!(Shortfall::of(&kernel("100mbit,1ms,jitter=5ms", 95.0, (1.0, 6.1))), None);
        let late = Shortfall::of(&kernel("100mbit,1ms,jitter=5ms", 95.0, (1.0, 9.0))).unwrap();
        assert!(
            late.text.ends_with("took 9.00 ms there and back instead of 1.00 and 5.00 of jitter"),
            "{late}"
        );
        assert!(Shortfall::of(&kernel("100mbit,1ms", 95.0, (1.0, 6.1))).is_some());
    }

    #[test]
    fn a_round_trip_that_is_too_short_is_told_too_and_has_no_grace() {
        let link = |round_trip_ms| Shortfall::of(&link_check("1gbit,500us", Some(1e3), 1e3, round_trip_ms));
        let short = link((0.5, 0.35)).unwrap();
        assert_eq!(short.text, "1gbit,500us took 0.35 ms there and back instead of 0.50");
        assert!(short.remedy.contains("woken sooner"), "{short}");
        assert_eq!([link((0.5, 0.42)), link((0.5, 0.89)), link((0.0, 0.01))], [None, None, None]);
        assert!(link((0.5, 0.91)).unwrap().remedy.contains("needs a core of its own"));
        // Jitter is waited for as well.
        assert_eq!(Shortfall::of(&kernel("100mbit,1ms,jitter=5ms", 95.0, (1.0, 5.1))), None);
        assert!(Shortfall::of(&kernel("100mbit,1ms,jitter=5ms", 95.0, (1.0, 4.9))).is_some());
    }

    #[test]
    fn a_link_without_a_rate_has_nothing_to_reach() {
        assert_eq!(Shortfall::of(&link_check("unlimited", None, 5.0, (0.0, 0.1))), None);
    }
}
