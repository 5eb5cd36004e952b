//! A command whose output is sent, or whose input is what was received.
//!
//! Invariants: the end of its output counts only if it ended well; it never outlives us, unless SIGKILL ends us: whatever
//! else fails, and at SIGTERM, SIGINT and SIGHUP, it is killed and waited for, with the processes of its group. It has a group of
//! its own, unless there is a terminal, from which it may want a password.
//!
//! Not here: processes that it has put into other groups.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::ending_signals::EndingSignals;
use crate::standard_streams;

/// Killed and waited for when dropped.
struct Running {
    child: Child,
    name: String,
    has_group: bool,
    /// It has got all that there is: from here on its end is no surprise.
    has_all: bool,
}

impl Running {
    /// Kills it and its group, if it hasn't ended.
    fn kill(&mut self) {
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
type Shared = Arc<Mutex<Running>>;

fn lock(running: &Shared) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the command's end, which must be a good one; somebody else may end it meanwhile.
fn end(running: &Shared) -> io::Result<()> {
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

/// Where what was received goes.
pub(crate) enum Sink {
    /// Our own output.
    Standard(File),
    /// A command's input.
    Child(Option<ChildStdin>, SinkChild),
}

/// The command behind a sink.
pub(crate) struct SinkChild(Shared);

impl Sink {
    /// Starts the command, if there is one.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Self> {
        let Some(running) = start(command, |command| command.stdin(Stdio::piped()))? else {
            return Ok(Self::Standard(standard_streams::output()?));
        };
        let input = lock(&running).child.stdin.take().context("the command has no input")?;
        standard_streams::widen(&input);
        Ok(Self::Child(Some(input), SinkChild(running)))
    }

    /// Tells, whenever it is asked, whether the command has ended before its input did: nothing may be written for long.
    pub(crate) fn watch(&self) -> impl Fn() -> Option<String> + Send + 'static {
        let child = match self {
            Self::Standard(_) => None,
            Self::Child(_, child) => Some(Arc::clone(&child.0)),
        };
        move || {
            let mut running = lock(child.as_ref()?);
            let status = if running.has_all { None } else { running.child.try_wait().ok()? }?;
            Some(format!("'{}' ended before its input did: {status}", running.name))
        }
    }

    /// Closes the command's input and waits for it; or kills it, if what it got isn't whole.
    pub(crate) fn end(&mut self, is_whole: bool) -> io::Result<()> {
        match self {
            Self::Standard(_) => Ok(()),
            Self::Child(input, child) => {
                if !is_whole {
                    // Before its input ends: it must not take the end for a good one.
                    lock(&child.0).kill();
                }
                lock(&child.0).has_all = true;
                drop(input.take());
                end(&child.0)
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(file) => file.write(bytes),
            Self::Child(Some(input), _) => input.write(bytes),
            Self::Child(None, _) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn start(
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
            drop(writeln!(io::stderr(), "wirepress: ended by {}", ending.name));
            std::process::exit(ending.exit_code);
        })
        .context("cannot watch for signals")?;
    Ok(Some(running))
}

/// A command ends at once after its output, as a rule.
const POLL: Duration = Duration::from_millis(2);
