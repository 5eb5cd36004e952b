//! A run: a plan's cells measured in shuffled rounds, each sample written down at once, a report in the end.
//!
//! ```text
//!  database ─▶ tables ─▶ links calibrated ─▶ rounds: stage, job, sample ─▶ samples.jsonl ─▶ reports
//! ```
//! Invariants: everything that is started is stopped, and everything that is made on a user's server is removed, also
//! after an error or Ctrl-C; a sample that cannot be had is written down as such, and the run goes on, unless the
//! database itself is gone.
//!
//! Not here: which cells (`plan`), what a client does (`job`), how it is shown (`report`).

mod certificates;
mod database;
mod describe;
mod interrupt;
mod machine;
mod measure;
mod neighbours;
mod network;
mod options;
mod order;
mod pins;
mod progress;
mod proxy_process;
mod relay_process;
mod resume;
mod rounds;
mod stage;
mod turns;
mod wirepress_process;

pub use database::DatabaseWish;
pub use options::RunOptions;
pub use pins::Pins;
pub use progress::print;
pub use resume::ResumeOptions;

pub(crate) use database::{Database, Existing, PrivateOptions};
pub(crate) use interrupt::watch as watch_signals;
pub(crate) use neighbours::Neighbours;
pub(crate) use network::Network;
pub(crate) use progress::{Progress, print_to};
pub(crate) use proxy_process::ProxyProcess;
pub(crate) use stage::{Parts, Stage};
pub(crate) use wirepress_process::{Place, Policy, WirepressOptions, server_leg};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use lab::link::Link;
use lab::real::Kind;

use self::certificates::Certificates;
use crate::client::Stop;
use crate::job::{self, Job};
use crate::plan::{Plan, Step, World};
use crate::record::{Cell, End, Path as Through, Record, Records, Resumed, Writer};
use crate::report::{self, number::counted};
use crate::table::Table;

/// Runs a plan and prints its report.
///
/// # Errors
/// Nothing could be started, the database is gone, the disk is full, an interrupt, a measurement failed. Samples that were taken are
/// kept.
pub fn run(plan: &'static dyn Plan, options: &RunOptions) -> anyhow::Result<()> {
    let samples = options.out.join(SAMPLES);
    let folder = options.out.display();
    ensure!(
        !samples.exists(),
        "{} is there already; --resume {folder} goes on with it, --out names another folder",
        samples.display()
    );
    std::fs::create_dir_all(&options.out).with_context(|| format!("cannot make the folder {folder}"))?;
    let writer = Writer::create(&samples)?;
    match Sitting::new(plan, options, options.out.clone(), writer, None) {
        Ok(sitting) => sitting.finish(),
        Err(error) => {
            // Nothing has been measured: what is empty would be in the way of the next try. A folder that the user
            // keeps other things in stays.
            std::fs::remove_file(&samples).ok();
            std::fs::remove_dir(&options.out).ok();
            Err(error)
        }
    }
}

/// Goes on with a run that was interrupted, or in which something failed, as it was begun.
///
/// # Errors
/// As [`run`]; and a folder that holds no run, one that is complete, of another plan or build, that was begun with other options, or
/// on another machine without leave to go on with it here.
pub fn resume(plan: &'static dyn Plan, folder: &Path, options: &ResumeOptions) -> anyhow::Result<()> {
    let path = folder.join(SAMPLES);
    let records = Records::read(&path)?;
    let options = options.of_run(plan, folder, &records)?;
    let writer = Writer::append(&path)?;
    Sitting::new(plan, &options, folder.to_owned(), writer, Some(&records))?.finish()
}

