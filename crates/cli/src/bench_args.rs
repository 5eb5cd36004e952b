//! The arguments of `wirepress bench`: a subcommand for each plan, and those that work on finished runs.
//!
//! Invariants: the plans come from `bench::plan::ALL`; a new plan is a subcommand without a line here.
//!
//! Not here: what they do (`bench_command`).

use std::path::PathBuf;

use bench::advise::ScoreOptions;
use bench::plan::{self, Plan, Scale};
use bench::run::RunOptions;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use lab::kernel_link::KernelLink;
use lab::link::Link;

use crate::peer_tls::OwnServerTls;

/// What `wirepress bench` does.
#[derive(Debug)]
pub(crate) enum BenchCommand {
    /// Measure a plan.
    Plan(&'static dyn Plan, Box<PlanArgs>),
    /// Make the reports of a run again.
    Report(ReportArgs),
    /// Tell what changed between two runs.
    Compare(CompareArgs),
    /// Check the links.
    Links(LinksArgs),
    /// Change a link while a scan runs.
    LinkStep(LinkStepArgs),
    /// Score the advisor's forecasts.
    AdvisorScore(AdvisorScoreArgs),
}

/// Options of every plan.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// Measure your own server, mysql://user:password@host:port/database (or …@/database?socket=/path), instead of a
    /// private one. Tables are made in the named schema alone, which must not have them yet, and dropped in the end.
    #[arg(long, value_name = "URL", conflicts_with = "with")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) tls: OwnServerTls,
    /// The database that is started for the run.
    #[arg(long, value_name = "DATABASE", value_enum, default_value_t = With::Mysql)]
    pub(crate) with: With,
    /// How much of the plan: smoke (does it work? at most ten minutes), laptop (at most an hour) or full.
    #[arg(long, value_name = "SCALE", default_value_t = Scale::Laptop)]
    pub(crate) scale: Scale,
    /// A link in user space: RATE or RATE,ROUND_TRIP such as unlimited, 1gbit or 100mbit,1.4ms. May be given several
    /// times [default: the plan's own].
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Vec<Link>,
    /// A link of the kernel's, as root: packets between network namespaces, seen by real TCP. RATE or RATE,ROUND_TRIP,
    /// and behind them loss=0.1% and jitter=0.2ms. May be given several times.
    #[arg(long, value_name = "LINK")]
    pub(crate) link_kernel: Vec<KernelLink>,
    /// Only workloads whose name contains this, such as 'scan of', or 'point select, 8' with its threads. May be given
    /// several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) workload: Vec<String>,
    /// How often each cell is measured [default: by scale and plan].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repetitions: Option<u32>,
    /// Seed of the order of cells and of the tables' contents.
    #[arg(long, value_name = "N", default_value_t = RunOptions::SEED)]
    pub(crate) seed: u64,
    /// Give the server's host and the client's host a core each.
    #[arg(long)]
    pub(crate) pin: bool,
    /// The folder for samples and reports [default: a new one below wirepress-bench].
    #[arg(long, value_name = "FOLDER", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the run in this folder, which was interrupted or in which something failed. What it was begun with holds
    /// and need not be given again, but for --server.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: go on though this is another machine than the run was begun on. Samples that are compared are still
    /// taken together on one; the report names all of them.
    #[arg(long, requires = "resume")]
    pub(crate) other_machine: bool,
    /// Which of these were given, and are not defaults.
    #[arg(skip)]
    pub(crate) given: Given,
}

/// Options that have a default, and whether they were given: a run that goes on has no defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given {
    pub(crate) with: bool,
    pub(crate) scale: bool,
    pub(crate) seed: bool,
}

impl Given {
    fn of(matches: &ArgMatches) -> Self {
        let is_given = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
        Self { with: is_given("with"), scale: is_given("scale"), seed: is_given("seed") }
    }
}

/// Databases that can be started.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum With {
    /// A private MySQL, as `make servers` fetches it.
    Mysql,
    /// A private MariaDB, as `make servers` fetches it.
    Mariadb,
    /// The one in this program, which is no real server.
    Embedded,
}

/// Make the reports of a run again, from its samples alone.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// The run's folder.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// Tell what changed between two runs beyond noise.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// The run that is compared with: its folder, or its samples.jsonl.
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The run that is compared.
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
}

/// Check emulated links: rate and round trip, in user space and the kernel's, beside tbf and iperf3. Needs root.
///
/// Its last table says what must hold, each figure the median of several readings. Of links from 10 Mbit/s to 1 Gbit/s
/// without loss and jitter: the rate within 5 % of tbf's and of iperf3's, and the time of a scan over the kernel link and
/// over the one in user space apart by the headers, within 5 %. Of all: a ping-pong within 0.2 ms of the wished round trip.
/// The exit code is 1 when one of them does not hold; what could not be read is said to be not checked, and is no failure.
#[derive(Debug, Clone, Args)]
pub(crate) struct LinksArgs {
    /// A link, RATE or RATE,ROUND_TRIP. May be given several times [default: 10 Mbit/s to 1 Gbit/s, with and without a
    /// round trip].
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Vec<KernelLink>,
    /// Scans over each link.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) scans: u32,
}

