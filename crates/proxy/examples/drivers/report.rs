//! The matrix, on the terminal and as a page.
//!
//! Not here: what the cells mean (`tests/it/live/drivers/run.rs`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use codec::Algorithm;
use lab::real::{Install, Kind};

use super::drivers::catalog::Driver;
use super::drivers::run::{Setting, Verdict, program};
use super::{KINDS, SETTINGS};

/// One driver, one server, one setting.
pub(crate) struct Cell {
    pub(crate) driver: &'static Driver,
    pub(crate) kind: Kind,
    pub(crate) setting: Setting,
    /// For each algorithm of the server leg.
    pub(crate) verdicts: Vec<(Algorithm, Verdict)>,
    /// Steps that it has no feature for.
    pub(crate) lacks: Vec<String>,
}

/// All cells that were run.
pub(crate) struct Report {
    pub(crate) drivers: Vec<&'static Driver>,
    pub(crate) cells: Vec<Cell>,
    /// Versions, in the order of [`KINDS`].
    pub(crate) servers: [String; 2],
    pub(crate) took: Duration,
}

impl Cell {
    /// The worst of its verdicts as a word.
    fn word(&self) -> &'static str {
        let has = |is: fn(&Verdict) -> bool| self.verdicts.iter().any(|(_, verdict)| is(verdict));
        if has(|verdict| matches!(verdict, Verdict::Fails(_))) {
            "FAILED"
        } else if has(|verdict| matches!(verdict, Verdict::BothFail(_))) {
            "driver"
        } else if has(|verdict| matches!(verdict, Verdict::DirectFails(_))) {
            "ok+"
        } else {
            "ok"
        }
    }

    /// A line.
    pub(crate) fn summary(&self) -> String {
        let mut line = format!(
            "{:24}{:9}{:17}{}",
            self.driver.name,
            self.kind.to_string(),
            self.setting.to_string(),
            self.word()
        );
        for (leg, verdict) in &self.verdicts {
            if let Verdict::Fails(reason) | Verdict::BothFail(reason) | Verdict::DirectFails(reason) = verdict
            {
                write!(line, "\n      {leg} server leg: {reason}").unwrap();
            }
        }
        line
    }
}

impl Report {
    /// Whether the proxy made any driver fail.
    pub(crate) fn has_failure(&self) -> bool {
        self.cells.iter().any(|cell| cell.word() == "FAILED")
    }

