//! One connection's engine: plans statements and runs them on its own SQLite connection.
//!
//! Invariants: at most one SQLite transaction, opened and closed by `transaction`; a statement that fails
//! leaves the rest of its transaction alone, as in MySQL.
//!
//! Not here: DDL (`ddl`), reading SQL (`sql`), sending rows (`rows`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, Value as SqliteValue, ValueRef};
use rusqlite::{Connection, Statement};
use wire::response::status;

use super::session_state::{SessionState, SharedState, lock};
use super::sqlite_fault::sqlite_fault;
use super::transaction::Transaction;
use super::variables::Setting;
use super::write_lock::WriteGuard;
use super::{Store, functions, information_schema, rows};
use crate::column::Column;
use crate::engine::{Engine, Identity, Outcome, Prepared, Reply, Value};
use crate::fault::{Fault, SqlFault};
use crate::schema::catalog::Catalog;
use crate::sessions::Sessions;
use crate::sql::cursor::Sql;
use crate::sql::insert::{AutoValue, Insert};
use crate::sql::load_data::LoadData;
use crate::sql::plan::{Plan, Query, plan};
use crate::sql::rewrite::Scope;
use crate::sql::set::{Assignment, NewValue, Target};
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

    fn insert(
        &mut self,
        insert: &Insert,
        params: &[Value<'_>],
        keep: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), Fault> {
        if insert.built_in {
            self.fill_built_in(&insert.sql)?;
        }
        let guard = self.begin_write()?;
        let affected = self.change(&insert.sql, params, keep, false)?;
        let last = self.sqlite.last_insert_rowid();
        drop(guard);
        let mut outcome = Outcome { affected_rows: affected, ..self.outcome() };
        let generated = match insert.auto_value {
            AutoValue::Given => false,
            AutoValue::Generated => true,
            AutoValue::Parameter(index) => {
                matches!(params.get(index), Some(Value::Null | Value::Int(0) | Value::Uint(0)))
            }
        };
        let mut state = lock(&self.state);
        state.row_count = affected.cast_signed();
        if insert.has_auto_column && affected > 0 {
            // The values of one statement are consecutive, as nobody else wrote meanwhile.
            let first = last - i64::try_from(affected).unwrap_or(1) + 1;
            outcome.last_insert_id = if generated { first } else { last }.cast_unsigned();
            if generated {
                state.last_insert_id = first;
            }
        }
        drop(state);
        if insert.row_count > 1 {
            let rows = insert.row_count as u64;
            outcome.message =
                format!("Records: {rows}  Duplicates: {}  Warnings: 0", rows.saturating_sub(affected));
        }
        reply.finish(&outcome)
    }

    /// Runs a statement that writes; returns how many rows it touched.
    fn change(&self, sql: &str, params: &[Value<'_>], keep: bool, deletes: bool) -> Result<u64, SqlFault> {
        let changed = with_statement(&self.sqlite, sql, keep, |statement| {
            bind(statement, params)?;
            statement.raw_execute().map(|count| count as u64)
        });
        let changed = changed.and_then(|inner| inner);
        changed.map_err(|error| sqlite_fault(error, &self.store.catalog(), deletes))
    }

    fn load_data(&mut self, load: &LoadData, reply: &mut dyn Reply) -> Result<(), Fault> {
        // All or nothing, whatever autocommit says.
        let own = !self.transaction.is_open();
        if own {
            self.transaction.begin();
        }
        let result = self.begin_write().map_err(Fault::Sql).and_then(|_| self.load_file(load, reply));
        if own && self.autocommit() {
            self.end(result.is_ok())?;
        }
        let (rows, affected) = result?;
        let message = format!("Records: {rows}  Deleted: 0  Skipped: {}  Warnings: 0", rows - affected);
        reply.finish(&Outcome { affected_rows: affected, message, ..self.outcome() })
    }

    /// Returns how many rows the file has and how many went in.
    fn load_file(&self, load: &LoadData, reply: &mut dyn Reply) -> Result<(u64, u64), Fault> {
        let catalog = self.store.catalog();
        let fault = |error| sqlite_fault(error, &catalog, false);
        let mut statement = self.sqlite.prepare(&load.sql).map_err(fault)?;
        let (mut pending, mut ignore) = (Vec::new(), load.ignore_lines);
        let (mut rows, mut affected) = (0_u64, 0_u64);
        let mut take = |pending: &mut Vec<u8>, at_end: bool| -> Result<(), SqlFault> {
            let mut start = 0;
            while let Some((mut fields, len)) = load.row(pending.get(start..).unwrap_or_default(), at_end) {
                start += len;
                if ignore > 0 {
                    ignore -= 1;
                    continue;
                }
                // Missing fields are NULL, those too many are dropped.
                fields.resize(load.column_count, None);
                let values: Vec<Value<'_>> =
                    fields.iter().map(|field| field.as_deref().map_or(Value::Null, text_or_blob)).collect();
                bind(&mut statement, &values).map_err(fault)?;
                affected += statement.raw_execute().map_err(fault)? as u64;
                rows += 1;
            }
            pending.drain(..start);
            Ok(())
        };
        reply.local_file(&load.file, &mut |bytes| {
            pending.extend_from_slice(bytes);
            // A line that ends exactly here may have its terminator in the next packet.
            take(&mut pending, false)
        })?;
        take(&mut pending, true)?;
        Ok((rows, affected))
    }

    fn set(&mut self, assignments: &[Assignment]) -> Result<(), SqlFault> {
        for (target, value) in assignments {
            let value = match value {
                NewValue::Default => None,
                NewValue::Expression { sql, built_in } => {
                    if *built_in {
                        self.fill_built_in(sql)?;
                    }
                    let value = self.sqlite.query_row(&format!("SELECT {sql}"), [], |row| row.get(0));
                    Some(value.map_err(|error| self.fault(error))?)
                }
            };
            self.assign(target, value)?;
        }
        Ok(())
    }

    fn assign(&mut self, target: &Target, value: Option<SqliteValue>) -> Result<(), SqlFault> {
        let setting = value.clone().map(|value| match value {
            SqliteValue::Null => Setting::Null,
            SqliteValue::Integer(number) => Setting::Number(number),
            SqliteValue::Real(number) => Setting::Text(number.to_string()),
            SqliteValue::Text(text) => Setting::Text(text),
            SqliteValue::Blob(bytes) => Setting::Text(String::from_utf8_lossy(&bytes).into_owned()),
        });
        if let (Target::System { name, .. }, Some(live), Some(setting)) =
            (target, self.store.live(), &setting)
        {
            let value = match setting {
                Setting::Null => String::new(),
                Setting::Number(number) => number.to_string(),
                Setting::Text(text) => text.clone(),
            };
            if let Some(done) = live.set(name, &value) {
                return done.map_err(|reason| SqlFault::WrongValue { name: name.clone(), value, reason });
            }
        }
        let mut state = lock(&self.state);
        // One of its own that can't be changed; drivers set session variables of the same names.
        if let Target::System { name, global: true } = target
            && state.live_variable(name).is_some()
        {
            return Err(SqlFault::VariableReadOnly(name.clone()));
        }
        match target {
            Target::User(name) => {
                state.user_variables.insert(name.clone(), value.unwrap_or(SqliteValue::Null));
                Ok(())
            }
            Target::Names => {
                for name in ["character_set_client", "character_set_connection", "character_set_results"] {
                    state.variables.set(name, setting.clone())?;
                }
                Ok(())
            }
            Target::System { name, global: true } => state.globals().set(name, setting),
            Target::System { name, .. } => {
                if matches!(name.as_str(), "last_insert_id" | "identity") {
                    state.last_insert_id =
                        if let Some(Setting::Number(number)) = setting { number } else { 0 };
                    return Ok(());
                }
                state.variables.set(name, setting)?;
                drop(state);
                self.after_set(name)
            }
        }
    }

    /// What a changed variable does at once.
    fn after_set(&mut self, name: &str) -> Result<(), SqlFault> {
        match name {
            "autocommit" if self.autocommit() => self.end(true),
            "foreign_key_checks" => {
                let on = lock(&self.state).variables.number("foreign_key_checks");
                let result = self.sqlite.execute_batch(&format!("PRAGMA foreign_keys = {on}"));
                result.map_err(|error| self.fault(error))
            }
            _ => Ok(()),
        }
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

impl SqliteEngine {
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
}

impl Drop for SqliteEngine {
    fn drop(&mut self) {
        // An open transaction of a client that went is rolled back.
        self.end(false).ok();
    }
}

/// Prepares `sql`, or takes it from the cache, and works with it.
fn with_statement<T>(
    sqlite: &Connection,
    sql: &str,
    keep: bool,
    work: impl FnOnce(&mut Statement<'_>) -> T,
) -> rusqlite::Result<T> {
    if keep { Ok(work(&mut *sqlite.prepare_cached(sql)?)) } else { Ok(work(&mut sqlite.prepare(sql)?)) }
}

fn bind(statement: &mut Statement<'_>, params: &[Value<'_>]) -> rusqlite::Result<()> {
    if statement.parameter_count() != params.len() {
        return Err(rusqlite::Error::InvalidParameterCount(params.len(), statement.parameter_count()));
    }
    for (index, value) in params.iter().enumerate() {
        let digits;
        let value = match value {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Value::Uint(number) => match i64::try_from(*number) {
                Ok(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
                Err(_) => {
                    digits = number.to_string();
                    ToSqlOutput::Borrowed(ValueRef::Text(digits.as_bytes()))
                }
            },
            Value::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Value::Text(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        };
        statement.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}

fn text_or_blob(bytes: &[u8]) -> Value<'_> {
    if std::str::from_utf8(bytes).is_ok() { Value::Text(bytes) } else { Value::Blob(bytes) }
}

/// A reply that nobody reads.
struct Quiet;

impl Reply for Quiet {
    fn begin(&mut self, _columns: Vec<Column>) -> Result<(), Fault> {
        Ok(())
    }

    fn value(&mut self, _value: Value<'_>) {}

    fn end_row(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn finish(&mut self, _outcome: &Outcome) -> Result<(), Fault> {
        Ok(())
    }

    fn local_file(
        &mut self,
        _name: &str,
        _sink: &mut dyn FnMut(&[u8]) -> Result<(), SqlFault>,
    ) -> Result<(), Fault> {
        Err(SqlFault::LocalFilesDisabled.into())
    }
}
