//! A proxy that runs already looks itself: its admin port switches the tap on, and tells lengths, times, ratios and CPU.
//!
//! ```text
//!  SET GLOBAL tap = 30 ─▶ tap (until it is over) ─▶ tap_codecs, tap_exchanges ─▶ Observation
//! ```
//! Invariants: no byte of a reply comes here; the tap is ended when we are, and by itself if we are cut off.
//!
//! Not here: looking (crate `proxy`), the tables (crate `admin`).

use std::time::Duration;

use anyhow::{Context, bail};
use codec::Algorithm;
use lab::link::Address;
use wire::Capabilities;

use super::gathered::{Gathered, Seen};
use super::{Observation, Sampled, UNKNOWN_USER, cost, told};
use crate::advise::candidate::{Candidate, CodecRates, Packer};
use crate::advise::forecast::LinkShape;
use crate::advise::link::KnownLink;
use crate::advise::verdict::Remedies;
use crate::client::{Account, Client, ClientFault, Compression, Row, Stop};
use crate::run::Progress;

/// A running proxy.
#[derive(Debug, Clone)]
pub struct RunningOptions {
    /// Its admin port.
    pub admin: Address,
    /// Who we are there.
    pub account: Account,
    /// For how long it looks.
    pub time: Duration,
}

/// What the table `tap` tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) sessions: u64,
    pub(super) at_once: u64,
    pub(super) server_packs: u64,
    pub(super) commands: u64,
    pub(super) exchanges: u64,
    pub(super) looked_s: f64,
    pub(super) cpu_s: f64,
    number: u64,
    left_s: Option<f64>,
    dialogues: u64,
    pipelined: u64,
    server: String,
    offers: Option<[bool; 2]>,
    /// Clients' legs, servers' legs.
    ways: [Way; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct Way {
    round_trip_s: f64,
    rate_bytes_per_s: f64,
    is_local: bool,
}

/// Has it look for the time, or until that is stopped.
///
/// # Errors
/// No admin port, none with a tap, one that is busy.
pub(super) fn observe(running: &RunningOptions, seed: u64, stop: &Stop) -> anyhow::Result<Observation> {
    let at = || format!("the admin port at {}", running.admin);
    // A wish to stop ends the looking and not what has to be said.
    let mut client = Client::connect(&running.admin, &running.account, Compression::NONE, &Stop::new())
        .with_context(at)?;
    let seconds = running.time.as_secs();
    client.query(&format!("set global tap = {seconds}")).map_err(no_tap).with_context(at)?;
    let mut progress = Progress::new("advise", seconds);
    progress.part(&format!("the wirepress behind {} looks at what passes for {seconds} s", running.admin));
    let begun = state(&mut client)?;
    let mut told = begun.clone();
    while let Some(left_s) = told.left_s {
        if stop.is_wished() {
            client.query("set global tap = 0")?;
        }
        std::thread::sleep(LOOK_EVERY);
        progress.at(seconds.saturating_sub(left_s.ceil() as u64), told::looked_at(&told, left_s));
        told = state(&mut client)?;
        if told.number != begun.number {
            bail!("somebody else has ended the tap and begun another");
        }
    }
    let rates = rates(&mut client)?;
    let gathered = gathered(&mut client, seed, &rates)?;
    client.quit();
    Ok(observation(told, gathered, rates, stop.is_wished()))
}

/// A server that knows no such variable is no wirepress, or an earlier one.
fn no_tap(fault: ClientFault) -> anyhow::Error {
    let ClientFault::Refused(error) = &fault else { return fault.into() };
    if error.code == UNKNOWN_VARIABLE {
        return anyhow::anyhow!(
            "what answers there has no tap: it is no wirepress, or an earlier one ({fault}); a pass-through tap works with \
             any server: --tap LISTEN --server HOST:PORT"
        );
    }
    fault.into()
}

fn observation(
    told: Told,
    mut gathered: Gathered,
    rates: Vec<(usize, Candidate, CodecRates)>,
    is_interrupted: bool,
) -> Observation {
    gathered.counts.sessions = told.sessions;
    gathered.counts.used = told.sessions;
    (gathered.counts.dialogues, gathered.counts.pipelined) = (told.dialogues, told.pipelined);
    gathered.server_capabilities = told.offers.map(|offers| {
        [Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION_ALGORITHM]
            .into_iter()
            .zip(offers)
            .filter(|(_, is_offered)| *is_offered)
            .fold(Capabilities::NONE, |all, (one, _)| all | one)
    });
    // MariaDB has no zstd; who has none may be either.
    gathered.is_mariadb = told.offers.and_then(|[_, zstd]| zstd.then_some(false));
    let [client, server] = told.ways;
    let is_servers = !server.is_local && (client.is_local || server.round_trip_s >= client.round_trip_s);
    let way = if is_servers { server } else { client };
    let known = |way: Way| KnownLink {
        shape: LinkShape { rate_bytes_per_s: way.rate_bytes_per_s.max(1.0), round_trip_s: way.round_trip_s },
        is_at_least: true,
        is_assumed: false,
    };
    let (evidence, notes) =
        told::joined(&told, gathered.exchanges.kept().len(), is_servers, way.is_local, is_interrupted);
    let server_at = match told.server.strip_prefix("unix:") {
        Some(path) => Address::Unix(path.into()),
        None => Address::Tcp(told.server.clone()),
    };
    let bytes = rates.iter().map(|(bytes, _, _)| *bytes).min().unwrap_or_default();
    Observation {
        gathered,
        sampled: Sampled::Elsewhere {
            bytes,
            rates: rates.into_iter().map(|(_, candidate, rates)| (candidate, rates)).collect(),
        },
        server: server_at,
        user: UNKNOWN_USER.to_owned(),
        over: cost(&known(server), server.is_local),
        link: Some(known(way)),
        evidence,
        notes,
        remedies: REMEDIES,
    }
}

/// The values of a row, one after the other.
struct Values(std::vec::IntoIter<Option<String>>);

impl Values {
    fn of(row: Row) -> Self {
        Self(row.into_iter())
    }

    /// NULL is none.
    fn text(&mut self) -> Option<String> {
        self.0.next().flatten()
    }

    /// NULL is none, and so is what can't be read.
    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.text()?.parse().ok()
    }

    fn is(&mut self) -> Option<bool> {
        self.text().map(|text| text == "YES")
    }

    fn way(&mut self) -> Way {
        Way {
            round_trip_s: self.number::<f64>().unwrap_or_default() / 1e6,
            rate_bytes_per_s: self.number().unwrap_or_default(),
            is_local: self.is().unwrap_or_default(),
        }
    }
}

