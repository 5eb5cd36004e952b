//! Which frames of a pair are packed by `--policy latency`, on a fast link and on a slow one.
//!
//! Not here: how good the choices are (`codec::pace`), bytes where everything is packed (`bytes`).

use lab::link::{Address, Link, RunningLink};
use lab::real::{Kind, RealServer, required};
use proxy::{ListenerConfig, Policy, Proxy};
use wire::response::ok;

use super::tap::Tap;
use super::{Halves, pair_dialer, pair_listener};
use crate::live::client::{Client, Terms, remember_password};
use crate::live::route::Route;

fn by_latency(config: &mut ListenerConfig) {
    config.policy = Policy::Latency;
    config.pair.warm_connections = 0;
}

fn on_loopback(server: &RealServer) -> Halves {
    Halves::to(server.address().into(), by_latency, by_latency)
}

/// The tap is before the link.
fn over(link: &str, server: &RealServer) -> (Halves, RunningLink) {
    let listener = Proxy::start(pair_listener(server.address().into(), by_latency)).unwrap();
    let link = Link::parse(link).unwrap().open(Address::Tcp(listener.address().to_string())).unwrap();
    let tap = Tap::before(&link.address().into());
    let dialer = Proxy::start(pair_dialer(tap.address(), by_latency)).unwrap();
    (Halves { dialer, listener, tap }, link)
}

/// What came by `sql`, and its bytes on the wire in terms of plain ones.
fn ask(halves: &Halves, client: &mut Client, sql: &str) -> (Vec<Vec<u8>>, f64) {
    let before = halves.tap.lens()[1];
    let payloads = client.query(sql);
    assert_ne!(payloads[0][0], 0xff, "{}", String::from_utf8_lossy(&payloads[0]));
    let plain_len: usize = payloads.iter().map(|payload| payload.len() + 4).sum();
    (payloads, (halves.tap.lens()[1] - before) as f64 / plain_len as f64)
}

fn connect(halves: &Halves) -> Client {
    ready(Client::connect(halves.dialer.address(), &Terms::default()).unwrap())
}

/// For tables of many rows.
fn ready(mut client: Client) -> Client {
    assert_eq!(client.query("set session cte_max_recursion_depth = 1000000")[0][0], ok::HEADER);
    client
}

fn direct(server: &RealServer, sql: &str) -> Vec<Vec<u8>> {
    ready(Route::direct(server).connect()).query(sql)
}

/// So many rows of digits that pack by half, and of text that packs better.
fn rows(count: u32) -> String {
    format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})
         select i, sha2(i, 256), 'the server sends and the link carries' from n"
    )
}

/// Many times what the controller needs.
const SCANS_MAX: usize = 60;
const HUNDREDS_MAX: usize = 100;

/// Why the listener's last frame to the dialer went as it did.
fn reason(halves: &Halves) -> &'static str {
    let connections = halves.listener.live().connections();
    connections[0].decisions[1].expect("the policy decides").reason
}

#[test]
fn a_scan_over_a_fast_link_goes_stored_and_says_why() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = on_loopback(server);
    let mut client = connect(&halves);
    let expected = direct(server, &rows(60_000));
    // Where the processors are busy with other tests the tap reads slowly, which is a slow link to a half, and a scan is packed.
    let mut shares = Vec::new();
    while shares.last().is_none_or(|share| *share < 0.9) {
        assert!(shares.len() < SCANS_MAX, "{shares:.2?}: {}", reason(&halves));
        let (payloads, share) = ask(&halves, &mut client, &rows(60_000));
        assert!(payloads == expected, "other payloads");
        shares.push(share);
    }
    assert!(!reason(&halves).is_empty());
}

#[test]
fn a_scan_over_a_slow_link_is_packed() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let (halves, link) = over("20mbit,2ms", server);
    let mut client = connect(&halves);
    let expected = direct(server, &rows(20_000));
    // What a scan finds out is known to the next. A link in user space is a reader with a small buffer, so both forms are tried,
    // and where the processors are busy with other tests, some frames go stored; over a fast link nearly all of them do.
    let mut shares = Vec::new();
    while shares.last().is_none_or(|share| *share > 0.75) {
        assert!(shares.len() < SCANS_MAX, "{shares:.2?}: {}", reason(&halves));
        let (payloads, share) = ask(&halves, &mut client, &rows(20_000));
        assert!(payloads == expected, "other payloads");
        shares.push(share);
    }
    drop(link);
}

#[test]
fn small_replies_over_a_slow_link_are_packed_with_their_history() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let (halves, link) = over("1mbit,1ms", server);
    let mut client = connect(&halves);
    let select = |turn: u32| format!("select {turn}, repeat(sha2({turn}, 256), 2) as two_digests");
    // Where the processors are busy with other tests a trial may find that packed replies are no sooner, and is made again later.
    let mut turns = 0..;
    let mut last = (1.0, "");
    for _ in 0..HUNDREDS_MAX {
        let shares: f64 =
            turns.by_ref().take(100).map(|turn| ask(&halves, &mut client, &select(turn)).1).sum();
        last = (shares / 100.0, reason(&halves));
        if last.0 < 0.6 && last.1 == "the next command comes sooner" {
            return drop(link);
        }
    }
    panic!("{last:?}");
}
