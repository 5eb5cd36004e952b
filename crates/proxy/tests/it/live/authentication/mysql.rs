//! MySQL's methods: caching_sha2_password, sha256_password, a second factor.
//!
//! MySQL 9 has no `mysql_native_password`. Of what may be a second factor, the community server ships
//! `auth_socket` and `authentication_webauthn`; the latter's plugin does not start in Debian's build, and
//! passwords may not be one (error 4052), which `a_password_can_not_be_a_second_factor` pins.
//! Not here: what a server refuses for other reasons (`refusals`).

use lab::real::{Kind, Options, required, required_with};

use super::super::front::{Front, TRANSPORT_PAIRS, Transport};
use super::super::log_lines;
use super::{WHO, assert_denied, is, new_account};

#[test]
fn full_authentication_and_the_fast_path_work_on_every_pair_of_transports() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    let account = new_account(&server, "identified with caching_sha2_password by 'secret'");
    for pair in TRANSPORT_PAIRS {
        let front = Front::new(&server, pair);
        // Empties the cache of password hashes.
        server.sql("flush privileges").unwrap();
        if pair.0 == Transport::Tcp {
            // Without a key the client can't go on: so this is a full authentication.
            let client = front.client(&account, "secret").option("--skip-get-server-public-key");
            let message = client.run(WHO).unwrap_err();
            assert!(message.contains("ERROR 2061 (HY000)"), "{pair:?}: {message}");
        }
        assert_eq!(front.client(&account, "secret").run(WHO), is(&account), "{pair:?}, full");
        let client = front.client(&account, "secret").option("--skip-get-server-public-key");
        assert_eq!(client.run(WHO), is(&account), "{pair:?}, fast");
    }
}

#[test]
fn a_wrong_password_is_denied_as_by_the_server() {
    let Some(server) = required(Kind::MySql) else { return };
    for pair in TRANSPORT_PAIRS {
        let account = new_account(server, "identified with caching_sha2_password by 'secret'");
        let front = Front::new(server, pair);
        assert_denied(&front.client(&account, "wrong").run(WHO), &format!("{pair:?}, full"));
        assert_eq!(front.client(&account, "secret").run(WHO), is(&account), "{pair:?}");
        assert_denied(&front.client(&account, "wrong").run(WHO), &format!("{pair:?}, fast"));
        assert_denied(&front.client(&account, "").run(WHO), &format!("{pair:?}, none"));
        assert_denied(&front.client("nobody_at_all", "secret").run(WHO), &format!("{pair:?}, nobody"));
        // The session's own error was the server's, and was passed on: no fault of a leg.
        assert_eq!(front.proxy.counters().faults_of(wire::Side::Client, "auth_packet_unexpected"), 0);
    }
}

#[test]
fn passwords_of_every_kind_log_in() {
    let Some(server) = required(Kind::MySql) else { return };
    // RSA with OAEP and 2048 bits carries 214 bytes, the last is the NUL; libmysqlclient stops a little below.
    let longest = "x".repeat(200);
    for password in ["", "p", "spaces and \"quotes\"", "pässwörd 密码 🔑", &longest] {
        for pair in TRANSPORT_PAIRS {
            let account = new_account(server, &format!("identified by '{password}'"));
            let front = Front::new(server, pair);
            for round in ["first", "second"] {
                let who = front.client(&account, password).option("--default-character-set=utf8mb4").run(WHO);
                assert_eq!(who, is(&account), "{pair:?}, {password:?}, {round}");
            }
        }
    }
}

#[test]
fn a_password_longer_than_rsa_carries_gets_a_clear_error() {
    let Some(server) = required(Kind::MySql) else { return };
    let password = "x".repeat(240);
    let account = new_account(server, &format!("identified by '{password}'"));
    let front = Front::new(server, (Transport::Socket, Transport::Tcp));
    let message = front.client(&account, &password).run(WHO).unwrap_err();
    assert!(message.contains("too long for the server's RSA key"), "{message}");
    let front = Front::new(server, (Transport::Socket, Transport::Socket));
    assert_eq!(front.client(&account, &password).run(WHO), is(&account));
}

#[test]
fn a_client_that_starts_with_another_method_is_switched() {
    let Some(server) = required(Kind::MySql) else { return };
    for pair in TRANSPORT_PAIRS {
        let account = new_account(server, "identified with caching_sha2_password by 'secret'");
        let front = Front::new(server, pair);
        for round in ["full", "fast"] {
            let client = front.client(&account, "secret").option("--default-auth=sha256_password");
            assert_eq!(client.run(WHO), is(&account), "{pair:?}, {round}");
        }
        let client = front.client(&account, "wrong").option("--default-auth=mysql_native_password");
        assert_denied(&client.run(WHO), &format!("{pair:?}"));
    }
}

