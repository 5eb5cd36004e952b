//! Samples, one or some in turns: stages are set, jobs are done, clocks and counters are read around their measured time.
//!
//! ```text
//!  stage ─▶ [another connection, uncounted] ─▶ job: login, preparation │ meter.start … meter.stop │ its report ─▶ metrics
//!                                              turns of others meanwhile └─────── again ────────┘
//! ```
//! Invariants: all stages are set, and what went before is over, when the first job logs in, and none is taken down before the last
//! one's end; bytes and CPU time are those between start and stop, read together, in microseconds, of all turns; the count of
//! a link in user space is waited for, because it counts right behind its writes.
//!
//! Not here: which of them and in which order (`order`, `turns`), what is written down (`record`).

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use lab::generate::Sequence;
use lab::link::Traffic;

use super::network::Network;
use super::pins::Pins;
use super::stage::{Parts, Stage};
use super::turns::{Seat, Turns};
use crate::cpu;
use crate::job::{Donor, Job, Meter, Outcome, Unit};
use crate::plan::Step;
use crate::record::{Cell, Metric, Path};

/// What a sample gave, and what it cost this process besides.
pub(super) struct Measured {
    /// As in the file.
    pub(super) metrics: BTreeMap<Metric, f64>,
    /// CPU time of everything that belongs to the sample.
    pub(super) own_cpu: Duration,
    /// CPU time of the machine meanwhile.
    pub(super) machine_cpu: Option<Duration>,
    /// Measured time.
    pub(super) run_time: Duration,
}

/// What some samples gave, and what they cost together.
pub(super) struct Together {
    /// Of each step.
    pub(super) measured: Vec<anyhow::Result<Measured>>,
    /// CPU time of the links, logins included.
    pub(super) link_cpu: Duration,
}

