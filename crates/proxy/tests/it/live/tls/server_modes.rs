//! `--ssl-mode` and its like: what the proxy asks of a server, and what servers ask of it.
//!
//! Not here: certificates of MariaDB's zero configuration (`zero_configuration`).

use std::path::PathBuf;

use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required, required_with};
use proxy::{Fingerprint, ServerTls, SslMode};
use wire::Side;

use super::super::authentication::new_account;
use super::super::front::{Front, Transport};
use super::certificates::{Authority, Pair, mysqls_ca};
use super::{Leg, WHO, is};

const TCP: (Transport, Transport) = (Transport::Tcp, Transport::Tcp);
const TO_SOCKET: (Transport, Transport) = (Transport::Tcp, Transport::Socket);
const VERSION: &str = "show session status like 'Ssl_version'";
const TLS: &str = "Ssl_version\tTLSv1.3";

/// What the server says of its leg, or the error that the client gets.
fn version(
    server: &RealServer,
    transports: (Transport, Transport),
    tls: ServerTls,
) -> Result<String, String> {
    let front = Front::with(server, transports, |config| config.server_tls = tls);
    let client = front.client_program("mysql", USER, PASSWORD).option("--ssl-mode=DISABLED");
    client.run(VERSION)
}

fn tls(mode: SslMode, ca: Option<PathBuf>) -> ServerTls {
    ServerTls { mode: Some(mode), ca, ..ServerTls::default() }
}

fn assert_refused(result: Result<String, String>, reason: &str) {
    let message = result.unwrap_err();
    assert!(message.contains("ERROR 1429 (HY000): wirepress can't use the MySQL server at"), "{message}");
    assert!(message.contains(reason), "{reason}: {message}");
}

#[test]
fn mysqls_own_certificate_passes_all_but_the_check_of_its_name() {
    let Some(server) = required(Kind::MySql) else { return };
    let ca = Some(mysqls_ca(server));
    assert_eq!(version(server, TCP, tls(SslMode::Disabled, None)).unwrap(), "Ssl_version");
    for mode in [SslMode::Preferred, SslMode::Required] {
        assert_eq!(version(server, TCP, tls(mode, None)).unwrap(), TLS, "{mode:?}");
    }
    assert_eq!(version(server, TCP, tls(SslMode::VerifyCa, ca.clone())).unwrap(), TLS);
    // It has no alternative names.
    assert_refused(version(server, TCP, tls(SslMode::VerifyIdentity, ca)), "not valid for name");
    let other = Authority::new();
    let other = || Some(other.ca());
    for mode in [SslMode::VerifyCa, SslMode::VerifyIdentity] {
        assert_refused(version(server, TCP, tls(mode, other())), "TLS: invalid peer certificate");
    }
    // Without a mode the file means verify_ca.
    let implied = ServerTls { ca: other(), ..ServerTls::default() };
    assert_refused(version(server, TCP, implied), "TLS: invalid peer certificate");
}

#[test]
fn a_socket_has_tls_only_if_asked_for() {
    let Some(server) = required(Kind::MySql) else { return };
    for mode in [SslMode::Disabled, SslMode::Preferred] {
        assert_eq!(version(server, TO_SOCKET, tls(mode, None)).unwrap(), "Ssl_version", "{mode:?}");
    }
    assert_eq!(version(server, TO_SOCKET, tls(SslMode::Required, None)).unwrap(), TLS);
    let ca = Some(mysqls_ca(server));
    assert_eq!(version(server, TO_SOCKET, tls(SslMode::VerifyCa, ca)).unwrap(), TLS);
}

