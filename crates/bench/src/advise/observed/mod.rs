//! A workload that is seen and not run: live traffic through a tap, or a capture.
//!
//! ```text
//!  --tap    clients ══ tap ══ server ─▶ session ─┐
//!  --admin  a running proxy's tap: times, sums ───┤
//!  --pcap   file ─▶ segment ─▶ tcp   ─▶ session ─┴▶ Gathered ─▶ none: as seen, its link taken off ─▶ Findings
//!                                                              └▶ candidates: computed from codec rates
//! ```
//! Invariants: what is seen is stored nowhere; exchanges and frames are samples with the same probability for all that
//! were looked at, and what could not be used is told.
//!
//! Not here: statements that are run (`trial`).

mod capture;
mod cursor;
mod frames;
mod gathered;
mod pcap;
mod rate;
mod relay;
mod running;
mod segment;
mod session;
mod socket;
mod tap;
mod tap_server;
mod tcp;
#[cfg(test)]
mod tests;
mod told;
mod watcher;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::bail;
use codec::Algorithm;
use lab::link::Address;
use wire::Capabilities;

pub use self::running::RunningOptions;
pub use self::tap_server::{TapServer, TapServerFault};

pub(crate) use self::gathered::Gathered;
pub(crate) use self::tap::Tap;
use super::candidate::{Candidate, CodecRates, Packer, ZLIB_CPU, codec_rates};
use super::forecast::{LinkShape, Way};
use super::link::{self, KnownLink};
use super::traffic::{Exchange, Timed};
use super::verdict::{self, Entrant, Remedies, judge};
use super::{Findings, Options, Per};
use crate::client::Stop;
use crate::run::Progress;
use crate::stats::mean_interval;

/// Live traffic.
#[derive(Debug, Clone)]
pub struct TapOptions {
    /// Where clients connect to, `host:port`.
    pub listen: String,
    /// The server behind.
    pub server: TapServer,
    /// For how long.
    pub time: Duration,
    /// What looking may take of one core, in per cent.
    pub cpu_percent: f64,
}

/// A capture.
#[derive(Debug, Clone)]
pub struct PcapOptions {
    /// The file.
    pub file: PathBuf,
    /// The server's port.
    pub port: u16,
}

/// What was seen, and over what.
struct Observation {
    gathered: Gathered,
    sampled: Sampled,
    server: Address,
    user: String,
    /// Between the place of observation and the server.
    over: LinkShape,
    /// Between clients and server, as far as it is known.
    link: Option<KnownLink>,
    evidence: String,
    notes: Vec<String>,
    remedies: Remedies,
}

/// How the replies' bytes are known.
enum Sampled {
    /// By the frames that were gathered.
    Frames,
    /// By what codecs made of so many bytes elsewhere.
    Elsewhere { bytes: usize, rates: Vec<(Candidate, CodecRates)> },
}

impl Sampled {
    fn bytes(&self, gathered: &Gathered) -> usize {
        match self {
            Self::Frames => gathered.sampled_bytes(),
            Self::Elsewhere { bytes, .. } => *bytes,
        }
    }

    /// What it means that there was no session.
    const fn nobody(&self) -> &'static str {
        match self {
            Self::Frames => "no client has connected",
            Self::Elsewhere { .. } => "no client was connected",
        }
    }
}

/// Has a running proxy look, and tells what passed through it.
///
/// # Errors
/// No admin port, one without a tap, too little to judge from.
pub(super) fn running(running: &RunningOptions, options: &Options, stop: &Stop) -> anyhow::Result<Findings> {
    let start = Instant::now();
    running::observe(running, options.seed, stop)?.findings(options, start)
}

