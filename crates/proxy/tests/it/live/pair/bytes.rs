//! Bytes on the wire of a pair beside those of MySQL's own zstd 3 and of one wirepress with it, headers and all.
//!
//! `cargo test -p wirepress-proxy --test it live::pair::bytes -- --nocapture` prints the table of `docs/pair.md`.
//! Not here: CPU (`examples/pair-cost.rs`).

use std::fmt::Write;

use codec::Algorithm;
use lab::generate::{sysbench_row, text_row, wide_row};
use lab::real::{Kind, RealServer, required};
use wire::command::{COM_STMT_EXECUTE, COM_STMT_PREPARE};
use wire::response::ok;

use super::Halves;
use crate::live::client::{Client, Terms, remember_password};
use crate::live::route::{Legs, Route};

const ROWS: u32 = 3000;
const LARGE_SCAN_ROWS: u32 = 20_000;
const WIDE_ROWS: u32 = 200;
const LARGE_ROWS: u32 = 12;
/// That a scan may have more of, by where they happen to end.
const FRAMES_MORE: f64 = 20.0;
/// Of some wide rows, packed, bytes.
const FRAME_LEN: f64 = 50.0;

/// sysbench's table, what an ORM reads, and prose.
fn fill(server: &RealServer) {
    remember_password(server);
    server
        .sql(
            "drop database if exists pair_bytes; create database pair_bytes; use pair_bytes;
             create table sbtest1 (id int primary key, k int, c char(120), pad char(60));
             create table users (id bigint primary key, tenant_id bigint, email varchar(255), first_name varchar(100),
                 last_name varchar(100), status varchar(20), locale varchar(10), time_zone varchar(40),
                 created_at datetime, updated_at datetime, is_active tinyint);
             create table prose (id int primary key, v text);
             create table sbtest2 (id int primary key, k int, c char(120), pad char(60));
             create table wide (id int primary key, v text);
             create table large (id int primary key, v mediumtext)",
        )
        .unwrap();
    let mut client = Route::direct(server).connect();
    for first in (1..=ROWS).step_by(500) {
        let mut inserts = [
            "insert into pair_bytes.sbtest1 values ".to_owned(),
            "insert into pair_bytes.users values ".to_owned(),
            "insert into pair_bytes.prose values ".to_owned(),
        ];
        for id in first..first + 500 {
            let comma = if id == first { "" } else { "," };
            let row = sysbench_row(1, id, ROWS);
            write!(inserts[0], "{comma}({id},{},'{}','{}')", row.k, row.c, row.pad).unwrap();
            let name = ["anna", "bert", "chris", "dora", "emil", "frieda", "gustav"][id as usize % 7];
            write!(
                inserts[1],
                "{comma}({id},{},'{name}.{}@example.com','{name}','Miller{}','active','en_GB','Europe/Berlin',
                 '2026-01-01' + interval {} minute,'2026-11-22' - interval {} second,1)",
                id % 10, id * 7919 % 10_007, id % 97, id * 37, id * 53,
            )
            .unwrap();
            write!(inserts[2], "{comma}({id},'{}')", text_row(1, id, 1000).replace('\'', " ")).unwrap();
        }
        for insert in inserts {
            assert_eq!(client.query(&insert)[0][0], ok::HEADER);
        }
    }
    let digits = |id| {
        let row = sysbench_row(2, id, LARGE_SCAN_ROWS);
        format!("({id},{},'{}','{}')", row.k, row.c, row.pad)
    };
    insert(&mut client, "sbtest2", 1000, (1..=LARGE_SCAN_ROWS).map(digits));
    insert(&mut client, "wide", 10, (1..=WIDE_ROWS).map(|id| format!("({id},'{}')", wide_row(1, id))));
    let large = |id| format!("({id},'{}')", text_row(2, id, 600_000).replace('\'', " "));
    insert(&mut client, "large", 1, (1..=LARGE_ROWS).map(large));
}

fn insert(client: &mut Client, table: &str, at_once: usize, rows: impl Iterator<Item = String>) {
    for rows in rows.collect::<Vec<_>>().chunks(at_once) {
        let insert = format!("insert into pair_bytes.{table} values {}", rows.join(","));
        assert_eq!(client.query(&insert)[0][0], ok::HEADER);
    }
}

/// Statements one after another, by text or prepared: what came back.
type Work = fn(&mut Client) -> Vec<Vec<u8>>;

fn ids() -> impl Iterator<Item = u32> {
    (0..1000).map(|turn| turn * 7919 % ROWS + 1)
}

fn point_selects(client: &mut Client) -> Vec<Vec<u8>> {
    ids().flat_map(|id| client.query(format!("SELECT c FROM pair_bytes.sbtest1 WHERE id={id}"))).collect()
}

fn prepared_point_selects(client: &mut Client) -> Vec<Vec<u8>> {
    let prepared =
        client.ask(&[&[COM_STMT_PREPARE], &b"SELECT c FROM pair_bytes.sbtest1 WHERE id=?"[..]].concat());
    let id = &prepared[0][1..5];
    let execute =
        |row: u32| [&[COM_STMT_EXECUTE], id, &[0, 1, 0, 0, 0, 0, 1, 3, 0][..], &row.to_le_bytes()].concat();
    ids().flat_map(|row| client.ask(&execute(row))).collect()
}

fn orm_rows(client: &mut Client) -> Vec<Vec<u8>> {
    ids()
        .flat_map(|id| client.query(format!("SELECT * FROM pair_bytes.users WHERE id = {id} LIMIT 1")))
        .collect()
}

fn scan_of_digits(client: &mut Client) -> Vec<Vec<u8>> {
    client.query("SELECT * FROM pair_bytes.sbtest1")
}

