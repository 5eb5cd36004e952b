//! The report as one HTML file.
//!
//! ```text
//!  title, question, byline
//!  warnings
//!  at a glance       a sentence per table
//!  findings          published and measured
//!  heat maps         where there are several links and settings: one per workload
//!  cell by cell      where the plan judges single cells
//!  a section per link and workload: sentence, chart, tables, and behind them all columns and the chart's figures
//!  links, the run, failures, all samples
//! ```
//! It is read offline, on a phone, on paper, by ear, in a year: no script, no font, no address outside.
//!
//! Invariants: every text of the file goes through [`Text`]; every sample is in it; a chart's figures are in a table,
//! too.

pub(crate) mod axis;
mod bar_chart;
pub(crate) mod escape;
pub(crate) mod heat_map;
mod line_chart;
mod mark;
mod table;

use std::fmt::Write;

use escape::Text;
use table::table;

use super::document::{Document, Row, Table, better_in_words};
use super::facts;
use super::grid::{self, Grid};
use super::number::capital;
use super::verdict::verdict;
use crate::plan::{Agreement, Finding};

/// The whole file.
pub(super) fn html(document: &Document<'_>) -> String {
    let title = Text(&document.title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<main class=\"page\">\n<header>\n\
         <p class=\"kicker\">wirepress bench, {}</p>\n<h1>{title}</h1>\n",
        include_str!("style.css"),
        Text(&document.records.run.plan),
    );
    // A String takes everything.
    if let Some(question) = document.question {
        writeln!(html, "<p class=\"question\">{}</p>", Text(question)).ok();
    }
    writeln!(html, "<p class=\"byline\">{}</p>\n</header>", Text(&facts::in_a_line(document))).ok();
    for line in &document.summary {
        writeln!(html, "<p>{}</p>", Text(line)).ok();
    }
    push_warnings(&mut html, document);
    push_glance(&mut html, document);
    push_findings(&mut html, &document.findings);
    html.push_str(&heat_map::section(document));
    if let Some(judgements) = grid::judgements(document) {
        writeln!(html, "<section>\n<h2>Cell by cell</h2>\n{}</section>", table(&judgements, &[])).ok();
    }
    for (index, table) in document.tables.iter().enumerate() {
        push_table(&mut html, document, table, index);
    }
    push_links(&mut html, document);
    push_run(&mut html, document);
    push_samples(&mut html, document);
    html.push_str(
        "<footer>Made by wirepress bench from samples.jsonl alone. Beside this file: report.md, results.csv, \
         samples.csv, results.json.</footer>\n</main>\n</body>\n</html>\n",
    );
    html
}

fn push_warnings(html: &mut String, document: &Document<'_>) {
    if document.warnings.is_empty() {
        html.push_str(
            "<p class=\"note\">No warnings: the run is complete, and no noisier than it should be.</p>\n",
        );
        return;
    }
    html.push_str("<aside class=\"warnings\" aria-labelledby=\"warnings\">\n<h2 id=\"warnings\">Before you believe a number</h2>\n<ul>\n");
    for warning in &document.warnings {
        writeln!(
            html,
            "<li><b>{}.</b> {} <span class=\"remedy\">{}</span></li>",
            Text(&capital(warning.title)),
            Text(&warning.text),
            Text(warning.remedy)
        )
        .ok();
    }
    html.push_str("</ul>\n</aside>\n");
}

fn push_glance(html: &mut String, document: &Document<'_>) {
    let told: Vec<String> = document
        .tables
        .iter()
        .enumerate()
        .filter_map(|(index, table)| {
            let (heading, verdict) = (table.heading(), verdict(document, table)?);
            Some(format!(
                "<li><a href=\"#t{index}\">{}</a> <span>{}</span></li>\n",
                Text(&heading),
                Text(&table::times(&verdict))
            ))
        })
        .collect();
    if !told.is_empty() {
        writeln!(html, "<section>\n<h2>At a glance</h2>\n<ul class=\"glance\">\n{}</ul>", told.concat()).ok();
        writeln!(html, "<p class=\"note\">{}</p>\n</section>", facts::BEST).ok();
    }
}

fn push_findings(html: &mut String, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    writeln!(
        html,
        "<section>\n<h2>Published and measured</h2>\n<p>Of the claims of the published measurements: {}. Machines \
         differ, so shapes are compared, not seconds.</p>\n<ol class=\"findings\">",
        facts::counts(findings)
    )
    .ok();
    for finding in findings {
        let (class, sign) = match finding.agreement {
            Agreement::Agrees => ("agrees", "✓"),
            Agreement::Differs => ("differs", "✗"),
            Agreement::Undecided => ("undecided", "?"),
            Agreement::NotMeasured => ("absent", "–"),
        };
        writeln!(
            html,
            "<li><div class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {}</div>\n<div>\n\
             <p class=\"claim\">{}</p>\n<dl><dt>published</dt><dd>{}</dd>",
            facts::agreement(finding.agreement),
            Text(&finding.claim),
            Text(&finding.published),
        )
        .ok();
        if finding.agreement != Agreement::NotMeasured {
            write!(html, "<dt>measured</dt><dd>{}</dd>", Text(&finding.measured)).ok();
        }
        html.push_str("</dl>\n");
        if let Some(why) = &finding.why {
            writeln!(html, "<p class=\"why\">{}</p>", Text(why)).ok();
        }
        html.push_str("</div>\n</li>\n");
    }
    html.push_str("</ol>\n</section>\n");
}

