//! The tables of the experiments: their statements and their rows.
//!
//! ```text
//!  sbtest1   id, k, c CHAR(120), pad CHAR(60); index on k        sysbench's
//!  documents id, title, body MEDIUMTEXT                          text to index
//!  text1     id, body VARCHAR(2000)            prose
//!  blobs1    id, body MEDIUMBLOB               incompressible
//!  long1     id, body MEDIUMTEXT               prose, 1 MiB a row
//!  t1        col1, col2 … col10 TEXT; all rows fill col2 alone   the wide one
//! ```
//! The published wide table got its rows by `insert into t1 (col2) select …`: 64,000 bytes in col2, NULL in
//! the eight columns behind it.
//!
//! Invariants: no statement is longer than [`STATEMENT_BYTES`] and one row; the embedded database and a real
//! server get the same statements, except that a real server's tables may have names that no one else uses.
//!
//! Not here: the values of a row (`lab::generate`).

use std::fmt::Write;
use std::sync::Arc;

use lab::generate::{SysbenchRow, blob, sysbench_row, text_row, wide_row};

use crate::documents::Document;
use crate::published::{Published, ZstdScan};

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// sysbench's digits.
    Sysbench,
    /// Long repetitive rows.
    Wide,
    /// Text to index.
    Documents,
    /// Short prose.
    Text,
    /// What no codec makes smaller.
    Blob,
    /// Prose, a MiB a row.
    Long,
}

/// A table with its rows.
#[derive(Debug, Clone)]
pub struct Table {
    /// Which of the two.
    pub kind: Kind,
    /// Its name on the server.
    pub name: String,
    /// Rows it gets.
    pub rows: u32,
    /// Seed of its rows.
    pub seed: u64,
    /// Its rows, where they are not made from the seed.
    pub documents: Arc<[Document]>,
}

impl Kind {
    /// The name in the published experiment, and in the report.
    #[must_use]
    pub fn published_name(self) -> &'static str {
        match self {
            Self::Sysbench => "sbtest1",
            Self::Wide => "t1",
            Self::Documents => "documents",
            Self::Text => "text1",
            Self::Blob => "blobs1",
            Self::Long => "long1",
        }
    }

    /// How long a row of it is in a reply, bytes; of documents, which have lengths of their own, it is a guess.
    #[must_use]
    pub const fn bytes_per_row(self) -> u32 {
        match self {
            Self::Sysbench => 197,
            Self::Text => 420,
            Self::Wide | Self::Documents | Self::Blob => 64_020,
            Self::Long => 1_048_600,
        }
    }

    /// What was published about its full scan.
    #[must_use]
    pub fn published(self, published: &Published) -> Option<&ZstdScan> {
        match self {
            Self::Sysbench => Some(&published.rds_scan),
            Self::Wide => Some(&published.rds_wide),
            Self::Documents | Self::Text | Self::Blob | Self::Long => None,
        }
    }
}

impl Table {
    /// A table whose rows are made from a seed.
    #[must_use]
    pub fn generated(kind: Kind, name: impl Into<String>, rows: u32, seed: u64) -> Self {
        Self { kind, name: name.into(), rows, seed, documents: Arc::default() }
    }

    /// A table of documents.
    #[must_use]
    pub fn of_documents(name: impl Into<String>, documents: Vec<Document>) -> Self {
        let rows = u32::try_from(documents.len()).unwrap_or(u32::MAX);
        Self { kind: Kind::Documents, name: name.into(), rows, seed: 0, documents: documents.into() }
    }

    /// `select *`, as published.
    #[must_use]
    pub fn scan_statement(&self) -> String {
        format!("select * from {}", self.name)
    }

    /// Makes the table.
    #[must_use]
    pub fn create_statement(&self) -> String {
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
            Kind::Documents => format!(
                "create table {name} (id int not null primary key, title varchar(255) not null, \
                 body mediumtext not null) character set utf8mb4"
            ),
            Kind::Text => {
                format!("create table {name} (id int not null primary key, body varchar(2000) not null)")
            }
            Kind::Blob => {
                format!("create table {name} (id int not null primary key, body mediumblob not null)")
            }
            Kind::Long => {
                format!("create table {name} (id int not null primary key, body mediumtext not null)")
            }
        }
    }

    /// Removes the table, if it is there.
    #[must_use]
    pub fn drop_statement(&self) -> String {
        format!("drop table if exists {}", self.name)
    }

    /// The statement that adds rows from `first` on, and the first row that it leaves to the next one.
    #[must_use]
    pub fn insert_statement(&self, first: u32) -> (String, u32) {
        let columns = match self.kind {
            Kind::Sysbench => "id, k, c, pad",
            Kind::Wide => "col1, col2",
            Kind::Documents => "id, title, body",
            Kind::Text | Kind::Blob | Kind::Long => "id, body",
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
            Kind::Text => write!(sql, "({id},'{}')", text_row(self.seed, id, TEXT_BYTES)),
            Kind::Long => write!(sql, "({id},'{}')", text_row(self.seed, id, LONG_BYTES)),
            Kind::Blob => {
                sql.push_str(&format!("({id},x'"));
                for byte in blob(self.seed, id, BLOB_BYTES) {
                    write!(sql, "{byte:02x}").ok();
                }
                sql.push_str("')");
                Ok(())
            }
            Kind::Documents => {
                let document = self.documents.get(id as usize - 1);
                let (title, body) =
                    document.map_or(("", ""), |document| (document.title.as_str(), document.body.as_str()));
                write!(sql, "({id},'{}','{}')", quoted(title), quoted(body))
            }
        };
        debug_assert!(written.is_ok(), "a String takes everything");
    }
}

/// As it stands between quotes.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "''")
}

/// Far below every server's default max_allowed_packet (16 MiB), and enough that parsing dominates.
const STATEMENT_BYTES: usize = 512 * 1024;
/// A row of prose, as comments and descriptions have it.
const TEXT_BYTES: usize = 400;
/// An article with all its markup, or a document as JSON.
const LONG_BYTES: usize = 1 << 20;
/// A picture's thumbnail.
const BLOB_BYTES: usize = 64_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: Kind, rows: u32) -> Table {
        Table::generated(kind, "t", rows, 1)
    }

    #[test]
    fn documents_are_quoted() {
        let documents = vec![Document { title: "it's".to_owned(), body: "a\\b".to_owned() }];
        let (sql, next) = Table::of_documents("d", documents).insert_statement(1);
        assert_eq!(sql, r"insert into d (id, title, body) values (1,'it''s','a\\b')");
        assert_eq!(next, 2);
    }

    #[test]
    fn a_long_row_has_a_statement_of_its_own() {
        let table = table(Kind::Long, 2);
        let (sql, next) = table.insert_statement(1);
        assert!(sql.starts_with("insert into t (id, body) values (1,'") && sql.ends_with("')"));
        assert_eq!((next, sql.len() > LONG_BYTES && sql.len() < LONG_BYTES + 100), (2, true));
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
