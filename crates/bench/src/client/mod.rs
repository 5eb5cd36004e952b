//! Our own MySQL client, made for scans: it counts rows and bytes and keeps neither.
//!
//! ```text
//!  socket ─▶ wire::Endpoint ─▶ payloads ─▶ counted
//! ```
//! Drivers of today offer zlib at best; this one asks for zlib or zstd at any level, whatever the server, and
//! costs little enough that it is not what a benchmark measures.
//!
//! Invariants: one command at a time; every reply is read to its end before the next command; a wait can be
//! interrupted and has a deadline; the password is wiped when it has been used and never printed.
//!
//! Not here: prepared statements, types of columns.

mod connection;
mod fault;
mod rsa;
mod scan;
mod stop;
mod tls;

pub use connection::{Account, Client, Compression, Row};
pub use fault::ClientFault;
pub use scan::Scan;
pub use stop::Stop;
pub use tls::ClientTls;
