//! The report as Markdown, for an issue or a README.
//!
//! Invariants: no text of the file can end a table's cell or begin markup; tables are GitHub's.

use std::fmt::Write;

use super::document::{Document, Table};
use super::facts;
use super::grid::{self, Grid, GridRow};
use super::number::printable;
use super::verdict::verdict;
use crate::plan::{Agreement, Finding};

/// All of it.
pub(super) fn markdown(document: &Document<'_>) -> String {
    let mut text = format!("# {}\n\n", escaped(&document.title));
    if let Some(question) = document.question {
        push_paragraph(&mut text, &escaped(question));
    }
    push_paragraph(&mut text, &escaped(&facts::in_a_line(document)));
    for line in &document.summary {
        push_paragraph(&mut text, &escaped(line));
    }
    if let Some(judgements) = grid::judgements(document) {
        // A String takes everything.
        write!(text, "## Cell by cell\n\n{}\n", table(&judgements)).ok();
    }
    let grids: Vec<Vec<Grid>> = document.tables.iter().map(|table| grid::all(document, table)).collect();
    for (table, grids) in document.tables.iter().zip(&grids) {
        push_table(&mut text, document, table, grids);
    }
    text.push_str("## How to read it\n\n");
    for line in facts::legend(document, &grids.concat()).into_iter().chain(facts::best(document)) {
        // A String takes everything.
        writeln!(text, "- {}", escaped(&line)).ok();
    }
    text.push('\n');
    push_findings(&mut text, &document.findings);
    if let Some(links) = grid::links(document) {
        write!(text, "## Links\n\n{}\n", table(&links)).ok();
    }
    text.push_str("## Warnings\n\n");
    if document.warnings.is_empty() {
        text.push_str("None.\n");
    }
    for warning in &document.warnings {
        writeln!(text, "- **{}.** {} {}", warning.title, escaped(&warning.text), escaped(warning.remedy))
            .ok();
    }
    text.push_str("\n## The run\n\n| | |\n|---|---|\n");
    for (name, fact) in facts::of_the_run(document) {
        writeln!(text, "| {name} | {} |", escaped(&fact)).ok();
    }
    text.push('\n');
    for note in &document.records.run.notes {
        writeln!(text, "- {}", escaped(note)).ok();
    }
    text
}

fn push_paragraph(text: &mut String, paragraph: &str) {
    text.push_str(paragraph);
    text.push_str("\n\n");
}

fn push_table(text: &mut String, document: &Document<'_>, of: &Table, grids: &[Grid]) {
    write!(text, "## {}\n\n", escaped(&of.heading())).ok();
    if let Some(verdict) = verdict(document, of) {
        push_paragraph(text, &escaped(&verdict));
    }
    for line in facts::published(document, of) {
        push_paragraph(text, &escaped(&line));
    }
    for grid in grids {
        push_paragraph(text, &format!("{}:", escaped(&grid.caption)));
        push_paragraph(text, table(grid).trim_end());
    }
}

fn table(grid: &Grid) -> String {
    let row = |cells: &mut dyn Iterator<Item = String>| {
        cells.fold("|".to_owned(), |line, cell| format!("{line} {cell} |")) + "\n"
    };
    let heads = grid.heads.iter().map(|head| escaped(&head.text));
    let mut text = row(&mut std::iter::once(escaped(&grid.corner)).chain(heads));
    text.push_str("|---|");
    text.push_str(&"---:|".repeat(grid.heads.len()));
    text.push('\n');
    for line in &grid.rows {
        text.push_str(&row(
            &mut std::iter::once(labelled(line)).chain(line.texts.iter().map(|text| escaped(text)))
        ));
    }
    text
}

fn labelled(row: &GridRow) -> String {
    row.mark.map_or_else(|| escaped(&row.label), |mark| format!("{} *({mark})*", escaped(&row.label)))
}

fn push_findings(text: &mut String, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    write!(text, "## Published and measured\n\n{}.\n\n", facts::counts(findings)).ok();
    text.push_str("| | claim | published | measured |\n|---|---|---|---|\n");
    for finding in findings {
        let why = finding.why.as_deref().map_or_else(String::new, |why| format!(" {}", escaped(why)));
        let measured = match finding.agreement {
            Agreement::NotMeasured => String::new(),
            _ => escaped(&finding.measured),
        };
        writeln!(
            text,
            "| **{}** | {} | {} | {measured}{why} |",
            facts::agreement(finding.agreement),
            escaped(&finding.claim),
            escaped(&finding.published),
        )
        .ok();
    }
    text.push('\n');
}

/// On one line, and without a meaning of its own.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_can_neither_end_its_cell_nor_begin_markup() {
        assert_eq!(
            escaped("a|b\n# <b>[x](y)`*_ &amp;"),
            "a\\|b\u{fffd}\\# &lt;b>\\[x\\](y)\\`\\*\\_ &amp;amp;"
        );
    }
}
