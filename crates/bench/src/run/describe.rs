//! A run's first record: what is measured, with what, on what machine, and what a reader must know.
//!
//! Invariants: a run goes on only with the same build, database, options and cells; on another processor only where the user wants
//! it and what is compared is measured together.
//!
//! Not here: which options that are (`resume`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};

use super::database::{Database, DatabaseWish};
use super::network::Network;
use super::pins::Pins;
use super::{RunOptions, machine};
use crate::job;
use crate::plan::{Plan, Step};
use crate::record::{FORMAT, Options, Path, Run, Setting};

/// The record.
pub(super) fn run(
    plan: &dyn Plan,
    options: &RunOptions,
    networks: &BTreeMap<String, Network>,
    database: &Database,
    repetitions: u32,
    steps: &[Step],
) -> anyhow::Result<Run> {
    Ok(Run {
        format: FORMAT,
        plan: plan.name().to_owned(),
        scale: options.scale.name().to_owned(),
        seed: options.seed,
        repetitions,
        cells: u32::try_from(steps.len()).unwrap_or(u32::MAX),
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        command: options.command.clone(),
        wirepress: machine::wirepress(&program()?),
        machine: machine::this(),
        programs: programs(steps),
        database: database.name(),
        notes: notes(options, networks, database),
        options: Some(options_of(options, networks)),
    })
}

fn options_of(options: &RunOptions, networks: &BTreeMap<String, Network>) -> Options {
    Options {
        database: options.database.origin(),
        tls: match options.database {
            DatabaseWish::Url(_) => options.server_leg_tls.clone(),
            DatabaseWish::MySql | DatabaseWish::MariaDb | DatabaseWish::Embedded => Vec::new(),
        },
        links: networks.keys().cloned().collect(),
        workloads: options.workloads.clone(),
        is_pinned: options.pins != Pins::Shared,
    }
}

/// This program's own file.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file, to start the proxy")
}

/// Refuses what would mix two runs; on another machine a `plan` that takes turns has whole groups of one machine each.
pub(super) fn is_same(
    earlier: &Run,
    now: &Run,
    plan: &dyn Plan,
    may_be_elsewhere: bool,
) -> anyhow::Result<()> {
    let differences = [
        ("build of wirepress", &earlier.wirepress, &now.wirepress),
        ("database", &earlier.database, &now.database),
    ];
    for (what, before, after) in differences {
        ensure!(
            before == after,
            "the run was begun with another {what} ({before}, now {after}); begin a new one"
        );
    }
    let (before, here) = (&earlier.machine.cpu, &now.machine.cpu);
    if before != here {
        ensure!(
            plan.takes_turns(),
            "the run was begun with another processor ({before}, now {here}), and what {} compares is not measured in \
             turns, so that ratios would be of two machines; begin a new one",
            plan.name()
        );
        ensure!(
            may_be_elsewhere,
            "the run was begun with another processor ({before}, now {here}); --other-machine goes on with it here, or \
             begin a new one"
        );
    }
    // `resume` has seen to it; a mixture would be seen nowhere.
    ensure!(earlier.options == now.options, "the run was begun with other options; begin a new one");
    ensure!(
        earlier.cells == now.cells,
        "the run has {} cells, now it would have {}: what it needs has come or gone since; begin a new one",
        earlier.cells,
        now.cells
    );
    Ok(())
}

/// The programs of others that the steps run, those that are there.
fn programs(steps: &[Step]) -> BTreeMap<String, String> {
    let of_path = |path| match path {
        Path::Haproxy => Some("haproxy"),
        Path::Router => Some("mysqlrouter"),
        Path::Direct | Path::Wirepress | Path::WirepressBesideApp | Path::WirepressPair => None,
    };
    let of_setting = |setting| match setting {
        Setting::Stream(compressor) => compressor.program(),
        _ => None,
    };
    let names: BTreeSet<&str> = steps
        .iter()
        .flat_map(|step| [step.job.program(), of_path(step.cell.path), of_setting(step.cell.setting)])
        .flatten()
        .collect();
    names.into_iter().filter_map(|name| Some((name.to_owned(), job::version(name)?))).collect()
}

