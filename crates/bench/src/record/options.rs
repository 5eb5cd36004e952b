//! What a run was begun with, so that it goes on with the same.
//!
//! Invariants: no secret is in it, so a user's server has to be named again; its words are those of `wirepress bench`.
//!
//! Not here: what a user may choose (`run::RunOptions`), what is given again (`run::ResumeOptions`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Options that decide what is measured, but for scale, seed and repetitions, which the run's record has itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Which database.
    pub database: Origin,
    /// How a user's server is spoken to: `--ssl-mode` and its kin, word by word; paths of files, nothing of them.
    pub tls: Vec<String>,
    /// As in [`Cell::link`](super::Cell::link), sorted; the plan's own where none was asked for.
    pub links: Vec<String>,
    /// As they were asked for; all if there is none.
    pub workloads: Vec<String>,
    /// Whether the hosts had a core each.
    pub is_pinned: bool,
}

/// Where a database is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A private MySQL.
    Mysql,
    /// A private MariaDB.
    Mariadb,
    /// The one in this program.
    Embedded,
    /// The user's own.
    Server,
}

impl fmt::Display for Origin {
    /// The option that asks for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Mysql => "--with mysql",
            Self::Mariadb => "--with mariadb",
            Self::Embedded => "--with embedded",
            Self::Server => "--server URL",
        })
    }
}
