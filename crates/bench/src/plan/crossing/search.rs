//! The search for a workload's crossing, as its samples tell how far it is.
//!
//! ```text
//!  low     the fastest link at which the best fixed setting wins
//!  middle  √(low · high), three digits              tie: within 3 % of each other, or as near as it came
//!  high    the slowest link at which none wins
//! ```
//! Invariants: depends on the results alone; ends after [`STEPS_MAX`] steps whatever they say, and where a setting can't be
//! measured; a step counts when all of its rounds were tried, and by those rounds alone.
//!
//! Not here: what is measured at each step (`super`).

use lab::kernel_link::KernelLink;
use lab::link::Link;

use crate::plan::never_slower::FIXED;
use crate::record::{Cell, KERNEL, Metric, Path, Setting};
use crate::results::Results;
use crate::stats::median;

/// How far it is.
#[derive(Debug, PartialEq)]
pub(super) enum Search {
    /// This link is measured next.
    GoesOn(String),
    /// It is over.
    Over(Found),
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// There none and this setting, the best, tie.
    At {
        /// As cells name it.
        link: String,
        /// The best fixed one that compresses.
        setting: Setting,
    },
    /// There is none, and why.
    Nowhere(String),
}

impl Search {
    /// Of a workload; none where it isn't measured in this run, or its ends are not yet.
    pub(super) fn of(results: &Results, workload: &str, threads: u32) -> Option<Self> {
        let cell = |link: &str, setting| Cell {
            link: link.to_owned(),
            workload: workload.to_owned(),
            threads,
            path: Path::Wirepress,
            tls: false,
            setting,
        };
        let mut links: Vec<(&str, f64)> = results
            .cells()
            .iter()
            .filter(|cell| cell.workload == workload && cell.threads == threads)
            .filter_map(|cell| Some((cell.link.as_str(), rate_of(&link_of(&cell.link)?))))
            .collect();
        links.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let (slow, fast) = (links.first()?.0, links.last()?.0);
        // Nothing but the search measures these, so they have as many rounds as each of its steps.
        let repetitions = FIXED.iter().map(|setting| results.rounds(&cell(slow, *setting))).max()?;
        let at = |link: &str| At::of(results, repetitions, |setting| cell(link, setting));
        let ends = [at(slow), at(fast)];
        let [At::Measured(gain_slow, best_slow), At::Measured(gain_fast, best_fast)] = ends else {
            return ends.into_iter().find_map(At::failed);
        };
        if gain_slow <= 1.0 + TIE {
            return Some(Self::Over(Found::Nowhere(format!(
                "the best fixed setting, {best_slow}, makes {gain_slow:.2} times none's transactions over {slow}, the \
                 slowest link"
            ))));
        }
        if gain_fast >= 1.0 - TIE {
            return Some(Self::Over(Found::Nowhere(format!(
                "the best fixed setting, {best_fast}, still makes {gain_fast:.2} times none's transactions over {fast}, \
                 the fastest link"
            ))));
        }
        // Beyond what none makes of the fastest link its rate is no limit any more.
        let most = results.median(&cell(fast, Setting::None), Metric::MeanMbPerS)? * 1e6 * BEYOND;
        let (mut low, mut high) = (rate_of(&link_of(slow)?), rate_of(&link_of(fast)?).min(most));
        let mut nearest: Option<(f64, String, Setting)> = None;
        for _ in 0..STEPS_MAX {
            let rate = (low * high).sqrt();
            let name = with_rate(slow, rate)?;
            let (gain, setting) = match at(&name) {
                At::Measured(gain, setting) => (gain, setting),
                At::Failed(why) => return At::Failed(why).failed(),
                At::NotYet => return Some(Self::GoesOn(name)),
            };
            if (gain - 1.0).abs() <= TIE {
                return Some(Self::Over(Found::At { link: name, setting }));
            }
            if gain > 1.0 {
                low = rate;
            } else {
                high = rate;
            }
            let distance = gain.ln().abs();
            if nearest.as_ref().is_none_or(|(least, ..)| distance < *least) {
                nearest = Some((distance, name, setting));
            }
            if high / low < NARROW {
                break;
            }
        }
        // Noise is more than a tie: the step that came nearest stands for it, and its score tells how near it is.
        nearest.map(|(_, link, setting)| Self::Over(Found::At { link, setting }))
    }
}

/// What is known of a link.
enum At {
    /// The best fixed setting's rate of transactions in terms of none's, and which it is that compresses best.
    Measured(f64, Setting),
    /// Not all rounds of all settings were tried.
    NotYet,
    /// No round of a setting succeeded: which one, and where.
    Failed(String),
}

