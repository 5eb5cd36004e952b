//! Grids, and all samples, as HTML tables.
//!
//! Invariants: every table has a caption and headers with a scope, and scrolls inside its own box.

use std::fmt::Write;

use super::escape::Text;
use crate::record::{Metric, Records};
use crate::report::grid::{Grid, Kind, label};
use crate::report::number::{short, value};

/// A grid; `starts` says which rows begin something new.
pub(super) fn table(grid: &Grid, starts: &[bool]) -> String {
    let mut html = opening(&grid.caption, false);
    write!(html, "<thead><tr><th scope=\"col\">{}</th>", Text(&grid.corner)).ok();
    // A String takes everything.
    let is_words = |index: usize| {
        grid.rows
            .iter()
            .any(|row| row.texts.get(index).is_some_and(|text| text.starts_with(char::is_alphabetic)))
    };
    for (index, head) in grid.heads.iter().enumerate() {
        let class = if is_words(index) { "words" } else { class(head.kind) };
        write!(html, "<th scope=\"col\" class=\"{class}\">{}</th>", Text(&times(&head.text))).ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in grid.rows.iter().enumerate() {
        let starts = if index > 0 && starts.get(index) == Some(&true) { " first-of-path" } else { "" };
        let empty = if row.mark.is_some() { "empty" } else { "" };
        write!(html, "<tr class=\"{empty}{starts}\"><th scope=\"row\">{}", Text(&row.label)).ok();
        if let Some(mark) = row.mark {
            write!(html, " <span class=\"mark\">{}</span>", Text(mark)).ok();
        }
        html.push_str("</th>");
        for (index, (text, head)) in row.texts.iter().zip(&grid.heads).enumerate() {
            let class = if is_words(index) { "words" } else { class(head.kind) };
            write!(html, "<td class=\"{class}\">{}</td>", Text(text)).ok();
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>\n"
}

/// Every sample, in the order of time.
pub(super) fn samples(records: &Records, metrics: &[Metric]) -> String {
    let mut html = opening("All samples, in the order in which they were measured", true);
    html.push_str("<thead><tr><th scope=\"col\">no.</th>");
    for head in ["link", "workload", "setting"] {
        write!(html, "<th scope=\"col\" class=\"words\">{head}</th>").ok();
    }
    for head in
        ["threads", "repetition", "at s"].into_iter().chain(metrics.iter().map(|metric| metric.heading()))
    {
        write!(html, "<th scope=\"col\">{head}</th>").ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (index, sample) in records.samples.iter().enumerate() {
        let cell = &sample.cell;
        write!(html, "<tr><th scope=\"row\">{}</th>", index + 1).ok();
        for words in [&cell.link, &cell.workload, &label(cell, false)] {
            write!(html, "<td class=\"words\">{}</td>", Text(words)).ok();
        }
        let (repetition, at) = (sample.repetition + 1, short(sample.at_s));
        write!(html, "<td>{}</td><td>{repetition}</td><td>{at}</td>", cell.threads).ok();
        for metric in metrics {
            let text = sample.metrics.get(metric).map_or_else(String::new, |number| value(*metric, *number));
            write!(html, "<td>{text}</td>").ok();
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>\n"
}

/// A box that scrolls by itself, and by keyboard.
fn opening(caption: &str, is_tall: bool) -> String {
    let tall = if is_tall { " tall" } else { "" };
    let caption = times(caption);
    let caption = Text(&caption);
    format!(
        "<div class=\"scroll{tall}\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table><caption>{caption}</caption>\n"
    )
}

const fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Value => "value",
        Kind::Ratio => "ratio",
        Kind::Interval => "interval",
        Kind::Published => "published",
    }
}

/// Paper has a sign for it, terminals have x.
pub(super) fn times(text: &str) -> String {
    text.replace("x none", "×\u{a0}none").replace("x direct", "×\u{a0}direct")
}
