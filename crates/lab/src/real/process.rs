//! A child process with a directory, both gone when dropped and when the process that owns them dies.
//!
//! ```text
//!   we ──▶ server            killed and reaped by Drop
//!    └──▶ janitor (sh)       holds the other end of a pipe; when that closes without the word that all is
//!                            done, we were killed: it kills the server and removes the directory
//! ```
//!
//! Invariants: a terminal's Ctrl-C reaches neither, since they have process groups of their own; the janitor
//! kills no process that does not have the directory among its arguments.
//!
//! Not here: what runs in it (`server`).

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::Fault;

/// A running child, watched.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    janitor: Child,
    /// Open as long as we live.
    janitor_stdin: Option<ChildStdin>,
}

impl Process {
    /// Starts `command` in a process group of its own; `directory` is removed if we die.
    ///
    /// Errors: `Os`.
    pub(super) fn spawn(mut command: Command, directory: &Path) -> Result<Self, Fault> {
        let program = command.get_program().to_owned();
        let mut child = command.process_group(0).spawn().map_err(Fault::os("start", program))?;
        match Self::spawn_janitor(&child, directory) {
            Ok((janitor, janitor_stdin)) => Ok(Self { child, janitor, janitor_stdin }),
            Err(fault) => {
                drop(child.kill().and_then(|()| child.wait()));
                Err(fault)
            }
        }
    }

    fn spawn_janitor(child: &Child, directory: &Path) -> Result<(Child, Option<ChildStdin>), Fault> {
        let mut janitor = Command::new("/bin/sh")
            .args(["-c", JANITOR, "wirepress-janitor"])
            .arg(child.id().to_string())
            .arg(directory)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Fault::os("start", "/bin/sh"))?;
        let stdin = janitor.stdin.take();
        Ok((janitor, stdin))
    }

    /// The child's process id; for a server its own, since every wrapper execs.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How the child ended, if it did.
    ///
    /// Errors: `Os`.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, Fault> {
        self.child.try_wait().map_err(Fault::os("wait for", "the server"))
    }

    /// Kills the child as a crash would, and reaps it.
    ///
    /// Errors: `Os`.
    pub(super) fn kill(&mut self) -> Result<(), Fault> {
        // A child that has ended and was reaped is fine for both calls.
        self.child.kill().and_then(|()| self.child.wait()).map(drop).map_err(Fault::os("kill", "the server"))
    }

    /// User and system time the child has used.
    ///
    /// Errors: `Os`: it has ended, or the numbers are not where `proc_pid_stat(5)` says.
    pub(super) fn cpu_time(&self) -> Result<Duration, Fault> {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(&path).map_err(Fault::os("read", &path))?;
        // The name in parentheses may hold spaces; fields are counted from behind it, where the third begins.
        let ticks = text.rsplit_once(')').and_then(|(_, fields)| {
            let mut fields = fields.split_whitespace().skip(11).map(str::parse::<u64>);
            Some(fields.next()?.ok()? + fields.next()?.ok()?)
        });
        let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidData);
        let ticks = ticks.ok_or_else(invalid).map_err(Fault::os("read", &path))?;
        Ok(Duration::from_millis(ticks * 1_000 / TICKS_PER_S))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the janitor is the second line.
        drop(self.kill());
        if let Some(mut stdin) = self.janitor_stdin.take() {
            drop(stdin.write_all(b"done\n"));
        }
        drop(self.janitor.wait());
    }
}

/// A directory for one server, removed when dropped.
///
/// Errors: `Os`.
pub(super) fn private_directory() -> Result<TempDir, Fault> {
    tempfile::Builder::new()
        .prefix("wirepress-")
        .tempdir()
        .map_err(Fault::os("make a directory in", std::env::temp_dir()))
}

/// Arguments: the child's pid and the directory. By then the pid may be somebody else's, who does not have the
/// directory in its arguments. A killed server takes a moment to let go of its files.
const JANITOR: &str = r#"
read -r word
[ "$word" = done ] && exit
grep -qF -- "$2" "/proc/$1/cmdline" && kill -KILL "$1"
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- "$2" && exit
    sleep 0.1
done
"#;

/// Linux shows times to programs in these, whatever the kernel counts in (`time(7)`).
const TICKS_PER_S: u64 = 100;