impl At {
    /// By the search's own rounds, which come first: scoring must not move it.
    fn of(results: &Results, repetitions: u32, cell: impl Fn(Setting) -> Cell) -> Self {
        if FIXED.iter().any(|setting| results.rounds(&cell(*setting)) < repetitions) {
            return Self::NotYet;
        }
        let none = cell(Setting::None);
        let mut best: Option<(f64, Setting)> = None;
        for setting in FIXED.into_iter().filter(|setting| *setting != Setting::None) {
            let pairs = results.pairs(&cell(setting), &none, Metric::TransactionsPerS);
            let ratios: Vec<f64> = pairs
                .iter()
                .filter(|pair| pair.repetition < repetitions)
                .map(|pair| pair.of / pair.to.max(1e-9))
                .collect();
            let Some(gain) = median(&ratios) else {
                return Self::Failed(format!(
                    "{setting} could not be measured beside none over {}",
                    none.link
                ));
            };
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, setting));
            }
        }
        best.map_or(Self::NotYet, |(gain, setting)| Self::Measured(gain, setting))
    }

    /// The end of a search that can't go on.
    fn failed(self) -> Option<Search> {
        match self {
            Self::Failed(why) => Some(Search::Over(Found::Nowhere(why))),
            Self::Measured(..) | Self::NotYet => None,
        }
    }
}

/// A cell's link.
pub(super) fn link_of(name: &str) -> Option<Link> {
    match name.strip_prefix(KERNEL) {
        Some(text) => KernelLink::parse(text).ok().map(|kernel| kernel.link),
        None => Link::parse(name).ok(),
    }
}

/// The link of that name with another rate, of three digits.
fn with_rate(name: &str, bytes_per_s: f64) -> Option<String> {
    let bits = bytes_per_s * 8.0;
    let step = 10f64.powf(bits.log10().floor() - 2.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, far below 2^53")]
    let rate = ((bits / step).round() * step / 8.0).round() as u64;
    let with = |link: Link| Link::new(Some(rate), link.round_trip);
    Some(match name.strip_prefix(KERNEL) {
        Some(text) => {
            let kernel = KernelLink::parse(text).ok()?;
            format!("{KERNEL}{}", KernelLink { link: with(kernel.link), ..kernel })
        }
        None => with(Link::parse(name).ok()?).to_string(),
    })
}

fn rate_of(link: &Link) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    link.rate_bytes_per_s.map_or(f64::INFINITY, |rate| rate as f64)
}

