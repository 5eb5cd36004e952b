//! The data directory of an empty server, made once per version and copied for every instance.
//!
//! An initialisation takes seconds, a copy tens of milliseconds.
//!
//! Invariant: a template appears under its name only when it is complete; two makers at once are harmless.
//!
//! Not here: starting a server on a copy (`server`).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use super::server::{PASSWORD, USER, run_as_argument};
use super::{Fault, Install, Kind};

/// Puts the data directory of an empty server of `kind` at `destination`, which must not exist yet.
///
/// Errors: `Os`; `ServerEnded` if the initialisation failed.
pub(super) fn copy_to(install: &Install, kind: Kind, destination: &Path) -> Result<(), Fault> {
    let template = ensure(install, kind)?;
    copy_directory(&template, destination)
}

fn ensure(install: &Install, kind: Kind) -> Result<PathBuf, Fault> {
    // One test thread makes it, the others wait. Another process may still make it too: the first rename wins.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);

    let program = kind.server_program();
    let name = format!("{program}-{}-{RECIPE}", install.version(program)?);
    let template = install.templates().join(name);
    if template.is_dir() {
        return Ok(template);
    }
    let parent = install.templates();
    fs::create_dir_all(&parent).map_err(Fault::os("make", &parent))?;
    let unfinished = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempdir_in(&parent)
        .map_err(Fault::os("make a directory in", &parent))?;
    let data = unfinished.path().join("data");
    if kind.is_mariadb() {
        initialise_mariadb(install, kind, &data)?;
    } else {
        initialise_mysql(install, kind, &data)?;
    }
    match fs::rename(&data, &template) {
        Err(_) if template.is_dir() => Ok(template),
        Err(source) => Err(Fault::Os { what: "rename a finished template to", path: template, source }),
        Ok(()) => Ok(template),
    }
}

fn initialise_mysql(install: &Install, kind: Kind, data: &Path) -> Result<(), Fault> {
    let statements = data.with_extension("sql");
    fs::write(&statements, account_statements()).map_err(Fault::os("write", &statements))?;
    let mut command = install.command(kind.server_program())?;
    command
        .arg("--initialize-insecure")
        .arg(path_argument("--datadir=", data))
        .arg(path_argument("--init-file=", &statements))
        .args(run_as_argument())
        .args(["--mysqlx=OFF", "--innodb-redo-log-capacity=8M"])
        .args(UNSAFE_BUT_FAST)
        .stdin(Stdio::null());
    check(kind, command.output().map_err(Fault::os("start", kind.server_program()))?)?;
    // A copy gets its own identity: replicas refuse a source with their own.
    let identity = data.join("auto.cnf");
    if identity.exists() {
        fs::remove_file(&identity).map_err(Fault::os("remove", &identity))?;
    }
    Ok(())
}

fn initialise_mariadb(install: &Install, kind: Kind, data: &Path) -> Result<(), Fault> {
    fs::create_dir(data).map_err(Fault::os("make", data))?;
    let suffix = kind.server_program().trim_start_matches("mariadbd");
    let empty = install
        .command(&format!("mariadb-bootstrap-sql{suffix}"))?
        .output()
        .map_err(Fault::os("start", "mariadb-bootstrap-sql"))?;
    let mut statements = check(kind, empty)?.stdout;
    // Accounts cannot be made before the server has read its (empty) tables of them.
    statements.extend_from_slice(b"\nflush privileges;\n");
    statements.extend_from_slice(account_statements().as_bytes());
    let input = data.with_extension("sql");
    File::create(&input)
        .and_then(|mut file| file.write_all(&statements))
        .map_err(Fault::os("write", &input))?;
    let mut command: Command = install.command(kind.server_program())?;
    command
        .arg("--bootstrap")
        .arg(path_argument("--datadir=", data))
        .args(run_as_argument())
        .args(["--innodb-log-file-size=8M"])
        .args(UNSAFE_BUT_FAST)
        .stdin(File::open(&input).map_err(Fault::os("open", &input))?);
    check(kind, command.output().map_err(Fault::os("start", kind.server_program()))?)?;
    Ok(())
}

/// One statement per line: that is how both servers read them.
fn account_statements() -> String {
    format!(
        "create database test;\n\
         create user '{USER}'@'%' identified by '{PASSWORD}';\n\
         grant all on *.* to '{USER}'@'%' with grant option;\n"
    )
}

fn check(kind: Kind, output: Output) -> Result<Output, Fault> {
    if output.status.success() {
        return Ok(output);
    }
    let log_tail = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Fault::ServerEnded { program: kind.server_program(), status: output.status, log_tail })
}

/// `--option=` and a path, which need not be UTF-8.
pub(super) fn path_argument(option: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(option);
    argument.push(path);
    argument
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), Fault> {
    fs::create_dir(to).map_err(Fault::os("make", to))?;
    for entry in fs::read_dir(from).map_err(Fault::os("read", from))? {
        let entry = entry.map_err(Fault::os("read", from))?;
        let (source, destination) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(Fault::os("read", &source))?.is_dir() {
            copy_directory(&source, &destination)?;
        } else {
            fs::copy(&source, &destination).map_err(Fault::os("copy", &source))?;
        }
    }
    Ok(())
}

/// Raise it when the template's content changes.
const RECIPE: u32 = 1;

/// A private server's rows need not survive the loss of power; they do survive the server's death, since 2
/// hands the log to the kernel at every commit.
pub(super) const UNSAFE_BUT_FAST: [&str; 3] =
    ["--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--innodb-buffer-pool-size=128M"];