/// Listens, and tells what passed.
///
/// # Errors
/// No server, an address that cannot be listened on, too little to judge from.
pub(super) fn tap(tap: &TapOptions, options: &Options, stop: &Stop) -> anyhow::Result<Findings> {
    let start = Instant::now();
    let mut progress = Progress::new("advise", tap.time.as_secs());
    progress.part("measuring the link");
    let server = tap.server.address();
    let mut link = tap.server.link(stop)?;
    let budget = tap.cpu_percent / 100.0;
    let mut listening = Tap::listen(&tap.listen, server, Gathered::new(options.seed), budget)?;
    progress.part(&told::listening(&listening.address()?, server, tap.time));
    listening.relay_for(tap.time, |passed, left| {
        progress.at(tap.time.saturating_sub(left).as_secs(), told::passing(passed, left));
        stop.is_wished()
    });
    if listening.open() > 0 {
        progress.part(&told::ending(server, listening.open(), GRACE));
    }
    let tapped = listening.end(GRACE)?;
    progress.part("packing the samples");
    if link.is_at_least {
        link.shape.rate_bytes_per_s = link.shape.rate_bytes_per_s.max(tapped.rate_bytes_per_s);
    }
    let (evidence, mut notes) = told::tapped(&tapped, stop.is_wished());
    notes.extend(link::own_machine_note(server, options.assume_link.as_ref()));
    let observation = Observation {
        server: server.clone(),
        user: tap.server.user().unwrap_or(UNKNOWN_USER).to_owned(),
        over: cost(&link, link::is_loopback(server)),
        link: Some(link),
        evidence,
        notes,
        remedies: TAP_REMEDIES,
        gathered: tapped.gathered,
        sampled: Sampled::Frames,
    };
    observation.findings(options, start)
}

/// Reads the capture, and tells what it holds.
///
/// # Errors
/// No capture, nothing of the port in it, too little to judge from.
pub(super) fn pcap(pcap: &PcapOptions, options: &Options, stop: &Stop) -> anyhow::Result<Findings> {
    let start = Instant::now();
    let mut progress = Progress::new("advise", 0);
    let capture = pcap::gather(&pcap.file, pcap.port, Gathered::new(options.seed), stop, &mut progress)?;
    progress.part("packing the samples");
    let link = capture.round_trip_s.map(|round_trip_s| KnownLink {
        shape: LinkShape { rate_bytes_per_s: capture.rate_bytes_per_s, round_trip_s },
        is_at_least: true,
        is_assumed: false,
    });
    let seen = KnownLink {
        shape: LinkShape {
            rate_bytes_per_s: capture.rate_bytes_per_s,
            round_trip_s: capture.server_half_s.unwrap_or_default(),
        },
        is_at_least: true,
        is_assumed: false,
    };
    let over = cost(&seen, capture.is_local);
    let (evidence, mut notes) = told::captured(&capture);
    notes.extend(capture.notes);
    let observation = Observation {
        server: capture.server,
        user: UNKNOWN_USER.to_owned(),
        over,
        link,
        evidence,
        notes,
        remedies: PCAP_REMEDIES,
        gathered: capture.gathered,
        sampled: Sampled::Frames,
    };
    observation.findings(options, start)
}

/// What the link took of the times that were seen. A rate that was only seen is taken for the link's: who asks about this
/// link is told so, and who names another wants to know of the server without it.
fn cost(link: &KnownLink, is_local: bool) -> LinkShape {
    if is_local { LinkShape { rate_bytes_per_s: f64::INFINITY, ..link.shape } } else { link.shape }
}

