//! Transactions of several connections: what they see of each other, and that nothing is lost.
//!
//! Not here: sysbench's mix of them (`live`).

use std::sync::{Arc, Barrier};

use mysqlite::Server;

use crate::client::{Client, Wish};
use crate::server;

fn two(setup: &str) -> (Server, Client, Client) {
    let server = server();
    let mut first = Client::of(&server);
    first.query(&format!("create database d; use d; {setup}")).unwrap();
    let second = Client::connect(&server, &Wish { database: Some("d"), ..Wish::default() }).unwrap();
    (server, first, second)
}

#[test]
fn a_transaction_is_seen_only_once_it_is_committed() {
    let (_server, mut a, mut b) = two("create table t (a int); insert into t values (1)");
    a.query("begin; insert into t values (2)").unwrap();
    assert_eq!(a.lines("select count(*) from t"), ["2"]);
    assert_eq!(b.lines("select count(*) from t"), ["1"]);
    a.query("commit").unwrap();
    assert_eq!(b.lines("select count(*) from t"), ["2"]);
    a.query("begin; delete from t; rollback").unwrap();
    assert_eq!(b.lines("select count(*) from t"), ["2"]);
}

#[test]
fn a_reader_keeps_its_snapshot_until_it_writes() {
    let (_server, mut a, mut b) = two("create table t (a int, n int); insert into t values (1, 0)");
    a.query("start transaction with consistent snapshot").unwrap();
    b.query("update t set n = 5").unwrap();
    assert_eq!(a.lines("select n from t"), ["0"]);
    // As in InnoDB the write sees the newest row.
    a.query("update t set n = n + 1").unwrap();
    assert_eq!(a.lines("select n from t"), ["6"]);
    a.query("commit").unwrap();
    assert_eq!(b.lines("select n from t"), ["6"]);
}

#[test]
fn autocommit_off_begins_a_transaction_by_itself() {
    let (_server, mut a, mut b) = two("create table t (a int)");
    a.query("set autocommit = 0; insert into t values (1)").unwrap();
    assert_eq!(b.lines("select count(*) from t"), ["0"]);
    a.query("set autocommit = 1").unwrap();
    assert_eq!(b.lines("select count(*) from t"), ["1"]);
}

#[test]
fn savepoints_survive_the_move_of_the_snapshot() {
    let (_server, mut a, _b) = two("create table t (a int)");
    a.query("begin; select * from t; savepoint x; insert into t values (1); savepoint y; insert into t values (2)")
        .unwrap();
    a.query("rollback to savepoint y; release savepoint x").unwrap();
    assert_eq!(a.error("rollback to x"), 1305);
    a.query("commit").unwrap();
    assert_eq!(a.lines("select a from t"), ["1"]);
}

#[test]
fn ddl_commits_and_a_lost_client_is_rolled_back() {
    let (_server, mut a, mut b) = two("create table t (a int)");
    a.query("begin; insert into t values (1); create table u (a int); rollback").unwrap();
    assert_eq!(b.lines("select count(*) from t"), ["1"]);
    a.query("begin; insert into t values (2)").unwrap();
    drop(a);
    // Waits for the lock that the lost client held.
    b.query("insert into t values (3)").unwrap();
    assert_eq!(b.lines("select a from t"), ["1", "3"]);
}

#[test]
fn who_waits_too_long_for_the_lock_gets_1205() {
    let (_server, mut a, mut b) = two("create table t (a int)");
    a.query("begin; insert into t values (1)").unwrap();
    b.query("set innodb_lock_wait_timeout = 1").unwrap();
    assert_eq!(b.error("insert into t values (2)"), 1205);
    a.query("commit").unwrap();
    b.query("insert into t values (2)").unwrap();
}

#[test]
fn no_increment_of_eight_writers_is_lost() {
    let (server, mut a, _b) = two("create table t (a int primary key, n int); insert into t values (1, 0)");
    let server = Arc::new(server);
    let barrier = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let (server, barrier) = (Arc::clone(&server), Arc::clone(&barrier));
            std::thread::spawn(move || {
                let wish = Wish { database: Some("d"), ..Wish::default() };
                let mut client = Client::connect(&server, &wish).unwrap();
                barrier.wait();
                for _ in 0..50 {
                    if number % 2 == 0 {
                        client.query("update t set n = n + 1 where a = 1").unwrap();
                    } else {
                        client
                            .query("begin; select n from t; update t set n = n + 1; select n from t; commit")
                            .unwrap();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(a.lines("select n from t"), ["400"]);
}
