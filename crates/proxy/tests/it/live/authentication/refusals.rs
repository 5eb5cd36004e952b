//! What a server refuses, and what the proxy can't do: the client sees a clear error.
//!
//! Not here: wrong passwords (`mysql`, `mariadb`), blocked hosts (`probes`).

use std::io::Read;
use std::net::TcpStream;

use lab::real::{Kind, Options, required, required_with};

use super::super::front::{Front, TRANSPORT_PAIRS, Transport};
use super::{WHO, is, new_account};

#[test]
fn a_locked_account_is_told_so() {
    for (kind, number) in [(Kind::MySql, "3118"), (Kind::MariaDb, "4151")] {
        let Some(server) = required(kind) else { return };
        let account = new_account(server, "identified by 'secret'");
        server.sql(&format!("alter user '{account}'@'%' account lock")).unwrap();
        for pair in TRANSPORT_PAIRS {
            let message = Front::new(server, pair).client(&account, "secret").run(WHO).unwrap_err();
            assert!(message.contains(&format!("ERROR {number} (HY000)")), "{kind}, {pair:?}: {message}");
        }
    }
}

#[test]
fn an_expired_password_is_told_at_the_first_statement() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let account = new_account(server, "identified by 'secret'");
        server.sql(&format!("alter user '{account}'@'%' password expire")).unwrap();
        for pair in TRANSPORT_PAIRS {
            let front = Front::new(server, pair);
            let client = front.client(&account, "secret");
            // `mysql` would only say that it wants this option.
            let client =
                if kind == Kind::MySql { client.option("--connect-expired-password") } else { client };
            let message = client.run(WHO).unwrap_err();
            assert!(message.contains("ERROR 1820 (HY000)"), "{kind}, {pair:?}: {message}");
        }
    }
}

#[test]
fn a_server_that_wants_secure_transport_is_reached_through_its_socket_only() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let options = Options::new().argument("--require-secure-transport=ON");
        let Some(server) = required_with(kind, &options) else { return };
        let account = new_account(&server, "identified by 'secret'");
        for pair in TRANSPORT_PAIRS {
            let front = Front::new(&server, pair);
            let who = front.client(&account, "secret").run(WHO);
            if pair.1 == Transport::Socket {
                assert_eq!(who, is(&account), "{kind}, {pair:?}");
            } else {
                let message = who.unwrap_err();
                // MariaDB 10.11 says no more than that it denies access.
                let error = if kind == Kind::MySql { "ERROR 3159 (HY000)" } else { "ERROR 1045 (28000)" };
                assert!(message.contains(error), "{kind}, {pair:?}: {message}");
            }
        }
    }
}

#[test]
fn an_account_that_requires_tls_is_denied() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let account = new_account(server, "identified by 'secret' require ssl");
        for pair in TRANSPORT_PAIRS {
            let message = Front::new(server, pair).client(&account, "secret").run(WHO).unwrap_err();
            assert!(message.contains("ERROR 1045 (28000)"), "{kind}, {pair:?}: {message}");
        }
    }
}

#[test]
fn a_client_that_insists_on_tls_is_told_that_there_is_none() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let account = new_account(server, "identified by 'secret'");
        let front = Front::new(server, (Transport::Tcp, Transport::Tcp));
        let client = front.client_program("mysql", &account, "secret");
        let message = client.option("--ssl-mode=REQUIRED").run(WHO).unwrap_err();
        assert!(message.contains("ERROR 2026 (HY000)"), "{kind}: {message}");
    }
}

#[test]
fn too_many_connections_reaches_the_client() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let options = Options::new().argument("--max-connections=10");
        let Some(server) = required_with(kind, &options) else { return };
        let fill = || fill(|| TcpStream::connect(server.address()).unwrap());
        let mut held = fill();
        for pair in TRANSPORT_PAIRS {
            let front = Front::new(&server, pair);
            let refusal = || front.client("somebody", "secret").run(WHO).unwrap_err();
            // A connection of before the test may have been counted still, and have left its place since.
            let message = (0..20).map(|_| refusal()).find(|message| {
                let is_full = !message.contains("Access denied");
                held.extend((!is_full).then(&fill).into_iter().flatten());
                is_full
            });
            let message = message.unwrap();
            // Connector/C wraps it: it expects TLS first.
            assert!(message.contains("1040"), "{kind}, {pair:?}: {message}");
            assert!(message.contains("Too many connections"), "{kind}, {pair:?}: {message}");
        }
        drop(held);
    }
}

/// Connections without login until the server refuses one.
fn fill(connect: impl Fn() -> TcpStream) -> Vec<TcpStream> {
    let mut held = Vec::new();
    loop {
        let mut stream = connect();
        let mut first = [0; 5];
        stream.read_exact(&mut first).unwrap();
        if first[4] == wire::response::err::HEADER {
            return held;
        }
        held.push(stream);
    }
}
