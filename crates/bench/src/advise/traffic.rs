//! What is known of a workload: its exchanges, their times under each compression, and samples of their bytes.
//!
//! ```text
//!  statements ─▶ one pass uncompressed that keeps frames   ─▶ Samples
//!             └▶ passes: none, zlib, zstd 1, …, none, …    ─▶ times per statement and compression
//! ```
//! Invariants: memory is bounded, whatever the replies are; every frame of the workload is in the samples with the same
//! probability, and which ones are depends on the seed alone; the time-box is kept but for one statement, and what is
//! too slow to be timed in it is left out.
//!
//! Not here: which statements may be run (`statements`), whose turn it is (`schedule`), what it means (`forecast`).

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::Address;

use super::samples::Samples;
use super::schedule::{NONE, ROUNDS_MIN, Schedule};
use super::statements::Statement;
use crate::client::{Account, Client, ClientFault, Compression, Stop};
use crate::stats::{Estimate, median, median_interval};

/// Where statements are run.
pub(crate) struct Source<'a> {
    /// The server, or what stands before it.
    pub(crate) address: &'a Address,
    /// Who we are.
    pub(crate) account: &'a Account,
    /// Statements may write: the session is left as it is.
    pub(crate) allow_writes: bool,
    /// The wish to stop.
    pub(crate) stop: &'a Stop,
}

impl Source<'_> {
    /// Logs in; the session can then write nothing, unless that is allowed.
    pub(crate) fn connect(&self, compression: Compression) -> Result<Client, ClientFault> {
        let mut client = Client::connect(self.address, self.account, compression, self.stop)?;
        if !self.allow_writes {
            client.query("set session transaction read only")?;
        }
        Ok(client)
    }
}

/// One query and its reply, as they are without compression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exchange {
    /// Bytes of the query's packet.
    pub(crate) request_bytes: f64,
    /// Bytes of the reply's packets.
    pub(crate) plain_bytes: f64,
    /// Rows of the reply, if they were counted.
    pub(crate) rows: Option<u64>,
}

/// A workload under one compression: medians over its passes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timed {
    /// Of each exchange, from the query to the last byte, s.
    pub(crate) exchanges_s: Vec<f64>,
    /// Of each exchange, from the query to the reply's first packet, s.
    pub(crate) firsts_s: Vec<f64>,
    /// Of all of them, with its interval.
    pub(crate) pass_s: Estimate,
    /// Reply bytes that came through the socket, of each exchange.
    pub(crate) packed_bytes: Vec<f64>,
    /// Passes that were timed.
    pub(crate) passes: usize,
}

/// What is timed beside none.
pub(crate) struct Contender<'a> {
    /// Where.
    pub(crate) source: &'a Source<'a>,
    /// With what.
    pub(crate) compression: Compression,
    /// What its codec takes of a pass, about, s.
    pub(crate) codec_s: f64,
}

/// What came of a contender.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its times.
    Timed(Timed),
    /// Nobody there packs so.
    NotOffered,
    /// Enough passes of it don't fit into the time.
    DoesNotFit,
}

/// Runs the statements once, uncompressed, and keeps samples: what the later times begin from is warm.
///
/// # Errors
/// A login or statement fails; the workload takes longer than [`PASS_MAX`].
pub(crate) fn sample(
    source: &Source<'_>,
    statements: &[Statement],
    seed: u64,
) -> anyhow::Result<(Vec<Exchange>, Samples)> {
    let mut client = source.connect(Compression::NONE).context(LOGIN)?;
    let mut samples = Samples::new(seed);
    let mut exchanges = Vec::with_capacity(statements.len());
    let start = Instant::now();
    for statement in statements {
        let scan = client
            .query_payloads(&statement.sql, |payload, _| samples.packet(payload))
            .with_context(|| failed(statement))?;
        samples.end_frame();
        exchanges.push(Exchange {
            request_bytes: f64_of(statement.sql.len() as u64) + PACKET_OVERHEAD_BYTES,
            plain_bytes: f64_of(scan.plain_bytes),
            rows: Some(scan.rows),
        });
        if start.elapsed() > PASS_MAX {
            bail!(
                "all up to {} takes more than {} s alone, and must be run {} times and more; give it fewer statements, \
                 or a LIMIT",
                statement.place(),
                PASS_MAX.as_secs(),
                ROUNDS_MIN + 1
            );
        }
    }
    client.quit();
    Ok((exchanges, samples))
}

