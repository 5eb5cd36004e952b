//! From MySQL's SQL to SQLite's.
//!
//! ```text
//! bytes ─ token ─▶ tokens ─ plan ─▶ Plan: Query / Write (SQL for SQLite, made by `rewrite`)
//!                                        CreateTable, Set, Begin, … (done by `store::engine`)
//! ```
//! A rewriter of tokens, not a parser into a tree: most of both dialects is the same, a dump's INSERT of
//! 16 MiB with raw binary strings must not become a tree of nodes, and what we do not know passes through to
//! SQLite, whose error then says so. (The crate `sqlparser` was looked at: it wants UTF-8 text, and its tree
//! would have to be printed back for SQLite node by node.)
//!
//! Not here: running any of it (`store`).

pub(crate) mod alter_table;
pub(crate) mod create_table;
pub(crate) mod cursor;
pub(crate) mod function;
pub(crate) mod insert;
pub(crate) mod keyword;
pub(crate) mod load_data;
pub(crate) mod plan;
pub(crate) mod quote;
pub(crate) mod rewrite;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod token;
pub(crate) mod update;
