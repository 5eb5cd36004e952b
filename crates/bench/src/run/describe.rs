//! A run's first record: what is measured, with what, on what machine, and what a reader must know.
//!
//! Invariants: a run goes on only with the same build, processor, database and cells.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use lab::real::Install;

use super::database::{Database, DatabaseWish};
use super::network::Network;
use super::pins::Pins;
use super::{RunOptions, machine};
use crate::plan::{Plan, Scale};
use crate::record::{FORMAT, Run};

/// The record.
pub(super) fn run(
    plan: &dyn Plan,
    options: &RunOptions,
    networks: &BTreeMap<String, Network>,
    database: &Database,
    (scale, seed, repetitions, cells): (Scale, u64, u32, usize),
) -> anyhow::Result<Run> {
    Ok(Run {
        format: FORMAT,
        plan: plan.name().to_owned(),
        scale: scale.name().to_owned(),
        seed,
        repetitions,
        cells: u32::try_from(cells).unwrap_or(u32::MAX),
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        command: options.command.clone(),
        wirepress: machine::wirepress(&program()?),
        machine: machine::this(),
        programs: programs(),
        database: database.name(),
        notes: notes(options, networks),
    })
}

/// This program's own file.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file, to start the proxy")
}

/// Refuses what would mix two runs.
pub(super) fn is_same(earlier: &Run, now: &Run) -> anyhow::Result<()> {
    let differences = [
        ("build of wirepress", &earlier.wirepress, &now.wirepress),
        ("processor", &earlier.machine.cpu, &now.machine.cpu),
        ("database", &earlier.database, &now.database),
    ];
    for (what, before, after) in differences {
        ensure!(
            before == after,
            "the run was begun with another {what} ({before}, now {after}); begin a new one"
        );
    }
    let encryption = |run: &Run| run.notes.iter().any(|note| note == ENCRYPTED);
    ensure!(
        encryption(earlier) == encryption(now),
        "the run was begun with another --ssl-mode; give the options that it was begun with: {}",
        earlier.command.join(" ")
    );
    ensure!(
        earlier.cells == now.cells,
        "the run has {} cells, with these options there would be {}; give the options that it was begun with: {}",
        earlier.cells,
        now.cells,
        earlier.command.join(" ")
    );
    Ok(())
}

fn programs() -> BTreeMap<String, String> {
    let Ok(install) = Install::find() else { return BTreeMap::new() };
    ["mysqld", "mariadbd", "sysbench", "haproxy", "mysqlrouter", "mariadb-backup", "pigz", "zstd", "lz4"]
        .into_iter()
        .filter_map(|program| Some((program.to_owned(), install.version(program).ok()?)))
        .collect()
}

/// What a reader of the report must know.
fn notes(options: &RunOptions, networks: &BTreeMap<String, Network>) -> Vec<String> {
    let mut notes = Vec::new();
    if networks.values().any(|network| !network.has_hosts()) {
        notes.push(
            "Links in user space end TCP on both sides and lose no packet: windows, retransmissions and what the \
             kernel knows of the network are loopback's."
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
    notes.push(match options.pins {
        Pins::Shared => {
            "Client, network, proxy and server share this machine's cores: on a fast link they compete \
                         for them, as they would not on three hosts."
                .to_owned()
        }
        Pins::OneEach { server, client } => format!(
            "The server's host (server, and the proxy beside it) has core {server}, the client's host core {client}."
        ),
    });
    if let DatabaseWish::Url(server) = &options.database {
        let is_encrypted = server.account.tls.as_ref().is_some_and(|tls| tls.is_required);
        notes.push(if is_encrypted { ENCRYPTED } else { PLAIN }.to_owned());
    }
    if matches!(options.database, DatabaseWish::Embedded) {
        notes.push(
            "The embedded database is no real server: its own speed and CPU time say nothing about MySQL's."
                .to_owned(),
        );
    }
    notes
}

const ENCRYPTED: &str = "All connections that cross the network, and those of proxies to the server, were encrypted: what \
                         TLS costs is in every cell.";
const PLAIN: &str = "Measured connections were not encrypted, but for cells that say TLS.";
