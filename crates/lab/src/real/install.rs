//! Finds the programs that `scripts/fetch-servers` put into the cache.
//!
//! Invariant: a program of the cache is used, never one that happens to be on `PATH`: versions in a test's
//! output are the ones in `versions.txt`.
//!
//! Not here: fetching them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Fault;

/// The cache of fetched programs.
#[derive(Clone, Debug)]
pub struct Install {
    cache: PathBuf,
}

impl Install {
    /// The cache that `WIREPRESS_CACHE` names, or else the nearest `.cache` from the working directory upwards
    /// (Cargo runs tests in their package's directory).
    ///
    /// Errors: `NotFetched`.
    pub fn find() -> Result<Self, Fault> {
        let start = env::current_dir().map_err(Fault::os("find", "the working directory"))?;
        let candidates: Vec<PathBuf> = match env::var_os("WIREPRESS_CACHE") {
            Some(cache) => vec![start.join(cache)],
            None => start.ancestors().map(|directory| directory.join(".cache")).collect(),
        };
        let Some(cache) = candidates.into_iter().find(|cache| cache.join("servers/versions.txt").is_file())
        else {
            return Err(Fault::NotFetched { searched_from: start });
        };
        Ok(Self { cache })
    }

    /// The path of a program, such as `mysqldump` or `sysbench`.
    ///
    /// Errors: `ProgramMissing`.
    pub fn program(&self, name: &str) -> Result<PathBuf, Fault> {
        let path = self.cache.join("servers/bin").join(name);
        if path.is_file() { Ok(path) } else { Err(Fault::ProgramMissing { path }) }
    }

    /// A command for a program, free of what the user's environment would change in a client.
    ///
    /// Errors: `ProgramMissing`.
    pub fn command(&self, name: &str) -> Result<Command, Fault> {
        let mut command = Command::new(self.program(name)?);
        for variable in ["MYSQL_HOST", "MYSQL_PWD", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "LD_LIBRARY_PATH"] {
            command.env_remove(variable);
        }
        // MySQL's clients read ~/.mylogin.cnf even when told to use no defaults.
        command.env("MYSQL_TEST_LOGIN_FILE", "/dev/null/none");
        command.env("MYSQL_HISTFILE", "/dev/null").env("MARIADB_HISTFILE", "/dev/null");
        Ok(command)
    }

    /// The version that was fetched, as in `versions.txt`.
    ///
    /// Errors: `Os` (cannot read the file), `ProgramMissing` (it has no such line).
    pub fn version(&self, program: &str) -> Result<String, Fault> {
        let path = self.cache.join("servers/versions.txt");
        let text = fs::read_to_string(&path).map_err(Fault::os("read", &path))?;
        text.lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                Some((words.next()?, words.next()?))
            })
            .find(|(name, _)| *name == program)
            .map(|(_, version)| version.to_owned())
            .ok_or_else(|| Fault::ProgramMissing { path: self.cache.join("servers/bin").join(program) })
    }

    /// Galera's library, which MariaDB loads.
    ///
    /// Errors: `ProgramMissing`.
    pub(super) fn galera_provider(&self) -> Result<PathBuf, Fault> {
        let path = self.cache.join("servers/roots/release/usr/lib/galera/libgalera_smm.so");
        if path.is_file() { Ok(path) } else { Err(Fault::ProgramMissing { path }) }
    }

    /// Where templates of data directories are kept.
    pub(super) fn templates(&self) -> PathBuf {
        self.cache.join("templates")
    }

    /// The cache's own path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.cache
    }
}
