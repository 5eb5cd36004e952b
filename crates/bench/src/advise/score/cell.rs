//! A cell: its forecast, its measurement.
//!
//! Invariants: the inputs of the forecast are measured without the cell's link, before it; whether a draw becomes a cell
//! hangs on its forecast alone, and nothing is forecast again when the cell has been measured.
//!
//! Not here: what chance says (`draw`), what counts as right (`table`).

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use codec::Algorithm;
use lab::generate::Sequence;
use lab::link::{Address, Link};
use lab::real::Kind;

use super::calibrated;
use super::data::Data;
use super::draw::{Drawn, NEAR_FACTOR, RATE_MAX, RATE_MIN};
use crate::advise::candidate::{Candidate, Packer};
use crate::advise::forecast::{Border, Change, LinkShape, Way, border, change};
use crate::advise::statements::Statement;
use crate::advise::traffic::{self, Contender, Outcome, Source, Timed};
use crate::client::Stop;
use crate::run::{Database, ProxyProcess};

/// What is drawn.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) data: Data,
    pub(super) rows: u32,
    pub(super) exchanges: usize,
    pub(super) candidate: Candidate,
    pub(super) link: Link,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} x {} rows, {}, {}", self.data, self.exchanges, self.rows, self.candidate, self.link)
    }
}

/// What is forecast for a cell, by inputs without its link and the link's calibration.
#[derive(Clone, Debug)]
pub(super) struct Forecast {
    pub(super) cell: Cell,
    /// Of none and of the candidate.
    pub(super) times_s: [f64; 2],
    /// The candidate's time in terms of none's, with the interval that an advice would state.
    pub(super) change: Change,
    /// The link is within a factor 2 of the border that this very forecast has.
    pub(super) is_near: bool,
}

/// What came of a cell.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) forecast: Forecast,
    /// Of none and of the candidate.
    pub(super) times_s: [f64; 2],
}

/// What all cells share.
pub(super) struct Stage<'a> {
    database: &'a Database,
    proxy: &'a ProxyProcess,
    stop: &'a Stop,
    unshaped: LinkShape,
    seed: u64,
}

/// Both ways of a cell, from inputs without its link.
struct Ways {
    none: Way,
    candidate: Way,
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        database: &'a Database,
        proxy: &'a ProxyProcess,
        stop: &'a Stop,
        unshaped: LinkShape,
        seed: u64,
    ) -> Self {
        Self { database, proxy, stop, unshaped, seed }
    }

    /// Draws a cell, and forecasts it. Every fifth and the one behind it are drawn until their forecast says that they are
    /// near its border.
    pub(super) fn forecast(&self, number: u32) -> anyhow::Result<Forecast> {
        let mut sequence = Sequence::new(self.seed, u64::from(number) + 1);
        let wants_near = number % 5 < 2;
        let is_unshaped = number % 10 == 9;
        let mut tries = 0;
        loop {
            let drawn = Drawn::next(&mut sequence, is_unshaped);
            if !self.offers(&drawn.candidate) {
                continue;
            }
            tries += 1;
            if !wants_near || tries > TRIES_MAX {
                return self.forecast_of(drawn.cell(drawn.rate));
            }
            // Where the border is about; the cell there has other rows, and so a border of its own.
            let ways = self.ways(&drawn.cell(RATE_MIDDLE), BORDER_TIME)?;
            if let Border::Below(border) = border(&ways.candidate, &ways.none, drawn.round_trip_s)
                && (RATE_MIN..=RATE_MAX).contains(&(border * drawn.factor))
            {
                let forecast = self.forecast_of(drawn.cell(border * drawn.factor))?;
                if forecast.is_near {
                    return Ok(forecast);
                }
            }
        }
    }

    fn forecast_of(&self, cell: Cell) -> anyhow::Result<Forecast> {
        let ways = self.ways(&cell, INPUT_TIME).with_context(|| format!("{cell}: inputs"))?;
        let shape = if cell.link.is_unlimited() { self.unshaped } else { calibrated(cell.link)? };
        let border = border(&ways.candidate, &ways.none, shape.round_trip_s);
        Ok(Forecast {
            cell,
            times_s: [ways.none.time_s(&shape), ways.candidate.time_s(&shape)],
            change: change(&ways.candidate, &ways.none, &shape),
            is_near: is_near(border, shape.rate_bytes_per_s),
        })
    }

    /// Measures what was forecast.
    pub(super) fn measure(&self, forecast: Forecast) -> anyhow::Result<Measured> {
        let cell = &forecast.cell;
        let timed = self.time(cell, cell.link, MEASURE_TIME).with_context(|| cell.to_string())?;
        Ok(Measured { times_s: timed.map(|timed| timed.pass_s.value), forecast })
    }

    /// Inputs without the link: what `wirepress advise` would know.
    fn ways(&self, cell: &Cell, time: Duration) -> anyhow::Result<Ways> {
        let statements = cell.statements();
        let link = Link::UNLIMITED.open(self.database.address().clone())?;
        let address = Address::from(link.address());
        let (exchanges, _) = traffic::sample(&self.source(&address), &statements, self.seed)?;
        let [none, candidate] = self.time(cell, Link::UNLIMITED, time)?;
        let way = |timed: &Timed, candidate: &Candidate| {
            Way::measured(&exchanges, &none, timed, &timed.packed_bytes, candidate, &self.unshaped)
        };
        Ok(Ways { none: way(&none, &Candidate::NONE), candidate: way(&candidate, &cell.candidate) })
    }

    /// None and the candidate, in turn over a link.
    fn time(&self, cell: &Cell, link: Link, time: Duration) -> anyhow::Result<[Timed; 2]> {
        let direct = link.open(self.database.address().clone())?;
        let proxied = link.open(self.proxy.address())?;
        let (direct, proxied_address) = (Address::from(direct.address()), Address::from(proxied.address()));
        let none = self.source(&direct);
        let packed = match cell.candidate.packer {
            Packer::Server => self.source(&direct),
            Packer::Wirepress => self.source(&proxied_address),
        };
        let contender =
            Contender { source: &packed, compression: cell.candidate.compression, codec_s: CODEC_MAX_S };
        let (none, mut outcomes) = traffic::time(&none, &[contender], &cell.statements(), time, |_| {})?;
        let Some(Outcome::Timed(packed)) = outcomes.pop() else {
            bail!("{} can't be timed: its passes take too long", cell.candidate)
        };
        Ok([none, packed])
    }

    fn source<'b>(&'b self, address: &'b Address) -> Source<'b> {
        // The embedded database knows no read-only sessions, and all statements are ours.
        Source { address, account: self.database.account(), allow_writes: true, stop: self.stop }
    }
}

