//! Dumps of real sysbench tables, and sysbench itself with prepared statements, through every pair of legs.
//!
//! A dump is compared byte for byte with a direct one. sysbench with one thread and a seed does the same
//! statements every time: three equal copies of its tables, worked on directly, through the proxy, and through
//! the proxy with a compressed client leg, must stay equal, and differ from what they were.
//!
//! Not here: sizes of single packets (`sizes`), other flows (`flows`).

use std::process::Command;
use std::sync::OnceLock;

use codec::Algorithm::{self, Uncompressed, Zlib, Zstd};
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use proxy::Address;

use super::client::remember_password;
use super::route::{Legs, Route, SOCKETS, printed};

/// The server with the tables of sysbench in database `dumped`, made once.
fn filled(kind: Kind) -> Option<&'static RealServer> {
    static MYSQL: OnceLock<()> = OnceLock::new();
    static MARIADB: OnceLock<()> = OnceLock::new();
    let server = required(kind)?;
    let filled = if kind == Kind::MySql { &MYSQL } else { &MARIADB };
    filled.get_or_init(|| {
        remember_password(server);
        server.sql("create database dumped").unwrap();
        let mut prepare = sysbench(server, &Route::direct(server).address, "dumped");
        printed(&prepare.arg("prepare").output().unwrap());
        assert_eq!(server.sql("select count(*) from dumped.sbtest2").unwrap(), ROW_COUNT.to_string());
    });
    Some(server)
}

fn sysbench(server: &RealServer, address: &Address, database: &str) -> Command {
    let Address::Tcp { host, port } = address else { unreachable!("routes of sysbench are TCP") };
    let mut command = server.command("sysbench").unwrap();
    command.arg("oltp_read_write").args([
        format!("--mysql-host={host}"),
        format!("--mysql-port={port}"),
        format!("--mysql-user={USER}"),
        format!("--mysql-password={PASSWORD}"),
        format!("--mysql-db={database}"),
        format!("--table-size={ROW_COUNT}"),
    ]);
    command.args(["--tables=2", "--rand-seed=7", "--time=0", "--db-ps-mode=auto"]);
    command
}

fn dump(route: &Route<'_>, program: &str) -> Vec<u8> {
    let mut command = route.command(program);
    command.args((program == "mysqldump").then_some("--set-gtid-purged=OFF"));
    // Comments hold the host and the date.
    let output = command.args(["--skip-comments", "dumped"]).output().unwrap();
    printed(&output).into_bytes()
}

/// Every pair of legs over TCP, and over one of the other pairs of sockets in turn.
fn dumps_equal_a_direct_one(kind: Kind, program: &str, client_algorithms: &[Algorithm]) {
    let Some(server) = filled(kind) else { return };
    let direct = dump(&Route::direct(server), program);
    assert!(direct.len() > 2 * ROW_COUNT * 150, "the dump has {} bytes only", direct.len());
    let [tcp, others @ ..] = SOCKETS;
    let all = Legs::all(kind).into_iter().filter(|legs| client_algorithms.contains(&legs.client));
    for (legs, other) in all.zip(others.into_iter().cycle()) {
        for sockets in [tcp, other] {
            let route = Route::over(server, legs, sockets);
            assert!(dump(&route, program) == direct, "{legs}, {sockets:?}: another dump; {}", route.faults());
        }
    }
}

#[test]
fn mysqldump_of_mysql_equals_a_direct_one_on_every_pair_of_legs() {
    dumps_equal_a_direct_one(Kind::MySql, "mysqldump", &[Uncompressed, Zlib, Zstd]);
}

#[test]
fn mariadb_dump_equals_a_direct_one_on_every_pair_of_legs() {
    dumps_equal_a_direct_one(Kind::MariaDb, "mariadb-dump", &[Uncompressed, Zlib]);
}

#[test]
fn mysqldump_of_mariadb_equals_a_direct_one_with_a_zstd_client_leg() {
    dumps_equal_a_direct_one(Kind::MariaDb, "mysqldump", &[Zstd]);
}

/// Databases `work_0`... with copies of sysbench's tables.
fn copies(server: &RealServer, count: usize) -> Vec<String> {
    let make = |index| {
        let database = format!("work_{index}");
        let tables = [1, 2].map(|table| {
            format!(
                "create table {database}.sbtest{table} like dumped.sbtest{table};
                 insert into {database}.sbtest{table} select * from dumped.sbtest{table};"
            )
        });
        server.sql(&format!("create database {database}; {}", tables.concat())).unwrap();
        database
    };
    (0..count).map(make).collect()
}

/// Checksums of a database's tables, without their names.
fn checksums(server: &RealServer, database: &str) -> Vec<String> {
    let found = server.sql(&format!("checksum table {database}.sbtest1, {database}.sbtest2")).unwrap();
    found.lines().map(|line| line.split('\t').next_back().unwrap().to_owned()).collect()
}

/// The same statements in copies of the same tables: directly, and through the proxy with either client leg.
fn sysbench_leaves_the_rows_of_a_direct_run(kind: Kind) {
    let Some(server) = filled(kind) else { return };
    let mut pairs = Legs::all(kind);
    pairs.retain(|legs| legs.client != Zstd); // sysbench has none.
    let databases = copies(server, pairs.len() + 1);
    let (direct_database, databases) = databases.split_first().unwrap();
    let work = |route: &Route<'_>, database: &str| {
        let mut sysbench = sysbench(server, &route.address, database);
        sysbench.args(["--threads=1", &format!("--events={EVENT_COUNT}")]);
        sysbench.args((route.algorithm == Zlib).then_some("--mysql-compression=on"));
        let told = printed(&sysbench.arg("run").output().unwrap());
        assert!(told.contains(&format!("transactions:                        {EVENT_COUNT} ")), "{told}");
        assert!(told.contains("ignored errors:                      0 "), "{told}");
    };
    let executed = || {
        let found = server.sql("show global status like 'Com_stmt_execute'").unwrap();
        found.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
    };
    let executed_before = executed();
    work(&Route::direct(server), direct_database);
    let direct = checksums(server, direct_database);
    assert_ne!(direct, checksums(server, "dumped"), "sysbench changed nothing");
    for (legs, database) in pairs.into_iter().zip(databases) {
        work(&Route::through(server, legs), database);
        assert_eq!(checksums(server, database), direct, "{legs}");
    }
    let run_count = databases.len() + 1;
    assert!(executed() - executed_before >= run_count * EVENT_COUNT * 18, "not by prepared statements");
}

#[test]
fn sysbench_with_prepared_statements_leaves_the_rows_of_a_direct_run_on_mysql() {
    sysbench_leaves_the_rows_of_a_direct_run(Kind::MySql);
}

#[test]
fn sysbench_with_prepared_statements_leaves_the_rows_of_a_direct_run_on_mariadb() {
    sysbench_leaves_the_rows_of_a_direct_run(Kind::MariaDb);
}

/// Two tables of about 190 bytes a row: eight megabytes.
const ROW_COUNT: usize = 20_000;
/// Twenty statements each.
const EVENT_COUNT: usize = 100;
