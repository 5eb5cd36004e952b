//! The rows of one result, of which some are the client leg's own.
//!
//! ```text
//! definitions -> Shape: which column is the name, which the value
//! row of ours          kept in its place with the client leg's value, or left out where the statement excludes it
//! row of ours missing  put before the first row with a greater name, else at the end (MariaDB has one of three)
//! ```
//! Invariants: a result that isn't of the status table passes untouched, but for that of a SHOW, which can be of no other
//! (its servers name its table as they like); rows of others are never changed.
//! Not here: which statement it answers (`statement`), where it ends (`conversation::reply`), bytes of rows (`row`).

use super::filter::{Column, Filter};
use super::row::{self, Value};
use super::statement::{Query, TABLE};
use super::{OWN_COUNT, OwnRows};
use crate::{Capabilities, Reader};

/// What the columns of a result are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    columns: Vec<Option<Column>>,
    /// Their types.
    kinds: Vec<u8>,
}

impl Shape {
    /// No definition was read.
    pub(super) const fn new() -> Self {
        Self { columns: Vec::new(), kinds: Vec::new() }
    }

    /// Takes the next definition.
    pub(super) fn define(&mut self, payload: &[u8], is_show: bool, agreed: Capabilities) {
        let definition = Definition::parse(payload, agreed);
        self.kinds.push(definition.as_ref().map_or(0, |it| it.kind));
        self.columns
            .push(definition.and_then(|it| if is_show { Column::named(it.name) } else { it.column() }));
    }

    fn position(&self, column: Column) -> Option<usize> {
        self.columns.iter().position(|it| *it == Some(column))
    }

    /// Whether rows can be made.
    fn is_plain(&self) -> bool {
        self.columns.iter().all(Option::is_some)
    }
}

struct Definition<'a> {
    schema: &'a [u8],
    table: &'a [u8],
    org_table: &'a [u8],
    name: &'a [u8],
    org_name: &'a [u8],
    kind: u8,
}

impl<'a> Definition<'a> {
    fn parse(payload: &'a [u8], agreed: Capabilities) -> Option<Self> {
        let mut reader = Reader::new(payload);
        let mut next = || reader.lenenc_bytes().ok();
        let (_catalog, schema, table, org_table, name, org_name) =
            (next()?, next()?, next()?, next()?, next()?, next()?);
        if agreed.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            next()?;
        }
        // Length of what follows 1, character set 2, length 4.
        reader.bytes(7).ok()?;
        let kind = reader.u8().ok()?;
        Some(Self { schema, table, org_table, name, org_name, kind })
    }

    fn column(&self) -> Option<Column> {
        let is_ours = |table: &[u8]| table.eq_ignore_ascii_case(TABLE.as_bytes());
        let in_schema = SCHEMAS.iter().any(|schema| self.schema.eq_ignore_ascii_case(schema.as_bytes()));
        if !in_schema || !(is_ours(self.org_table) || is_ours(self.table)) {
            return None;
        }
        Column::named(self.org_name).or_else(|| Column::named(self.name))
    }
}

/// What becomes of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    Pass,
    /// These payloads go on instead, which may be none.
    Replace(Vec<Vec<u8>>),
}

/// A result that is being read.
#[derive(Debug, Clone)]
pub(super) struct StatusRows {
    pub(super) shape: Shape,
    is_show: bool,
    filter: Option<Filter>,
    is_binary: bool,
    plan: Option<Plan>,
}

/// What is done with rows, decided at the first of them.
#[derive(Debug, Clone)]
struct Plan {
    name: Option<usize>,
    value: usize,
    /// Rows of ours that have not gone yet, by index; `None` where it isn't known which are asked for.
    pending: Option<[bool; OWN_COUNT]>,
    /// A row of ours was met: what is missing follows it.
    met_own: bool,
}

impl StatusRows {
    pub(super) fn new(shape: Shape, query: Query, is_binary: bool) -> Self {
        let Query { is_show, filter } = query;
        Self { shape, is_show, filter, is_binary, plan: None }
    }

    /// Takes the next definition.
    pub(super) fn define(&mut self, payload: &[u8], agreed: Capabilities) {
        self.shape.define(payload, self.is_show, agreed);
    }

    fn plan(&mut self, own: &OwnRows) -> Option<&mut Plan> {
        if self.plan.is_none() {
            let value = self.shape.position(Column::Value)?;
            let name = self.shape.position(Column::Name);
            let known = self.filter.as_ref().filter(|filter| {
                self.shape.is_plain() && (name.is_some() || filter.admits_only(&OwnRows::NAMES))
            });
            let pending = known.map(|filter| own.each(|name, value| filter.admits(name, value)));
            self.plan = Some(Plan { name, value, pending, met_own: false });
        }
        self.plan.as_mut()
    }

