//! What the SQL functions of a connection need to know of its session: they run inside SQLite and have no other
//! way to it.
//!
//! Not here: the session's transaction and statements (`engine`).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::Value;

use super::variables::{Setting, Variables};
use crate::engine::Identity;
use crate::fault::SqlFault;
use crate::live::LiveTables;
use crate::sql::token::Mode;

/// A session's state.
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
    /// Who has variables of its own.
    pub(crate) live: Option<Arc<dyn LiveTables>>,
}

/// The state, shared with the functions.
pub(crate) type SharedState = Arc<Mutex<SessionState>>;

/// The state; a panic in a function must not end the session.
pub(crate) fn lock(state: &Mutex<SessionState>) -> MutexGuard<'_, SessionState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionState {
    pub(crate) fn new(
        identity: Identity,
        globals: Arc<Mutex<Variables>>,
        live: Option<Arc<dyn LiveTables>>,
    ) -> Self {
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
            live,
        }
    }

    pub(crate) fn globals(&self) -> MutexGuard<'_, Variables> {
        self.globals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `@@name`, `@@session.name`, `@@global.name`
    pub(crate) fn system_variable(&self, name: &str) -> Result<Setting, SqlFault> {
        let bare = name.rsplit('.').next().unwrap_or(name);
        if let Some(value) = self.live_variable(bare) {
            return Ok(value.parse().map_or(Setting::Text(value), Setting::Number));
        }
        match name.split_once('.') {
            Some(("global", name)) => self.globals().value(name),
            Some(("session" | "local", name)) => self.session_variable(name),
            _ => self.session_variable(name),
        }
    }

    /// What the owner of live tables says of it.
    pub(crate) fn live_variable(&self, name: &str) -> Option<String> {
        let variables = self.live.as_ref()?.variables();
        variables.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What SHOW VARIABLES lists, of the session or of all.
    pub(crate) fn listed(&self, global: bool) -> Vec<(String, String)> {
        let mut listed = self.live.as_ref().map(|live| live.variables()).unwrap_or_default();
        let globals = self.globals();
        let others = if global { &*globals } else { &self.variables };
        let hidden: BTreeSet<_> = listed.iter().map(|(name, _)| name.clone()).collect();
        let others = others.list().filter(|(name, _)| !hidden.contains(*name));
        listed.extend(others.map(|(name, value)| (name.to_owned(), value)));
        listed.sort();
        listed
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
