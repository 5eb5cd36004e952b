//! What the SQL functions of a connection need to know of its session: they run inside SQLite and have no other
//! way to it.
//!
//! Not here: the session's transaction and statements (`engine`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::Value;

use super::variables::{Setting, Variables};
use crate::engine::Identity;
use crate::fault::SqlFault;
use crate::sql::token::Mode;

/// A session's state.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) identity: Identity,
    pub(crate) schema: Option<String>,
    pub(crate) last_insert_id: i64,
    pub(crate) row_count: i64,
    pub(crate) found_rows: i64,
    pub(crate) user_variables: HashMap<String, Value>,
    pub(crate) variables: Variables,
    /// Shared by all sessions.
    pub(crate) globals: Arc<Mutex<Variables>>,
}

/// The state, shared with the functions.
pub(crate) type SharedState = Arc<Mutex<SessionState>>;

/// The state; a panic in a function must not end the session.
pub(crate) fn lock(state: &Mutex<SessionState>) -> MutexGuard<'_, SessionState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionState {
    pub(crate) fn new(identity: Identity, globals: Arc<Mutex<Variables>>) -> Self {
        let variables = globals.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            identity,
            schema: None,
            last_insert_id: 0,
            row_count: 0,
            found_rows: 0,
            user_variables: HashMap::new(),
            variables,
            globals,
        }
    }

    pub(crate) fn globals(&self) -> MutexGuard<'_, Variables> {
        self.globals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `@@name`, `@@session.name`, `@@global.name`
    pub(crate) fn system_variable(&self, name: &str) -> Result<Setting, SqlFault> {
        match name.split_once('.') {
            Some(("global", name)) => self.globals().value(name),
            Some(("session" | "local", name)) => self.session_variable(name),
            _ => self.session_variable(name),
        }
    }

    fn session_variable(&self, name: &str) -> Result<Setting, SqlFault> {
        match name {
            "last_insert_id" | "identity" => Ok(Setting::Number(self.last_insert_id)),
            "pseudo_thread_id" => Ok(Setting::Number(i64::from(self.identity.id))),
            "timestamp" => Ok(Setting::Number(super::time_functions::now_unix_s())),
            _ => self.variables.value(name),
        }
    }

    fn has_sql_mode(&self, mode: &str) -> bool {
        self.variables.text("sql_mode").split(',').any(|one| one.eq_ignore_ascii_case(mode))
    }

    /// How literals are read.
    pub(crate) fn mode(&self) -> Mode {
        Mode {
            ansi_quotes: self.has_sql_mode("ANSI_QUOTES") || self.has_sql_mode("ANSI"),
            no_backslash_escapes: self.has_sql_mode("NO_BACKSLASH_ESCAPES"),
        }
    }

    pub(crate) fn pipes_as_concat(&self) -> bool {
        self.has_sql_mode("PIPES_AS_CONCAT") || self.has_sql_mode("ANSI")
    }

    pub(crate) fn zero_is_value(&self) -> bool {
        self.has_sql_mode("NO_AUTO_VALUE_ON_ZERO")
    }
}
