//! Integration tests of the proxy: on scripted peers (bytes), and on real servers, clients and drivers (`live`).
//!
//! Not here: rules of the protocol without sockets (crate `wire`), the relay's own steps (`src/relay/tests.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod advisories;
mod bad_input;
mod live;
mod pairs;
mod scripted;
