//! What clients of the embedded database and of the admin port by SQL send behind their login: statements, parameters of
//! prepared ones with long data, changes of the user. Each is read or refused, and what is kept stays within its bounds.
//!
//! The files under test are compiled here by themselves, so that fuzzing needs no SQLite and no TLS library.
//! Not here: the login's own packet (`login`), what SQLite makes of the SQL.
#![no_main]

/// The files, by the names that they call each other by.
macro_rules! mysqlite {
    ($($name:ident $path:literal)*) => {$(
        #[allow(dead_code, unreachable_pub, reason = "written for the server, which uses all of it")]
        #[allow(unfulfilled_lint_expectations, reason = "lints of the server's crate")]
        #[path = $path]
        mod $name;
    )*};
}

mysqlite! {
    change_user "../../crates/mysqlite/src/change_user.rs"
    column "../../crates/mysqlite/src/column.rs"
    engine "../../crates/mysqlite/src/engine.rs"
    fault "../../crates/mysqlite/src/fault.rs"
    parameters "../../crates/mysqlite/src/parameters.rs"
    schema "../../crates/mysqlite/src/schema/mod.rs"
    sql "../../crates/mysqlite/src/sql/mod.rs"
}

/// Named by an engine's border, and not reached.
mod sessions {
    pub struct Sessions;
}

use std::collections::BTreeMap;
use std::sync::Arc;

use change_user::ChangeUser;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use parameters::{Bound, LONG_BYTES_MAX};
use schema::catalog::Catalog;
use sql::cursor::Sql;
use sql::plan::{Plan, plan};
use sql::rewrite::Scope;
use sql::token::{Mode, tokens};

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// What COM_QUERY and COM_STMT_PREPARE carry; tables that are created are there for the next ones.
    Statements {
        ansi_quotes: bool,
        no_backslash_escapes: bool,
        pipes_as_concat: bool,
        sql: &'a [u8],
    },
    /// What happens to one prepared statement.
    Prepared {
        param_count: u16,
        operations: Vec<Operation<'a>>,
    },
    ChangeUser(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Operation<'a> {
    /// These bytes, so many times.
    LongData {
        index: u16,
        bytes: &'a [u8],
        times: u16,
    },
    Execute(&'a [u8]),
    Reset,
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Statements { ansi_quotes, no_backslash_escapes, pipes_as_concat, sql } => {
        statements(sql, Mode { ansi_quotes, no_backslash_escapes }, pipes_as_concat);
    }
    Input::Prepared { param_count, operations } => prepared(param_count.into(), operations),
    Input::ChangeUser(payload) => {
        if let Ok(change) = ChangeUser::parse(payload) {
            // A byte that is no UTF-8 is told by three.
            assert!(change.user.len() <= 3 * payload.len());
            assert!(change.proof.response.len() < payload.len());
        }
    }
});

fn statements(sql: &[u8], mode: Mode, pipes_as_concat: bool) {
    let Ok(tokens) = tokens(sql, mode) else { return };
    for pair in tokens.windows(2) {
        assert!(pair[0].end <= pair[1].start, "tokens overlap");
    }
    let mut catalog = Catalog::default();
    catalog.schemas.insert("shop".to_owned(), BTreeMap::new());
    for statement in (Sql { source: sql, tokens: &tokens, mode }).statements() {
        let scope = Scope { catalog: &catalog, schema: Some("shop"), pipes_as_concat, zero_is_value: false };
        match plan(statement, scope) {
            Ok(Plan::CreateTable { table, .. }) => {
                let tables = catalog.schemas.entry(table.schema.clone()).or_default();
                tables.insert(table.name.clone(), Arc::from(table));
            }
            Ok(_) => {}
            Err(fault) => assert!(fault.to_string().len() < 1024 + 4 * sql.len()),
        }
    }
}

fn prepared(param_count: usize, operations: Vec<Operation<'_>>) {
    let mut bound = Bound::new(param_count);
    let mut sent = 0;
    for operation in operations {
        match operation {
            Operation::LongData { index, bytes, times } => {
                let bytes = bytes.repeat(times.into());
                sent += bytes.len();
                bound.append(index.into(), &bytes);
            }
            Operation::Execute(payload) => {
                if let Ok(parameters) = bound.parse(payload) {
                    assert_eq!(parameters.len(), param_count);
                    assert!(sent <= LONG_BYTES_MAX);
                    for parameter in &parameters {
                        std::hint::black_box(parameter.value());
                    }
                }
                sent = 0;
            }
            Operation::Reset => {
                bound.reset();
                sent = 0;
            }
        }
    }
}
