//! TLS on each leg, by real clients on real servers.
//!
//! ```text
//! client leg: plain, TLS, Unix socket, TLS on a Unix socket  ×  server leg: the same four
//! ```
//! Servers: the shared MySQL with the certificate it made for itself, and two MariaDBs that all tests here share:
//! 10.11 with MySQL's certificate, since it has none of its own, and 11.8 with the one it makes at each start.
//!
//! Not here: what a leg of TLS does to the rules of authentication, on bytes (`wire::connect::auth`).

pub(super) mod certificates;
mod client;
mod compression;
mod endings;
mod legs;
mod listener_modes;
mod passwords;
mod recorder;
mod requests;
mod server_modes;
mod zero_configuration;

use std::sync::OnceLock;

use lab::real::{Install, Kind, Options, RealServer, required, required_with, skip};
use proxy::{ListenerConfig, SslMode, TlsMode};

use self::certificates::Pair;
use super::front::{Client, Front, Transport};

pub(crate) use self::client::{connection as client_connection, start as start_tls};

/// How a leg connects, and what protects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leg {
    Plain,
    Tls,
    Socket,
    SocketTls,
}

const LEGS: [Leg; 4] = [Leg::Plain, Leg::Tls, Leg::Socket, Leg::SocketTls];

/// Client leg and server leg.
fn pairs() -> impl Iterator<Item = [Leg; 2]> {
    LEGS.into_iter().flat_map(|client| LEGS.map(|to_server| [client, to_server]))
}

impl Leg {
    const fn is_tls(self) -> bool {
        matches!(self, Self::Tls | Self::SocketTls)
    }

    const fn transport(self) -> Transport {
        match self {
            Self::Plain | Self::Tls => Transport::Tcp,
            Self::Socket | Self::SocketTls => Transport::Socket,
        }
    }

    const fn ssl_mode(self) -> SslMode {
        if self.is_tls() { SslMode::Required } else { SslMode::Disabled }
    }
}

/// A proxy between these legs. It presents `pair`, and turns a client away that does not use the leg as named.
fn front<'s>(
    server: &'s RealServer,
    legs: [Leg; 2],
    pair: &Pair,
    adjust: impl FnOnce(&mut ListenerConfig),
) -> Front<'s> {
    let [client, to_server] = legs;
    Front::with(server, (client.transport(), to_server.transport()), |config| {
        let mode = match client {
            Leg::Plain => TlsMode::Off,
            Leg::Socket | Leg::SocketTls => TlsMode::Preferred,
            Leg::Tls => TlsMode::Required,
        };
        config.tls = pair.listener(mode);
        config.server_tls.mode = Some(to_server.ssl_mode());
        adjust(config);
    })
}

/// A command line client that uses the client leg as named.
fn client(front: &Front<'_>, program: &str, leg: Leg, user: &str, password: &str) -> Client {
    let client = front.client_program(program, user, password);
    match (program, leg.is_tls()) {
        ("mysql", true) => client.option("--ssl-mode=REQUIRED"),
        ("mysql", false) => client.option("--ssl-mode=DISABLED"),
        (_, true) => client.option("--ssl").option("--disable-ssl-verify-server-cert"),
        (_, false) => client.option("--skip-ssl"),
    }
}

/// Whom a login was matched with, and whether the server leg has TLS.
const WHO: &str = "select current_user(); show session status like 'Ssl_version'";

/// What [`WHO`] prints.
fn is(account: &str, server_leg: Leg) -> Result<String, String> {
    let version = if server_leg.is_tls() { "\tTLSv1.3" } else { "" };
    Ok(format!("{account}@%\nSsl_version{version}"))
}

/// MariaDB 10.11 with MySQL's certificate, started once.
fn mariadb_10_11() -> Option<&'static RealServer> {
    static SERVER: OnceLock<Option<RealServer>> = OnceLock::new();
    let mysql = required(Kind::MySql)?;
    let start = || {
        let Pair { cert, key } = Pair::of_mysql(mysql);
        let options = Options::new()
            .argument("--plugin-load-add=auth_ed25519")
            .argument(format!("--ssl-cert={}", cert.display()))
            .argument(format!("--ssl-key={}", key.display()));
        required_with(Kind::MariaDb, &options)
    };
    SERVER.get_or_init(start).as_ref()
}

/// MariaDB 11.8 with the certificate that it makes at each start, started once; it may not have been fetched.
fn mariadb_11_8() -> Option<&'static RealServer> {
    static SERVER: OnceLock<Option<RealServer>> = OnceLock::new();
    if !has_mariadb_11_8() {
        return None;
    }
    let options = Options::new().argument("--plugin-load-add=auth_ed25519");
    let options = options.argument("--plugin-load-add=auth_parsec");
    SERVER.get_or_init(|| required_with(Kind::MariaDb118, &options)).as_ref()
}

/// Whether MariaDB 11.8 was fetched; if not, the test is listed as not run.
pub(super) fn has_mariadb_11_8() -> bool {
    let is_missing = Install::find().is_ok_and(|install| install.program("mariadbd-11.8").is_err());
    if is_missing {
        skip("want of MariaDB 11.8 (scripts/fetch-servers --all)");
    }
    !is_missing
}
