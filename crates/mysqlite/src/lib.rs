//! wirepress-mysqlite.
