//! Passwords that a server asks for without a word of MySQL's form: MariaDB's own `caching_sha2_password`; and those whose
//! plugin isn't named.
//!
//! Not here: MySQL's form and real servers (`live::authentication`).

use codec::Algorithm;
use lab::peer::{Listener, Peer};

use wire::connect::{Greeting, Login};

use crate::scripted::{OK, Session, Stage, Transport, greeting, login};

/// Nobody has its private half.
const KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEArbGdfObPPZ04aWuFWI3k
DnIUboay0L8qM6hXBatsteo/WYZE0sveDFsoqg4mQvWTWCaoPIfHTbw5AXkQfsGS
7AUEXYxyjhpeFKU96J3Tq45Im/RuPcMPKR24mPGu3UXnc0crjZ81zibU0Ov/JM7x
rVIHF8pycWHJYAtLTlbQ3Amvl6JXCHQu/7RsC3mC6kRCWI/JT+ll0aUNJ2sSZsGK
mtJXJIdZxtaoHNNStPUTEVibT6ckYINfobd0Ffky/E1vbh6b6fpecO123bG4RBfu
dwnTd7KcFUScUT3bQ/+vG/duhnBg/v/WT6wGfN2Duvyx0FvPUpk221tm5Dum3Cuw
YQIDAQAB
-----END PUBLIC KEY-----
";

fn send(peer: &mut Peer, id: u8, payload: &[u8]) {
    peer.send(&lab::peer::packets(id, [payload])).unwrap();
}

/// From the server's `04`, whose packet has this id, to its OK.
fn full_authentication(client: &mut Peer, server: &mut Peer, id: u8) {
    send(server, id, &[4]);
    assert_eq!(client.receive().unwrap().payload, [4]);
    send(client, id + 1, b"secret\0");
    assert_eq!(server.receive().unwrap().payload, [2], "the password crossed a plain leg");
    send(server, id + 2, KEY.as_bytes());
    assert_eq!(server.receive().unwrap().payload.len(), 256);
    send(server, id + 4, OK);
    assert_eq!(client.receive().unwrap().payload, OK);
}

#[test]
fn a_password_that_mariadb_asks_for_is_encrypted_towards_a_plain_server() {
    let plain = Listener::tcp().unwrap();
    // Its clients' leg is a socket, which is as good as TLS.
    let mut stage = Stage::with(Transport::Unix, |config| {
        config.servers = vec![plain.address().unwrap().parse().unwrap()];
        config.server_algorithms = vec![Algorithm::Uncompressed];
    });
    stage.listener = plain;
    let Session { mut client, mut server } = stage.greeted();
    send(&mut client, 1, &login(Algorithm::Uncompressed).build());
    server.receive().unwrap();
    full_authentication(&mut client, &mut server, 2);

    send(&mut client, 0, b"\x11other\0\0\0\x2d\0caching_sha2_password\0");
    server.receive().unwrap();
    full_authentication(&mut client, &mut server, 1);
    Session { client, server }.assert_alive();
}

/// Servers take a response without a plugin's name for one of mysql_native_password, whatever they greet with.
#[test]
fn a_login_that_names_no_plugin_is_not_refused_for_the_servers_own() {
    let stage = Stage::new(Transport::Tcp, Algorithm::Zstd);
    let mut client = stage.connect();
    let mut server = stage.listener.accept().unwrap();
    let greeting = Greeting { auth_plugin: b"mysql_clear_password".to_vec(), ..greeting() };
    send(&mut server, 0, &greeting.build());
    client.receive().unwrap();
    let mut without = Login { auth_plugin: None, ..login(Algorithm::Uncompressed) }.build();
    without.pop();
    send(&mut client, 1, &without);
    let passed = Login::parse(&server.receive().unwrap().payload).unwrap();
    assert_eq!(passed.auth_plugin.as_deref(), Some(&b"mysql_native_password"[..]));
    assert_eq!((passed.auth_response, passed.zstd_level), (vec![9; 32].into(), Some(3)));
    send(&mut server, 2, OK);
    assert_eq!(client.receive().unwrap().payload, OK);
}

/// The word that asks for nothing comes with the OK.
#[test]
fn a_password_that_mariadb_knew_is_not_asked_for() {
    let stage = Stage::new(Transport::Tcp, Algorithm::Uncompressed);
    let Session { mut client, mut server } = stage.greeted();
    send(&mut client, 1, &login(Algorithm::Uncompressed).build());
    server.receive().unwrap();
    send(&mut server, 2, &[3]);
    send(&mut server, 3, OK);
    for said in [&[3][..], OK] {
        assert_eq!(client.receive().unwrap().payload, said);
    }
    Session { client, server }.assert_alive();
}
