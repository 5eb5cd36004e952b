//! A small client on `wire::Endpoint`: enough to send commands and look at each reply.
//!
//! Not here: TLS, authentication that needs more than a scramble.

use std::io::{Read, Write};
use std::net::TcpStream;

use codec::Algorithm;
use mysqlite::Server;
use wire::connect::{Greeting, Login, scramble};
use wire::response::{ErrPacket, OkPacket, status};
use wire::{Capabilities, Endpoint, Reader, command as com};

/// One result: its columns' names and types, its rows, its closing OK.
#[derive(Debug, Default)]
pub(crate) struct ResultSet {
    pub(crate) columns: Vec<(String, u8)>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
    pub(crate) ok: OkPacket,
}

impl ResultSet {
    /// Rows as text: `1|a|NULL`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
        self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("|")).collect()
    }
}

/// How to log in.
pub(crate) struct Wish<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) database: Option<&'a str>,
    pub(crate) plugin: &'a str,
    pub(crate) compression: Capabilities,
    pub(crate) zstd_level: Option<u8>,
    /// The answer to a switch of the method begins a packet of 1 MiB.
    pub(crate) answers_long: bool,
}

impl Default for Wish<'_> {
    fn default() -> Self {
        Self {
            user: "root",
            password: "",
            database: None,
            plugin: "caching_sha2_password",
            compression: Capabilities::NONE,
            zstd_level: None,
            answers_long: false,
        }
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    endpoint: Endpoint,
    pub(crate) greeting: Greeting,
}

impl Client {
    pub(crate) fn of(server: &Server) -> Self {
        Self::connect(server, &Wish::default()).unwrap()
    }

    pub(crate) fn connect(server: &Server, wish: &Wish<'_>) -> Result<Self, ErrPacket> {
        let stream = TcpStream::connect(server.address().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut endpoint = Endpoint::new(1 << 30);
        let payload = packet(&stream, &mut endpoint).unwrap();
        let greeting = Greeting::parse(&payload).unwrap();
        let proof = match wish.plugin {
            "mysql_native_password" => scramble::native_password(wish.password.as_bytes(), &greeting.nonce),
            _ => scramble::caching_sha2_password(wish.password.as_bytes(), &greeting.nonce),
        };
        let mut capabilities = Capabilities::PROTOCOL_41
            | Capabilities::LONG_PASSWORD
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::TRANSACTIONS
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::MULTI_RESULTS
            | Capabilities::LOCAL_FILES
            | Capabilities::DEPRECATE_EOF
            | wish.compression;
        capabilities = capabilities.with(Capabilities::CONNECT_WITH_DB, wish.database.is_some());
        let login = Login {
            capabilities,
            max_packet_len: 1 << 30,
            charset: 255,
            user: wish.user.as_bytes().to_vec(),
            auth_response: proof.into(),
            database: wish.database.map(|name| name.as_bytes().to_vec()),
            auth_plugin: Some(wish.plugin.as_bytes().to_vec()),
            attributes: None,
            zstd_level: wish.zstd_level,
        };
        endpoint.send(&login.build());
        let mut client = Self { stream, endpoint, greeting };
        client.flush();
        loop {
            let payload = client.packet().unwrap();
            match payload[0] {
                0x00 => break,
                0xff => return Err(ErrPacket::parse(&payload).unwrap()),
                0xfe => {
                    let proof =
                        scramble::caching_sha2_password(wish.password.as_bytes(), &client.greeting.nonce);
                    if wish.answers_long {
                        client.stream.write_all(&[0, 0, 16, 3, 1]).unwrap();
                        continue;
                    }
                    client.endpoint.send(&proof);
                    client.flush();
                }
                _ => assert_eq!(payload, [0x01, 0x03], "the fast path"),
            }
        }
        let algorithm = if wish.compression.contains(Capabilities::COMPRESS) {
            Algorithm::Zlib
        } else if wish.compression.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            Algorithm::Zstd
        } else {
            Algorithm::Uncompressed
        };
        client.endpoint.start_compression(algorithm, 1);
        Ok(client)
    }

    fn flush(&mut self) {
        self.endpoint.flush();
        let bytes = self.endpoint.output().to_vec();
        self.endpoint.sent(bytes.len());
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next packet; `None` when the server has closed.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        packet(&self.stream, &mut self.endpoint)
    }

    /// Sends a command.
    pub(crate) fn send(&mut self, code: u8, argument: &[u8]) {
        self.endpoint.begin_command();
        self.endpoint.send(&[&[code], argument].concat());
        self.flush();
    }

    /// Sends a packet within a command.
    pub(crate) fn more(&mut self, payload: &[u8]) {
        self.endpoint.send(payload);
        self.flush();
    }

    /// Sends a command whose reply is OK or ERR.
    pub(crate) fn command(&mut self, code: u8, argument: &[u8]) -> Result<OkPacket, ErrPacket> {
        self.send(code, argument);
        let payload = self.packet().unwrap();
        if payload[0] == 0xff {
            Err(ErrPacket::parse(&payload).unwrap())
        } else {
            Ok(OkPacket::parse(&payload).unwrap())
        }
    }

