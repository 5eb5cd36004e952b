//! The score's lines, and what is promised.
//!
//! Invariants: a cell's time is right if both of its times are; the sign counts where the measured effect is larger than
//! [`EFFECT_MIN`]; how often the interval held is told, and promised nothing of; fewer cells than the promise speaks of
//! have no score.

use std::fmt::Write;
use std::time::Duration;

use super::ScoreOptions;
use super::cell::Measured;
use crate::advise::candidate::Packer;
use crate::advise::verdict::GAIN_MIN as EFFECT_MIN;
use crate::report::number::{duration, short};

/// How many were right, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    right: u32,
    of: u32,
}

impl Count {
    fn add(&mut self, is_right: bool) {
        self.of += 1;
        self.right += u32::from(is_right);
    }

    fn is_at_least(self, part: f64) -> bool {
        f64::from(self.right) >= part * f64::from(self.of)
    }
}

/// What all cells together say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    sign: Count,
    time: Count,
    /// Of those that wirepress packs.
    wirepress: Count,
    /// Measured changes within the interval of the forecast.
    interval: Count,
    /// Cells near the border of their forecast.
    near: Count,
    unshaped: u32,
}

impl Measured {
    /// The change of time, 0.1 for a tenth longer: forecast and measured.
    fn effects(&self) -> [f64; 2] {
        [self.forecast.times_s, self.times_s].map(|[none, candidate]| candidate / none - 1.0)
    }

    /// Whether both say faster or both slower; nothing where there is nothing to tell.
    fn is_sign_right(&self) -> Option<bool> {
        let [forecast, measured] = self.effects();
        (measured.abs() > EFFECT_MIN).then_some((forecast < 0.0) == (measured < 0.0))
    }

    /// How far the forecast times are from the measured ones: none's and the candidate's.
    fn errors(&self) -> [f64; 2] {
        let [none, candidate] = self.forecast.times_s;
        let [measured_none, measured_candidate] = self.times_s;
        [none / measured_none - 1.0, candidate / measured_candidate - 1.0]
    }

    /// Whether the interval that an advice would state held what was measured.
    fn is_within_interval(&self) -> bool {
        let [none, candidate] = self.times_s;
        (self.forecast.change.low..=self.forecast.change.high).contains(&(candidate / none))
    }

    fn is_time_right(&self) -> bool {
        self.errors().iter().all(|error| error.abs() <= ERROR_MAX)
    }
}

impl Score {
    /// Of all cells.
    pub(super) fn of(measured: &[Measured]) -> Self {
        let mut score = Self::default();
        for one in measured {
            if let Some(is_right) = one.is_sign_right() {
                score.sign.add(is_right);
            }
            score.time.add(one.is_time_right());
            if one.forecast.cell.candidate.packer == Packer::Wirepress {
                score.wirepress.add(one.is_time_right());
            }
            score.interval.add(one.is_within_interval());
            score.near.add(one.forecast.is_near);
            score.unshaped += u32::from(one.forecast.cell.link.is_unlimited());
        }
        score
    }

    /// Whether it is what is promised.
    pub(super) fn is_kept(&self) -> bool {
        self.sign.is_at_least(SIGN_PROMISED) && self.time.is_at_least(TIME_PROMISED)
    }

    /// Whether there are as many cells as the promise speaks of.
    pub(super) fn is_score(&self) -> bool {
        self.time.of >= ScoreOptions::CELLS
    }

    /// Whether it says anything: enough cells were near their border.
    pub(super) fn is_test(&self) -> bool {
        self.near.is_at_least(NEAR_WANTED)
    }

    /// In words.
    pub(super) fn told(&self, took: Duration) -> String {
        let mut text = String::new();
        let line = |text: &mut String, what: &str, count: Count, promised: f64| {
            let part = if count.of == 0 { 1.0 } else { f64::from(count.right) / f64::from(count.of) };
            // A String takes everything.
            writeln!(
                text,
                "{what}: {} of {}, {:.0} % (promised: {:.0} %){}",
                count.right,
                count.of,
                part * 100.0,
                promised * 100.0,
                if count.is_at_least(promised) { "" } else { ", NOT KEPT" }
            )
            .ok();
        };
        text.push('\n');
        if !self.is_score() {
            writeln!(text, "No score: fewer than {} cells.", ScoreOptions::CELLS).ok();
        }
        line(&mut text, "sign right where the effect exceeds 5 %", self.sign, SIGN_PROMISED);
        line(&mut text, "both times within 15 %", self.time, TIME_PROMISED);
        write!(
            text,
            "of those that wirepress packs: {} of {}\n\
             the interval held the measured change in {} of {}\n\
             {} of {} cells within a factor 2 of the border that was forecast for them (wanted: a third){}, {} unshaped; {}",
            self.wirepress.right,
            self.wirepress.of,
            self.interval.right,
            self.interval.of,
            self.near.right,
            self.near.of,
            if self.is_test() { "" } else { ", TOO FEW" },
            self.unshaped,
            duration(took.as_secs_f64())
        )
        .ok();
        text
    }
}

/// What stands above the lines.
pub(super) fn head(database: &str, options: &ScoreOptions) -> String {
    format!(
        "Forecasts of {} cells, seed {}, on {database}.\n\n\
         {:>4} {:<7} {:>9} {:<18} {:>21}   {:>15} {:>15}   {:>6} {:>6}   {:>6} {:>6}\n\
         {:>4} {:<7} {:>9} {:<18} {:>21}   {:>15} {:>15}   {:>6} {:>6}   {:>6} {:>6}",
        options.cells,
        options.seed,
        "",
        "",
        "",
        "",
        "",
        "s forecast",
        "s measured",
        "change",
        "%",
        "error",
        "%",
        "cell",
        "data",
        "rows",
        "candidate",
        "link",
        "none  packed",
        "none  packed",
        "fore-",
        "meas.",
        "none",
        "packed",
    )
}

