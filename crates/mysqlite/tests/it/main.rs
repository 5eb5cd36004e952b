//! Integration tests of the embedded database: by our own client, by real programs, by real drivers.
//!
//! Not here: tests of single parts (beside the code).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod client;
mod limits;
mod live;
mod protocol;
mod sql;
mod transactions;

use mysqlite::{Options, Server};

/// A server of the test's own on a free port.
fn server() -> Server {
    Server::start(Options::default()).unwrap()
}
