//! The tables of the score: four kinds of rows, from what no codec shrinks to what every codec does.
//!
//! Invariants: rows depend on nothing but their number.
//!
//! Not here: which rows a cell reads (`cell`).

use std::fmt::{self, Write};

use anyhow::Context;
use lab::generate::{blob, sysbench_row, text_row, wide_row};

use crate::client::Stop;
use crate::run::Database;

/// A kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// sysbench's digits: about half.
    Digits,
    /// Prose: about a third.
    Text,
    /// Long rows that repeat: a hundredth.
    Wide,
    /// What cannot be packed.
    Blob,
}

impl Data {
    pub(super) const ALL: [Self; 4] = [Self::Digits, Self::Text, Self::Wide, Self::Blob];

    const fn name(self) -> &'static str {
        match self {
            Self::Digits => "digits",
            Self::Text => "text",
            Self::Wide => "wide",
            Self::Blob => "blob",
        }
    }

    /// Bytes of a row's packet, about.
    pub(super) const fn row_bytes(self) -> u32 {
        match self {
            Self::Digits => 197,
            Self::Text => 2_010,
            Self::Wide => 64_010,
            Self::Blob => 8_010,
        }
    }

    /// All rows.
    pub(super) const fn rows(self) -> u32 {
        TABLE_BYTES / self.row_bytes()
    }

    /// Reads the first rows.
    pub(super) fn statement(self, rows: u32) -> String {
        format!("select * from score_{} limit {rows}", self.name())
    }

    fn value(self, id: u32) -> String {
        match self {
            Self::Digits => {
                let row = sysbench_row(1, id, self.rows());
                format!("({id},{},'{}','{}')", row.k, row.c, row.pad)
            }
            Self::Text => format!("({id},'{}')", text_row(1, id, 2_000)),
            Self::Wide => format!("({id},'{}')", wide_row(1, id)),
            Self::Blob => {
                let mut hex = String::with_capacity(16_100);
                for byte in blob(1, id, 8_000) {
                    // A String takes everything.
                    write!(hex, "{byte:02x}").ok();
                }
                format!("({id},x'{hex}')")
            }
        }
    }

    const fn columns(self) -> &'static str {
        match self {
            Self::Digits => "id int primary key, k int, c char(120), pad char(60)",
            Self::Text | Self::Wide => "id int primary key, body mediumtext",
            Self::Blob => "id int primary key, body mediumblob",
        }
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Makes all tables.
pub(super) fn fill(database: &Database, stop: &Stop) -> anyhow::Result<()> {
    let mut client = database.connect(stop)?;
    for data in Data::ALL {
        let failed = || format!("cannot make the table score_{data}");
        client.query(&format!("create table score_{data} ({})", data.columns())).with_context(failed)?;
        client.query("begin").with_context(failed)?;
        let mut values: Vec<String> = Vec::new();
        let mut bytes = 0;
        for id in 1..=data.rows() {
            let value = data.value(id);
            bytes += value.len();
            values.push(value);
            if bytes > STATEMENT_BYTES || id == data.rows() {
                let sql = format!("insert into score_{data} values {}", values.join(","));
                client.query(&sql).with_context(failed)?;
                values.clear();
                bytes = 0;
            }
        }
        client.query("commit").with_context(failed)?;
        // What is measured is the way from memory.
        client.query(&data.statement(data.rows())).with_context(failed)?;
    }
    client.quit();
    Ok(())
}

/// A third of a second at 1 Gbit/s.
const TABLE_BYTES: u32 = 40_000_000;
const STATEMENT_BYTES: usize = 500_000;