#[test]
fn sha256_password_works_on_every_pair_of_transports() {
    let Some(server) = required(Kind::MySql) else { return };
    for pair in TRANSPORT_PAIRS {
        let account = new_account(server, "identified with sha256_password by 'secret'");
        let front = Front::new(server, pair);
        assert_eq!(front.client(&account, "secret").run(WHO), is(&account), "{pair:?}, switched");
        let client = front.client(&account, "secret").option("--default-auth=sha256_password");
        assert_eq!(client.run(WHO), is(&account), "{pair:?}");
        assert_denied(&front.client(&account, "wrong").run(WHO), &format!("{pair:?}"));
    }
}

/// The second factor is the operating system's user behind the server's socket: that is the proxy's.
#[test]
fn two_factors_log_in_where_the_server_leg_is_a_socket() {
    let options = Options::new().argument("--authentication-policy=*,auth_socket,");
    let options = options.argument("--plugin-load-add=auth_socket.so");
    let Some(server) = required_with(Kind::MySql, &options) else { return };
    let proxy_user = String::from_utf8(std::process::Command::new("id").arg("-un").output().unwrap().stdout);
    let proxy_user = proxy_user.unwrap().trim().to_owned();
    for pair in TRANSPORT_PAIRS {
        let account = new_account(
            &server,
            &format!(
                "identified with caching_sha2_password by 'secret' and identified with auth_socket as '{proxy_user}'"
            ),
        );
        let front = Front::new(&server, pair);
        for round in ["full", "fast"] {
            let who = front.client(&account, "secret").run(WHO);
            if pair.1 == Transport::Socket {
                assert_eq!(who, is(&account), "{pair:?}, {round}");
            } else {
                // The first factor was right: the second's own error, ER_ACCESS_DENIED_NO_PASSWORD_ERROR.
                let message = who.unwrap_err();
                assert!(message.contains("ERROR 1698 (28000)"), "{pair:?}, {round}: {message}");
            }
        }
        assert_denied(&front.client(&account, "wrong").run(WHO), &format!("{pair:?}"));
    }
}

#[test]
fn a_password_can_not_be_a_second_factor() {
    let Some(server) = required(Kind::MySql) else { return };
    for plugin in ["caching_sha2_password", "sha256_password"] {
        let fault = server
            .sql(&format!("create user two_passwords identified with caching_sha2_password by 'a' and identified with {plugin} by 'b'"))
            .unwrap_err();
        assert!(fault.to_string().contains("ERROR 4052"), "if it can, it should be tested here: {fault}");
    }
}

#[test]
fn no_log_line_holds_a_password() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    let (right, wrong) = ("never-in-a-log-7731", "neither-in-a-log-9942");
    for pair in TRANSPORT_PAIRS {
        let account = new_account(server, &format!("identified by '{right}'"));
        let front = Front::new(server, pair);
        assert_denied(&front.client(&account, wrong).run(WHO), &format!("{pair:?}"));
        assert_eq!(front.client(&account, right).run(WHO), is(&account), "{pair:?}");
        assert_eq!(front.client(&account, right).run(WHO), is(&account), "{pair:?}");
        front.proxy.stop();
    }
    let lines = log_lines::lines();
    assert!(lines.iter().any(|line| line.contains("Access denied")), "the logins' own lines are missing");
    for password in [right, wrong] {
        let as_bytes = format!("{:?}", password.as_bytes());
        let as_hex: String = password.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [password, as_bytes.trim_matches(['[', ']']), &as_hex] {
            let found = lines.iter().find(|line| line.contains(form));
            assert_eq!(found, None);
        }
    }
}

/// It prefers TLS; where there is none it sends its password in clear over TCP, which MySQL itself denies.
#[test]
fn the_mariadb_client_logs_in_to_mysql() {
    let Some(server) = required(Kind::MySql) else { return };
    for pair in TRANSPORT_PAIRS {
        let account = new_account(server, "identified with caching_sha2_password by 'secret'");
        let front = Front::new(server, pair);
        let login = || front.client_program("mariadb", &account, "secret").run(WHO);
        for round in ["full", "fast"] {
            assert_eq!(login(), is(&account), "{pair:?}, {round}");
        }
        let client = front.client_program("mariadb", &account, "wrong");
        assert_denied(&client.run(WHO), &format!("{pair:?}"));
    }
}