    /// Takes a row.
    pub(super) fn row(&mut self, payload: &[u8], own: &OwnRows) -> Verdict {
        let is_binary = self.is_binary;
        self.plan(own);
        let Some(plan) = &mut self.plan else { return Verdict::Pass };
        let Some(mut values) = row::parse(payload, &self.shape.kinds, is_binary) else {
            return Verdict::Pass;
        };
        let Some(name_at) = plan.name else {
            // Only rows of ours are asked for; without their names, all of them go at the end.
            return if plan.pending.is_some() { Verdict::Replace(Vec::new()) } else { Verdict::Pass };
        };
        let name = values.get(name_at).and_then(Value::text).unwrap_or_default();
        let index = OwnRows::NAMES.iter().position(|own| own.eq_ignore_ascii_case(name));
        let is_before = |index: usize| OwnRows::NAMES.get(index).is_some_and(|own| comes_before(own, name));
        let due = match &mut plan.pending {
            Some(pending) => {
                let met_own = plan.met_own && index.is_none();
                let due = take(pending, |at| met_own || is_before(at));
                let is_wanted = index.is_none_or(|index| take(pending, |at| at == index).contains(&index));
                (due, is_wanted)
            }
            None => (Vec::new(), true),
        };
        plan.met_own |= index.is_some();
        let (due, is_wanted) = due;
        let value_at = plan.value;
        let mut payloads = self.made(&due, own);
        let own_value = index.and_then(|index| own.value(index));
        let is_same = match (own_value, values.get_mut(value_at)) {
            (Some(own_value), Some(value)) => {
                std::mem::replace(value, Value::Text(own_value)) == Value::Text(own_value)
            }
            _ => true,
        };
        if is_wanted && is_same && payloads.is_empty() {
            return Verdict::Pass;
        }
        if is_wanted {
            payloads.push(if is_same { payload.to_vec() } else { row::build(&values, is_binary) });
        }
        Verdict::Replace(payloads)
    }

    /// The rows that are missing at the end.
    pub(super) fn rest(&mut self, own: &OwnRows) -> Vec<Vec<u8>> {
        let due = match self.plan(own).and_then(|plan| plan.pending.as_mut()) {
            Some(pending) => take(pending, |_| true),
            None => Vec::new(),
        };
        self.made(&due, own)
    }

    fn made(&self, indices: &[usize], own: &OwnRows) -> Vec<Vec<u8>> {
        let row = |index: &usize| {
            let value = |column: &Option<Column>| match column {
                Some(Column::Name) => {
                    OwnRows::NAMES.get(*index).map_or(Value::Null, |name| Value::Text(name))
                }
                _ => own.value(*index).map_or(Value::Null, Value::Text),
            };
            row::build(&self.shape.columns.iter().map(value).collect::<Vec<_>>(), self.is_binary)
        };
        indices.iter().map(row).collect()
    }
}

/// Takes those out of `pending` that are chosen.
fn take(pending: &mut [bool; OWN_COUNT], chosen: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut taken = Vec::new();
    for (index, is_pending) in pending.iter_mut().enumerate() {
        if *is_pending && chosen(index) {
            *is_pending = false;
            taken.push(index);
        }
    }
    taken
}

/// The servers' order of names: without case, the underscore before letters.
fn comes_before(name: &[u8], other: &[u8]) -> bool {
    let key = |name: &[u8]| name.to_ascii_lowercase();
    key(name) < key(other)
}

/// MySQL's `performance_schema.session_status`, MariaDB's `information_schema.SESSION_STATUS`.
const SCHEMAS: [&str; 2] = ["performance_schema", "information_schema"];

#[cfg(test)]
mod tests {
    use super::super::statement::{Statement, statements};
    use super::*;
    use crate::write_lenenc_bytes;

    fn definition(schema: &str, table: &str, name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for text in ["def", schema, "alias", table, name, name] {
            write_lenenc_bytes(&mut out, text.as_bytes());
        }
        out.extend_from_slice(&[12, 255, 0, 0, 1, 0, 0, 253, 0, 0, 0, 0, 0]);
        out
    }

    fn shape(schema: &str, table: &str, names: &[&str]) -> Shape {
        let mut shape = Shape::new();
        names
            .iter()
            .for_each(|name| shape.define(&definition(schema, table, name), false, Capabilities::NONE));
        shape
    }

