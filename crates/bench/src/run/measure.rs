//! One sample: the stage is set, the job is done, clocks and counters are read around its measured time.
//!
//! ```text
//!  stage ─▶ [another connection, uncounted] ─▶ job: login, preparation │ meter.start … meter.stop │ its report ─▶ metrics
//! ```
//! Invariants: what went before is over when the job logs in; bytes and CPU time are those between start and stop, read
//! together, in microseconds; the link's count is waited for, because it counts right behind its writes.
//!
//! Not here: in which order (`order`), what is written down (`record`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use lab::link::Traffic;

use super::network::Network;
use super::pins::Pins;
use super::stage::{Parts, Stage};
use crate::cpu;
use crate::job::{Job, Meter, Outcome, Unit};
use crate::plan::Step;
use crate::record::{Cell, Metric, Path};

/// What a sample gave, and what it cost this process besides.
pub(super) struct Measured {
    /// As in the file.
    pub(super) metrics: BTreeMap<Metric, f64>,
    /// CPU time of the links, logins included.
    pub(super) link_cpu: Duration,
    /// CPU time of everything that belongs to the sample.
    pub(super) own_cpu: Duration,
    /// CPU time of the machine meanwhile.
    pub(super) machine_cpu: Option<Duration>,
    /// Measured time.
    pub(super) run_time: Duration,
}

/// Takes a sample.
pub(super) fn measure(step: &Step, network: &Network, parts: &Parts<'_>) -> anyhow::Result<Measured> {
    let Step { cell, job, before } = step;
    let donor = job.donor(network)?;
    let stage = Stage::set(cell, network, parts, donor.as_ref())?;
    for job in before {
        job.run_uncounted(cell, &stage, parts).context("the connection before the counted ones failed")?;
    }
    let links_before = stage.link_cpu();
    let mut counters = Counters { stage: &stage, parts, before: None, between: None };
    let outcome = job.run(cell, &stage, parts, donor.as_ref(), &mut counters)?;
    let mut between = counters.between.take().unwrap_or_default();
    let traffic_before = counters.before.take().map(|before| before.traffic).unwrap_or_default();
    // The client may be ahead of the link's count for a moment.
    let start = Instant::now();
    while network.counts_bytes()
        && between.traffic.to_client_bytes() < outcome.packed_bytes
        && start.elapsed() < COUNT_MAX
    {
        std::thread::yield_now();
        between.traffic = stage.traffic() - &traffic_before;
    }
    let busy = busy(cell, network, parts.pins, &between, &outcome);
    // Nobody knows how much of this machine's time a user's server on it takes.
    between.machine = between.machine.filter(|_| !parts.database.hides_cpu());
    // A look at each of its threads, thousands where clients are many: it would take a good part of a short run.
    let link_cpu = stage.link_cpu().saturating_sub(links_before);
    let mut measured = measured(job, network.counts_bytes(), link_cpu, &between, outcome);
    measured.metrics.extend(busy);
    Ok(measured)
}

/// What the clocks and counters say.
#[derive(Clone, Debug, Default)]
struct Reading {
    traffic: Traffic,
    process: Duration,
    server: Option<Duration>,
    proxy: Option<Duration>,
    machine: Option<Duration>,
    /// Of the proxy, in the middle.
    pss_bytes: Option<u64>,
}

struct Counters<'a> {
    stage: &'a Stage<'a>,
    parts: &'a Parts<'a>,
    before: Option<Reading>,
    between: Option<Reading>,
}

impl Counters<'_> {
    fn read(&self) -> Reading {
        Reading {
            traffic: self.stage.traffic(),
            process: cpu::this_process(),
            server: self.parts.database.cpu(),
            proxy: self.stage.proxy_cpu(),
            machine: cpu::of_machine(),
            pss_bytes: None,
        }
    }
}