/// Tell how good the forecasts of `wirepress advise` are, on cells that are drawn by a seed.
///
/// Each cell is forecast from what was measured without its link, then measured over it; a third and more lie within a
/// factor 2 of the border at which compression stops paying. The exit code is 1 when the forecasts are worse than
/// promised: the sign right in 95 % of the cells whose effect exceeds 5 %, the times within 15 % in 90 %;
/// and with fewer than 40 cells, which are no score.
#[derive(Debug, Clone, Args)]
pub(crate) struct AdvisorScoreArgs {
    /// The database that is started for it.
    #[arg(long, value_name = "DATABASE", value_enum, default_value_t = With::Mysql)]
    pub(crate) with: With,
    /// How many cells.
    #[arg(long, value_name = "N", default_value_t = ScoreOptions::CELLS,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) cells: u32,
    /// Seed of all cells.
    #[arg(long, value_name = "N", default_value_t = ScoreOptions::SEED)]
    pub(crate) seed: u64,
}

/// Change a link's rate while a scan runs, and trace what the latency policy decides. Needs root.
///
/// The link is unlimited, then has the rate, then is unlimited again. Each fixed setting is measured in the same way; the
/// best one in a phase is what the policy must come near (90 %) within 0.5 s or 2 MiB of the step.
#[derive(Debug, Clone, Args)]
pub(crate) struct LinkStepArgs {
    /// The database that is started for it.
    #[arg(long, value_name = "DATABASE", value_enum, default_value_t = With::Mysql)]
    pub(crate) with: With,
    /// What is scanned.
    #[arg(long, value_name = "ROWS", value_enum, default_value_t = Rows::Text)]
    pub(crate) rows: Rows,
    /// The rate in the middle, without a round trip: the link's packets pass through the kernel alone.
    #[arg(long, value_name = "RATE", default_value = "100mbit")]
    pub(crate) rate: Link,
    /// Seconds of each of the three phases.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) phase: u64,
    /// How often each setting is measured.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Seed of the rows.
    #[arg(long, value_name = "N", default_value_t = RunOptions::SEED)]
    pub(crate) seed: u64,
    /// Give the server's host and the client's host a core each.
    #[arg(long)]
    pub(crate) pin: bool,
    /// The folder for the traces [default: a new one below wirepress-bench].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// What a scan reads.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Rows {
    /// sysbench's.
    Digits,
    /// Prose.
    Text,
    /// 64 KB of the same few words.
    Wide,
}

const ADVISOR_SCORE: &str = "advisor-score";
const LINK_STEP: &str = "link-step";
const REPORT: &str = "report";
const COMPARE: &str = "compare";
const LINKS: &str = "links";

impl Subcommand for BenchCommand {
    fn augment_subcommands(command: Command) -> Command {
        let command = command.subcommand_required(true).arg_required_else_help(true);
        let plans = plan::ALL.into_iter().map(|plan| {
            PlanArgs::augment_args(Command::new(plan.name()))
                .about(plan.title())
                .long_about(plan.question())
                .mut_arg("with", |with| with.default_value(plan.database()))
        });
        command
            .subcommands(plans)
            .subcommand(ReportArgs::augment_args(Command::new(REPORT)))
            .subcommand(CompareArgs::augment_args(Command::new(COMPARE)))
            .subcommand(LinksArgs::augment_args(Command::new(LINKS)))
            .subcommand(LinkStepArgs::augment_args(Command::new(LINK_STEP)))
            .subcommand(AdvisorScoreArgs::augment_args(Command::new(ADVISOR_SCORE)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        [REPORT, COMPARE, LINKS, LINK_STEP, ADVISOR_SCORE].contains(&name) || plan::named(name).is_some()
    }
}

impl FromArgMatches for BenchCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        match (name, plan::named(name)) {
            (REPORT, _) => Ok(Self::Report(ReportArgs::from_arg_matches(matches)?)),
            (COMPARE, _) => Ok(Self::Compare(CompareArgs::from_arg_matches(matches)?)),
            (LINKS, _) => Ok(Self::Links(LinksArgs::from_arg_matches(matches)?)),
            (LINK_STEP, _) => Ok(Self::LinkStep(LinkStepArgs::from_arg_matches(matches)?)),
            (ADVISOR_SCORE, _) => Ok(Self::AdvisorScore(AdvisorScoreArgs::from_arg_matches(matches)?)),
            (_, Some(plan)) => {
                let args = PlanArgs { given: Given::of(matches), ..PlanArgs::from_arg_matches(matches)? };
                Ok(Self::Plan(plan, Box::new(args)))
            }
            (_, None) => Err(missing()),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
