//! A client that is a program: run where clients are, its output read, its CPU time known to the nanosecond.
//!
//! Invariants: an interrupt ends it, and so does [`SILENCE_MAX`] without a line; its CPU time is read after it has
//! ended and before its entry is removed.
//!
//! Not here: what it prints.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::client::Stop;
use crate::cpu;

/// A client that runs.
pub(crate) struct ClientProcess {
    name: String,
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    errors: Option<JoinHandle<String>>,
}

/// A client that has ended well.
pub(crate) struct Ended {
    /// What it printed on standard output, line by line.
    pub(crate) lines: Vec<String>,
    /// All of its CPU time.
    pub(crate) cpu: Duration,
}

impl ClientProcess {
    /// Starts `command` by the words `through`.
    pub(crate) fn start(through: &[OsString], command: &Command) -> anyhow::Result<Self> {
        let (name, mut outer) = led_through(through, command);
        outer.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = outer.spawn().with_context(|| format!("cannot start {name}"))?;
        let (sender, lines) = channel();
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        spawn(move || {
            let output = output.into_iter().flat_map(|output| BufReader::new(output).lines());
            for line in output.map_while(Result::ok) {
                sender.send(line).ok();
            }
        });
        let errors = spawn(move || {
            let mut text = String::new();
            if let Some(mut errors) = errors {
                errors.read_to_string(&mut text).ok();
            }
            text
        });
        Ok(Self { name, child, lines, seen: Vec::new(), errors: Some(errors) })
    }

    /// CPU time so far.
    pub(crate) fn cpu(&self) -> Duration {
        cpu::of_process(self.child.id()).unwrap_or_default()
    }

    /// Waits for a line that begins so; false when it ended without.
    pub(crate) fn wait_for_line(&mut self, start: &str, stop: &Stop) -> anyhow::Result<bool> {
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    let is_it = line.starts_with(start);
                    self.seen.push(line);
                    if is_it {
                        return Ok(true);
                    }
                }
                Err(RecvTimeoutError::Timeout) if stop.is_wished() => bail!("interrupted"),
                Err(RecvTimeoutError::Timeout) if begun.elapsed() > SILENCE_MAX => {
                    bail!("{} did not end within {} s", self.name, SILENCE_MAX.as_secs())
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It failed; with its own words.
    pub(crate) fn wait(mut self, stop: &Stop) -> anyhow::Result<Ended> {
        while self.wait_for_line(NO_LINE, stop)? {}
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // Ended, but not yet forgotten by the kernel: its clock can still be read.
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .with_context(|| format!("cannot wait for {}", self.name))?;
        }
        let cpu = self.cpu();
        let status = self.child.wait()?;
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        let lines = std::mem::take(&mut self.seen);
        ensure!(status.success(), "{} ended with {status}: {}", self.name, last_words(&errors, &lines));
        Ok(Ended { lines, cpu })
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        // A client that has ended is waited for already; both calls then say so.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The name of the program, and its command led by the words `through` to where it is to run.
pub(super) fn led_through(through: &[OsString], command: &Command) -> (String, Command) {
    let name = command.get_program().to_string_lossy().rsplit('/').next().unwrap_or_default().to_owned();
    let mut words = through.iter().map(OsString::as_os_str).chain([command.get_program()]);
    let mut outer = Command::new(words.next().unwrap_or_default());
    outer.args(words).args(command.get_args());
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(variable, value),
            None => outer.env_remove(variable),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    (name, outer)
}

/// The lines that say why, which programs print to either output.
fn last_words(errors: &str, lines: &[String]) -> String {
    let all = errors.lines().chain(lines.iter().map(String::as_str)).filter(|line| !line.trim().is_empty());
    let fatal: Vec<&str> =
        all.clone().filter(|line| line.contains("FATAL") || line.contains("ERROR")).collect();
    let mut chosen: Vec<&str> = if fatal.is_empty() { all.collect() } else { fatal };
    chosen.dedup();
    chosen.truncate(LINES_SHOWN);
    chosen.join("; ")
}

/// Often enough for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);
/// Longer than any plan's longest cell: 10 Mbit/s carry 750 MB in it.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// No program prints it.
const NO_LINE: &str = "\0";
/// The first reason is the reason; a thousand threads repeat it.
const LINES_SHOWN: usize = 3;
