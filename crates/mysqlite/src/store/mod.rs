//! The embedded database: one SQLite file, its catalog, its write lock.
//!
//! All MySQL databases share one file; a table's name in it is `database.table`. So a transaction over several
//! databases is one transaction, and dropping a database cannot leave a file open somewhere.
//!
//! Invariants: the catalog in memory equals the one in the file (`wirepress_*` tables) whenever no DDL runs;
//! DDL runs under the write lock.
//!
//! Not here: a connection's work (`engine`).

mod built_in;
mod ddl;
mod engine;
mod functions;
mod information_schema;
mod live;
mod numeric_functions;
mod rows;
mod session_state;
mod sqlite_fault;
mod time_functions;
mod transaction;
pub(crate) mod variables;
mod write_lock;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use tempfile::TempDir;

use self::engine::SqliteEngine;
use self::variables::Variables;
use self::write_lock::WriteLock;
use crate::engine::{Database, Engine, Identity};
use crate::fault::SqlFault;
use crate::live::LiveTables;
use crate::schema::catalog::Catalog;
use crate::schema::table::Table;
use crate::sessions::Sessions;
use crate::sql::cursor::{Cursor, Sql};
use crate::sql::rewrite::Scope;
use crate::sql::token::{Mode, tokens};
use crate::sql::{create_table, quote};
use crate::start_fault::StartFault;

/// Prepared statements that SQLite keeps per connection: sysbench with ten tables has a hundred.
const STATEMENT_CACHE_LEN: usize = 256;

/// For writers outside this process; ours queue in `write_lock`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(50);

/// The embedded database.
pub struct Store {
    path: PathBuf,
    /// Removes the file at the end when it is a temporary one.
    directory: Option<TempDir>,
    catalog: RwLock<Arc<Catalog>>,
    write_lock: Arc<WriteLock>,
    globals: Arc<Mutex<Variables>>,
    /// Who fills the tables, where they are live.
    live: OnceLock<Arc<dyn LiveTables>>,
    /// How long a statement may run, where that is limited.
    statement_timeout: OnceLock<Duration>,
    /// Keeps the WAL from being folded away each time the last client goes.
    _keeper: Mutex<Connection>,
}

impl Store {
    /// Opens the file, or a temporary one.
    /// Errors: the file cannot be opened or is not ours.
    pub fn open(file: Option<&Path>) -> Result<Arc<Self>, StartFault> {
        let (path, directory) = match file {
            Some(path) => (path.to_owned(), None),
            None => {
                let directory = TempDir::with_prefix("wirepress-").map_err(StartFault::TemporaryDirectory)?;
                (directory.path().join("database.sqlite"), Some(directory))
            }
        };
        let fault = |cause| StartFault::Open { path: path.clone(), cause };
        let keeper = connect(&path).map_err(fault)?;
        keeper.execute_batch(SETUP).map_err(fault)?;
        let catalog = read_catalog(&keeper).map_err(fault)?;
        let catalog = catalog.map_err(|cause| StartFault::Catalog { path: path.clone(), cause })?;
        let this = Arc::new(Self {
            directory,
            catalog: RwLock::new(Arc::new(catalog)),
            write_lock: Arc::default(),
            globals: Arc::default(),
            live: OnceLock::new(),
            statement_timeout: OnceLock::new(),
            _keeper: Mutex::new(keeper),
            path,
        });
        this.execute(MYSQL_DATABASE)
            .map_err(|cause| StartFault::Catalog { path: this.path.clone(), cause })?;
        Ok(this)
    }

    /// The SQLite file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the catalog; the caller holds the write lock.
    fn set_catalog(&self, mut catalog: Catalog) {
        catalog.generation += 1;
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    /// Runs statements as a client would, their rows thrown away: to make databases and tables.
    /// Errors: the first statement's that fails.
    pub fn execute(self: &Arc<Self>, sql: &str) -> Result<(), SqlFault> {
        let identity = Identity {
            id: 0,
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            algorithm: codec::Algorithm::Uncompressed,
            level: 0,
            tls: Default::default(),
        };
        SqliteEngine::new(Arc::clone(self), identity, Sessions::new(1))?.run_quietly(sql.as_bytes())
    }

    /// Inserts rows in one transaction, by far the fastest way to fill a table.
    /// Shape: every row has a value per column; returns the number of rows.
    /// Errors: 1146, 1062 and what else an INSERT ends with; then no row is in.
    pub fn bulk_insert<R>(
        &self,
        schema: &str,
        table: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = R>,
    ) -> Result<u64, SqlFault>
    where
        R: IntoIterator,
        R::Item: rusqlite::ToSql,
    {
        let catalog = self.catalog();
        let table = catalog.table(schema, table)?;
        if let Some(unknown) = columns.iter().find(|name| table.column(name).is_none()) {
            return Err(SqlFault::UnknownColumn((*unknown).to_owned()));
        }
        let names: Vec<String> = columns.iter().map(|name| quote::name(name)).collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            table.sqlite_name(),
            names.join(","),
            vec!["?"; columns.len()].join(",")
        );
        let fault = |error| sqlite_fault::sqlite_fault(error, &catalog, false);
        let sqlite = self.connection().map_err(fault)?;
        let _guard = self.write_lock.take(BUSY_TIMEOUT)?;
        let transaction = sqlite.unchecked_transaction().map_err(fault)?;
        let mut count = 0;
        {
            let mut statement = transaction.prepare(&sql).map_err(fault)?;
            for row in rows {
                count += statement.execute(params_from_iter(row)).map_err(fault)? as u64;
            }
        }
        transaction.commit().map_err(fault)?;
        Ok(count)
    }