impl Observation {
    fn findings(mut self, options: &Options, start: Instant) -> anyhow::Result<Findings> {
        let seen = self.gathered.exchanges.kept();
        if seen.is_empty() {
            let counts = &self.gathered.counts;
            bail!("no verdict: {}", told::unusable(counts, self.sampled.nobody(), &self.remedies));
        }
        let Some(link) = options.assume_link.as_ref().map(KnownLink::assumed).or(self.link) else {
            bail!(
                "no connection begins within the capture, so the link's round trip is not known: name the link with \
                 --assume-link, or capture until a client connects anew"
            );
        };
        let exchanges: Vec<Exchange> = seen
            .iter()
            .map(|one| Exchange {
                request_bytes: one.request_bytes,
                plain_bytes: one.reply_bytes,
                rows: None,
            })
            .collect();
        let times_s: Vec<f64> = seen.iter().map(|one| one.time_s).collect();
        let plain_bytes: Vec<f64> = seen.iter().map(|one| one.reply_bytes).collect();
        let Some(pass_s) = mean_interval(&times_s) else { bail!("no verdict: no exchange was timed") };
        let timed = Timed {
            firsts_s: seen.iter().map(|one| one.first_s).collect(),
            exchanges_s: times_s,
            pass_s,
            packed_bytes: plain_bytes.clone(),
            passes: 1,
        };
        let none_way = Way::measured(&exchanges, &timed, &timed, &plain_bytes, &Candidate::NONE, &self.over);
        let sampled_bytes = self.sampled.bytes(&self.gathered);
        let spread = none_way.uncertainty(&link.shape);
        let wants = verdict::wants(exchanges.len(), sampled_bytes, spread, &self.remedies);
        if !wants.is_empty() {
            bail!("no verdict, there is too little to judge from: {}", wants.join("; "));
        }
        let entrants = self.entrants(&exchanges, &none_way)?;
        self.notes.extend(told::left_out(&self.gathered.counts));
        if self.offers(Capabilities::COMPRESS) {
            self.notes.push(format!(
                "Server zlib was computed with zlib-rs at the server's level; the server's own zlib is another code, taken for \
                 {ZLIB_CPU} times as slow."
            ));
        }
        if !self.offers(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            self.notes.push("The server does not offer zstd: wirepress beside it would.".to_owned());
        }
        if link.is_assumed && link.shape.rate_bytes_per_s > self.over.rate_bytes_per_s {
            self.notes.push(told::seen_through(&self.over));
        }
        self.notes.extend(super::workload_notes(&exchanges));
        Ok(Findings {
            server: self.server,
            user: self.user,
            is_mariadb: self.gathered.is_mariadb,
            // A tap sees only clients that don't encrypt.
            ssl_options: Vec::new(),
            evidence: self.evidence,
            per: Per::Exchange { of: exchanges.len() },
            none_time_s: none_way.time_s(&link.shape),
            judged: entrants.into_iter().map(|one| judge(one, &none_way, &link.shape)).collect(),
            none_way,
            measured_link: self.link,
            link,
            sampled_bytes,
            took: start.elapsed(),
            notes: self.notes,
            exchanges,
        })
    }
}

impl Observation {
    /// Whether the server offers it, as far as its greeting was seen.
    fn offers(&self, capability: Capabilities) -> bool {
        self.gathered.server_capabilities.is_none_or(|offered| offered.contains(capability))
    }

    /// Every candidate, computed.
    fn entrants(&self, exchanges: &[Exchange], none_way: &Way) -> anyhow::Result<Vec<Entrant>> {
        let mut entrants = Vec::new();
        for candidate in Candidate::all() {
            let capability = match candidate.compression.algorithm {
                Algorithm::Zlib => Capabilities::COMPRESS,
                _ => Capabilities::ZSTD_COMPRESSION_ALGORITHM,
            };
            if candidate.packer == Packer::Server && !self.offers(capability) {
                continue;
            }
            let rates = match &self.sampled {
                Sampled::Frames => codec_rates(&candidate, self.gathered.frames.kept())?,
                Sampled::Elsewhere { rates, .. } => {
                    let known = rates.iter().find(|(known, _)| *known == candidate);
                    let Some((_, rates)) = known else { continue };
                    *rates
                }
            };
            let way = Way::computed(none_way, exchanges, &rates, &candidate, None);
            entrants.push(Entrant { candidate, way, is_measured: false, rates: Some(rates) });
        }
        Ok(entrants)
    }
}

/// After a tap's time clients are given this long to end what they have begun.
const GRACE: Duration = Duration::from_secs(5);
/// A capture knows nobody, and a tap forgets.
const UNKNOWN_USER: &str = "USER";
const TAP_REMEDIES: Remedies = Remedies {
    exchanges: "let it listen for longer (--for), or send more through it",
    replies: "let it listen for longer (--for), or send larger replies through it",
    spread: "let it listen for longer (--for), or when the load is steadier",
};
const PCAP_REMEDIES: Remedies = Remedies {
    exchanges: "capture for longer",
    replies: "capture for longer, or when replies are larger",
    spread: "capture for longer, or when the load is steadier",
};
