//! What both Rust drivers' scenarios share.

use std::fmt::Debug;

use sha2::{Digest, Sha256};

pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub fn expect<A: PartialEq<B> + Debug, B: Debug>(actual: A, wanted: B) {
    if actual != wanted {
        let shorten = |text: String| text.chars().take(300).collect::<String>();
        panic!("got {} instead of {}", shorten(format!("{actual:?}")), shorten(format!("{wanted:?}")));
    }
}

pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn blob(length: usize) -> Vec<u8> {
    let hashes = (0..).flat_map(|i: u32| Sha256::digest(i.to_string()));
    hashes.take(length / 2).chain(b"wirepress ".iter().copied().cycle()).take(length).collect()
}

pub fn types_table(table: &str) -> String {
    format!(
        "create table {table}_types (i int, u bigint unsigned, d decimal(20,6), f double, \
         s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)"
    )
}

/// The table, the rows, and the rows again.
pub fn rows_600(table: &str) -> (String, String, Vec<(u32, String)>) {
    let wanted: Vec<(u32, String)> = (0..600).map(|id| (id, format!("{id:0100}"))).collect();
    let values: Vec<String> = wanted.iter().map(|(id, v)| format!("({id}, '{v}')")).collect();
    let create = format!("create table {table}_rows (id int primary key, v char(100))");
    (create, format!("insert into {table}_rows values {}", values.join(",")), wanted)
}

pub fn stream(table: &str) -> String {
    format!("select a.id * 1000 + b.id, a.v from {table}_rows a join {table}_rows b where b.id < 100")
}

pub const STREAM_SUMS: (u64, u64, u64) = (60_000, 17_972_970_000, 17_970_000);
