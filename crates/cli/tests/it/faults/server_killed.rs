//! A server that dies in the middle of a result, as by the kernel's out-of-memory killer.
//!
//! Not here: a server whose host is gone too (`black_hole`).

use std::time::{Duration, Instant};

use codec::Algorithm::{Uncompressed, Zlib};
use lab::real::{Kind, Options, required_with};

use super::real_client::{ROW_COUNT, RealClient, ask, endless_result};
use super::{MOMENT, Setting, other_than, report};

/// No timeout is at work: the dead server's kernel closes the connection, and what had come before goes to the client
/// first.
const DEADLINE: Duration = MOMENT;

fn a_client_in_mid_result_is_told(kind: Kind) {
    let Some(mut server) = required_with(kind, &Options::new()) else { return };
    let Some(other) = other_than(kind) else { return };
    let scene = Setting::new(&server.address().to_string(), other).start();
    for algorithm in [Uncompressed, Zlib] {
        let mut client = RealClient::start(&server, scene.address(), algorithm, &endless_result());
        client.await_rows(100);
        let others = scene.bystander.watch();
        let begun = Instant::now();
        server.kill().unwrap();
        let ended = client.end(2 * DEADLINE);
        let took = begun.elapsed();
        assert!(!ended.succeeded && ended.rows < ROW_COUNT, "a result that looks complete: {ended:?}");
        assert!(ended.complaint.contains("Lost connection"), "{ended:?}");
        let fault = format!("server killed mid-result ({kind}, client {algorithm})");
        report(fault, &format!("client told \"{}\"", ended.complaint), took, DEADLINE, &others.told());

        let others = scene.bystander.watch();
        let ended = ask(&server, scene.address(), 2 * DEADLINE);
        assert!(!ended.succeeded && ended.complaint.contains("1429"), "{ended:?}");
        assert!(ended.complaint.contains(&server.address().to_string()), "{ended:?}");
        let fault = format!("server not there ({kind})");
        report(
            fault,
            &format!("new client told \"{}\"", ended.complaint),
            ended.took,
            DEADLINE,
            &others.told(),
        );

        server.restart().unwrap();
        let begun = Instant::now();
        let ended = ask(&server, scene.address(), DEADLINE);
        assert!(ended.succeeded, "{ended:?}");
        assert!(begun.elapsed() < DEADLINE);
    }
    let log = scene.end();
    assert!(log.contains("server leg, command phase"), "{log}");
}

#[test]
fn a_client_in_mid_result_is_told_when_its_mysql_is_killed() {
    a_client_in_mid_result_is_told(Kind::MySql);
}

#[test]
fn a_client_in_mid_result_is_told_when_its_mariadb_is_killed() {
    a_client_in_mid_result_is_told(Kind::MariaDb);
}
