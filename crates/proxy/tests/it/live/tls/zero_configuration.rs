//! MariaDB's zero-configuration TLS: clients from 11.4 on verify a self-signed certificate by a hash of it and of the
//! password, which the server puts into its last OK.
//!
//! The proxy passes the OK on and knows no password: the certificate must be the server's own, or be verified in
//! another way. `docs/tls.md` has the errors and the remedies.
//! Not here: clients that don't verify (`legs`).

use lab::real::{Kind, Options, RealServer, required_with};
use proxy::{Address, TlsMode, make_self_signed};
use tempfile::TempDir;

use super::super::authentication::{assert_denied, new_account};
use super::super::front::{Client, Front, Transport};
use super::certificates::{Authority, Pair};
use super::{Leg, WHO, front, has_mariadb_11_8, is};

const PROGRAM: &str = "mariadb-11.8";
const NOT_TRUSTED: &str =
    "ERROR 2026 (HY000): TLS/SSL error: Certificate verification failure: The certificate is NOT trusted.";

/// MariaDB 11.8 with a self-signed certificate in files.
struct World {
    server: RealServer,
    own: Pair,
    other: Pair,
    _directories: [TempDir; 2],
}

impl World {
    fn new() -> Option<Self> {
        if !has_mariadb_11_8() {
            return None;
        }
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [own, other] = directories.each_ref().map(|directory| {
            let (cert, key) = make_self_signed(directory.path()).unwrap();
            Pair { cert, key }
        });
        let options = Options::new()
            .argument("--plugin-load-add=auth_ed25519")
            .argument("--plugin-load-add=auth_parsec")
            .argument(format!("--ssl-cert={}", own.cert.display()))
            .argument(format!("--ssl-key={}", own.key.display()));
        let server = required_with(Kind::MariaDb118, &options)?;
        Some(Self { server, own, other, _directories: directories })
    }

    fn front(&self, server_leg: Leg, pair: &Pair) -> Front<'_> {
        front(&self.server, [Leg::Tls, server_leg], pair, |config| {
            config.tls = pair.listener(TlsMode::Preferred);
        })
    }
}

/// A client with its defaults. It takes `127.0.0.1` and sockets for local and verifies nothing there, but not
/// `localhost` over TCP.
fn client(front: &Front<'_>, host: &str, account: &str, password: &str) -> Client {
    let Address::Tcp { port, .. } = *front.proxy.address() else { unreachable!() };
    let address = Address::Tcp { host: host.to_owned(), port };
    Client::new(front.server, PROGRAM, &address, account, password)
}

#[test]
fn the_servers_own_certificate_is_believed_before_any_server_leg() {
    let Some(world) = World::new() else { return };
    let accounts = ["mysql_native_password", "ed25519", "parsec"].map(|method| {
        new_account(&world.server, &format!("identified via {method} using password('secret')"))
    });
    for server_leg in [Leg::Plain, Leg::Tls, Leg::Socket] {
        let front = world.front(server_leg, &world.own);
        for account in &accounts {
            let login = |password| client(&front, "localhost", account, password).run(WHO);
            assert_eq!(login("secret"), is(account, server_leg), "{server_leg:?}");
            assert_denied(&login("wrong"), &format!("{server_leg:?}"));
        }
    }
}

#[test]
fn another_certificate_is_refused_and_the_remedies_work() {
    let Some(world) = World::new() else { return };
    let account = new_account(&world.server, "identified by 'secret'");
    let front = world.front(Leg::Tls, &world.other);
    let login = |host, option: &str| client(&front, host, &account, "secret").option(option).run(WHO);
    let passes = is(&account, Leg::Tls);
    assert_eq!(login("localhost", "--ssl-verify-server-cert"), Err(NOT_TRUSTED.to_owned()));
    for option in [
        "--disable-ssl-verify-server-cert",
        "--skip-ssl",
        // Self-signed, it is its own authority; it has the name localhost.
        &format!("--ssl-ca={}", world.other.cert.display()),
        &format!("--ssl-fp={}", world.other.fingerprint()),
    ] {
        assert_eq!(login("localhost", option), passes, "{option}");
    }
    assert_eq!(login("127.0.0.1", "--ssl"), passes);

    let message = login("localhost", &format!("--ssl-fp={}", world.own.fingerprint())).unwrap_err();
    assert!(message.contains("Fingerprint validation of peer certificate failed"), "{message}");
    let message = login("localhost", &format!("--ssl-ca={}", world.own.cert.display())).unwrap_err();
    assert!(message.contains("TLS/SSL error: self-signed certificate"), "{message}");
}

#[test]
fn a_certificate_of_an_authority_that_the_client_has_is_believed_by_its_name() {
    let Some(world) = World::new() else { return };
    let account = new_account(&world.server, "identified by 'secret'");
    let authority = Authority::new();
    let named = authority.sign("named", &["localhost"]);
    let unnamed = authority.sign("unnamed", &["db.example.com"]);
    let login = |pair: &Pair| {
        let front = world.front(Leg::Plain, pair);
        let client = client(&front, "localhost", &account, "secret");
        client.option(&format!("--ssl-ca={}", authority.ca().display())).run(WHO)
    };
    assert_eq!(login(&named), is(&account, Leg::Plain));
    let message = login(&unnamed).unwrap_err();
    assert!(message.contains("TLS/SSL error: Hostname verification failed"), "{message}");
}

#[test]
fn a_socket_passes_with_any_certificate_and_no_listener_passes_without_one() {
    let Some(world) = World::new() else { return };
    let account = new_account(&world.server, "identified by 'secret'");
    let front = Front::with(&world.server, (Transport::Socket, Transport::Tcp), |config| {
        config.tls = world.other.listener(TlsMode::Preferred);
    });
    assert_eq!(front.client(&account, "secret").run(WHO), is(&account, Leg::Plain));

    const NONE: &str =
        "ERROR 2026 (HY000): TLS/SSL error: SSL is required, but the server does not support it";
    let without = |client| Front::with(&world.server, (client, Transport::Tcp), |_| {});
    let front = without(Transport::Socket);
    assert_eq!(front.client(&account, "secret").run(WHO), Err(NONE.to_owned()));
    let front = without(Transport::Tcp);
    for host in ["localhost", "127.0.0.1"] {
        assert_eq!(client(&front, host, &account, "secret").run(WHO), Err(NONE.to_owned()), "{host}");
        for option in ["--skip-ssl", "--disable-ssl-verify-server-cert"] {
            let who = client(&front, host, &account, "secret").option(option).run(WHO);
            assert_eq!(who, is(&account, Leg::Plain), "{host}, {option}");
        }
    }
}
