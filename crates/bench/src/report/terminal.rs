//! The report on a terminal.
//!
//! Invariants: at most [`WIDTH_MAX`](super::text_table::WIDTH_MAX) columns; no control character of the file gets out.

use std::fmt::Write;

use super::document::{Document, Table};
use super::facts;
use super::grid::{self, Grid};
use super::number::printable;
use super::text_table::{text_table, wrapped};
use super::verdict::verdict;
use crate::plan::{Agreement, Finding};

/// All of it.
pub(super) fn terminal(document: &Document<'_>) -> String {
    let mut text = String::new();
    text.push_str(&wrapped(&printable(&document.title), "", ""));
    if let Some(question) = document.question {
        text.push_str(&wrapped(question, "", ""));
    }
    text.push_str(&wrapped(&facts::in_a_line(document), "", ""));
    for line in &document.summary {
        text.push_str(&wrapped(&printable(line), "", "  "));
    }
    let shown: Vec<Vec<Grid>> = document.tables.iter().map(|table| grid::shown(document, table)).collect();
    for (table, grids) in document.tables.iter().zip(&shown) {
        push_table(&mut text, document, table, grids);
    }
    text.push('\n');
    for line in facts::legend(document, &shown.concat()).into_iter().chain(facts::best(document)) {
        text.push_str(&wrapped(&line, "", "  "));
    }
    push_findings(&mut text, &document.findings);
    if let Some(links) = grid::links(document) {
        // A String takes everything.
        write!(text, "\n{}\n{}", links.caption, text_table(&links)).ok();
    }
    push_notes(&mut text, &document.records.run.notes);
    push_warnings(&mut text, document);
    text
}

fn push_table(text: &mut String, document: &Document<'_>, table: &Table, grids: &[Grid]) {
    text.push('\n');
    text.push_str(&wrapped(&printable(&table.heading()), "", ""));
    if let Some(verdict) = verdict(document, table) {
        text.push_str(&wrapped(&verdict, "", ""));
    }
    for line in facts::published(document, table) {
        text.push_str(&wrapped(&line, "", ""));
    }
    for grid in grids {
        text.push_str(&wrapped(&format!("[{}]", grid.caption), "", " "));
        text.push_str(&text_table(grid));
    }
}

fn push_findings(text: &mut String, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    write!(text, "\nPublished and measured: {}\n", facts::counts(findings)).ok();
    for finding in findings {
        let word = facts::agreement(finding.agreement);
        text.push_str(&wrapped(&printable(&finding.claim), &format!("  {word:<13} "), HANGING));
        text.push_str(&wrapped(&format!("published: {}", printable(&finding.published)), HANGING, HANGING));
        if finding.agreement != Agreement::NotMeasured {
            text.push_str(&wrapped(
                &format!("measured:  {}", printable(&finding.measured)),
                HANGING,
                HANGING,
            ));
        }
        if let Some(why) = &finding.why {
            text.push_str(&wrapped(&printable(why), HANGING, HANGING));
        }
    }
}

fn push_notes(text: &mut String, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    text.push_str("\nWhat must be known besides\n");
    for note in notes {
        text.push_str(&wrapped(&printable(note), "  ", "    "));
    }
}

fn push_warnings(text: &mut String, document: &Document<'_>) {
    if document.warnings.is_empty() {
        text.push_str("\nNo warnings.\n");
        return;
    }
    text.push_str("\nWarnings\n");
    for warning in &document.warnings {
        text.push_str(&wrapped(&format!("{}: {}", warning.title, warning.text), "  ", "    "));
        text.push_str(&wrapped(warning.remedy, "    ", "    "));
    }
}

/// As wide as the longest word of an agreement, and what stands around it.
const HANGING: &str = "                ";
