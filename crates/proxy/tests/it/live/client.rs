//! A small blocking client on `wire::Endpoint`: it asks for any algorithm, level and capability, sends any
//! command, and gives back payloads as they came, so that a test can compare them with a direct connection's.
//!
//! Invariants: a reply that stops coming fails the test after [`PATIENCE`]; nothing of a payload is interpreted
//! but where its reply ends.
//!
//! Not here: checking sequence ids (real clients do), RSA: an account's first login is somebody else's, see
//! [`remember_password`].

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use codec::Algorithm;
use lab::real::{Kind, PASSWORD, RealServer, USER};
use proxy::Address;
use wire::command::{COM_CHANGE_USER, COM_QUERY};
use wire::connect::greeting::FirstPacket;
use wire::connect::{Greeting, Login, scramble};
use wire::conversation::{Outcome, Reply};
use wire::response::{ErrPacket, err, ok};
use wire::{Capabilities, Endpoint};

/// What a login asks for.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) algorithm: Algorithm,
    /// The login's last byte, where the algorithm is zstd.
    pub(crate) zstd_level: u8,
    /// Compression aside.
    pub(crate) capabilities: Capabilities,
    /// Sent before the first packet, as a PROXY header is.
    pub(crate) preface: Vec<u8>,
    /// Connection attributes.
    pub(crate) attributes: Option<Vec<u8>>,
}

impl Default for Terms {
    fn default() -> Self {
        let capabilities = [
            Capabilities::LONG_PASSWORD,
            Capabilities::LONG_FLAG,
            Capabilities::PROTOCOL_41,
            Capabilities::TRANSACTIONS,
            Capabilities::SECURE_CONNECTION,
            Capabilities::MULTI_STATEMENTS,
            Capabilities::MULTI_RESULTS,
            Capabilities::PS_MULTI_RESULTS,
            Capabilities::PLUGIN_AUTH,
            Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA,
            Capabilities::DEPRECATE_EOF,
        ];
        Self {
            algorithm: Algorithm::Uncompressed,
            zstd_level: 3,
            capabilities: capabilities.into_iter().fold(Capabilities::NONE, |all, one| all | one),
            preface: Vec::new(),
            attributes: None,
        }
    }
}

/// A logged-in client.
pub(crate) struct Client {
    line: Line,
    pub(crate) greeting: Greeting,
    agreed: Capabilities,
    /// Its own end, where that is TCP.
    pub(crate) address: Option<SocketAddr>,
}

/// A socket with an endpoint on it.
struct Line {
    stream: Box<dyn Stream>,
    endpoint: Endpoint,
    received_len: usize,
    read_buffer: Vec<u8>,
}

trait Stream: Read + Write {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

impl Client {
    /// Logs in as [`USER`]; the server's or the proxy's error if that is refused.
    pub(crate) fn connect(address: &Address, terms: &Terms) -> Result<Self, ErrPacket> {
        let (mut line, address) = Line::open(address);
        line.stream.write_all(&terms.preface).unwrap();
        let greeting = match FirstPacket::parse(&line.packet().unwrap()).unwrap() {
            FirstPacket::Greeting(greeting) => greeting,
            FirstPacket::Refusal(error) => return Err(error),
        };
        let capabilities = terms
            .capabilities
            .with(Capabilities::CONNECT_ATTRS, terms.attributes.is_some())
            .with(Capabilities::COMPRESS, terms.algorithm == Algorithm::Zlib)
            .with(Capabilities::ZSTD_COMPRESSION_ALGORITHM, terms.algorithm == Algorithm::Zstd);
        let login = Login {
            capabilities,
            max_packet_len: 1 << 30,
            charset: BINARY,
            user: USER.into(),
            auth_response: answer(&greeting.auth_plugin, &greeting.nonce).into(),
            database: None,
            auth_plugin: Some(greeting.auth_plugin.clone()),
            attributes: terms.attributes.clone(),
            zstd_level: (terms.algorithm == Algorithm::Zstd).then_some(terms.zstd_level),
        };
        line.send(&login.build());
        line.authenticate()?;
        line.endpoint.start_compression(terms.algorithm, 3);
        line.received_len = 0;
        let agreed = capabilities & greeting.capabilities;
        Ok(Self { line, greeting, agreed, address })
    }

    /// Bytes on the wire that came since the login.
    pub(crate) fn received_len(&self) -> usize {
        self.line.received_len
    }

    /// Sends a command.
    pub(crate) fn send(&mut self, command: &[u8]) {
        self.line.endpoint.begin_command();
        self.line.send(command);
    }

    /// The next payload, or nothing at the server's end.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        self.line.packet()
    }

    /// Sends a command and waits for the whole reply: its payloads.
    pub(crate) fn ask(&mut self, command: &[u8]) -> Vec<Vec<u8>> {
        self.send(command);
        let Some(mut reply) = Reply::to(command[0]) else { return Vec::new() };
        let mut payloads = Vec::new();
        loop {
            let payload = self.packet().expect("closed in the middle of a reply");
            let outcome = reply.advance(self.agreed, payload.len(), &payload[..payload.len().min(32)]);
            payloads.push(payload);
            if outcome == Outcome::Done {
                return payloads;
            }
        }
    }

