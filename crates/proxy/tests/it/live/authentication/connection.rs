//! A client of our own, for what the command line clients can't do: COM_CHANGE_USER on a leg of any algorithm, with
//! or without TLS.
//!
//! It behaves as libmysqlclient: a Unix socket counts as secure, the last nonce is the one that counts, and any
//! certificate is taken.
//! Not here: the state machine it is made of (`wire::Endpoint`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use codec::Algorithm;
use proxy::Address;
use wire::connect::auth::Security;
use wire::connect::greeting::FirstPacket;
use wire::connect::login::ssl_request;
use wire::connect::{Login, scramble};
use wire::response::ErrPacket;
use wire::{Capabilities, Endpoint, Reader, command};

use super::super::tls::start_tls;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A logged-in connection.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    end: Endpoint,
    security: Security,
    nonce: Vec<u8>,
}

impl Connection {
    /// Connects and logs in.
    pub(crate) fn open(
        address: &Address,
        algorithm: Algorithm,
        user: &str,
        password: &str,
    ) -> Result<Self, ErrPacket> {
        Self::open_with(address, false, algorithm, user, password)
    }

    /// Connects with TLS and logs in.
    pub(crate) fn open_tls(
        address: &Address,
        algorithm: Algorithm,
        user: &str,
        password: &str,
    ) -> Result<Self, ErrPacket> {
        Self::open_with(address, true, algorithm, user, password)
    }

    fn open_with(
        address: &Address,
        tls: bool,
        algorithm: Algorithm,
        user: &str,
        password: &str,
    ) -> Result<Self, ErrPacket> {
        let (stream, security): (Box<dyn Stream>, Security) = match address {
            Address::Tcp { host, port } => {
                (Box::new(TcpStream::connect((host.as_str(), *port)).unwrap()), Security::Plain)
            }
            Address::Unix(path) => (Box::new(UnixStream::connect(path).unwrap()), Security::Socket),
            Address::Pair(_) => panic!("clients connect to no pair"),
        };
        let mut connection = Self { stream, end: Endpoint::new(64 << 20), security, nonce: Vec::new() };
        let greeting = match FirstPacket::parse(&connection.receive()).unwrap() {
            FirstPacket::Greeting(greeting) => greeting,
            FirstPacket::Refusal(error) => return Err(error),
        };
        connection.nonce.clone_from(&greeting.nonce);
        if tls {
            connection.security = Security::Tls;
        }
        let plugin = String::from_utf8(greeting.auth_plugin.clone()).unwrap();
        let login = Login {
            capabilities: CAPABILITIES
                .with(Capabilities::SSL, tls)
                .with(Capabilities::COMPRESS, algorithm == Algorithm::Zlib)
                .with(Capabilities::ZSTD_COMPRESSION_ALGORITHM, algorithm == Algorithm::Zstd),
            max_packet_len: 64 << 20,
            charset: UTF8MB4_GENERAL_CI,
            user: user.into(),
            auth_response: connection.answer(&plugin, password).into(),
            auth_plugin: Some(plugin.into_bytes()),
            zstd_level: (algorithm == Algorithm::Zstd).then_some(3),
            ..Login::default()
        };
        let payload = login.build();
        if tls {
            connection.send(&ssl_request(&payload, login.capabilities));
            let stream = std::mem::replace(&mut connection.stream, Box::new(std::io::empty()));
            connection.stream = Box::new(start_tls(stream));
        }
        connection.send(&payload);
        connection.authenticate(password)?;
        connection.end.start_compression(algorithm, 3);
        Ok(connection)
    }

    /// COM_CHANGE_USER, its first answer made with `plugin`.
    pub(crate) fn change_user(&mut self, plugin: &str, user: &str, password: &str) -> Result<(), ErrPacket> {
        let answer = self.answer(plugin, password);
        let mut payload = vec![command::COM_CHANGE_USER];
        payload.extend_from_slice(user.as_bytes());
        payload.extend_from_slice(&[0, u8::try_from(answer.len()).unwrap()]);
        payload.extend_from_slice(&answer);
        payload.extend_from_slice(&[0, UTF8MB4_GENERAL_CI, 0]);
        payload.extend_from_slice(plugin.as_bytes());
        payload.push(0);
        self.end.begin_command();
        self.send(&payload);
        self.authenticate(password)
    }

