//! Why a server could not start.
//!
//! Not here: what goes wrong afterwards (`fault`).

use thiserror::Error;

use crate::fault::SqlFault;

/// Why a server could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartFault {
    #[error("cannot listen on {address}: {cause}")]
    Listen { address: String, cause: std::io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    #[error("cannot open the database file {path}: {cause}")]
    Open { path: std::path::PathBuf, cause: rusqlite::Error },
    #[error("cannot make a temporary directory for the database: {0}")]
    TemporaryDirectory(std::io::Error),
    #[error("the database file {path} holds a table that cannot be read back: {cause}")]
    Catalog { path: std::path::PathBuf, cause: SqlFault },
}
