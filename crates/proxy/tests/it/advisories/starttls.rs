//! Bytes that arrive before TLS are never taken for what came inside it: STARTTLS injection.
//!
//! ```text
//! client leg   SSLRequest | login, as the network adds it | TLS
//! server leg   greeting   | OK, as the network adds it    | TLS
//! ```
//! Sources: <https://nostarttls.secvuln.info/>; PostgreSQL's CVE-2021-23214 (its server) and CVE-2021-23222 (its client).
//! Not here: TLS that works (`live::tls`).

use std::io::Write;

use codec::Algorithm;
use lab::peer::{Peer, packets};
use proxy::{SslMode, TlsMode};
use tokio_rustls::rustls::StreamOwned;
use wire::command::COM_QUERY;
use wire::connect::login::ssl_request;
use wire::connect::{Greeting, Login};
use wire::{Capabilities, Side};

use crate::bad_input::{assert_counted, assert_told};
use crate::live::tls::client_connection;
use crate::scripted::{OK, Session, Stage, Transport, greeting, listener_tls, login};

fn tls_login() -> Login {
    let own = login(Algorithm::Uncompressed);
    Login { capabilities: own.capabilities | Capabilities::SSL, ..own }
}

/// How the injected bytes come: with the beginning of TLS, or read before it is there.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    Together,
    Before,
}

const ARRIVALS: [Arrival; 2] = [Arrival::Together, Arrival::Before];

/// A client's SSLRequest, `between`, and its side of TLS with a login inside. What the server got of it.
fn log_in_behind(stage: &Stage, between: &[u8], arrival: Arrival) -> (Login, Peer) {
    let Session { mut client, mut server } = stage.greeted();
    let login = tls_login();
    let payload = login.build();
    let request = packets(1, [ssl_request(&payload, login.capabilities).as_slice()]);
    let mut tls = client_connection();
    let mut hello = Vec::new();
    tls.write_tls(&mut hello).unwrap();
    let injected = [request.as_slice(), between].concat();
    match arrival {
        Arrival::Together => client.send(&[injected, hello].concat()).unwrap(),
        // A socket that was closed takes no more.
        Arrival::Before => drop(client.send_pieces(&[&injected, &hello])),
    }
    let mut stream = StreamOwned::new(tls, client.into_stream());
    // Where the handshake failed it is of no use.
    drop(stream.write_all(&packets(2, [payload.as_slice()])).and_then(|()| stream.flush()));
    let received = Login::parse(&server.receive().unwrap().payload).unwrap();
    (received, server)
}

/// nostarttls.secvuln.info, PostgreSQL CVE-2021-23214.
#[test]
fn a_login_behind_the_request_for_tls_is_never_taken_for_one_inside() {
    let folder = tempfile::tempdir().unwrap();
    let tls = listener_tls(folder.path(), TlsMode::Preferred);
    let stage = || {
        // A Unix socket: what came in two writes is read in two.
        Stage::with(Transport::Unix, |config| {
            config.tls = tls.clone();
            config.server_algorithms = vec![Algorithm::Uncompressed];
        })
    };
    // Nothing between: so the rest of this test is about what is between.
    for arrival in ARRIVALS {
        let stage = stage();
        let (received, _server) = log_in_behind(&stage, b"", arrival);
        assert_eq!(received.user, b"tester", "{arrival:?}");
    }

    let evil = Login { user: b"evil".to_vec(), ..tls_login() }.build();
    let login = packets(2, [evil.as_slice()]);
    let query = packets(0, [&[&[COM_QUERY][..], b"drop table t"].concat()[..]]);
    let injections =
        [login.clone(), [login.clone(), query].concat(), login[..20].to_vec(), vec![0], OK.to_vec()];
    for (injected, arrival) in injections.iter().flat_map(|bytes| ARRIVALS.map(|arrival| (bytes, arrival))) {
        let stage = stage();
        let (received, mut server) = log_in_behind(&stage, injected, arrival);
        assert_eq!(received.user, b"wirepress_probe", "{arrival:?}: {}", injected.escape_ascii());
        server.send(&packets(2, [&b"\xff\x15\x04#28000Access denied"[..]])).unwrap();
        assert_eq!(server.receive_end().unwrap(), 0, "something else reached the server");
        assert_counted(&stage, Side::Client, "tls");
    }
}

/// nostarttls.secvuln.info, PostgreSQL CVE-2021-23222.
#[test]
fn a_servers_words_behind_its_greeting_are_never_taken_for_some_inside_tls() {
    let capabilities = greeting().capabilities | Capabilities::SSL;
    let greeting = packets(0, [Greeting { capabilities, ..greeting() }.build().as_slice()]);
    for mode in [SslMode::Preferred, SslMode::Required] {
        for injected in [packets(3, [OK]), packets(2, [OK]), packets(2, [&[1_u8, 4][..]]), vec![0]] {
            let stage = Stage::with(Transport::Tcp, |config| config.server_tls.mode = Some(mode));
            let mut client = stage.connect();
            let mut server = stage.listener.accept().unwrap();
            server.send(&[greeting.clone(), injected.clone()].concat()).unwrap();
            client.receive().unwrap();
            client.send(&packets(1, [login(Algorithm::Uncompressed).build().as_slice()])).unwrap();
            assert_told(&mut client, 1429, "TLS");
            let request = server.receive().unwrap().payload;
            assert_eq!(request.len(), 32, "a login in clear");
            drop((client, server));
            assert_counted(&stage, Side::Server, "tls");
        }
    }
}
