//! Real drivers through the proxy: one scenario each (`tests/drivers/README.md`), their compression on and off.
//!
//! Some drivers run in `make test`, with their compression on; `make drivers` runs all, in front of every
//! algorithm of the server leg and in both settings, and prints the matrix. A driver that this machine has no
//! toolchain for is listed as not run.
//!
//! Not here: fetching drivers (`scripts/fetch-drivers`), flows that only some clients know (`flows`).

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use codec::Algorithm;
use lab::real::{Install, Kind, PASSWORD, RealServer, USER, required, skip};
use proxy::Address;

use super::front::{Client, Front, Transport};

/// A driver, and what it can't do whatever stands between it and the server.
#[derive(Debug)]
struct Driver {
    name: &'static str,
    compresses: bool,
    /// Steps that it has no feature for.
    lacks: &'static [&'static str],
    /// And on MySQL.
    lacks_on_mysql: &'static [&'static str],
    /// Whether it can log in to MySQL without TLS where the server's cache doesn't know the account.
    asks_for_key: bool,
    /// A line on standard error that it prints without a proxy as well.
    known_warning: Option<&'static str>,
}

/// Pure Python, the receiver that returns wrong data when frames are cut where servers don't. It sends its password
/// in clear without TLS, which MySQL denies and the proxy mends.
const CONNECTOR_PURE: Driver = Driver { lacks: &["change_user"], ..Driver::new("mysql-connector-pure") };
const CONNECTOR_C: Driver = Driver {
    lacks_on_mysql: &["full_authentication"],
    asks_for_key: false,
    ..Driver::new("mysql-connector-c")
};
const PYMYSQL: Driver =
    Driver { compresses: false, lacks: &["prepared", "change_user"], ..Driver::new("pymysql") };
/// Compares the server's packet ids, which jump in frames, with its own; directly it warns even more often.
const MYSQL2: Driver =
    Driver { known_warning: Some("Warning: got packets out of order."), ..Driver::new("mysql2") };
const MARIADB_NODE: Driver = Driver { lacks_on_mysql: &["change_user"], ..Driver::new("mariadb-node") };
const GO: Driver = Driver { lacks: &["change_user"], ..Driver::new("go-sql-driver") };
const CONNECTOR_J: Driver = Driver::new("connector-j");
const MARIADB_J: Driver = Driver { lacks: &["change_user"], ..Driver::new("mariadb-connector-j") };
const MYSQLI: Driver = Driver::new("mysqli");

const ALL: [&Driver; 9] =
    [&CONNECTOR_PURE, &CONNECTOR_C, &PYMYSQL, &MYSQL2, &MARIADB_NODE, &GO, &CONNECTOR_J, &MARIADB_J, &MYSQLI];

const STEPS: [&str; 11] = [
    "types",
    "blob_3_mib",
    "blob_17_mib",
    "prepared",
    "transaction",
    "error",
    "rows_600",
    "multi",
    "full_authentication",
    "change_user",
    "reconnect",
];

#[test]
fn connector_python_pure_gets_what_it_asks_for() {
    smoke(&CONNECTOR_PURE);
}

#[test]
fn connector_python_c_gets_what_it_asks_for() {
    smoke(&CONNECTOR_C);
}

#[test]
fn pymysql_gets_what_it_asks_for() {
    smoke(&PYMYSQL);
}

#[test]
fn node_mysql2_gets_what_it_asks_for() {
    smoke(&MYSQL2);
}

#[test]
fn go_sql_driver_gets_what_it_asks_for() {
    smoke(&GO);
}

/// Pipelines: its commands come before the replies to those before them.
#[test]
fn mariadb_connector_j_gets_what_it_asks_for() {
    smoke(&MARIADB_J);
}

fn smoke(driver: &Driver) {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let program = match driver.program() {
            Ok(program) => program,
            Err(reason) => return skip(&format!("want of {reason}")),
        };
        let front = Front::new(server, (Transport::Tcp, Transport::Tcp));
        if let Err(message) = driver.run(&program, server, front.proxy.address(), driver.compresses) {
            panic!("{} in front of {kind}: {message}", driver.name);
        }
    }
}

