//! The database that is measured: a private real server, the user's own, or the embedded one.
//!
//! Invariants: on a user's server nothing is touched but the tables that were made here, which are dropped when this
//! value is, whatever has happened before; private and embedded databases leave nothing behind.
//!
//! Not here: what is in the tables (`table`), starting a real server (`lab::real`).

use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use codec::Algorithm;
use lab::link::Address;
use lab::real::{Kind, RealServer};

use super::wirepress_process::LOGIN_MAX;
use crate::advise::is_loopback;
use crate::client::{Account, Client, ClientFault, Compression, Stop};
use crate::cpu;
use crate::record::Origin;
use crate::server_url::ServerUrl;
use crate::table::Table;

/// Which database.
#[derive(Clone, Debug)]
pub enum DatabaseWish {
    /// A private MySQL, fetched by `scripts/fetch-servers`.
    MySql,
    /// A private MariaDB, fetched by `scripts/fetch-servers`.
    MariaDb,
    /// The one in this program: no real server, no planner, no locks. Reports say so.
    Embedded,
    /// The user's own; tables are made in the schema that its URL names.
    Url(ServerUrl),
}

impl DatabaseWish {
    /// How a run's record names it.
    pub(super) const fn origin(&self) -> Origin {
        match self {
            Self::MySql => Origin::Mysql,
            Self::MariaDb => Origin::Mariadb,
            Self::Embedded => Origin::Embedded,
            Self::Url(_) => Origin::Server,
        }
    }
}

/// A database with tables.
pub(crate) struct Database {
    address: Address,
    account: Account,
    home: Home,
    /// Tables that may be there, and that nobody else removes.
    made: Mutex<Vec<Table>>,
}

enum Home {
    Private(Box<RealServer>),
    Embedded { _server: mysqlite::Server },
    Theirs { version: String },
}

/// How a private server is started.
#[derive(Debug, Default)]
pub(crate) struct PrivateOptions<'a> {
    /// It listens on all addresses, not on loopback alone.
    pub(crate) is_reached_from_outside: bool,
    /// Options besides.
    pub(crate) arguments: &'a [String],
    /// A command that runs it, such as `taskset -c 0`.
    pub(crate) through: &'a [OsString],
}

/// What to do about a table that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It has a name that nobody else uses: it is a leftover of a killed run.
    Replace,
    /// It may be somebody's: that is an error.
    Refuse,
}

impl Database {
    /// Starts it, or connects to it.
    ///
    pub(crate) fn start(
        wish: &DatabaseWish,
        private: &PrivateOptions<'_>,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let kind = match wish {
            DatabaseWish::MySql => Kind::MySql,
            DatabaseWish::MariaDb => Kind::MariaDb,
            DatabaseWish::Embedded => return Self::embedded(stop),
            DatabaseWish::Url(url) => {
                let account = url.account.clone();
                let made = Mutex::default();
                let home = Home::Theirs { version: String::new() };
                let mut database = Self { address: url.address.clone(), account, home, made };
                let version = database.version(stop)?;
                database.home = Home::Theirs { version };
                if !database.wants_tls() {
                    database.connect_plain(stop)?.quit();
                }
                return Ok(database);
            }
        };
        let mut options = lab::real::Options::new()
            .argument(format!("--max-connections={CONNECTIONS_MAX}"))
            .argument(format!("--connect-timeout={}", LOGIN_MAX.as_secs()))
            .argument("--max-prepared-stmt-count=1000000")
            .argument("--max-allowed-packet=64M")
            .argument("--innodb-buffer-pool-size=1G")
            .argument("--performance-schema=ON");
        for argument in private.arguments {
            options = options.argument(argument);
        }
        if private.is_reached_from_outside {
            options = options.bind(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        }
        let server = RealServer::start(kind, &options.through(private.through.iter().cloned())).with_context(|| {
            format!("cannot start a private {kind}; `make servers` fetches it, and --with embedded does without")
        })?;
        server.sql(&format!("create database {SCHEMA}"))?;
        let account = account(lab::real::USER, lab::real::PASSWORD, SCHEMA);
        Ok(Self {
            address: server.address().into(),
            account,
            home: Home::Private(Box::new(server)),
            made: Mutex::default(),
        })
    }

