//! SHOW and DESCRIBE as queries of the built-in databases, with MySQL's headings.
//!
//! Not here: the built-in tables' rows (`store::information_schema`).

use super::cursor::{Cursor, Sql};
use super::plan::Query;
use super::quote;
use super::rewrite::{Frame, Rewriter, Scope};
use super::token::Kind;
use crate::fault::SqlFault;
use crate::schema::catalog::is_built_in;

/// A SHOW before its LIKE or WHERE: the list of `expression AS heading`, the source, the column LIKE means.
struct Listing {
    select: String,
    from: String,
    liked: &'static str,
}

impl Listing {
    /// Shape of `columns`: `"name Heading, name Heading"`, each a column of `from` and its heading.
    fn new(columns: &str, from: impl Into<String>, liked: &'static str) -> Self {
        let select: Vec<String> = columns
            .split(", ")
            .map(|pair| {
                let (name, heading) = pair.split_once(' ').unwrap_or((pair, pair));
                format!("{name} AS {}", quote::name(heading))
            })
            .collect();
        Self { select: select.join(", "), from: from.into(), liked }
    }

    /// A listing of which there is never a row.
    fn empty(headings: &str) -> Self {
        let columns: Vec<String> = headings.split(", ").map(|heading| format!("NULL {heading}")).collect();
        Self::new(&columns.join(", "), "(SELECT 1) WHERE 0", "NULL")
    }
}

#[expect(clippy::too_many_lines, reason = "a flat list of what can be shown")]
pub(crate) fn show(sql: Sql<'_>, scope: Scope<'_>) -> Result<Query, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    if cursor.word("CREATE") {
        return show_create(&mut cursor, scope);
    }
    if cursor.word("COUNT") {
        return Ok(Query::listing("SELECT 0 AS \"@@session.warning_count\"".to_owned()));
    }
    let full = cursor.word("FULL");
    cursor.word("EXTENDED");
    let global = cursor.word("GLOBAL");
    cursor.any(&["SESSION", "LOCAL", "STORAGE"]);
    let word = sql.upper(cursor.at);
    cursor.at += 1;
    let listing = match word.as_str() {
        "DATABASES" | "SCHEMAS" => {
            Listing::new("schema_name Database", "information_schema.schemata ORDER BY 1", "Database")
        }
        "TABLES" => return tables(&mut cursor, scope, full),
        "COLUMNS" | "FIELDS" => return columns(&mut cursor, scope, full),
        "INDEX" | "INDEXES" | "KEYS" => return index(&mut cursor, scope),
        "TABLE" => {
            cursor.need_word("STATUS")?;
            let schema = schema(&mut cursor, scope)?;
            let from = format!(
                "information_schema.tables WHERE table_schema = {}",
                quote::literal(schema.as_bytes())
            );
            Listing::new(TABLE_STATUS, from, "Name")
        }
        "VARIABLES" => variables(if global { "global_variables" } else { "session_variables" }),
        "STATUS" => variables(if global { "global_status" } else { "session_status" }),
        "WARNINGS" | "ERRORS" => Listing::empty("Level, Code, Message"),
        "ENGINES" => Listing::new(
            "engine Engine, support Support, comment Comment, transactions Transactions, xa XA, savepoints Savepoints",
            "information_schema.engines",
            "Engine",
        ),
        "PLUGINS" => Listing::new(
            "plugin_name Name, plugin_status Status, plugin_type Type, plugin_library Library, plugin_license License",
            "information_schema.plugins",
            "Name",
        ),
        "COLLATION" => Listing::new(
            "collation_name Collation, character_set_name Charset, id Id, is_default Default, is_compiled Compiled, \
             sortlen Sortlen, pad_attribute Pad_attribute",
            "information_schema.collations",
            "Collation",
        ),
        "CHARSET" | "CHARACTER" => {
            cursor.word("SET");
            Listing::new(
                "character_set_name Charset, description Description, default_collate_name Default collation, maxlen \
                 Maxlen",
                "information_schema.character_sets",
                "Charset",
            )
        }
        "PROCESSLIST" => Listing::new(
            "id Id, user User, host Host, db db, command Command, time Time, state State, info Info",
            "performance_schema.processlist",
            "User",
        ),
        "GRANTS" => {
            return Ok(Query::listing(
                "SELECT 'GRANT ALL PRIVILEGES ON *.* TO ' || current_user() AS \"Grants for root@%\""
                    .to_owned(),
            ));
        }
        _ => always_empty(&mut cursor, &word)?,
    };
    finish(&mut cursor, scope, &listing)
}