/// `make drivers`
#[test]
#[ignore = "minutes; `make drivers` runs it"]
fn every_driver_gets_what_it_asks_for_on_all_legs() {
    let mut failures = String::new();
    println!("\n{:22}{:10}{:14}{:16}{:16}result", "driver", "server", "client leg", "server leg", "direct");
    for driver in ALL {
        let program = match driver.program() {
            Ok(program) => program,
            Err(reason) => {
                println!("{:22}not run for want of {reason}", driver.name);
                continue;
            }
        };
        for (kind, server_leg) in settings() {
            let Some(server) = required(kind) else { return };
            let front = Front::with(server, (Transport::Tcp, Transport::Tcp), |config| {
                config.server_algorithms = vec![server_leg];
            });
            for compress in [false, true] {
                if compress && !driver.compresses {
                    continue;
                }
                let client_leg = if compress { "zlib" } else { "uncompressed" };
                let result = driver.run(&program, server, front.proxy.address(), compress);
                // A driver that fails without us is none of ours, but must be seen.
                let direct = match &result {
                    Ok(()) => "",
                    Err(_) if driver.run(&program, server, &server.address().into(), compress).is_ok() => {
                        "ok"
                    }
                    Err(_) => "fails as well",
                };
                let verdict = if result.is_ok() { "ok" } else { "FAILED" };
                println!(
                    "{:22}{:10}{client_leg:14}{:16}{direct:16}{verdict}",
                    driver.name,
                    kind.to_string(),
                    server_leg.name()
                );
                if let Err(message) = result {
                    let (name, server_leg) = (driver.name, server_leg.name());
                    write!(failures, "\n{name}, {kind}, {client_leg} to {server_leg}: {message}").unwrap();
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Servers, and what the proxy asks of each.
fn settings() -> impl Iterator<Item = (Kind, Algorithm)> {
    let mysql = [Algorithm::Uncompressed, Algorithm::Zlib, Algorithm::Zstd].map(|leg| (Kind::MySql, leg));
    let mariadb = [Algorithm::Uncompressed, Algorithm::Zlib].map(|leg| (Kind::MariaDb, leg));
    mysql.into_iter().chain(mariadb)
}

impl Driver {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            compresses: true,
            lacks: &[],
            lacks_on_mysql: &[],
            asks_for_key: true,
            known_warning: None,
        }
    }

    /// Its program, or what is missing.
    fn program(&self) -> Result<PathBuf, String> {
        let drivers = Install::find().unwrap().path().join("drivers");
        let program = drivers.join("bin").join(self.name);
        if program.is_file() {
            return Ok(program);
        }
        match std::fs::read_to_string(drivers.join("missing").join(self.name)) {
            Ok(reason) => Err(reason.trim().to_owned()),
            Err(_) => {
                panic!(
                    "{} is missing; run scripts/fetch-drivers, which says why if it can't be had",
                    self.name
                )
            }
        }
    }

    /// Runs the scenario against `address`; the steps that were not done must be those it has no feature for.
    fn run(
        &self,
        program: &PathBuf,
        server: &RealServer,
        address: &Address,
        compress: bool,
    ) -> Result<(), String> {
        let Address::Tcp { host, port } = address else { panic!("drivers are tested over TCP") };
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let (fresh, second) = (format!("fresh_{number}"), format!("second_{number}"));
        for account in [&fresh, &second] {
            let statement =
                format!("create user {account} identified by '{PASSWORD}'; grant all on test.* to {account}");
            server.sql(&statement).unwrap();
        }
        if !self.asks_for_key && server.kind() == Kind::MySql {
            for account in [USER, &second] {
                Client::new(server, "mysql", &server.address().into(), account, PASSWORD)
                    .run("do 1")
                    .unwrap();
            }
        }
        let output = Command::new("timeout")
            .arg(TIME_MAX)
            .arg(program)
            .env("DB_HOST", host)
            .env("DB_PORT", port.to_string())
            .env("DB_USER", USER)
            .env("DB_PASSWORD", PASSWORD)
            .env("DB_NAME", "test")
            .env("DB_FRESH_USER", fresh)
            .env("DB_SECOND_USER", second)
            .env("DB_COMPRESS", if compress { "1" } else { "0" })
            .env("DB_TABLE", format!("driver_{number}"))
            .output()
            .unwrap();
        self.judge(server.kind(), &output)
    }

    fn judge(&self, kind: Kind, output: &Output) -> Result<(), String> {
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let done = format!("{}, {errors}\nafter {printed}", output.status);
        let is_known = |line: &str| self.known_warning.is_some_and(|known| line.starts_with(known));
        if !output.status.success() || !errors.lines().all(is_known) {
            return Err(done);
        }
        let on_mysql = if kind == Kind::MySql { self.lacks_on_mysql } else { &[] };
        for step in STEPS {
            let lacks = self.lacks.contains(&step) || on_mysql.contains(&step);
            let wanted = format!("{} {step}", if lacks { "no" } else { "ok" });
            if !printed.lines().any(|line| line == wanted) {
                return Err(format!("no line '{wanted}': {done}"));
            }
        }
        Ok(())
    }
}

/// Tables and accounts are named by it: tests share their servers.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// `timeout` ends a driver that hangs; the slowest takes some ten seconds on two busy cores.
const TIME_MAX: &str = "120";
