//! What only MariaDB has: progress reports in the middle of a reply, and extended capabilities.
//!
//! Not here: MariaDB's bulk execution and pipelining, which its Connector/J does (`drivers`).

use lab::real::Kind;
use wire::response::ok;
use wire::{Capabilities, Reader};

use crate::live::client::Terms;
use crate::live::route::{Legs, Route};

fn terms(extended: Capabilities) -> Terms {
    let default = Terms::default();
    // A client that leaves this bit clear has extended capabilities.
    let capabilities = default.capabilities.with(Capabilities::LONG_PASSWORD, false) | extended;
    Terms { capabilities, ..default }
}

#[test]
fn progress_reports_arrive_in_the_middle_of_replies() {
    let Some(server) = super::server(Kind::MariaDb) else { return };
    server.sql("create table flows.progress engine=aria as select seq, repeat('a', 50) v from test.seq_1_to_20000").unwrap();
    let report_count = |route: &Route<'_>, is_on: bool| {
        let mut client = route.connect_on(terms(Capabilities::MARIADB_PROGRESS));
        client.query(format!("set progress_report_time = {}", u8::from(is_on)));
        let mut count = 0;
        for _ in 0..2 {
            let reply = client.query("alter table flows.progress force, algorithm=copy");
            let (last, reports) = reply.split_last().unwrap();
            assert_eq!(last[0], ok::HEADER, "{}", String::from_utf8_lossy(last));
            assert!(reports.iter().all(|report| report.starts_with(&[0xff, 0xff, 0xff])), "{reports:?}");
            count += reports.len();
            // In the middle of a result with rows.
            let reply = client.query("check table flows.progress extended");
            count += reply.iter().filter(|payload| payload.starts_with(&[0xff, 0xff, 0xff])).count();
            assert_eq!(client.value("select 'goes on'"), "goes on");
        }
        count
    };
    assert_ne!(report_count(&Route::direct(server), true), 0, "the server reports nothing");
    for legs in Legs::all(Kind::MariaDb) {
        let route = Route::through(server, legs);
        assert_ne!(report_count(&route, true), 0, "{legs}");
        assert_eq!(report_count(&route, false), 0, "{legs}");
    }
}

#[test]
fn extended_capabilities_are_offered_and_used() {
    let Some(server) = super::server(Kind::MariaDb) else { return };
    server.sql("create table flows.documents (d json, p point)").unwrap();
    let extended = Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_EXTENDED_METADATA;
    let ask = |route: &Route<'_>| {
        let mut client = route.connect_on(terms(extended));
        (client.greeting.capabilities.mariadb_bits(), client.query("select d, p from flows.documents"))
    };
    let direct = ask(&Route::direct(server));
    assert!(Capabilities::from_bits(0, direct.0).contains(extended), "{:x}", direct.0);
    // Behind six names comes what the capability adds: type 1, "json".
    let mut definition = Reader::new(&direct.1[1]);
    for _name in 0..6 {
        definition.lenenc_bytes().unwrap();
    }
    assert_eq!(definition.lenenc_bytes().unwrap(), b"\x01\x04json");
    for legs in Legs::all(Kind::MariaDb) {
        assert_eq!(ask(&Route::through(server, legs)), direct, "{legs}");
    }
}
