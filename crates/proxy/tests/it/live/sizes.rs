//! Payloads of every size at a border, both ways, beside a direct connection, byte for byte.
//!
//! ```text
//! 45 | 46, 49 | 50            with its header, without: a frame is stored | packed
//! 16 KiB, 1 MiB               net_buffer_length, the longest frame of several packets
//! 2^24-1-{0..8}               with its header the packet fits into one frame, or needs two
//! 2^24-1                      the payload needs a second packet, which is empty
//! 2^24+{0..8}, 2 (2^24-1)     a short second packet; a third, empty one
//! 64 MiB                      five packets
//! ```
//! Replies are rows of exactly that size; queries set a variable to a literal, whose length and checksum the
//! server then tells. Both with content that packs to nearly nothing and with content that does not pack.
//!
//! Not here: cuts of the stream (`pairs`), drivers (`drivers`).

use std::collections::BTreeSet;
use std::sync::OnceLock;

use codec::Algorithm::{self, Uncompressed, Zlib, Zstd};
use lab::generate::blob;
use lab::real::{Kind, RealServer, required};
use wire::command::COM_QUERY;
use wire::response::{err, ok};

use super::client::{Client, remember_password};
use super::route::{Legs, Route};

/// The shared server with a value that no codec packs, stored once.
fn server(kind: Kind) -> Option<&'static RealServer> {
    static MYSQL: OnceLock<()> = OnceLock::new();
    static MARIADB: OnceLock<()> = OnceLock::new();
    let server = required(kind)?;
    let filled = if kind == Kind::MySql { &MYSQL } else { &MARIADB };
    filled.get_or_init(|| {
        remember_password(server);
        server.sql("create database sizes; create table sizes.incompressible (v longblob)").unwrap();
        let literal = Content::Incompressible.literal(INCOMPRESSIBLE_LEN);
        let insert = [b"insert into sizes.incompressible values (", literal.as_slice(), b")"].concat();
        assert_eq!(Route::direct(server).connect().query(insert)[0][0], ok::HEADER);
    });
    Some(server)
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Compressible,
    Incompressible,
}

impl Content {
    /// An SQL literal of exactly `len` bytes.
    fn literal(self, len: usize) -> Vec<u8> {
        static BLOB: OnceLock<Vec<u8>> = OnceLock::new();
        let body_len = len - b"_binary''".len();
        let mut literal = Vec::with_capacity(len);
        literal.extend_from_slice(b"_binary'");
        match self {
            Self::Compressible => literal.resize(len - 1, b'w'),
            Self::Incompressible => {
                let blob = BLOB.get_or_init(|| {
                    let mut bytes = blob(11, 0, LARGEST);
                    // What a literal would have to escape.
                    bytes
                        .iter_mut()
                        .filter(|byte| matches!(byte, 0 | b'\'' | b'\\'))
                        .for_each(|byte| *byte = b'x');
                    bytes
                });
                literal.extend_from_slice(&blob[..body_len]);
            }
        }
        literal.push(b'\'');
        literal
    }

    /// A query whose row has exactly `len` bytes: a long value, and a short one that lets every length be.
    fn select_of_row(self, len: usize) -> String {
        // The long value's length takes 1, 3, 4 or 9 bytes, the short value 11.
        let long_len = [(1, 0..251), (3, 251..1 << 16), (4, 1 << 16..1 << 24), (9, 1 << 24..usize::MAX)]
            .into_iter()
            .find_map(|(prefix_len, range)| {
                len.checked_sub(prefix_len + 11).filter(|len| range.contains(len))
            });
        // Where a row can't be that short, the value is.
        let (long_len, short) = long_len.map_or((len, ""), |long_len| (long_len, ", '0123456789'"));
        match self {
            Self::Compressible => format!("select repeat('w', {long_len}){short}"),
            Self::Incompressible if long_len < INCOMPRESSIBLE_LEN / 2 => {
                format!("select left(v, {long_len}){short} from sizes.incompressible")
            }
            // What repeats is farther apart than any codec looks.
            Self::Incompressible => {
                format!("select left(concat(v, v), {long_len}){short} from sizes.incompressible")
            }
        }
    }

    /// A command of exactly `len` bytes (three at least) whose argument [`checked`] finds again.
    fn query(self, len: usize) -> Vec<u8> {
        let mut payload = vec![COM_QUERY];
        if len < LEAST_LITERAL_LEN {
            payload.extend_from_slice(b"do 1 ");
            payload.resize(len.max(5), b' ');
        } else {
            payload.extend_from_slice(b"set @v = ");
            payload.extend(self.literal(len - payload.len()));
        }
        payload
    }
}

/// Each size directly, on each of the pairs of legs that have it in their list, and through two proxies.
fn payloads_are_the_same(kind: Kind, content: Content, pairs: &[(Algorithm, Algorithm, &[usize])]) {
    let Some(server) = server(kind) else { return };
    let mut direct = Route::direct(server).connect();
    let mut routes: Vec<_> = pairs
        .iter()
        .map(|&(client, server_algorithm, sizes)| {
            let legs = Legs::of(client, server_algorithm);
            let route = Route::through(server, legs);
            let client = route.connect();
            (legs, route, client, sizes)
        })
        .collect();
    let sizes: BTreeSet<usize> = pairs.iter().flat_map(|(.., sizes)| sizes.iter().copied()).collect();
    let all: Vec<_> = sizes.iter().copied().collect();
    let paired = Route::through(server, Legs::PAIR);
    let client = paired.connect();
    routes.push((Legs::PAIR, paired, client, &all));
    for len in sizes {
        let select = content.select_of_row(len);
        let row = direct.query(&select);
        assert!(len < 16 || row.iter().any(|payload| payload.len() == len), "no payload of {len} bytes");
        let query = content.query(len);
        assert_eq!(query.len(), len.max(5));
        let check = checked(&mut direct, &query);
        for (legs, route, client, sizes) in &mut routes {
            if sizes.contains(&len) {
                let what = || format!("{legs}, {content:?}, {len} bytes; {}", route.faults());
                assert!(client.query(&select) == row, "{}: another row", what());
                assert_eq!(checked(client, &query), check, "{}: another query", what());
            }
        }
    }
}