impl Meter for Counters<'_> {
    fn start(&mut self) {
        self.before = Some(self.read());
    }

    fn middle(&mut self) {
        self.between = Some(Reading { pss_bytes: self.stage.proxy_pss_bytes(), ..Reading::default() });
    }

    fn stop(&mut self) {
        let after = self.read();
        let pss_bytes = self.between.take().and_then(|middle| middle.pss_bytes);
        let difference =
            |after: Option<Duration>, before: Option<Duration>| Some(after?.saturating_sub(before?));
        self.between = self.before.as_ref().map(|before| Reading {
            traffic: after.traffic - &before.traffic,
            process: after.process.saturating_sub(before.process),
            server: difference(after.server, before.server),
            proxy: difference(after.proxy, before.proxy),
            machine: difference(after.machine, before.machine),
            pss_bytes,
        });
    }
}

fn measured(
    job: &Job,
    counts_bytes: bool,
    link_cpu: Duration,
    between: &Reading,
    outcome: Outcome,
) -> Measured {
    let Outcome { count, run_time, client_cpu, mut metrics, .. } = outcome;
    let seconds = run_time.as_secs_f64().max(1e-9);
    let each = count.max(1.0);
    let bytes = f64_of(between.traffic.bytes());
    let mean = bytes / 1e6 / seconds;
    // A run of less than a second has no second, its mean stands in; and where it is hardly longer, the mean is the
    // lower bound.
    let peak = f64_of(between.traffic.peak_second_bytes()) / 1e6;
    metrics.insert(Metric::Count, count);
    if let Some(bytes) = between.pss_bytes {
        metrics.insert(Metric::ProxyPssMib, f64_of(bytes) / f64::from(1 << 20));
    }
    let unit = job.unit();
    let wire = match unit {
        Unit::Run | Unit::Transfer => Metric::WireBytes,
        Unit::Transaction => Metric::WireBytesPerTx,
    };
    if counts_bytes {
        metrics.insert(Metric::MeanMbPerS, mean);
        metrics.insert(Metric::PeakMbPerS, if seconds < 1.0 { mean } else { peak.max(mean) });
        metrics.insert(wire, bytes / each);
    }
    let times = [
        (between.server, Metric::ServerCpuS, Metric::ServerCpuUsPerTx),
        (between.proxy, Metric::ProxyCpuS, Metric::ProxyCpuUsPerTx),
        (Some(client_cpu), Metric::ClientCpuS, Metric::ClientCpuUsPerTx),
    ];
    for (time, per_run, per_transaction) in times {
        let Some(time) = time else { continue };
        match unit {
            Unit::Run => metrics.insert(per_run, time.as_secs_f64() / each),
            Unit::Transaction => metrics.insert(per_transaction, time.as_secs_f64() * 1e6 / each),
            // Donor and joiner are told by their own names.
            Unit::Transfer => None,
        };
    }
    let own_cpu = between.server.unwrap_or_default() + between.proxy.unwrap_or_default() + between.process;
    // Our own client is in this process.
    let of_client = if job.program().is_some() { client_cpu } else { Duration::ZERO };
    Measured { metrics, link_cpu, own_cpu: own_cpu + of_client, machine_cpu: between.machine, run_time }
}

/// How busy link and cores were, as far as that can be known.
fn busy(
    cell: &Cell,
    network: &Network,
    pins: Pins,
    between: &Reading,
    outcome: &Outcome,
) -> Vec<(Metric, f64)> {
    let seconds = outcome.run_time.as_secs_f64().max(1e-9);
    let traffic = &between.traffic;
    let bytes = f64_of(traffic.to_client_bytes().max(traffic.to_server_bytes()));
    let link = network.payload_bytes_per_s().map(|rate| 100.0 * bytes / seconds / rate);
    let of = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
    let (server, proxy, client) = (of(between.server), of(between.proxy), outcome.client_cpu.as_secs_f64());
    // Of a pair and of a proxy beside the application it is not known here how much of it each host has.
    let is_known = matches!(cell.path, Path::Direct | Path::Wirepress) && between.server.is_some();
    let busiest = match pins {
        Pins::OneEach { .. } => (server + proxy).max(client),
        Pins::Shared => server.max(proxy).max(client),
    };
    let core = is_known.then_some(100.0 * busiest / seconds);
    [(Metric::LinkBusyPercent, link), (Metric::CoreBusyPercent, core)]
        .into_iter()
        .filter_map(|(metric, value)| Some((metric, value?)))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a run are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// How long the link's count may be late.
const COUNT_MAX: Duration = Duration::from_secs(1);
