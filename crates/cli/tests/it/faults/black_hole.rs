//! A host that is gone without a word: its packets vanish, nothing is reset. Only silence tells, so only
//! `--tcp-user-timeout` (bytes that nobody acknowledges, probes that nobody answers) and the limit on dials end a wait.
//!
//! The host is a network namespace of the test's own; see `lab::namespace`.
//! Not here: a server that only stops (`server_stopped`), or only dies (`server_killed`).

use std::net::IpAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use codec::Algorithm::Uncompressed;
use lab::namespace::Namespace;
use lab::real::{Kind, Options, required, required_with, root_or_skip};
use lab::wait::wait_until_within;

use super::bystander::log_in;
use super::real_client::{ROW_COUNT, RealClient, ask, command, endless_result};
use super::{MOMENT, Setting, other_than, report};

/// `--tcp-user-timeout`.
const USER_TIMEOUT_S: &str = "3";
/// Bytes are on their way: three seconds from the first that isn't acknowledged, and a moment.
const IN_FLIGHT_DEADLINE: Duration = Duration::from_secs(3).saturating_add(MOMENT);
/// Nothing is on its way: probes begin after three seconds of silence (a minute, where the timeout is longer), and the
/// next one, three seconds later (fifteen), finds that the timeout is over; and a moment.
const SILENT_DEADLINE: Duration = Duration::from_secs(2 * 3).saturating_add(MOMENT);
/// The limit on a dial, which is fixed, and a moment.
const DIAL_DEADLINE: Duration = Duration::from_secs(10).saturating_add(MOMENT);

fn sessions_of_a_lost_server_end(kind: Kind) {
    if !root_or_skip() {
        return;
    }
    let Some(other) = other_than(kind) else { return };
    let namespace = Namespace::new().unwrap();
    let options = Options::new().bind(IpAddr::V4(namespace.address())).through(namespace.exec());
    let Some(server) = required_with(kind, &options) else { return };
    let target = server.address().to_string();
    let args = ["--tcp-user-timeout", USER_TIMEOUT_S];
    let scene = Setting { args: &args, ..Setting::new(&target, other) }.start();
    let mut mid_result = RealClient::start(&server, scene.address(), Uncompressed, &endless_result());
    mid_result.await_rows(100);
    let [mut asking, mut idle] = [(); 2].map(|()| log_in(scene.address()));
    let mut idle_id = String::new();
    idle.query_rows("select connection_id()", |row| {
        idle_id = String::from_utf8_lossy(&row[1..]).into_owned()
    })
    .unwrap();
    let waiting = RealClient::start(&server, scene.address(), Uncompressed, "select sleep(1000)");
    wait_until_within("all sessions are there", IN_FLIGHT_DEADLINE, || {
        let sql = "select count(*) from information_schema.processlist where user = 'tester' and \
                   (command = 'Sleep' or info like 'select sleep%' or info like 'select hex%')";
        server.sql(sql).unwrap() == "4"
    });

    let others = scene.bystander.watch();
    namespace.black_hole().unwrap();
    let begun = Instant::now();
    let told = |what: &str, told: &str, deadline| {
        report(format!("black hole, {what} ({kind})"), told, begun.elapsed(), deadline, &others.told());
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let ended = mid_result.end(2 * SILENT_DEADLINE);
            assert!(!ended.succeeded && ended.rows < ROW_COUNT, "a result that looks complete: {ended:?}");
            assert!(ended.complaint.contains("Lost connection"), "{ended:?}");
            told("mid-result", &format!("client told \"{}\"", ended.complaint), SILENT_DEADLINE);
        });
        scope.spawn(move || {
            let ended = waiting.end(2 * SILENT_DEADLINE);
            assert!(!ended.succeeded && ended.complaint.contains("Lost connection"), "{ended:?}");
            told("statement runs", &format!("client told \"{}\"", ended.complaint), SILENT_DEADLINE);
        });
        scope.spawn(move || {
            let fault = asking.query("select 1").unwrap_err();
            told("statement sent", &format!("client told \"{fault}\""), IN_FLIGHT_DEADLINE);
        });
        // It is ended too, and not only when it asks again.
        scope.spawn(|| {
            let id = format!("connection_id={idle_id} ");
            wait_until_within("the idle session's end", 2 * SILENT_DEADLINE, || {
                let log = scene.proxy.log();
                log.lines().any(|line| line.contains("session ended: server leg") && line.contains(&id))
            });
            told("idle", "session ended", SILENT_DEADLINE);
        });
        let (server, target, address) = (&server, &target, scene.address());
        scope.spawn(move || {
            let ended = ask(server, address, 2 * DIAL_DEADLINE);
            assert!(!ended.succeeded && ended.complaint.contains("1429"), "{ended:?}");
            assert!(
                ended.complaint.contains(target) && ended.complaint.contains("no answer within 10 s"),
                "{ended:?}"
            );
            told("dial", &format!("new client told \"{}\"", ended.complaint), DIAL_DEADLINE);
        });
    });
    assert!(idle.query("select 1").is_err(), "an answer out of a black hole");
    scene.end();
}