    /// For people who wait for it.
    pub(crate) fn terminal(&self) -> String {
        let mut text =
            format!("{:54}{:36}MariaDB {}\n", "", format!("MySQL {}", self.servers[0]), self.servers[1]);
        write!(text, "{:30}{:24}", "driver", "version").unwrap();
        for _ in KINDS {
            text.push_str("plain    zlib     TLS      both     ");
        }
        text.push('\n');
        for driver in &self.drivers {
            write!(text, "{:30}", driver.title).unwrap();
            match program(driver) {
                Err(reason) => write!(text, "not run for want of {reason}").unwrap(),
                Ok(_) => {
                    write!(text, "{:24}", version(driver)).unwrap();
                    for word in self.words(driver) {
                        write!(text, "{word:9}").unwrap();
                    }
                }
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        writeln!(
            text,
            "\n{}\n{} cells, {} runs, {} s",
            LEGEND.join("\n"),
            self.cells.len(),
            self.run_count(),
            self.took.as_secs()
        )
        .unwrap();
        let findings = self.findings();
        if !findings.is_empty() {
            writeln!(text, "\n{}", findings.join("\n")).unwrap();
        }
        text
    }

    /// `docs/drivers.md`.
    pub(crate) fn page(&self) -> String {
        let mut text = format!(
            "<!-- Written by `make drivers`; edit crates/proxy/examples/drivers and crates/proxy/tests/it/live/drivers/catalog.rs. -->\n\
             # Drivers\n\n\
             Every driver here runs the same scenario ([its steps](../crates/proxy/tests/drivers/README.md)) through the\n\
             proxy: all column types in and out, blobs of 3 and 20 MB, prepared statements, transactions, an error, a large\n\
             result streamed, several results, logins, reconnect. What it prints must be what it prints without the proxy.\n\n\
             {}, MySQL {}, MariaDB {}: {} cells, {} runs. `make drivers` makes this page.\n\n",
            today(),
            self.servers[0],
            self.servers[1],
            self.cells.len(),
            self.run_count()
        );
        text.push_str("| driver | version | MySQL: plain | zlib | TLS | both | MariaDB: plain | zlib | TLS | both |\n|---|---|---|---|---|---|---|---|---|---|\n");
        for driver in &self.drivers {
            let cells = match program(driver) {
                Err(reason) => format!("not run for want of {reason} | | | | | | | |"),
                Ok(_) => format!("{} | {} |", version(driver), self.words(driver).join(" | ")),
            };
            writeln!(text, "| {} | {cells}", driver.title).unwrap();
        }
        writeln!(text, "\n{}", LEGEND.map(|line| format!("* {line}")).join("\n")).unwrap();
        text.push_str("\n## What drivers need\n\nOptions for compression and TLS, here without a look at the certificate; what else is worth knowing.\n\n");
        text.push_str(
            "| driver | compression | TLS | | steps it has no feature for |\n|---|---|---|---|---|\n",
        );
        for driver in &self.drivers {
            let compression =
                driver.compression.map_or_else(|| "none".to_owned(), |option| format!("`{option}`"));
            let lacks = self.lacks(driver);
            writeln!(
                text,
                "| {} | {compression} | `{}` | {} | {lacks} |",
                driver.title, driver.tls, driver.note
            )
            .unwrap();
        }
        let findings = self.findings();
        text.push_str(FINDINGS);
        if findings.is_empty() {
            writeln!(text, "{NONE}").unwrap();
        }
        for finding in findings {
            writeln!(text, "* {finding}").unwrap();
        }
        text.push_str(NOT_HAD);
        text
    }

    /// An older page with these drivers' lines in place of theirs; nothing if it can't be, because it has other servers
    /// or lacks a driver.
    pub(crate) fn merged_into(&self, page: &str) -> Option<String> {
        let fresh = self.page();
        let (head, findings) = page.split_once(FINDINGS)?;
        let (fresh_head, fresh_findings) = fresh.split_once(FINDINGS)?;
        if !head.contains(&format!("MySQL {}, MariaDB {}", self.servers[0], self.servers[1])) {
            return None;
        }
        let mut lines: Vec<&str> = head.lines().collect();
        let (findings, tail) = findings.split_once(NOT_HAD)?;
        let (fresh_findings, _) = fresh_findings.split_once(NOT_HAD)?;
        let mut findings: Vec<&str> = findings.lines().collect();
        for driver in &self.drivers {
            let (row, finding) = (format!("| {} |", driver.title), format!("* {}: ", driver.title));
            let mut rows = fresh_head.lines().filter(|line| line.starts_with(&row));
            let old = lines.iter_mut().filter(|line| line.starts_with(&row));
            let replaced = old.map(|line| rows.next().map(|new| *line = new)).collect::<Option<Vec<()>>>()?;
            if replaced.len() != ROWS_PER_DRIVER {
                return None;
            }
            findings.retain(|line| !line.starts_with(&finding));
        }
        findings.extend(fresh_findings.lines());
        findings.retain(|line| *line != NONE);
        findings.sort_unstable();
        if findings.is_empty() {
            findings.push(NONE);
        }
        Some(format!("{}\n{FINDINGS}{}\n{NOT_HAD}{tail}", lines.join("\n"), findings.join("\n")))
    }

    /// The cells of a row.
    fn words(&self, driver: &Driver) -> Vec<&'static str> {
        let wanted = KINDS.iter().flat_map(|kind| SETTINGS.map(|setting| (*kind, setting)));
        wanted
            .map(|(kind, setting)| {
                let mut cells = self.cells.iter();
                let is_it = |cell: &&Cell| {
                    cell.driver.name == driver.name && cell.kind == kind && cell.setting == setting
                };
                cells.find(is_it).map_or("-", Cell::word)
            })
            .collect()
    }

    /// Steps that it lacked in every cell, and in some.
    fn lacks(&self, driver: &Driver) -> String {
        let cells: Vec<&Cell> = self.cells.iter().filter(|cell| cell.driver.name == driver.name).collect();
        let mut counts = BTreeMap::new();
        for step in cells.iter().flat_map(|cell| &cell.lacks) {
            *counts.entry(step.as_str()).or_insert(0) += 1;
        }
        let steps = counts.into_iter().map(|(step, count)| {
            if count == cells.len() {
                step.to_owned()
            } else {
                format!("{step} (in {count} of {})", cells.len())
            }
        });
        steps.collect::<Vec<_>>().join(", ")
    }

    /// What is not simply the same, each reason once.
    fn findings(&self) -> Vec<String> {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for cell in &self.cells {
            for (leg, verdict) in &cell.verdicts {
                let what = match verdict {
                    Verdict::Same => continue,
                    Verdict::DirectFails(reason) => format!("not without the proxy: {reason}"),
                    Verdict::BothFail(reason) => format!("nor without the proxy: {reason}"),
                    Verdict::Fails(reason) => format!("FAILED: {reason}"),
                };
                let what = without_paths(&what.split_whitespace().collect::<Vec<_>>().join(" "));
                let place = format!("{} {} on {leg}", cell.kind, cell.setting);
                places
                    .entry(format!("{}: {}", cell.driver.title, what.chars().take(400).collect::<String>()))
                    .or_default()
                    .push(place);
            }
        }
        places.into_iter().map(|(what, places)| format!("{what} ({})", places.join("; "))).collect()
    }

    fn run_count(&self) -> usize {
        self.cells.iter().map(|cell| cell.verdicts.len() + 1).sum()
    }
}

/// As `scripts/fetch-drivers` wrote it down.
fn version(driver: &Driver) -> String {
    let path = Install::find().unwrap().path().join("drivers/versions").join(driver.name);
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// A page tells nothing of the machine.
fn without_paths(text: &str) -> String {
    let cache = Install::find().unwrap().path().display().to_string();
    let repository = env!("CARGO_MANIFEST_DIR").trim_end_matches("crates/proxy");
    text.replace(&cache, ".cache").replace(repository, "")
}

fn today() -> String {
    let output = Command::new("date").arg("+%Y-%m-%d").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

const LEGEND: [&str; 6] = [
    "plain, zlib, TLS, both: the client leg. With TLS it is on both legs.",
    "The server leg has zstd (MySQL) or zlib (MariaDB); without TLS and with the driver's compression every algorithm of the server is tried.",
    "ok: the driver gets what it gets without the proxy. ok+: more, see the findings.",
    "driver: it fails without the proxy as well.",
    "FAILED: only through the proxy.",
    "-: the driver has no compression.",
];

const FINDINGS: &str = "\n## Findings\n\n";
const NONE: &str = "None.";

/// In the matrix, and in the list of what drivers need.
const ROWS_PER_DRIVER: usize = 2;

const NOT_HAD: &str = "\n## Not run\n\n\
    Drivers come from PyPI, npm, Maven Central, crates.io, the Go module proxy and the release's own packages.\n\n\
    * MySQL Connector/ODBC and Connector/C++ are in none of them for a Debian release.\n\
    * MySqlConnector and MySql.Data (.NET) are on NuGet only.\n\
    * trilogy and newer versions of mysql2 (Ruby) are on RubyGems only; mysql2 is the release's package.\n\
    * Newer versions of mysqlclient (Python) must be compiled; the release's package stands for it.\n";
