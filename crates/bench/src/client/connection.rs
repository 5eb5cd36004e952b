//! A connection: opened, logged in, asked, closed.
//!
//! ```text
//!  connect ─▶ greeting ─▶ [TLS] ─▶ login, answers ─▶ OK ─▶ [frames] ─▶ command, reply to its end ─▶ … ─▶ quit
//! ```
//!
//! Invariants: compression starts behind the OK that ends the login; a read gives up after
//! [`SILENCE_MAX`] without a byte, and within [`STOP_LOOK`] of a wish to stop.
//!
//! Not here: what a reply means (`scan`), how to prove who one is (`wire::connect::client_auth`).

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use codec::Algorithm;
use lab::link::Address;
use rustls::{ClientConnection, ProtocolVersion, StreamOwned};
use wire::connect::auth::Security;
use wire::connect::client_auth::{ClientExchange, Plugin, Step};
use wire::connect::greeting::FirstPacket;
use wire::connect::login::ssl_request;
use wire::connect::{Greeting, Login};
use wire::response::{ErrPacket, err, ok, text_result};
use wire::{Capabilities, Endpoint, command};
use zeroize::Zeroizing;

use super::scan::{Place, step};
use super::{ClientFault, ClientTls, Scan, Stop, rsa};

/// A row: a text for each column, or NULL.
pub type Row = Vec<Option<String>>;

/// Who we are, and whether anybody may listen.
#[derive(Clone, Default)]
pub struct Account {
    /// Account name.
    pub user: String,
    /// May be empty.
    pub password: Zeroizing<String>,
    /// Default database; empty for none.
    pub database: String,
    /// TLS, on anything but a Unix socket.
    pub tls: Option<ClientTls>,
}

impl fmt::Debug for Account {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@/{}", self.user, self.database)
    }
}

/// What this client asks for, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its level: zstd's 1..=22, libdeflate's 1..=12 for what we send ourselves; the server has its own.
    pub level: u8,
}

impl Compression {
    /// None.
    pub const NONE: Self = Self { algorithm: Algorithm::Uncompressed, level: 1 };
}

/// A logged-in connection.
pub struct Client {
    stream: Stream,
    endpoint: Endpoint,
    deprecate_eof: bool,
    stop: Stop,
    read_buffer: Box<[u8]>,
    payload: Vec<u8>,
    packed_bytes: u64,
    is_mariadb: bool,
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Unreachable, refused, an unknown plugin, an algorithm that is not offered.
    pub fn connect(
        address: &Address,
        account: &Account,
        compression: Compression,
        stop: &Stop,
    ) -> Result<Self, ClientFault> {
        let stream = Stream::connect(address)
            .map_err(|source| ClientFault::Connect { address: address.clone(), source })?;
        let mut client = Self {
            stream,
            endpoint: Endpoint::new(PACKET_LEN_MAX),
            deprecate_eof: false,
            stop: stop.clone(),
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
            payload: Vec::new(),
            packed_bytes: 0,
            is_mariadb: false,
        };
        client.receive("before its greeting")?;
        let greeting = match FirstPacket::parse(&client.payload)? {
            FirstPacket::Greeting(greeting) => greeting,
            FirstPacket::Refusal(error) => return Err(ClientFault::Refused(error)),
        };
        client.is_mariadb = greeting.is_mariadb();
        client.log_in(address, account, compression, greeting)?;
        Ok(client)
    }

