//! One table: its columns, keys and options; as SHOW CREATE TABLE writes it, and as SQLite gets it.
//!
//! Invariants: what `Display` writes, `sql::create_table` reads back to the same table.
//!
//! Not here: the list of tables (`catalog`).

use std::fmt;

use super::column_type::{Base, ColumnType, DEFAULT_COLLATION};
use crate::column::{Column, flag};
use crate::sql::quote;

/// A column's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DefaultValue {
    Null,
    /// A literal, kept as text whatever its type.
    Text(Vec<u8>),
    /// CURRENT_TIMESTAMP, with its digits if it has some.
    Now(String),
    /// `(expression)`: as written, and as SQLite reads it.
    Expression {
        mysql: String,
        sqlite: String,
    },
}

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
    pub(crate) nullable: bool,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) on_update_now: bool,
    pub(crate) auto_increment: bool,
    pub(crate) comment: String,
}

/// What kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Primary,
    Unique,
    Plain,
    /// FULLTEXT or SPATIAL: remembered, not built.
    Other(&'static str),
}

/// One key: its name and its columns, as (column, prefix length, descending).
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) kind: KeyKind,
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, Option<u32>, bool)>,
    pub(crate) comment: String,
}

/// One foreign key; `rules` are its ON DELETE and ON UPDATE, as written.
#[derive(Clone, Debug)]
pub(crate) struct ForeignKey {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) references: Vec<String>,
    pub(crate) rules: String,
}

/// One table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) keys: Vec<Key>,
    pub(crate) foreign_keys: Vec<ForeignKey>,
    pub(crate) engine: String,
    pub(crate) charset: String,
    pub(crate) collation: String,
    pub(crate) comment: String,
    /// The first value of its AUTO_INCREMENT, when CREATE TABLE names one.
    pub(crate) auto_increment: u64,
}

impl Table {
    pub(crate) fn new(schema: String, name: String) -> Self {
        Self {
            schema,
            name,
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            engine: "InnoDB".to_owned(),
            charset: "utf8mb4".to_owned(),
            collation: DEFAULT_COLLATION.to_owned(),
            comment: String::new(),
            auto_increment: 0,
        }
    }

