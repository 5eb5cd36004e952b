//! Every method of logging in on every pair of legs, at login and in COM_CHANGE_USER.
//!
//! Not here: what may be seen on the wire meanwhile (`passwords`).

use codec::Algorithm::{Uncompressed, Zlib, Zstd};
use lab::real::{Kind, PASSWORD, RealServer, USER, required};

use super::super::authentication::{Connection, assert_denied, new_account};
use super::certificates::{Authority, Pair};
use super::{LEGS, Leg, WHO, client, front, is, mariadb_10_11, mariadb_11_8, pairs};

#[test]
fn caching_sha2_password_works_on_every_pair_of_legs() {
    let Some(server) = required(Kind::MySql) else { return };
    let pair = Pair::of_mysql(server);
    for legs in pairs() {
        // An account that was just made is in no cache: its first login is a full authentication.
        let account = new_account(server, "identified with caching_sha2_password by 'secret'");
        let front = front(server, legs, &pair, |_| {});
        let login = |password| client(&front, "mysql", legs[0], &account, password);
        assert_denied(&login("wrong").run(WHO), &format!("{legs:?}, before"));
        assert_eq!(login("secret").run(WHO), is(&account, legs[1]), "{legs:?}, full");
        let fast = login("secret").option("--skip-get-server-public-key").run(WHO);
        assert_eq!(fast, is(&account, legs[1]), "{legs:?}, fast");
        assert_denied(&login("wrong").run(WHO), &format!("{legs:?}, after"));
    }
}

#[test]
fn sha256_password_works_on_every_pair_of_legs() {
    let Some(server) = required(Kind::MySql) else { return };
    let pair = Pair::of_mysql(server);
    let account = new_account(server, "identified with sha256_password by 'secret'");
    let caching = new_account(server, "identified by 'secret'");
    for legs in pairs() {
        let front = front(server, legs, &pair, |_| {});
        let login = |user, password| client(&front, "mysql", legs[0], user, password);
        assert_eq!(login(&account, "secret").run(WHO), is(&account, legs[1]), "{legs:?}, switched");
        let begins_with_it = |user, password| login(user, password).option("--default-auth=sha256_password");
        assert_eq!(begins_with_it(&account, "secret").run(WHO), is(&account, legs[1]), "{legs:?}");
        assert_denied(&begins_with_it(&account, "wrong").run(WHO), &format!("{legs:?}"));
        assert_eq!(begins_with_it(&caching, "secret").run(WHO), is(&caching, legs[1]), "{legs:?}, back");
    }
}

#[test]
fn an_empty_password_works_on_every_pair_of_legs() {
    let Some(server) = required(Kind::MySql) else { return };
    let pair = Pair::of_mysql(server);
    let accounts = ["caching_sha2_password", "sha256_password"]
        .map(|plugin| new_account(server, &format!("identified with {plugin} by ''")));
    for legs in pairs() {
        let front = front(server, legs, &pair, |_| {});
        for account in &accounts {
            let login = || client(&front, "mysql", legs[0], account, "");
            assert_eq!(login().run(WHO), is(account, legs[1]), "{legs:?}");
            let who = login().option("--default-auth=sha256_password").run(WHO);
            assert_eq!(who, is(account, legs[1]), "{legs:?}, sha256_password");
        }
    }
}

#[test]
fn mariadbs_methods_work_on_every_pair_of_legs() {
    let Some(server) = mariadb_10_11() else { return };
    sign_in(server, "mariadb", &["mysql_native_password", "ed25519"]);
}

#[test]
fn mariadb_11_8_s_methods_work_on_every_pair_of_legs() {
    let Some(server) = mariadb_11_8() else { return };
    sign_in(server, "mariadb-11.8", &["mysql_native_password", "ed25519", "parsec"]);
}

