//! How sessions through a pair end: servers that refuse, a half that dies, a damaged stream, the drain; and whose they are.
//!
//! Not here: ends that have nothing to do with a pair (`flows::ends`).

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::generate::blob;
use lab::peer::Nobody;
use lab::real::{Kind, required};
use lab::wait::wait_until;
use proxy::{Config, Policy, Proxy};
use wire::command::{COM_QUERY, COM_STMT_SEND_LONG_DATA};
use wire::response::err;

use super::{Halves, pair_dialer};
use crate::live::client::{Client, Terms, remember_password};
use crate::live::proxy_protocol::{CLIENT_ATTRIBUTES, attributes_of};

fn connect(halves: &Halves) -> Client {
    Client::connect(halves.dialer.address(), &Terms::default()).unwrap()
}

#[test]
fn what_the_far_half_can_not_do_reaches_the_client_as_an_error_of_mysqls() {
    let held = Nobody::new().unwrap();
    let nobody = held.address().unwrap();
    let halves = Halves::to(nobody.into(), |_| {}, |_| {});
    let told = Client::connect(halves.dialer.address(), &Terms::default()).err().unwrap();
    assert_eq!(told.code, 1429, "{told}");
    assert!(told.to_string().contains(&nobody.to_string()), "it names the server, not the pair: {told}");
    let halves = Halves::to("no-such-host.invalid:3306".parse().unwrap(), |_| {}, |_| {});
    let told = Client::connect(halves.dialer.address(), &Terms::default()).err().unwrap();
    assert!(told.code == 1429 && told.to_string().contains("no-such-host.invalid"), "{told}");
}

#[test]
fn the_server_sees_the_clients_own_address() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = Halves::of(server);
    let mut client = connect(&halves);
    let own = client.address.unwrap();
    assert_eq!(client.value(CLIENT_ATTRIBUTES), attributes_of(own));
    assert_eq!(halves.listener.counters().sessions(), 1);
}

#[test]
fn a_change_of_user_passes_and_the_session_goes_on() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        remember_password(server);
        let halves = Halves::of(server);
        let mut client = connect(&halves);
        assert_eq!(client.value("select @a := 1"), "1");
        client.change_user(&[0]);
        assert_eq!(client.value("select @a is null"), "1", "{kind}");
    }
}

/// Begins a result of 320 MB that no codec packs, so that most of it is still at the server, and reads a part.
fn begin_large_result(halves: &Halves) -> Client {
    let mut client = connect(halves);
    let row = vec!["random_bytes(1024)"; 16].join(", ");
    let statement = format!(
        "select concat({row}) from information_schema.collations a, information_schema.collations b limit 20000"
    );
    client.send(&[&[COM_QUERY], statement.as_bytes()].concat());
    for _ in 0..10 {
        let payload = client.packet().unwrap();
        assert_ne!(payload[0], err::HEADER, "{}", String::from_utf8_lossy(&payload));
    }
    client
}

/// Nothing that comes may look like the result's end.
fn assert_broken_off(mut client: Client) {
    while let Some(payload) = client.packet() {
        assert!(payload.len() > 9 || payload[0] != 0xfe, "it looks complete");
    }
}

#[test]
fn a_half_that_dies_in_the_middle_of_a_result_never_makes_it_look_complete() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = Halves::of(server);
    let client = begin_large_result(&halves);
    let Halves { dialer, listener, tap } = halves;
    drop(listener);
    assert_broken_off(client);
    let counters = dialer.counters();
    wait_until("all sessions ended", || counters.sessions_open() == 0);
    assert!(!counters.faults().is_empty(), "it is told as a fault");
    drop(tap);
}

#[test]
fn a_cut_wire_ends_both_sessions_and_new_ones_are_served() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = Halves::of(server);
    let client = begin_large_result(&halves);
    halves.tap.cut();
    assert_broken_off(client);
    // The warm ones were cut as well, which no client notices.
    assert_eq!(connect(&halves).value("select 'again'"), "again");
    wait_until("one session is left", || halves.listener.counters().sessions_open() <= 1);
}

#[test]
fn a_client_that_goes_while_the_wire_stands_still_takes_no_worker_along() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = Halves::of(server);
    let cold = pair_dialer(halves.tap.address(), |config| {
        config.pair.warm_connections = 0;
        config.policy = Policy::Latency;
    });
    let dialer = Proxy::start(Config { workers: 1, ..cold.into() }).unwrap();
    let connect = || Client::connect(dialer.address(), &Terms::default()).unwrap();
    // A command without a reply, in a frame that no codec makes smaller and that goes with others' small sends.
    let command = [&[COM_STMT_SEND_LONG_DATA, 0, 0, 0, 0, 0, 0][..], &blob(1, 1, 3_000)].concat();
    // One of these is when the socket has just become full, and a frame that is being filled is not.
    for count in (30..200).step_by(8) {
        let mut client = connect();
        halves.tap.hold_dialers();
        for _ in 0..count {
            client.send(&command);
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(client);
        assert_eq!(connect().value("select 'served'"), "served", "behind {count} commands");
    }
}

#[test]
fn a_damaged_stream_ends_its_session_by_name() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    // The damage shall not be a warm stream's.
    let halves = Halves::to(server.address().into(), |config| config.pair.warm_connections = 0, |_| {});
    let mut client = connect(&halves);
    assert_eq!(client.value("select 1"), "1");
    halves.tap.flip_a_bit();
    client.send(&[&[COM_QUERY], &b"select repeat('wire', 10)"[..]].concat());
    assert_broken_off(client);
    let counters = halves.dialer.counters();
    wait_until("all sessions ended", || counters.sessions_open() == 0);
    let named = ["pair_checksum", "pair_frame", "body_corrupt"];
    let faults: u64 = named.iter().map(|cause| counters.faults_of(wire::Side::Server, cause)).sum();
    assert_eq!(faults, 1, "{:?}", counters.faults());
}

#[test]
fn a_drain_of_either_half_lets_work_end_and_warm_streams_go() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    for drains_listener in [false, true] {
        let halves = Halves::of(server);
        let mut idle = connect(&halves);
        assert_eq!(idle.value("select 1"), "1");
        let Halves { dialer, listener, tap } = halves;
        let drained = if drains_listener { &listener } else { &dialer }.address().clone();
        let (drained_half, other_half) =
            if drains_listener { (listener, dialer) } else { (dialer, listener) };
        let broken_off = drained_half.drain(Duration::from_secs(20), &AtomicBool::new(false));
        assert_eq!(broken_off, 0, "{drained}: an idle session and warm streams hold nothing up");
        drop((other_half, tap));
    }
}