    pub(crate) fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    pub(crate) fn auto_column(&self) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.auto_increment)
    }

    pub(crate) fn primary(&self) -> Option<&Key> {
        self.keys.iter().find(|key| key.kind == KeyKind::Primary)
    }

    /// The column that becomes SQLite's row id: AUTO_INCREMENT, else an integer primary key of one column.
    pub(crate) fn row_id(&self) -> Option<&TableColumn> {
        self.auto_column().or_else(|| {
            let columns = &self.primary()?.columns;
            let column = self.column(&columns.first()?.0)?;
            (columns.len() == 1 && column.kind.is_integer() && !column.kind.is_exact()).then_some(column)
        })
    }

    /// The name in the SQLite file, quoted.
    pub(crate) fn sqlite_name(&self) -> String {
        quote::table(&self.schema, &self.name)
    }

    /// The statements that make the table in SQLite.
    pub(crate) fn sqlite_statements(&self) -> Vec<String> {
        let row_id = self.row_id().map(|column| column.name.clone());
        let mut parts: Vec<String> = self.columns.iter().map(|column| self.sqlite_column(column)).collect();
        for key in &self.foreign_keys {
            let names = |names: &[String]| names.iter().map(|n| quote::name(n)).collect::<Vec<_>>().join(",");
            parts.push(format!(
                "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}) {}",
                quote::name(&key.name),
                names(&key.columns),
                quote::table(&key.schema, &key.table),
                names(&key.references),
                key.rules
            ));
        }
        let mut statements =
            vec![format!("CREATE TABLE {} ({}) STRICT", self.sqlite_name(), parts.join(", "))];
        for key in &self.keys {
            let is_row_id = key.columns.len() == 1 && Some(&key.columns[0].0) == row_id.as_ref();
            if !is_row_id {
                statements.extend(self.sqlite_index(key));
            }
        }
        if self.auto_increment > 1 {
            statements.push(self.sqlite_sequence());
        }
        statements
    }

    /// Makes the next AUTO_INCREMENT value at least the declared one.
    pub(crate) fn sqlite_sequence(&self) -> String {
        let name = quote::literal(format!("{}.{}", self.schema, self.name).as_bytes());
        let last = self.auto_increment.saturating_sub(1);
        format!(
            "INSERT INTO sqlite_sequence(name, seq) SELECT {name}, {last} WHERE NOT EXISTS (SELECT 1 FROM \
             sqlite_sequence WHERE name = {name}); UPDATE sqlite_sequence SET seq = max(seq, {last}) WHERE name = {name}"
        )
    }

    pub(crate) fn sqlite_column(&self, column: &TableColumn) -> String {
        let name = quote::name(&column.name);
        if self.row_id().is_some_and(|row_id| row_id.name == column.name) {
            let auto = if column.auto_increment { " AUTOINCREMENT" } else { "" };
            return format!("{name} INTEGER PRIMARY KEY{auto}");
        }
        let mut out = format!("{name} {}", column.kind.sqlite(&self.collation));
        if !column.nullable {
            out.push_str(" NOT NULL");
        }
        if let Some(default) = column.sqlite_default() {
            out.push_str(&format!(" DEFAULT {default}"));
        }
        out
    }

    /// The index of a key; names of indexes are global in SQLite, so the table's stands before it.
    pub(crate) fn sqlite_index(&self, key: &Key) -> Option<String> {
        let unique = match key.kind {
            KeyKind::Primary | KeyKind::Unique => "UNIQUE ",
            KeyKind::Plain => "",
            KeyKind::Other(_) => return None,
        };
        let columns: Vec<String> = key
            .columns
            .iter()
            .map(|(name, _, descending)| {
                format!("{}{}", quote::name(name), if *descending { " DESC" } else { "" })
            })
            .collect();
        Some(format!(
            "CREATE {unique}INDEX {} ON {} ({})",
            self.sqlite_index_name(&key.name),
            self.sqlite_name(),
            columns.join(", ")
        ))
    }

    pub(crate) fn sqlite_index_name(&self, key: &str) -> String {
        quote::name(&format!("{}.{}.{key}", self.schema, self.name))
    }

    /// PRI, UNI, MUL or nothing: the column `Key` of SHOW COLUMNS.
    pub(crate) fn key_of(&self, column: &str) -> &'static str {
        let first = |key: &&Key| key.columns.first().is_some_and(|(name, ..)| name == column);
        if self.primary().is_some_and(|key| key.columns.iter().any(|(name, ..)| name == column)) {
            return "PRI";
        }
        match self.keys.iter().filter(first).map(|key| (key.kind, key.columns.len())).next() {
            Some((KeyKind::Unique, 1)) => "UNI",
            Some(_) => "MUL",
            None => "",
        }
    }

    /// What a result tells of one of its columns.
    pub(crate) fn describe(&self, column: &TableColumn, alias: &str) -> Column {
        let mut described = Column::expression(alias, crate::column::FieldType::VarString);
        described.schema.clone_from(&self.schema);
        described.table.clone_from(&self.name);
        described.origin_table.clone_from(&self.name);
        described.origin_name.clone_from(&column.name);
        described.flags = if column.nullable { 0 } else { flag::NOT_NULL };
        described.flags |= if column.auto_increment { flag::AUTO_INCREMENT } else { 0 };
        described.flags |= match self.key_of(&column.name) {
            "PRI" => flag::PRI_KEY,
            "UNI" => flag::UNIQUE_KEY,
            "MUL" => flag::MULTIPLE_KEY,
            _ => 0,
        };
        column.kind.describe(&mut described);
        described
    }
}

impl TableColumn {
    /// The default as SQLite's CREATE TABLE or a VALUES list takes it.
    pub(crate) fn sqlite_default(&self) -> Option<String> {
        Some(match self.default.as_ref()? {
            DefaultValue::Null => "NULL".to_owned(),
            DefaultValue::Text(text) => quote::literal(text),
            DefaultValue::Now(_) => "CURRENT_TIMESTAMP".to_owned(),
            DefaultValue::Expression { sqlite, .. } => format!("({sqlite})"),
        })
    }

    /// The default as SHOW COLUMNS tells it.
    pub(crate) fn shown_default(&self) -> Option<String> {
        match self.default.as_ref()? {
            DefaultValue::Null => None,
            DefaultValue::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            DefaultValue::Now(digits) => Some(format!("CURRENT_TIMESTAMP{digits}")),
            DefaultValue::Expression { mysql, .. } => Some(mysql.clone()),
        }
    }

    /// `auto_increment`, `DEFAULT_GENERATED`, `on update CURRENT_TIMESTAMP`: the column `Extra`.
    pub(crate) fn extra(&self) -> String {
        let mut extra = Vec::new();
        if self.auto_increment {
            extra.push("auto_increment");
        }
        if matches!(self.default, Some(DefaultValue::Now(_) | DefaultValue::Expression { .. })) {
            extra.push("DEFAULT_GENERATED");
        }
        if self.on_update_now {
            extra.push("on update CURRENT_TIMESTAMP");
        }
        extra.join(" ")
    }

