//! The score's lines, and what is promised.
//!
//! Invariants: a cell's time is right if both of its times are; the sign counts where the measured effect is larger than
//! [`EFFECT_MIN`].

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
    near: u32,
    unshaped: u32,
}

impl Measured {
    /// The change of time, 0.1 for a tenth longer: forecast and measured.
    fn effects(&self) -> [f64; 2] {
        [self.forecast, self.measured].map(|[none, candidate]| candidate / none - 1.0)
    }

    /// Whether both say faster or both slower; nothing where there is nothing to tell.
    fn is_sign_right(&self) -> Option<bool> {
        let [forecast, measured] = self.effects();
        (measured.abs() > EFFECT_MIN).then_some((forecast < 0.0) == (measured < 0.0))
    }

    /// How far the forecast times are from the measured ones: none's and the candidate's.
    fn errors(&self) -> [f64; 2] {
        let error = |at: usize| match (self.forecast.get(at), self.measured.get(at)) {
            (Some(forecast), Some(measured)) => forecast / measured - 1.0,
            _ => f64::NAN,
        };
        [error(0), error(1)]
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
            if one.cell.candidate.packer == Packer::Wirepress {
                score.wirepress.add(one.is_time_right());
            }
            score.near += u32::from(one.cell.is_near);
            score.unshaped += u32::from(one.cell.link.is_unlimited());
        }
        score
    }

    /// Whether it is what is promised.
    pub(super) fn is_kept(&self) -> bool {
        self.sign.is_at_least(SIGN_PROMISED) && self.time.is_at_least(TIME_PROMISED)
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
        line(&mut text, "sign right where the effect exceeds 5 %", self.sign, SIGN_PROMISED);
        line(&mut text, "both times within 15 %", self.time, TIME_PROMISED);
        write!(
            text,
            "of those that wirepress packs: {} of {}\n\
             {} of {} cells within a factor 2 of the border, {} unshaped; {}",
            self.wirepress.right,
            self.wirepress.of,
            self.near,
            self.time.of,
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

/// A cell's line. `*`: near the border. `!`: sign wrong. `~`: a time wrong.
pub(super) fn line(number: u32, measured: &Measured) -> String {
    let cell = &measured.cell;
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
        "{:>3}{} {:<7} {:>9} {:<18} {:>21}   {:>15} {:>15}   {}   {} {}{}",
        number + 1,
        if cell.is_near { "*" } else { " " },
        cell.data,
        format!("{}x{}", cell.exchanges, cell.rows),
        cell.candidate.to_string(),
        link.trim_end(),
        times(measured.forecast),
        times(measured.measured),
        percents(measured.effects()),
        percents(measured.errors()),
        if measured.is_sign_right() == Some(false) { "!" } else { "" },
        if measured.is_time_right() { "" } else { "~" },
    )
}

/// A forecast time is right within it.
const ERROR_MAX: f64 = 0.15;
/// Of the signs.
const SIGN_PROMISED: f64 = 0.95;
/// Of the times.
const TIME_PROMISED: f64 = 0.90;

#[cfg(test)]
mod tests {
    use lab::link::Link;

    use super::*;
    use crate::advise::candidate::Candidate;
    use crate::advise::score::cell::Cell;
    use crate::advise::score::data::Data;

    fn measured(forecast: [f64; 2], measured: [f64; 2]) -> Measured {
        let cell = Cell {
            data: Data::Text,
            rows: 1,
            exchanges: 1,
            candidate: Candidate::NONE,
            link: Link::UNLIMITED,
            is_near: true,
        };
        Measured { cell, forecast, measured }
    }

    #[test]
    fn small_effects_have_no_sign_and_both_times_count() {
        let cells = [
            measured([1.0, 0.5], [1.0, 0.52]),
            measured([1.0, 0.9], [1.0, 1.1]),
            measured([1.0, 0.9], [1.0, 1.02]),
        ];
        let score = Score::of(&cells);
        assert_eq!((score.sign, score.time), (Count { right: 1, of: 2 }, Count { right: 2, of: 3 }));
        assert!(!score.is_kept());
        assert!(score.told(Duration::from_secs(5)).contains("1 of 2, 50 % (promised: 95 %), NOT KEPT"));
        assert!(Score::of(&cells[..1]).is_kept());
        assert!(line(0, &cells[1]).ends_with("!~"));
    }
}
