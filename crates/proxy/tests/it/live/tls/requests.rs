//! The capability bits of the SSLRequest count, and those of the login behind it don't (docs/protocol.md, rule 7).
//!
//! Each case is compared with a direct connection: both servers do as they are said to do.
//! Not here: clients that send the same bits twice, as all real ones do.

use std::io::{Read, Write};
use std::net::TcpStream;

use codec::Algorithm;
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use proxy::Address;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};
use wire::connect::greeting::FirstPacket;
use wire::connect::login::ssl_request;
use wire::connect::{Login, scramble};
use wire::response::ErrPacket;
use wire::{Capabilities, Endpoint, command};

use super::super::client::remember_password;
use super::certificates::Pair;
use super::{Leg, front, mariadb_10_11, start_tls};

/// What both packets say.
const COMMON: [Capabilities; 4] = [
    Capabilities::PROTOCOL_41,
    Capabilities::LONG_PASSWORD,
    Capabilities::SECURE_CONNECTION,
    Capabilities::PLUGIN_AUTH,
];

/// A session behind TLS.
struct Session {
    stream: StreamOwned<ClientConnection, TcpStream>,
    end: Endpoint,
}

impl Session {
    /// Says `in_request` in the SSLRequest and `in_login` in the login, whose last byte may be a level.
    fn open(
        address: &Address,
        in_request: Capabilities,
        in_login: Capabilities,
        zstd_level: Option<u8>,
    ) -> Result<Self, ErrPacket> {
        let Address::Tcp { host, port } = address else { unreachable!() };
        let mut socket = TcpStream::connect((host.as_str(), *port)).unwrap();
        let mut end = Endpoint::new(1 << 24);
        let first = FirstPacket::parse(&receive(&mut socket, &mut end)).unwrap();
        let FirstPacket::Greeting(greeting) = first else { panic!("{first:?}") };
        let answer = match greeting.auth_plugin.as_slice() {
            b"mysql_native_password" => scramble::native_password(PASSWORD.as_bytes(), &greeting.nonce),
            _ => scramble::caching_sha2_password(PASSWORD.as_bytes(), &greeting.nonce),
        };
        let both = COMMON.into_iter().fold(Capabilities::SSL, |all, one| all | one);
        let login = Login {
            capabilities: both | in_login,
            max_packet_len: 1 << 24,
            charset: 45,
            user: USER.into(),
            auth_response: answer.into(),
            auth_plugin: Some(greeting.auth_plugin),
            zstd_level,
            ..Login::default()
        };
        let login = login.build();
        send(&mut socket, &mut end, &ssl_request(&login, both | in_request));
        let mut stream = start_tls(socket);
        send(&mut stream, &mut end, &login);
        loop {
            let payload = receive(&mut stream, &mut end);
            match payload.first() {
                Some(0x00) => return Ok(Self { stream, end }),
                Some(0xff) => return Err(ErrPacket::parse(&payload).unwrap()),
                _ => assert_eq!(payload, [1, 3], "was remember_password called?"),
            }
        }
    }

    /// Asks for a row of text; the reply's first payloads, which show its shape.
    fn ask(&mut self, algorithm: Algorithm) -> Vec<Vec<u8>> {
        self.end.start_compression(algorithm, 3);
        self.end.begin_command();
        let query = b"select repeat('x', 1000)";
        send(&mut self.stream, &mut self.end, &[&[command::COM_QUERY], query.as_slice()].concat());
        let mut payloads = Vec::new();
        // Count, column, then the row, between EOFs or with an OK behind it.
        while payloads.len() < 4 {
            payloads.push(receive(&mut self.stream, &mut self.end));
        }
        payloads
    }
}

fn send(stream: &mut impl Write, end: &mut Endpoint, payload: &[u8]) {
    end.send(payload);
    end.flush();
    stream.write_all(end.output()).unwrap();
    stream.flush().unwrap();
    end.sent(end.output().len());
}

