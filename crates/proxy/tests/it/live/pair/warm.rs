//! Warm streams: a new session needs no handshake across the link; idle ones give their memory back.
//!
//! Not here: what becomes of them when the link is cut (`ends`).

use std::time::Duration;

use lab::real::{Kind, required};
use lab::wait::wait_until;
use proxy::{Config, Proxy};

use super::{Halves, pair_dialer, pair_listener};
use crate::live::client::{Client, Terms, remember_password};

#[test]
fn a_session_takes_a_warm_stream_and_another_is_made_ready() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = Halves::of(server);
    let dialer = one_warm(&halves);
    let connect = || Client::connect(dialer.address(), &Terms::default()).unwrap();
    let first = connect();
    // Its own, and one for the next.
    wait_until("two connections", || halves.tap.connections() == 2);
    wait_until("one of them is greeted", || halves.tap.lens()[1] > 0);
    let mut second = connect();
    assert_eq!(second.value("select 1"), "1");
    wait_until("a third connection", || halves.tap.connections() == 3);
    assert_eq!(halves.listener.counters().sessions(), 2, "a warm stream is no session");
    drop((first, second));
}

/// One worker and one warm connection at the dialing half.
fn one_warm(halves: &Halves) -> Proxy {
    let dialer = pair_dialer(halves.tap.address(), |config| config.pair.warm_connections = 1);
    Proxy::start(Config { workers: 1, ..dialer.into() }).unwrap()
}

#[test]
fn a_reload_of_the_listening_half_sends_new_sessions_to_its_new_server() {
    let (Some(mysql), Some(mariadb)) = (required(Kind::MySql), required(Kind::MariaDb)) else { return };
    remember_password(mysql);
    let mut halves = Halves::of(mysql);
    let dialer = one_warm(&halves);
    let connect = || Client::connect(dialer.address(), &Terms::default()).unwrap();
    let mut before = connect();
    wait_until("one is warm", || halves.tap.connections() == 2 && halves.tap.lens()[1] > 0);
    halves.listener.reload(pair_listener(mariadb.address().into(), |_| {}).into()).unwrap();
    // At once, and when the warm connection has ended.
    let mut versions = [connect(), connect()].map(|mut client| client.value("select version()"));
    assert!(versions.iter().all(|version| version.contains("MariaDB")), "{versions:?}");
    versions[0] = before.value("select version()");
    assert!(!versions[0].contains("MariaDB"), "a session keeps its server: {versions:?}");
}

#[test]
fn a_reload_of_the_dialing_half_ends_its_warm_connections() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let halves = Halves::of(server);
    let mut dialer = one_warm(&halves);
    let mut session = Client::connect(dialer.address(), &Terms::default()).unwrap();
    wait_until("one is warm", || halves.tap.connections() == 2);
    let without = pair_dialer(halves.tap.address(), |config| config.pair.warm_connections = 0);
    dialer.reload(Config { workers: 1, ..without.into() }).unwrap();
    wait_until("the session's is left", || halves.tap.open_connections() == 1);
    assert_eq!(session.value("select 1"), "1");
}

#[test]
fn an_idle_session_rests_and_goes_on_with_a_new_history() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let short = |config: &mut proxy::ListenerConfig| {
        config.pair.history_timeout = Duration::from_millis(300);
        config.pair.warm_connections = 0;
    };
    let halves = Halves::to(server.address().into(), short, short);
    let mut client = Client::connect(halves.dialer.address(), &Terms::default()).unwrap();
    let mut ask = || {
        let before = halves.tap.lens()[1];
        assert_eq!(client.query("select 'a row that is the same again and again' as name").len(), 4);
        halves.tap.lens()[1] - before
    };
    let (first, second) = (ask(), ask());
    assert!(second * 2 < first, "history: {first}, then {second} bytes");
    // Both directions say that they rest: a header each.
    let [to_listener, to_dialer] = halves.tap.lens();
    wait_until("both histories were given back", || halves.tap.lens() == [to_listener + 7, to_dialer + 7]);
    let third = ask();
    assert!(third > second * 2, "a new history begins: {second}, then {third} bytes");
    assert!(ask() * 2 < third);
}
