//! One connection's engine: plans statements and runs them on its own SQLite connection.
//!
//! Invariants: at most one SQLite transaction, opened and closed by `transaction`; a statement that fails
//! leaves the rest of its transaction alone, as in MySQL.
//!
//! Not here: DDL (`ddl`), reading SQL (`sql`), sending rows (`rows`).

mod insert;
mod load_data;
mod quiet;
mod set;
mod statement;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use wire::response::status;

use self::quiet::Quiet;
use self::statement::{bind, with_statement};
use super::session_state::{SessionState, SharedState, lock};
use super::sqlite_fault::sqlite_fault;
use super::transaction::Transaction;
use super::write_lock::WriteGuard;
use super::{Store, functions, information_schema, rows};
use crate::column::Column;
use crate::engine::{Engine, Identity, Outcome, Prepared, Reply, Value};
use crate::fault::{Fault, SqlFault};
use crate::schema::catalog::Catalog;
use crate::sessions::Sessions;
use crate::sql::cursor::Sql;
use crate::sql::insert::Insert;
use crate::sql::plan::{Plan, Query, plan};
use crate::sql::rewrite::Scope;
use crate::sql::token::{Kind, tokens};

/// A prepared statement.
struct PreparedPlan {
    source: Arc<[u8]>,
    schema: Option<String>,
    plan: Arc<Plan>,
    generation: u64,
}

/// The engine of one connection.
pub(super) struct SqliteEngine {
    pub(super) store: Arc<Store>,
    pub(super) sqlite: Connection,
    pub(super) state: SharedState,
    pub(super) sessions: Arc<Sessions>,
    pub(super) transaction: Transaction,
    prepared: HashMap<u32, PreparedPlan>,
    last_prepared: u32,
    /// When the statement that runs must have ended.
    deadline: Arc<Mutex<Option<Instant>>>,
    /// More results of the same command follow.
    more: bool,
    /// The catalog's generation that SQLite's own copy of the schema is from.
    schema_generation: u64,
}

