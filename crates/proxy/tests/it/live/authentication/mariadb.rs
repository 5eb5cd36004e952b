//! MariaDB's methods: mysql_native_password, ed25519, several per account, parsec.
//!
//! No Debian package of MariaDB 11.8 has its server-side caching_sha2_password, so that is not tested.
//! Not here: what a server refuses for other reasons (`refusals`).

use lab::real::{Install, Kind, Options, RealServer, required, required_with, skip};

use super::super::front::{Front, TRANSPORT_PAIRS, Transport};
use super::{WHO, assert_denied, is, new_account};

#[test]
fn native_passwords_work_on_every_pair_of_transports_with_both_vendors_clients() {
    let Some(server) = required(Kind::MariaDb) else { return };
    for password in ["", "secret", &"x".repeat(240)] {
        let account = new_account(
            server,
            &format!("identified via mysql_native_password using password('{password}')"),
        );
        for pair in TRANSPORT_PAIRS {
            let front = Front::new(server, pair);
            for program in ["mariadb", "mysql"] {
                let login = |password| front.client_program(program, &account, password).run(WHO);
                let context = format!("{program}, {pair:?}, password of {} bytes", password.len());
                assert_eq!(login(password), is(&account), "{context}");
                assert_denied(&login("wrong"), &context);
            }
        }
    }
}

#[test]
fn ed25519_works_on_every_pair_of_transports() {
    let options = Options::new().argument("--plugin-load-add=auth_ed25519");
    let Some(server) = required_with(Kind::MariaDb, &options) else { return };
    signs_in(&server, "ed25519", "mariadb");
}

#[test]
fn a_second_method_of_the_account_is_tried_after_the_first() {
    let options = Options::new().argument("--plugin-load-add=auth_ed25519");
    let Some(server) = required_with(Kind::MariaDb, &options) else { return };
    let account = new_account(
        &server,
        "identified via ed25519 using password('first') or mysql_native_password using password('second')",
    );
    for pair in TRANSPORT_PAIRS {
        let front = Front::new(&server, pair);
        for password in ["first", "second"] {
            assert_eq!(front.client(&account, password).run(WHO), is(&account), "{pair:?}, {password}");
        }
        assert_denied(&front.client(&account, "third").run(WHO), &format!("{pair:?}"));
    }
}

/// The server sees the proxy's user behind its socket, and falls back to the password on TCP.
#[test]
fn the_users_socket_method_sees_the_proxys_user() {
    let Some(server) = required(Kind::MariaDb) else { return };
    let account =
        new_account(server, "identified via unix_socket or mysql_native_password using password('secret')");
    for pair in TRANSPORT_PAIRS {
        let front = Front::new(server, pair);
        assert_eq!(front.client(&account, "secret").run(WHO), is(&account), "{pair:?}");
        assert_denied(&front.client(&account, "wrong").run(WHO), &format!("{pair:?}"));
    }
}

#[test]
fn a_client_that_starts_with_another_method_is_switched() {
    let Some(server) = required(Kind::MariaDb) else { return };
    let account = new_account(server, "identified by 'secret'");
    for pair in TRANSPORT_PAIRS {
        let front = Front::new(server, pair);
        let client = front.client_program("mysql", &account, "secret");
        assert_eq!(client.option("--default-auth=caching_sha2_password").run(WHO), is(&account), "{pair:?}");
    }
}

#[test]
fn parsec_and_ed25519_of_11_8_work_on_every_pair_of_transports() {
    if Install::find().is_ok_and(|install| install.program("mariadbd-11.8").is_err()) {
        return skip("want of MariaDB 11.8 (scripts/fetch-servers --all)");
    }
    let options = Options::new().argument("--plugin-load-add=auth_parsec");
    let options = options.argument("--plugin-load-add=auth_ed25519");
    let Some(server) = required_with(Kind::MariaDb118, &options) else { return };
    for method in ["parsec", "ed25519", "mysql_native_password"] {
        signs_in(&server, method, "mariadb-11.8");
    }
    let account = new_account(&server, "identified by 'secret'");
    let front = Front::new(&server, (Transport::Tcp, Transport::Tcp));
    let message = front.client(&account, "secret").run(WHO).unwrap_err();
    assert!(message.contains("ERROR 2026 (HY000)"), "{message}");
}

/// Logs in with a method whose answer depends on the server's nonce alone.
fn signs_in(server: &RealServer, method: &str, program: &str) {
    // Over TCP the clients from 11.4 on insist on TLS unless told otherwise.
    let option = if program == "mariadb" { "--skip-ssl" } else { "--disable-ssl-verify-server-cert" };
    for password in ["secret", &"x".repeat(240)] {
        let account = new_account(server, &format!("identified via {method} using password('{password}')"));
        for pair in TRANSPORT_PAIRS {
            let front = Front::new(server, pair);
            let login = |password| front.client_program(program, &account, password).option(option).run(WHO);
            let context = format!("{method}, {pair:?}, password of {} bytes", password.len());
            assert_eq!(login(password), is(&account), "{context}");
            assert_denied(&login("wrong"), &context);
        }
    }
}

#[test]
fn a_client_that_insists_on_tls_is_told() {
    let Some(server) = required(Kind::MariaDb) else { return };
    let front = Front::new(server, (Transport::Tcp, Transport::Tcp));
    let account = new_account(server, "identified by 'secret'");
    let message = front.client(&account, "secret").option("--ssl-verify-server-cert").run(WHO).unwrap_err();
    assert!(message.contains("ERROR 2026 (HY000)"), "{message}");
}
