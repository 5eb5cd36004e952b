//! A password in clear never crosses a plain leg, and no log line holds one.
//!
//! ```text
//! client ── recorder ── proxy ── recorder ── server
//! ```
//! Not here: that these logins work on every pair of legs (`legs`).

use std::thread;

use codec::Algorithm::Uncompressed;
use lab::peer::{Listener, packets};
use lab::real::{Kind, RealServer, required};
use proxy::{Address, SslMode, TlsMode};

use super::super::authentication::{Connection, new_account};
use super::super::front::{Client, Front, Transport};
use super::super::log_lines;
use super::certificates::Pair;
use super::recorder::Recorder;
use super::{Leg, WHO, client, front, is};
use crate::scripted::greeting;

const PASSWORD: &str = "the-word-that-nobody-may-see";

/// `mysql` with a client leg over TCP, through a recorder.
fn recorded_client(front: &Front<'_>, recorder: &Recorder, leg: Leg, user: &str) -> Client {
    let client = Client::new(front.server, "mysql", &recorder.address(), user, PASSWORD);
    client.option(if leg.is_tls() { "--ssl-mode=REQUIRED" } else { "--ssl-mode=DISABLED" })
}

fn tcp(server: &RealServer) -> Address {
    server.address().into()
}

fn assert_kept_secret(recorder: &Recorder, context: &str) {
    let (len, has_password) = recorder.carried(PASSWORD.as_bytes());
    assert!(len > 500, "{context}: only {len} bytes were carried");
    assert!(!has_password, "{context}: the password was on the wire");
}

fn assert_not_in_the_log() {
    let found = log_lines::lines().into_iter().find(|line| line.contains(PASSWORD));
    assert_eq!(found, None);
}

/// What the others rely on.
#[test]
fn the_recorder_sees_a_password_that_crosses_in_clear() {
    let Some(server) = required(Kind::MySql) else { return };
    let recorder = Recorder::before(&tcp(server));
    let account = new_account(server, &format!("identified by '{PASSWORD}'"));
    let client = Client::new(server, "mysql", &recorder.address(), &account, PASSWORD)
        .option("--ssl-mode=DISABLED")
        .option("--enable-cleartext-plugin")
        .option("--default-auth=mysql_clear_password");
    assert_eq!(client.run("select current_user()"), Ok(format!("{account}@%")));
    assert!(recorder.carried(PASSWORD.as_bytes()).1);
}

#[test]
fn a_translated_password_is_seen_on_no_plain_leg_at_login() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    let pair = Pair::of_mysql(server);
    for legs in [[Leg::Plain, Leg::Plain], [Leg::Plain, Leg::Tls], [Leg::Tls, Leg::Plain]] {
        let to_server = Recorder::before(&tcp(server));
        let front = front(server, legs, &pair, |config| config.servers = vec![to_server.address()]);
        let to_proxy = Recorder::before(front.proxy.address());
        for (plugin, begins_with) in [
            ("caching_sha2_password", "caching_sha2_password"),
            ("caching_sha2_password", "sha256_password"),
            ("sha256_password", "caching_sha2_password"),
            ("sha256_password", "sha256_password"),
        ] {
            let context = format!("{legs:?}, {begins_with} for {plugin}");
            let account = new_account(server, &format!("identified with {plugin} by '{PASSWORD}'"));
            let client = recorded_client(&front, &to_proxy, legs[0], &account);
            let who = client.option(&format!("--default-auth={begins_with}")).run(WHO);
            assert_eq!(who, is(&account, legs[1]), "{context}");
            assert_kept_secret(&to_proxy, &context);
            assert_kept_secret(&to_server, &context);
        }
    }
    assert_not_in_the_log();
}

