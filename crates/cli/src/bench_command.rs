//! `wirepress bench`: arguments to the runs and reports of crate `bench`.
//!
//! Not here: any of them. The server's URL is read here and not by the argument parser, which would repeat it, password
//! and all, in its error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use bench::advise::{self, ScoreOptions};
use bench::link_step::{self, LinkStepOptions};
use bench::links::LinksOptions;
use bench::plan::Plan;
use bench::record::Records;
use bench::run::{self, DatabaseWish, Pins, ResumeOptions, RunOptions, SAMPLES};
use bench::table::Kind;
use bench::{compare, report};

use crate::bench_args::{
    AdvisorScoreArgs, BenchCommand, CompareArgs, LinkStepArgs, LinksArgs, PlanArgs, ReportArgs, Rows, With,
};

/// Does what it was asked for.
pub(crate) fn run(command: BenchCommand) -> anyhow::Result<()> {
    match command {
        BenchCommand::Plan(plan, args) => measure(plan, &args),
        BenchCommand::Report(args) => make_reports(&args),
        BenchCommand::Compare(args) => print_comparison(&args),
        BenchCommand::Links(args) => check_links(args),
        BenchCommand::LinkStep(args) => step_link(&args),
        BenchCommand::AdvisorScore(args) => score_advisor(&args),
    }
}

fn measure(plan: &'static dyn Plan, args: &PlanArgs) -> anyhow::Result<()> {
    let server = args.tls.server_or_started(args.server.as_deref())?.map(DatabaseWish::Url);
    if let Some(folder) = &args.resume {
        return run::resume(plan, folder, &again(args, server));
    }
    let options = RunOptions {
        database: server.unwrap_or_else(|| started(args.with)),
        server_leg_tls: args.tls.server_leg(),
        scale: args.scale,
        links: args.link.clone(),
        kernel_links: args.link_kernel.clone(),
        workloads: args.workload.clone(),
        repetitions: args.repetitions,
        seed: args.seed,
        pins: pins(args.pin)?,
        may_be_elsewhere: false,
        out: args.out.clone().unwrap_or_else(|| new_folder(&format!("{}-{}", plan.name(), args.scale))),
        command: command_without_passwords(),
    };
    run::run(plan, &options)
}

/// What is said again of a run that goes on.
fn again(args: &PlanArgs, server: Option<DatabaseWish>) -> ResumeOptions {
    let given = args.given;
    ResumeOptions {
        database: server.or_else(|| given.with.then(|| started(args.with))),
        server_leg_tls: args.tls.server_leg(),
        scale: given.scale.then_some(args.scale),
        links: args.link.clone(),
        kernel_links: args.link_kernel.clone(),
        workloads: args.workload.clone(),
        repetitions: args.repetitions,
        seed: given.seed.then_some(args.seed),
        is_pinned: args.pin,
        may_be_elsewhere: args.other_machine,
        command: command_without_passwords(),
    }
}

fn started(with: With) -> DatabaseWish {
    match with {
        With::Mysql => DatabaseWish::MySql,
        With::Mariadb => DatabaseWish::MariaDb,
        With::Embedded => DatabaseWish::Embedded,
    }
}

fn score_advisor(args: &AdvisorScoreArgs) -> anyhow::Result<()> {
    let AdvisorScoreArgs { with, cells, seed } = *args;
    advise::score(&ScoreOptions { database: started(with), cells, seed })
}

fn pins(are_wanted: bool) -> anyhow::Result<Pins> {
    if are_wanted { Pins::one_each() } else { Ok(Pins::Shared) }
}

fn step_link(args: &LinkStepArgs) -> anyhow::Result<()> {
    ensure!(args.rate.round_trip.is_zero(), "--rate {}: the link that steps has no round trip", args.rate);
    link_step::run(&LinkStepOptions {
        database: started(args.with),
        table: match args.rows {
            Rows::Digits => Kind::Sysbench,
            Rows::Text => Kind::Text,
            Rows::Wide => Kind::Wide,
        },
        rate_bytes_per_s: args.rate.rate_bytes_per_s.context("--rate unlimited: that is no step")?,
        phase: Duration::from_secs(args.phase),
        rounds: args.rounds,
        pins: pins(args.pin)?,
        seed: args.seed,
        out: args.out.clone().unwrap_or_else(|| new_folder("link-step")),
    })
}

/// `wirepress-bench/PLAN-SCALE-1`, or the next number.
fn new_folder(begins: &str) -> PathBuf {
    let name = |number: u32| Path::new("wirepress-bench").join(format!("{begins}-{number}"));
    (1..).map(name).find(|folder| !folder.exists()).unwrap_or_else(|| name(1))
}

/// The command, for the report.
fn command_without_passwords() -> Vec<String> {
    std::env::args().map(|word| without_password(&word)).collect()
}

/// A word with the password of a URL in it replaced.
fn without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("mysql://") else { return word.to_owned() };
    let Some((account, host)) = rest.rsplit_once('@') else { return word.to_owned() };
    let user = account.split(':').next().unwrap_or_default();
    format!("{scheme}mysql://{user}:***@{host}")
}

fn make_reports(args: &ReportArgs) -> anyhow::Result<()> {
    let records = Records::read(&args.folder.join(SAMPLES))?;
    let written = report::write(&records, &args.folder)?;
    run::print(&report::terminal(&records))?;
    for path in written {
        run::print(&format!("Written: {}", path.display()))?;
    }
    Ok(())
}

fn print_comparison(args: &CompareArgs) -> anyhow::Result<()> {
    let read = |folder: &Path| {
        let path = if folder.is_dir() { folder.join(SAMPLES) } else { folder.to_owned() };
        Records::read(&path).with_context(|| format!("cannot compare {}", folder.display()))
    };
    let comparison = compare::compare(&read(&args.before)?, &read(&args.after)?);
    run::print(comparison.to_string().trim_end())?;
    Ok(())
}

fn check_links(args: LinksArgs) -> anyhow::Result<()> {
    let mut options = LinksOptions { scan_count: args.scans, ..LinksOptions::default() };
    if !args.link.is_empty() {
        options.links = args.link;
    }
    bench::links::run(&options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_written_down() {
        assert_eq!(without_password("mysql://me:hush@h/d"), "mysql://me:***@h/d");
        assert_eq!(without_password("--server=mysql://me:hu@sh@h/d"), "--server=mysql://me:***@h/d");
        assert_eq!(without_password("rds-scan"), "rds-scan");
    }
}
