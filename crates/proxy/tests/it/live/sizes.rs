//! Payloads of every size at a border, both ways, beside a direct connection, byte for byte.
//!
//! ```text
//! 49 | 50                     a frame is stored | packed
//! 16 KiB, 1 MiB               net_buffer_length, the longest frame of several packets
//! 2^24-1-{0..8}               with its header the packet fits into one frame, or needs two
//! 2^24-1                      the payload needs a second packet, which is empty
//! 2^24+{0..8}, 2 (2^24-1)     a short second packet; a third, empty one
//! 64 MiB                      five packets
//! ```
//! Rows come as `select` of parts of one stored value; queries go as a literal whose length and checksum the
//! server tells. Both with content that packs to nearly nothing and with content that does not pack at all.
//!
//! Not here: cuts of the stream (`pairs`), drivers (`drivers`).

use std::collections::HashMap;
use std::sync::OnceLock;

use codec::Algorithm::{Uncompressed, Zlib, Zstd};
use lab::generate::blob;
use lab::real::{Kind, RealServer, required};
use wire::command::COM_QUERY;
use wire::response::{err, ok};

use super::client::{Client, remember_password};
use super::route::{Legs, Route};

/// The shared server with both contents in `sizes.content`, made once.
fn server(kind: Kind) -> Option<&'static RealServer> {
    static MYSQL: OnceLock<()> = OnceLock::new();
    static MARIADB: OnceLock<()> = OnceLock::new();
    let server = required(kind)?;
    let filled = if kind == Kind::MySql { &MYSQL } else { &MARIADB };
    filled.get_or_init(|| {
        remember_password(server);
        server
            .sql("create database sizes; create table sizes.content (id int primary key, v longblob)")
            .unwrap();
        let mut client = Route::direct(server).connect();
        for content in [Content::Compressible, Content::Incompressible] {
            let insert = format!("insert into sizes.content values ({}, ", content.id());
            let statement = [insert.as_bytes(), &content.literal(LARGEST), b")"].concat();
            assert_eq!(client.query(statement)[0][0], ok::HEADER);
        }
    });
    Some(server)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Content {
    Compressible,
    Incompressible,
}

impl Content {
    const fn id(self) -> u8 {
        self as u8
    }

    /// An SQL literal of exactly `len` bytes.
    fn literal(self, len: usize) -> Vec<u8> {
        static BLOB: OnceLock<Vec<u8>> = OnceLock::new();
        let mut literal = b"_binary'".to_vec();
        let body_len = len - literal.len() - 1;
        match self {
            Self::Compressible => literal.extend(b"wirepress ".iter().cycle().take(body_len)),
            // Without the bytes that a literal would have to escape.
            Self::Incompressible => literal.extend_from_slice(
                &BLOB.get_or_init(|| {
                    let mut bytes = blob(11, 0, LARGEST);
                    bytes
                        .iter_mut()
                        .filter(|byte| matches!(byte, 0 | b'\'' | b'\\'))
                        .for_each(|byte| *byte = b'x');
                    bytes
                })[..body_len],
            ),
        }
        literal.push(b'\'');
        literal
    }
}

/// A query whose row has exactly `len` bytes: a long value, and a short one of 10 that gives way for no border.
fn select_of_row(content: Content, len: usize) -> String {
    // The long value's length takes 1, 3, 4 or 9 bytes, the short one 11.
    let long_len = [(1, 0..251), (3, 251..1 << 16), (4, 1 << 16..1 << 24), (9, 1 << 24..usize::MAX)]
        .into_iter()
        .find_map(|(prefix_len, range)| len.checked_sub(prefix_len + 11).filter(|len| range.contains(len)));
    let Some(long_len) = long_len else {
        // No value has a row of this length; the value's own length takes its place.
        return format!("select left(v, {len}) from sizes.content where id = {}", content.id());
    };
    format!("select left(v, {long_len}), '0123456789' from sizes.content where id = {}", content.id())
}

/// A payload of exactly `len` bytes that asks for the length and checksum of most of it.
fn query_of(content: Content, len: usize) -> Vec<u8> {
    let mut payload = vec![COM_QUERY];
    payload.extend_from_slice(b"do 1 -- ");
    if len < LEAST_CHECKED_QUERY_LEN {
        payload.resize(len.max(5), b'x');
        return payload;
    }
    payload.truncate(1);
    payload.extend_from_slice(b"set @v = ");
    let head_len = payload.len();
    payload.extend(content.literal(len - head_len));
    payload
}

const CHECK: &str = "select concat(length(@v), ' ', crc32(@v))";

