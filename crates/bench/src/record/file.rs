//! The file `samples.jsonl`: appended while measuring, read for a report or to go on.
//!
//! Invariants: a record is on its way to the disk before the next measurement begins; a line that a killed run left
//! half written is dropped when the file is read, and cut off before the run goes on.
//!
//! Not here: what is in a record.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Cell, End, FORMAT, Failure, LinkCheck, Record, Resumed, Run, Sample};

/// What is wrong with a file.
#[derive(Debug, Error)]
pub enum RecordsFault {
    /// It cannot be opened, read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not a record.
    #[error("{}, line {line}: {reason}; is this a samples.jsonl of wirepress bench?", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What the reader says.
        reason: String,
    },
    /// The first line is not that of a run.
    #[error("{} does not begin with a run's record; is this a samples.jsonl of wirepress bench?", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
    },
    /// A newer version wrote it.
    #[error("{} has format {format}, this wirepress reads up to {FORMAT}; use a newer one", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What it says.
        format: u32,
    },
}

/// Everything in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// The first line.
    pub run: Run,
    /// Calibrations, in the order of time.
    pub links: Vec<LinkCheck>,
    /// Samples, in the order of time.
    pub samples: Vec<Sample>,
    /// What could not be measured.
    pub failures: Vec<Failure>,
    /// Later sittings.
    pub resumed: Vec<Resumed>,
    /// How many calibrations were before each of them.
    pub links_before: Vec<usize>,
    /// There when all was tried and the run did not go on since.
    pub end: Option<End>,
    /// The last one that the run went on behind.
    pub earlier_end: Option<End>,
}

impl Records {
    /// Reads a file.
    ///
    /// # Errors
    /// [`RecordsFault`]. A last line without its end is no error: the run was killed while it wrote.
    pub fn read(path: &Path) -> Result<Self, RecordsFault> {
        let text = std::fs::read_to_string(path).map_err(io_fault("read", path))?;
        Self::parse(&text, path)
    }

    /// Reads a file's text; `path` is for errors.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, RecordsFault> {
        let mut lines = text[..whole_lines_len(text)].lines().enumerate().map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| RecordsFault::Line {
                path: path.to_owned(),
                line: index + 1,
                reason: error.to_string(),
            })
        });
        let run = match lines.next().transpose()? {
            Some(Record::Run(run)) if run.format <= FORMAT => *run,
            Some(Record::Run(run)) => {
                return Err(RecordsFault::Format { path: path.to_owned(), format: run.format });
            }
            _ => return Err(RecordsFault::NoRun { path: path.to_owned() }),
        };
        let mut records = Self {
            run,
            links: Vec::new(),
            samples: Vec::new(),
            failures: Vec::new(),
            resumed: Vec::new(),
            links_before: Vec::new(),
            end: None,
            earlier_end: None,
        };
        for record in lines {
            match record? {
                Record::Run(_) => return Err(RecordsFault::NoRun { path: path.to_owned() }),
                Record::Link(link) => records.links.push(link),
                Record::Sample(sample) => records.samples.push(sample),
                Record::Failure(failure) => records.failures.push(failure),
                Record::Resumed(resumed) => {
                    records.resumed.push(resumed);
                    records.links_before.push(records.links.len());
                    records.earlier_end = records.end.take().or(records.earlier_end);
                }
                Record::End(end) => records.end = Some(end),
            }
        }
        Ok(records)
    }

    /// What could not be measured and was not measured since, each once, with the last reason.
    #[must_use]
    pub fn failures_left(&self) -> Vec<&Failure> {
        let mut left: BTreeMap<(&Cell, u32), &Failure> = BTreeMap::new();
        for failure in &self.failures {
            left.insert((&failure.cell, failure.repetition), failure);
        }
        for sample in &self.samples {
            left.remove(&(&sample.cell, sample.repetition));
        }
        let is_left = |failure: &&Failure| {
            left.get(&(&failure.cell, failure.repetition)).is_some_and(|last| std::ptr::eq(*last, *failure))
        };
        self.failures.iter().filter(is_left).collect()
    }

    /// In which sitting a calibration was made, by its place among [`Self::links`]. The first sitting is 1.
    #[must_use]
    pub fn sitting_of_link(&self, index: usize) -> usize {
        1 + self.links_before.iter().filter(|before| **before <= index).count()
    }

    /// Whether there is nothing to go on with.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end.is_some() && self.failures_left().is_empty()
    }

    /// Seconds that all sittings so far took, as far as is known: those of an interrupted one up to its last sample.
    #[must_use]
    pub fn took_s(&self) -> f64 {
        let ended = self.last_end().map_or(0.0, |end| end.took_s);
        self.samples.last().map_or(ended, |sample| sample.at_s.max(ended))
    }

    /// The last end, also of a run that went on behind it.
    #[must_use]
    pub fn last_end(&self) -> Option<&End> {
        self.end.as_ref().or(self.earlier_end.as_ref())
    }
}

