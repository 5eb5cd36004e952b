//! A running proxy for those who operate it: SQL over live tables, metrics, JSON, a web page.
//!
//! ```text
//! proxy::Live ──▶ tables ──▶ sql_port: any MySQL client
//!            │       └─────▶ http_port: answers: JSON; metrics: Prometheus
//!            └────▶ feed ──▶            events for the web page, which is in page/
//! ```
//! Invariants: nothing here can read what passes through the proxy, which offers numbers and names only (and a statement's
//! first bytes, where the operator's options say so); nobody gets an
//! answer without the credentials; a reader holds up no session.
//!
//! Not here: counting (crate `proxy`), the MySQL protocol and SQL (crate `mysqlite`).

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::cast_possible_truncation))]

mod admin;
mod answers;
mod columns;
mod credentials;
mod doorkeeper;
mod fault;
mod feed;
mod flow;
mod http_port;
mod metrics;
mod page;
mod savings;
mod settings;
mod sql_port;
mod tables;
mod tap;
mod totals;

pub use admin::{Admin, Setup};
pub use credentials::Credentials;
pub use fault::Fault;
pub use flow::Flow;
pub use http_port::HttpPort;
pub use savings::Prices;
pub use sql_port::SqlPort;
pub use tables::Tables;
pub use totals::{Minute, Totals};

/// What an address of a pair is told.
fn no_pair() -> std::io::Error {
    std::io::Error::new(
        std::io::ErrorKind::InvalidInput,
        "an admin port speaks to clients, not to the half of a pair",
    )
}