/// Takes a sample of each step; of more than one in turns.
pub(super) fn measure(steps: &[&Step], network: &Network, parts: &Parts<'_>, random: Sequence) -> Together {
    let staged: Vec<_> = steps.iter().map(|step| Staged::set(step, network, parts)).collect();
    // A look at each of its threads, thousands where clients are many: it would take a good part of a short run.
    let link_cpu = || {
        let of_each = staged.iter().flatten().map(|staged| staged.stage.link_cpu());
        // The kernel's link is the same for all of them.
        if network.has_hosts() { of_each.max().unwrap_or_default() } else { of_each.sum() }
    };
    let before = link_cpu();
    let turns = Turns::new(staged.len(), random);
    let round_trips = steps.iter().map(|step| step.job.round_trips_min()).max().unwrap_or_default();
    let turn = turn_len(network.link().round_trip * round_trips, staged.len()).filter(|_| staged.len() > 1);
    let measured = thread::scope(|scope| {
        let jobs: Vec<_> = staged
            .iter()
            .zip(turns.seats())
            .map(|(staged, seat)| {
                scope.spawn(move || match staged {
                    Ok(staged) => staged.measure(seat, turn),
                    Err(error) => Err(anyhow!("{error:#}")),
                })
            })
            .collect();
        jobs.into_iter().map(|job| job.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    Together { measured, link_cpu: link_cpu().saturating_sub(before) }
}

/// A turn of one of so many jobs: each has its next one before the machine's pace has changed much; and what a turn's beginning
/// costs is hardly seen in it, if it takes `least`. Where that is longer a job has all of its time at once: it is the link that is
/// waited for there.
fn turn_len(least: Duration, jobs: usize) -> Option<Duration> {
    let jobs = u32::try_from(jobs).unwrap_or(u32::MAX).max(1);
    (least <= ALL_TURNS).then(|| least.max(ALL_TURNS / jobs))
}

/// A step, ready to be measured.
struct Staged<'a> {
    step: &'a Step,
    network: &'a Network,
    parts: &'a Parts<'a>,
    donor: Option<Donor>,
    stage: Stage<'a>,
}

impl<'a> Staged<'a> {
    fn set(step: &'a Step, network: &'a Network, parts: &'a Parts<'a>) -> anyhow::Result<Self> {
        let Step { cell, job, before } = step;
        let donor = job.donor(network)?;
        let stage = Stage::set(cell, network, parts, donor.as_ref())?;
        for job in before {
            job.run_uncounted(cell, &stage, parts)
                .context("the connection before the counted ones failed")?;
        }
        Ok(Self { step, network, parts, donor, stage })
    }

    fn measure(&self, seat: Seat<'_>, turn: Option<Duration>) -> anyhow::Result<Measured> {
        let Self { step: Step { cell, job, .. }, network, parts, donor, stage } = self;
        let mut counters = Counters::new(self, seat, turn);
        let outcome = job.run(cell, stage, parts, donor.as_ref(), &mut counters)?;
        let mut between = counters.sum.take().unwrap_or_default();
        // The client may be ahead of the link's count for a moment.
        let start = Instant::now();
        while let Some(first) =
            counters.first.as_ref().filter(|_| !network.has_hosts() && network.counts_bytes())
            && between.traffic.to_client_bytes() < outcome.packed_bytes
            && start.elapsed() < COUNT_MAX
        {
            thread::yield_now();
            between.traffic = stage.traffic() - first;
        }
        let busy = busy(cell, network, parts.pins, &between, &outcome);
        // Nobody knows how much of this machine's time a user's server on it takes.
        between.machine = between.machine.filter(|_| !parts.database.hides_cpu());
        let mut measured = measured(job, network.counts_bytes(), &between, outcome);
        measured.metrics.extend(busy);
        let pss_mib = counters.pss_bytes.map(|bytes| f64_of(bytes) / f64::from(1 << 20));
        measured.metrics.extend(pss_mib.map(|mib| (Metric::ProxyPssMib, mib)));
        Ok(measured)
    }
}

/// What the clocks and counters say.
#[derive(Clone, Debug, Default)]
struct Reading {
    traffic: Traffic,
    process: Duration,
    server: Option<Duration>,
    proxy: Option<Duration>,
    machine: Option<Duration>,
}

impl Reading {
    /// What passed behind an earlier one.
    fn since(self, before: &Self) -> Self {
        let difference =
            |after: Option<Duration>, before: Option<Duration>| Some(after?.saturating_sub(before?));
        Self {
            traffic: self.traffic - &before.traffic,
            process: self.process.saturating_sub(before.process),
            server: difference(self.server, before.server),
            proxy: difference(self.proxy, before.proxy),
            machine: difference(self.machine, before.machine),
        }
    }

    /// What passed in one turn more; what is not known of one isn't of all.
    fn and(mut self, turn: &Self) -> Self {
        let sum = |one: Option<Duration>, other: Option<Duration>| Some(one? + other?);
        self.traffic += &turn.traffic;
        Self {
            process: self.process + turn.process,
            server: sum(self.server, turn.server),
            proxy: sum(self.proxy, turn.proxy),
            machine: sum(self.machine, turn.machine),
            traffic: self.traffic,
        }
    }
}

/// Reads around each turn, and adds up.
struct Counters<'a> {
    staged: &'a Staged<'a>,
    seat: Seat<'a>,
    turn: Option<Duration>,
    /// Of the link, at the first turn's start and the last one's end.
    first: Option<Traffic>,
    last: Option<Traffic>,
    before: Option<Reading>,
    sum: Option<Reading>,
    /// Of the proxy, in the middle of the first turn.
    pss_bytes: Option<u64>,
}

impl<'a> Counters<'a> {
    const fn new(staged: &'a Staged<'a>, seat: Seat<'a>, turn: Option<Duration>) -> Self {
        Self { staged, seat, turn, first: None, last: None, before: None, sum: None, pss_bytes: None }
    }

    fn read(&self) -> Reading {
        let Staged { stage, parts, .. } = self.staged;
        Reading {
            traffic: stage.traffic(),
            process: cpu::this_process(),
            server: parts.database.cpu(),
            proxy: stage.proxy_cpu(),
            machine: cpu::of_machine(),
        }
    }
}

impl Meter for Counters<'_> {
    fn turn(&self) -> Option<Duration> {
        self.turn
    }

    fn start(&mut self) {
        self.seat.take();
        let mut before = self.read();
        if let Some(last) = self.last.take().filter(|_| !self.staged.network.has_hosts()) {
            // A link in user space is this stage's alone: what it has counted since, it has counted late.
            before.traffic = last;
        }
        self.first.get_or_insert_with(|| before.traffic.clone());
        self.before = Some(before);
    }

    fn middle(&mut self) {
        self.pss_bytes = self.staged.stage.proxy_pss_bytes();
    }

    fn stop(&mut self) {
        let after = self.read();
        let Some(before) = self.before.take() else { return };
        self.last = Some(after.traffic.clone());
        let turn = after.since(&before);
        self.sum = Some(match self.sum.take() {
            Some(sum) => sum.and(&turn),
            None => turn,
        });
    }
}

