//! What is known of a workload: its exchanges, their times under each compression, and samples of their bytes.
//!
//! ```text
//!  statements ─▶ one pass uncompressed that keeps frames   ─▶ Samples
//!             └▶ rounds: none, zlib, zstd 1, …, none, …    ─▶ Pass times per statement and compression
//! ```
//! Compressions alternate, so that a server that is slow for a while is slow for all of them.
//!
//! Invariants: memory is bounded, whatever the replies are; every frame of the workload is in the samples with the same
//! probability, and which ones are depends on the seed alone; the time-box is kept but for one statement, and what is
//! too slow to be timed in it is left out.
//!
//! Not here: which statements may be run (`statements`), what it means (`forecast`).

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::Address;

use super::samples::Samples;
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

/// Runs the statements once, uncompressed, and keeps samples: what the later times begin from is warm.
///
/// # Errors
/// A login or statement fails; the workload takes longer than [`PASS_MAX`].
pub(crate) fn sample(
    source: &Source<'_>,
    statements: &[Statement],
    seed: u64,
) -> anyhow::Result<(Vec<Exchange>, Samples)> {
    let mut client = source.connect(Compression::NONE).context("cannot log in")?;
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

/// Runs the statements under each compression in turn, until the time is up, but [`ROUNDS_MIN`] times at least; `told` of
/// the time that is left, before each pass.
///
/// Shape: one entry per compression, none where the server does not offer it, or where [`ROUNDS_MIN`] passes would take
/// all of them beyond [`TIME_MAX`].
///
/// # Errors
/// A login or statement fails.
pub(crate) fn time(
    sources: &[(&Source<'_>, Compression)],
    statements: &[Statement],
    time: Duration,
    mut told: impl FnMut(Duration),
) -> anyhow::Result<Vec<Option<Timed>>> {
    let mut runners = Vec::with_capacity(sources.len());
    for (source, compression) in sources {
        runners.push(match source.connect(*compression) {
            Ok(client) => Some(Runner { client, times: Times::new(statements.len()) }),
            Err(ClientFault::CompressionNotOffered { .. }) => None,
            Err(fault) => return Err(fault).context("cannot log in"),
        });
    }
    let start = Instant::now();
    let last = start + time.max(TIME_MAX);
    let mut rounds = 0;
    while rounds < ROUNDS_MIN || (start.elapsed() < time && rounds < ROUNDS_MAX) {
        // Each round begins with another one: what a pass finds in caches is not always from the same neighbour.
        for index in 0..runners.len() {
            told(left(time, start.elapsed(), rounds * runners.len() + index, runners.len()));
            let place = (index + rounds) % runners.len();
            let Some(runner) = runners.get_mut(place) else { continue };
            if let Some(one) = runner
                && !one.pass(statements, last)?
            {
                *runner = None;
            }
        }
        rounds += 1;
    }
    Ok(runners
        .into_iter()
        .map(|runner| {
            let Runner { client, times } = runner?;
            client.quit();
            times.timed()
        })
        .collect())
}

/// How long passes in turn, so many a round, take yet when `elapsed` was spent on `passes`: what is left of the time, but
/// as many rounds as there are at least, and no more than there are at most.
fn left(time: Duration, elapsed: Duration, passes: usize, a_round: usize) -> Duration {
    let rest = time.saturating_sub(elapsed);
    if passes == 0 {
        return rest;
    }
    let until = |rounds: usize| {
        let to_come = (rounds * a_round).saturating_sub(passes);
        elapsed.mul_f64(f64_of(to_come as u64) / f64_of(passes as u64))
    };
    rest.clamp(until(ROUNDS_MIN), until(ROUNDS_MAX)).min(time.max(TIME_MAX).saturating_sub(elapsed))
}

/// A connection under one compression, and its times.
struct Runner {
    client: Client,
    times: Times,
}

impl Runner {
    /// One pass; false if there is no time for it, or for the rest of it.
    fn pass(&mut self, statements: &[Statement], last: Instant) -> anyhow::Result<bool> {
        let expected = self.times.passes_s.last().copied().unwrap_or_default();
        if Instant::now() + Duration::from_secs_f64(expected) > last {
            return Ok(self.times.passes_s.len() >= ROUNDS_MIN);
        }
        let mut pass = Vec::with_capacity(statements.len());
        for statement in statements {
            let start = Instant::now();
            if start > last {
                return Ok(self.times.passes_s.len() >= ROUNDS_MIN);
            }
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
        self.times.push(&pass);
        Ok(true)
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

    fn push(&mut self, pass: &[Run]) {
        let places = self.exchanges_s.iter_mut().zip(&mut self.firsts_s).zip(&mut self.packed_bytes);
        for (run, ((times, firsts), packed)) in pass.iter().zip(places) {
            times.push(run.time_s);
            firsts.push(run.first_s);
            *packed = run.packed_bytes;
        }
        self.passes_s.push(pass.iter().map(|run| run.time_s).sum());
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
/// One pass must be this short, so that enough of them, under all candidates, fit into two minutes.
const PASS_MAX: Duration = Duration::from_secs(3);
/// Of all passes, where not more is asked for: with the link's measurement and the codecs' two minutes in all.
const TIME_MAX: Duration = Duration::from_secs(90);
/// Fewer have no interval worth the name.
pub(crate) const ROUNDS_MIN: usize = 3;
/// More tell nothing new.
const ROUNDS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_time_box_or_of_the_rounds() {
        let left_s = |elapsed_ms: u64, passes: usize| {
            left(Duration::from_secs(30), Duration::from_millis(elapsed_ms), passes, 10).as_secs_f64()
        };
        let is_near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}");
        is_near(left_s(0, 0), 30.0);
        is_near(left_s(10_000, 50), 20.0);
        // Three rounds of 20 s don't fit into 30 s, and what does not fit into the longest time is left out.
        is_near(left_s(20_000, 10), 40.0);
        is_near(left_s(50_000, 10), 40.0);
        is_near(left_s(95_000, 25), 0.0);
        // So short that all rounds there are end before.
        is_near(left_s(1_000, 1_000), 1.0);
    }
}
