//! Programs of others: those that were fetched, else the system's; their versions; and what sysbench must be told of the
//! account.
//!
//! Invariants: no password stands in a command line, which everybody on the machine can read.
//!
//! Not here: what stands between a donor and a joiner (`transfer_commands`), which has to be what was fetched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
                "mariadb-backup" => "scripts/fetch-servers --sst",
                _ => "`make servers`",
            }
        ),
    }
}

/// What a program says when it is asked for its version.
pub(crate) fn version(name: &str) -> Option<String> {
    let option = if name == "haproxy" { "-v" } else { "--version" };
    let output = program(name).ok()?.arg(option).stdin(Stdio::null()).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).split_whitespace().find_map(version_in)
}

/// `v1.5.4,` is one.
fn version_in(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let word = word.strip_prefix('v').unwrap_or(word);
    (word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')).then(|| word.to_owned())
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
    fn a_version_is_found_in_what_programs_say() {
        let of = |said: &str| said.split_whitespace().find_map(version_in);
        assert_eq!(of("*** Zstandard CLI (64-bit) v1.5.4, by Yann Collet ***").unwrap(), "1.5.4");
        assert_eq!(of("HAProxy version 2.6.12-1+deb12u4 2026/01/02").unwrap(), "2.6.12-1+deb12u4");
        assert_eq!(of("Sphinx 2.2.11-id64-release (95ae9a6)").unwrap(), "2.2.11-id64-release");
        assert_eq!(of("no such option"), None);
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