/// What is measured.
fn steps(
    plan: &dyn Plan,
    options: &RunOptions,
    world: &World,
    database: &Database,
) -> anyhow::Result<Vec<Step>> {
    let mut steps = plan.steps(world)?;
    ensure!(
        !steps.is_empty(),
        "the plan {} cannot be measured with {}; use --with {}",
        plan.name(),
        database.name(),
        plan.database()
    );
    if !options.workloads.is_empty() {
        let names: BTreeSet<String> = steps.iter().map(|step| step.cell.workload.clone()).collect();
        steps.retain(|step| options.workloads.iter().any(|text| step.cell.does(text)));
        ensure!(
            !steps.is_empty(),
            "no workload of {} is called '{}'; here it has {}",
            plan.name(),
            options.workloads.join("' or '"),
            Vec::from_iter(names).join(", ")
        );
    }
    let programs: BTreeSet<&str> = steps.iter().filter_map(|step| step.job.program()).collect();
    for program in programs {
        job::program(program).with_context(|| format!("the plan {} cannot be measured", plan.name()))?;
    }
    if database.wants_tls()
        && let Some(step) = steps.iter().find(|step| !can_be_encrypted(step))
    {
        bail!(
            "'{}' cannot be measured inside TLS on a server of your own: only our own client, direct or through \
             wirepress or HAProxy, can be told what your server shows; --workload leaves others out",
            step.cell
        );
    }
    Ok(steps)
}

/// Whether the client of a cell can speak TLS with a user's server.
fn can_be_encrypted(step: &Step) -> bool {
    matches!(step.job, Job::Scan(_) | Job::Statements(_) | Job::Connect(_))
        && step.cell.path != Through::Router
}

/// One sitting of a run.
struct Sitting<'a> {
    plan: &'static dyn Plan,
    options: &'a RunOptions,
    folder: PathBuf,
    writer: Writer,
    stop: Stop,
    database: Database,
    certificates: Certificates,
    networks: BTreeMap<String, Network>,
    world: World,
    steps: Vec<Step>,
    /// Cells that need not be measured again.
    done: BTreeSet<(u32, Cell)>,
    /// What earlier sittings tried, and in vain.
    failed: Vec<(u32, Cell)>,
    /// Seconds that earlier sittings took.
    before_s: f64,
    /// What they said in the end.
    before: Option<End>,
    // Last, so that it outlives who has files in it.
    scratch: tempfile::TempDir,
}

impl<'a> Sitting<'a> {
    fn new(
        plan: &'static dyn Plan,
        options: &'a RunOptions,
        folder: PathBuf,
        mut writer: Writer,
        earlier: Option<&Records>,
    ) -> anyhow::Result<Self> {
        let stop = Stop::new();
        interrupt::watch(stop.clone()).context("cannot watch for Ctrl-C")?;
        let networks = networks(plan, options)?;
        let scratch = tempfile::Builder::new().prefix("wirepress-bench-").tempdir()?;
        let certificates = Certificates::make(scratch.path())?;
        Progress::new("bench", 0).part(&format!("{}: starting the database", plan.name()));
        let private = PrivateOptions {
            is_reached_from_outside: networks.values().any(Network::has_hosts),
            arguments: &certificates.server_arguments(),
            through: &options.pins.server_words(),
        };
        let database = Database::start(&options.database, &private, &stop)?;
        let world = World {
            scale: options.scale,
            workloads: options.workloads.clone(),
            links: networks.iter().map(|(name, network)| (name.clone(), network.link())).collect(),
            server_has_zstd: database.has_zstd(&stop)?,
            is_real: !database.is_embedded(),
            is_private: database.private().is_some(),
            is_private_mariadb: database.private().is_some_and(|server| server.kind() == Kind::MariaDb),
            repetitions: options.repetitions.unwrap_or_else(|| plan.repetitions(options.scale)),
            seed: options.seed,
        };
        let steps = steps(plan, options, &world, &database)?;
        let described = describe::run(plan, options, &networks, &database, world.repetitions, &steps)?;
        match earlier {
            None => writer.write(&Record::Run(Box::new(described)))?,
            Some(records) => {
                describe::is_same(&records.run, &described, plan, options.may_be_elsewhere)?;
                let is_elsewhere = records.run.machine.cpu != described.machine.cpu;
                writer.write(&Record::Resumed(Resumed {
                    started_unix_s: described.started_unix_s,
                    wirepress: described.wirepress,
                    machine: is_elsewhere.then_some(described.machine),
                }))?;
            }
        }
        let done = earlier.map_or_else(BTreeSet::new, |records| {
            records.samples.iter().map(|sample| (sample.repetition, sample.cell.clone())).collect()
        });
        let failed = earlier.map_or_else(Vec::new, |records| {
            let left = records.failures_left().into_iter();
            left.map(|failure| (failure.repetition, failure.cell.clone())).collect()
        });
        let before_s = earlier.map_or(0.0, Records::took_s);
        let before = earlier.and_then(Records::last_end).cloned();
        Ok(Self {
            plan,
            options,
            folder,
            writer,
            stop,
            database,
            certificates,
            networks,
            world,
            steps,
            done,
            failed,
            before_s,
            before,
            scratch,
        })
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let measured = self.measure_all();
        let records = Records::read(self.writer.path())?;
        let samples = records.samples.len();
        // What ended the run is told, and not that its reports have no room either.
        let reported = self.report(&records);
        let (folder, goes_on) = (self.folder.display(), resume::goes_on(&records.run, &self.folder));
        let kept = counted(samples, "sample");
        if self.stop.is_wished() {
            bail!(
                "interrupted after {kept}, which are kept; everything that was started is stopped; {goes_on}"
            );
        }
        measured.with_context(|| format!("{kept} kept in {folder}; {goes_on}"))?;
        reported?;
        // A script goes by the exit code, and not by a warning in a report.
        let failures = records.failures_left();
        match failures.first() {
            None => Ok(()),
            Some(first) if samples == 0 => {
                bail!("nothing could be measured; {}: {}", first.cell, first.reason)
            }
            Some(first) => {
                let failed = counted(failures.len(), "measurement");
                bail!("{failed} failed, {kept} kept; {}: {}; {goes_on}", first.cell, first.reason)
            }
        }
    }