/// What a reader of the report must know.
fn notes(options: &RunOptions, networks: &BTreeMap<String, Network>, database: &Database) -> Vec<String> {
    let mut notes = Vec::new();
    if networks.values().any(|network| matches!(network, Network::User(_))) {
        notes.push(
            "Links in user space end TCP on both sides and lose no packet: windows, retransmissions and what the \
             kernel knows of the network are loopback's. They are relays themselves, of two threads a connection: what \
             that adds to a round trip where there is no limit is told under the links, beside none."
                .to_owned(),
        );
    }
    if networks.values().any(|network| matches!(network, Network::Bare)) {
        notes.push(
            "Nothing of the harness stands between client, relay and server: they speak over this machine's loopback, \
             and bytes are not counted."
                .to_owned(),
        );
    }
    if networks.values().any(Network::has_hosts) {
        notes.push(
            "Kernel links carry packets between two network namespaces of this machine; TCP is the kernel's own, its \
             congestion control cubic. Their rate is that of Ethernet frames; bytes are counted without headers."
                .to_owned(),
        );
    }
    notes.push(hosts(options.pins, database));
    if let DatabaseWish::Url(server) = &options.database {
        let is_encrypted = server.account.tls.as_ref().is_some_and(|tls| tls.is_required);
        notes.push(if is_encrypted { ENCRYPTED } else { PLAIN }.to_owned());
        if database.is_elsewhere() {
            notes.push(BEHIND.to_owned());
        }
    }
    if matches!(options.database, DatabaseWish::Embedded) {
        notes.push(
            "The embedded database is no real server: its own speed and CPU time say nothing about MySQL's."
                .to_owned(),
        );
    }
    notes
}

/// Who shares which cores.
fn hosts(pins: Pins, database: &Database) -> String {
    let all = if database.is_elsewhere() {
        "Client, network and proxy"
    } else {
        "Client, network, proxy and server"
    };
    match pins {
        Pins::Shared => format!(
            "{all} share this machine's cores: on a fast link they compete for them, as they would not on hosts of their own."
        ),
        Pins::OneEach { server, client } if database.is_elsewhere() => {
            format!(
                "What stands beside the server has core {server} of this machine, the client's host core {client}."
            )
        }
        Pins::OneEach { server, client } => format!(
            "The server's host (server, and the proxy beside it) has core {server}, the client's host core {client}."
        ),
    }
}

const ENCRYPTED: &str = "All connections that cross the network, and those of proxies to the server, were encrypted: what \
                         TLS costs is in every cell.";
/// The drawing of `stage`, where the server is not here.
const BEHIND: &str = "The server is on another machine: what lies between is added to every link, and what stands beside the \
                      server in a row's name stands on this machine, so that wirepress's own connection to the server crosses \
                      it uncompressed, and a direct one packed.";
const PLAIN: &str = "Measured connections were not encrypted, but for cells that say TLS.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::results::fixture::records;

    #[test]
    fn a_run_goes_on_on_another_machine_only_where_that_is_wanted_and_no_ratio_is_of_two() {
        let begun = records(Vec::new()).run;
        let mut now = begun.clone();
        now.machine.cpu = "another".to_owned();
        let told = |now: &Run, plan, may_be_elsewhere| {
            let plan = plan::named(plan).unwrap();
            is_same(&begun, now, plan, may_be_elsewhere).err().map(|error| error.to_string())
        };
        assert_eq!(told(&begun, "never-slower", false), None);
        assert_eq!(told(&now, "never-slower", true), None);
        let refused = told(&now, "never-slower", false).unwrap();
        assert!(refused.contains("now another); --other-machine goes on"), "{refused}");
        let refused = told(&now, "rds-wide", true).unwrap();
        assert!(refused.contains("rds-wide compares is not measured in turns"), "{refused}");
        now.wirepress = "9.9.9".to_owned();
        let refused = told(&now, "never-slower", true).unwrap();
        assert!(refused.contains("another build of wirepress"), "{refused}");
    }
}
