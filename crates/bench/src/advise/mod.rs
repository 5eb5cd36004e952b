//! Advice: what compression would do for a workload over a link, as a forecast that says how sure it is.
//!
//! ```text
//!  statements ─▶ traffic: times under each compression, samples ─┐
//!                        candidate: codecs on the samples        ├─▶ forecast ─▶ verdict ─▶ report
//!  server ─────▶ link: its rate and round trip, or assumed ──────┘
//! ```
//! Invariants: nothing is made on the user's server, and the sessions there are read-only unless writes are allowed;
//! what the replies held is neither written nor shown; no verdict on too little.
//!
//! Not here: experiments with tables of their own (`plan`, `run`); how good the forecasts are (`score`).

mod candidate;
mod forecast;
mod link;
mod report;
mod score;
mod statements;
mod traffic;
mod verdict;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::{Address, Link};

pub use score::{ScoreOptions, run as score};

use self::candidate::{COMPRESSIONS, Candidate, CodecRates, Packer, codec_rates};
use self::forecast::Way;
use self::link::KnownLink;
use self::statements::Statement;
use self::traffic::{Exchange, Samples, Source, Timed};
use self::verdict::{Entrant, Judged, judge};
use crate::client::{Compression, Stop};
use crate::run::{Progress, watch_signals};
use crate::server_url::ServerUrl;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Options {
    /// The user's server.
    pub server: ServerUrl,
    /// The file with the statements.
    pub query_file: PathBuf,
    /// Statements may write.
    pub allow_writes: bool,
    /// Another link than the one to the server.
    pub assume_link: Option<Link>,
    /// For how long the statements are timed.
    pub time: Duration,
    /// Seed of the samples.
    pub seed: u64,
    /// What money is made of.
    pub prices: Prices,
    /// A folder for advice.html and advice.json.
    pub out: Option<PathBuf>,
    /// JSON instead of words on standard output.
    pub json: bool,
}

/// What traffic and CPU cost; what is not known is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Plain GB (10^9 bytes) to clients in a month.
    pub gb_per_month: Option<f64>,
    /// Of a GB that crosses the link.
    pub per_gb: Option<f64>,
    /// Of an hour of a core.
    pub per_core_hour: Option<f64>,
}

/// All that is known when the measuring is over.
struct Findings {
    server: Address,
    user: String,
    statements: usize,
    exchanges: Vec<Exchange>,
    passes: usize,
    none_way: Way,
    none_time_s: f64,
    judged: Vec<Judged>,
    measured_link: KnownLink,
    link: KnownLink,
    sampled_bytes: usize,
    took: Duration,
    /// What a reader must know besides.
    notes: Vec<String>,
}

/// Measures, and writes the advice to `told` and into the folder, if one is wished.
///
/// # Errors
/// A file that cannot be read or that may write, a server that cannot be used, too little to judge from.
pub fn run(options: &Options, told: &mut dyn Write) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(&options.query_file)
        .with_context(|| format!("cannot read the query file {}", options.query_file.display()))?;
    let statements = statements::read(&text, options.allow_writes)
        .with_context(|| format!("{}", options.query_file.display()))?;
    let stop = Stop::new();
    watch_signals(stop.clone()).context("cannot watch for Ctrl-C")?;
    let findings = measure(options, &statements, &stop);
    if stop.is_wished() {
        bail!("interrupted; nothing was made on the server");
    }
    report::write(&findings?, options, told)
}

fn measure(options: &Options, statements: &[Statement], stop: &Stop) -> anyhow::Result<Findings> {
    let start = Instant::now();
    let progress = Progress::new("advise", 0);
    let source = Source {
        address: &options.server.address,
        account: &options.server.account,
        allow_writes: options.allow_writes,
        stop,
    };
    progress.part("measuring the link");
    let measured_link = link::measure(&source)?;
    progress.part("running the statements once, for samples");
    let (exchanges, samples) = traffic::sample(&source, statements, options.seed)?;
    progress.part("running them under each compression in turn");
    let sources: Vec<_> = std::iter::once(Compression::NONE)
        .chain(COMPRESSIONS)
        .map(|compression| (&source, compression))
        .collect();
    let mut timed = traffic::time(&sources, statements, options.time)?.into_iter();
    let Some(none) = timed.next().flatten() else { bail!("the statements could not be timed") };
    progress.part("packing the samples");
    let timed: Vec<(Compression, Option<Timed>)> = COMPRESSIONS.into_iter().zip(timed).collect();
    let rates = rates(&samples)?;
    let link = options.assume_link.as_ref().map_or(measured_link, KnownLink::assumed);
    let is_beside = link::is_loopback(source.address);
    // Who advises about another link speaks of other machines, too.
    let cores = (is_beside && !link.is_assumed).then(cores);
    let (none_way, entrants) = ways(&exchanges, &none, &timed, &rates, &measured_link, cores);
    let wants = verdict::wants(&exchanges, &samples, &none, none_way.uncertainty(&link.shape));
    if !wants.is_empty() {
        bail!("no verdict, there is too little to judge from: {}", wants.join("; "));
    }
    let judged = entrants.into_iter().map(|entrant| judge(entrant, &none_way, &link.shape)).collect();
    Ok(Findings {
        server: options.server.address.clone(),
        user: options.server.account.user.clone(),
        statements: statements.len(),
        passes: none.passes,
        none_time_s: none_way.time_s(&link.shape),
        none_way,
        judged,
        link,
        sampled_bytes: samples.bytes(),
        took: start.elapsed(),
        notes: notes(&link, &measured_link, &timed, &exchanges, is_beside),
        measured_link,
        exchanges,
    })
}

