//! The admin port as operators see it: real clients, a real server behind the proxy.
//!
//! Not here: single tables (beside the code).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod events;
mod http;
mod many;
mod page;
mod prometheus;
mod query_text;
mod sql;
mod stage;
mod tap;
mod tls;
