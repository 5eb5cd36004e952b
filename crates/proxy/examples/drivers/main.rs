//! `make drivers`: every driver, with its compression on and off and with TLS on and off, in front of MySQL and
//! MariaDB; prints the matrix and writes it into `docs/drivers.md`.
//!
//! `WIREPRESS_DRIVERS=mysql2,pdo` runs only these, and changes only their lines of the page.
//!
//! Not here: the scenario's programs (`tests/drivers`), the tests that run some cells (`tests/it/live/drivers`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "as in tests: what can't go on says where it stopped"
)]

#[path = "../../tests/it/live/drivers/mod.rs"]
mod drivers;
mod report;

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;
use std::{env, fs, thread};

use codec::Algorithm;
use drivers::catalog::{self, Driver};
use drivers::run::{Setting, Target, Verdict, directly, judge, program, through_proxy};
use lab::real::Kind;
use report::{Cell, Report};

fn main() -> ExitCode {
    let began = Instant::now();
    let chosen = env::var("WIREPRESS_DRIVERS").ok();
    let is_chosen =
        |driver: &&Driver| chosen.as_ref().is_none_or(|list| list.split(',').any(|name| name == driver.name));
    let chosen_drivers: Vec<&Driver> = catalog::ALL.into_iter().filter(is_chosen).collect();
    assert!(
        !chosen_drivers.is_empty(),
        "WIREPRESS_DRIVERS names no driver; there are {}",
        catalog::ALL.map(|driver| driver.name).join(", ")
    );
    let mut jobs = VecDeque::new();
    for &driver in &chosen_drivers {
        if program(driver).is_ok() {
            jobs.extend(KINDS.iter().flat_map(|&kind| SETTINGS.map(|setting| (driver, kind, setting))));
        }
    }
    jobs.retain(|(driver, _, setting)| driver.compression.is_some() || !setting.compresses);
    let count = jobs.len();
    let (jobs, cells) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().unwrap().pop_front();
                    let Some((driver, kind, setting)) = job else { break };
                    let cell = run(driver, kind, setting);
                    let mut cells = cells.lock().unwrap();
                    eprintln!("{:3} of {count}  {}", cells.len() + 1, cell.summary());
                    cells.push(cell);
                }
            });
        }
    });
    let servers = KINDS.map(|kind| Target::shared(kind).server.version().to_owned());
    let report = Report {
        drivers: chosen_drivers,
        cells: cells.into_inner().unwrap(),
        servers,
        took: began.elapsed(),
    };
    println!("\n{}", report.terminal());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/drivers.md");
    let page = match chosen {
        None => Some(report.page()),
        Some(_) => fs::read_to_string(&path).ok().and_then(|page| report.merged_into(&page)),
    };
    match page {
        Some(page) => {
            fs::write(&path, page).unwrap();
            println!("written to docs/drivers.md");
        }
        None => println!("docs/drivers.md needs a run of all drivers; it stays as it is"),
    }
    if report.has_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// One cell: a direct run, and one through a proxy that asks the server for what it would choose by itself. Without
/// TLS, which knows nothing of frames, and with the driver's compression it is one for each algorithm of that leg.
fn run(driver: &'static Driver, kind: Kind, setting: Setting) -> Cell {
    let target = Target::shared(kind);
    let direct = directly(driver, target, setting);
    let all: &[Algorithm] =
        if kind.is_mariadb() { &[Algorithm::Zlib, Algorithm::Uncompressed] } else { &Algorithm::ALL };
    let compresses_if_it_can = setting.compresses == driver.compression.is_some();
    let legs = if compresses_if_it_can && !setting.tls { all } else { &all[..1] };
    let verdicts = legs.iter().map(|leg| {
        let proxied = through_proxy(driver, target, setting, &[*leg]);
        (*leg, judge(driver, &proxied, &direct))
    });
    let verdicts: Vec<(Algorithm, Verdict)> = verdicts.collect();
    let lacks = direct.lacks().into_iter().map(str::to_owned).collect();
    Cell { driver, kind, setting, verdicts, lacks }
}

const KINDS: [Kind; 2] = [Kind::MySql, Kind::MariaDb];

/// The columns of the matrix, for each server.
pub(crate) const SETTINGS: [Setting; 4] = [
    Setting { compresses: false, tls: false },
    Setting { compresses: true, tls: false },
    Setting { compresses: false, tls: true },
    Setting { compresses: true, tls: true },
];