    /// A SQLite connection to the file.
    fn connection(&self) -> rusqlite::Result<Connection> {
        let connection = connect(&self.path)?;
        if self.directory.is_some() {
            // A temporary database need not survive a power cut.
            connection.execute_batch("PRAGMA synchronous = OFF")?;
        }
        functions::register_stateless(&connection)?;
        Ok(connection)
    }
}

impl Database for Arc<Store> {
    fn connect(&self, identity: Identity, sessions: Arc<Sessions>) -> Result<Box<dyn Engine>, SqlFault> {
        let mut engine = SqliteEngine::new(Self::clone(self), identity, sessions)?;
        if let Some(live) = self.live() {
            engine.use_schema(live.schema())?;
        }
        Ok(Box::new(engine))
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_LEN);
    // A name in double quotes is never a text, so a wrong name is an error.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.execute_batch(PRAGMAS)?;
    Ok(connection)
}

/// WAL: readers see the last commit while one writes. NORMAL: a power cut may lose the last commits, never the
/// file. 16 MiB of pages per connection hold the inner nodes of every index and the hot rows.
const PRAGMAS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; \
    PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA legacy_alter_table = ON; \
    PRAGMA mmap_size = 1073741824; PRAGMA wal_autocheckpoint = 4000;";

/// The catalog's own tables.
const SETUP: &str = "CREATE TABLE IF NOT EXISTS wirepress_schemas (name TEXT PRIMARY KEY) STRICT; \
    CREATE TABLE IF NOT EXISTS wirepress_tables (schema TEXT NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL, \
    PRIMARY KEY (schema, name)) STRICT;";

/// The database `mysql`: `mysqldump --all-databases` dumps nothing until it has seen its name, and MariaDB's wants
/// these two tables in it.
const MYSQL_DATABASE: &str = "CREATE DATABASE IF NOT EXISTS mysql; \
    CREATE TABLE IF NOT EXISTS mysql.general_log (event_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), \
    user_host mediumtext NOT NULL, thread_id bigint unsigned NOT NULL, server_id int unsigned NOT NULL, command_type \
    varchar(64) NOT NULL, argument mediumblob NOT NULL) ENGINE=CSV COMMENT='General log'; \
    CREATE TABLE IF NOT EXISTS mysql.slow_log (start_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), \
    user_host mediumtext NOT NULL, query_time time(6) NOT NULL, lock_time time(6) NOT NULL, rows_sent int NOT NULL, \
    rows_examined int NOT NULL, db varchar(512) NOT NULL, last_insert_id int NOT NULL, insert_id int NOT NULL, \
    server_id int unsigned NOT NULL, sql_text mediumblob NOT NULL, thread_id bigint unsigned NOT NULL) ENGINE=CSV \
    COMMENT='Slow log'";

/// Reads the definitions back with the parser of CREATE TABLE.
fn read_catalog(sqlite: &Connection) -> rusqlite::Result<Result<Catalog, SqlFault>> {
    let mut catalog = Catalog::default();
    let mut statement = sqlite.prepare("SELECT name FROM wirepress_schemas")?;
    for name in statement.query_map([], |row| row.get::<_, String>(0))? {
        catalog.schemas.insert(name?, Default::default());
    }
    let mut statement = sqlite.prepare("SELECT schema, name, definition FROM wirepress_tables")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?;
    for row in rows {
        let (schema, name, definition): (String, String, String) = row?;
        match parse_definition(&schema, &name, &definition) {
            Ok(table) => {
                catalog.schemas.entry(schema).or_default().insert(name, Arc::new(table));
            }
            Err(fault) => return Ok(Err(fault)),
        }
    }
    Ok(Ok(catalog))
}

fn parse_definition(schema: &str, name: &str, definition: &str) -> Result<Table, SqlFault> {
    let tokens = tokens(definition.as_bytes(), Mode::default())?;
    let sql = Sql { source: definition.as_bytes(), tokens: &tokens, mode: Mode::default() };
    let catalog = Catalog::default();
    let scope = Scope { catalog: &catalog, schema: None, pipes_as_concat: false, zero_is_value: false };
    let mut table = Table::new(schema.to_owned(), name.to_owned());
    // CREATE TABLE `name` (
    create_table::body(&mut Cursor::new(sql, 3), &mut table, scope)?;
    Ok(table)
}