    fn log_in(
        &mut self,
        address: &Address,
        account: &Account,
        compression: Compression,
        greeting: Greeting,
    ) -> Result<(), ClientFault> {
        let mut capabilities = capabilities(address, account, compression.algorithm, greeting.capabilities)?;
        let tls = account.tls.as_ref().filter(|_| matches!(self.stream, Stream::Tcp(_)));
        let can_encrypt = greeting.capabilities.contains(Capabilities::SSL);
        if tls.is_some_and(|tls| tls.is_required) && !can_encrypt {
            return Err(ClientFault::TlsNotOffered { address: address.clone() });
        }
        let tls = tls.filter(|_| can_encrypt);
        capabilities = capabilities.with(Capabilities::SSL, tls.is_some());
        self.deprecate_eof = capabilities.contains(Capabilities::DEPRECATE_EOF);
        // A plugin that we lack is answered as native; the server then asks for the account's own.
        let plugin = Plugin::named(&greeting.auth_plugin).unwrap_or(Plugin::Native);
        let password = account.password.as_bytes();
        let login = Login {
            capabilities,
            max_packet_len: u32::try_from(PACKET_LEN_MAX).unwrap_or(u32::MAX),
            charset: UTF8MB4_GENERAL_CI,
            user: account.user.clone().into_bytes(),
            auth_response: plugin.answer(password, &greeting.nonce).into(),
            database: (!account.database.is_empty()).then(|| account.database.clone().into_bytes()),
            auth_plugin: Some(plugin.name().to_vec()),
            attributes: None,
            zstd_level: (compression.algorithm == Algorithm::Zstd).then_some(compression.level),
        };
        let login = login.build();
        if let Some(tls) = tls {
            self.endpoint.send(&ssl_request(&login, capabilities));
            self.write()?;
            self.encrypt(tls, address)?;
        }
        self.endpoint.send(&login);
        self.write()?;
        let mut exchange = ClientExchange::new(plugin, password, greeting.nonce, self.stream.security());
        loop {
            self.receive("during the login")?;
            match self.payload.first() {
                Some(&ok::HEADER) => break,
                Some(&err::HEADER) => return Err(ClientFault::Refused(ErrPacket::parse(&self.payload)?)),
                _ => {
                    match exchange.step(&self.payload)? {
                        Step::Wait => {}
                        Step::Send(answer) => self.endpoint.send(&answer),
                        Step::Encrypt { server_key_pem, masked_password } => {
                            self.endpoint.send(&rsa::encrypt(&server_key_pem, &masked_password)?);
                        }
                    }
                    self.write()?;
                }
            }
        }
        self.endpoint.start_compression(compression.algorithm, compression.level);
        Ok(())
    }

    fn encrypt(&mut self, tls: &ClientTls, address: &Address) -> Result<(), ClientFault> {
        let failed = |source| ClientFault::Tls { address: address.clone(), source };
        let Stream::Tcp(socket) = std::mem::replace(&mut self.stream, Stream::Gone) else { return Ok(()) };
        let mut stream = tls.over(socket).map_err(failed)?;
        let start = Instant::now();
        while stream.conn.is_handshaking() {
            if self.stop.is_wished() {
                return Err(ClientFault::Interrupted);
            }
            match stream.conn.complete_io(&mut stream.sock) {
                Err(error) if is_timeout(&error) && start.elapsed() <= SILENCE_MAX => {}
                ended => _ = ended.map_err(failed)?,
            }
        }
        self.stream = Stream::Tls(Box::new(stream));
        Ok(())
    }

