//! `--tls off`, `preferred` and `required`, certificates asked of clients, and files that change.
//!
//! Not here: legs that work (`legs`).

use std::fs;

use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use lab::wait::wait_until;
use proxy::{ListenerConfig, ListenerTls, Proxy, SslMode, TlsMode};
use wire::Side;

use super::super::front::{Client, Front, Transport};
use super::super::log_lines;
use super::certificates::{Authority, Pair};
use super::mariadb_10_11;

const TCP: (Transport, Transport) = (Transport::Tcp, Transport::Socket);
const SOCKET: (Transport, Transport) = (Transport::Socket, Transport::Socket);

fn listening<'s>(
    server: &'s RealServer,
    transports: (Transport, Transport),
    tls: Option<ListenerTls>,
) -> Front<'s> {
    Front::with(server, transports, |config| config.tls = tls)
}

/// The TLS version of the client leg, as the client tells it: `mysql` prints what `\s` knows.
fn status(front: &Front<'_>, option: &str) -> Result<String, String> {
    let client = front.client_program("mysql", USER, PASSWORD).option(option).option("--commands");
    let printed = client.run("\\s")?;
    Ok(printed
        .lines()
        .find(|line| line.starts_with("SSL:"))
        .unwrap()
        .trim_start_matches("SSL:")
        .trim()
        .to_owned())
}

#[test]
fn off_takes_tls_from_the_greeting() {
    let Some(server) = required(Kind::MySql) else { return };
    let Some(mariadb) = mariadb_10_11() else { return };
    let pair = Pair::of_mysql(server);
    for tls in [None, pair.listener(TlsMode::Off)] {
        let front = listening(server, TCP, tls.clone());
        assert_eq!(status(&front, "--ssl-mode=PREFERRED").unwrap(), "Not in use");
        let message = status(&front, "--ssl-mode=REQUIRED").unwrap_err();
        assert!(
            message.contains("ERROR 2026 (HY000): SSL connection error: SSL is required but"),
            "{message}"
        );
        let front = listening(mariadb, TCP, tls);
        let message =
            front.client(USER, PASSWORD).option("--ssl-verify-server-cert").run("do 1").unwrap_err();
        assert!(message.contains("ERROR 2026 (HY000)"), "{message}");
    }
}

#[test]
fn preferred_lets_the_client_choose() {
    let Some(server) = required(Kind::MySql) else { return };
    let front = listening(server, TCP, Pair::of_mysql(server).listener(TlsMode::Preferred));
    assert_eq!(status(&front, "--ssl-mode=DISABLED").unwrap(), "Not in use");
    for mode in ["PREFERRED", "REQUIRED"] {
        let cipher = status(&front, &format!("--ssl-mode={mode}")).unwrap();
        assert!(cipher.starts_with("Cipher in use is TLS_"), "{cipher}");
    }
}

#[test]
fn required_refuses_tcp_without_tls_as_mysql_does_and_lets_sockets_pass() {
    let Some(server) = required(Kind::MySql) else { return };
    let Some(mariadb) = mariadb_10_11() else { return };
    let tls = Pair::of_mysql(server).listener(TlsMode::Required);
    let front = listening(server, TCP, tls.clone());
    let message = status(&front, "--ssl-mode=DISABLED").unwrap_err();
    assert!(
        message.contains("ERROR 3159 (HY000): wirepress: connections without TLS are prohibited"),
        "{message}"
    );
    assert!(message.contains("connect with --ssl-mode=REQUIRED or --ssl"), "{message}");
    assert_eq!(front.faults_of(Side::Client, "tls_required"), 1);
    assert!(status(&front, "--ssl-mode=PREFERRED").unwrap().starts_with("Cipher in use"));

    let front = listening(mariadb, TCP, tls.clone());
    let message = front.client(USER, PASSWORD).option("--skip-ssl").run("do 1").unwrap_err();
    assert!(message.contains("ERROR 3159 (HY000): wirepress"), "{message}");

    let front = listening(server, SOCKET, tls);
    assert_eq!(status(&front, "--ssl-mode=DISABLED").unwrap(), "Not in use");
    assert!(status(&front, "--ssl-mode=REQUIRED").unwrap().starts_with("Cipher in use"));
}