/// Runs the statements at `none` without compression and at each contender in turn, until the time is up, but so often at
/// least that they have intervals; `told` of the time that is left, before each pass.
///
/// Shape: one outcome per contender.
///
/// # Errors
/// A login or statement fails.
pub(crate) fn time(
    none: &Source<'_>,
    contenders: &[Contender<'_>],
    statements: &[Statement],
    time: Duration,
    mut told: impl FnMut(Duration),
) -> anyhow::Result<(Timed, Vec<Outcome>)> {
    let codecs_s: Vec<f64> = contenders.iter().map(|one| one.codec_s).collect();
    let mut schedule = Schedule::new(&codecs_s, time.as_secs_f64());
    let mut runners = vec![Some(Runner::connect(none, Compression::NONE, statements).context(LOGIN)?)];
    for (place, one) in contenders.iter().enumerate() {
        let runner = match Runner::connect(one.source, one.compression, statements) {
            Err(ClientFault::CompressionNotOffered { .. }) => {
                schedule.leave_out(NONE + 1 + place);
                None
            }
            runner => Some(runner.context(LOGIN)?),
        };
        runners.push(runner);
    }
    let start = Instant::now();
    let elapsed_s = || start.elapsed().as_secs_f64();
    while let Some(turn) = schedule.next(elapsed_s()) {
        told(Duration::from_secs_f64(schedule.left_s(elapsed_s())));
        let runner = runners.get_mut(turn.place).and_then(Option::as_mut);
        let took_s = match runner {
            Some(runner) => runner.pass(statements, || elapsed_s() > turn.until_s)?,
            None => None,
        };
        schedule.ran(turn.place, took_s);
    }
    let outcome = |(place, runner): (usize, Option<Runner>)| {
        let Some(Runner { client, times }) = runner else { return Outcome::NotOffered };
        client.quit();
        let timed = times.timed().filter(|_| schedule.has_enough(place));
        timed.map_or(Outcome::DoesNotFit, Outcome::Timed)
    };
    let mut outcomes = runners.into_iter().enumerate().map(outcome);
    let Some(Outcome::Timed(none)) = outcomes.next() else {
        bail!("there is no statement to be timed; give it at least one");
    };
    Ok((none, outcomes.collect()))
}

/// A connection under one compression, and its times.
struct Runner {
    client: Client,
    times: Times,
}

impl Runner {
    fn connect(
        source: &Source<'_>,
        compression: Compression,
        statements: &[Statement],
    ) -> Result<Self, ClientFault> {
        Ok(Self { client: source.connect(compression)?, times: Times::new(statements.len()) })
    }

    /// One pass, and what it took, s; none where it `is_late` before a statement: then it is given up.
    fn pass(&mut self, statements: &[Statement], is_late: impl Fn() -> bool) -> anyhow::Result<Option<f64>> {
        let mut pass = Vec::with_capacity(statements.len());
        for statement in statements {
            if is_late() {
                return Ok(None);
            }
            let start = Instant::now();
            let mut first = None;
            let scan = self
                .client
                .query_payloads(&statement.sql, |_, _| {
                    first.get_or_insert_with(|| start.elapsed().as_secs_f64());
                })
                .with_context(|| failed(statement))?;
            let time_s = start.elapsed().as_secs_f64();
            pass.push(Run {
                time_s,
                first_s: first.unwrap_or(time_s),
                packed_bytes: f64_of(scan.packed_bytes),
            });
        }
        Ok(Some(self.times.push(&pass)))
    }
}

/// Of one statement.
struct Run {
    time_s: f64,
    first_s: f64,
    packed_bytes: f64,
}

/// Of one compression.
struct Times {
    exchanges_s: Vec<Vec<f64>>,
    firsts_s: Vec<Vec<f64>>,
    packed_bytes: Vec<f64>,
    passes_s: Vec<f64>,
}

impl Times {
    fn new(statements: usize) -> Self {
        Self {
            exchanges_s: vec![Vec::new(); statements],
            firsts_s: vec![Vec::new(); statements],
            packed_bytes: vec![0.0; statements],
            passes_s: Vec::new(),
        }
    }

    /// What all of them took together, s.
    fn push(&mut self, pass: &[Run]) -> f64 {
        let places = self.exchanges_s.iter_mut().zip(&mut self.firsts_s).zip(&mut self.packed_bytes);
        for (run, ((times, firsts), packed)) in pass.iter().zip(places) {
            times.push(run.time_s);
            firsts.push(run.first_s);
            *packed = run.packed_bytes;
        }
        let pass_s = pass.iter().map(|run| run.time_s).sum();
        self.passes_s.push(pass_s);
        pass_s
    }

    fn timed(self) -> Option<Timed> {
        Some(Timed {
            exchanges_s: self.exchanges_s.iter().filter_map(|times| median(times)).collect(),
            firsts_s: self.firsts_s.iter().filter_map(|times| median(times)).collect(),
            pass_s: median_interval(&self.passes_s)?,
            packed_bytes: self.packed_bytes,
            passes: self.passes_s.len(),
        })
    }
}

fn failed(statement: &Statement) -> String {
    format!("{} failed: {}", statement.place(), statement.short())
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a workload are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// Header and command byte.
const PACKET_OVERHEAD_BYTES: f64 = 5.0;
/// One pass must be this short, so that enough of them, with the cheaper candidates, fit into two minutes.
const PASS_MAX: Duration = Duration::from_secs(3);
const LOGIN: &str = "cannot log in";