impl SqliteEngine {
    pub(super) fn new(
        store: Arc<Store>,
        identity: Identity,
        sessions: Arc<Sessions>,
    ) -> Result<Self, SqlFault> {
        let state = Arc::new(Mutex::new(SessionState::new(
            identity,
            Arc::clone(&store.globals),
            store.live.get().cloned(),
        )));
        let fault = |error: rusqlite::Error| SqlFault::Sqlite(error.to_string());
        let mut sqlite = store.connection().map_err(fault)?;
        functions::register(&sqlite, &state).map_err(fault)?;
        let deadline = Arc::<Mutex<Option<Instant>>>::default();
        if store.statement_timeout.get().is_some() {
            let deadline = Arc::clone(&deadline);
            let is_over = move || is_over(&deadline);
            sqlite.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over)).map_err(fault)?;
        }
        Ok(Self {
            store,
            sqlite,
            state,
            sessions,
            transaction: Transaction::default(),
            deadline,
            prepared: HashMap::new(),
            last_prepared: 0,
            more: false,
            schema_generation: 0,
        })
    }

    /// Runs statements without a client.
    pub(super) fn run_quietly(&mut self, sql: &[u8]) -> Result<(), SqlFault> {
        match self.query(sql, true, &mut Quiet) {
            Ok(()) => Ok(()),
            Err(Fault::Sql(fault)) => Err(fault),
            Err(other) => Err(SqlFault::Sqlite(other.to_string())),
        }
    }

    pub(super) fn fault(&self, error: rusqlite::Error) -> SqlFault {
        sqlite_fault(error, &self.store.catalog(), false)
    }

    fn autocommit(&self) -> bool {
        lock(&self.state).variables.number("autocommit") != 0
    }

    pub(super) fn lock_timeout(&self) -> Duration {
        Duration::from_secs(
            lock(&self.state).variables.number("innodb_lock_wait_timeout").max(1).cast_unsigned(),
        )
    }

    fn plan(&self, sql: Sql<'_>, catalog: &Catalog, schema: Option<&str>) -> Result<Plan, SqlFault> {
        let (pipes_as_concat, zero_is_value) = {
            let state = lock(&self.state);
            (state.pipes_as_concat(), state.zero_is_value())
        };
        plan(sql, Scope { catalog, schema, pipes_as_concat, zero_is_value })
    }

    /// The catalog now. SQLite learns of another connection's DDL only when it runs a statement, and tells the
    /// columns of older ones until then; so it runs one.
    fn fresh_catalog(&mut self) -> Result<Arc<Catalog>, SqlFault> {
        let catalog = self.store.catalog();
        if self.schema_generation != catalog.generation {
            self.sqlite.flush_prepared_statement_cache();
            let looked = self.sqlite.query_row("SELECT count(*) FROM wirepress_schemas", [], |_| Ok(()));
            looked.map_err(|error| self.fault(error))?;
            self.schema_generation = catalog.generation;
        }
        Ok(catalog)
    }

    fn outcome(&self) -> Outcome {
        Outcome { status: self.status(), ..Outcome::default() }
    }

    /// Before any statement: under autocommit=0 it is in a transaction.
    fn open_implicitly(&mut self) {
        if !self.transaction.is_open() && !self.autocommit() {
            self.transaction.begin();
        }
    }

    /// Before a statement that writes. The guard must live until it is done.
    pub(super) fn begin_write(&mut self) -> Result<Option<WriteGuard>, SqlFault> {
        self.open_implicitly();
        let timeout = self.lock_timeout();
        if !self.transaction.is_open() {
            return self.store.write_lock.take(timeout).map(Some);
        }
        let moved = self.transaction.write(&self.sqlite, &self.store.write_lock, timeout)?;
        moved.map_err(|error| self.fault(error))?;
        Ok(None)
    }

    /// Ends the transaction, if there is one.
    pub(super) fn end(&mut self, commit: bool) -> Result<(), SqlFault> {
        let result = self.transaction.end(&self.sqlite, commit);
        result.map_err(|error| self.fault(error))
    }

    fn fill_built_in(&self, sql: &str) -> Result<(), SqlFault> {
        information_schema::fill(self, sql).map_err(|error| self.fault(error))
    }

    /// Runs a plan; `keep` keeps SQLite's statement for the next time.
    fn run(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        keep: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), Fault> {
        let Some(timeout) = self.store.statement_timeout.get() else {
            return self.run_on(plan, params, keep, reply);
        };
        *held(&self.deadline) = Some(Instant::now() + *timeout);
        let result = self.run_on(plan, params, keep, reply);
        let timed_out = is_over(&self.deadline);
        *held(&self.deadline) = None;
        match result {
            Err(Fault::Sql(SqlFault::Interrupted)) if timed_out => Err(SqlFault::StatementTimeout.into()),
            other => other,
        }
    }

    fn run_on(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        keep: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), Fault> {
        self.store.check(plan)?;
        if plan.commits_first() {
            self.end(true)?;
        }
        match plan {
            Plan::Rows(query) => return self.rows(query, params, keep, reply),
            Plan::Insert(insert) => return self.insert(insert, params, keep, reply),
            Plan::Change(change) => {
                if change.built_in {
                    self.fill_built_in(&change.sql)?;
                }
                let guard = self.begin_write()?;
                let affected =
                    self.change(&change.sql, params, keep, change.sql.trim_start().starts_with("DELETE"))?;
                drop(guard);
                lock(&self.state).row_count = affected.cast_signed();
                let message = format!("Rows matched: {affected}  Changed: {affected}  Warnings: 0");
                return reply.finish(&Outcome { affected_rows: affected, message, ..self.outcome() });
            }
            Plan::LoadData(load) => return self.load_data(load, reply),
            Plan::Begin { snapshot } => {
                self.transaction.begin();
                if *snapshot {
                    self.snapshot().map_err(|error| self.fault(error))?;
                }
            }
            Plan::Commit => self.end(true)?,
            Plan::Rollback => self.end(false)?,
            Plan::Savepoint(name) => {
                self.open_implicitly();
                let result = self.transaction.savepoint(&self.sqlite, name);
                result.map_err(|error| self.fault(error))?;
            }
            Plan::RollbackTo(name) => {
                self.transaction.rollback_to(&self.sqlite, name)?.map_err(|error| self.fault(error))?;
            }
            Plan::Release(name) => {
                self.transaction.release(&self.sqlite, name)?.map_err(|error| self.fault(error))?;
            }
            Plan::Use(schema) => self.use_schema(schema)?,
            Plan::Set(assignments) => self.set(assignments)?,
            Plan::Kill(id, only_statement) => {
                let known = match self.store.live() {
                    Some(_) if *only_statement => {
                        return Err(SqlFault::NotSupported(
                            "KILL QUERY (KILL id ends the connection)".into(),
                        )
                        .into());
                    }
                    Some(live) => live.kill(*id),
                    None => u32::try_from(*id).is_ok_and(|id| self.sessions.kill(id, *only_statement)),
                };
                if !known {
                    return Err(SqlFault::UnknownThread(*id).into());
                }
            }
            Plan::Nothing => {}
            ddl => {
                let affected_rows = self.ddl(ddl)?;
                return reply.finish(&Outcome { affected_rows, ..self.outcome() });
            }
        }
        reply.finish(&self.outcome())
    }

    /// Opens the snapshot now: SQLite's begins with the first read.
    fn snapshot(&mut self) -> rusqlite::Result<()> {
        self.transaction.read(&self.sqlite)?;
        self.sqlite.query_row("SELECT count(*) FROM wirepress_schemas", [], |_| Ok(()))
    }

    fn rows(
        &mut self,
        query: &Query,
        params: &[Value<'_>],
        keep: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), Fault> {
        if query.built_in {
            self.fill_built_in(&query.sql)?;
        }
        self.store.fill_live(&self.sqlite, &query.sql).map_err(|error| self.fault(error))?;
        self.open_implicitly();
        if query.locks && self.transaction.is_open() {
            self.begin_write()?;
        } else {
            self.transaction.read(&self.sqlite).map_err(|error| self.fault(error))?;
        }
        let catalog = self.store.catalog();
        let limit = lock(&self.state).variables.number("sql_select_limit").max(0).cast_unsigned();
        let fault = |error| Fault::Sql(sqlite_fault(error, &catalog, false));
        let sent = with_statement(&self.sqlite, &query.sql, keep, |statement| {
            if let Err(error) = bind(statement, params) {
                return Ok(Err(error));
            }
            rows::send(statement, &catalog, limit, reply)
        });
        let count = sent.map_err(fault)??.map_err(fault)?;
        {
            let mut state = lock(&self.state);
            (state.found_rows, state.row_count) = (count, -1);
        }
        reply.finish(&self.outcome())
    }

    /// The columns that a plan's rows will have.
    fn columns(&mut self, plan: &Plan, catalog: &Catalog) -> Result<Vec<Column>, SqlFault> {
        let sql = match plan {
            Plan::Rows(query) => {
                if query.built_in {
                    self.fill_built_in(&query.sql)?;
                }
                &query.sql
            }
            Plan::Insert(Insert { sql, .. }) => sql,
            Plan::Change(change) => &change.sql,
            _ => return Ok(Vec::new()),
        };
        let described =
            with_statement(&self.sqlite, sql, true, |statement| rows::describe(statement, catalog));
        let described = described.map_err(|error| sqlite_fault(error, catalog, false))?;
        Ok(described.into_iter().map(|described| described.column).collect())
    }

    fn current_schema(&self) -> Option<String> {
        lock(&self.state).schema.clone()
    }
}