    /// Logs in again as [`USER`], with these connection attributes if it has any.
    pub(crate) fn change_user(&mut self, attributes: &[u8]) {
        let Greeting { auth_plugin, nonce, .. } = &self.greeting;
        let response = answer(auth_plugin, nonce);
        let mut command = [&[COM_CHANGE_USER], USER.as_bytes(), &[0]].concat();
        command.push(u8::try_from(response.len()).unwrap());
        command.extend([response.as_slice(), &[0, BINARY, 0], auth_plugin, &[0]].concat());
        if self.agreed.contains(Capabilities::CONNECT_ATTRS) {
            wire::write_lenenc_bytes(&mut command, attributes);
        }
        self.send(&command);
        self.line.authenticate().unwrap_or_else(|error| panic!("change of user refused: {error}"));
    }

    /// Sends a text query and waits for the whole reply: its payloads.
    pub(crate) fn query(&mut self, statement: impl AsRef<[u8]>) -> Vec<Vec<u8>> {
        self.ask(&[&[COM_QUERY], statement.as_ref()].concat())
    }

    /// The first value of a text query's first row; its error's text where it fails.
    pub(crate) fn value(&mut self, statement: &str) -> String {
        let payloads = self.query(statement);
        if payloads[0][0] == err::HEADER {
            return ErrPacket::parse(&payloads[0]).unwrap().to_string();
        }
        // Column count, one definition, EOF or none, the row.
        let row = if self.agreed.contains(Capabilities::DEPRECATE_EOF) { &payloads[2] } else { &payloads[3] };
        let value = wire::Reader::new(row).lenenc_bytes().unwrap().to_vec();
        String::from_utf8(value).unwrap()
    }
}

impl Line {
    fn open(address: &Address) -> (Self, Option<SocketAddr>) {
        let mut own = None;
        let stream: Box<dyn Stream> = match address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
                stream.set_nodelay(true).unwrap();
                own = stream.local_addr().ok();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
            Address::Pair(_) => panic!("clients connect to no pair"),
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
        };
        let read_buffer = vec![0; 256 << 10];
        (Self { stream, endpoint: Endpoint::new(1 << 30), received_len: 0, read_buffer }, own)
    }

    /// Follows the exchange behind the login to its end.
    fn authenticate(&mut self) -> Result<(), ErrPacket> {
        loop {
            let payload = self.packet().expect("closed during the login");
            match payload.as_slice() {
                [ok::HEADER, ..] => return Ok(()),
                [err::HEADER, ..] => return Err(ErrPacket::parse(&payload).unwrap()),
                [1, 3] => {} // caching_sha2_password: it knew the hash.
                [0xfe, rest @ ..] => {
                    let mut parts = rest.splitn(2, |byte| *byte == 0);
                    let (plugin, nonce) = (parts.next().unwrap(), parts.next().unwrap());
                    self.send(&answer(plugin, nonce.strip_suffix(&[0]).unwrap_or(nonce)));
                }
                other => panic!("the login goes on with {other:?}; was remember_password called?"),
            }
        }
    }

    fn packet(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(payload) = self.endpoint.packet().unwrap() {
                return Some(payload);
            }
            let len = match self.stream.read(&mut self.read_buffer) {
                // A killed server's kernel resets what was in flight.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                read => read.unwrap(),
            };
            if len == 0 {
                return None;
            }
            self.received_len += len;
            self.endpoint.receive(&self.read_buffer[..len]);
        }
    }

    fn send(&mut self, payload: &[u8]) {
        self.endpoint.send(payload);
        self.endpoint.flush();
        let len = self.endpoint.output().len();
        self.stream.write_all(self.endpoint.output()).unwrap();
        self.endpoint.sent(len);
    }
}

/// Lets the server put the account's hash into its cache: `caching_sha2_password` asks only strangers for the
/// password itself, and a server forgets it when it restarts.
pub(crate) fn remember_password(server: &RealServer) {
    if server.kind() == Kind::MySql {
        let mut client = server.command("mysql").unwrap();
        client.arg(format!("--user={USER}")).arg(format!("--password={PASSWORD}"));
        client.arg(format!("--socket={}", server.socket_path().display())).arg("--execute=do 1");
        client.arg("--compression-algorithms=zstd,zlib,uncompressed");
        assert!(client.output().unwrap().status.success());
    }
}

fn answer(plugin: &[u8], nonce: &[u8]) -> Vec<u8> {
    match plugin {
        b"caching_sha2_password" => scramble::caching_sha2_password(PASSWORD.as_bytes(), nonce),
        b"mysql_native_password" => scramble::native_password(PASSWORD.as_bytes(), nonce),
        other => panic!("no plugin {}", String::from_utf8_lossy(other)),
    }
}

/// The collation `binary`: values come and go as bytes.
const BINARY: u8 = 63;
/// Many times what the slowest reply takes on two busy cores.
const PATIENCE: Duration = Duration::from_secs(60);
