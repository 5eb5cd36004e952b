//! How sessions end on legs of TLS.
//!
//! Not here: ends without TLS (`flows::ends`).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;

use codec::Algorithm::Uncompressed;
use lab::peer::packets;
use lab::real::{Kind, required};
use proxy::SslMode;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream};
use wire::connect::Greeting;
use wire::packet::Header;
use wire::{Capabilities, command};

use super::super::authentication::Connection;
use super::super::front::{Front, Transport};
use super::certificates::{Authority, Pair};
use crate::scripted::{OK, greeting};

/// The proxy's end of TLS reaches a server that has closed, or is about to close without reading it. Its kernel then
/// answers with a reset, of which nobody needs to hear.
#[test]
fn a_server_that_resets_after_the_clients_farewell_ends_the_session_in_order() {
    let Some(real) = required(Kind::MySql) else { return };
    let authority = Authority::new();
    let config = tls_server(&authority.sign("server", &[]));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (quit_was_read, farewell) = mpsc::channel();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        log_in_anybody(&mut socket, config, |stream| {
            assert_eq!(receive(stream), [command::COM_QUIT]);
            quit_was_read.send(()).unwrap();
        });
        // The end of TLS is here and stays unread.
        socket.peek(&mut [0]).unwrap();
    });
    let front = Front::with(real, (Transport::Tcp, Transport::Tcp), |config| {
        config.servers = vec![address.into()];
        config.server_algorithms = vec![Uncompressed];
        config.server_tls.mode = Some(SslMode::Required);
    });
    let mut session = Connection::open(front.proxy.address(), Uncompressed, "anybody", "secret").unwrap();
    session.quit();
    farewell.recv().unwrap();
    drop(session);
    server.join().unwrap();
    let faults = front.ended().faults();
    assert!(faults.is_empty(), "{faults:?}");
}

fn log_in_anybody(
    socket: &mut TcpStream,
    config: Arc<ServerConfig>,
    then: impl FnOnce(&mut Stream<'_, ServerConnection, TcpStream>),
) {
    let capabilities = greeting().capabilities | Capabilities::SSL;
    let greeting = Greeting { capabilities, ..greeting() };
    socket.write_all(&packets(0, [greeting.build().as_slice()])).unwrap();
    receive(socket); // The SSLRequest.
    let mut tls = ServerConnection::new(config).unwrap();
    let mut stream = Stream::new(&mut tls, socket);
    receive(&mut stream); // The login.
    stream.write_all(&packets(3, [OK])).unwrap();
    then(&mut stream);
}

fn tls_server(pair: &Pair) -> Arc<ServerConfig> {
    let cert = CertificateDer::from_pem_file(&pair.cert).unwrap();
    let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![cert], key).unwrap())
}

/// A packet's payload.
fn receive(stream: &mut impl Read) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; Header::parse(&header).unwrap().payload_len];
    stream.read_exact(&mut payload).unwrap();
    payload
}
