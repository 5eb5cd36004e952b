//! A trial: the workload's statements are run on the user's server, under every candidate in turn.
//!
//! ```text
//!  none, server zlib, server zstd 1 …   this process ═══════════════════ link ═ server
//!  wirepress zlib, wirepress zstd 1 …   this process ─ wirepress proxy ═ link ═ server
//! ```
//! The proxy is a process of this machine, so what it packs crosses no link yet; that is computed, as every other link is.
//!
//! Invariants: nothing is made on the server; its sessions are read-only unless writes are allowed; all of it takes less
//! than two minutes with the default time, but for one statement.
//!
//! Not here: how times become a forecast (`forecast`), which statements may be run (`statements`).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use lab::link::Address;

use super::candidate::{Candidate, CodecRates, Packer, codec_rates};
use super::forecast::Way;
use super::link::{self, KnownLink};
use super::schedule::{ROUNDS_MIN, TIME_MAX_S};
use super::statements::{self, Statement};
use super::traffic::{self, Contender, Exchange, Outcome, Source, Timed};
use super::verdict::{self, Entrant, Remedies, judge};
use super::{Findings, Options, Per, sysbench};
use crate::client::{Account, Compression, Stop};
use crate::cpu;
use crate::report::number::counted;
use crate::run::{Place, Policy, Progress, ProxyProcess, WirepressOptions, server_leg};
use crate::server_url::ServerUrl;
use crate::stats::f64_of;

/// What is run, and where.
#[derive(Debug, Clone)]
pub struct TrialOptions {
    /// The user's server.
    pub server: ServerUrl,
    /// How it is spoken to, the mode in force first.
    pub ssl_options: Vec<SslOption>,
    /// Where the statements are from.
    pub statements: StatementSource,
    /// Statements may write.
    pub allow_writes: bool,
    /// For how long the statements are timed.
    pub time: Duration,
    /// The program whose `proxy` is timed.
    pub wirepress: PathBuf,
}

/// One of MySQL's options for encrypted connections, like `ssl-mode` with `verify_ca`; wirepress has the same, as an
/// option and as a key of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SslOption {
    /// Without dashes.
    pub name: &'static str,
    /// As a file of wirepress has it.
    pub value: String,
}

impl SslOption {
    /// As two arguments.
    pub fn arguments(&self) -> [String; 2] {
        [format!("--{}", self.name), self.value.clone()]
    }
}

/// Where statements are from.
#[derive(Debug, Clone)]
pub enum StatementSource {
    /// A file with the statements.
    QueryFile(PathBuf),
    /// A script of sysbench, with options of it such as `tables=4`.
    Sysbench {
        /// A bundled one's name, or a file.
        script: String,
        /// Each without its dashes.
        options: Vec<String>,
    },
}

