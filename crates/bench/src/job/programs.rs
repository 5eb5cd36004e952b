//! Programs of others: those that were fetched, else the system's; and what sysbench must be told of the account.
//!
//! Invariants: no password stands in a command line, which everybody on the machine can read.
//!
//! Not here: what stands between a donor and a joiner (`transfer_commands`), which has to be what was fetched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use lab::real::Install;
use zeroize::Zeroizing;

use crate::client::Account;

/// A command for a program.
///
/// # Errors
/// There is none; says how to get it.
pub(crate) fn program(name: &str) -> anyhow::Result<Command> {
    if let Some(command) = Install::find().ok().and_then(|install| install.command(name).ok()) {
        return Ok(command);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file)) {
        Some(file) => Ok(Command::new(file)),
        None => bail!(
            "{name} is wanted, and found neither among the fetched programs nor on PATH: {} fetches it, or install it",
            match name {
                "indexer" | "php" => "scripts/fetch-servers --sphinx",
                _ => "`make servers`",
            }
        ),
    }
}

/// Who we are, as a `--config-file` of sysbench in a folder that nobody else can look into.
pub(crate) fn sysbench_account(account: &Account, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut text = Zeroizing::new(format!("mysql-user={}\nmysql-db={}\n", account.user, account.database));
    if !account.password.is_empty() {
        text.push_str(&format!("mysql-password={}\n", account.password.as_str()));
    }
    let path = folder.join("account.cnf");
    fs::write(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_fetched_is_the_systems_and_what_is_nowhere_is_told() {
        assert!(Path::new(program("sh").unwrap().get_program()).is_absolute());
        let told = |name| program(name).unwrap_err().to_string();
        assert_eq!(
            told("no-such-program"),
            "no-such-program is wanted, and found neither among the fetched programs nor on PATH: `make servers` fetches \
             it, or install it"
        );
    }

    #[test]
    fn an_account_is_told_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let account = Account {
            user: "me".to_owned(),
            password: "secret words".to_owned().into(),
            database: "shop".to_owned(),
            tls: None,
        };
        let path = sysbench_account(&account, folder.path()).unwrap();
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "mysql-user=me\nmysql-db=shop\nmysql-password=secret words\n"
        );
    }
}