fn measured(job: &Job, counts_bytes: bool, between: &Reading, outcome: Outcome) -> Measured {
    let Outcome { count, run_time, client_cpu, mut metrics, .. } = outcome;
    let seconds = run_time.as_secs_f64().max(1e-9);
    let each = count.max(1.0);
    let bytes = f64_of(between.traffic.bytes());
    let mean = bytes / 1e6 / seconds;
    // A run of less than a second has no second, its mean stands in; and where it is hardly longer, the mean is the
    // lower bound.
    let peak = f64_of(between.traffic.peak_second_bytes()) / 1e6;
    metrics.insert(Metric::Count, count);
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
    Measured { metrics, own_cpu: own_cpu + of_client, machine_cpu: between.machine, run_time }
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
/// One of each. Of two jobs one behind the other, 2 s each, the ratio's standard deviation was 5 to 8 %, in turns of 250 ms 2 to 5 %.
const ALL_TURNS: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use lab::link::Link;

    use super::*;
    use crate::job::{Statement, Statements};
    use crate::table::{Kind, Table};

    #[test]
    fn turns_are_short_where_many_take_them_and_round_trips_are() {
        let ms = |statement, threads, link: &str, jobs| {
            let table = Table::generated(Kind::Sysbench, "sbtest1", 1000, 1);
            let statements =
                Statements { statement, table, threads, time: ALL_TURNS, beside_large_rows: false };
            let round_trips = Job::Statements(statements).round_trips_min();
            let link = Link::parse(link).unwrap();
            turn_len(link.round_trip * round_trips, jobs).map(|turn| turn.as_millis())
        };
        let links = ["unlimited", "1gbit,500us", "100mbit,1.4ms", "10mbit,40ms"];
        // They open TCP's window; the others don't need one.
        let ranges = |jobs| links.map(|link| ms(Statement::Range, 64, link, jobs));
        assert_eq!(ranges(2), [Some(250), Some(250), None, None]);
        assert_eq!(ranges(5), [Some(100), Some(250), None, None]);
        assert_eq!(links.map(|link| ms(Statement::BulkInsert, 1, link, 5)), ranges(5));
        let point_selects = |jobs| links.map(|link| ms(Statement::PointSelect, 64, link, jobs));
        assert_eq!(point_selects(2), [Some(250), Some(250), Some(250), None]);
        assert_eq!(point_selects(10), [Some(50), Some(50), Some(70), None]);
        assert_eq!(links.map(|link| ms(Statement::Range, 1, link, 10)), point_selects(10));
        assert_eq!(ms(Statement::PointSelect, 64, "unlimited", 0), Some(500));
    }
}