/// Sends a query, and asks what arrived.
fn checked(client: &mut Client, query: &[u8]) -> String {
    let reply = client.ask(query);
    assert_ne!(reply[0][0], err::HEADER, "{}", String::from_utf8_lossy(&reply[0]));
    client.value("select concat(coalesce(length(@v), 0), ' ', coalesce(crc32(@v), 0))")
}

#[test]
fn compressible_payloads_of_every_size_are_the_same_on_mysql() {
    let pairs = [
        (Uncompressed, Zstd, ALL),
        (Zstd, Uncompressed, ALL),
        (Zstd, Zstd, BORDERS),
        (Zlib, Zstd, BORDERS),
        (Uncompressed, Uncompressed, FEW),
    ];
    payloads_are_the_same(Kind::MySql, Content::Compressible, &pairs);
}

#[test]
fn incompressible_payloads_at_the_borders_are_the_same_on_mysql() {
    let pairs = [(Uncompressed, Zstd, BORDERS), (Zstd, Uncompressed, BORDERS), (Zstd, Zstd, FEW)];
    payloads_are_the_same(Kind::MySql, Content::Incompressible, &pairs);
}

#[test]
fn compressible_payloads_at_the_borders_are_the_same_on_mariadb() {
    let pairs =
        [(Uncompressed, Zlib, BORDERS), (Zlib, Uncompressed, BORDERS), (Zlib, Zlib, FEW), (Zstd, Zlib, FEW)];
    payloads_are_the_same(Kind::MariaDb, Content::Compressible, &pairs);
}

#[test]
fn incompressible_payloads_at_the_borders_are_the_same_on_mariadb() {
    let pairs = [(Zlib, Zlib, FEW), (Zstd, Uncompressed, FEW)];
    payloads_are_the_same(Kind::MariaDb, Content::Incompressible, &pairs);
}

/// Short ones are collected into frames, long ones pass as they come once it is known that nothing shrinks; their ends and
/// beginnings lie in the same reads.
#[test]
fn incompressible_rows_of_all_lengths_in_one_reply_are_the_same() {
    let Some(server) = server(Kind::MySql) else { return };
    let rows = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 900) \
                select i, substr(v, 1 + i * 7919 % 1000000, i * i * 37 % 90000) from n, sizes.incompressible";
    let reply = Route::direct(server).connect().query(rows);
    assert!(reply.len() > 900, "{}", reply.len());
    for legs in [Legs::of(Zstd, Uncompressed), Legs::of(Zlib, Zstd), Legs::PAIR] {
        let route = Route::through(server, legs);
        let mut client = route.connect();
        for time in 1..=2 {
            assert!(client.query(rows) == reply, "{legs}, time {time}: other rows; {}", route.faults());
        }
        assert_eq!(client.value("select 'next'"), "next");
    }
}

#[test]
fn payloads_of_64_mib_are_the_same() {
    let pairs = [(Uncompressed, Zstd, HUGE), (Zstd, Uncompressed, HUGE)];
    payloads_are_the_same(Kind::MySql, Content::Compressible, &pairs);
    payloads_are_the_same(Kind::MySql, Content::Incompressible, &[(Zlib, Zstd, HUGE)]);
    payloads_are_the_same(Kind::MariaDb, Content::Compressible, &[(Zlib, Zlib, HUGE)]);
}

/// Longest payload of a packet: 2^24-1.
const PACKET: usize = 0xff_ff_ff;
const LARGEST: usize = 64 << 20;
/// The stored value; twice as long with its repetition.
const INCOMPRESSIBLE_LEN: usize = 2 * PACKET + 100;
/// Shorter queries have no room for a literal.
const LEAST_LITERAL_LEN: usize = 40;

#[rustfmt::skip]
const ALL: &[usize] = &[
    0, 1, 45, 46, 49, 50, 16 << 10, 1 << 20,
    PACKET - 8, PACKET - 7, PACKET - 6, PACKET - 5, PACKET - 4, PACKET - 3, PACKET - 2, PACKET - 1, PACKET,
    PACKET + 1, PACKET + 2, PACKET + 3, PACKET + 4, PACKET + 5, PACKET + 6, PACKET + 7, PACKET + 8, PACKET + 9,
    2 * PACKET,
];

/// Those where another thing happens than for the size before.
const BORDERS: &[usize] =
    &[0, 45, 46, 49, 50, 16 << 10, 1 << 20, PACKET - 5, PACKET - 4, PACKET, PACKET + 1, 2 * PACKET];

/// For pairs whose halves are in other pairs' lists.
const FEW: &[usize] = &[45, 46, 16 << 10, 1 << 20, PACKET - 4, PACKET];
const HUGE: &[usize] = &[LARGEST];
