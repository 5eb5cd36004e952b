//! Why an admin port can't be opened.
//!
//! Not here: errors of statements (`mysqlite::SqlFault`).

use std::io;
use std::path::PathBuf;

use proxy::Address;

/// Why an admin port can't be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A network port without a password.
    #[error(
        "{option} {address}: a port of the network needs a password: give --admin-password-file, or listen on unix:/path"
    )]
    NoPassword {
        /// The option that asks for the port.
        option: &'static str,
        /// Where.
        address: Address,
    },
    /// A network port whose clients can come from other hosts, without TLS.
    #[error(
        "{option} {address}: other hosts can reach it, so it needs TLS: give --admin-tls-cert and --admin-tls-key, or \
         --admin-tls-self-signed, or listen on the loopback or on unix:/path"
    )]
    NoTls {
        /// The option that asks for the port.
        option: &'static str,
        /// Where.
        address: Address,
    },
    /// Its certificate can't be used.
    #[error("--admin-tls-cert, --admin-tls-key: {0}")]
    Tls(#[from] proxy::TlsError),
    /// The password can't be read.
    #[error("can't read the admin password from '{}': {error}; its first line must be the password", path.display())]
    Password {
        /// `--admin-password-file`.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The address can't be listened on.
    #[error("{option}: can't listen on {address}: {error}")]
    Listen {
        /// The option that asks for the port.
        option: &'static str,
        /// Where.
        address: Address,
        /// Why.
        error: io::Error,
    },
    /// A thread can't be had.
    #[error("can't start a thread for the admin port: {0}")]
    Thread(io::Error),
    /// The database behind the port can't be made.
    #[error("the admin port: {0}")]
    Database(#[from] mysqlite::StartFault),
}
