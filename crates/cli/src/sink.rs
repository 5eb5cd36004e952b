//! Where what was received goes: our own output, or a command's input.
//!
//! Invariants: once the transfer has failed nobody is waited for who doesn't read; a command whose input isn't whole is killed
//! before that ends; a file is kept before it is said to be written.
//!
//! Not here: the command itself (`child`), when a transfer has failed (crate `transfer`).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, open};
use transfer::net::Taker;

use crate::child::{Shared, end, lock, start};
use crate::ending_signals::last_words;
use crate::standard_streams;

/// Takes what was received.
pub(crate) struct Sink {
    output: Option<File>,
    command: Option<Shared>,
    /// Writing never waits longer than for a look.
    is_patient: bool,
    /// Why the transfer has failed: no reader is waited for any longer.
    given_up: Arc<OnceLock<String>>,
}

/// A sink as the network sees it.
pub(crate) struct SinkWatch {
    command: Option<Shared>,
    is_patient: bool,
    given_up: Arc<OnceLock<String>>,
}

impl Sink {
    /// Starts the command, if there is one.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Self> {
        let running = start(command, |command| command.stdin(Stdio::piped()))?;
        let (output, is_patient) = match &running {
            None => patient(standard_streams::output()?),
            Some(running) => {
                let input = lock(running).child.stdin.take().context("the command has no input")?;
                standard_streams::widen(&input);
                // This end of the pipe is nobody else's.
                let flags = fcntl_getfl(&input).context("cannot use the command's input")?;
                fcntl_setfl(&input, flags | OFlags::NONBLOCK).context("cannot use the command's input")?;
                (OwnedFd::from(input).into(), true)
            }
        };
        Ok(Self { output: Some(output), command: running, is_patient, given_up: Arc::default() })
    }

    /// For the network's thread.
    pub(crate) fn watch(&self) -> SinkWatch {
        let (command, given_up) = (self.command.clone(), Arc::clone(&self.given_up));
        SinkWatch { command, is_patient: self.is_patient, given_up }
    }

    /// Closes the command's input and waits for it; or kills it, if what it got isn't whole.
    pub(crate) fn end(&mut self, is_whole: bool) -> io::Result<()> {
        let Some(running) = &self.command else {
            return self.output.as_ref().map_or(Ok(()), standard_streams::keep);
        };
        if !is_whole {
            // Before its input ends: it must not take the end for a good one.
            lock(running).kill();
        }
        lock(running).has_all = true;
        drop(self.output.take());
        end(running)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let output = self.output.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        loop {
            match output.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                done => return done,
            }
            if let Some(words) = self.given_up.get() {
                return Err(io::Error::other(format!("nobody reads it, and {words}")));
            }
            // Whatever it says, the next attempt knows.
            let _is_ready = poll(&mut [PollFd::new(output, PollFlags::OUT)], Some(&LOOK));
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Taker for SinkWatch {
    fn hindrance(&self) -> Option<String> {
        let mut running = lock(self.command.as_ref()?);
        let status = if running.has_all { None } else { running.child.try_wait().ok()? }?;
        Some(format!("'{}' ended before its input did: {status}", running.name))
    }

    fn abandon(&self, words: &str) {
        if self.is_patient {
            self.given_up.get_or_init(|| words.to_owned());
        } else {
            // The thread that writes can't be told.
            last_words(format!("wirepress: cannot write the output: nobody takes it, and {words}"));
            std::process::exit(1);
        }
    }
}

/// The output such that writing to it need not wait, and whether there is a way.
///
/// A pipe's way of writing is shared with whoever gave it to us, so it is opened anew.
fn patient(output: File) -> (File, bool) {
    let is_pipe = fstat(&output).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    let anew = || {
        let path = format!("/proc/self/fd/{}", rustix::fd::AsRawFd::as_raw_fd(&output.as_fd()));
        open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
    };
    match is_pipe.then(anew) {
        Some(Ok(anew)) => (anew.into(), true),
        _ => (output, false),
    }
}

/// How often it is looked whether the transfer has failed.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