/// What exists here as an empty list: tools ask for it.
fn always_empty(cursor: &mut Cursor<'_>, word: &str) -> Result<Listing, SqlFault> {
    Ok(match word {
        "TRIGGERS" => {
            skip_schema(cursor)?;
            Listing::empty(
                "Trigger, Event, Table, Statement, Timing, Created, sql_mode, Definer, character_set_client, \
                 collation_connection, Database Collation",
            )
        }
        "EVENTS" => {
            skip_schema(cursor)?;
            Listing::empty(
                "Db, Name, Definer, Time zone, Type, Execute at, Interval value, Interval field, Starts, Ends, Status, \
                 Originator, character_set_client, collation_connection, Database Collation",
            )
        }
        "FUNCTION" | "PROCEDURE" | "LIBRARY" => {
            cursor.need_word("STATUS")?;
            Listing::empty(
                "Db, Name, Language, Type, Definer, Modified, Created, Security_type, Comment, character_set_client, \
                 collation_connection, Database Collation",
            )
        }
        "OPEN" => {
            cursor.need_word("TABLES")?;
            skip_schema(cursor)?;
            Listing::empty("Database, Table, In_use, Name_locked")
        }
        "PRIVILEGES" => Listing::empty("Privilege, Context, Comment"),
        "MASTER" | "SLAVE" | "REPLICA" | "BINARY" | "REPLICAS" => {
            cursor.at = cursor.sql.len();
            Listing::empty("File, Position, Binlog_Do_DB, Binlog_Ignore_DB, Executed_Gtid_Set")
        }
        _ => return Err(cursor.sql.syntax(1)),
    })
}

fn variables(table: &str) -> Listing {
    Listing::new(
        "variable_name Variable_name, variable_value Value",
        format!("performance_schema.{table} ORDER BY 1"),
        "Variable_name",
    )
}

/// Applies LIKE or WHERE to the headings.
fn finish(cursor: &mut Cursor<'_>, scope: Scope<'_>, listing: &Listing) -> Result<Query, SqlFault> {
    let sql = cursor.sql;
    let all = format!("SELECT {} FROM {}", listing.select, listing.from);
    if cursor.word("LIKE") {
        if sql.kind(cursor.at) != Some(Kind::Text) {
            return Err(cursor.syntax());
        }
        let pattern = quote::literal(&sql.text(cursor.at));
        let liked = if listing.liked == "NULL" { "NULL".to_owned() } else { quote::name(listing.liked) };
        return Ok(Query::listing(format!("SELECT * FROM ({all}) WHERE {liked} LIKE {pattern}")));
    }
    if sql.is(cursor.at, "WHERE") {
        let mut rewriter = Rewriter::new(sql, scope);
        rewriter.range(cursor.at, sql.len(), Frame::EXPRESSION)?;
        return Ok(Query::listing(format!("SELECT * FROM ({all}) {}", rewriter.out)));
    }
    if sql.is(cursor.at, "LIMIT") {
        cursor.at = sql.len();
    }
    if cursor.done() { Ok(Query::listing(all)) } else { Err(cursor.syntax()) }
}