fn sign_in(server: &RealServer, program: &str, methods: &[&str]) {
    let authority = Authority::new();
    let pair = authority.sign("proxy", &[]);
    for method in methods {
        let account = new_account(server, &format!("identified via {method} using password('secret')"));
        for legs in pairs() {
            let front = front(server, legs, &pair, |_| {});
            let login = |password| client(&front, program, legs[0], &account, password).run(WHO);
            assert_eq!(login("secret"), is(&account, legs[1]), "{method}, {legs:?}");
            assert_denied(&login("wrong"), &format!("{method}, {legs:?}"));
        }
    }
    let account = new_account(server, "identified by ''");
    for legs in pairs() {
        let front = front(server, legs, &pair, |_| {});
        assert_eq!(
            client(&front, "mysql", legs[0], &account, "").run(WHO),
            is(&account, legs[1]),
            "{legs:?}"
        );
    }
}

/// Its exchange is framed like any command and crosses between legs that differ in everything.
#[test]
fn a_session_changes_its_user_on_every_pair_of_legs() {
    let Some(server) = required(Kind::MySql) else { return };
    let pair = Pair::of_mysql(server);
    let sha256 = new_account(server, "identified with sha256_password by 'second'");
    for legs in pairs() {
        for (client_leg, server_leg) in [(Uncompressed, Zstd), (Zstd, Zlib), (Zlib, Uncompressed)] {
            let context = format!("{legs:?}, {client_leg} to {server_leg}");
            let account = new_account(server, "identified by 'first'");
            let front = front(server, legs, &pair, |config| config.server_algorithms = vec![server_leg]);
            let address = front.proxy.address();
            let session = match legs[0].is_tls() {
                true => Connection::open_tls(address, client_leg, USER, PASSWORD),
                false => Connection::open(address, client_leg, USER, PASSWORD),
            };
            let mut session = session.expect(&context);
            let who = "select current_user()";
            for (plugin, user, password) in [
                ("caching_sha2_password", &account, "first"),
                ("caching_sha2_password", &account, "first"),
                ("sha256_password", &sha256, "second"),
                ("caching_sha2_password", &sha256, "second"),
                ("sha256_password", &account, "first"),
            ] {
                session.change_user(plugin, user, password).expect(&context);
                assert_eq!(session.query(who).unwrap(), format!("{user}@%"), "{context}, {plugin}");
            }
            let error = session.change_user("sha256_password", &sha256, "wrong").unwrap_err();
            assert_eq!(error.code, 1045, "{context}");
        }
    }
}

#[test]
fn a_session_of_mariadb_changes_its_user_on_every_pair_of_legs() {
    let Some(server) = mariadb_10_11() else { return };
    let authority = Authority::new();
    let pair = authority.sign("proxy", &[]);
    let account = new_account(server, "identified by 'first'");
    for legs in pairs() {
        let front = front(server, legs, &pair, |config| config.server_algorithms = vec![Zlib]);
        let open = if legs[0].is_tls() { Connection::open_tls } else { Connection::open };
        let mut session = open(front.proxy.address(), Zstd, USER, PASSWORD).unwrap();
        for plugin in ["mysql_native_password", "caching_sha2_password", "sha256_password"] {
            session.change_user(plugin, &account, "first").unwrap();
            assert_eq!(session.query("select current_user()").unwrap(), format!("{account}@%"), "{legs:?}");
        }
        let error = session.change_user("mysql_native_password", &account, "wrong").unwrap_err();
        assert_eq!(error.code, 1045, "{legs:?}");
    }
}

/// The log says which TLS each leg has.
#[test]
fn a_client_of_either_tls_version_is_served() {
    let Some(server) = required(Kind::MySql) else { return };
    let pair = Pair::of_mysql(server);
    let account = new_account(server, "identified by 'secret'");
    for to_server in LEGS {
        let front = front(server, [Leg::Tls, to_server], &pair, |_| {});
        for version in ["TLSv1.2", "TLSv1.3"] {
            let login = client(&front, "mysql", Leg::Tls, &account, "secret");
            let who = login.option(&format!("--tls-version={version}")).run(WHO);
            assert_eq!(who, is(&account, to_server), "{version}, {to_server:?}");
        }
        let ended = front.ended().faults();
        assert!(ended.is_empty(), "{ended:?}");
    }
}
