//! System variables: their names, defaults and who may set them.
//!
//! Only a few do something here (`sql_mode`, `autocommit`, `foreign_key_checks`, `innodb_lock_wait_timeout`);
//! the others are what drivers and mysqldump set and read back.
//!
//! Not here: SET's grammar (`sql::set`), what the few do (`session_state`, `engine`).

use std::collections::BTreeMap;

use crate::fault::SqlFault;
use crate::login::SERVER_VERSION;

/// How a variable's value looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// ON and OFF to SHOW, 1 and 0 to SELECT.
    Switch,
    Number,
    Text,
    /// A text that nobody may set.
    Fixed,
    /// A number that nobody may set.
    FixedNumber,
}

use Kind::{Fixed, FixedNumber, Number, Switch, Text};

/// All variables in order of name. An empty text of a text means empty, `NULL` means NULL.
#[rustfmt::skip]
const VARIABLES: &[(&str, Kind, &str)] = &[
    ("auto_increment_increment", Number, "1"),
    ("auto_increment_offset", Number, "1"),
    ("autocommit", Switch, "1"),
    ("big_tables", Switch, "0"),
    ("bulk_insert_buffer_size", Number, "8388608"),
    ("character_set_client", Text, "utf8mb4"),
    ("character_set_connection", Text, "utf8mb4"),
    ("character_set_database", Text, "utf8mb4"),
    ("character_set_filesystem", Text, "binary"),
    ("character_set_results", Text, "utf8mb4"),
    ("character_set_server", Text, "utf8mb4"),
    ("character_set_system", Fixed, "utf8mb3"),
    ("collation_connection", Text, "utf8mb4_0900_ai_ci"),
    ("collation_database", Text, "utf8mb4_0900_ai_ci"),
    ("collation_server", Text, "utf8mb4_0900_ai_ci"),
    ("connect_timeout", Number, "10"),
    ("default_storage_engine", Text, "InnoDB"),
    ("default_tmp_storage_engine", Text, "InnoDB"),
    ("default_week_format", Number, "0"),
    ("div_precision_increment", Number, "4"),
    ("event_scheduler", Switch, "0"),
    ("explicit_defaults_for_timestamp", Switch, "1"),
    ("foreign_key_checks", Switch, "1"),
    ("group_concat_max_len", Number, "1024"),
    ("gtid_executed", Fixed, ""),
    ("gtid_mode", Fixed, "OFF"),
    ("gtid_next", Text, "AUTOMATIC"),
    ("gtid_purged", Text, ""),
    ("have_compress", Fixed, "YES"),
    ("have_openssl", Fixed, "DISABLED"),
    ("have_ssl", Fixed, "DISABLED"),
    ("hostname", Fixed, "localhost"),
    ("identity", Number, "0"),
    ("information_schema_stats_expiry", Number, "86400"),
    ("init_connect", Text, ""),
    ("innodb_file_per_table", Switch, "1"),
    ("innodb_flush_log_at_trx_commit", Number, "1"),
    ("innodb_lock_wait_timeout", Number, "50"),
    ("innodb_read_only", Switch, "0"),
    ("innodb_stats_auto_recalc", Switch, "1"),
    ("innodb_strict_mode", Switch, "1"),
    ("insert_id", Number, "0"),
    ("interactive_timeout", Number, "28800"),
    ("last_insert_id", Number, "0"),
    ("lc_messages", Text, "en_US"),
    ("lc_time_names", Text, "en_US"),
    ("license", Fixed, "Apache-2.0"),
    ("local_infile", Switch, "1"),
    ("lock_wait_timeout", Number, "31536000"),
    ("log_bin", Fixed, "OFF"),
    ("long_query_time", Number, "10"),
    ("low_priority_updates", Switch, "0"),
    ("lower_case_file_system", Fixed, "OFF"),
    ("lower_case_table_names", FixedNumber, "0"),
    ("max_allowed_packet", Number, "67108864"),
    ("max_connections", Number, "100000"),
    ("max_error_count", Number, "1024"),
    ("max_execution_time", Number, "0"),
    ("max_heap_table_size", Number, "16777216"),
    ("max_prepared_stmt_count", Number, "16382"),
    ("max_sort_length", Number, "1024"),
    ("net_buffer_length", Number, "16384"),
    ("net_read_timeout", Number, "30"),
    ("net_retry_count", Number, "10"),
    ("net_write_timeout", Number, "60"),
    ("old_alter_table", Switch, "0"),
    ("optimizer_switch", Text, ""),
    ("port", FixedNumber, "0"),
    ("profiling", Switch, "0"),
    ("protocol_compression_algorithms", Fixed, "zlib,zstd,uncompressed"),
    ("protocol_version", FixedNumber, "10"),
    ("pseudo_thread_id", Number, "0"),
    ("query_cache_size", FixedNumber, "0"),
    ("query_cache_type", Fixed, "OFF"),
    ("read_buffer_size", Number, "131072"),
    ("read_only", Switch, "0"),
    ("server_id", Number, "1"),
    ("server_uuid", Fixed, "00000000-0000-0000-0000-000000000000"),
    ("session_track_schema", Switch, "1"),
    ("show_create_table_verbosity", Switch, "0"),
    ("socket", Fixed, ""),
    ("sort_buffer_size", Number, "262144"),
    ("sql_auto_is_null", Switch, "0"),
    ("sql_big_selects", Switch, "1"),
    ("sql_buffer_result", Switch, "0"),
    ("sql_log_bin", Switch, "1"),
    ("sql_mode", Text, "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"),
    ("sql_notes", Switch, "1"),
    ("sql_quote_show_create", Switch, "1"),
    ("sql_require_primary_key", Switch, "0"),
    ("sql_safe_updates", Switch, "0"),
    ("sql_select_limit", Number, "9223372036854775807"),
    ("sql_warnings", Switch, "0"),
    ("storage_engine", Text, "InnoDB"),
    ("super_read_only", Switch, "0"),
    ("system_time_zone", Fixed, "UTC"),
    ("table_open_cache", Number, "4000"),
    ("terminology_use_previous", Text, "NONE"),
    ("thread_cache_size", Number, "9"),
    ("time_zone", Text, "SYSTEM"),
    ("timestamp", Number, "0"),
    ("tmp_table_size", Number, "16777216"),
    ("transaction_isolation", Text, "REPEATABLE-READ"),
    ("transaction_read_only", Switch, "0"),
    ("tx_isolation", Text, "REPEATABLE-READ"),
    ("tx_read_only", Switch, "0"),
    ("unique_checks", Switch, "1"),
    ("version", Fixed, SERVER_VERSION),
    ("version_comment", Fixed, "wirepress embedded database (SQLite)"),
    ("version_compile_machine", Fixed, std::env::consts::ARCH),
    ("version_compile_os", Fixed, "Linux"),
    ("wait_timeout", Number, "28800"),
    ("warning_count", FixedNumber, "0"),
];

