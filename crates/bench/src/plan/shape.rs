//! Claims of the published measurements, held against ours: which is faster, and by how much.
//!
//! Invariants: two ratios agree when both are on the same side of 1, or both at it; how far from it is shown and never
//! judged, because the machines are not the same, but where it is another thing altogether that is said.

use super::{Agreement, Finding, nearest};
use crate::record::{Better, Cell, Metric};
use crate::results::Results;
use crate::stats::Estimate;

/// "This is so many times faster than that."
pub(super) struct Claim<'a> {
    /// In a sentence.
    pub(super) claim: String,
    /// How many times faster it was published to be; below 1 is slower.
    pub(super) published: f64,
    /// What is faster or slower.
    pub(super) cell: &'a Cell,
    /// Than what.
    pub(super) base: &'a Cell,
    /// In what.
    pub(super) metric: Metric,
    /// Why it may differ here.
    pub(super) why: &'a str,
}

impl Claim<'_> {
    /// Holds it against what was measured.
    pub(super) fn hold(self, results: &Results) -> Finding {
        let published = gain(self.published);
        let [cell, base] = [self.cell, self.base].map(|cell| nearest(results, cell));
        let Some(ratio) = results.ratio(&cell, &base, self.metric) else {
            return Finding {
                claim: self.claim,
                published,
                measured: "not measured".to_owned(),
                agreement: Agreement::NotMeasured,
                why: Some(missing(results, &cell)),
            };
        };
        // A ratio of times is upside down: less is faster.
        let faster = match self.metric.better() {
            Better::Less => inverted(&ratio),
            Better::More | Better::Neither => ratio,
        };
        let over = if cell.link == self.cell.link { String::new() } else { format!(" over {}", cell.link) };
        if !faster.has_interval() {
            return Finding {
                claim: self.claim,
                published,
                measured: gain(faster.value) + &over,
                agreement: Agreement::Undecided,
                why: Some("A single repetition proves nothing.".to_owned()),
            };
        }
        let agreement = agreement(self.published, faster.low, faster.high);
        Finding {
            claim: self.claim,
            published,
            measured: gain_between(&faster) + &over,
            agreement,
            why: match agreement {
                Agreement::Agrees if is_far(self.published, faster.value) => {
                    Some(format!("In the direction, and not in the size. {}", self.why))
                }
                Agreement::Agrees => None,
                _ => Some(self.why.to_owned()),
            },
        }
    }
}

/// Why there is no such cell.
fn missing(results: &Results, cell: &Cell) -> String {
    let any = |is: &dyn Fn(&Cell) -> bool| results.cells().iter().any(is);
    if !any(&|it| it.link == cell.link) {
        return format!("No link of this run is like it; --link {} is.", cell.link);
    }
    if !any(&|it| it.link == cell.link && it.threads == cell.threads) {
        return format!("{} threads are not measured at this scale.", cell.threads);
    }
    if !any(&|it| it.link == cell.link && it.tls == cell.tls) {
        return "TLS is measured with a private server, whose certificates are known.".to_owned();
    }
    format!("This database was not measured with {}: it has none, or the cell failed.", cell.setting)
}

/// On the same side of 1, or both at it.
fn agreement(published: f64, low: f64, high: f64) -> Agreement {
    let side = |ratio: f64| {
        if ratio > 1.0 + LEVEL {
            1
        } else if ratio < 1.0 - LEVEL {
            -1
        } else {
            0
        }
    };
    match (side(low), side(high)) {
        (low, high) if low == high && low == side(published) => Agreement::Agrees,
        (low, high) if low == high => Agreement::Differs,
        (low, high) if low <= side(published) && side(published) <= high => Agreement::Undecided,
        _ => Agreement::Differs,
    }
}

/// Whether nobody would call the one the size of the other.
fn is_far(published: f64, measured: f64) -> bool {
    (published / measured).max(measured / published) > FAR
}

fn gain(ratio: f64) -> String {
    if ratio >= 1.0 { format!("{ratio:.2}x faster") } else { format!("{:.2}x slower", 1.0 / ratio) }
}

/// With its interval, told in the same direction, and how sure that is where it is less than usual.
fn gain_between(ratio: &Estimate) -> String {
    let told = if ratio.value >= 1.0 { *ratio } else { inverted(ratio) };
    format!("{} ({:.2} to {:.2}{})", gain(ratio.value), told.low, told.high, told.doubt())
}