    fn definition(&self, table: &Table) -> String {
        let mut out = format!("{} {}", quote::mysql_name(&self.name), self.kind);
        if let Some(charset) = &self.kind.charset {
            out.push_str(&format!(" CHARACTER SET {charset}"));
        }
        if let Some(collation) = self.kind.collation.as_ref().filter(|name| **name != table.collation) {
            out.push_str(&format!(" COLLATE {collation}"));
        }
        if !self.nullable {
            out.push_str(" NOT NULL");
        } else if self.kind.base == Base::Timestamp {
            out.push_str(" NULL");
        }
        match &self.default {
            Some(DefaultValue::Null) if self.shows_null() => out.push_str(" DEFAULT NULL"),
            Some(DefaultValue::Text(text)) => {
                out.push_str(&format!(" DEFAULT {}", quote::mysql_text(&String::from_utf8_lossy(text))));
            }
            Some(DefaultValue::Now(digits)) => out.push_str(&format!(" DEFAULT CURRENT_TIMESTAMP{digits}")),
            Some(DefaultValue::Expression { mysql, .. }) => out.push_str(&format!(" DEFAULT ({mysql})")),
            None if self.nullable && self.shows_null() => out.push_str(" DEFAULT NULL"),
            _ => {}
        }
        if self.on_update_now {
            out.push_str(" ON UPDATE CURRENT_TIMESTAMP");
        }
        if self.auto_increment {
            out.push_str(" AUTO_INCREMENT");
        }
        if !self.comment.is_empty() {
            out.push_str(&format!(" COMMENT {}", quote::mysql_text(&self.comment)));
        }
        out
    }

    /// TEXT and BLOB have no default to show.
    fn shows_null(&self) -> bool {
        let name = self.kind.name();
        !(name.ends_with("text") || name.ends_with("blob"))
    }
}

impl Key {
    fn definition(&self) -> String {
        let name = quote::mysql_name(&self.name);
        let mut out = match self.kind {
            KeyKind::Primary => "PRIMARY KEY".to_owned(),
            KeyKind::Unique => format!("UNIQUE KEY {name}"),
            KeyKind::Plain => format!("KEY {name}"),
            KeyKind::Other(kind) => format!("{kind} KEY {name}"),
        };
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|(name, prefix, descending)| {
                let prefix = prefix.map_or_else(String::new, |length| format!("({length})"));
                format!("{}{prefix}{}", quote::mysql_name(name), if *descending { " DESC" } else { "" })
            })
            .collect();
        out.push_str(&format!(" ({})", columns.join(",")));
        if !self.comment.is_empty() {
            out.push_str(&format!(" COMMENT {}", quote::mysql_text(&self.comment)));
        }
        out
    }
}

impl ForeignKey {
    fn definition(&self, table: &Table) -> String {
        let names =
            |names: &[String]| names.iter().map(|n| quote::mysql_name(n)).collect::<Vec<_>>().join(", ");
        let schema =
            if self.schema == table.schema { String::new() } else { quote::mysql_name(&self.schema) + "." };
        let rules = if self.rules.is_empty() { String::new() } else { format!(" {}", self.rules) };
        format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {schema}{} ({}){rules}",
            quote::mysql_name(&self.name),
            names(&self.columns),
            quote::mysql_name(&self.table),
            names(&self.references)
        )
    }
}

/// As SHOW CREATE TABLE writes it.
impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.head())?;
        if self.auto_increment > 1 {
            write!(out, " AUTO_INCREMENT={}", self.auto_increment)?;
        }
        out.write_str(&self.tail())
    }
}

impl Table {
    /// SHOW CREATE TABLE up to where AUTO_INCREMENT stands.
    pub(crate) fn head(&self) -> String {
        let columns = self.columns.iter().map(|column| column.definition(self));
        let keys = self.keys.iter().map(Key::definition);
        let foreign = self.foreign_keys.iter().map(|key| key.definition(self));
        let lines: Vec<String> = columns.chain(keys).chain(foreign).map(|line| format!("  {line}")).collect();
        format!(
            "CREATE TABLE {} (\n{}\n) ENGINE={}",
            quote::mysql_name(&self.name),
            lines.join(",\n"),
            self.engine
        )
    }

    /// SHOW CREATE TABLE after AUTO_INCREMENT.
    pub(crate) fn tail(&self) -> String {
        let mut out = format!(" DEFAULT CHARSET={}", self.charset);
        if !self.collation.is_empty() {
            out.push_str(&format!(" COLLATE={}", self.collation));
        }
        if !self.comment.is_empty() {
            out.push_str(&format!(" COMMENT={}", quote::mysql_text(&self.comment)));
        }
        out
    }
}
