//! How good the advisor's forecasts are: cells drawn by a seed, forecast without their link, then measured on it.
//!
//! ```text
//!  draw data, size, candidate, link ─▶ inputs without the link ─▶ forecast ─┐
//!  calibrate the link ────────────────────────────────────────────▲        ├─▶ sign right? time within 15 %?
//!                   └▶ none and the candidate in turn over it ──────────────┘   change within the interval?
//! ```
//! Invariants: a forecast sees nothing that was measured over its link but the link's calibration; which cells there are
//! depends on the seed and, for those near the border, on the forecast, never on what a cell took over a link; too few
//! cells near their border are no test, and too few cells no score; nothing of the model was fitted to a cell.
//!
//! Not here: the model (`forecast`); other people's links, this one has no TCP in it (`lab::link`).

mod cell;
mod data;
mod draw;
mod table;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use lab::link::Link;

use self::cell::{Measured, Stage};
use crate::advise::forecast::LinkShape;
use crate::calibrate;
use crate::client::Stop;
use crate::run::{
    Database, DatabaseWish, Place, Policy, PrivateOptions, Progress, ProxyProcess, WirepressOptions,
    server_leg, watch_signals,
};

/// What is asked.
#[derive(Debug, Clone)]
pub struct ScoreOptions {
    /// A private real server, or the embedded one.
    pub database: DatabaseWish,
    /// How many cells.
    pub cells: u32,
    /// Seed of all cells.
    pub seed: u64,
}

impl ScoreOptions {
    /// As many as the promise speaks of, at least.
    pub const CELLS: u32 = 40;
    /// Any.
    pub const SEED: u64 = 1;
}

/// Draws, forecasts, measures, prints.
///
/// # Errors
/// Nothing could be started; an interrupt; too few cells for a score, or too few of them near their border; a score below
/// the promise.
pub fn run(options: &ScoreOptions) -> anyhow::Result<()> {
    if matches!(options.database, DatabaseWish::Url(_)) {
        bail!("advisor-score makes tables of its own, in a private or the embedded database");
    }
    let stop = Stop::new();
    watch_signals(stop.clone()).context("cannot watch for Ctrl-C")?;
    let program: PathBuf =
        std::env::current_exe().context("cannot find this program's own file, to start the proxy")?;
    let start = Instant::now();
    let mut progress = Progress::new("advisor-score", u64::from(options.cells));
    progress.part("starting the database and filling its tables");
    let database = Database::start(&options.database, &PrivateOptions::default(), &stop)?;
    data::fill(&database, &stop)?;
    let proxy = ProxyProcess::wirepress(
        &WirepressOptions {
            program: &program,
            through: &[],
            listen: [127, 0, 0, 1].into(),
            server: database.address(),
            place: Place::Alone,
            policy: Policy::Fixed,
            arguments: &server_leg(None),
        },
        &stop,
    )?;
    progress.part("calibrating the machine without a link");
    // Its rate is that of the ends, which are in every measured time already.
    let unshaped = LinkShape { rate_bytes_per_s: f64::INFINITY, ..calibrated(Link::UNLIMITED)? };
    let stage = Stage::new(&database, &proxy, &stop, unshaped, options.seed);
    progress.print(&table::head(&database.name(), options))?;
    let mut measured: Vec<Measured> = Vec::new();
    for number in 0..options.cells {
        progress.step(format!("drawing cell {}", number + 1));
        let one = stage.forecast(number).and_then(|forecast| {
            progress.step(forecast.cell.to_string());
            stage.measure(forecast)
        });
        if stop.is_wished() {
            bail!("interrupted; everything that was started is stopped");
        }
        let one = one?;
        progress.print(&table::line(number, &one))?;
        measured.push(one);
        progress.done();
    }
    let score = table::Score::of(&measured);
    progress.print(&score.told(start.elapsed()))?;
    if !score.is_score() {
        bail!("no score: fewer than {} cells, of which the promise speaks", ScoreOptions::CELLS);
    }
    if !score.is_kept() {
        bail!("the forecasts are worse than what is promised");
    }
    if !score.is_test() {
        bail!(
            "too few cells were near their border: what is easily forecast tests nothing; another --seed draws others"
        );
    }
    Ok(())
}

/// What a link does on this machine.
fn calibrated(link: Link) -> anyhow::Result<LinkShape> {
    let check = calibrate::user_space(link)?.check;
    Ok(LinkShape {
        rate_bytes_per_s: check.achieved_mbit_per_s * 1e6 / 8.0,
        round_trip_s: check.achieved_round_trip_ms / 1e3,
    })
}
