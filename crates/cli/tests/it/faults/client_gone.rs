//! A client that dies: in the middle of its result, and while its statement runs in silence.
//!
//! Not here: a client whose host is gone too (`black_hole`).

use std::time::Duration;

use codec::Algorithm::{Uncompressed, Zlib};
use lab::real::{Kind, Options, RealServer, required_with};
use lab::wait::wait_until_within;

use super::real_client::{RealClient, endless_result};
use super::{MOMENT, Setting, other_than, report};

/// No timeout is at work: the dead client's kernel resets the connection, and the proxy the server's.
const DEADLINE: Duration = MOMENT;
/// How long the silent statement runs.
const SILENCE: Duration = Duration::from_secs(2);

/// Statements that run in the server for `USER`.
fn running(server: &RealServer, like: &str) -> u64 {
    let sql = format!(
        "select count(*) from information_schema.processlist where user = 'tester' and info like '{like}'"
    );
    server.sql(&sql).unwrap().parse().unwrap()
}

fn the_statement_of_a_dead_client_ends(kind: Kind) {
    let Some(server) = required_with(kind, &Options::new()) else { return };
    let Some(other) = other_than(kind) else { return };
    let scene = Setting::new(&server.address().to_string(), other).start();
    for algorithm in [Uncompressed, Zlib] {
        let mut client = RealClient::start(&server, scene.address(), algorithm, &endless_result());
        client.await_rows(100);
        assert_eq!(running(&server, "select hex%"), 1);
        let others = scene.bystander.watch();
        client.kill();
        let took =
            wait_until_within("the statement ended", 2 * DEADLINE, || running(&server, "select hex%") == 0);
        let fault = format!("client gone mid-result ({kind}, client {algorithm})");
        report(fault, "statement ended in the server", took, DEADLINE, &others.told());
    }
    // In silence nobody can be told; the server ends the statement as it would without the proxy.
    let sql = format!("select sleep({})", SILENCE.as_secs());
    let client = RealClient::start(&server, scene.address(), Uncompressed, &sql);
    wait_until_within("the statement runs", DEADLINE, || running(&server, "select sleep%") == 1);
    let others = scene.bystander.watch();
    client.kill();
    let took =
        wait_until_within("the statement ended", 2 * DEADLINE, || running(&server, "select sleep%") == 0);
    let fault = format!("client gone mid-query ({kind}, {} s of silence)", SILENCE.as_secs());
    report(fault, "statement ended in the server", took, SILENCE + DEADLINE, &others.told());
    // No session is left behind.
    wait_until_within("all sessions ended", DEADLINE, || {
        server.sql("select count(*) from information_schema.processlist where user = 'tester'").unwrap()
            == "0"
    });
    scene.end();
}

#[test]
fn the_statement_of_a_dead_client_ends_in_mysql() {
    the_statement_of_a_dead_client_ends(Kind::MySql);
}

#[test]
fn the_statement_of_a_dead_client_ends_in_mariadb() {
    the_statement_of_a_dead_client_ends(Kind::MariaDb);
}