/// The other's in terms of the one.
fn inverted(ratio: &Estimate) -> Estimate {
    Estimate { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..*ratio }
}

/// Within it two are level.
const LEVEL: f64 = 0.05;
/// Other machines and versions make a factor of 2 or so.
const FAR: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Setting};
    use crate::results::fixture;

    /// zlib against none, published over `unlimited` as twice as slow.
    fn finding(link: &str, times: &[[f64; 2]]) -> Finding {
        let of = |link, setting| fixture::cell(link, Path::Direct, setting);
        let samples = times.iter().flat_map(|[none, zlib]| {
            [(of(link, Setting::None), Metric::TimeS, *none), (of(link, Setting::Zlib), Metric::TimeS, *zlib)]
        });
        let claim = Claim {
            claim: "zlib loses".to_owned(),
            published: 0.5,
            cell: &of("unlimited", Setting::Zlib),
            base: &of("unlimited", Setting::None),
            metric: Metric::TimeS,
            why: "another machine",
        };
        claim.hold(&Results::of(&fixture::records_of(samples)))
    }

    #[test]
    fn a_claim_is_held_over_the_nearest_link_and_by_more_than_one_repetition() {
        let twice = [[1.0, 1.5], [1.0, 1.6], [1.0, 1.5], [1.0, 1.6]];
        let kernel = finding("kernel unlimited", &twice);
        assert_eq!(kernel.agreement, Agreement::Agrees);
        assert_eq!(kernel.measured, "1.55x slower (1.50 to 1.60, 88 %) over kernel unlimited");
        let single = finding("unlimited", &twice[..1]);
        assert_eq!((single.agreement, single.measured.as_str()), (Agreement::Undecided, "1.50x slower"));
        let other = finding("10mbit", &twice);
        assert_eq!(other.agreement, Agreement::NotMeasured);
        assert_eq!(other.why.unwrap(), "No link of this run is like it; --link unlimited is.");
    }

    #[test]
    fn a_claim_that_is_held_by_few_repetitions_says_how_sure_it_is() {
        let measured = |repetitions: usize| finding("unlimited", &vec![[1.0, 2.0]; repetitions]).measured;
        assert_eq!(measured(3), "2.00x slower (2.00 to 2.00, 75 %)");
        assert_eq!(measured(5), "2.00x slower (2.00 to 2.00, 94 %)");
        assert_eq!(measured(6), "2.00x slower (2.00 to 2.00)");
    }

    #[test]
    fn a_size_that_is_another_is_said_to_be() {
        let of = |zlib: f64| finding("unlimited", &[[1.0, zlib], [1.0, zlib * 1.01]]);
        assert_eq!((of(5.0).agreement, of(5.0).why), (Agreement::Agrees, None));
        let far = of(7.0);
        assert_eq!(far.agreement, Agreement::Agrees);
        assert_eq!(far.why.unwrap(), "In the direction, and not in the size. another machine");
    }

    #[test]
    fn shapes_agree_by_side_and_not_by_size() {
        assert_eq!(agreement(10.0, 1.5, 1.7), Agreement::Agrees);
        assert_eq!(agreement(0.1, 0.5, 0.7), Agreement::Agrees);
        assert_eq!(agreement(1.0, 0.98, 1.02), Agreement::Agrees);
        assert_eq!(agreement(10.0, 0.5, 0.7), Agreement::Differs);
        assert_eq!(agreement(10.0, 0.98, 1.02), Agreement::Differs);
        assert_eq!(agreement(10.0, 0.9, 1.2), Agreement::Undecided);
        assert_eq!(agreement(0.5, 1.0, 1.2), Agreement::Differs);
    }

    #[test]
    fn slower_is_told_as_such() {
        assert_eq!(gain(2.0), "2.00x faster");
        assert_eq!(gain(0.25), "4.00x slower");
        let between = |value, low, high| gain_between(&Estimate { value, low, high, confidence: 0.97 });
        assert_eq!(between(0.25, 0.2, 0.5), "4.00x slower (2.00 to 5.00)");
        assert_eq!(between(2.0, 0.5, 3.0), "2.00x faster (0.50 to 3.00)");
    }
}