    fn report(&self, records: &Records) -> anyhow::Result<()> {
        if records.samples.len() + records.failures.len() == 0 {
            return Ok(());
        }
        let progress = Progress::new("bench", 0);
        let folder = self.folder.display();
        // Before anything is printed: nobody may read it.
        let written = report::write(records, &self.folder).with_context(|| {
            format!("cannot write the reports; wirepress bench report {folder} makes them from {SAMPLES}")
        });
        progress.print(&report::terminal(records))?;
        let names: Vec<String> = written?.iter().map(|path| path.display().to_string()).collect();
        progress.print(&format!("Written: {}", names.join(", ")))?;
        Ok(())
    }

    fn fill(&self, progress: &mut Progress) -> anyhow::Result<()> {
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        for table in self.steps.iter().flat_map(Step::tables) {
            let largest = tables.entry(table.name.clone()).or_insert_with(|| table.clone());
            if table.rows > largest.rows {
                *largest = table;
            }
        }
        progress.part("filling the tables");
        let tables: Vec<Table> = tables.into_values().collect();
        self.database.fill(&tables, Existing::Refuse, &self.stop, |table, percent| {
            progress.step(format!("filling {} {percent} %", table.name));
        })?;
        // What is measured is the way from memory to the client: the tables are read once.
        let mut client = self.database.connect(&self.stop)?;
        for table in &tables {
            client.query(&table.scan_statement())?;
        }
        client.quit();
        Ok(())
    }
}

/// The links of a run, by name.
fn networks(plan: &dyn Plan, options: &RunOptions) -> anyhow::Result<BTreeMap<String, Network>> {
    let has_hosts = matches!(options.database, DatabaseWish::MySql | DatabaseWish::MariaDb);
    ensure!(
        options.kernel_links.is_empty() || has_hosts,
        "over a kernel link only a private server can be reached; use --link, or --with mysql or mariadb"
    );
    let links = if options.links.is_empty() && options.kernel_links.is_empty() {
        plan.links().iter().map(|text| Link::parse(text)).collect::<Result<Vec<_>, _>>()?
    } else {
        options.links.clone()
    };
    let is_bare = |link: &Link| link.is_unlimited() && !plan.counts_bytes();
    let user =
        links.into_iter().map(|link| Ok(if is_bare(&link) { Network::Bare } else { Network::User(link) }));
    let kernel = options.kernel_links.iter().map(Network::kernel);
    user.chain(kernel).map(|network| network.map(|network| (network.name(), network))).collect()
}

/// The file of a run's folder from which everything else is made.
pub const SAMPLES: &str = "samples.jsonl";
