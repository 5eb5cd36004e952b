//! What a benchmark run writes down: `samples.jsonl`, one record a line, appended as soon as it is known.
//!
//! ```text
//!  {"record":"run", …}      first line: plan, seed, machine, versions, command
//!  {"record":"link", …}     what a link was asked for, and what it did when it was calibrated
//!  {"record":"sample", …}   one repetition of one cell
//!  {"record":"failure", …}  a cell that could not be measured, and why
//!  {"record":"resumed", …}  the run went on in another sitting
//!  {"record":"end", …}      all cells were tried; a run that went on behind it, to measure again what failed, has more
//! ```
//! Reports are made from this file alone, here or on another machine, now or in a year.
//!
//! Invariants: nothing in it is computed from other records; every number has its unit in its name; a line is whole or,
//! being the last one of a run that was killed, left out when it is read.
//!
//! Not here: measuring (`run`), statistics (`stats`), reports (`report`).

mod cell;
mod compressor;
mod file;
mod link_check;
mod metric;
mod options;
mod setting;

pub use cell::{Cell, KERNEL, Path};
pub use compressor::Compressor;
pub use file::{Records, RecordsFault, Writer};
pub use link_check::{LinkCheck, LinkPromise};
pub use metric::{Better, Metric};
pub use options::{Options, Origin};
pub use setting::Setting;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// What is measured, where and with what.
    Run(Box<Run>),
    /// A link, calibrated.
    Link(LinkCheck),
    /// A measurement.
    Sample(Sample),
    /// A measurement that did not come about.
    Failure(Failure),
    /// The run went on.
    Resumed(Resumed),
    /// The sitting tried all that was left.
    End(End),
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT`] of the version that wrote it.
    pub format: u32,
    /// The plan's name, as `wirepress bench` takes it.
    pub plan: String,
    /// `smoke`, `laptop` or `full`.
    pub scale: String,
    /// Seed of the order of cells and of all data.
    pub seed: u64,
    /// Repetitions of each cell that are wanted.
    pub repetitions: u32,
    /// Cells that are wanted.
    pub cells: u32,
    /// Seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// The command, word by word, without passwords.
    pub command: Vec<String>,
    /// Version of wirepress, with the commit it was built from where that is known.
    pub wirepress: String,
    /// The machine.
    pub machine: Machine,
    /// Program to version: the database, sysbench, HAProxy…
    pub programs: BTreeMap<String, String>,
    /// What was read from: `private MySQL`, `embedded database`, `the server at HOST`.
    pub database: String,
    /// What a reader must know besides, a sentence each: that links end TCP, that processes were pinned.
    pub notes: Vec<String>,
    /// What it was begun with; none in older files, whose runs cannot go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Options>,
}

/// What it was measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// As the processor calls itself.
    pub cpu: String,
    /// CPUs that this process may use.
    pub cores: u32,
    /// Memory of the machine.
    pub memory_mib: u64,
    /// Kernel's name and release.
    pub kernel: String,
    /// The distribution's name.
    pub system: String,
}

/// One repetition of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What was measured.
    pub cell: Cell,
    /// From 0.
    pub repetition: u32,
    /// Since the start of the run, sittings between left out.
    pub at_s: f64,
    /// What came of it.
    pub metrics: BTreeMap<Metric, f64>,
}

/// A measurement that did not come about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What should have been measured.
    pub cell: Cell,
    /// From 0.
    pub repetition: u32,
    /// Why not, and what to do.
    pub reason: String,
}

/// The run went on in another sitting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// Version and commit then.
    pub wirepress: String,
    /// The machine, if it was not that of the run's first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// All was tried. Sittings that were interrupted count for the time alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Time that was spent on it in all sittings.
    pub took_s: f64,
    /// Cores that others on the machine kept busy on average; none where that is not known.
    pub busy_cores: Option<f64>,
    /// CPU seconds of the harness's links while samples were taken. Its own client's are in the samples.
    pub harness_cpu_s: f64,
}

/// Raised when an older reader would misread the file.
pub const FORMAT: u32 = 1;
