//! Going on with a run: what it was begun with holds, and what is given again must be the same.
//!
//! Invariants: nothing is started before this is known; samples that were taken with different options never come into
//! one file; the command that is told works as it stands, but for the URL of a user's server, which holds a password.
//!
//! Not here: build, machine and version of the database, which are known later (`describe`).

use std::path::Path;

use anyhow::{Context, bail, ensure};
use lab::kernel_link::KernelLink;
use lab::link::Link;

use super::database::DatabaseWish;
use super::network;
use super::options::RunOptions;
use super::pins::Pins;
use crate::plan::{Plan, Scale};
use crate::record::{KERNEL, Options, Origin, Records, Run};
use crate::report::quoted;

/// What is given with `--resume`: what is left out is as the run was begun.
#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    /// The database; a user's own must be named again.
    pub database: Option<DatabaseWish>,
    /// As in [`RunOptions::server_leg_tls`].
    pub server_leg_tls: Vec<String>,
    /// How much of the plan.
    pub scale: Option<Scale>,
    /// Links in user space.
    pub links: Vec<Link>,
    /// Links of the kernel's.
    pub kernel_links: Vec<KernelLink>,
    /// Only these workloads.
    pub workloads: Vec<String>,
    /// Repetitions of each cell.
    pub repetitions: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// Whether a core for each host was asked for.
    pub is_pinned: bool,
    /// Whether it may go on though it was begun on another machine.
    pub may_be_elsewhere: bool,
    /// The command as it was given, without passwords.
    pub command: Vec<String>,
}

impl ResumeOptions {
    /// All options of the run in that folder.
    ///
    /// # Errors
    /// Another plan, a run in which nothing is left to do, options that it was not begun with, a server that is not named.
    pub(super) fn of_run(
        &self,
        plan: &dyn Plan,
        folder: &Path,
        records: &Records,
    ) -> anyhow::Result<RunOptions> {
        let run = &records.run;
        let shown = folder.display();
        ensure!(
            plan.name() == run.plan,
            "the run in {shown} is of the plan {}, not of {}; {}",
            run.plan,
            plan.name(),
            goes_on(run, folder)
        );
        ensure!(!records.is_complete(), "the run in {shown} is complete");
        let Some(begun) = &run.options else {
            bail!(
                "the run in {shown} was begun by a wirepress that did not write down its options; begin a new one"
            );
        };
        self.contradict(begun, run).with_context(|| format!("cannot go on with the run in {shown}"))?;
        let (links, kernel_links) = parsed(&begun.links)?;
        Ok(RunOptions {
            database: self.database_of(begun, run, folder)?,
            server_leg_tls: self.server_leg_tls.clone(),
            scale: run.scale.parse().map_err(anyhow::Error::msg)?,
            links,
            kernel_links,
            workloads: begun.workloads.clone(),
            repetitions: Some(run.repetitions),
            seed: run.seed,
            pins: if begun.is_pinned { Pins::one_each()? } else { Pins::Shared },
            may_be_elsewhere: self.may_be_elsewhere,
            out: folder.to_owned(),
            command: self.command.clone(),
        })
    }

    /// Refuses what was given and is not what the run was begun with.
    fn contradict(&self, begun: &Options, run: &Run) -> anyhow::Result<()> {
        let user = self.links.iter().map(ToString::to_string);
        let kernel = self.kernel_links.iter().map(network::kernel_name);
        let links: Vec<String> = user.chain(kernel).collect();
        let database = self.database.as_ref().map(DatabaseWish::origin);
        let is_server = database == Some(Origin::Server) && begun.database == Origin::Server;
        let pairs = [
            (begun.database.to_string(), database.map(|database| database.to_string())),
            (begun.tls.join(" "), is_server.then(|| self.server_leg_tls.join(" "))),
            (format!("--scale {}", run.scale), self.scale.map(|scale| format!("--scale {scale}"))),
            (link_words(&begun.links), given(&links).map(link_words)),
            (workload_words(&begun.workloads), given(&self.workloads).map(workload_words)),
            (
                format!("--repetitions {}", run.repetitions),
                self.repetitions.map(|repetitions| format!("--repetitions {repetitions}")),
            ),
            (format!("--seed {}", run.seed), self.seed.map(|seed| format!("--seed {seed}"))),
            (
                if begun.is_pinned { "--pin" } else { "no --pin" }.to_owned(),
                self.is_pinned.then(|| "--pin".to_owned()),
            ),
        ];
        for (before, now) in pairs {
            if let Some(now) = now {
                ensure!(
                    before == now,
                    "it was begun with {before}, not with {now}; what is left out is as it was begun"
                );
            }
        }
        Ok(())
    }