    /// All results of a text.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, ErrPacket> {
        self.send(com::COM_QUERY, sql.as_bytes());
        self.results(false)
    }

    /// The rows of a query, as lines.
    #[track_caller]
    pub(crate) fn lines(&mut self, sql: &str) -> Vec<String> {
        self.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).pop().unwrap().lines()
    }

    /// The number of the error that a statement ends with.
    #[track_caller]
    pub(crate) fn error(&mut self, sql: &str) -> u16 {
        self.query(sql).map(|_| ()).expect_err(sql).code
    }

    /// Prepares a statement: its id, its parameters, the types of its columns.
    pub(crate) fn prepare(&mut self, sql: &str) -> Result<(u32, u16, Vec<u8>), ErrPacket> {
        self.send(com::COM_STMT_PREPARE, sql.as_bytes());
        let head = self.packet().unwrap();
        if head[0] == 0xff {
            return Err(ErrPacket::parse(&head).unwrap());
        }
        let mut reader = Reader::new(&head[1..]);
        let (id, columns, params) = (reader.u32().unwrap(), reader.u16().unwrap(), reader.u16().unwrap());
        for _ in 0..params {
            self.packet().unwrap();
        }
        let types = (0..columns).map(|_| definition(&self.packet().unwrap()).1).collect();
        Ok((id, params, types))
    }

    /// Runs a prepared statement with text parameters.
    pub(crate) fn execute(&mut self, id: u32, params: &[Option<&str>]) -> Result<ResultSet, ErrPacket> {
        let mut payload = id.to_le_bytes().to_vec();
        payload.extend([0, 1, 0, 0, 0]);
        if !params.is_empty() {
            let mut nulls = vec![0_u8; params.len().div_ceil(8)];
            for (index, _) in params.iter().enumerate().filter(|(_, param)| param.is_none()) {
                nulls[index / 8] |= 1 << (index % 8);
            }
            payload.extend(nulls);
            payload.push(1);
            payload.extend([253, 0].repeat(params.len()));
            for param in params.iter().flatten() {
                wire::write_lenenc_bytes(&mut payload, param.as_bytes());
            }
        }
        self.send(com::COM_STMT_EXECUTE, &payload);
        self.results(true).map(|mut results| results.pop().unwrap())
    }

    pub(crate) fn results(&mut self, binary: bool) -> Result<Vec<ResultSet>, ErrPacket> {
        let mut results = Vec::new();
        loop {
            let mut result = ResultSet::default();
            let head = self.packet().expect("a reply");
            match head[0] {
                0x00 => result.ok = OkPacket::parse(&head).unwrap(),
                0xff => return Err(ErrPacket::parse(&head).unwrap()),
                _ => {
                    let count = Reader::new(&head).lenenc_int().unwrap();
                    result.columns = (0..count).map(|_| definition(&self.packet().unwrap())).collect();
                    loop {
                        let payload = self.packet().unwrap();
                        match payload.first() {
                            Some(0xff) => return Err(ErrPacket::parse(&payload).unwrap()),
                            Some(0xfe) if payload.len() < 0xff_ffff => {
                                result.ok = OkPacket::parse(&payload).unwrap();
                                break;
                            }
                            _ if binary => result.rows.push(binary_row(&payload, &result.columns)),
                            _ => result.rows.push(text_row(&payload)),
                        }
                    }
                }
            }
            let more = result.ok.status & status::MORE_RESULTS_EXISTS != 0;
            results.push(result);
            if !more {
                return Ok(results);
            }
        }
    }
}

fn packet(mut stream: &TcpStream, endpoint: &mut Endpoint) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        if let Some(payload) = endpoint.packet().unwrap() {
            return Some(payload);
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(len) => endpoint.receive(&buffer[..len]),
        }
    }
}

/// The name and type of a column definition.
fn definition(payload: &[u8]) -> (String, u8) {
    let mut reader = Reader::new(payload);
    let texts: Vec<&[u8]> = (0..6).map(|_| reader.lenenc_bytes().unwrap()).collect();
    reader.bytes(1 + 2 + 4).unwrap();
    (String::from_utf8_lossy(texts[4]).into_owned(), reader.u8().unwrap())
}

fn text_row(payload: &[u8]) -> Vec<Option<String>> {
    let mut reader = Reader::new(payload);
    let mut row = Vec::new();
    while !reader.is_empty() {
        let len = reader.lenenc_int_or_null().unwrap();
        row.push(len.map(|len| {
            String::from_utf8_lossy(reader.bytes(usize::try_from(len).unwrap()).unwrap()).into_owned()
        }));
    }
    row
}

fn binary_row(payload: &[u8], columns: &[(String, u8)]) -> Vec<Option<String>> {
    let mut reader = Reader::new(payload);
    assert_eq!(reader.u8().unwrap(), 0);
    let nulls = reader.bytes((columns.len() + 9) / 8).unwrap();
    let value = |(index, (_, kind)): (usize, &(String, u8))| {
        if nulls[(index + 2) / 8] & (1 << ((index + 2) % 8)) != 0 {
            return None;
        }
        Some(match kind {
            1 => reader.u8().unwrap().cast_signed().to_string(),
            2 | 13 => reader.u16().unwrap().cast_signed().to_string(),
            3 | 9 => reader.u32().unwrap().cast_signed().to_string(),
            8 => reader.u64().unwrap().cast_signed().to_string(),
            4 => f32::from_bits(reader.u32().unwrap()).to_string(),
            5 => f64::from_bits(reader.u64().unwrap()).to_string(),
            7 | 10 | 11 | 12 => {
                let len = usize::from(reader.u8().unwrap());
                format!("{:?}", reader.bytes(len).unwrap())
            }
            _ => String::from_utf8_lossy(reader.lenenc_bytes().unwrap()).into_owned(),
        })
    };
    columns.iter().enumerate().map(value).collect()
}
