//! Programs in a row, each reading what the one before it writes: `mariadb-backup | zstd | network`.
//!
//! Invariants: none outlives this value; the first that fails ends the others, and it is the one that is named; CPU time
//! and bytes are read when a program has ended and before the kernel forgets it.
//!
//! Not here: which programs (`transfer`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use super::client_process::led_through;
use crate::client::Stop;
use crate::cpu;

/// What runs.
#[derive(Default)]
pub(super) struct Pipeline {
    stages: Vec<Running>,
}

struct Running {
    name: String,
    child: Child,
    ended: Option<Ended>,
    handle: OwnedFd,
    errors: PathBuf,
}

/// What a program has cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    /// All of its CPU time.
    pub(super) cpu: Duration,
    /// Bytes that it has written, wherever to.
    pub(super) written_bytes: u64,
}

impl Pipeline {
    /// Starts them, by the words `through`; `output` is where the last one writes, none is nowhere.
    pub(super) fn start(
        &mut self,
        through: &[OsString],
        commands: &[Command],
        mut input: Stdio,
        output: Stdio,
        folder: &Path,
    ) -> anyhow::Result<()> {
        let (mut output, last) = (Some(output), commands.len().saturating_sub(1));
        for (i, command) in commands.iter().enumerate() {
            let out = if i == last { output.take().unwrap_or_else(Stdio::null) } else { Stdio::piped() };
            let mut child = self.spawn(through, command, input, out, folder)?;
            input = child.child.stdout.take().map_or_else(Stdio::null, Stdio::from);
            self.stages.push(child);
        }
        Ok(())
    }

    fn spawn(
        &self,
        through: &[OsString],
        command: &Command,
        input: Stdio,
        output: Stdio,
        folder: &Path,
    ) -> anyhow::Result<Running> {
        let (name, mut outer) = led_through(through, command);
        let errors = folder.join(format!("{}-{name}.err", self.stages.len()));
        let file = File::create(&errors).with_context(|| format!("cannot write {}", errors.display()))?;
        let mut child = outer
            .stdin(input)
            .stdout(output)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        match pidfd_open(pid(&child)?, PidfdFlags::empty()) {
            Ok(handle) => Ok(Running { name, child, ended: None, handle, errors }),
            Err(error) => {
                child.kill().ok();
                child.wait().ok();
                Err(error).with_context(|| format!("cannot watch {name}"))
            }
        }
    }

    /// Waits until all have ended well; what each has cost, in their order.
    pub(super) fn wait(&mut self, stop: &Stop) -> anyhow::Result<Vec<Ended>> {
        let began = Instant::now();
        while self.stages.iter().any(|stage| stage.ended.is_none()) {
            let waiting = self.stages.iter().filter(|stage| stage.ended.is_none());
            let mut handles: Vec<PollFd<'_>> =
                waiting.map(|stage| PollFd::new(&stage.handle, PollFlags::IN)).collect();
            match poll(&mut handles, Some(&LOOK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for programs"),
            }
            ensure!(!stop.is_wished(), "interrupted");
            ensure!(began.elapsed() < LONGEST, "not done within {} s", LONGEST.as_secs());
            for stage in &mut self.stages {
                stage.look()?;
            }
        }
        Ok(self.stages.iter().filter_map(|stage| stage.ended).collect())
    }
}

impl Running {
    /// Whether it has ended, and how.
    fn look(&mut self) -> anyhow::Result<()> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if self.ended.is_some() || waitid(WaitId::Pid(pid(&self.child)?), options)?.is_none() {
            return Ok(());
        }
        let id = self.child.id();
        // Ended, but not yet forgotten by the kernel: its counters can still be read.
        let io = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
        let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok());
        let ended = Ended {
            cpu: cpu::of_process(id).unwrap_or_default(),
            written_bytes: written.unwrap_or_default(),
        };
        let status = self.child.wait()?;
        self.ended = Some(ended);
        if !status.success() {
            bail!("{} ended with {status}: {}", self.name, last_words(&self.errors));
        }
        Ok(())
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // Those that have ended are waited for already; both calls then say so.
        for stage in &mut self.stages {
            stage.child.kill().ok();
            stage.child.wait().ok();
        }
    }
}

fn pid(child: &Child) -> anyhow::Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a program has no process id")
}

/// The last lines that a program has written about itself.
fn last_words(errors: &Path) -> String {
    let text = fs::read(errors).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("; ")
}

/// Often enough for Ctrl-C.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Longer than any plan's longest cell.
const LONGEST: Duration = Duration::from_secs(1800);
const LINES_SHOWN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(words: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", words]);
        command
    }

    fn run(commands: Vec<Command>, folder: &Path) -> anyhow::Result<Vec<Ended>> {
        let mut pipeline = Pipeline::default();
        pipeline.start(&[], &commands, Stdio::null(), Stdio::null(), folder)?;
        pipeline.wait(&Stop::new())
    }

    #[test]
    fn what_the_last_program_writes_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let ended =
            run(vec![shell("exec head -c 100000 /dev/zero"), shell("exec cat")], folder.path()).unwrap();
        assert_eq!(ended.len(), 2);
        assert_eq!(ended[1].written_bytes, 100_000);
    }

    #[test]
    fn the_one_that_fails_is_named_and_the_others_are_ended() {
        let folder = tempfile::tempdir().unwrap();
        let commands = vec![shell("exec sleep 1000"), shell("echo no room >&2; exit 3")];
        let error = run(commands, folder.path()).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("no room"), "{error}");
    }
}