fn held(deadline: &Mutex<Option<Instant>>) -> MutexGuard<'_, Option<Instant>> {
    deadline.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_over(deadline: &Mutex<Option<Instant>>) -> bool {
    held(deadline).is_some_and(|deadline| Instant::now() >= deadline)
}

/// SQLite's steps between two looks at the clock: some tens of microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

impl Engine for SqliteEngine {
    fn query(&mut self, sql: &[u8], multi: bool, reply: &mut dyn Reply) -> Result<(), Fault> {
        let mode = lock(&self.state).mode();
        let tokens = tokens(sql, mode)?;
        let mut statements = Sql { source: sql, tokens: &tokens, mode }.statements().peekable();
        if statements.peek().is_none() {
            // An empty command, or a comment of another version.
            return if tokens.is_empty() && !sql.is_empty() {
                reply.finish(&self.outcome())
            } else {
                Err(SqlFault::EmptyQuery.into())
            };
        }
        while let Some(statement) = statements.next() {
            self.more = statements.peek().is_some();
            if self.more && !multi {
                self.more = false;
                return Err(statement.syntax(statement.len()).into());
            }
            let catalog = self.fresh_catalog()?;
            let schema = self.current_schema();
            let result = self
                .plan(statement, &catalog, schema.as_deref())
                .map_err(Fault::Sql)
                .and_then(|plan| self.run(&plan, &[], false, reply));
            if result.is_err() {
                self.more = false;
                lock(&self.state).row_count = -1;
                return result;
            }
        }
        Ok(())
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlFault> {
        let mode = lock(&self.state).mode();
        let tokens = tokens(sql, mode)?;
        let all = Sql { source: sql, tokens: &tokens, mode };
        let mut statements = all.statements();
        let (Some(statement), None) = (statements.next(), statements.next()) else {
            return Err(if tokens.is_empty() { SqlFault::EmptyQuery } else { all.syntax(0) });
        };
        let catalog = self.fresh_catalog()?;
        let schema = self.current_schema();
        let plan = self.plan(statement, &catalog, schema.as_deref())?;
        let columns = self.columns(&plan, &catalog)?;
        let param_count = tokens.iter().filter(|token| token.kind == Kind::Param).count();
        self.last_prepared += 1;
        let id = self.last_prepared;
        let generation = catalog.generation;
        self.prepared
            .insert(id, PreparedPlan { source: sql.into(), schema, plan: Arc::new(plan), generation });
        Ok(Prepared { id, param_count, columns })
    }

    fn execute(&mut self, id: u32, params: &[Value<'_>], reply: &mut dyn Reply) -> Result<(), Fault> {
        let catalog = self.fresh_catalog()?;
        let prepared = self.prepared.get(&id).ok_or(SqlFault::UnknownStatement(id))?;
        let plan = if prepared.generation == catalog.generation || prepared.plan.outlives_catalog() {
            Arc::clone(&prepared.plan)
        } else {
            let (source, schema) = (Arc::clone(&prepared.source), prepared.schema.clone());
            let mode = lock(&self.state).mode();
            let tokens = tokens(&source, mode)?;
            let mut statements = Sql { source: &source, tokens: &tokens, mode }.statements();
            let statement = statements.next().ok_or(SqlFault::EmptyQuery)?;
            let plan = Arc::new(self.plan(statement, &catalog, schema.as_deref())?);
            if let Some(prepared) = self.prepared.get_mut(&id) {
                (prepared.plan, prepared.generation) = (Arc::clone(&plan), catalog.generation);
            }
            plan
        };
        self.more = false;
        self.run(&plan, params, true, reply)
    }

    fn close(&mut self, id: u32) {
        self.prepared.remove(&id);
    }

    fn use_schema(&mut self, schema: &str) -> Result<(), SqlFault> {
        if !self.store.catalog().has_schema(schema) {
            return Err(SqlFault::UnknownDatabase(schema.to_owned()));
        }
        let id = {
            let mut state = lock(&self.state);
            state.schema = Some(schema.to_owned());
            state.identity.id
        };
        self.sessions.update(id, |process| process.schema = Some(schema.to_owned()));
        Ok(())
    }

    fn fields(&mut self, table: &str) -> Result<Vec<(Column, Option<String>)>, SqlFault> {
        let schema = self.current_schema().ok_or(SqlFault::NoDatabase)?;
        let catalog = self.store.catalog();
        if crate::schema::catalog::is_built_in(&schema) {
            return Ok(information_schema::fields(&schema, table));
        }
        let table = catalog.table(&schema, table)?;
        Ok(table
            .columns
            .iter()
            .map(|column| (table.describe(column, &column.name), column.shown_default()))
            .collect())
    }

    fn reset(&mut self) -> Result<(), SqlFault> {
        self.end(false)?;
        self.prepared.clear();
        let mut state = lock(&self.state);
        let (identity, globals, schema) =
            (state.identity.clone(), Arc::clone(&state.globals), state.schema.clone());
        *state =
            SessionState { schema, ..SessionState::new(identity, globals, self.store.live.get().cloned()) };
        drop(state);
        self.after_set("foreign_key_checks")
    }

    fn change_user(&mut self, user: &str) {
        let mut state = lock(&self.state);
        user.clone_into(&mut state.identity.user);
        state.schema = None;
    }

    fn status(&self) -> u16 {
        let mut bits = if self.autocommit() { status::AUTOCOMMIT } else { 0 };
        bits |= if self.transaction.is_open() { status::IN_TRANSACTION } else { 0 };
        bits | if self.more { status::MORE_RESULTS_EXISTS } else { 0 }
    }

    fn interrupter(&self) -> Box<dyn Fn() + Send> {
        let handle = self.sqlite.get_interrupt_handle();
        Box::new(move || handle.interrupt())
    }
}

impl Drop for SqliteEngine {
    fn drop(&mut self) {
        // An open transaction of a client that went is rolled back.
        self.end(false).ok();
    }
}