/// The server's own certificate is replaced while it runs.
#[test]
fn a_servers_name_is_checked_if_asked_for() {
    let authority = Authority::new();
    let pair = authority.sign("server", &["localhost", "127.0.0.1"]);
    let options = Options::new()
        .argument(format!("--ssl-cert={}", pair.cert.display()))
        .argument(format!("--ssl-key={}", pair.key.display()));
    let Some(server) = required_with(Kind::MariaDb, &options) else { return };
    let ca = || Some(authority.ca());
    for mode in [SslMode::Required, SslMode::VerifyCa, SslMode::VerifyIdentity] {
        assert_eq!(version(&server, TCP, tls(mode, ca())).unwrap(), TLS, "{mode:?}");
    }
    // Behind a socket is localhost.
    assert_eq!(version(&server, TO_SOCKET, tls(SslMode::VerifyIdentity, ca())).unwrap(), TLS);
    let mut front = Front::with(&server, TCP, |config| {
        config.server_tls = tls(SslMode::VerifyIdentity, ca());
        let port = server.address().port();
        config.servers = vec![format!("localhost:{port}").parse().unwrap()];
    });
    let login = |front: &Front<'_>| front.client(USER, PASSWORD).option("--skip-ssl").run(VERSION);
    assert_eq!(login(&front).unwrap(), TLS);

    authority.sign("server", &["db.example.com"]);
    server.sql("flush ssl").unwrap();
    assert_refused(login(&front), "not valid for name \"localhost\"");
    assert_eq!(version(&server, TCP, tls(SslMode::VerifyCa, ca())).unwrap(), TLS);
    assert_refused(version(&server, TCP, tls(SslMode::VerifyIdentity, ca())), "not valid for name");
    assert_eq!(front.faults_of(Side::Server, "tls"), 1);

    // Another authority's, and its certificate replaces the file that the proxy trusts.
    let other = Authority::new();
    let replaced = other.sign("server", &["localhost", "127.0.0.1"]);
    std::fs::copy(&replaced.cert, &pair.cert).unwrap();
    std::fs::copy(&replaced.key, &pair.key).unwrap();
    server.sql("flush ssl").unwrap();
    front = Front::with(&server, TCP, |config| config.server_tls = tls(SslMode::VerifyIdentity, ca()));
    assert_refused(login(&front), "TLS: invalid peer certificate");
    std::fs::copy(other.ca(), authority.ca()).unwrap();
    let begun = std::time::Instant::now();
    // It is looked at once a second.
    while login(&front).is_err() {
        assert!(begun.elapsed().as_secs() < 20, "the new authority is not believed");
    }
}

#[test]
fn a_pinned_fingerprint_is_the_only_certificate_that_passes() {
    let Some(server) = required(Kind::MySql) else { return };
    let right = Pair::of_mysql(server).fingerprint();
    let wrong: Fingerprint = "00".repeat(32).parse().unwrap();
    let pinned = |fingerprint, ca| ServerTls { fingerprint: Some(fingerprint), ca, ..ServerTls::default() };
    assert_eq!(version(server, TCP, pinned(right, None)).unwrap(), TLS);
    assert_refused(
        version(server, TCP, pinned(wrong, None)),
        "TLS: the certificate's fingerprint is not the one of --ssl-fp",
    );
    assert_eq!(version(server, TCP, pinned(right, Some(mysqls_ca(server)))).unwrap(), TLS);
    assert_refused(
        version(server, TCP, pinned(wrong, Some(mysqls_ca(server)))),
        "TLS: the certificate's fingerprint is not the one of --ssl-fp",
    );
}

