//! First packets of real servers and clients, read, rebuilt byte for byte, and rewritten for another leg.
//!
//! Each file in `captures/` is one packet with its header, in hexadecimal, named
//! `<server or client>-<version>-<what>`. The servers were private ones without TLS files; the clients logged in
//! as `tester` and were offered everything of the server's greeting but TLS.
//!
//! Not here: packets behind the login; `haproxy-...`, which are no packets (`proxy_protocol`).

use wire::connect::greeting::{self, FirstPacket, Greeting};
use wire::connect::login::{ClientHello, Login, ServerLeg};
use wire::{Capabilities, packet};

macro_rules! capture {
    ($name:literal) => {
        payload($name, include_str!(concat!("captures/", $name, ".hex")))
    };
}

const COMPRESS: Capabilities = Capabilities::COMPRESS;
const ZSTD: Capabilities = Capabilities::ZSTD_COMPRESSION_ALGORITHM;

/// What a capture's digits stand for.
pub(crate) fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The payload of a captured packet; its header must fit it.
fn payload(name: &str, hex: &str) -> Vec<u8> {
    let bytes = bytes_of(hex);
    let header = packet::Header::parse(&bytes).unwrap();
    assert_eq!(header.payload_len, bytes.len() - packet::HEADER_LEN, "{name}");
    assert_eq!(header.sequence_id, u8::from(!name.ends_with("greeting")), "{name}");
    bytes[packet::HEADER_LEN..].to_vec()
}

fn greeting_of(payload: &[u8]) -> Greeting {
    let Ok(FirstPacket::Greeting(greeting)) = FirstPacket::parse(payload) else { panic!("no greeting") };
    greeting
}

fn login_of(payload: &[u8]) -> Login {
    let Ok(ClientHello::Login(login)) = ClientHello::parse(payload) else { panic!("no login") };
    login
}

#[test]
fn greetings_say_what_their_servers_are() {
    for (payload, version, mariadb, zstd, plugin) in [
        (capture!("mysql-9.7.4-greeting"), "9.7.4-2", false, true, "caching_sha2_password"),
        (
            capture!("mariadb-10.11.19-greeting"),
            "5.5.5-10.11.19-MariaDB-0+deb12u1",
            true,
            false,
            "mysql_native_password",
        ),
        (
            capture!("mariadb-11.8.6-greeting"),
            "11.8.6-MariaDB-0+deb13u1 from Debian",
            true,
            false,
            "mysql_native_password",
        ),
    ] {
        let greeting = greeting_of(&payload);
        assert_eq!(String::from_utf8_lossy(&greeting.server_version), version);
        assert_eq!(greeting.is_mariadb(), mariadb, "{version}");
        assert_eq!(greeting.capabilities.contains(ZSTD), zstd, "{version}");
        assert!(greeting.capabilities.contains(COMPRESS | Capabilities::DEPRECATE_EOF), "{version}");
        assert_eq!(
            greeting.capabilities.contains(Capabilities::MARIADB_CACHE_METADATA),
            mariadb,
            "{version}"
        );
        assert_eq!(String::from_utf8_lossy(&greeting.auth_plugin), plugin, "{version}");
        assert_eq!(greeting.nonce.len(), 20, "{version}");
        assert_eq!(greeting.status, 2, "{version}");
    }
}

#[test]
fn a_greeting_is_rebuilt_byte_for_byte() {
    for payload in [
        capture!("mysql-9.7.4-greeting"),
        capture!("mariadb-10.11.19-greeting"),
        capture!("mariadb-11.8.6-greeting"),
    ] {
        let greeting = greeting_of(&payload);
        assert_eq!(greeting.build(), payload);
        let mut same = payload.clone();
        greeting::replace_capabilities(&mut same, greeting.capabilities).unwrap();
        assert_eq!(same, payload);

        let fewer = greeting.capabilities - COMPRESS - ZSTD;
        let mut rewritten = payload.clone();
        greeting::replace_capabilities(&mut rewritten, fewer).unwrap();
        assert_eq!(greeting_of(&rewritten), Greeting { capabilities: fewer, ..greeting });
    }
}