#[test]
#[ignore = "fifteen seconds of waiting; make faults runs it"]
fn sessions_of_a_lost_mysql_end_within_the_user_timeout() {
    sessions_of_a_lost_server_end(Kind::MySql);
}

#[test]
#[ignore = "fifteen seconds of waiting; make faults runs it"]
fn sessions_of_a_lost_mariadb_end_within_the_user_timeout() {
    sessions_of_a_lost_server_end(Kind::MariaDb);
}

/// Clients whose host vanishes leave no session and no statement behind.
#[test]
#[ignore = "ten seconds of waiting; make faults runs it"]
fn sessions_of_lost_clients_end_within_the_user_timeout() {
    if !root_or_skip() {
        return;
    }
    let Some(other) = other_than(Kind::MySql) else { return };
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    let Some(programs) = required(Kind::MySql) else { return };
    let namespace = Namespace::new().unwrap();
    let (target, listen) = (server.address().to_string(), format!("{}:0", namespace.our_address()));
    let args = ["--tcp-user-timeout", USER_TIMEOUT_S];
    let scene = Setting { args: &args, listen: &listen, ..Setting::new(&target, other) }.start();
    let start = |sql: &str| {
        let inner = command(programs, scene.address(), Uncompressed);
        let [ip, words @ ..] = namespace.exec();
        let mut outer = Command::new(ip);
        outer.args(words).arg(inner.get_program()).args(inner.get_args());
        RealClient::start_by(outer, sql)
    };
    let mut mid_result = start(&endless_result());
    mid_result.await_rows(100);
    // The client is lost while the server works for it, and nothing is on its way to it.
    let _silent = start("select sleep(1000)");
    let running = |like: &str| {
        let sql = format!(
            "select count(*) from information_schema.processlist where user = 'tester' and info like '{like}'"
        );
        server.sql(&sql).unwrap()
    };
    wait_until_within("both statements run", IN_FLIGHT_DEADLINE, || running("select sleep%") == "1");

    let others = scene.bystander.watch();
    namespace.black_hole().unwrap();
    let took = wait_until_within("the result's statement ended", 2 * SILENT_DEADLINE, || {
        running("select hex%") == "0"
    });
    report(
        "black hole, client lost mid-result",
        "statement ended in the server",
        took,
        SILENT_DEADLINE,
        &others.told(),
    );
    let took = took
        + wait_until_within("the session ended", 2 * SILENT_DEADLINE, || {
            scene.proxy.log().matches("session ended: client leg, command phase").count() == 2
        });
    report(
        "black hole, client lost mid-query",
        "session ended at the proxy",
        took,
        SILENT_DEADLINE,
        &others.told(),
    );
    drop(mid_result);
    scene.end();
}
