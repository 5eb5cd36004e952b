//! Reports: everything that can be said of a run, from its records alone.
//!
//! ```text
//!  Records ─┐
//!           ├▶ Document ─┬─▶ grids ─┬▶ terminal, Markdown
//!  Plan ────┘            │          └▶ HTML, with charts
//!                        └─▶ CSV, JSON
//! ```
//! Invariants: a run of a plan that this version does not know still gets its tables; the same records give the same
//! bytes; nothing but the records, the plan and the published figures is looked at, neither clock nor machine.
//!
//! Not here: comparing two runs (`compare`), statistics (`stats`).

mod csv;
mod document;
mod facts;
mod grid;
pub(crate) mod html;
mod json;
mod markdown;
pub(crate) mod number;
mod terminal;
#[cfg(test)]
mod test_plans;
#[cfg(test)]
mod tests;
pub(crate) mod text_table;
mod verdict;
mod warning;

pub(crate) use document::{better_in_words, usual_primary};
pub(crate) use facts::quoted;
pub(crate) use grid::{Grid, GridRow, Head, Kind};

use std::path::{Path, PathBuf};

use anyhow::Context;
use document::Document;

use crate::plan::{self, Plan};
use crate::record::Records;

/// Writes all files of a report into a folder, which is made if need be, and returns their paths. Files of an earlier
/// report are replaced.
///
/// # Errors
/// Whatever the system says about the folder or a file; none is left half written.
pub fn write(records: &Records, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    write_with(records, plan_of(records), folder)
}

/// The report for a terminal: at most 120 columns.
#[must_use]
pub fn terminal(records: &Records) -> String {
    terminal_with(records, plan_of(records))
}

/// The report as Markdown.
#[must_use]
pub fn markdown(records: &Records) -> String {
    markdown::markdown(&Document::of(records, plan_of(records)))
}

/// The computed results as JSON.
#[must_use]
pub fn json(records: &Records) -> String {
    json::json(&Document::of(records, plan_of(records)))
}

fn write_with(records: &Records, plan: Option<&dyn Plan>, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let document = Document::of(records, plan);
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    [
        ("report.html", html::html(&document)),
        ("report.md", markdown::markdown(&document)),
        ("results.csv", csv::results(&document)),
        ("samples.csv", csv::samples(&document)),
        ("results.json", json::json(&document)),
    ]
    .into_iter()
    .map(|(name, text)| {
        let path = folder.join(name);
        if let Err(error) = std::fs::write(&path, text) {
            // A part of a report is worse than none; what cannot be removed either is told by the first error.
            std::fs::remove_file(&path).ok();
            return Err(error).with_context(|| format!("cannot write {}", path.display()));
        }
        Ok(path)
    })
    .collect()
}

fn terminal_with(records: &Records, plan: Option<&dyn Plan>) -> String {
    terminal::terminal(&Document::of(records, plan))
}

fn plan_of(records: &Records) -> Option<&'static dyn Plan> {
    plan::named(&records.run.plan)
}
