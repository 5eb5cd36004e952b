//! A login that announces the name of its plugin and leaves it out: servers take its answer for one of
//! mysql_native_password.
//!
//! Not here: such a login's bytes on the server leg (`wire::connect::login`).

use codec::Algorithm;
use lab::peer::{Peer, packets};
use lab::real::{Kind, Options, PASSWORD, USER, required_with};
use proxy::{ListenerConfig, Proxy};
use wire::Capabilities;
use wire::connect::greeting::FirstPacket;
use wire::connect::{Login, scramble};

/// What the login is answered with.
fn answer(address: &str) -> Vec<u8> {
    let mut peer = Peer::connect(address).unwrap();
    let first = FirstPacket::parse(&peer.receive().unwrap().payload).unwrap();
    let FirstPacket::Greeting(greeting) = first else { panic!("{first:?}") };
    let mut login = Login {
        capabilities: Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH,
        max_packet_len: 1 << 24,
        charset: 45,
        user: USER.into(),
        auth_response: scramble::native_password(PASSWORD.as_bytes(), &greeting.nonce).into(),
        ..Login::default()
    }
    .build();
    assert_eq!(login.pop(), Some(0), "the end of an empty name");
    peer.send(&packets(1, [login.as_slice()])).unwrap();
    peer.receive().unwrap().payload
}

fn is_answered(kind: Kind, server_leg: Algorithm, expected: &[u8]) {
    let Some(server) = required_with(kind, &Options::new()) else { return };
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server.address().into());
    config.server_algorithms = vec![server_leg];
    let proxy = Proxy::start(config).unwrap();
    for address in [server.address().to_string(), proxy.address().to_string()] {
        let answer = answer(&address);
        assert!(answer.starts_with(expected), "{address}: {}", answer.escape_ascii());
    }
}

#[test]
fn mysql_switches_it_to_the_accounts_own_plugin() {
    is_answered(Kind::MySql, Algorithm::Zstd, b"\xfecaching_sha2_password\0");
}

#[test]
fn mariadb_lets_it_in() {
    is_answered(Kind::MariaDb, Algorithm::Zlib, &[0]);
}