#[test]
fn a_translated_password_is_seen_on_no_plain_leg_in_a_change_of_user() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    let pair = Pair::of_mysql(server);
    let caching = || new_account(server, &format!("identified by '{PASSWORD}'"));
    let sha256 = new_account(server, &format!("identified with sha256_password by '{PASSWORD}'"));
    for legs in [[Leg::Plain, Leg::Tls], [Leg::Tls, Leg::Plain]] {
        let to_server = Recorder::before(&tcp(server));
        // Compression would hide the word.
        let front = front(server, legs, &pair, |config| {
            config.servers = vec![to_server.address()];
            config.server_algorithms = vec![Uncompressed];
        });
        let to_proxy = Recorder::before(front.proxy.address());
        let open = if legs[0].is_tls() { Connection::open_tls } else { Connection::open };
        let mut session = open(&to_proxy.address(), Uncompressed, &caching(), PASSWORD).unwrap();
        for plugin in ["caching_sha2_password", "sha256_password"] {
            session.change_user(plugin, &caching(), PASSWORD).unwrap();
            session.change_user(plugin, &sha256, PASSWORD).unwrap();
        }
        assert_kept_secret(&to_proxy, &format!("{legs:?}"));
        assert_kept_secret(&to_server, &format!("{legs:?}"));
    }
    assert_not_in_the_log();
}

#[test]
fn mysql_clear_password_is_refused_where_a_leg_is_plain() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    let pair = Pair::of_mysql(server);
    let account = new_account(server, &format!("identified by '{PASSWORD}'"));
    let cleartext = |client: Client| {
        client.option("--enable-cleartext-plugin").option("--default-auth=mysql_clear_password").run(WHO)
    };
    for (legs, says) in [
        ([Leg::Tls, Leg::Plain], "--ssl-mode required of the proxy makes it so"),
        ([Leg::Plain, Leg::Tls], "connect with --ssl-mode=REQUIRED or --ssl"),
    ] {
        let to_server = Recorder::before(&tcp(server));
        let front = front(server, legs, &pair, |config| config.servers = vec![to_server.address()]);
        let message = cleartext(client(&front, "mysql", legs[0], &account, PASSWORD)).unwrap_err();
        assert!(message.contains("ERROR 1043 (08S01)"), "{legs:?}: {message}");
        assert!(message.contains(says), "{legs:?}: {message}");
        assert!(!to_server.carried(PASSWORD.as_bytes()).1, "{legs:?}");
        assert_eq!(front.faults_of(wire::Side::Client, "clear_password_refused"), 1);
    }
    // The server switches to the account's own method.
    for legs in [[Leg::Tls, Leg::Tls], [Leg::Tls, Leg::Socket], [Leg::Socket, Leg::Tls]] {
        let front = front(server, legs, &pair, |_| {});
        let who = cleartext(client(&front, "mysql", legs[0], &account, PASSWORD));
        assert_eq!(who, is(&account, legs[1]), "{legs:?}");
    }
    assert_not_in_the_log();
}

/// The client would answer with its password at once.
#[test]
fn a_plain_servers_switch_to_mysql_clear_password_does_not_reach_the_client() {
    let Some(real) = required(Kind::MySql) else { return };
    log_lines::keep();
    let listener = Listener::tcp().unwrap();
    let to_server = Recorder::before(&listener.address().unwrap().parse().unwrap());
    let pair = Pair::of_mysql(real);
    let front = Front::with(real, (Transport::Tcp, Transport::Tcp), |config| {
        config.servers = vec![to_server.address()];
        config.tls = pair.listener(TlsMode::Required);
        config.server_tls.mode = Some(SslMode::Preferred);
    });
    let server = thread::spawn(move || {
        let mut server = listener.accept().unwrap();
        server.send(&packets(0, [greeting().build().as_slice()])).unwrap();
        server.receive().unwrap();
        server.send(&packets(2, [b"\xfemysql_clear_password\0".as_slice()])).unwrap();
        // Whatever the proxy ends it with.
        server.receive().map(|packet| packet.payload)
    });
    let client = client(&front, "mysql", Leg::Tls, "somebody", PASSWORD).option("--enable-cleartext-plugin");
    let message = client.run(WHO).unwrap_err();
    assert!(message.contains("--ssl-mode required of the proxy makes it so"), "{message}");
    drop(server.join().unwrap());
    assert!(!to_server.carried(PASSWORD.as_bytes()).1);
    assert_not_in_the_log();
}
