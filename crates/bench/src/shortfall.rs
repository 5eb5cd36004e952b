//! Where a link is not what was wished: one rule, for the terminal while it is calibrated and for every report.
//!
//! Invariants: nothing is told of a rate that nobody promised; the remedy is of the link's own kind.
//!
//! Not here: measuring (`calibrate`), what a link promises (`record::LinkPromise`).

use std::fmt;

use crate::record::LinkCheck;
use crate::report::number::{printable, short};

/// What a link lacks.
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
        let text = rate(check).or_else(|| round_trip(check))?;
        let text = format!("{} {text}", printable(&check.link));
        Some(Self { text, remedy: remedy(&check.kind) })
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

fn round_trip(check: &LinkCheck) -> Option<String> {
    let (wished_ms, achieved_ms) = (check.wished_round_trip_ms, check.achieved_round_trip_ms);
    // Twice half the jitter is what both ways add on average.
    let jitter_ms = check.promise().jitter_ms;
    if achieved_ms <= (wished_ms + jitter_ms) * ROUND_TRIP_MAX + ROUND_TRIP_GRACE_MS {
        return None;
    }
    let jitter = if jitter_ms > 0.0 { format!(" and {} of jitter", short(jitter_ms)) } else { String::new() };
    Some(format!("took {} ms there and back instead of {}{jitter}", short(achieved_ms), short(wished_ms)))
}

/// By what carries the link's bytes.
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

/// Of what TCP can have: five percent are what links may differ by.
const RATE_SHARE_MIN: f64 = 0.95;

/// A timer that is late, not a link.
const ROUND_TRIP_MAX: f64 = 1.2;

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
    fn a_link_without_a_rate_has_nothing_to_reach() {
        assert_eq!(Shortfall::of(&link_check("unlimited", None, 5.0, (0.0, 0.1))), None);
    }
}