/// Runs them.
///
/// # Errors
/// Statements that may write, a server that cannot be used, too little to judge from.
pub(super) fn run(trial: &TrialOptions, options: &Options, stop: &Stop) -> anyhow::Result<Findings> {
    let mut parts = Parts::begin(trial.time);
    let source = Source {
        address: &trial.server.address,
        account: &trial.server.account,
        allow_writes: trial.allow_writes,
        stop,
    };
    let proxy = start_proxy(trial, stop);
    let statements = read(trial, &source, &proxy, options.seed, &parts)?;
    let (is_mariadb, encryption) = greeted(&source)?;
    parts.next("measuring the link", link::MEASURE_TIME + PACKING_TIME + trial.time);
    let measured_link = link::measure(&source)?;
    ensure!(
        measured_link.has_rate() || options.assume_link.is_some(),
        "the rate of the link to the server could not be measured; name the link with --assume-link"
    );
    parts.next("running the statements once, for samples", PACKING_TIME + trial.time);
    let (exchanges, samples) = traffic::sample(&source, &statements, options.seed)?;
    parts.next("packing the samples", PACKING_TIME + trial.time);
    let rates: Vec<CodecRates> = Candidate::all()
        .map(|candidate| codec_rates(&candidate, samples.frames()))
        .collect::<anyhow::Result<_>>()?;
    let plain_bytes: f64 = exchanges.iter().map(|exchange| exchange.plain_bytes).sum();
    let codecs_s: Vec<f64> = rates.iter().map(|rates| plain_bytes * rates.cpu_s_per_byte()).collect();
    let proxied_address = proxy.as_ref().ok().map(ProxyProcess::address);
    parts.next(TIMING, trial.time);
    let timed = time(&source, proxied_address.as_ref(), &statements, &codecs_s, trial.time, |left| {
        parts.timing(left);
    })?;
    let link = options.assume_link.as_ref().map_or(measured_link, KnownLink::assumed);
    let is_beside = link::is_loopback(source.address);
    // Who advises about another link speaks of other machines, too.
    let shared_cores = (is_beside && !link.is_assumed).then(|| f64_of(cpu::cores()));
    let (none_way, entrants) = ways(&exchanges, &timed, &rates, &measured_link, shared_cores);
    let wants = {
        let timed = exchanges.len() * timed.none.passes;
        verdict::wants(timed, samples.bytes(), none_way.uncertainty(&link.shape), &REMEDIES)
    };
    if !wants.is_empty() {
        bail!("no verdict, there is too little to judge from: {}", wants.join("; "));
    }
    let mut notes = notes(&link, &measured_link, &timed, is_beside);
    notes.extend(link::own_machine_note(source.address, options.assume_link.as_ref()));
    notes.extend(encryption_note(&source, encryption));
    if let Err(fault) = &proxy {
        notes.push(format!(
            "wirepress could not be timed before this server ({fault:#}): its times are computed from its codecs alone."
        ));
    }
    notes.extend(super::workload_notes(&exchanges));
    Ok(Findings {
        server: trial.server.address.clone(),
        user: trial.server.account.user.clone(),
        is_mariadb: Some(is_mariadb),
        ssl_options: trial.ssl_options.clone(),
        evidence: evidence(statements.len(), timed.none.passes),
        per: Per::Pass,
        none_time_s: none_way.time_s(&link.shape),
        judged: entrants.into_iter().map(|entrant| judge(entrant, &none_way, &link.shape)).collect(),
        none_way,
        link,
        sampled_bytes: samples.bytes(),
        took: parts.start.elapsed(),
        notes,
        measured_link: Some(measured_link).filter(KnownLink::has_rate),
        exchanges,
    })
}

/// What is being done, and how long all of it takes yet.
struct Parts {
    progress: Progress,
    start: Instant,
}

impl Parts {
    fn begin(time: Duration) -> Self {
        let parts = Self { progress: Progress::new("advise", 0), start: Instant::now() };
        parts.left(link::MEASURE_TIME + PACKING_TIME + time);
        parts
    }

    /// The next part begins; it and those behind it take about so long.
    fn next(&self, text: &str, left: Duration) {
        self.left(left);
        self.progress.part(text);
    }

    /// The statements are being timed, and will be for so long.
    fn timing(&mut self, left: Duration) {
        self.left(left);
        self.progress.step(TIMING.to_owned());
    }

    fn left(&self, left: Duration) {
        self.progress.seconds(self.start.elapsed(), left);
    }
}

fn read(
    trial: &TrialOptions,
    source: &Source<'_>,
    proxy: &anyhow::Result<ProxyProcess>,
    seed: u64,
    parts: &Parts,
) -> anyhow::Result<Vec<Statement>> {
    match &trial.statements {
        StatementSource::QueryFile(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the query file {}", path.display()))?;
            statements::read(&text, trial.allow_writes).with_context(|| path.display().to_string())
        }
        StatementSource::Sysbench { script, options } => {
            let left = sysbench::TIME + link::MEASURE_TIME + PACKING_TIME + trial.time;
            parts.next(&format!("running sysbench {script}, for its statements"), left);
            let way = |encryption| way_of_sysbench(source, encryption, proxy);
            sysbench::statements(source, way, script, options, seed)
        }
    }
}

