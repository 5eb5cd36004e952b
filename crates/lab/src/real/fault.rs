//! Everything that can go wrong with a real server, by name.
//!
//! Not here: a live test that may be skipped (`skip`).

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a real server cannot be had or does not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No cache of fetched programs was found from the working directory upwards.
    #[error(
        "the real servers are not there: no .cache/servers/versions.txt in {searched_from} or above it; run `make servers`"
    )]
    NotFetched {
        /// Where the search began.
        searched_from: PathBuf,
    },
    /// The server did not answer within its deadline.
    #[error("{program} did not answer on its socket within {waited:?}; its log ends:\n{log_tail}")]
    NotReady {
        /// The program's name.
        program: &'static str,
        /// How long was waited.
        waited: Duration,
        /// The last lines of its log.
        log_tail: String,
    },
    /// Reading, writing or starting failed.
    #[error("cannot {what} {path}: {source}")]
    Os {
        /// What was tried, a verb.
        what: &'static str,
        /// On which file or program.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The cache is there, but this program is not in it.
    #[error("{path} is missing; run `make servers` (for MariaDB 11.8 `scripts/fetch-servers --all`)")]
    ProgramMissing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The server's program ended by itself.
    #[error("{program} ended with {status} instead of serving; its log ends:\n{log_tail}")]
    ServerEnded {
        /// The program's name.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log_tail: String,
    },
    /// The command line client reported an error.
    #[error("{program} failed ({status}) on {statement:?}: {message}")]
    Sql {
        /// The client's name.
        program: &'static str,
        /// The beginning of the statement.
        statement: String,
        /// How the client ended.
        status: ExitStatus,
        /// What it printed on standard error.
        message: String,
    },
}

impl Fault {
    /// For `map_err`: what was tried on which path.
    pub(super) fn os(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Os { what, path, source }
    }
}
