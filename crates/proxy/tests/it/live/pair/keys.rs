//! Who may be the other half: shared keys, certificates, and what goes without.
//!
//! Not here: a certificate's own checks (`live::tls`).

use std::path::PathBuf;

use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required, required_with};
use lab::wait::wait_until;
use proxy::{ListenerConfig, ListenerTls, Proxy, SslMode, TlsMode};
use tempfile::TempDir;

use super::{Halves, pair_dialer, pair_listener};
use crate::live::client::{Client, Terms, remember_password};
use crate::live::front;
use crate::live::tls::certificates::Authority;

fn key_file(folder: &TempDir, name: &str, key: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, key).unwrap();
    path
}

fn with_key(path: &std::path::Path) -> impl FnOnce(&mut ListenerConfig) {
    let path = path.to_owned();
    move |config| config.pair.key = Some(path)
}

/// What a client gets, or the error that it is told.
fn answer(halves: &Halves) -> Result<String, String> {
    Client::connect(halves.dialer.address(), &Terms::default())
        .map(|mut client| client.value("select 'through'"))
        .map_err(|error| error.to_string())
}

fn refused(server: &RealServer, halves: &Halves, reason: &str, cause: &str) {
    let told = answer(halves).unwrap_err();
    assert!(told.contains("1429") && told.contains(reason), "{told}");
    let counters = halves.dialer.counters();
    wait_until("all sessions ended", || counters.sessions_open() == 0);
    assert!(counters.faults_of(wire::Side::Server, cause) >= 1, "{:?}", counters.faults());
    assert!(server.sql("do 1").is_ok());
}

#[test]
fn two_halves_with_the_same_key_talk_tls_1_3() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        // Its own: it forgets what others' logins rely on.
        let Some(server) = required_with(kind, &Options::new()) else { return };
        let server = &server;
        remember_password(server);
        let folder = tempfile::tempdir().unwrap();
        let key = key_file(&folder, "key", &format!("{}\n", "0123456789abcdef".repeat(4)));
        let halves = Halves::to(server.address().into(), with_key(&key), with_key(&key));
        assert_eq!(answer(&halves).unwrap(), "through", "{kind}");
        // A client in clear, a stream in TLS, a server in clear: the password's RSA is translated twice.
        if kind == Kind::MySql {
            server.sql("flush privileges").unwrap();
        }
        let client =
            front::Client::new(server, kind.client_program(), halves.dialer.address(), USER, PASSWORD);
        assert_eq!(client.run("select 'by the real client'").unwrap(), "by the real client");
    }
}

#[test]
fn another_key_or_none_at_one_end_is_refused_and_both_ends_say_so() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let folder = tempfile::tempdir().unwrap();
    let ours = key_file(&folder, "ours", &"a".repeat(40));
    let theirs = key_file(&folder, "theirs", &"b".repeat(40));
    let to = || server.address().into();
    let halves = Halves::to(to(), with_key(&ours), with_key(&theirs));
    refused(server, &halves, "the --pair-key of the two ends differs", "pair_refused");
    wait_until("the fault is counted", || {
        halves.listener.counters().faults_of(wire::Side::Client, "pair_key") >= 1
    });
    // No key at the dialer: it comes in clear.
    let halves = Halves::to(to(), |_| {}, with_key(&ours));
    refused(server, &halves, "wants TLS: give the same --pair-key", "pair_refused");
    // No key at the listener.
    let halves = Halves::to(to(), with_key(&ours), |_| {});
    refused(server, &halves, "has neither --pair-key nor --tls-cert", "pair_refused");
    // TLS by both, but a key at one end only.
    let halves = Halves::to(to(), |config| config.server_tls.mode = Some(SslMode::Required), with_key(&ours));
    refused(server, &halves, "this pair listener wants --pair-key", "pair_refused");
}

#[test]
fn certificates_of_a_common_authority_do_instead_of_a_key() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let (authority, stranger) = (Authority::new(), Authority::new());
    let of_listener = authority.sign("listener", &["localhost"]);
    let (of_dialer, of_stranger) = (authority.sign("dialer", &[]), stranger.sign("stranger", &[]));
    let listener = |config: &mut ListenerConfig| {
        config.tls = Some(ListenerTls {
            mode: TlsMode::Required,
            cert: of_listener.cert.clone(),
            key: of_listener.key.clone(),
            client_ca: Some(authority.ca()),
        });
    };
    let dialer = |certificate: &crate::live::tls::certificates::Pair, ca: PathBuf| {
        let (cert, key) = (certificate.cert.clone(), certificate.key.clone());
        move |config: &mut ListenerConfig| {
            config.server_tls.ca = Some(ca);
            config.server_tls.cert = Some(cert);
            config.server_tls.key = Some(key);
        }
    };
    let to = || server.address().into();
    let halves = Halves::to(to(), dialer(&of_dialer, authority.ca()), listener);
    assert_eq!(answer(&halves).unwrap(), "through");
    let halves = Halves::to(to(), dialer(&of_stranger, authority.ca()), listener);
    refused(server, &halves, "TLS", "tls");
    let halves = Halves::to(to(), dialer(&of_dialer, stranger.ca()), listener);
    refused(server, &halves, "TLS", "tls");
}

#[test]
fn a_pair_that_could_be_reached_by_anybody_does_not_start() {
    let server: proxy::Address = "127.0.0.1:3306".parse().unwrap();
    let error = |config: ListenerConfig| Proxy::start(config).err().expect("it started").to_string();
    let told = error(pair_listener(server, |config| config.listen = "0.0.0.0:0".parse().unwrap()));
    assert!(told.contains("can be reached from other hosts: give --pair-key"), "{told}");
    let told = error(pair_dialer("192.0.2.1:3308".parse().unwrap(), |_| {}));
    assert!(told.contains("the pair at 192.0.2.1:3308 is on another host: give --pair-key"), "{told}");
    // Encrypted for whom?
    let told = error(pair_dialer("192.0.2.1:3308".parse().unwrap(), |config| {
        config.server_tls.mode = Some(SslMode::Required);
    }));
    assert!(told.contains("give --pair-key"), "{told}");
    let folder = tempfile::tempdir().unwrap();
    let short = key_file(&folder, "short", "secret");
    let told = error(pair_dialer("192.0.2.1:3308".parse().unwrap(), with_key(&short)));
    assert!(told.contains("openssl rand") && !told.contains("secret"), "{told}");
}