/// Whether the server is a MariaDB, and the version of TLS towards it, if there is any.
fn greeted(source: &Source<'_>) -> anyhow::Result<(bool, Option<&'static str>)> {
    let client = source.connect(Compression::NONE).context("cannot log in")?;
    let told = (client.is_mariadb(), client.tls_version());
    client.quit();
    Ok(told)
}

/// Where sysbench's bytes go. They have to be read on their way, so where they must be encrypted the proxy does it behind.
fn way_of_sysbench(
    source: &Source<'_>,
    encryption: Option<&'static str>,
    proxy: &anyhow::Result<ProxyProcess>,
) -> anyhow::Result<Address> {
    match (encryption, proxy) {
        (Some(_), Ok(proxy)) => Ok(proxy.address()),
        (Some(_), Err(fault)) if source.account.tls.as_ref().is_some_and(|tls| tls.is_required) => {
            bail!(
                "sysbench would have to go through a wirepress to a server inside TLS, and none starts: {fault:#}"
            )
        }
        _ => Ok(source.address.clone()),
    }
}

fn encryption_note(source: &Source<'_>, encryption: Option<&'static str>) -> Option<String> {
    match (source.address, encryption) {
        (Address::Unix(_), _) => None,
        (Address::Tcp(_), Some(version)) => Some(format!(
            "All connections to the server were encrypted ({version}), which the times include; compression comes first."
        )),
        (Address::Tcp(_), None) => Some("The connections to the server were not encrypted.".to_owned()),
    }
}

fn start_proxy(trial: &TrialOptions, stop: &Stop) -> anyhow::Result<ProxyProcess> {
    let tls: Vec<String> = trial.ssl_options.iter().flat_map(SslOption::arguments).collect();
    ProxyProcess::wirepress(
        &WirepressOptions {
            program: &trial.wirepress,
            through: &[],
            listen: [127, 0, 0, 1].into(),
            server: &trial.server.address,
            place: Place::Alone,
            policy: Policy::Fixed,
            arguments: &server_leg(Some(&tls)),
        },
        stop,
    )
}

/// Times of a trial.
struct Trial {
    none: Timed,
    /// Of each of [`Candidate::all`].
    outcomes: Vec<Outcome>,
}

/// Everything in turn, where the candidates' codecs take `codecs_s` of a pass; `told` of the time that is left.
fn time(
    source: &Source<'_>,
    proxied: Option<&Address>,
    statements: &[Statement],
    codecs_s: &[f64],
    time: Duration,
    told: impl FnMut(Duration),
) -> anyhow::Result<Trial> {
    // Between two processes of this machine nothing is encrypted.
    let plain = Account { tls: None, ..source.account.clone() };
    let proxied = proxied.map(|address| Source { address, account: &plain, ..*source });
    let contenders: Vec<Contender<'_>> = Candidate::all()
        .zip(codecs_s)
        .filter_map(|(Candidate { packer, compression }, codec_s)| {
            let source = match packer {
                Packer::Server => Some(source),
                Packer::Wirepress => proxied.as_ref(),
            };
            Some(Contender { source: source?, compression, codec_s: *codec_s })
        })
        .collect();
    let (none, mut outcomes) = traffic::time(source, &contenders, statements, time, told)?;
    // Where there is no proxy its candidates, which are the last, are missing.
    outcomes.resize_with(codecs_s.len(), || Outcome::NotOffered);
    Ok(Trial { none, outcomes })
}