/// `FROM schema` or `IN schema`, else the current one; it must exist.
fn schema(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<String, SqlFault> {
    let schema = if cursor.any(&["FROM", "IN"]) {
        cursor.name()?
    } else {
        scope.schema.ok_or(SqlFault::NoDatabase)?.to_owned()
    };
    if scope.catalog.has_schema(&schema) { Ok(schema) } else { Err(SqlFault::UnknownDatabase(schema)) }
}

fn skip_schema(cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
    if cursor.any(&["FROM", "IN"]) {
        cursor.name()?;
    }
    Ok(())
}

fn tables(cursor: &mut Cursor<'_>, scope: Scope<'_>, full: bool) -> Result<Query, SqlFault> {
    let schema = schema(cursor, scope)?;
    let literal = quote::literal(schema.as_bytes());
    // The heading tells the pattern too.
    let pattern = if cursor.sql.is(cursor.at, "LIKE") {
        format!(" ({})", String::from_utf8_lossy(&cursor.sql.text(cursor.at + 1)))
    } else {
        String::new()
    };
    let heading = quote::name(&format!("Tables_in_{schema}{pattern}"));
    let kind = if full { ", table_type AS \"Table_type\"" } else { "" };
    let source = format!(
        "SELECT table_name AS {heading}{kind} FROM information_schema.tables WHERE table_schema = {literal}"
    );
    if cursor.word("LIKE") {
        let pattern = quote::literal(&cursor.sql.text(cursor.at));
        return Ok(Query::listing(format!("{source} AND table_name LIKE {pattern} ORDER BY 1")));
    }
    let listing = Listing { select: "*".to_owned(), from: format!("({source} ORDER BY 1)"), liked: "NULL" };
    finish(cursor, scope, &listing)
}

/// `FROM table [FROM schema]`; both must exist.
fn table(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<(String, String), SqlFault> {
    if !cursor.any(&["FROM", "IN"]) {
        return Err(cursor.syntax());
    }
    let (mut schema, name) = cursor.table()?;
    if cursor.any(&["FROM", "IN"]) {
        schema = Some(cursor.name()?);
    }
    checked(scope, schema, name)
}

fn checked(scope: Scope<'_>, schema: Option<String>, name: String) -> Result<(String, String), SqlFault> {
    let schema = schema.or_else(|| scope.schema.map(str::to_owned)).ok_or(SqlFault::NoDatabase)?;
    if !is_built_in(&schema) {
        scope.catalog.table(&schema, &name)?;
    }
    Ok((schema, name))
}

fn columns(cursor: &mut Cursor<'_>, scope: Scope<'_>, full: bool) -> Result<Query, SqlFault> {
    let (schema, name) = table(cursor, scope)?;
    finish(cursor, scope, &columns_of(&schema, &name, full, ""))
}

fn columns_of(schema: &str, name: &str, full: bool, filter: &str) -> Listing {
    let from = format!(
        "information_schema.columns WHERE table_schema = {} AND table_name = {} {filter} ORDER BY ordinal_position",
        quote::literal(schema.as_bytes()),
        quote::literal(name.as_bytes())
    );
    let columns = if full {
        "column_name Field, column_type Type, collation_name Collation, is_nullable Null, column_key Key, \
         column_default Default, extra Extra, privileges Privileges, column_comment Comment"
    } else {
        "column_name Field, column_type Type, is_nullable Null, column_key Key, column_default Default, extra Extra"
    };
    Listing::new(columns, from, "Field")
}

fn index(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<Query, SqlFault> {
    let (schema, name) = table(cursor, scope)?;
    let from = format!(
        "information_schema.statistics WHERE table_schema = {} AND table_name = {}",
        quote::literal(schema.as_bytes()),
        quote::literal(name.as_bytes())
    );
    finish(cursor, scope, &Listing::new(INDEX, from, "Key_name"))
}

/// `DESCRIBE table [column]`
pub(crate) fn describe(sql: Sql<'_>, scope: Scope<'_>) -> Result<Query, SqlFault> {
    let mut cursor = Cursor::new(sql, 1);
    let (schema, name) = cursor.table()?;
    let (schema, name) = checked(scope, schema, name)?;
    let filter = match sql.kind(cursor.at) {
        Some(Kind::Text) => format!("AND column_name LIKE {}", quote::literal(&sql.text(cursor.at))),
        Some(_) => format!("AND column_name LIKE {}", quote::literal(cursor.name()?.as_bytes())),
        None => String::new(),
    };
    let listing = columns_of(&schema, &name, false, &filter);
    Ok(Query::listing(format!("SELECT {} FROM {}", listing.select, listing.from)))
}

fn show_create(cursor: &mut Cursor<'_>, scope: Scope<'_>) -> Result<Query, SqlFault> {
    let literal = |text: &str| quote::literal(text.as_bytes());
    if cursor.any(&["DATABASE", "SCHEMA"]) {
        let not_exists = if cursor.if_not_exists() { "/*!32312 IF NOT EXISTS*/ " } else { "" };
        let name = cursor.name()?;
        if !scope.catalog.has_schema(&name) {
            return Err(SqlFault::UnknownDatabase(name));
        }
        let text = format!(
            "CREATE DATABASE {not_exists}{} /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ \
             /*!80016 DEFAULT ENCRYPTION='N' */",
            quote::mysql_name(&name)
        );
        return Ok(Query::listing(format!(
            "SELECT {} AS \"Database\", {} AS \"Create Database\"",
            literal(&name),
            literal(&text)
        )));
    }
    if !cursor.word("TABLE") {
        return Err(SqlFault::NotSupported(format!("SHOW CREATE {}", cursor.sql.upper(cursor.at))));
    }
    let (schema, name) = cursor.table()?;
    let schema = schema.as_deref().or(scope.schema).ok_or(SqlFault::NoDatabase)?;
    let table = scope.catalog.table(schema, &name)?;
    // The next AUTO_INCREMENT is SQLite's to know.
    let auto = if table.auto_column().is_some() {
        format!(
            "coalesce((SELECT ' AUTO_INCREMENT=' || (seq + 1) FROM sqlite_sequence WHERE seq > 0 AND name = {}), '')",
            literal(&format!("{schema}.{name}"))
        )
    } else {
        "''".to_owned()
    };
    let text = format!("{} || {auto} || {}", literal(&table.head()), literal(&table.tail()));
    Ok(Query::listing(format!("SELECT {} AS \"Table\", {text} AS \"Create Table\"", literal(&name))))
}

/// The headings of SHOW TABLE STATUS.
const TABLE_STATUS: &str = "table_name Name, engine Engine, version Version, row_format Row_format, table_rows Rows, \
    avg_row_length Avg_row_length, data_length Data_length, max_data_length Max_data_length, index_length \
    Index_length, data_free Data_free, auto_increment Auto_increment, create_time Create_time, update_time \
    Update_time, check_time Check_time, table_collation Collation, checksum Checksum, create_options \
    Create_options, table_comment Comment";

/// The headings of SHOW INDEX.
const INDEX: &str = "table_name Table, non_unique Non_unique, index_name Key_name, seq_in_index Seq_in_index, \
    column_name Column_name, collation Collation, cardinality Cardinality, sub_part Sub_part, packed Packed, nullable \
    Null, index_type Index_type, comment Comment, index_comment Index_comment, is_visible Visible, expression \
    Expression";
