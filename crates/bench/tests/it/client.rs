//! Our own client on real servers: every way to log in, every algorithm, errors, an interrupt.

use std::time::{Duration, Instant};

use bench::client::{Account, Client, ClientFault, Compression, Scan, Stop};
use codec::Algorithm;
use lab::link::Address;
use lab::peer::Nobody;
use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required, required_with};

fn account(user: &str, password: &str, database: &str) -> Account {
    Account {
        user: user.to_owned(),
        password: password.to_owned().into(),
        database: database.to_owned(),
        tls: None,
    }
}

fn connect(
    address: &Address,
    account: &Account,
    algorithm: Algorithm,
    level: u8,
) -> Result<Client, ClientFault> {
    Client::connect(address, account, Compression { algorithm, level }, &Stop::new())
}

fn tcp(server: &RealServer) -> Address {
    server.address().into()
}

fn status(client: &mut Client, name: &str) -> String {
    let mut values = String::new();
    client
        .query_rows(&format!("show status like '{name}'"), |row| {
            let mut reader = wire::Reader::new(row);
            reader.lenenc_bytes().unwrap();
            values.push_str(std::str::from_utf8(reader.lenenc_bytes().unwrap()).unwrap());
        })
        .unwrap();
    values
}

/// 1,000 rows that compress well; the same on every server.
const SCAN: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) \
                    select i, repeat('wirepress', 20) from n";

fn scan_is_whole(client: &mut Client) -> Scan {
    let scan = client.query(SCAN).unwrap();
    assert_eq!(scan.rows, 1000);
    assert!(scan.plain_bytes > 180_000, "{scan:?}");
    scan
}

#[test]
fn mysql_is_scanned_with_every_algorithm_and_level() {
    let Some(server) = required(Kind::MySql) else { return };
    let account = account(USER, PASSWORD, "");
    for (algorithm, level, name) in [
        (Algorithm::Uncompressed, 1, ""),
        (Algorithm::Zlib, 1, "zlib"),
        (Algorithm::Zstd, 1, "zstd"),
        (Algorithm::Zstd, 22, "zstd"),
    ] {
        let mut client = connect(&tcp(server), &account, algorithm, level).unwrap();
        assert_eq!(status(&mut client, "compression_algorithm"), name);
        if algorithm == Algorithm::Zstd {
            assert_eq!(status(&mut client, "compression_level"), level.to_string());
        }
        let scan = scan_is_whole(&mut client);
        let is_packed = scan.packed_bytes * 5 < scan.plain_bytes;
        assert_eq!(is_packed, algorithm.is_framed(), "{scan:?}");
        client.quit();
    }
}

#[test]
fn mariadb_is_scanned_with_zlib_and_says_that_it_has_no_zstd() {
    let Some(server) = required(Kind::MariaDb) else { return };
    let account = account(USER, PASSWORD, "");
    let mut client = connect(&tcp(server), &account, Algorithm::Zlib, 1).unwrap();
    assert_eq!(status(&mut client, "compression"), "ON");
    scan_is_whole(&mut client);
    let fault = connect(&tcp(server), &account, Algorithm::Zstd, 3).err().unwrap().to_string();
    assert_eq!(fault, format!("{} does not offer zstd compression", server.address()));
}

#[test]
fn caching_sha2_logs_in_the_full_way_first_and_the_fast_way_then_over_tcp_and_socket() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    server
        .sql(
            "create user fresh identified by 'p@ss'; create user nopass identified by '';
              create user other identified by 'p@ss'",
        )
        .unwrap();
    let socket = Address::Unix(server.socket_path());
    // A server that has just started knows no hash: the first login of each account is a full one.
    for (address, user, password) in [
        (tcp(&server), "fresh", "p@ss"),
        (tcp(&server), "fresh", "p@ss"),
        (socket.clone(), "other", "p@ss"),
        (socket, "other", "p@ss"),
        (tcp(&server), "nopass", ""),
    ] {
        let mut client = connect(&address, &account(user, password, ""), Algorithm::Zstd, 1).unwrap();
        scan_is_whole(&mut client);
    }
}

#[test]
fn native_passwords_and_empty_ones_log_in() {
    let Some(server) = required(Kind::MariaDb) else { return };
    server.sql("create or replace user bench_empty@'%'").unwrap();
    for (user, password) in [(USER, PASSWORD), ("bench_empty", "")] {
        let mut client =
            connect(&tcp(server), &account(user, password, ""), Algorithm::Uncompressed, 1).unwrap();
        scan_is_whole(&mut client);
    }
    let mut root =
        connect(&Address::Unix(server.socket_path()), &account("root", "", "mysql"), Algorithm::Zlib, 1)
            .unwrap();
    scan_is_whole(&mut root);
}

#[test]
fn refusals_are_told_in_the_servers_words() {
    let Some(server) = required(Kind::MySql) else { return };
    let fault = |user, password, database| {
        let account = account(user, password, database);
        connect(&tcp(server), &account, Algorithm::Uncompressed, 1).err().unwrap().to_string()
    };
    assert!(fault(USER, "wrong", "").starts_with("ERROR 1045 (28000): Access denied for user 'tester'@"));
    assert_eq!(fault(USER, PASSWORD, "nowhere"), "ERROR 1049 (42000): Unknown database 'nowhere'");

    let mut client = connect(&tcp(server), &account(USER, PASSWORD, ""), Algorithm::Zstd, 3).unwrap();
    let fault = client.query("select nope").unwrap_err().to_string();
    assert!(fault.starts_with("ERROR 1054 (42S22): Unknown column 'nope'"), "{fault}");
    scan_is_whole(&mut client);
}

#[test]
fn a_wish_to_stop_ends_a_wait_for_the_server() {
    let Some(server) = required(Kind::MariaDb) else { return };
    let stop = Stop::new();
    let mut client =
        Client::connect(&tcp(server), &account(USER, PASSWORD, ""), Compression::NONE, &stop).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| client.query("select sleep(60)"));
        stop.wish();
        assert!(matches!(waiting.join().unwrap(), Err(ClientFault::Interrupted)));
    });
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_address_where_nothing_listens_is_named() {
    let nobody = Nobody::new().unwrap();
    let address = nobody.address().unwrap();
    let fault = connect(&address.into(), &account("me", "", ""), Algorithm::Uncompressed, 1).err().unwrap();
    assert!(fault.to_string() == format!("cannot connect to {address}"));
}