/// How the workload travels under none and under every candidate.
fn ways(
    exchanges: &[Exchange],
    timed: &Trial,
    rates: &[CodecRates],
    over: &KnownLink,
    shared_cores: Option<f64>,
) -> (Way, Vec<Entrant>) {
    let cost = over.as_cost();
    let none = &timed.none;
    let measured = |candidate: &Candidate, timed: &Timed| {
        let carried_bytes = match candidate.packer {
            Packer::Server => &timed.packed_bytes,
            Packer::Wirepress => &none.packed_bytes,
        };
        Way::measured(exchanges, none, timed, carried_bytes, candidate, &cost)
    };
    let mut none_way = measured(&Candidate::NONE, none);
    for (candidate, outcome) in Candidate::all().zip(&timed.outcomes) {
        // Packing makes no source faster: what looks like it is the link, which less had to cross.
        if let (Packer::Server, Outcome::Timed(timed), false) = (candidate.packer, outcome, over.is_at_least)
        {
            none_way = none_way.no_slower_than(&measured(&candidate, timed));
        }
    }
    // Where the link to the server was most of what a pass waited for, it hides what the proxy costs.
    let link_s: f64 = none.packed_bytes.iter().sum::<f64>() / cost.rate_bytes_per_s;
    let is_hidden = link_s > none.pass_s.value / 2.0;
    let entrant = |((candidate, outcome), rates): ((Candidate, &Outcome), &CodecRates)| {
        let (way, is_measured) = match (candidate.packer, outcome) {
            (Packer::Server, Outcome::NotOffered) => return None,
            (packer, Outcome::Timed(timed)) if packer == Packer::Server || !is_hidden => {
                (measured(&candidate, timed), true)
            }
            _ => (Way::computed(&none_way, exchanges, rates, &candidate, shared_cores), false),
        };
        Some(Entrant { candidate, way, is_measured, rates: Some(*rates) })
    };
    let entrants = Candidate::all().zip(&timed.outcomes).zip(rates).filter_map(entrant).collect();
    (none_way, entrants)
}

/// `60 exchanges timed (3 statements, 20 passes without compression)`.
fn evidence(statements: usize, passes: usize) -> String {
    format!(
        "{} timed ({}, {} pass{} without compression)",
        counted(statements * passes, "exchange"),
        counted(statements, "statement"),
        passes,
        if passes == 1 { "" } else { "es" },
    )
}

/// What a reader must know of how this was measured.
fn notes(link: &KnownLink, measured: &KnownLink, timed: &Trial, is_beside: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let told = |is: fn(&Candidate, &Outcome) -> bool| {
        let those =
            Candidate::all().zip(&timed.outcomes).filter(|(candidate, outcome)| is(candidate, outcome));
        those.map(|(candidate, _)| candidate).collect::<Vec<_>>()
    };
    let listed = |names: Vec<String>| names.join(", ");
    let missing = told(|candidate, outcome| {
        candidate.packer == Packer::Server && matches!(outcome, Outcome::NotOffered)
    });
    if !missing.is_empty() {
        notes.push(format!(
            "The server does not offer {}: wirepress beside it would.",
            listed(missing.iter().map(Candidate::setting).collect())
        ));
    }
    let skipped = told(|_, outcome| matches!(outcome, Outcome::DoesNotFit));
    if !skipped.is_empty() {
        notes.push(format!(
            "Not timed, but computed from the rates of the codecs: {}. {ROUNDS_MIN} passes through the statements with \
             each don't fit into the time. Give it fewer statements, a LIMIT, or more than {TIME_MAX_S} s (--for), to have \
             them timed.",
            listed(skipped.iter().map(Candidate::to_string).collect())
        ));
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
    if !measured.has_rate() {
        notes.push(
            "The rate of the link to this server could not be measured: what it took is part of the times."
                .to_owned(),
        );
    }
    if is_beside {
        notes.push(
            "The server is on this machine, so that server, client and codecs shared its cores: on machines of their own \
             packing costs less time than told here."
                .to_owned(),
        );
    }
    notes.push(
        "Statements ran one after the other on one connection. Many connections at once share the link: there the rate \
         that counts is what is left for one."
            .to_owned(),
    );
    notes
}

/// The longest part.
const TIMING: &str = "running the statements under each candidate in turn";
/// Of the samples, as every candidate packs.
const PACKING_TIME: Duration = Duration::from_secs(4);
const REMEDIES: Remedies = Remedies {
    exchanges: "give it more statements or more time (--for)",
    replies: "give it statements with larger replies, or more of them",
    spread: "give it a quieter server or machine, or more time (--for)",
};