#[test]
fn a_listeners_certificate_of_version_1_is_refused_at_the_start() {
    let authority = Authority::new();
    let pair = authority.sign_version_1("proxy");
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), "127.0.0.1:3306".parse().unwrap());
    config.tls = pair.listener(TlsMode::Preferred);
    let told = Proxy::start(config).map(drop).unwrap_err().to_string();
    assert!(told.contains("it is of X.509 version 1"), "{told}");
}

#[test]
fn a_client_without_the_certificate_asked_for_is_refused_in_the_handshake() {
    let Some(server) = required(Kind::MySql) else { return };
    let authority = Authority::new();
    let others = Authority::new();
    let tls = authority.sign("proxy", &["localhost"]).listener(TlsMode::Required).unwrap();
    let front = listening(server, TCP, Some(ListenerTls { client_ca: Some(authority.ca()), ..tls }));
    let login = |pair: Option<&Pair>, version: &str| {
        let client = front.client_program("mysql", USER, PASSWORD).option("--ssl-mode=REQUIRED");
        let client = client.option(&format!("--tls-version={version}"));
        with_certificate(client, pair).run("select 'in'")
    };
    let mut refused = 0;
    for version in ["TLSv1.2", "TLSv1.3"] {
        for pair in [None, Some(&others.sign("stranger", &[]))] {
            let message = login(pair, version).unwrap_err();
            assert!(
                message.contains("ERROR 2026 (HY000)") || message.contains("ERROR 2013 (HY000)"),
                "{message}"
            );
            refused += 1;
        }
        let known = authority.sign("known", &[]);
        assert_eq!(login(Some(&known), version), Ok("in".to_owned()), "{version}");
    }
    assert_eq!(front.faults_of(Side::Client, "tls"), refused);
}

pub(super) fn with_certificate(client: Client, pair: Option<&Pair>) -> Client {
    match pair {
        Some(pair) => client
            .option(&format!("--ssl-cert={}", pair.cert.display()))
            .option(&format!("--ssl-key={}", pair.key.display())),
        None => client,
    }
}

/// A client that takes a certificate of this authority only.
fn trusts(proxy: &Proxy, server: &RealServer, authority: &Authority) -> Result<String, String> {
    let client =
        Client::new(server, "mysql", proxy.address(), USER, PASSWORD).option("--ssl-mode=VERIFY_IDENTITY");
    client.option(&format!("--ssl-ca={}", authority.ca().display())).run("select 'trusted'")
}

#[test]
fn a_replaced_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    let (first, second) = (Authority::new(), Authority::new());
    let pair = first.sign("proxy", &["127.0.0.1"]);
    let front = Front::with(server, TCP, |config| {
        config.tls = pair.listener(TlsMode::Required);
        config.server_tls.mode = Some(SslMode::Disabled);
    });
    assert_eq!(trusts(&front.proxy, server, &first), Ok("trusted".to_owned()));
    let message = trusts(&front.proxy, server, &second).unwrap_err();
    assert!(message.contains("ERROR 2026 (HY000)"), "{message}");

    let renewed = second.sign("proxy", &["127.0.0.1"]);
    fs::rename(&renewed.key, &pair.key).unwrap();
    fs::rename(&renewed.cert, &pair.cert).unwrap();
    wait_until("the new certificate", || trusts(&front.proxy, server, &second).is_ok());
    assert!(trusts(&front.proxy, server, &first).is_err());

    fs::write(&pair.cert, "-----BEGIN CERTIFICATE-----\nhalf").unwrap();
    let path = pair.cert.display().to_string();
    wait_until("a warning", || {
        assert_eq!(trusts(&front.proxy, server, &second), Ok("trusted".to_owned()));
        log_lines::lines().iter().any(|line| line.contains("TLS files changed") && line.contains(&path))
    });
    assert_eq!(trusts(&front.proxy, server, &second), Ok("trusted".to_owned()));
}
