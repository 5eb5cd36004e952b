//! The programs of a state transfer, with their options, as published and as Galera's scripts call them.
//!
//! Invariants: a level is 1 wherever there are levels; threads are given to whatever takes them.
//!
//! Not here: running them (`pipeline`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use lab::real::{Install, PASSWORD, RealServer, USER};

use crate::record::{Compressor, Setting};

/// Both ends of a transfer.
pub(super) struct Ends<'a> {
    /// What is backed up.
    pub(super) server: &'a RealServer,
    /// This program.
    pub(super) program: &'a Path,
    /// Of backup, compressor and decompressor.
    pub(super) threads: u32,
    /// Where the joiner's files go.
    pub(super) joined: &'a Path,
    /// Where mariadb-backup keeps what it writes last.
    pub(super) temporary: &'a Path,
}

impl Ends<'_> {
    /// Backup, then compressor.
    pub(super) fn donor(&self, setting: Setting) -> anyhow::Result<Vec<Command>> {
        let mut backup = program("mariadb-backup")?;
        backup.args(["--no-defaults", "--backup", "--stream=mbstream"]);
        backup.args([format!("--user={USER}"), format!("--password={PASSWORD}")]);
        backup.arg(format!("--socket={}", self.server.socket_path().display()));
        backup.arg(format!("--datadir={}", self.server.sql("select @@datadir")?.trim()));
        backup.arg(format!("--target-dir={}", self.temporary.display()));
        let threads = self.threads;
        backup.arg(format!("--parallel={threads}"));
        if setting == Setting::Stream(Compressor::Backup) {
            backup.arg("--compress").arg(format!("--compress-threads={threads}"));
        }
        let mut commands = vec![backup];
        commands.extend(self.filter(setting, false)?);
        Ok(commands)
    }

    /// Decompressor, then what writes files.
    pub(super) fn joiner(&self, setting: Setting) -> anyhow::Result<Vec<Command>> {
        let mut extract = program("mbstream")?;
        extract.arg("-x").arg("-C").arg(self.joined);
        let mut commands: Vec<Command> = self.filter(setting, true)?.into_iter().collect();
        commands.push(extract);
        Ok(commands)
    }

    fn filter(&self, setting: Setting, unpacks: bool) -> anyhow::Result<Option<Command>> {
        let compressor = match setting {
            Setting::None | Setting::Stream(Compressor::Backup) => return Ok(None),
            Setting::Stream(compressor) => compressor,
            _ => bail!("{setting} packs connections, not streams"),
        };
        let threads = self.threads.to_string();
        let all = format!("-T{threads}");
        let (name, args): (&str, &[&str]) = match (compressor, unpacks) {
            (Compressor::Pigz, false) => ("pigz", &["-p", &threads]),
            (Compressor::Pigz, true) => ("pigz", &["-d", "-p", &threads]),
            (Compressor::Zstd, false) => ("zstd", &["-q", "-1", &all, "-c"]),
            (Compressor::Zstd, true) => ("zstd", &["-q", "-d", &all, "-c"]),
            (Compressor::Lz4, false) => ("lz4", &["-q", "-1", "-c"]),
            (Compressor::Lz4, true) => ("lz4", &["-q", "-d", "-c"]),
            (Compressor::Pzstd, false) => ("pzstd", &["-q", "-1", "-p", &threads, "-c", "-"]),
            (Compressor::Pzstd, true) => ("pzstd", &["-q", "-d", "-p", &threads, "-c", "-"]),
            (Compressor::Pack, false) => ("", &["pack", "-q", "-1", &all]),
            (Compressor::PackAuto, false) => ("", &["pack", "-q", "--auto", &all]),
            (Compressor::Pack | Compressor::PackAuto, true) => ("", &["unpack", "-q", &all]),
            (Compressor::Backup | Compressor::Qpress | Compressor::QpressBuiltIn, _) => {
                bail!("{compressor} is known by its published figures only")
            }
        };
        let mut command = if name.is_empty() { Command::new(self.program) } else { program(name)? };
        command.args(args);
        Ok(Some(command))
    }
}

fn program(name: &str) -> anyhow::Result<Command> {
    Install::find()?
        .command(name)
        .with_context(|| format!("{name} is missing; scripts/fetch-servers --sst fetches it"))
}

/// Whether what arrived has the file that a backup ends with.
pub(super) fn is_whole(joined: &Path) -> bool {
    fs::metadata(joined.join(CHECKPOINTS)).is_ok_and(|file| file.len() > 0)
}

/// mariadb-backup writes it when all else is done.
pub(super) const CHECKPOINTS: &str = "xtrabackup_checkpoints";