/// Replies by the direct connection; a row of 64 MiB is asked for only once.
struct Direct {
    client: Client,
    rows: HashMap<(Content, usize), Vec<Vec<u8>>>,
    checks: HashMap<(Content, usize), String>,
}

fn payloads_are_the_same(kind: Kind, pairs: &[(Legs, &[usize])], content: Content) {
    let Some(server) = server(kind) else { return };
    let client = Route::direct(server).connect();
    let mut direct = Direct { client, rows: HashMap::new(), checks: HashMap::new() };
    for (legs, sizes) in pairs {
        let route = Route::through(server, *legs);
        let mut client = route.connect();
        for &len in *sizes {
            let what = || format!("{legs}, {content:?}, {len} bytes; {}", route.faults());
            let select = select_of_row(content, len);
            let row = direct.rows.entry((content, len)).or_insert_with(|| direct.client.query(&select));
            if len > 16 {
                assert!(row.iter().any(|payload| payload.len() == len), "{}: no payload has them", what());
            }
            assert!(client.query(&select) == *row, "{}: another row", what());

            let query = query_of(content, len);
            let reply = client.ask(&query);
            assert_ne!(reply[0][0], err::HEADER, "{}", String::from_utf8_lossy(&reply[0]));
            if len >= LEAST_CHECKED_QUERY_LEN {
                let check = direct.checks.entry((content, len)).or_insert_with(|| {
                    direct.client.ask(&query);
                    direct.client.value(CHECK)
                });
                assert_eq!(client.value(CHECK), *check, "{}: another query", what());
            }
        }
    }
}

const fn legs(client: codec::Algorithm, server: codec::Algorithm) -> Legs {
    Legs { client, server }
}

#[test]
fn compressible_payloads_of_every_size_are_the_same_on_mysql() {
    let pairs = [
        (legs(Uncompressed, Zstd), ALL),
        (legs(Zstd, Uncompressed), ALL),
        (legs(Zstd, Zstd), ALL),
        (legs(Zlib, Zstd), ALL),
        (legs(Uncompressed, Uncompressed), BORDERS),
        (legs(Zlib, Zlib), BORDERS),
    ];
    payloads_are_the_same(Kind::MySql, &pairs, Content::Compressible);
}

#[test]
fn incompressible_payloads_at_the_borders_are_the_same_on_mysql() {
    let pairs = [
        (legs(Uncompressed, Zstd), BORDERS),
        (legs(Zstd, Uncompressed), BORDERS),
        (legs(Zstd, Zstd), BORDERS),
        (legs(Zlib, Zstd), BORDERS),
    ];
    payloads_are_the_same(Kind::MySql, &pairs, Content::Incompressible);
}

#[test]
fn compressible_payloads_of_every_size_are_the_same_on_mariadb() {
    let pairs = [
        (legs(Uncompressed, Zlib), ALL),
        (legs(Zlib, Uncompressed), ALL),
        (legs(Zlib, Zlib), BORDERS),
        (legs(Zstd, Zlib), BORDERS),
    ];
    payloads_are_the_same(Kind::MariaDb, &pairs, Content::Compressible);
}

#[test]
fn incompressible_payloads_at_the_borders_are_the_same_on_mariadb() {
    payloads_are_the_same(
        Kind::MariaDb,
        &[(legs(Uncompressed, Zlib), BORDERS), (legs(Zlib, Zlib), BORDERS)],
        Content::Incompressible,
    );
}

/// Longest payload of a packet: 2^24-1.
const PACKET: usize = 0xff_ff_ff;
const LARGEST: usize = 64 << 20;
/// Shorter ones have no room for a literal and its check.
const LEAST_CHECKED_QUERY_LEN: usize = 40;

const ALL: &[usize] = &[
    0,
    1,
    49,
    50,
    16 << 10,
    1 << 20,
    PACKET - 8,
    PACKET - 7,
    PACKET - 6,
    PACKET - 5,
    PACKET - 4,
    PACKET - 3,
    PACKET - 2,
    PACKET - 1,
    PACKET,
    PACKET + 1,
    PACKET + 2,
    PACKET + 3,
    PACKET + 4,
    PACKET + 5,
    PACKET + 6,
    PACKET + 7,
    PACKET + 8,
    PACKET + 9,
    2 * PACKET,
    LARGEST,
];

/// Those where another thing happens than for the size before.
const BORDERS: &[usize] =
    &[0, 46, 49, 50, 16 << 10, 1 << 20, PACKET - 5, PACKET - 4, PACKET, PACKET + 1, 2 * PACKET];
