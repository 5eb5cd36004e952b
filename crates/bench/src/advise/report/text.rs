//! The advice on a terminal.
//!
//! Invariants: no line but one to paste is wider than those of the other reports.

use std::fmt::Write;

use super::{Advice, ROUND_TRIPS_S, border_text, cpu_text, how_text, milliseconds, paste, percent_change};
use crate::report::number::{duration, short};
use crate::report::text_table::wrapped;

/// All of it.
pub(super) fn text(advice: &Advice<'_>) -> String {
    let findings = advice.findings;
    let mut text = String::new();
    text.push_str(&wrapped(&advice.sentence(), "", ""));
    text.push('\n');
    text.push_str(&wrapped(&format!("Link: {}.", advice.link()), "", ""));
    text.push_str(&wrapped(&format!("How sure: {}", advice.how_sure()), "", ""));
    if let Some(money) = advice.money() {
        text.push_str(&wrapped(&format!("Money: {money}"), "", ""));
    }
    // A String takes everything.
    writeln!(
        text,
        "\n  {:<20} {:<9} {:>7} {:>12} {:>9} {:>8} {:>7}   {:<13} {:>14}",
        "candidate",
        "known by",
        "ratio",
        "CPU s per GB",
        findings.per.heading(),
        "x none",
        "change",
        "interval",
        "pays below"
    )
    .ok();
    writeln!(
        text,
        "  {:<20} {:<9} {:>7} {:>12} {:>9} {:>8}",
        "none",
        findings.per.none_known_by(),
        "1.00",
        "0",
        findings.per.shown(findings.none_time_s),
        "1.00"
    )
    .ok();
    for one in &findings.judged {
        writeln!(
            text,
            "  {:<20} {:<9} {:>7} {:>12} {:>9} {:>8.2} {:>7}   {:<13} {:>14}",
            one.candidate.to_string(),
            how_text(one),
            short(one.ratio),
            cpu_text(one),
            findings.per.shown(one.time_s),
            one.change.value,
            percent_change(one.change.value),
            format!("{:.2}–{:.2}", one.change.low, one.change.high),
            border_text(one.border),
        )
        .ok();
    }
    writeln!(text, "\nWhere {} breaks even:", advice.subject.candidate).ok();
    for (round_trip_s, border) in advice.borders(&ROUND_TRIPS_S) {
        writeln!(text, "  round trip {:>8}   {:>14}", milliseconds(round_trip_s), border_text(border)).ok();
    }
    text.push('\n');
    for note in &findings.notes {
        text.push_str(&wrapped(note, "", ""));
    }
    for (title, lines) in paste::lines(advice) {
        writeln!(text, "\n{title}").ok();
        for line in lines {
            writeln!(text, "    {line}").ok();
        }
    }
    writeln!(text, "\nTook {}.", duration(findings.took.as_secs_f64())).ok();
    text
}