/// A cell's line. `*`: near its border. `!`: sign wrong. `~`: a time wrong. `|`: outside of the interval.
pub(super) fn line(number: u32, measured: &Measured) -> String {
    let Measured { forecast, times_s } = measured;
    let cell = &forecast.cell;
    let times = |[none, packed]: [f64; 2]| format!("{} {:>7}", short(none), short(packed));
    let percents = |[a, b]: [f64; 2]| format!("{:>+6.0} {:>+6.0}", a * 100.0, b * 100.0);
    let link = format!(
        "{} {}",
        cell.link.rate_bytes_per_s.map_or_else(
            || "unlimited".to_owned(),
            |rate| format!("{} Mbit/s", short(rate as f64 * 8.0 / 1e6))
        ),
        if cell.link.round_trip.is_zero() {
            String::new()
        } else {
            format!("{} ms", short(cell.link.round_trip.as_secs_f64() * 1e3))
        }
    );
    format!(
        "{:>3}{} {:<7} {:>9} {:<18} {:>21}   {:>15} {:>15}   {}   {} {}{}{}",
        number + 1,
        if forecast.is_near { "*" } else { " " },
        cell.data,
        format!("{}x{}", cell.exchanges, cell.rows),
        cell.candidate.to_string(),
        link.trim_end(),
        times(forecast.times_s),
        times(*times_s),
        percents(measured.effects()),
        percents(measured.errors()),
        if measured.is_sign_right() == Some(false) { "!" } else { "" },
        if measured.is_time_right() { "" } else { "~" },
        if measured.is_within_interval() { "" } else { "|" },
    )
}

/// A forecast time is right within it.
const ERROR_MAX: f64 = 0.15;
/// Of the signs.
const SIGN_PROMISED: f64 = 0.95;
/// Of the times.
const TIME_PROMISED: f64 = 0.90;
/// Of the cells, near their border: far from it anybody is right.
const NEAR_WANTED: f64 = 1.0 / 3.0;

#[cfg(test)]
mod tests {
    use lab::link::Link;

    use super::*;
    use crate::advise::candidate::Candidate;
    use crate::advise::forecast::Change;
    use crate::advise::score::cell::{Cell, Forecast};
    use crate::advise::score::data::Data;

    /// Forecast and measured times; the interval is 5 % to each side.
    fn measured(forecast_s: [f64; 2], times_s: [f64; 2], is_near: bool) -> Measured {
        let cell = Cell {
            data: Data::Text,
            rows: 1,
            exchanges: 1,
            candidate: Candidate::NONE,
            link: Link::UNLIMITED,
        };
        let value = forecast_s[1] / forecast_s[0];
        let change = Change { value, low: value * 0.95, high: value * 1.05 };
        Measured { forecast: Forecast { cell, times_s: forecast_s, change, is_near }, times_s }
    }

    #[test]
    fn small_effects_have_no_sign_and_both_times_count() {
        let cells = [
            measured([1.0, 0.5], [1.0, 0.52], true),
            measured([1.0, 0.9], [1.0, 1.1], true),
            measured([1.0, 0.9], [1.0, 1.02], true),
        ];
        let score = Score::of(&cells);
        assert_eq!((score.sign, score.time), (Count { right: 1, of: 2 }, Count { right: 2, of: 3 }));
        assert!(!score.is_kept());
        assert!(score.told(Duration::from_secs(5)).contains("1 of 2, 50 % (promised: 95 %), NOT KEPT"));
        // A promise that one cell keeps is no score.
        let single = Score::of(&cells[..1]);
        assert!(single.is_kept() && !single.is_score());
        assert!(line(0, &cells[1]).ends_with("!~|"));
    }

    #[test]
    fn an_interval_holds_a_change_and_not_the_times() {
        // Both times are off by a fifth, the change by nothing; then the other way round.
        let cells = [measured([1.2, 0.6], [1.0, 0.5], true), measured([1.0, 0.5], [1.0, 0.53], true)];
        let score = Score::of(&cells);
        assert_eq!((score.interval, score.time), (Count { right: 1, of: 2 }, Count { right: 1, of: 2 }));
        let told = score.told(Duration::from_secs(5));
        assert!(told.contains("\nthe interval held the measured change in 1 of 2\n"), "{told}");
        assert!(line(0, &cells[0]).ends_with('~') && line(0, &cells[1]).ends_with('|'));
    }

    #[test]
    fn fewer_cells_than_the_promise_speaks_of_are_no_score() {
        let score = |cells: usize| Score::of(&vec![measured([1.0, 0.5], [1.0, 0.5], true); cells]);
        let told = |cells| score(cells).told(Duration::from_secs(5));
        assert!(!score(39).is_score() && score(39).is_kept() && score(39).is_test());
        assert!(told(39).contains("\nNo score: fewer than 40 cells.\n"), "{}", told(39));
        assert!(score(40).is_score() && !told(40).contains("No score"));
    }

    #[test]
    fn a_third_of_the_cells_has_to_be_near_their_border() {
        let score = |near: usize| {
            let cells: Vec<Measured> =
                (0..40).map(|place| measured([1.0, 0.5], [1.0, 0.5], place < near)).collect();
            Score::of(&cells)
        };
        assert!(score(14).is_test() && !score(13).is_test());
        assert!(score(13).is_kept());
        let told = score(13).told(Duration::from_secs(5));
        assert!(told.contains("13 of 40 cells") && told.contains("(wanted: a third), TOO FEW"), "{told}");
        assert!(!score(14).told(Duration::from_secs(5)).contains("TOO FEW"));
    }
}
