//! SET: variables of the user, of the session, of the server, and those of a program that has this database inside.
//!
//! Invariants: what a changed variable does at once is done before the statement ends.
//!
//! Not here: names and values that there are (`variables`).

use rusqlite::types::Value as SqliteValue;

use super::SqliteEngine;
use crate::fault::SqlFault;
use crate::sql::set::{Assignment, NewValue, Target};
use crate::store::session_state::lock;
use crate::store::variables::Setting;

impl SqliteEngine {
    pub(super) fn set(&mut self, assignments: &[Assignment]) -> Result<(), SqlFault> {
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
    pub(super) fn after_set(&mut self, name: &str) -> Result<(), SqlFault> {
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
}
