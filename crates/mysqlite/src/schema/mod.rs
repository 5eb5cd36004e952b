//! What MySQL knows of a table and SQLite does not: declared types, keys by name, comments, options.
//!
//! A table's definition is parsed once, kept in memory while the server runs and stored in the file as its
//! own SHOW CREATE TABLE text, which the parser of CREATE TABLE reads back at the next start.
//!
//! Not here: parsing it (`sql::create_table`), the tables' rows (SQLite).

pub(crate) mod catalog;
pub(crate) mod column_type;
pub(crate) mod table;