    /// The rows that leave when these come from the server.
    fn passed(statement: &str, shape: Shape, is_binary: bool, rows: &[&[&str]]) -> Vec<Vec<String>> {
        let query = match statements(statement.as_bytes()).as_slice() {
            [Statement::Status(query)] => query.clone(),
            other => panic!("{other:?}"),
        };
        let own = OwnRows::new(codec::Algorithm::Zstd, 9);
        let kinds = shape.kinds.clone();
        let mut result = StatusRows::new(shape, query, is_binary);
        let mut out = Vec::new();
        for row in rows {
            let values: Vec<_> = row.iter().map(|value| Value::Text(value.as_bytes())).collect();
            let payload = row::build(&values, is_binary);
            match result.row(&payload, &own) {
                Verdict::Pass => out.push(payload),
                Verdict::Replace(payloads) => out.extend(payloads),
            }
        }
        out.extend(result.rest(&own));
        let text = |value: &Value<'_>| String::from_utf8(value.text().unwrap().to_vec()).unwrap();
        let texts = |row: &Vec<u8>| row::parse(row, &kinds, is_binary).unwrap().iter().map(text).collect();
        out.iter().map(texts).collect()
    }

    fn mysql(names: &[&str]) -> Shape {
        shape("performance_schema", "session_status", names)
    }

    const BOTH: [&str; 2] = ["Variable_name", "Value"];
    const SERVERS: [&[&str]; 5] = [
        &["Com_update", "1"],
        &["Compression", "OFF"],
        &["Compression_algorithm", ""],
        &["Compression_level", "0"],
        &["Connections", "5"],
    ];
    const OURS: [[&str; 2]; 5] = [
        ["Com_update", "1"],
        ["Compression", "ON"],
        ["Compression_algorithm", "zstd"],
        ["Compression_level", "9"],
        ["Connections", "5"],
    ];

    #[test]
    fn rows_of_ours_get_the_client_legs_values_in_text_and_binary() {
        for is_binary in [false, true] {
            assert_eq!(passed("show status", mysql(&BOTH), is_binary, &SERVERS), OURS);
            // Where a limit hides what is asked for, too.
            let limited = "select * from performance_schema.session_status limit 9";
            assert_eq!(
                passed(limited, mysql(&["VARIABLE_NAME", "VARIABLE_VALUE"]), is_binary, &SERVERS),
                OURS
            );
        }
    }

    #[test]
    fn rows_that_the_server_lacks_are_added_in_their_place() {
        let mariadb = || shape("information_schema", "SESSION_STATUS", &BOTH);
        let without = [SERVERS[0], SERVERS[1], SERVERS[4]];
        assert_eq!(passed("show status", mariadb(), true, &without), OURS);
        assert_eq!(passed("show status like 'compression%'", mariadb(), false, &[SERVERS[1]]), OURS[1..4]);
        assert_eq!(passed("show status like '%level'", mariadb(), false, &[]), OURS[3..4]);
        assert_eq!(
            passed("show status like 'uptime'", mariadb(), false, &[&["Uptime", "1"]]),
            [["Uptime", "1"]]
        );
        let limited = "select * from information_schema.session_status limit 1";
        assert_eq!(passed(limited, mariadb(), false, &[SERVERS[0]]), OURS[..1]);
    }

    #[test]
    fn conditions_on_the_value_are_answered_for_the_client_leg() {
        assert_eq!(passed("show status where value = 'zstd'", mysql(&BOTH), false, &[]), OURS[2..3]);
        let off = "show status where variable_name like 'comp%' and value = 'OFF'";
        assert_eq!(passed(off, mysql(&BOTH), false, &[SERVERS[1]]), [[""; 2]; 0]);
    }

    #[test]
    fn a_value_without_its_name_is_known_by_the_condition() {
        let value = || mysql(&["VARIABLE_VALUE"]);
        let one = "select variable_value from performance_schema.session_status where variable_name = 'Compression'";
        assert_eq!(passed(one, value(), true, &[&["OFF"]]), [["ON"]]);
        let other =
            "select variable_value from performance_schema.session_status where variable_name = 'Uptime'";
        assert_eq!(passed(other, value(), true, &[&["77"]]), [["77"]]);
        let all = "select variable_value from performance_schema.session_status";
        assert_eq!(passed(all, value(), true, &[&["OFF"], &["77"]]), [["OFF"], ["77"]]);
    }

    #[test]
    fn a_shows_columns_are_known_by_their_names_whatever_the_servers_table_is() {
        let mut shape = Shape::new();
        for name in BOTH {
            shape.define(&definition("", "", name), true, Capabilities::NONE);
        }
        assert_eq!(passed("show status", shape, false, &SERVERS), OURS);
    }

    #[test]
    fn other_tables_and_columns_pass() {
        for shape in [
            shape("performance_schema", "global_status", &BOTH),
            shape("test", "session_status", &BOTH),
            mysql(&["Variable_name", "Other"]),
        ] {
            let row: &[&str] = &["Compression", "OFF"];
            assert_eq!(passed("select * from session_status", shape, false, &[row]), [row]);
        }
    }
}
