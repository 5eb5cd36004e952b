//! The database that the demo reads from: the embedded one, or a real server of the user's.
//!
//! Invariants: on a real server nothing is touched but the demo's own two tables, and these are dropped when
//! this value is, whatever has happened before; the embedded database leaves nothing behind.
//!
//! Not here: what is in the tables (`table`).

use std::cell::Cell;

use anyhow::Context;
use lab::link::Address;

use super::server_url::ServerUrl;
use super::table::{Kind, Table};
use crate::client::{Account, Client, Compression, Stop};

/// A database with the demo's tables.
pub(super) struct Database {
    address: Address,
    account: Account,
    tables: Vec<Table>,
    embedded: Option<mysqlite::Server>,
    /// Whether there may be tables to drop.
    is_touched: Cell<bool>,
}

impl Database {
    /// Starts the embedded database; its tables have the published names.
    pub(super) fn embedded(rows: u32, wide_rows: u32, seed: u64, stop: &Stop) -> anyhow::Result<Self> {
        let server = mysqlite::Server::start(mysqlite::Options::default())
            .context("cannot start the embedded database")?;
        let address = Address::from(server.address().context("the embedded database listens nowhere")?);
        let account = |database: &str| Account {
            user: "root".to_owned(),
            password: String::new().into(),
            database: database.to_owned(),
        };
        let mut client = Client::connect(&address, &account(""), Compression::NONE, stop)
            .context("cannot log in to the embedded database")?;
        client
            .query(&format!("create database {SCHEMA}"))
            .context("cannot make a schema in the embedded database")?;
        client.quit();
        Ok(Self {
            address,
            account: account(SCHEMA),
            tables: tables("", rows, wide_rows, seed),
            embedded: Some(server),
            is_touched: Cell::new(false),
        })
    }

    /// A real server; the tables have names that no one else uses.
    pub(super) fn real(url: &ServerUrl, rows: u32, wide_rows: u32, seed: u64) -> Self {
        Self {
            address: url.address.clone(),
            account: url.account.clone(),
            tables: tables("wirepress_demo_", rows, wide_rows, seed),
            embedded: None,
            is_touched: Cell::new(false),
        }
    }

    /// Where it listens.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Who we are there.
    pub(super) fn account(&self) -> &Account {
        &self.account
    }

    /// Whether it runs in this process.
    pub(super) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// The demo's tables.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Makes and fills the tables; `filled` is told the share of a table's rows that are there, in percent.
    pub(super) fn fill(&self, stop: &Stop, mut filled: impl FnMut(&Table, u32)) -> anyhow::Result<()> {
        let mut client = self.connect(stop)?;
        self.is_touched.set(true);
        for table in &self.tables {
            let failed = || format!("cannot make the table {} on {}", table.name, self.address);
            client.query(&table.drop_statement()).with_context(failed)?;
            client.query(&table.create_statement()).with_context(failed)?;
            client.query("begin").with_context(failed)?;
            let mut next = 1;
            while next <= table.rows {
                let (sql, after) = table.insert_statement(next);
                client.query(&sql).with_context(|| format!("cannot fill the table {}", table.name))?;
                next = after;
                filled(
                    table,
                    u32::try_from(u64::from(next - 1) * 100 / u64::from(table.rows)).unwrap_or(100),
                );
            }
            client.query("commit").with_context(failed)?;
        }
        client.quit();
        Ok(())
    }

    fn connect(&self, stop: &Stop) -> anyhow::Result<Client> {
        Client::connect(&self.address, &self.account, Compression::NONE, stop)
            .with_context(|| format!("cannot log in to the database at {}", self.address))
    }

    fn drop_tables(&self) -> anyhow::Result<()> {
        // Not the demo's own wish to stop: that is why we are here.
        let mut client = self.connect(&Stop::new())?;
        for table in &self.tables {
            client.query(&table.drop_statement())?;
        }
        client.quit();
        Ok(())
    }
}

impl Drop for Database {
    #[expect(clippy::print_stderr, reason = "a table that stays behind must be told, whatever else fails")]
    fn drop(&mut self) {
        if self.embedded.is_some() || !self.is_touched.get() {
            return;
        }
        if let Err(error) = self.drop_tables() {
            let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
            eprintln!("wirepress demo: drop the tables {} yourself: {error:#}", names.join(" and "));
        }
    }
}

fn tables(prefix: &str, rows: u32, wide_rows: u32, seed: u64) -> Vec<Table> {
    [(Kind::Sysbench, rows), (Kind::Wide, wide_rows)]
        .into_iter()
        .map(|(kind, rows)| {
            let name = format!("{prefix}{}", kind.published_name());
            Table { kind, name, rows: rows.max(1), seed }
        })
        .collect()
}

/// The embedded database's schema, as in the published experiment.
const SCHEMA: &str = "testdb";