    /// Whether the server is a MariaDB, by its greeting.
    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// Version of TLS, if the connection is encrypted.
    pub fn tls_version(&self) -> Option<&'static str> {
        let Stream::Tls(stream) = &self.stream else { return None };
        match stream.conn.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => Some("TLSv1.3"),
            Some(ProtocolVersion::TLSv1_2) => Some("TLSv1.2"),
            _ => Some("TLS"),
        }
    }

    /// Runs a statement and reads its reply to the end.
    ///
    /// # Errors
    /// The server's error; a broken connection.
    pub fn query(&mut self, sql: &str) -> Result<Scan, ClientFault> {
        self.query_rows(sql, |_| {})
    }

    /// The same; `row` gets each row's payload as it came.
    ///
    /// # Errors
    /// The server's error; a broken connection.
    pub fn query_rows(&mut self, sql: &str, mut row: impl FnMut(&[u8])) -> Result<Scan, ClientFault> {
        self.query_payloads(sql, |payload, is_row| {
            if is_row {
                row(payload);
            }
        })
    }

    /// The rows: a text for each column, or NULL.
    ///
    /// # Errors
    /// The server's error; a broken connection.
    pub fn query_texts(&mut self, sql: &str) -> Result<Vec<Row>, ClientFault> {
        let mut rows = Vec::new();
        self.query_rows(sql, |payload| {
            let text = |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
            rows.push(text_result::row(payload).unwrap_or_default().into_iter().map(text).collect());
        })?;
        Ok(rows)
    }

    /// As `query_rows`; `seen` gets each payload of the reply as it came, and whether it is a row.
    ///
    /// # Errors
    /// The server's error; a broken connection.
    pub fn query_payloads(
        &mut self,
        sql: &str,
        mut seen: impl FnMut(&[u8], bool),
    ) -> Result<Scan, ClientFault> {
        let mut payload = Vec::with_capacity(1 + sql.len());
        payload.push(command::COM_QUERY);
        payload.extend_from_slice(sql.as_bytes());
        self.endpoint.begin_command();
        self.endpoint.send(&payload);
        self.write()?;

        let packed_before = self.packed_bytes;
        let mut scan = Scan::default();
        let mut place = Place::Start;
        while place != Place::Done {
            self.receive("during a reply")?;
            scan.plain_bytes += plain_bytes(self.payload.len());
            let rows_before = scan.rows;
            place = step(place, &self.payload, self.deprecate_eof, &mut scan)?;
            seen(&self.payload, scan.rows > rows_before);
        }
        scan.packed_bytes = self.packed_bytes - packed_before;
        Ok(scan)
    }

    /// Says good-bye. A server that is gone already is no error.
    pub fn quit(mut self) {
        self.endpoint.begin_command();
        self.endpoint.send(&[command::COM_QUIT]);
        self.write().ok();
    }

    fn write(&mut self) -> Result<(), ClientFault> {
        self.endpoint.flush();
        while !self.endpoint.output().is_empty() {
            match self.stream.write(self.endpoint.output()) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(len) => self.endpoint.sent(len),
                Err(error) if is_timeout(&error) => {
                    if self.stop.is_wished() {
                        return Err(ClientFault::Interrupted);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Puts the next payload into `self.payload`.
    fn receive(&mut self, when: &'static str) -> Result<(), ClientFault> {
        while !self.endpoint.packet_into(&mut self.payload)? {
            let len = self.read(when)?;
            self.packed_bytes += len as u64;
            self.endpoint.receive(self.read_buffer.get(..len).unwrap_or_default());
        }
        Ok(())
    }

    fn read(&mut self, when: &'static str) -> Result<usize, ClientFault> {
        let start = Instant::now();
        loop {
            if self.stop.is_wished() {
                return Err(ClientFault::Interrupted);
            }
            match self.stream.read(&mut self.read_buffer) {
                Ok(0) => return Err(ClientFault::Closed { when }),
                Ok(len) => return Ok(len),
                Err(error) if is_timeout(&error) => {
                    if start.elapsed() > SILENCE_MAX {
                        return Err(ClientFault::Silent { seconds: SILENCE_MAX.as_secs() });
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What we ask for: what we know and the server has, and the one algorithm.
fn capabilities(
    address: &Address,
    account: &Account,
    algorithm: Algorithm,
    server: Capabilities,
) -> Result<Capabilities, ClientFault> {
    let asked = match algorithm {
        Algorithm::Uncompressed => Capabilities::NONE,
        Algorithm::Zlib => Capabilities::COMPRESS,
        Algorithm::Zstd => Capabilities::ZSTD_COMPRESSION_ALGORITHM,
    };
    if !server.contains(asked) {
        return Err(ClientFault::CompressionNotOffered { address: address.clone(), algorithm });
    }
    let known = Capabilities::LONG_PASSWORD
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::MULTI_RESULTS
        | Capabilities::PLUGIN_AUTH
        | asked;
    Ok(known
        .with(Capabilities::DEPRECATE_EOF, server.contains(Capabilities::DEPRECATE_EOF))
        .with(Capabilities::CONNECT_WITH_DB, !account.database.is_empty()))
}

/// Bytes of a payload with the headers of its packets, at 2^24-1 bytes each.
fn plain_bytes(payload_len: usize) -> u64 {
    let packets = payload_len / wire::limits::PACKET_PAYLOAD_LEN_MAX + 1;
    (payload_len + packets * wire::packet::HEADER_LEN) as u64
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

enum Stream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Unix(UnixStream),
    /// Its TLS handshake failed.
    Gone,
}

impl Stream {
    fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(name) => {
                let stream = TcpStream::connect(name)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(STOP_LOOK))?;
                stream.set_write_timeout(Some(STOP_LOOK))?;
                Ok(Self::Tcp(stream))
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(STOP_LOOK))?;
                stream.set_write_timeout(Some(STOP_LOOK))?;
                Ok(Self::Unix(stream))
            }
        }
    }

    fn security(&self) -> Security {
        match self {
            Self::Tcp(_) | Self::Gone => Security::Plain,
            Self::Tls(_) => Security::Tls,
            Self::Unix(_) => Security::Socket,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            // What the socket doesn't take now goes out before the next bytes that are written or read.
            Self::Tls(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// What the server may send in one packet: MySQL's own client has 16 MiB, dumps use 1 GiB.
const PACKET_LEN_MAX: usize = 1 << 30;
/// One read of a fast link: larger ones fall out of the processor's second-level cache.
const READ_BYTES: usize = 256 * 1024;
/// A server may think this long before its first row; a longer silence is a fault, not a wait.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// How soon a wish to stop is seen.
const STOP_LOOK: Duration = Duration::from_millis(200);
/// utf8mb4_general_ci: known to every MySQL and MariaDB since 5.5.
const UTF8MB4_GENERAL_CI: u8 = 45;