/// As MySQL's manual makes them with openssl.
#[test]
fn a_servers_certificate_of_version_1_passes_where_its_signer_is_not_asked_for() {
    let authority = Authority::new();
    let pair = authority.sign_version_1("server");
    let options = Options::new()
        .argument(format!("--ssl-cert={}", pair.cert.display()))
        .argument(format!("--ssl-key={}", pair.key.display()));
    for tls_version in ["TLSv1.2", "TLSv1.3"] {
        let Some(server) =
            required_with(Kind::MariaDb, &options.clone().argument(format!("--tls-version={tls_version}")))
        else {
            return;
        };
        let says = format!("Ssl_version\t{tls_version}");
        for mode in [SslMode::Preferred, SslMode::Required] {
            assert_eq!(version(&server, TCP, tls(mode, None)).unwrap(), says, "{mode:?}");
        }
        let pinned = ServerTls { fingerprint: Some(pair.fingerprint()), ..ServerTls::default() };
        assert_eq!(version(&server, TCP, pinned).unwrap(), says);
        for mode in [SslMode::VerifyCa, SslMode::VerifyIdentity] {
            let told = "TLS: the certificate is of X.509 version 1, whose signer can't be checked";
            assert_refused(version(&server, TCP, tls(mode, Some(authority.ca()))), told);
        }
    }
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_asked_for() {
    let Some(server) = required(Kind::MariaDb) else { return };
    assert_eq!(version(server, TCP, tls(SslMode::Preferred, None)).unwrap(), "Ssl_version");
    let authority = Authority::new();
    for mode in [SslMode::Required, SslMode::VerifyCa] {
        let told = "it does not offer TLS, which --ssl-mode of the proxy asks for";
        assert_refused(version(server, TCP, tls(mode, Some(authority.ca()))), told);
    }
}

#[test]
fn accounts_that_require_tls_or_a_certificate_look_at_the_server_leg() {
    let authority = Authority::new();
    let (server_pair, client_pair) = (authority.sign("server", &[]), authority.sign("client", &[]));
    let arguments = |options: Options| {
        options
            .argument(format!("--ssl-ca={}", authority.ca().display()))
            .argument(format!("--ssl-cert={}", server_pair.cert.display()))
            .argument(format!("--ssl-key={}", server_pair.key.display()))
    };
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required_with(kind, &arguments(Options::new())) else { return };
        let ssl = new_account(&server, "identified by 'secret' require ssl");
        let x509 = new_account(&server, "identified by 'secret' require x509");
        let subject = new_account(
            &server,
            "identified by 'secret' require subject '/CN=client' and issuer '/CN=the test''s authority'",
        );
        let plain = tls(SslMode::Disabled, None);
        let without = tls(SslMode::Required, None);
        let with = ServerTls {
            cert: Some(client_pair.cert.clone()),
            key: Some(client_pair.key.clone()),
            ..tls(SslMode::VerifyCa, Some(authority.ca()))
        };
        for (tls, passing) in [(plain, &[][..]), (without, &[&ssl][..]), (with, &[&ssl, &x509, &subject][..])]
        {
            let front = Front::with(&server, TCP, |config| config.server_tls = tls.clone());
            for account in [&ssl, &x509, &subject] {
                let who = front.client_program("mysql", account, "secret").run(WHO);
                if passing.contains(&account) {
                    assert_eq!(who, is(account, Leg::Tls), "{kind}, {tls:?}");
                } else {
                    let message = who.unwrap_err();
                    assert!(
                        message.contains("ERROR 1045 (28000): Access denied"),
                        "{kind}, {tls:?}: {message}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_server_that_requires_secure_transport_is_reached_with_tls() {
    let mysql = required(Kind::MySql);
    let Some(mysql) = mysql else { return };
    let pair = Pair::of_mysql(mysql);
    for kind in [Kind::MySql, Kind::MariaDb] {
        let mut options = Options::new().argument("--require-secure-transport=ON");
        if kind.is_mariadb() {
            options = options
                .argument(format!("--ssl-cert={}", pair.cert.display()))
                .argument(format!("--ssl-key={}", pair.key.display()));
        }
        let Some(server) = required_with(kind, &options) else { return };
        for mode in [SslMode::Preferred, SslMode::Required] {
            assert_eq!(version(&server, TCP, tls(mode, None)).unwrap(), TLS, "{kind}, {mode:?}");
        }
        let message = version(&server, TCP, tls(SslMode::Disabled, None)).unwrap_err();
        // MariaDB 10.11 says no more than that it denies access.
        let error = if kind.is_mariadb() { "ERROR 1045 (28000)" } else { "ERROR 3159 (HY000)" };
        assert!(message.contains(error), "{kind}: {message}");
    }
}