/// Appends records.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// A new file.
    ///
    /// # Errors
    /// `Io`, also when there is such a file already.
    pub fn create(path: &Path) -> Result<Self, RecordsFault> {
        let file =
            OpenOptions::new().append(true).create_new(true).open(path).map_err(io_fault("make", path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// A file that is there: the run goes on behind its last whole line.
    ///
    /// # Errors
    /// `Io`.
    pub fn append(path: &Path) -> Result<Self, RecordsFault> {
        let text = std::fs::read_to_string(path).map_err(io_fault("read", path))?;
        let file = OpenOptions::new().append(true).open(path).map_err(io_fault("open", path))?;
        file.set_len(whole_lines_len(&text) as u64).map_err(io_fault("shorten", path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// `Io`: a full disk, above all. What was written before stays good.
    pub fn write(&mut self, record: &Record) -> Result<(), RecordsFault> {
        let fault = io_fault("write to", &self.path);
        match serde_json::to_string(record) {
            // One call a line: a run that is killed leaves at most a part of one.
            Ok(line) => self.file.write_all(format!("{line}\n").as_bytes()).map_err(fault),
            Err(error) => Err(fault(error.into())),
        }
    }

    /// Where it writes.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Bytes up to the end of the last whole line.
fn whole_lines_len(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
}

fn io_fault(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordsFault + use<> {
    let path = path.to_owned();
    move |source| RecordsFault::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Machine, Metric, Path as Way, Setting};

    pub(crate) fn run() -> Run {
        Run {
            format: FORMAT,
            plan: "rds-scan".to_owned(),
            scale: "smoke".to_owned(),
            seed: 7,
            repetitions: 3,
            cells: 2,
            started_unix_s: 1_700_000_000,
            command: vec!["wirepress".to_owned(), "bench".to_owned(), "rds-scan".to_owned()],
            wirepress: "0.1.0".to_owned(),
            machine: Machine {
                cpu: "a processor".to_owned(),
                cores: 2,
                memory_mib: 1024,
                kernel: "Linux 6.1".to_owned(),
                system: "Debian 12".to_owned(),
            },
            programs: BTreeMap::from([("mysqld".to_owned(), "9.7.4".to_owned())]),
            database: "private MySQL".to_owned(),
            notes: Vec::new(),
            options: None,
        }
    }

    fn sample() -> Sample {
        let cell = Cell {
            link: "100mbit,1.4ms".to_owned(),
            workload: "scan sbtest1".to_owned(),
            threads: 1,
            path: Way::WirepressBesideApp,
            tls: false,
            setting: Setting::Zstd(3),
        };
        let metrics = BTreeMap::from([(Metric::TimeS, 1.25), (Metric::WireBytes, 1e6)]);
        Sample { cell, repetition: 0, at_s: 3.5, metrics }
    }

    #[test]
    fn what_is_written_is_read_again_and_a_killed_run_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        let mut writer = Writer::create(&path).unwrap();
        writer.write(&Record::Run(Box::new(run()))).unwrap();
        writer.write(&Record::Sample(sample())).unwrap();
        drop(writer);
        // Killed in the middle of a line.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"record\":\"sam").unwrap();
        let records = Records::read(&path).unwrap();
        assert_eq!((records.run, records.samples), (run(), vec![sample()]));
        let mut writer = Writer::append(&path).unwrap();
        writer.write(&Record::Sample(sample())).unwrap();
        assert_eq!(Records::read(&path).unwrap().samples, [sample(), sample()]);
    }

    #[test]
    fn a_run_that_went_on_behind_its_end_has_the_last_one_and_lost_the_failures_that_were_made_good() {
        let failure = |repetition, reason: &str| {
            Record::Failure(Failure { cell: sample().cell, repetition, reason: reason.to_owned() })
        };
        let end = |took_s| End { took_s, busy_cores: None, harness_cpu_s: 1.0 };
        let resumed =
            Record::Resumed(Resumed { started_unix_s: 1, wirepress: "0.1.0".to_owned(), machine: None });
        let mut lines = vec![
            Record::Run(Box::new(run())),
            failure(0, "no lz4"),
            failure(1, "no lz4"),
            Record::End(end(5.0)),
            resumed.clone(),
        ];
        let read = |lines: &[Record]| {
            let text = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
            Records::parse(&text.collect::<String>(), Path::new("x.jsonl")).unwrap()
        };
        let records = read(&lines);
        assert_eq!((records.end.clone(), records.last_end()), (None, Some(&end(5.0))));
        assert_eq!((records.failures_left().len(), records.took_s()), (2, 5.0));
        lines.extend([
            Record::Sample(Sample { at_s: 6.0, ..sample() }),
            failure(1, "too slow"),
            Record::End(end(9.0)),
        ]);
        let records = read(&lines);
        assert_eq!((records.end.clone(), records.took_s()), (Some(end(9.0)), 9.0));
        let left: Vec<_> =
            records.failures_left().iter().map(|left| (left.repetition, &*left.reason)).collect();
        assert_eq!((left, records.is_complete()), (vec![(1, "too slow")], false));
        let last = [resumed, Record::Sample(Sample { repetition: 1, ..sample() }), Record::End(end(10.0))];
        lines.extend(last);
        assert!(read(&lines).is_complete());
        // Interrupted behind an end: there may be more to do.
        lines.push(Record::Resumed(Resumed {
            started_unix_s: 2,
            wirepress: "0.1.0".to_owned(),
            machine: None,
        }));
        assert!(!read(&lines).is_complete());
    }

    #[test]
    fn a_calibration_is_of_the_sitting_in_whose_lines_it_is() {
        let link = |name| Record::Link(crate::results::fixture::link_check(name, None, 1.0, (0.0, 0.1)));
        let resumed =
            || Record::Resumed(Resumed { started_unix_s: 1, wirepress: "0.1.0".to_owned(), machine: None });
        // The second sitting was interrupted before it calibrated.
        let lines =
            [Record::Run(Box::new(run())), link("a"), link("b"), resumed(), resumed(), link("a"), link("b")];
        let text = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
        let records = Records::parse(&text.collect::<String>(), Path::new("x.jsonl")).unwrap();
        let sittings = (0..4).map(|index| records.sitting_of_link(index));
        assert_eq!(sittings.collect::<Vec<_>>(), [1, 1, 3, 3]);
    }

    #[test]
    fn a_file_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        Writer::create(&path).unwrap();
        assert!(Writer::create(&path).unwrap_err().to_string().starts_with("cannot make "));
    }

    #[test]
    fn what_is_no_such_file_is_named_with_its_line() {
        let fault = |text: &str| Records::parse(text, Path::new("x.jsonl")).unwrap_err().to_string();
        assert!(fault("").starts_with("x.jsonl does not begin with a run's record"));
        let good = serde_json::to_string(&Record::Run(Box::new(run()))).unwrap();
        assert!(fault(&format!("{good}\nhello\n")).starts_with("x.jsonl, line 2: expected value"));
        assert!(fault(&format!("{good}\n{good}\n")).contains("does not begin"));
        let newer = good.replace("\"format\":1", "\"format\":99");
        assert!(fault(&format!("{newer}\n")).contains("has format 99"));
    }
}