fn scan_of_text(client: &mut Client) -> Vec<Vec<u8>> {
    client.query("SELECT * FROM pair_bytes.prose")
}

fn large_scan_of_digits(client: &mut Client) -> Vec<Vec<u8>> {
    client.query("SELECT * FROM pair_bytes.sbtest2")
}

fn scan_of_wide_rows(client: &mut Client) -> Vec<Vec<u8>> {
    client.query("SELECT * FROM pair_bytes.wide")
}

fn large_rows(client: &mut Client) -> Vec<Vec<u8>> {
    client.query("SELECT * FROM pair_bytes.large")
}

const WORKS: [(&str, Work, f64); 8] = [
    ("point select", point_selects, 0.6),
    ("point select, prepared", prepared_point_selects, 0.6),
    ("ORM row", orm_rows, 0.3),
    ("scan of digits", scan_of_digits, 1.0),
    ("large scan of digits", large_scan_of_digits, 1.0),
    ("scan of text", scan_of_text, 1.0),
    ("scan of wide rows", scan_of_wide_rows, 1.0),
    ("rows of 600 KB", large_rows, 1.0),
];

/// Bytes of the replies, plain.
fn plain_len(payloads: &[Vec<u8>]) -> u64 {
    payloads.iter().map(|payload| payload.len() as u64 + 4).sum()
}

fn by_standard_zstd_3(route: Route<'_>, work: Work) -> (u64, Vec<Vec<u8>>) {
    let route = route.with_client(Algorithm::Zstd);
    let mut client = route.connect_on(Terms { zstd_level: 3, ..Terms::default() });
    let before = client.received_len();
    let payloads = work(&mut client);
    ((client.received_len() - before) as u64, payloads)
}

fn by_pair(halves: &Halves, work: Work) -> (u64, Vec<Vec<u8>>) {
    let mut client = Client::connect(halves.dialer.address(), &Terms::default()).unwrap();
    client.value("select 1");
    let before = halves.tap.lens()[1];
    let payloads = work(&mut client);
    (halves.tap.lens()[1] - before, payloads)
}

#[test]
fn replies_by_a_pair_are_much_smaller_than_by_standard_zstd() {
    let Some(server) = required(Kind::MySql) else { return };
    fill(server);
    // Without warm connections: their hellos would be counted.
    let halves = Halves::to(server.address().into(), |config| config.pair.warm_connections = 0, |_| {});
    println!(
        "replies of           | plain bytes | MySQL zstd 3 | wirepress zstd 3 | pair      | pair / MySQL | pair / wirepress"
    );
    for (name, work, at_most) in WORKS {
        let least = Least::of(server, &halves, (name, work), at_most);
        let of_mysql = least.by_pair as f64 / least.by_mysql as f64;
        let of_wirepress = least.by_pair as f64 / least.by_wirepress as f64;
        println!(
            "{name:<20} | {:>11} | {:>12} | {:>16} | {:>9} | {of_mysql:>12.3} | {of_wirepress:>16.3}",
            least.plain, least.by_mysql, least.by_wirepress, least.by_pair,
        );
        assert!(of_mysql <= at_most, "{name}: {of_mysql:.3} of MySQL's zstd 3");
        assert!(least.holds_beside_wirepress(at_most), "{name}: {of_wirepress:.3} of wirepress's zstd 3");
    }
}

/// Bytes of one work's replies.
struct Least {
    plain: u64,
    by_mysql: u64,
    by_wirepress: u64,
    by_pair: u64,
}

impl Least {
    /// Where frames end in a scan, and so how many there are, depends on how it arrives: a core that others take away makes dozens
    /// more, each some 50 bytes, of which packed wide rows are made. The least of a few tries has hardly any of them.
    const TRIES: usize = 5;

    fn of(server: &RealServer, halves: &Halves, (name, work): (&str, Work), at_most: f64) -> Self {
        let mut least = Self { plain: 0, by_mysql: u64::MAX, by_wirepress: u64::MAX, by_pair: u64::MAX };
        for _ in 0..Self::TRIES {
            let (by_mysql, direct) = by_standard_zstd_3(Route::direct(server), work);
            let legs = Legs::of(Algorithm::Zstd, Algorithm::Uncompressed);
            let (by_wirepress, through) = by_standard_zstd_3(Route::through(server, legs), work);
            let (by_pair, paired) = by_pair(halves, work);
            assert!(direct == through && direct == paired, "{name}: other payloads");
            least.plain = plain_len(&direct);
            least.by_mysql = least.by_mysql.min(by_mysql);
            least.by_wirepress = least.by_wirepress.min(by_wirepress);
            least.by_pair = least.by_pair.min(by_pair);
            if least.holds_beside_wirepress(at_most) {
                break;
            }
        }
        least
    }

    fn holds_beside_wirepress(&self, at_most: f64) -> bool {
        let at_most = if at_most < 1.0 { at_most.max(0.6) } else { 1.02 };
        self.by_pair as f64 <= self.by_wirepress as f64 * at_most + FRAMES_MORE * FRAME_LEN
    }
}

#[test]
fn mariadb_gets_zstd_by_a_pair() {
    let Some(server) = required(Kind::MariaDb) else { return };
    fill(server);
    let halves = Halves::to(server.address().into(), |config| config.pair.warm_connections = 0, |_| {});
    let (pair_len, paired) = by_pair(&halves, orm_rows);
    let mut direct = Route::direct(server).connect();
    assert!(paired == orm_rows(&mut direct), "other payloads");
    let ratio = plain_len(&paired) as f64 / pair_len as f64;
    assert!(ratio > 5.0, "{ratio:.1}");
}