    fn database_of(&self, begun: &Options, run: &Run, folder: &Path) -> anyhow::Result<DatabaseWish> {
        Ok(match (begun.database, &self.database) {
            (Origin::Mysql, _) => DatabaseWish::MySql,
            (Origin::Mariadb, _) => DatabaseWish::MariaDb,
            (Origin::Embedded, _) => DatabaseWish::Embedded,
            (Origin::Server, Some(server)) => server.clone(),
            (Origin::Server, None) => {
                bail!("the run in {} needs its server again; {}", folder.display(), goes_on(run, folder))
            }
        })
    }
}

/// The command that goes on with a run, as an error tells it.
pub(super) fn goes_on(run: &Run, folder: &Path) -> String {
    let mut words = vec![
        "wirepress bench".to_owned(),
        run.plan.clone(),
        "--resume".to_owned(),
        quoted(&folder.display().to_string()),
    ];
    let server = run.options.as_ref().filter(|options| options.database == Origin::Server);
    if let Some(options) = server {
        words.push(options.database.to_string());
        words.extend(options.tls.iter().map(|word| quoted(word)));
    }
    let why = if server.is_some() { "; its URL was not stored, for the password in it" } else { "" };
    format!("{} goes on{why}", words.join(" "))
}

fn given(words: &[String]) -> Option<&[String]> {
    (!words.is_empty()).then_some(words)
}

