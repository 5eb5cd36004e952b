//! The two tables of the published experiment: their statements and their rows.
//!
//! ```text
//!  wirepress_demo_sbtest1   id, k, c CHAR(120), pad CHAR(60); index on k       sysbench's
//!  wirepress_demo_t1        col1, col2 … col10 TEXT; all rows fill col2 alone   the wide one
//! ```
//! The published wide table got its rows by `insert into t1 (col2) select …`: 64,000 bytes in col2, NULL in
//! the eight columns behind it.
//!
//! Invariants: no statement is longer than [`STATEMENT_BYTES`] and one row; the embedded database and a real
//! server get the same statements, except that a real server's tables have names that no one else uses.
//!
//! Not here: the values of a row (`lab::generate`).

use std::fmt::Write;

use lab::generate::{SysbenchRow, sysbench_row, wide_row};

use crate::published::{Published, ZstdScan};

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// sysbench's digits.
    Sysbench,
    /// Long repetitive rows.
    Wide,
}

/// A table with its rows.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Which of the two.
    pub(super) kind: Kind,
    /// Its name on the server.
    pub(super) name: String,
    /// Rows it gets.
    pub(super) rows: u32,
    /// Seed of its rows.
    pub(super) seed: u64,
}

impl Kind {
    /// The name in the published experiment, and in the report.
    #[must_use]
    pub(super) fn published_name(self) -> &'static str {
        match self {
            Self::Sysbench => "sbtest1",
            Self::Wide => "t1",
        }
    }

    /// What was published about it.
    #[must_use]
    pub(super) fn published(self, published: &Published) -> &ZstdScan {
        match self {
            Self::Sysbench => &published.rds_scan,
            Self::Wide => &published.rds_wide,
        }
    }
}

impl Table {
    /// `select *`, as published.
    #[must_use]
    pub(super) fn scan_statement(&self) -> String {
        format!("select * from {}", self.name)
    }

    /// Makes the table.
    #[must_use]
    pub(super) fn create_statement(&self) -> String {
        let name = &self.name;
        match self.kind {
            Kind::Sysbench => format!(
                "create table {name} (id int not null auto_increment, k int not null default 0, \
                 c char(120) not null default '', pad char(60) not null default '', \
                 primary key (id), key k_1 (k))"
            ),
            Kind::Wide => format!(
                "create table {name} (col1 int not null auto_increment primary key, col2 text, col3 text, \
                 col4 text, col5 text, col6 text, col7 text, col8 text, col9 text, col10 text)"
            ),
        }
    }

    /// Removes the table, if it is there.
    #[must_use]
    pub(super) fn drop_statement(&self) -> String {
        format!("drop table if exists {}", self.name)
    }

    /// The statement that adds rows from `first` on, and the first row that it leaves to the next one.
    #[must_use]
    pub(super) fn insert_statement(&self, first: u32) -> (String, u32) {
        let columns = match self.kind {
            Kind::Sysbench => "id, k, c, pad",
            Kind::Wide => "col1, col2",
        };
        let mut sql = String::with_capacity(STATEMENT_BYTES + 70_000);
        let mut id = first;
        while id <= self.rows && sql.len() < STATEMENT_BYTES {
            if id == first {
                sql = sql + "insert into " + &self.name + " (" + columns + ") values ";
            } else {
                sql.push(',');
            }
            self.push_row(&mut sql, id);
            id += 1;
        }
        (sql, id)
    }

    fn push_row(&self, sql: &mut String, id: u32) {
        let written = match self.kind {
            Kind::Sysbench => {
                let SysbenchRow { id, k, c, pad } = sysbench_row(self.seed, id, self.rows);
                write!(sql, "({id},{k},'{c}','{pad}')")
            }
            Kind::Wide => write!(sql, "({id},'{}')", wide_row(self.seed, id)),
        };
        debug_assert!(written.is_ok(), "a String takes everything");
    }
}

/// Far below every server's default max_allowed_packet (16 MiB), and enough that parsing dominates.
const STATEMENT_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: Kind, rows: u32) -> Table {
        Table { kind, name: "t".to_owned(), rows, seed: 1 }
    }

    #[test]
    fn every_row_is_inserted_once() {
        for (table, separator) in [(table(Kind::Sysbench, 7000), "),("), (table(Kind::Wide, 20), "),(")] {
            let mut next = 1;
            let mut rows = 0;
            while next <= table.rows {
                let (sql, after) = table.insert_statement(next);
                assert!(sql.starts_with("insert into t ("));
                assert!(sql.contains(&format!(" values ({next},")));
                assert!(sql.len() < STATEMENT_BYTES + 70_000);
                rows += sql.matches(separator).count() + 1;
                assert_eq!(rows as u32, after - 1);
                next = after;
            }
            assert_eq!(rows as u32, table.rows);
        }
    }
}