/// Name, payload, compression bits, level, database.
type Captured = (&'static str, Vec<u8>, Capabilities, Option<u8>, Option<&'static [u8]>);

fn logins() -> Vec<Captured> {
    const NONE: Capabilities = Capabilities::NONE;
    vec![
        ("mysql", capture!("mysql-cli-9.7.4-login"), NONE, None, Some(b"test")),
        ("mysql zstd", capture!("mysql-cli-9.7.4-login-zstd-7"), ZSTD, Some(7), None),
        (
            "mysql both",
            capture!("mysql-cli-9.7.4-login-zlib-and-zstd"),
            Capabilities(COMPRESS.0 | ZSTD.0),
            Some(3),
            None,
        ),
        ("mariadb", capture!("mariadb-cli-10.11.19-login"), NONE, None, Some(b"test")),
        ("mariadb zlib", capture!("mariadb-cli-10.11.19-login-zlib"), COMPRESS, None, None),
        ("mariadb 11.8", capture!("mariadb-cli-11.8.6-login"), NONE, None, Some(b"test")),
        ("pymysql", capture!("pymysql-1.2.4-login"), NONE, None, Some(b"test")),
        ("connector-python", capture!("connector-python-26.10.0-login-zlib"), COMPRESS, None, None),
        ("mysql2", capture!("node-mysql2-3.24.6-login-zlib"), COMPRESS, None, Some(b"test")),
        ("node mariadb", capture!("node-mariadb-3.5.4-login-zlib"), COMPRESS, None, None),
    ]
}

#[test]
fn logins_say_what_their_clients_want() {
    for (name, payload, compression, level, database) in logins() {
        let login = login_of(&payload);
        assert_eq!(login.user, b"tester", "{name}");
        assert_eq!(login.capabilities & (COMPRESS | ZSTD), compression, "{name}");
        assert_eq!(login.zstd_level, level, "{name}");
        assert_eq!(login.database.as_deref().filter(|name| !name.is_empty()), database, "{name}");
        assert!(login.attributes.is_some_and(|attributes| !attributes.is_empty()), "{name}");
        // MySQL's plugin answers with 32 bytes, MariaDB's with 20.
        let expected_len = if login.auth_plugin == Some(b"caching_sha2_password".to_vec()) { 32 } else { 20 };
        assert_eq!(login.auth_response.len(), expected_len, "{name}");
    }
}

fn for_server_leg(
    payload: &[u8],
    capabilities: Capabilities,
    zstd_level: Option<u8>,
) -> Result<Vec<u8>, wire::Fault> {
    Login::for_server_leg(payload, &ServerLeg { capabilities, zstd_level, ..ServerLeg::default() })
}

#[test]
fn a_login_passes_to_an_equal_leg_byte_for_byte() {
    for (name, payload, _, level, _) in logins() {
        let login = login_of(&payload);
        assert_eq!(for_server_leg(&payload, login.capabilities, level), Ok(payload), "{name}");
    }
}

#[test]
fn a_login_for_every_other_leg_differs_in_compression_alone() {
    for (name, payload, compression, ..) in logins() {
        let login = login_of(&payload);
        let others = login.capabilities - COMPRESS - ZSTD;
        for (wanted, level) in [(Capabilities::NONE, None), (COMPRESS, None), (ZSTD, Some(22))] {
            let rewritten = for_server_leg(&payload, others | wanted, level).unwrap();
            let expected = Login { capabilities: others | wanted, zstd_level: level, ..login.clone() };
            assert_eq!(login_of(&rewritten), expected, "{name}");
            // And back again.
            let back = for_server_leg(&rewritten, others | compression, login.zstd_level).unwrap();
            assert_eq!(back, payload, "{name}");
        }
    }
}

#[test]
fn a_login_is_rebuilt_with_the_same_fields() {
    for (name, payload, ..) in logins() {
        let login = login_of(&payload);
        assert_eq!(login_of(&login.build()), login, "{name}");
    }
}