fn receive(stream: &mut impl Read, end: &mut Endpoint) -> Vec<u8> {
    let mut room = [0; 4 << 10];
    loop {
        if let Some(payload) = end.packet().unwrap() {
            return payload;
        }
        let len = stream.read(&mut room).unwrap();
        assert_ne!(len, 0, "the connection was closed");
        end.receive(&room[..len]);
    }
}

const NONE: Capabilities = Capabilities::NONE;
const ZLIB: Capabilities = Capabilities::COMPRESS;
const ZSTD: Capabilities = Capabilities::ZSTD_COMPRESSION_ALGORITHM;

/// Directly and through the proxy, the client's leg is what its SSLRequest says, and the server's is the proxy's own.
fn the_ssl_requests_bits_count(server: &RealServer, server_leg: Algorithm, cases: &[Case]) {
    remember_password(server);
    let pair = Pair::of_mysql(required(Kind::MySql).unwrap());
    for to_server in [Leg::Tls, Leg::Plain] {
        let front = front(server, [Leg::Tls, to_server], &pair, |config| {
            config.server_algorithms = vec![server_leg];
        });
        for &(in_request, in_login, level, expected) in cases {
            let context = format!("{in_request:?}, then {in_login:?}, {to_server:?}");
            let direct = Session::open(&server.address().into(), in_request, in_login, level);
            let through = Session::open(front.proxy.address(), in_request, in_login, level);
            match (direct, through, expected) {
                (Ok(mut direct), Ok(mut through), Ok(algorithm)) => {
                    assert_eq!(through.ask(algorithm), direct.ask(algorithm), "{context}");
                }
                (Err(direct), Err(through), Err(code)) => {
                    assert_eq!((through.code, direct.code), (code, code), "{context}");
                }
                (direct, through, _) => {
                    panic!("{context}: {:?} directly, {:?} through", direct.err(), through.err())
                }
            }
        }
    }
}

/// The SSLRequest's bits, the login's, its level, and the leg's algorithm or the error.
type Case = (Capabilities, Capabilities, Option<u8>, Result<Algorithm, u16>);

#[test]
fn the_ssl_requests_compression_bits_count_as_on_mysql() {
    let Some(server) = required(Kind::MySql) else { return };
    let cases = [
        (ZLIB, NONE, None, Ok(Algorithm::Zlib)),
        (NONE, ZLIB, None, Ok(Algorithm::Uncompressed)),
        (ZSTD, NONE, Some(3), Ok(Algorithm::Zstd)),
        (NONE, ZSTD, Some(3), Ok(Algorithm::Uncompressed)),
        (ZSTD, ZLIB, Some(3), Ok(Algorithm::Zstd)),
        (ZLIB, ZSTD, Some(3), Ok(Algorithm::Zlib)),
        (ZLIB | ZSTD, NONE, Some(3), Ok(Algorithm::Zlib)),
        // ER_WRONG_COMPRESSION_LEVEL_CLIENT: a level is wanted.
        (ZSTD, NONE, None, Err(3923)),
    ];
    the_ssl_requests_bits_count(server, Algorithm::Zstd, &cases);
}

#[test]
fn the_ssl_requests_compression_bits_count_as_on_mariadb() {
    let Some(server) = mariadb_10_11() else { return };
    let cases = [(ZLIB, NONE, None, Ok(Algorithm::Zlib)), (NONE, ZLIB, None, Ok(Algorithm::Uncompressed))];
    the_ssl_requests_bits_count(server, Algorithm::Zlib, &cases);
}

/// The reply's shape follows from it: a proxy that believed the login would lose count of the packets.
#[test]
fn the_ssl_requests_other_bits_count_too() {
    let Some(server) = required(Kind::MySql) else { return };
    let eof = Capabilities::DEPRECATE_EOF;
    let cases = [
        (eof, NONE, None, Ok(Algorithm::Uncompressed)),
        (NONE, eof, None, Ok(Algorithm::Uncompressed)),
        (eof | ZLIB, NONE, None, Ok(Algorithm::Zlib)),
        (ZLIB, eof, None, Ok(Algorithm::Zlib)),
    ];
    the_ssl_requests_bits_count(server, Algorithm::Zstd, &cases);
}
