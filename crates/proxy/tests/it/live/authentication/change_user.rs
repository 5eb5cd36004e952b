//! COM_CHANGE_USER: its exchange is framed like any command, so it crosses between legs that differ in
//! transport *and* algorithm.
//!
//! Not here: drivers that send it (`drivers`).

use codec::Algorithm::{self, Uncompressed, Zlib, Zstd};
use lab::real::{Kind, Options, PASSWORD, USER, required, required_with};

use super::super::front::{Front, TRANSPORT_PAIRS};
use super::super::log_lines;
use super::connection::Connection;
use super::{WHO, new_account};

#[test]
fn a_session_changes_its_user_between_all_legs_of_mysql() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    for pair in TRANSPORT_PAIRS {
        for (client_leg, server_leg) in algorithms(&[Uncompressed, Zlib, Zstd]) {
            let context = format!("{pair:?}, {client_leg} to {server_leg}");
            let [first, second] = ["a-hidden-word-1", "a-hidden-word-2"]
                .map(|password| new_account(server, &format!("identified by '{password}'")));
            let sha256 = new_account(server, "identified with sha256_password by 'a-hidden-word-3'");
            let front = Front::with(server, pair, |config| config.server_algorithms = vec![server_leg]);
            let mut session =
                Connection::open(front.proxy.address(), client_leg, USER, PASSWORD).expect(&context);
            let plugin = "caching_sha2_password";
            // Twice a full authentication, and then the fast path, each with the nonce of the one before.
            for (user, password) in
                [(&first, "a-hidden-word-1"), (&second, "a-hidden-word-2"), (&first, "a-hidden-word-1")]
            {
                session.change_user(plugin, user, password).expect(&context);
                assert_eq!(session.query(WHO).unwrap(), format!("{user}@%"), "{context}");
            }
            // The method differs from the client's guess, and from the account before.
            session.change_user(plugin, &sha256, "a-hidden-word-3").expect(&context);
            assert_eq!(session.query(WHO).unwrap(), format!("{sha256}@%"), "{context}");
            session.change_user("sha256_password", &second, "a-hidden-word-2").expect(&context);
            assert_eq!(session.query(WHO).unwrap(), format!("{second}@%"), "{context}");
            let packed = session.query("select repeat('x', 100000)").unwrap();
            assert_eq!(packed.len(), 100_000, "{context}");
            assert_eq!(session.change_user(plugin, &first, "wrong").unwrap_err().code, 1045, "{context}");
        }
    }
    let found = log_lines::lines().into_iter().find(|line| line.contains("a-hidden-word"));
    assert_eq!(found, None);
}

#[test]
fn a_session_changes_its_user_after_the_cache_was_emptied() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    for pair in TRANSPORT_PAIRS {
        let account = new_account(&server, "identified by 'secret'");
        let front = Front::new(&server, pair);
        let mut session = Connection::open(front.proxy.address(), Zstd, USER, PASSWORD).unwrap();
        for _ in 0..2 {
            server.sql("flush privileges").unwrap();
            session.change_user("caching_sha2_password", &account, "secret").unwrap();
            assert_eq!(session.query(WHO).unwrap(), format!("{account}@%"), "{pair:?}");
            session.change_user("caching_sha2_password", &account, "secret").unwrap();
        }
    }
}

#[test]
fn a_session_changes_its_user_between_all_legs_of_mariadb() {
    let Some(server) = required(Kind::MariaDb) else { return };
    for pair in TRANSPORT_PAIRS {
        // No zstd towards MariaDB; a client may still use it.
        for (client_leg, server_leg) in algorithms(&[Uncompressed, Zlib]).chain([(Zstd, Zlib)]) {
            let context = format!("{pair:?}, {client_leg} to {server_leg}");
            let account = new_account(server, "identified by 'secret'");
            let front = Front::with(server, pair, |config| config.server_algorithms = vec![server_leg]);
            let mut session =
                Connection::open(front.proxy.address(), client_leg, USER, PASSWORD).expect(&context);
            for plugin in ["mysql_native_password", "caching_sha2_password", "mysql_native_password"] {
                session.change_user(plugin, &account, "secret").expect(&context);
                assert_eq!(session.query(WHO).unwrap(), format!("{account}@%"), "{context}, {plugin}");
            }
            let error = session.change_user("mysql_native_password", &account, "wrong").unwrap_err();
            assert_eq!(error.code, 1045, "{context}");
        }
    }
}

/// Each on the client leg with each on the server leg.
fn algorithms(all: &[Algorithm]) -> impl Iterator<Item = (Algorithm, Algorithm)> {
    all.iter().flat_map(|&client_leg| all.iter().map(move |&server_leg| (client_leg, server_leg)))
}
