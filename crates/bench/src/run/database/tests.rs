//! What stays on a user's server when the making of a table goes wrong, seen through a relay that interferes just then.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use super::*;
use crate::table;

/// What the relay does when the first CREATE TABLE passes.
#[derive(Clone, Copy)]
enum Interference {
    /// The server makes the table, and the answer is lost with the connection.
    Lost,
    /// Somebody else makes one of that name first.
    Taken,
}

/// The address of a relay before the server.
fn relay(server: SocketAddr, interference: Interference) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            pass(client.unwrap(), TcpStream::connect(server).unwrap(), server, interference);
        }
    });
    address
}

fn pass(mut client: TcpStream, mut upstream: TcpStream, server: SocketAddr, interference: Interference) {
    let (mut answers, mut back) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
    let (is_lost, lost) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        let mut bytes = [0; 16384];
        while let Ok(len @ 1..) = answers.read(&mut bytes) {
            if lost.try_recv().is_ok() {
                break;
            }
            if back.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        drop(back.shutdown(Shutdown::Both));
    });
    thread::spawn(move || {
        let mut bytes = [0; 16384];
        while let Ok(len @ 1..) = client.read(&mut bytes) {
            if bytes[..len].windows(12).any(|window| window == b"create table") {
                match interference {
                    Interference::Lost => is_lost.send(()).unwrap(),
                    Interference::Taken => drop(direct(server).query(THEIRS).unwrap()),
                }
            }
            if upstream.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        drop(upstream.shutdown(Shutdown::Both));
    });
}

fn direct(server: SocketAddr) -> Client {
    Client::connect(&server.into(), &account("root", "", SCHEMA), Compression::NONE, &Stop::new()).unwrap()
}

/// What `fill` told through the relay, and whether there is a table when all is over.
fn filled(interference: Interference) -> (String, bool) {
    let embedded = Database::embedded(&Stop::new()).unwrap();
    let server: SocketAddr = embedded.address().to_string().parse().unwrap();
    let database = Database {
        address: relay(server, interference).into(),
        account: embedded.account().clone(),
        home: Home::Theirs { version: String::new() },
        made: Mutex::default(),
    };
    let table = Table::generated(table::Kind::Sysbench, "sbtest1", 1, 1);
    let told = database.fill(std::slice::from_ref(&table), Existing::Refuse, &Stop::new(), |_, _| {});
    drop(database);
    (format!("{:#}", told.unwrap_err()), has(&mut direct(server), &table).unwrap())
}

#[test]
fn a_table_whose_making_lost_its_answer_is_dropped() {
    let (told, is_there) = filled(Interference::Lost);
    assert!(told.contains("cannot make the table sbtest1"), "{told}");
    assert!(!is_there);
}

#[test]
fn a_table_that_somebody_else_made_meanwhile_stays() {
    let (told, is_there) = filled(Interference::Taken);
    assert!(told.contains("has a table sbtest1 already"), "{told}");
    assert!(is_there);
}

#[test]
fn a_table_that_was_there_is_refused_and_stays() {
    let embedded = Database::embedded(&Stop::new()).unwrap();
    let server: SocketAddr = embedded.address().to_string().parse().unwrap();
    direct(server).query(THEIRS).unwrap();
    let table = Table::generated(table::Kind::Sysbench, "sbtest1", 1, 1);
    let told = embedded.fill(&[table], Existing::Refuse, &Stop::new(), |_, _| {}).unwrap_err();
    assert!(told.to_string().contains("has a table sbtest1 already; name an empty schema"), "{told}");
    assert!(told.to_string().ends_with("drop it first: DROP TABLE `testdb`.`sbtest1`;"), "{told}");
    assert!(embedded.made.lock().unwrap().is_empty());
}

#[test]
fn all_tables_that_are_there_are_told_at_once_and_none_is_made() {
    let embedded = Database::embedded(&Stop::new()).unwrap();
    let server: SocketAddr = embedded.address().to_string().parse().unwrap();
    let tables =
        ["sbtest1", "sbtest2", "sbtest3"].map(|name| Table::generated(table::Kind::Sysbench, name, 1, 1));
    for name in ["sbtest2", "sbtest3"] {
        direct(server).query(&format!("create table {name} (a int)")).unwrap();
    }
    let told = embedded.fill(&tables, Existing::Refuse, &Stop::new(), |_, _| {}).unwrap_err().to_string();
    assert!(told.contains("has tables sbtest2 and sbtest3 already"), "{told}");
    assert!(told.ends_with("drop them first: DROP TABLE `testdb`.`sbtest2`, `testdb`.`sbtest3`;"), "{told}");
    assert!(!has(&mut direct(server), &tables[0]).unwrap());
}

const THEIRS: &str = "create table sbtest1 (a int)";
