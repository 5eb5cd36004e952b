//! A link whose rate changes while a scan runs: how soon the latency policy follows.
//!
//! ```text
//!  phase 1: unlimited      phase 2: 100 Mbit/s       phase 3: unlimited
//!  ─────────────────────┐                        ┌─────────────────────▶ time
//!                       └────────────────────────┘
//!  in turn: none, zlib, zstd 1, zstd 3 (fixed), latency; each in every round, each with its own scan
//! ```
//! The link is the kernel's, between two network namespaces: a veth pair with the token bucket filter on both ends, whose
//! rate is replaced in place. What the reader got is counted by the reader, what crossed the link by the link, and what was
//! decided is asked of the proxy's admin port.
//!
//! Invariants: the optimum of a phase is measured, by every setting, in the second half of the same phase; nothing that was
//! started is left.
//!
//! Not here: when it has settled (`settling`), how the trace is written (`trace`).

mod settling;
mod trace;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use lab::kernel_link::{KernelLink, RunningKernelLink};
use lab::link::{Address, Link};

use self::settling::{Optimum, Settled};
use self::trace::{Look, Trace};
use crate::client::{Account, Client, Compression, Stop};
use crate::record::Setting;
use crate::run::{
    Database, DatabaseWish, Existing, Pins, Place, Policy, PrivateOptions, Progress, ProxyProcess,
    WirepressOptions, server_leg, watch_signals,
};
use crate::table::{Kind, Table};

/// What is asked.
#[derive(Debug, Clone)]
pub struct LinkStepOptions {
    /// A private real server.
    pub database: DatabaseWish,
    /// What is scanned: digits, text or wide repetitive rows.
    pub table: Kind,
    /// Bytes per second in the middle.
    pub rate_bytes_per_s: u64,
    /// How long each of the three phases is.
    pub phase: Duration,
    /// How often each setting is measured.
    pub rounds: u32,
    /// Whether the hosts have a core each.
    pub pins: Pins,
    /// Seed of the rows.
    pub seed: u64,
    /// Where the trace is kept.
    pub out: PathBuf,
}

/// Measures, prints the trace and what follows from it, and keeps all traces.
///
/// # Errors
/// Not root, or what else a kernel link needs is missing; a database that can't be started; a scan that fails.
pub fn run(options: &LinkStepOptions) -> anyhow::Result<()> {
    let stop = Stop::new();
    watch_signals(stop.clone()).context("cannot watch for Ctrl-C")?;
    let file = options.out.join(TRACE);
    ensure!(!file.exists(), "{} is there already; --out names another folder", file.display());
    let mut progress = Progress::new("bench link-step", u64::from(options.rounds) * SETTINGS.len() as u64);
    let link = KernelLink::from(Link::UNLIMITED).open().context("cannot open the kernel link")?;
    progress.part("starting the database");
    let private = PrivateOptions {
        is_reached_from_outside: true,
        arguments: &[],
        through: &options.pins.server_words(),
    };
    let database = Database::start(&options.database, &private, &stop)?;
    ensure!(
        database.private().is_some(),
        "a link's rate is stepped before a private server only; use --with"
    );
    let table = Table::generated(options.table, "stepped", rows(options.table), options.seed);
    database.fill(std::slice::from_ref(&table), Existing::Replace, &stop, |_, percent| {
        progress.step(format!("filling the table {percent} %"));
    })?;
    let stage = Stage { options, link: &link, database: &database, table: &table, stop: &stop };
    let mut traces = Vec::new();
    for round in 1..=options.rounds {
        for setting in SETTINGS {
            progress.step(format!("round {round} of {}: {setting}", options.rounds));
            traces.push(stage.trace(round, setting)?);
            if stop.is_wished() {
                bail!("interrupted; everything that was started is stopped, and nothing was kept");
            }
            progress.done();
        }
    }
    let text = report(options, &database.name(), &traces);
    progress.print(text.trim_end())?;
    fs::create_dir_all(&options.out)
        .and_then(|()| fs::write(&file, trace::csv(&traces)))
        .and_then(|()| fs::write(options.out.join(REPORT), &text))
        .with_context(|| format!("cannot write to {}", options.out.display()))?;
    progress.print(&format!("Written: {}, {}", file.display(), options.out.join(REPORT).display()))?;
    Ok(())
}

/// What every trace is taken with.
struct Stage<'a> {
    options: &'a LinkStepOptions,
    link: &'a RunningKernelLink,
    database: &'a Database,
    table: &'a Table,
    stop: &'a Stop,
}

