//! Real MySQL and MariaDB servers: private, started in a temporary directory, gone when dropped.
//!
//! ```text
//!   scripts/fetch-servers ──▶ .cache/servers/bin/*        programs             Install
//!                             .cache/templates/<version>  empty data directory Template   made once
//!                             /tmp/wirepress-*/data       a copy of it         RealServer one per instance
//! ```
//!
//! Invariants: a server listens on loopback unless asked otherwise, on a port that was free; it ends with
//! its `RealServer`, and with the process that owns it, however that dies (`Process`). A live test never
//! passes because its server is missing: it fails, or it is on the list of what was not run (`skip`).
//!
//! Not here: fetching the programs (`scripts/fetch-servers`), the embedded database (crate `mysqlite`).

mod fault;
mod install;
mod kind;
mod options;
mod process;
mod server;
mod skip;
mod template;

pub use fault::Fault;
pub use install::Install;
pub use kind::Kind;
pub use options::Options;
pub use server::{PASSWORD, RealServer, USER};
pub use skip::{required, required_programs, required_with, root_or_skip, skip};