    fn embedded(stop: &Stop) -> anyhow::Result<Self> {
        let server = mysqlite::Server::start(mysqlite::Options::default())
            .context("cannot start the embedded database")?;
        let address = Address::from(server.address().context("the embedded database listens nowhere")?);
        let mut client = Client::connect(&address, &account("root", "", ""), Compression::NONE, stop)
            .context("cannot log in to the embedded database")?;
        client
            .query(&format!("create database {SCHEMA}"))
            .context("cannot make a schema in the embedded database")?;
        client.quit();
        Ok(Self {
            address,
            account: account("root", "", SCHEMA),
            home: Home::Embedded { _server: server },
            made: Mutex::default(),
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Who we are there.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Whether it runs in this process.
    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.home, Home::Embedded { .. })
    }

    /// Whether it is a private real server.
    pub(crate) fn private(&self) -> Option<&RealServer> {
        match &self.home {
            Home::Private(server) => Some(server),
            Home::Embedded { .. } | Home::Theirs { .. } => None,
        }
    }

    /// Whether it is a user's on another machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.home, Home::Theirs { .. }) && !is_loopback(&self.address)
    }

    /// Whether this machine's CPU time holds its, which nobody knows.
    pub(crate) fn hides_cpu(&self) -> bool {
        matches!(self.home, Home::Theirs { .. }) && is_loopback(&self.address)
    }

    /// How a report names it.
    pub(crate) fn name(&self) -> String {
        match &self.home {
            Home::Private(server) => format!("a private {} {}", server.kind(), server.version()),
            Home::Embedded { .. } => {
                "the embedded database (SQLite behind MySQL's protocol; not a real server)".to_owned()
            }
            Home::Theirs { version } => format!("the server at {} ({version})", self.address),
        }
    }