impl Stage<'_> {
    fn trace(&self, round: u32, setting: Setting) -> anyhow::Result<Trace> {
        let folder = tempfile::tempdir().context("no folder for the admin port")?;
        let admin = Address::Unix(folder.path().join("admin"));
        let arguments = [server_leg(None), vec!["--admin-listen".to_owned(), admin.to_string()]].concat();
        let through = self.options.pins.server_words();
        let proxy = ProxyProcess::wirepress(
            &WirepressOptions {
                program: &std::env::current_exe().context("cannot find this program's own file")?,
                through: &through,
                listen: self.link.server_ip(),
                server: self.database.address(),
                place: Place::Alone,
                policy: Policy::of(setting),
                arguments: &arguments,
            },
            self.stop,
        )?;
        let received = AtomicU64::new(0);
        let address = proxy.address();
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                self.link.in_client(|| {
                    self.options.pins.on_client_cores(|| self.scan(&address, setting, &received))
                })
            });
            let looks = self.looks(&admin, &received);
            let ended_early = reader.is_finished();
            // The scan is far from its end: it ends with its proxy.
            drop(proxy);
            let read = reader.join().map_err(|_| anyhow::anyhow!("the reader's thread panicked"))?;
            if ended_early {
                read?.context("the scan failed")?;
            }
            Ok(Trace { round, setting, phase: self.options.phase, looks: looks? })
        })
    }

    /// Reads until the connection ends.
    fn scan(&self, address: &Address, setting: Setting, received: &AtomicU64) -> anyhow::Result<()> {
        let mut client = Client::connect(address, self.database.account(), setting.compression(), self.stop)?;
        let sql = vec![self.table.scan_statement(); COPIES].join(" union all ");
        client.query_payloads(&sql, |payload, _| {
            received.fetch_add(HEADER_LEN + payload.len() as u64, Ordering::Relaxed);
        })?;
        bail!("the scan came to its end before the last phase did; the machine is faster than expected")
    }

    /// The port is opened behind the listener.
    fn connect_admin(&self, address: &Address) -> anyhow::Result<Client> {
        let (user, password, database) = ("admin".to_owned(), String::new().into(), String::new());
        let account = Account { user, password, database, tls: None };
        let begun = Instant::now();
        loop {
            match Client::connect(address, &account, Compression::NONE, self.stop) {
                Ok(client) => return Ok(client),
                Err(_) if begun.elapsed() < START_MAX && !self.stop.is_wished() => thread::sleep(LOOK_EVERY),
                Err(fault) => return Err(fault).context("the proxy's admin port"),
            }
        }
    }

    /// Changes the link and looks at what becomes of it.
    fn looks(&self, admin: &Address, received: &AtomicU64) -> anyhow::Result<Vec<Look>> {
        let mut admin = self.connect_admin(admin)?;
        self.link.set_rate(None)?;
        let waited = Instant::now();
        while received.load(Ordering::Relaxed) == 0 {
            ensure!(waited.elapsed() < START_MAX, "no row came within {START_MAX:?}");
            thread::sleep(LOOK_EVERY);
        }
        let phase = self.options.phase;
        let steps = [(phase, Some(self.options.rate_bytes_per_s)), (2 * phase, None)];
        let mut steps = steps.into_iter().peekable();
        let carried = || self.link.traffic().to_client_bytes();
        let (start, received_before, carried_before) =
            (Instant::now(), received.load(Ordering::Relaxed), carried());
        let mut looks = Vec::new();
        while start.elapsed() < 3 * phase && !self.stop.is_wished() {
            if let Some((_, rate)) = steps.next_if(|(at, _)| *at <= start.elapsed()) {
                self.link.set_rate(rate)?;
            }
            let rows = admin.query_texts(DECISIONS).context("the proxy's admin port")?;
            let mut row = rows.into_iter().next().unwrap_or_default().into_iter();
            let mut text = || row.next().flatten();
            let mut number = || text().and_then(|text| text.parse().ok()).unwrap_or_default();
            let (frames_packed, frames_stored) = (number(), number());
            looks.push(Look {
                at_s: start.elapsed().as_secs_f64(),
                plain_bytes: received.load(Ordering::Relaxed) - received_before,
                link_bytes: carried().saturating_sub(carried_before),
                frames_packed,
                frames_stored,
                decision: text().unwrap_or_default(),
                reason: text().unwrap_or_default(),
            });
            thread::sleep(LOOK_EVERY);
        }
        Ok(looks)
    }
}

/// The trace of the policy's first round, and how soon it followed in each.
fn report(options: &LinkStepOptions, database: &str, traces: &[Trace]) -> String {
    let rate = Link::new(Some(options.rate_bytes_per_s), Duration::ZERO);
    let mut text = format!(
        "A scan of {} from {database}, while the link steps: unlimited, {rate} after {:?}, unlimited after {:?}\n\n",
        match options.table {
            Kind::Text => "text",
            Kind::Wide => "wide repetitive rows",
            _ => "digits",
        },
        options.phase,
        2 * options.phase
    );
    let ours: Vec<&Trace> = traces.iter().filter(|trace| trace.setting == Setting::Latency).collect();
    if let Some(first) = ours.first() {
        text.push_str(&trace::table(first));
    }
    text.push('\n');
    text.push_str(&settling::rates(traces));
    for (phase, step) in [(1, format!("unlimited to {rate}")), (2, format!("{rate} to unlimited"))] {
        let Some(optimum) = Optimum::of(traces, phase) else { continue };
        for trace in &ours {
            let told = Settled::of(trace, phase, optimum.mb_per_s).map_or_else(
                || "not in this phase, or not for long: misses".to_owned(),
                |settled| settled.to_string(),
            );
            text.push_str(&format!(
                "{step}, round {}: 90 % of {:.1} MB/s ({}) after {told}\n",
                trace.round, optimum.mb_per_s, optimum.setting
            ));
        }
    }
    text
}

const SETTINGS: [Setting; 5] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Latency];
const DECISIONS: &str = "select client_to_client_frames_packed, client_to_client_frames_stored, to_client_decision, \
                         to_client_reason from connections where user is not null order by id desc limit 1";
/// A look costs the proxy about a millisecond of the admin port's thread.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const START_MAX: Duration = Duration::from_secs(20);
/// 20 MB of digits, 40 MB of text or of wide rows; read so often that no machine comes to the end.
const fn rows(kind: Kind) -> u32 {
    match kind {
        Kind::Wide => 600,
        _ => 100_000,
    }
}

const COPIES: usize = 1_000;
const HEADER_LEN: u64 = 4;
const TRACE: &str = "link-step.csv";
const REPORT: &str = "link-step.txt";