/// Options in an order of their own: that in which they were given means nothing.
fn sorted(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = words.collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

fn link_words(names: &[String]) -> String {
    sorted(names.iter().map(|name| match name.strip_prefix(KERNEL) {
        Some(link) => format!("--link-kernel {link}"),
        None => format!("--link {name}"),
    }))
}

fn workload_words(workloads: &[String]) -> String {
    if workloads.is_empty() {
        return "no --workload".to_owned();
    }
    sorted(workloads.iter().map(|text| format!("--workload {}", quoted(text))))
}

/// Links by their names in cells.
fn parsed(names: &[String]) -> anyhow::Result<(Vec<Link>, Vec<KernelLink>)> {
    let (mut user, mut kernel) = (Vec::new(), Vec::new());
    for name in names {
        match name.strip_prefix(KERNEL) {
            Some(link) => kernel.push(KernelLink::parse(link)?),
            None => user.push(Link::parse(name)?),
        }
    }
    Ok((user, kernel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::record::{End, Failure, Path as Way, Setting};
    use crate::results::fixture::{cell, records, sample};

    fn begun() -> Records {
        let mut records = records(vec![sample(&cell("50mbit", Way::Direct, Setting::None), 0, 1.0)]);
        records.end = None;
        records.run.plan = "rds-wide".to_owned();
        records.run.scale = "smoke".to_owned();
        records.run.options = Some(Options {
            database: Origin::Mariadb,
            tls: Vec::new(),
            links: vec!["50mbit".to_owned(), "kernel 1gbit,10ms,loss=0.1%".to_owned()],
            workloads: vec!["scan of".to_owned()],
            is_pinned: true,
        });
        records
    }

    fn resumed(options: &ResumeOptions, records: &Records) -> Result<RunOptions, String> {
        let plan = plan::named("rds-wide").unwrap();
        options.of_run(plan, Path::new("a run"), records).map_err(|error| format!("{error:#}"))
    }

    fn with_server(records: &mut Records) {
        let options = records.run.options.as_mut().unwrap();
        options.database = Origin::Server;
        options.tls = ["--ssl-mode", "REQUIRED", "--ssl-ca", "my ca.pem"].map(str::to_owned).to_vec();
    }

    #[test]
    fn what_is_left_out_is_as_the_run_was_begun() {
        let mut records = begun();
        records.run.seed = 9;
        records.run.repetitions = 4;
        let options = resumed(&ResumeOptions::default(), &records).unwrap();
        assert!(matches!(options.database, DatabaseWish::MariaDb));
        assert_eq!(options.links, [Link::parse("50mbit").unwrap()]);
        assert_eq!(options.kernel_links, [KernelLink::parse("1gbit,10ms,loss=0.1%").unwrap()]);
        assert_eq!(
            (options.workloads, options.pins),
            (vec!["scan of".to_owned()], Pins::one_each().unwrap())
        );
        assert_eq!((options.scale, options.seed, options.repetitions), (Scale::Smoke, 9, Some(4)));
    }

    #[test]
    fn the_same_options_may_be_given_again_and_others_are_refused_by_both_names() {
        let link = |text| vec![Link::parse(text).unwrap()];
        let kernel = |text| vec![KernelLink::parse(text).unwrap()];
        let same = ResumeOptions {
            database: Some(DatabaseWish::MariaDb),
            scale: Some(Scale::Smoke),
            links: link("50mbit"),
            kernel_links: kernel("1gbit,10ms,loss=0.1%"),
            workloads: vec!["scan of".to_owned()],
            repetitions: Some(1),
            seed: Some(7),
            is_pinned: true,
            ..ResumeOptions::default()
        };
        resumed(&same, &begun()).unwrap();
        let none = ResumeOptions::default;
        let links = "with --link 50mbit --link-kernel 1gbit,10ms,loss=0.1%, not with";
        for (options, part) in [
            (
                ResumeOptions { database: Some(DatabaseWish::MySql), ..none() },
                "--with mariadb, not with --with mysql",
            ),
            (ResumeOptions { scale: Some(Scale::Full), ..none() }, "--scale smoke, not with --scale full"),
            (ResumeOptions { links: link("20mbit"), ..same }, links),
            (ResumeOptions { links: link("50mbit"), ..none() }, links),
            (ResumeOptions { kernel_links: kernel("50mbit"), ..none() }, links),
            (
                ResumeOptions { workloads: vec!["point".to_owned()], ..none() },
                "--workload 'scan of', not with --workload point",
            ),
            (ResumeOptions { repetitions: Some(2), ..none() }, "--repetitions 1, not with --repetitions 2"),
            (ResumeOptions { seed: Some(8), ..none() }, "--seed 7, not with --seed 8"),
        ] {
            let told = resumed(&options, &begun()).unwrap_err();
            assert!(told.contains(part), "{told}");
        }
        let mut shared = begun();
        shared.run.options.as_mut().unwrap().is_pinned = false;
        let told = resumed(&ResumeOptions { is_pinned: true, ..none() }, &shared).unwrap_err();
        assert!(told.contains("with no --pin, not with --pin"), "{told}");
    }

    #[test]
    fn another_plan_and_a_run_without_its_options_are_refused() {
        let records = begun();
        let other = plan::named("rds-scan").unwrap();
        let told =
            ResumeOptions::default().of_run(other, Path::new("run"), &records).unwrap_err().to_string();
        assert_eq!(
            told,
            "the run in run is of the plan rds-wide, not of rds-scan; wirepress bench rds-wide --resume run goes on"
        );
        let mut old = begun();
        old.run.options = None;
        let told = resumed(&ResumeOptions::default(), &old).unwrap_err();
        assert!(told.contains("did not write down its options"), "{told}");
    }

    #[test]
    fn a_run_is_complete_when_what_failed_was_measured_since() {
        let mut records = begun();
        records.end = Some(End { took_s: 1.0, busy_cores: None, harness_cpu_s: 0.0 });
        let failed = cell("50mbit", Way::Direct, Setting::Zlib);
        let failure = Failure { cell: failed.clone(), repetition: 0, reason: "no lz4".to_owned() };
        records.failures.push(failure);
        resumed(&ResumeOptions::default(), &records).unwrap();
        records.samples.push(sample(&failed, 0, 1.0));
        let told = resumed(&ResumeOptions::default(), &records).unwrap_err();
        assert_eq!(told, "the run in a run is complete");
    }

    #[test]
    fn a_users_server_is_named_again_and_the_told_command_says_how() {
        let mut records = begun();
        let command = goes_on(&records.run, Path::new("a run"));
        assert_eq!(command, "wirepress bench rds-wide --resume 'a run' goes on");
        with_server(&mut records);
        let told = resumed(&ResumeOptions::default(), &records).unwrap_err();
        let command = "wirepress bench rds-wide --resume 'a run' --server URL --ssl-mode REQUIRED --ssl-ca 'my ca.pem' \
                       goes on; its URL was not stored";
        assert!(told.contains("needs its server again") && told.contains(command), "{told}");
        let url = || Some(DatabaseWish::Url("mysql://me:hush@h/d".parse().unwrap()));
        let tls = records.run.options.as_ref().unwrap().tls.clone();
        let same = ResumeOptions { database: url(), server_leg_tls: tls, ..ResumeOptions::default() };
        assert!(matches!(resumed(&same, &records).unwrap().database, DatabaseWish::Url(_)));
        let preferred = ["--ssl-mode", "PREFERRED"].map(str::to_owned).to_vec();
        let told = resumed(&ResumeOptions { server_leg_tls: preferred, ..same }, &records).unwrap_err();
        assert!(told.contains("REQUIRED --ssl-ca my ca.pem, not with --ssl-mode PREFERRED"), "{told}");
        let private = ResumeOptions { database: Some(DatabaseWish::MySql), ..ResumeOptions::default() };
        let told = resumed(&private, &records).unwrap_err();
        assert!(told.contains("--server URL, not with --with mysql") && !told.contains("hush"), "{told}");
    }
}