    /// Its CPU time so far, where it is a process on this machine that we know.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        self.private().and_then(|server| cpu::of_process(server.pid()))
    }

    /// Makes and fills tables; `filled` is told the share of a table's rows that are there, in percent.
    pub(crate) fn fill(
        &self,
        tables: &[Table],
        existing: Existing,
        stop: &Stop,
        mut filled: impl FnMut(&Table, u32),
    ) -> anyhow::Result<()> {
        let mut client = self.connect(stop)?;
        if existing == Existing::Refuse {
            self.refuse(&mut client, tables)?;
        }
        for table in tables {
            let failed = || format!("cannot make the table {} on {}", table.name, self.address);
            // Before it is made: whoever interrupts that does not hear whether it was.
            self.remember(table);
            if existing == Existing::Replace {
                client.query(&table.drop_statement()).with_context(failed)?;
            }
            if let Err(fault) = client.query(&table.create_statement()) {
                // A server that refuses has made nothing; what has the name by now is somebody else's.
                if let (ClientFault::Refused(error), Existing::Refuse) = (&fault, existing) {
                    self.forget(table);
                    ensure!(error.code != ER_TABLE_EXISTS_ERROR, self.is_taken(&[table]));
                }
                return Err(fault).with_context(failed);
            }
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

    /// Tells of all tables at once that are there already.
    fn refuse(&self, client: &mut Client, tables: &[Table]) -> anyhow::Result<()> {
        let mut taken = Vec::new();
        for table in tables {
            if has(client, table).with_context(|| format!("cannot look for a table {}", table.name))? {
                taken.push(table);
            }
        }
        ensure!(taken.is_empty(), self.is_taken(&taken));
        Ok(())
    }

    /// Nobody but the user knows whose they are: a run whose server went away could not drop its own.
    fn is_taken(&self, tables: &[&Table]) -> String {
        let schema = &self.account.database;
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let full: Vec<String> =
            names.iter().map(|name| format!("{}.{}", quoted(schema), quoted(name))).collect();
        let (a_table, them) = if names.len() == 1 { ("a table", "it") } else { ("tables", "them") };
        format!(
            "the schema '{schema}' has {a_table} {} already; name an empty schema in the server's URL, or, if a run whose server \
             went away left {them} there, drop {them} first: DROP TABLE {};",
            names.join(" and "),
            full.join(", ")
        )
    }

    /// Whether it packs with zstd itself; it is asked.
    pub(crate) fn has_zstd(&self, stop: &Stop) -> anyhow::Result<bool> {
        let compression = Compression { algorithm: Algorithm::Zstd, level: 1 };
        match Client::connect(&self.address, &self.account, compression, stop) {
            Ok(client) => {
                client.quit();
                Ok(true)
            }
            Err(ClientFault::CompressionNotOffered { .. }) => Ok(false),
            Err(fault) => Err(fault).context("cannot ask the database for zstd"),
        }
    }

    /// What it calls itself.
    fn version(&self, stop: &Stop) -> anyhow::Result<String> {
        let mut client = self.connect(stop)?;
        let product = if client.is_mariadb() { "MariaDB" } else { "MySQL" };
        let rows = client.query_texts("select version()").context("cannot ask the server for its version")?;
        client.quit();
        let version = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        Ok(format!("{product} {version}"))
    }

    /// A connection that does not cross the link.
    pub(crate) fn connect(&self, stop: &Stop) -> anyhow::Result<Client> {
        Client::connect(&self.address, &self.account, Compression::NONE, stop)
            .with_context(|| format!("cannot log in to the database at {}", self.address))
    }

    /// Whether everything that crosses the network has to be inside TLS.
    pub(crate) fn wants_tls(&self) -> bool {
        self.account.tls.as_ref().is_some_and(|tls| tls.is_required)
    }

    /// As most cells do.
    fn connect_plain(&self, stop: &Stop) -> anyhow::Result<Client> {
        let plain = Account { tls: None, ..self.account.clone() };
        Client::connect(&self.address, &plain, Compression::NONE, stop).with_context(|| {
            format!(
                "the database at {} takes no login that is not encrypted, as those of the cells are; --ssl-mode required \
                 measures all of them inside TLS",
                self.address
            )
        })
    }

    fn remember(&self, table: &Table) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(table.clone());
    }

    fn forget(&self, table: &Table) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|made| made.name != table.name);
    }

    fn drop_tables(&self, tables: &[Table]) -> anyhow::Result<()> {
        // Not the wish to stop: that is why we are here.
        let mut client = self.connect(&Stop::new())?;
        for table in tables {
            client.query(&table.drop_statement())?;
        }
        client.quit();
        Ok(())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        if !matches!(self.home, Home::Theirs { .. }) || made.is_empty() {
            return;
        }
        if let Err(error) = self.drop_tables(&made) {
            let names: Vec<&str> = made.iter().map(|table| table.name.as_str()).collect();
            let names = names.join(" and ");
            // Where nobody reads it, there is nobody to tell.
            drop(writeln!(std::io::stderr(), "wirepress: drop the tables {names} yourself: {error:#}"));
        }
    }
}

/// Whether there is one of that name, by the server's own rules for names; a view counts.
fn has(client: &mut Client, table: &Table) -> Result<bool, ClientFault> {
    match client.query(&format!("select 1 from {} limit 0", table.name)) {
        Ok(_) => Ok(true),
        Err(ClientFault::Refused(error)) if error.code == ER_NO_SUCH_TABLE => Ok(false),
        Err(fault) => Err(fault),
    }
}

fn account(user: &str, password: &str, database: &str) -> Account {
    Account {
        user: user.to_owned(),
        password: password.to_owned().into(),
        database: database.to_owned(),
        tls: None,
    }
}

/// The schema of private and embedded databases, as in the published experiment.
const SCHEMA: &str = "testdb";
/// 2,048 threads, and who looks on.
const CONNECTIONS_MAX: u32 = 2200;
/// MySQL's errors of those names.
const ER_TABLE_EXISTS_ERROR: u16 = 1050;
const ER_NO_SUCH_TABLE: u16 = 1146;

#[cfg(test)]
mod tests;