/// A variable's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    Number(i64),
    Text(String),
    Null,
}

/// The values of one session, or the global ones: those that differ from the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    changed: BTreeMap<&'static str, Setting>,
}

fn entry(name: &str) -> Result<(&'static str, Kind, &'static str), SqlFault> {
    VARIABLES
        .binary_search_by(|(known, ..)| (*known).cmp(name))
        .ok()
        .and_then(|at| VARIABLES.get(at).copied())
        .ok_or_else(|| SqlFault::UnknownVariable(name.to_owned()))
}

fn default_of(kind: Kind, text: &str) -> Setting {
    match kind {
        Switch | Number | FixedNumber => Setting::Number(text.parse().unwrap_or(0)),
        Text | Fixed => Setting::Text(text.to_owned()),
    }
}

impl Variables {
    /// Errors: 1193.
    pub(crate) fn value(&self, name: &str) -> Result<Setting, SqlFault> {
        let (name, kind, default) = entry(name)?;
        Ok(self.changed.get(name).cloned().unwrap_or_else(|| default_of(kind, default)))
    }

    pub(crate) fn number(&self, name: &str) -> i64 {
        match self.value(name) {
            Ok(Setting::Number(number)) => number,
            _ => 0,
        }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        match self.value(name) {
            Ok(Setting::Text(text)) => text,
            _ => String::new(),
        }
    }

    /// Sets a variable; `None` sets its default.
    /// Errors: 1193, 1238.
    pub(crate) fn set(&mut self, name: &str, value: Option<Setting>) -> Result<(), SqlFault> {
        let (name, kind, default) = entry(name)?;
        if matches!(kind, Fixed | FixedNumber) {
            return Err(SqlFault::VariableReadOnly(name.to_owned()));
        }
        let value = value.unwrap_or_else(|| default_of(kind, default));
        let value = match (kind, value) {
            (Switch, Setting::Text(text)) => {
                let on = ["on", "true", "yes", "1"].contains(&text.to_ascii_lowercase().as_str());
                Setting::Number(i64::from(on))
            }
            (Number, Setting::Text(text)) => {
                Setting::Number(text.parse::<f64>().map_or(i64::MAX, |number| number as i64))
            }
            (Text, Setting::Number(number)) => Setting::Text(number.to_string()),
            (_, value) => value,
        };
        self.changed.insert(name, value);
        // Two names, one variable.
        match name {
            "transaction_isolation" | "tx_isolation" | "transaction_read_only" | "tx_read_only" => {
                let other = if let Some(rest) = name.strip_prefix("tx_") {
                    format!("transaction_{rest}")
                } else {
                    name.replace("transaction_", "tx_")
                };
                let (other, ..) = entry(&other)?;
                if let Some(value) = self.changed.get(name).cloned() {
                    self.changed.insert(other, value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Every variable as SHOW VARIABLES tells it.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&'static str, String)> {
        VARIABLES.iter().map(|&(name, kind, default)| {
            let value = self.changed.get(name).cloned().unwrap_or_else(|| default_of(kind, default));
            let text = match (kind, value) {
                (Switch, Setting::Number(number)) => if number == 0 { "OFF" } else { "ON" }.to_owned(),
                (_, Setting::Number(number)) => number.to_string(),
                (_, Setting::Text(text)) => text,
                (_, Setting::Null) => String::new(),
            };
            (name, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_of_name() {
        assert!(VARIABLES.is_sorted_by_key(|(name, ..)| *name));
    }

    #[test]
    fn switches_take_words_and_numbers() {
        let mut variables = Variables::default();
        for (word, number) in [("OFF", 0), ("on", 1), ("FALSE", 0), ("1", 1)] {
            variables.set("autocommit", Some(Setting::Text(word.to_owned()))).unwrap();
            assert_eq!(variables.number("autocommit"), number);
        }
        assert_eq!(variables.list().find(|(name, _)| *name == "autocommit").unwrap().1, "ON");
    }

    #[test]
    fn unknown_and_fixed_variables_are_refused_by_mysqls_numbers() {
        let mut variables = Variables::default();
        assert_eq!(variables.set("no_such", None).unwrap_err().code().0, 1193);
        assert_eq!(variables.set("version", None).unwrap_err().code().0, 1238);
    }
}
