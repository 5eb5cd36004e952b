//! The demo: the published full-scan experiment on this machine, in about a minute.
//!
//! ```text
//!  client ═══ link ═══ proxy ─── database       for each link, table and setting: one run
//! ```
//! `options` → `database` filled → `proxy_process` → a `cell` per link, table and setting → `report`.
//! The client asks for what the row says; the proxy compresses; its leg to the database is plain. So the
//! database does nothing for compression, and what crosses the link is what the row says. Where a server wants
//! TLS the proxy's leg to it and direct connections are inside TLS.
//!
//! Invariants: everything that is started is stopped, and everything that is made on a real server is
//! removed, also after an error or Ctrl-C.
//!
//! Not here: the links and the rows (crate `lab`), the command line (crate `cli`).

mod cell;
mod options;
mod report;
mod sample;
mod setting;

pub use options::Options;

use std::path::Path;
use std::time::Instant;

use anyhow::Context;

use self::cell::Bench;
use self::setting::Setting;
use crate::client::{ClientFault, Stop};
use crate::published::Published;
use crate::run::{
    Database, DatabaseWish, Existing, Neighbours, Place, Policy, PrivateOptions, Progress, ProxyProcess,
    WirepressOptions, server_leg, watch_signals,
};
use crate::table::{Kind, Table};

/// Runs the demo and prints its report.
///
/// # Errors
/// A server that cannot be used, a proxy that does not start, an interrupt; the text says which.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let program =
        std::env::current_exe().context("cannot find this program's own file, to start the proxy")?;
    let stop = Stop::new();
    watch_signals(stop.clone()).context("cannot watch for Ctrl-C")?;
    let result = run_with(options, &program, &stop);
    let interrupted = result.as_ref().err().is_some_and(|error| {
        stop.is_wished() || matches!(error.downcast_ref(), Some(ClientFault::Interrupted))
    });
    if interrupted {
        anyhow::bail!(
            "interrupted; everything that was started is stopped, and the demo's tables are dropped"
        );
    }
    result
}

fn run_with(options: &Options, program: &Path, stop: &Stop) -> anyhow::Result<()> {
    let start = Instant::now();
    let published = Published::built_in().context("the built-in published figures cannot be read")?;
    let (wish, prefix) = match &options.server {
        Some(url) => (DatabaseWish::Url(url.clone()), "wirepress_demo_"),
        None => (DatabaseWish::Embedded, ""),
    };
    let database = Database::start(&wish, &PrivateOptions::default(), stop)?;
    let tables = tables(options, prefix);
    let cells = options.links.len() * tables.len() * Setting::ALL.len();
    let mut progress = Progress::new("demo", cells as u64);
    progress.part("filling the tables");
    database.fill(&tables, Existing::Replace, stop, |table, percent| {
        progress.step(format!("filling {} {percent} %", table.name));
    })?;
    let proxy = ProxyProcess::wirepress(
        &WirepressOptions {
            program,
            through: &[],
            listen: [127, 0, 0, 1].into(),
            server: database.address(),
            place: Place::Alone,
            policy: Policy::Fixed,
            arguments: &server_leg(database.wants_tls().then_some(&*options.server_leg_tls)),
        },
        stop,
    )?;

    progress.print(&report::preamble(options, &database, &published))?;
    let bench = Bench { database: &database, proxy: &proxy, stop };
    let neighbours = Neighbours::watch(&proxy);
    let mut verdicts = Vec::new();
    for link in &options.links {
        progress.part(&format!("link {link}"));
        let mut samples = Vec::new();
        for table in &tables {
            for setting in Setting::ALL {
                progress.step(format!("link {link}, table {}, {setting}", table.name));
                samples.push(bench.run(*link, table, setting)?);
                progress.done();
            }
        }
        progress.print(&report::link_table(*link, &samples, &published))?;
        verdicts.push(report::verdict(*link, &samples));
    }
    progress.print(&verdicts.join("\n"))?;
    // A real server on this machine would count as a neighbour.
    let busy_cores = neighbours.busy_cores(&proxy).filter(|_| database.is_embedded());
    progress.print(&report::closing(cells, start.elapsed(), busy_cores))?;
    Ok(())
}

/// The two tables; on a user's server they have names that nobody else uses.
fn tables(options: &Options, prefix: &str) -> [Table; 2] {
    [(Kind::Sysbench, options.rows), (Kind::Wide, options.wide_rows)].map(|(kind, rows)| {
        Table::generated(kind, format!("{prefix}{}", kind.published_name()), rows.max(1), options.seed)
    })
}