/// Every codec on the samples.
fn rates(samples: &Samples) -> anyhow::Result<Vec<CodecRates>> {
    COMPRESSIONS.into_iter().map(|compression| codec_rates(compression, &samples.frames)).collect()
}

/// How the workload travels under none and under every candidate.
fn ways(
    exchanges: &[Exchange],
    none: &Timed,
    timed: &[(Compression, Option<Timed>)],
    rates: &[CodecRates],
    over: &KnownLink,
    cores: Option<f64>,
) -> (Way, Vec<Entrant>) {
    let cost = over.as_cost();
    let measured =
        |timed: &Timed, candidate: &Candidate| Way::measured(exchanges, none, timed, candidate, &cost);
    let mut none_way = measured(none, &Candidate::NONE);
    let mut entrants = Vec::new();
    for ((compression, timed), rates) in timed.iter().zip(rates) {
        let candidate = Candidate { packer: Packer::Server, compression: *compression };
        let Some(timed) = timed else { continue };
        let way = measured(timed, &candidate);
        // Packing makes no source faster: what looks like it is the link, which less had to cross.
        if !over.is_at_least {
            none_way = none_way.no_slower_than(&way);
        }
        // A server's zstd is the same code; its zlib is not.
        let rates = (compression.algorithm == codec::Algorithm::Zstd).then_some(*rates);
        entrants.push(Entrant { candidate, way, is_measured: true, rates });
    }
    for ((compression, _), rates) in timed.iter().zip(rates) {
        let candidate = Candidate { packer: Packer::Wirepress, compression: *compression };
        let way = Way::computed(&none_way, exchanges, rates, &candidate, cores);
        entrants.push(Entrant { candidate, way, is_measured: false, rates: Some(*rates) });
    }
    (none_way, entrants)
}

/// What a reader must know.
fn notes(
    link: &KnownLink,
    measured: &KnownLink,
    timed: &[(Compression, Option<Timed>)],
    exchanges: &[Exchange],
    is_beside: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let missing: Vec<String> = timed
        .iter()
        .filter(|(_, timed)| timed.is_none())
        .map(|(compression, _)| Candidate { packer: Packer::Server, compression: *compression }.setting())
        .collect();
    if !missing.is_empty() {
        notes.push(format!("The server does not offer {}: wirepress beside it would.", missing.join(", ")));
    }
    if link.is_assumed
        && !measured.is_at_least
        && link.shape.rate_bytes_per_s > measured.shape.rate_bytes_per_s
    {
        notes.push(format!(
            "The assumed link is faster than the one to this server ({:.0} Mbit/s): how fast the server is by itself was \
             seen only through that.",
            link::mbit_per_s(measured.shape.rate_bytes_per_s)
        ));
    }
    if is_beside {
        notes.push(
            "The server is on this machine, so that server, client and codecs shared its cores: on machines of their own \
             packing costs less time than told here."
                .to_owned(),
        );
    }
    let plain: f64 = exchanges.iter().map(|exchange| exchange.plain_bytes).sum();
    if plain / exchanges.len() as f64 <= 1448.0 {
        notes.push(
            "Most replies fit into one packet of the network: round trips decide, not bytes.".to_owned(),
        );
    }
    notes.push(
        "Statements ran one after the other on one connection. Many connections at once share the link: there the rate \
         that counts is what is left for one."
            .to_owned(),
    );
    notes
}

/// Of this machine, as far as this process may use them.
pub(crate) fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |count| crate::stats::f64_of(count.get()))
}
