//! A server that stops without dying (SIGSTOP; a frozen container, a host that swaps): its kernel still accepts
//! connections and acknowledges bytes, so only what is due within a limit can be told from a long statement.
//!
//! Not here: a server whose kernel is silent too (`black_hole`).

use std::time::Duration;

use bench::client::ClientFault;
use codec::Algorithm::{Uncompressed, Zlib};
use lab::real::{Kind, Options, required_with};
use lab::wait::wait_until_within;
use rustix::process::{Pid, Signal, kill_process};

use super::bystander::log_in;
use super::readings::is_stopped;
use super::real_client::{ROW_COUNT, RealClient, ask, endless_result};
use super::{MOMENT, Setting, other_than, report};

/// The greeting is due within this.
const LOGIN_TIMEOUT_S: &str = "2";
/// `--login-timeout`, and a moment.
const DEADLINE: Duration = Duration::from_secs(2).saturating_add(MOMENT);
/// For all rows to come when the server goes on: seconds on an idle machine.
const REST_LIMIT: Duration = Duration::from_secs(60);

fn sessions_wait_and_new_clients_are_told(kind: Kind) {
    let Some(server) = required_with(kind, &Options::new()) else { return };
    let Some(other) = other_than(kind) else { return };
    let target = server.address().to_string();
    let args = ["--login-timeout", LOGIN_TIMEOUT_S, "--idle-timeout", "600"];
    let scene = Setting { args: &args, ..Setting::new(&target, other) }.start();
    let start = |algorithm, sql: &str| RealClient::start(&server, scene.address(), algorithm, sql);
    let mut mid_result = [Uncompressed, Zlib].map(|algorithm| start(algorithm, &endless_result()));
    mid_result.iter_mut().for_each(|client| client.await_rows(100));
    let mut idle = log_in(scene.address());
    let pid = Pid::from_raw(server.pid().try_into().unwrap()).unwrap();

    let others = scene.bystander.watch();
    kill_process(pid, Signal::STOP).unwrap();
    // Each thread stops by itself, when it next meets the kernel.
    wait_until_within("all threads stopped", DEADLINE, || is_stopped(pid));
    // Sent to a server that does not run: a silence that is legal, however long.
    let waiting = std::thread::spawn(move || -> Result<u64, ClientFault> {
        let answer = idle.query("select 1")?;
        Ok(answer.rows)
    });
    let ended = ask(&server, scene.address(), 2 * DEADLINE);
    assert!(!ended.succeeded && ended.complaint.contains("1429"), "{ended:?}");
    assert!(ended.complaint.contains("nothing came for 2 s"), "{ended:?}");
    assert!(!waiting.is_finished(), "{:?}, {}", waiting.join(), scene.proxy.log());
    assert!(mid_result.iter_mut().all(RealClient::runs), "a result was ended: {}", scene.proxy.log());
    kill_process(pid, Signal::CONT).unwrap();
    let told = format!("new client told \"{}\"", ended.complaint);
    report(format!("server stopped ({kind})"), &told, ended.took, DEADLINE, &others.told());

    let others = scene.bystander.watch();
    let mut took = Duration::ZERO;
    for client in mid_result {
        let ended = client.end(REST_LIMIT);
        assert!(ended.succeeded && ended.rows == ROW_COUNT, "{ended:?}");
        took += ended.took;
    }
    assert_eq!(waiting.join().unwrap().unwrap(), 1);
    let fault = format!("server goes on ({kind})");
    report(fault, "sessions that had waited got their whole results", took, 2 * REST_LIMIT, &others.told());
    assert!(ask(&server, scene.address(), DEADLINE).succeeded);
    scene.end();
}

#[test]
fn sessions_wait_for_a_stopped_mysql_and_new_clients_are_told() {
    sessions_wait_and_new_clients_are_told(Kind::MySql);
}

#[test]
fn sessions_wait_for_a_stopped_mariadb_and_new_clients_are_told() {
    sessions_wait_and_new_clients_are_told(Kind::MariaDb);
}
