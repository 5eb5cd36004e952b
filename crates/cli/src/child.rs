//! A command whose output is sent, or whose input is what was received.
//!
//! Invariants: the end of its output counts only if it ended well; it never outlives us: whatever else fails, it is killed
//! and waited for.
//!
//! Not here: processes that it starts itself.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;

use crate::standard_streams;

/// Killed and waited for when dropped.
struct Running {
    child: Child,
    name: String,
}

impl Running {
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
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a command writes.
pub(crate) struct Source {
    output: ChildStdout,
    running: Arc<Mutex<Running>>,
}

/// Ends a source's command when dropped: whoever reads from it may be left waiting in a thread that nobody waits for.
pub(crate) struct SourceGuard(Arc<Mutex<Running>>);

impl Drop for SourceGuard {
    fn drop(&mut self) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have ended.
        drop(running.child.kill());
        drop(running.child.wait());
    }
}

impl Source {
    /// Starts it; `None` without a command.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Option<Self>> {
        let Some((mut child, name)) = start(command, |command| command.stdout(Stdio::piped()))? else {
            return Ok(None);
        };
        let output = child.stdout.take().context("the command has no output")?;
        standard_streams::widen(&output);
        Ok(Some(Self { output, running: Arc::new(Mutex::new(Running { child, name })) }))
    }

    /// Ends the command when dropped.
    pub(crate) fn guard(&self) -> SourceGuard {
        SourceGuard(Arc::clone(&self.running))
    }

    /// Waits for the command's end, which must be a good one; a guard may end it meanwhile.
    fn end(&self) -> io::Result<()> {
        loop {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if running.child.try_wait()?.is_some() {
                return running.end();
            }
            drop(running);
            std::thread::sleep(POLL);
        }
    }
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let len = self.output.read(room)?;
        if len == 0 && !room.is_empty() {
            self.end()?;
        }
        Ok(len)
    }
}

/// Where what was received goes.
pub(crate) enum Sink {
    /// Our own output.
    Standard(File),
    /// A command's input.
    Child(Option<ChildStdin>, Box<SinkChild>),
}

/// The command behind a sink.
pub(crate) struct SinkChild(Running);

impl Sink {
    /// Starts the command, if there is one.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Self> {
        let Some((mut child, name)) = start(command, |command| command.stdin(Stdio::piped()))? else {
            return Ok(Self::Standard(standard_streams::output()?));
        };
        let input = child.stdin.take().context("the command has no input")?;
        standard_streams::widen(&input);
        Ok(Self::Child(Some(input), Box::new(SinkChild(Running { child, name }))))
    }

    /// Closes the command's input and waits for it; or kills it, if what it got isn't whole.
    pub(crate) fn end(&mut self, is_whole: bool) -> io::Result<()> {
        match self {
            Self::Standard(_) => Ok(()),
            Self::Child(input, child) => {
                if !is_whole {
                    // Before its input ends: it must not take the end for a good one.
                    child.0.child.kill()?;
                }
                drop(input.take());
                child.0.end()
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
) -> anyhow::Result<Option<(Child, String)>> {
    let Some((program, args)) = command.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    let child = pipe(command.args(args)).spawn().with_context(|| format!("cannot start '{program}'"))?;
    Ok(Some((child, program.clone())))
}

/// A command ends at once after its output, as a rule.
const POLL: Duration = Duration::from_millis(2);