    /// Says that it is the last word.
    pub(crate) fn quit(&mut self) {
        self.end.begin_command();
        self.send(&[command::COM_QUIT]);
    }

    /// A statement's first column of its last row.
    pub(crate) fn query(&mut self, statement: &str) -> Result<String, ErrPacket> {
        let mut payload = vec![command::COM_QUERY];
        payload.extend_from_slice(statement.as_bytes());
        self.end.begin_command();
        self.send(&payload);
        let (mut ends_seen, mut value) = (0, String::new());
        loop {
            let payload = self.receive();
            match payload.first() {
                Some(0xff) => return Err(ErrPacket::parse(&payload).unwrap()),
                Some(0x00) if ends_seen == 0 => return Ok(value),
                Some(0xfe) if payload.len() < 9 => ends_seen += 1,
                _ if ends_seen == 1 => {
                    value =
                        String::from_utf8(Reader::new(&payload).lenenc_bytes().unwrap().to_vec()).unwrap();
                }
                _ => {}
            }
            if ends_seen == 2 {
                return Ok(value);
            }
        }
    }

    fn authenticate(&mut self, password: &str) -> Result<(), ErrPacket> {
        loop {
            let payload = self.receive();
            match payload.as_slice() {
                [0x00, ..] => return Ok(()),
                [0xff, ..] => return Err(ErrPacket::parse(&payload).unwrap()),
                [0xfe, rest @ ..] => {
                    let mut reader = Reader::new(rest);
                    let plugin = String::from_utf8(reader.nul_terminated().unwrap().to_vec()).unwrap();
                    let nonce = reader.rest();
                    self.nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec();
                    let answer = self.answer(&plugin, password);
                    self.send(&answer);
                }
                [0x01, 0x03] => {}
                [0x01, 0x04] if self.security != Security::Plain => {
                    self.send(&[password.as_bytes(), &[0]].concat())
                }
                [0x01, 0x04] => self.send(&[0x02]),
                [0x01, pem @ ..] => {
                    let ciphertext = self.encrypt(pem, password);
                    self.send(&ciphertext);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn answer(&self, plugin: &str, password: &str) -> Vec<u8> {
        match plugin {
            "caching_sha2_password" => scramble::caching_sha2_password(password.as_bytes(), &self.nonce),
            "mysql_native_password" => scramble::native_password(password.as_bytes(), &self.nonce),
            // It counts a socket as plain, and asks for the key there.
            "sha256_password" if self.security == Security::Tls => [password.as_bytes(), &[0]].concat(),
            "sha256_password" => vec![0x01],
            other => panic!("{other}"),
        }
    }

    fn encrypt(&self, pem: &[u8], password: &str) -> Vec<u8> {
        let (_, der) = pem_rfc7468::decode_vec(pem.trim_ascii_end()).unwrap();
        let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap()).unwrap();
        let masked = scramble::xor(&[password.as_bytes(), &[0]].concat(), &self.nonce);
        let mut room = vec![0; key.ciphertext_size()];
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &masked, &mut room, None).unwrap().to_vec()
    }

    fn send(&mut self, payload: &[u8]) {
        self.end.send(payload);
        self.end.flush();
        self.stream.write_all(self.end.output()).unwrap();
        self.end.sent(self.end.output().len());
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut room = [0; 16 << 10];
        loop {
            if let Some(payload) = self.end.packet().unwrap() {
                return payload;
            }
            let len = self.stream.read(&mut room).unwrap();
            assert_ne!(len, 0, "the connection was closed");
            self.end.receive(&room[..len]);
        }
    }
}

const CAPABILITIES: Capabilities = Capabilities::from_bits(
    Capabilities::PROTOCOL_41.mysql_bits()
        | Capabilities::LONG_PASSWORD.mysql_bits()
        | Capabilities::SECURE_CONNECTION.mysql_bits()
        | Capabilities::PLUGIN_AUTH.mysql_bits(),
    0,
);
const UTF8MB4_GENERAL_CI: u8 = 45;
