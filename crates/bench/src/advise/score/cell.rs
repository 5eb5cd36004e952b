//! A cell: what is drawn, its forecast, its measurement.
//!
//! Invariants: the inputs of the forecast are measured without the cell's link, before it.
//!
//! Not here: what counts as right (`table`).

use std::fmt;
use std::time::Duration;

use anyhow::Context;
use codec::Algorithm;
use lab::generate::Sequence;
use lab::link::{Address, Link};
use lab::real::Kind;

use super::calibrated;
use super::data::Data;
use crate::advise::candidate::{COMPRESSIONS, Candidate, Packer};
use crate::advise::forecast::{Border, LinkShape, Way, border};
use crate::advise::statements::Statement;
use crate::advise::traffic::{self, Source, Timed};
use crate::client::{Compression, Stop};
use crate::run::{Database, ProxyProcess};

/// What is drawn.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) data: Data,
    pub(super) rows: u32,
    pub(super) exchanges: usize,
    pub(super) candidate: Candidate,
    pub(super) link: Link,
    /// It was chosen near the border.
    pub(super) is_near: bool,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} x {} rows, {}, {}", self.data, self.exchanges, self.rows, self.candidate, self.link)
    }
}

/// What came of a cell.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) cell: Cell,
    /// Times of none and of the candidate, s.
    pub(super) forecast: [f64; 2],
    pub(super) measured: [f64; 2],
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

    /// Forecasts a cell, and measures it.
    pub(super) fn measure(&self, cell: Cell) -> anyhow::Result<Measured> {
        let ways = self.ways(&cell, INPUT_TIME).with_context(|| format!("{cell}: inputs"))?;
        let shape = if cell.link.is_unlimited() { self.unshaped } else { calibrated(cell.link)? };
        let forecast = [ways.none.time_s(&shape), ways.candidate.time_s(&shape)];
        let timed = self.time(&cell, cell.link, MEASURE_TIME).with_context(|| cell.to_string())?;
        let measured = timed.map(|timed| timed.pass_s.value);
        Ok(Measured { cell, forecast, measured })
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
        let sources = [(&none, Compression::NONE), (&packed, cell.candidate.compression)];
        let mut timed = traffic::time(&sources, &cell.statements(), time, |_| {})?.into_iter().flatten();
        timed.next().zip(timed.next()).map(<[Timed; 2]>::from).context("not everything could be timed")
    }

    fn source<'b>(&'b self, address: &'b Address) -> Source<'b> {
        // The embedded database knows no read-only sessions, and all statements are ours.
        Source { address, account: self.database.account(), allow_writes: true, stop: self.stop }
    }
}

impl Cell {
    /// Draws a cell; every fifth and the one behind it are near the border that is forecast for them.
    pub(super) fn draw(stage: &Stage<'_>, number: u32) -> anyhow::Result<Self> {
        let mut sequence = Sequence::new(stage.seed, u64::from(number) + 1);
        let wants_near = number % 5 < 2;
        let is_unshaped = number % 10 == 9;
        let mut tries = 0;
        loop {
            let data = *pick(&mut sequence, &Data::ALL);
            let is_bulk = sequence.below(3) > 0;
            let candidate = Candidate {
                packer: *pick(&mut sequence, &[Packer::Server, Packer::Wirepress]),
                compression: *pick(&mut sequence, &COMPRESSIONS),
            };
            let rate = log_uniform(&mut sequence, RATE_MIN, RATE_MAX);
            let round_trip_s = log_uniform(&mut sequence, 0.4e-3, 80e-3);
            let (factor, small_bytes) =
                (log_uniform(&mut sequence, 0.5, 2.0), log_uniform(&mut sequence, 2e3, 60e3));
            if !stage.offers(&candidate) {
                continue;
            }
            let cell = |rate: f64, is_near: bool| {
                let link = Link::new(Some(whole(rate)), Duration::from_secs_f64(round_trip_s));
                let link = if is_unshaped { Link::UNLIMITED } else { link };
                let bytes = match (is_bulk, is_unshaped) {
                    (true, true) => BULK_MAX_BYTES,
                    (true, false) => (rate * BULK_S).clamp(BULK_MIN_BYTES, BULK_MAX_BYTES),
                    (false, _) => small_bytes,
                };
                let rows = (whole(bytes) as u32 / data.row_bytes()).clamp(1, data.rows());
                let reply_s = f64::from(rows * data.row_bytes()) / rate + round_trip_s + 1e-3;
                let exchanges = match (is_bulk, is_unshaped) {
                    (true, true) => BULK_UNSHAPED,
                    (true, false) => 1,
                    (false, _) => (whole(PASS_S / reply_s) as usize).clamp(2, 50),
                };
                Self { data, rows, exchanges, candidate, link, is_near }
            };
            tries += 1;
            if !wants_near || tries > TRIES_MAX {
                return Ok(cell(rate, false));
            }
            // What is forecast for this data says where the border is; cells without one are drawn again.
            let ways = stage.ways(&cell(RATE_MIDDLE, false), BORDER_TIME)?;
            if let Border::Below(border) = border(&ways.candidate, &ways.none, round_trip_s)
                && (RATE_MIN..=RATE_MAX).contains(&(border * factor))
            {
                return Ok(cell(border * factor, true));
            }
        }
    }

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

fn pick<'a, T>(sequence: &mut Sequence, all: &'a [T]) -> &'a T {
    &all[sequence.below(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize]
}

fn log_uniform(sequence: &mut Sequence, low: f64, high: f64) -> f64 {
    let part = f64::from(sequence.below(u32::MAX)) / f64::from(u32::MAX);
    low * (high / low).powf(part)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, far below 2^53")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// 5 Mbit/s, bytes per second.
const RATE_MIN: f64 = 625e3;
/// 1 Gbit/s, bytes per second.
const RATE_MAX: f64 = 125e6;
/// 100 Mbit/s: for a reply of some megabytes.
const RATE_MIDDLE: f64 = 12.5e6;
/// Where so many draws have no border in the range, as on a very slow database, the cell lies anywhere.
const TRIES_MAX: u32 = 40;
/// A bulk reply takes the link about this long without compression.
const BULK_S: f64 = 0.6;
const BULK_MIN_BYTES: f64 = 500e3;
const BULK_MAX_BYTES: f64 = 38e6;
/// Without a link a bulk reply takes so little time that one alone is mostly noise.
const BULK_UNSHAPED: usize = 5;
/// A pass of small replies takes about this long.
const PASS_S: f64 = 0.3;
/// Inputs of a forecast.
const INPUT_TIME: Duration = Duration::from_secs(2);
/// Only to know about where the border is.
const BORDER_TIME: Duration = Duration::from_millis(500);
/// None and the candidate, in turn.
const MEASURE_TIME: Duration = Duration::from_secs(6);