/// So near is a tie.
const TIE: f64 = 0.03;
/// Above what none needs the fastest link is no limit; a little more, because it is a mean.
const BEYOND: f64 = 1.5;
/// Between rates that are so near none's times differ by a tie.
const NARROW: f64 = 1.03;
/// From 1 kbit/s to 1 Tbit/s it would be 10.
const STEPS_MAX: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Failure, Records, Sample};
    use crate::results::fixture;

    /// Transactions where the link carries `rate`, a scan has 1 MB, zstd halves it, and packing does 20 MB/s.
    fn speed(rate: f64, setting: Setting) -> f64 {
        match setting {
            Setting::None => rate.min(400e6) / 1e6,
            Setting::Zstd(1) => (2.0 * rate).min(20e6) / 1e6,
            _ => 1.0,
        }
    }

    fn records(links: &[String], speed: fn(f64, Setting) -> f64) -> Records {
        let cells = links.iter().flat_map(|link| FIXED.map(|setting| (link.clone(), setting)));
        let mut records = fixture::records_of(cells.map(|(link, setting)| {
            let rate = rate_of(&link_of(&link).unwrap());
            let (workload, path) = ("scan".to_owned(), Path::Wirepress);
            let cell = Cell { link, workload, threads: 1, path, tls: false, setting };
            (cell, Metric::TransactionsPerS, speed(rate, setting))
        }));
        for sample in &mut records.samples {
            sample.metrics.insert(Metric::MeanMbPerS, 400.0);
        }
        records
    }

    fn search(links: &mut Vec<String>, speed: fn(f64, Setting) -> f64) -> Found {
        loop {
            match Search::of(&Results::of(&records(links, speed)), "scan", 1).unwrap() {
                Search::GoesOn(link) => links.push(link),
                Search::Over(found) => return found,
            }
        }
    }

    #[test]
    fn a_crossing_is_found_by_halving_and_keeps_round_trip_and_kind() {
        let mut links = vec!["kernel 10mbit,500us".to_owned(), "kernel unlimited".to_owned()];
        let Found::At { link, setting } = search(&mut links, speed) else { panic!("{links:?}") };
        assert_eq!(setting, Setting::Zstd(1));
        assert!(link.starts_with("kernel 1") && link.ends_with("mbit,500us"), "{link}");
        // 20 MB/s.
        let rate = rate_of(&link_of(&link).unwrap());
        assert!((19.3e6..20.7e6).contains(&rate), "{link}");
        assert!(links.len() < 12, "{links:?}");
    }

    #[test]
    fn scoring_what_was_found_does_not_move_it() {
        let mut links = vec!["10mbit".to_owned(), "unlimited".to_owned()];
        let found = search(&mut links, speed);
        let Found::At { link, .. } = &found else { panic!() };
        let mut records = records(&links, speed);
        let again: Vec<_> = records
            .samples
            .iter()
            .filter(|sample| &sample.cell.link == link)
            .filter(|sample| matches!(sample.cell.setting, Setting::None | Setting::Zstd(1)))
            .flat_map(|sample| (1..5).map(|repetition| Sample { repetition, ..sample.clone() }))
            .collect();
        for mut sample in again {
            if sample.cell.setting == Setting::Zstd(1) {
                sample.metrics.insert(Metric::TransactionsPerS, 99.0);
            }
            records.samples.push(sample);
        }
        assert_eq!(Search::of(&Results::of(&records), "scan", 1), Some(Search::Over(found)));
    }

    #[test]
    fn where_one_side_always_wins_there_is_no_crossing_and_it_says_why() {
        let ends = || vec!["10mbit,500us".to_owned(), "unlimited".to_owned()];
        let Found::Nowhere(why) =
            search(&mut ends(), |_, setting| if setting == Setting::None { 2.0 } else { 1.9 })
        else {
            panic!()
        };
        assert!(why.contains("0.95 times none's") && why.contains("the slowest link"), "{why}");
        let Found::Nowhere(why) =
            search(&mut ends(), |_, setting| if setting == Setting::None { 1.0 } else { 3.0 })
        else {
            panic!()
        };
        assert!(why.contains("3.00 times none's") && why.contains("the fastest link"), "{why}");
    }

    #[test]
    fn where_noise_is_more_than_a_tie_the_nearest_step_stands_for_it() {
        // It jumps over 1 at 20 MB/s.
        let mut links = vec!["10mbit".to_owned(), "unlimited".to_owned()];
        let found = search(&mut links, |rate, setting| match setting {
            Setting::None => 1.0,
            _ if rate < 20e6 => 1.2,
            _ => 0.7,
        });
        let Found::At { link, .. } = found else { panic!("{found:?}") };
        let rate = rate_of(&link_of(&link).unwrap());
        assert!((1.25e6..20e6).contains(&rate), "{link}, {links:?}");
        assert!(links.len() < 13, "{links:?}");
    }

    #[test]
    fn a_search_whose_last_step_is_half_measured_asks_for_it_again() {
        let mut links = vec!["10mbit".to_owned(), "unlimited".to_owned()];
        let Some(Search::GoesOn(next)) = Search::of(&Results::of(&records(&links, speed)), "scan", 1) else {
            panic!()
        };
        links.push(next.clone());
        let mut records = records(&links, speed);
        records.samples.retain(|sample| sample.cell.link != next || sample.cell.setting != Setting::Zstd(7));
        assert_eq!(Search::of(&Results::of(&records), "scan", 1), Some(Search::GoesOn(next.clone())));
        // It was tried and failed: no other workload waits for it.
        let mut failed = records.clone();
        let cell = Cell { link: next.clone(), setting: Setting::Zstd(7), ..records.samples[0].cell.clone() };
        failed.failures.push(Failure { cell, repetition: 0, reason: "refused".to_owned() });
        let Some(Search::Over(Found::Nowhere(why))) = Search::of(&Results::of(&failed), "scan", 1) else {
            panic!()
        };
        assert_eq!(why, format!("zstd 7 could not be measured beside none over {next}"));
    }

    #[test]
    fn a_step_of_which_a_round_is_missing_is_no_step_yet() {
        let mut links = vec!["10mbit".to_owned(), "unlimited".to_owned()];
        let Some(Search::GoesOn(next)) = Search::of(&Results::of(&records(&links, speed)), "scan", 1) else {
            panic!()
        };
        links.push(next.clone());
        let mut records = records(&links, speed);
        let second: Vec<Sample> = records
            .samples
            .iter()
            .filter(|sample| sample.cell.link != next || sample.cell.setting == Setting::None)
            .map(|sample| Sample { repetition: 1, ..sample.clone() })
            .collect();
        records.samples.extend(second);
        assert_eq!(Search::of(&Results::of(&records), "scan", 1), Some(Search::GoesOn(next)));
    }
}