impl Cell {
    fn statements(&self) -> Vec<Statement> {
        vec![Statement::of(self.data.statement(self.rows)); self.exchanges]
    }
}

impl Stage<'_> {
    /// Whether a candidate can be had here: the embedded database packs nothing, MariaDB has no zstd.
    fn offers(&self, candidate: &Candidate) -> bool {
        match (candidate.packer, self.database.private()) {
            (Packer::Wirepress, _) => true,
            (Packer::Server, None) => false,
            (Packer::Server, Some(server)) => {
                server.kind() == Kind::MySql || candidate.compression.algorithm == Algorithm::Zlib
            }
        }
    }
}

/// Whether a rate, bytes per second, is within a factor 2 of the border.
fn is_near(border: Border, rate: f64) -> bool {
    matches!(border, Border::Below(border) if (border / NEAR_FACTOR..=border * NEAR_FACTOR).contains(&rate))
}

/// 100 Mbit/s: for a reply of some megabytes.
const RATE_MIDDLE: f64 = 12.5e6;
/// Where none of so many draws is near a border in the range, as on a very slow database, the cell lies anywhere.
const TRIES_MAX: u32 = 40;
/// Inputs of a forecast.
const INPUT_TIME: Duration = Duration::from_secs(2);
/// Only to know about where the border is.
const BORDER_TIME: Duration = Duration::from_millis(500);
/// None and the candidate, in turn.
const MEASURE_TIME: Duration = Duration::from_secs(6);

/// A cell is small. What its codec takes of a pass is not predicted, since that is what is forecast, and no cell takes so long; three
/// passes of so much fit.
const CODEC_MAX_S: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_within_a_factor_2_of_the_border_and_only_where_there_is_one() {
        for (rate, expected) in [(49.0, false), (50.0, true), (100.0, true), (200.0, true), (201.0, false)] {
            assert_eq!(is_near(Border::Below(100.0), rate), expected, "{rate}");
        }
        assert!(!is_near(Border::Below(100.0), f64::INFINITY));
        assert!(!is_near(Border::Always, 100.0) && !is_near(Border::Never, 100.0));
    }
}