fn push_table(html: &mut String, document: &Document<'_>, of: &Table, index: usize) {
    let heading = of.heading();
    writeln!(html, "<section id=\"t{index}\">\n<div class=\"lead\">\n<h2>{}</h2>", Text(&heading)).ok();
    if let Some(verdict) = verdict(document, of) {
        writeln!(html, "<p class=\"standfirst\">{}</p>", Text(&table::times(&verdict))).ok();
    } else if of.has_failed() {
        html.push_str(
            "<p class=\"standfirst\">Nothing could be measured here; what failed is told below.</p>\n",
        );
    } else if !of.is_measured() {
        html.push_str(
            "<p class=\"standfirst\">Not measured in this run; what was published stays here.</p>\n",
        );
    }
    for line in facts::published(document, of) {
        writeln!(html, "<p class=\"note\">{}</p>", Text(&line)).ok();
    }
    let id = format!("c{index}");
    let chart = if of.is_matrix() {
        line_chart::line_chart(document, of, &id)
    } else {
        bar_chart::bar_chart(document, of, &id).map(|svg| scrolled(&svg, &heading))
    };
    if let Some(chart) = chart {
        let caption = Text(better_in_words(document.primary));
        let primary = capital(document.primary.heading());
        let marks = if of.is_matrix() {
            ". Both axes logarithmic; dashed is direct, hollow is published; strokes are intervals"
        } else {
            ""
        };
        writeln!(
            html,
            "<figure>\n<figcaption><b>{primary}</b>, {caption}{marks}.</figcaption>\n{chart}</figure>"
        )
        .ok();
    }
    html.push_str("</div>\n");
    for grid in grid::shown(document, of) {
        // A matrix has a row for every number of threads.
        let starts = if of.is_matrix() { Vec::new() } else { starts(of) };
        html.push_str(&table(&grid, &starts));
    }
    push_behind(html, document, of);
    html.push_str("</section>\n");
}

/// Every cell with all its columns, where they are not shown, and with its exact figures.
fn push_behind(html: &mut String, document: &Document<'_>, of: &Table) {
    if let Some(behind) = grid::behind(document, of) {
        writeln!(html, "<details class=\"printed\">\n<summary>{}</summary>", grid::ALL_COLUMNS).ok();
        html.push_str(&table(&behind, &starts(of)));
        html.push_str("</details>\n");
    }
    if !of.is_measured() {
        return;
    }
    html.push_str("<details>\n<summary>The figures behind the chart</summary>\n");
    html.push_str(&table(&grid::figures(document, of), &starts(of)));
    html.push_str("</details>\n");
}

/// A chart in a box that scrolls by itself, as tables do.
fn scrolled(svg: &str, name: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Chart: {}\">\n{svg}</div>\n",
        Text(name)
    )
}

/// Which rows begin another number of threads, or, where there is only one, another path.
fn starts(of: &Table) -> Vec<bool> {
    let key = |row: &Row| {
        let path = (row.cell.path, row.cell.tls);
        (row.cell.threads, (!of.is_matrix()).then_some(path))
    };
    let keys: Vec<_> = of.rows.iter().map(key).collect();
    std::iter::once(true).chain(keys.windows(2).map(|pair| pair.first() != pair.last())).collect()
}

fn push_links(html: &mut String, document: &Document<'_>) {
    if let Some(links) = grid::links(document) {
        writeln!(html, "<section>\n<h2>Links</h2>\n{}</section>", table(&links, &[])).ok();
    }
}

fn push_run(html: &mut String, document: &Document<'_>) {
    html.push_str("<section>\n<h2>How it was measured</h2>\n<dl class=\"facts\">\n");
    for (name, fact) in facts::of_the_run(document) {
        let fact = Text(&fact);
        if name == "command" {
            writeln!(html, "<dt>{name}</dt><dd><code>{fact}</code></dd>").ok();
        } else {
            writeln!(html, "<dt>{name}</dt><dd>{fact}</dd>").ok();
        }
    }
    html.push_str("</dl>\n");
    if !document.records.run.notes.is_empty() {
        html.push_str("<h3>What must be known besides</h3>\n");
        push_list(html, document.records.run.notes.iter().map(String::as_str));
    }
    html.push_str("<h3>How to read the tables</h3>\n");
    let grids: Vec<Grid> = document.tables.iter().flat_map(|table| grid::all(document, table)).collect();
    let legend = facts::legend(document, &grids);
    push_list(html, legend.iter().map(|line| line.as_str()));
    let failures = document.records.failures_left();
    if !failures.is_empty() {
        html.push_str("<h3>What failed</h3>\n");
        let told: Vec<String> = failures
            .iter()
            .map(|failure| {
                format!("{}, repetition {}: {}", failure.cell, failure.repetition + 1, failure.reason)
            })
            .collect();
        push_list(html, told.iter().map(String::as_str));
    }
    html.push_str("</section>\n");
}

fn push_list<'a>(html: &mut String, lines: impl Iterator<Item = &'a str>) {
    html.push_str("<ul>\n");
    for line in lines {
        writeln!(html, "<li>{}</li>", Text(&table::times(line))).ok();
    }
    html.push_str("</ul>\n");
}

fn push_samples(html: &mut String, document: &Document<'_>) {
    let records = document.records;
    let samples = super::number::counted(records.samples.len(), "sample");
    writeln!(
        html,
        "<section>\n<h2>All samples</h2>\n<p>Nothing above is computed from anything else.</p>\n<p class=\"on-paper\">They are not printed; samples.csv has them.</p>\n<details>\n\
         <summary>{samples}</summary>\n{}</details>\n</section>",
        table::samples(records, &document.results.metrics())
    )
    .ok();
}
