//! A command that we run, and one whose output is sent.
//!
//! Invariants: the end of its output counts only if it ended well; it never outlives us, unless SIGKILL ends us: whatever
//! else fails, and at SIGTERM, SIGINT and SIGHUP, it is killed and waited for, with the processes of its group. It has a group of
//! its own, unless there is a terminal, from which it may want a password.
//!
//! Not here: what a command reads (`sink`), processes that it has put into other groups.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::ending_signals::{EndingSignals, last_words};
use crate::standard_streams;

/// Killed and waited for when dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) name: String,
    has_group: bool,
    /// It has got all that there is: from here on its end is no surprise.
    pub(crate) has_all: bool,
}

impl Running {
    /// Kills it and its group, if it hasn't ended.
    pub(crate) fn kill(&mut self) {
        // Not yet waited for, so that its number can't be somebody else's.
        if let Ok(None) = self.child.try_wait() {
            let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group.filter(|_| self.has_group) {
                kill_process_group(group, Signal::KILL).ok();
            }
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }

    /// Waits for its end, which must be a good one.
    fn end(&mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("'{}' failed: {status}", self.name)))
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that several threads know.
pub(crate) type Shared = Arc<Mutex<Running>>;

pub(crate) fn lock(running: &Shared) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the command's end, which must be a good one; somebody else may end it meanwhile.
pub(crate) fn end(running: &Shared) -> io::Result<()> {
    loop {
        let mut running = lock(running);
        if running.child.try_wait()?.is_some() {
            return running.end();
        }
        drop(running);
        std::thread::sleep(POLL);
    }
}

/// What a command writes.
pub(crate) struct Source {
    output: ChildStdout,
    running: Shared,
}

/// Ends a source's command when dropped: whoever reads from it may be left waiting in a thread that nobody waits for.
pub(crate) struct SourceGuard(Shared);

impl Drop for SourceGuard {
    fn drop(&mut self) {
        lock(&self.0).kill();
    }
}

impl Source {
    /// Starts it; `None` without a command.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Option<Self>> {
        let Some(running) = start(command, |command| command.stdout(Stdio::piped()))? else {
            return Ok(None);
        };
        let output = lock(&running).child.stdout.take().context("the command has no output")?;
        standard_streams::widen(&output);
        Ok(Some(Self { output, running }))
    }

    /// Ends the command when dropped.
    pub(crate) fn guard(&self) -> SourceGuard {
        SourceGuard(Arc::clone(&self.running))
    }
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let len = self.output.read(room)?;
        if len == 0 && !room.is_empty() {
            end(&self.running)?;
        }
        Ok(len)
    }
}

/// Starts a command; `None` without one.
pub(crate) fn start(
    command: &[String],
    pipe: impl FnOnce(&mut Command) -> &mut Command,
) -> anyhow::Result<Option<Shared>> {
    let Some((program, args)) = command.split_first() else { return Ok(None) };
    // Before there is something to end.
    let signals = EndingSignals::listen().context("cannot watch for signals")?;
    let mut command = Command::new(program);
    let has_group = File::open("/dev/tty").is_err();
    if has_group {
        command.process_group(0);
    }
    let child = pipe(command.args(args)).spawn().with_context(|| format!("cannot start '{program}'"))?;
    let running = Arc::new(Mutex::new(Running { child, name: program.clone(), has_group, has_all: false }));
    let known = Arc::downgrade(&running);
    signals
        .at_first(move |ending| {
            let running = known.upgrade();
            // Until we have ended, so that nobody else tells of a command that was killed.
            let mut running = running.as_ref().map(lock);
            if let Some(running) = &mut running {
                running.kill();
            }
            // The exit code tells it, too.
            last_words(format!("wirepress: ended by {}", ending.name));
            std::process::exit(ending.exit_code);
        })
        .context("cannot watch for signals")?;
    Ok(Some(running))
}

/// A command ends at once after its output, as a rule.
const POLL: Duration = Duration::from_millis(2);