fn state(client: &mut Client) -> anyhow::Result<Told> {
    let row = client.query_texts(
        "select number, seconds_left, seconds, cpu_ns, sessions, sessions_at_once, sessions_server_packs, commands, \
         exchanges, dialogues, pipelined, server, server_offers_zlib, server_offers_zstd, client_round_trip_us, \
         client_bytes_per_second, client_is_local, server_round_trip_us, server_bytes_per_second, server_is_local \
         from tap",
    )?;
    let mut values = Values::of(row.into_iter().next().context("the proxy knows of no tap any more")?);
    Ok(Told {
        number: values.number().unwrap_or_default(),
        left_s: values.number(),
        looked_s: values.number().unwrap_or_default(),
        cpu_s: values.number::<f64>().unwrap_or_default() / 1e9,
        sessions: values.number().unwrap_or_default(),
        at_once: values.number().unwrap_or_default(),
        server_packs: values.number().unwrap_or_default(),
        commands: values.number().unwrap_or_default(),
        exchanges: values.number().unwrap_or_default(),
        dialogues: values.number().unwrap_or_default(),
        pipelined: values.number().unwrap_or_default(),
        server: values.text().unwrap_or_default(),
        offers: values.is().zip(values.is()).map(|(zlib, zstd)| [zlib, zstd]),
        ways: [values.way(), values.way()],
    })
}

/// Plain bytes that it was seen on, candidate, rates.
fn rates(client: &mut Client) -> anyhow::Result<Vec<(usize, Candidate, CodecRates)>> {
    let rows = client.query_texts(
        "select frame_bytes_max, algorithm, level, plain_bytes, packed_bytes, pack_cpu_ns, unpack_cpu_ns from tap_codecs \
         where plain_bytes > 0",
    )?;
    let read = |row: Row| {
        let mut values = Values::of(row);
        let frame_bytes: f64 = values.number()?;
        let compression =
            Compression { algorithm: values.text()?.parse::<Algorithm>().ok()?, level: values.number()? };
        let (plain, packed): (f64, f64) = (values.number()?, values.number()?);
        let rate = |ns: f64| plain / (ns / 1e9).max(1e-9);
        let measured = CodecRates {
            ratio: plain / packed.max(1.0),
            pack_bytes_per_s: rate(values.number()?),
            unpack_bytes_per_s: rate(values.number()?),
        };
        let candidates = [Packer::Server, Packer::Wirepress].map(|packer| Candidate { packer, compression });
        let candidate =
            candidates.into_iter().find(|one| one.frame_bytes().total_cmp(&frame_bytes).is_eq())?;
        Some((plain as usize, candidate, CodecRates::of(&candidate, measured)))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Exchanges; what the server's own packing took of them is taken off.
fn gathered(
    client: &mut Client,
    seed: u64,
    rates: &[(usize, Candidate, CodecRates)],
) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered::new(seed);
    let rows = client.query_texts(
        "select request_bytes, reply_bytes, first_ns, time_ns, server_algorithm, server_level from tap_exchanges",
    )?;
    for row in rows {
        let mut values = Values::of(row);
        let mut number = || values.number::<f64>().unwrap_or_default();
        let [request_bytes, reply_bytes, first_ns, time_ns] = std::array::from_fn(|_| number());
        let algorithm = values.text().unwrap_or_default();
        let level: u8 = values.number().unwrap_or_default();
        let packing_s =
            server_rates(rates, &algorithm, level).map_or(0.0, |one| reply_bytes / one.pack_bytes_per_s);
        let (first_s, time_s) = (first_ns / 1e9, time_ns / 1e9);
        gathered.exchanges.offer(Seen {
            request_bytes,
            reply_bytes,
            reply_packets: 0,
            first_s,
            time_s: (time_s - packing_s).max(first_s),
        });
    }
    Ok(gathered)
}

/// Of what the server packs with, or of the level next to it.
fn server_rates<'a>(
    rates: &'a [(usize, Candidate, CodecRates)],
    algorithm: &str,
    level: u8,
) -> Option<&'a CodecRates> {
    rates
        .iter()
        .filter(|(_, one, _)| one.packer == Packer::Server && one.compression.algorithm.name() == algorithm)
        .min_by_key(|(_, one, _)| one.compression.level.abs_diff(level))
        .map(|(_, _, rates)| rates)
}

/// Of MySQL, and of wirepress's admin port.
const UNKNOWN_VARIABLE: u16 = 1193;
const LOOK_EVERY: Duration = Duration::from_millis(200);
const REMEDIES: Remedies = Remedies {
    exchanges: "let it look for longer (--for), or when clients are busy",
    replies: "let it look for longer (--for), or when clients read more",
    spread: "let it look for longer (--for), or when the load is steadier",
};
