//! The advice on a terminal.
//!
//! Invariants: no line but one to paste is wider than those of the other reports.

use std::fmt::Write;

use super::{
    Advice, Driver, ROUND_TRIPS_S, border_text, cpu_text, how_text, milliseconds, paste, percent_change,
};
use crate::report::number::{duration, or_dash, short};
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
    push_candidates(&mut text, advice);
    push_money(&mut text, advice);
    // A String takes everything.
    writeln!(text, "\nWhere {} breaks even:", advice.subject.candidate).ok();
    for (round_trip_s, border) in advice.borders(&ROUND_TRIPS_S) {
        writeln!(text, "  round trip {:>8}   {:>14}", milliseconds(round_trip_s), border_text(border)).ok();
    }
    text.push('\n');
    for note in &findings.notes {
        text.push_str(&wrapped(note, "", ""));
    }
    for (title, lines) in paste::lines(advice, &Driver::COMMON) {
        text.push('\n');
        title.lines().for_each(|line| text.push_str(&wrapped(line, "", "")));
        for line in lines {
            writeln!(text, "    {line}").ok();
        }
    }
    if advice.drivers.is_empty() && advice.chooses_something() {
        text.push('\n');
        let names = Driver::ALL.map(Driver::name).join(", ");
        text.push_str(&wrapped(&format!("Lines for another driver: --driver NAME, one of {names}."), "", ""));
    }
    writeln!(text, "\nTook {}.", duration(findings.took.as_secs_f64())).ok();
    text
}

fn push_candidates(text: &mut String, advice: &Advice<'_>) {
    let findings = advice.findings;
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
}

/// What each candidate does to the bill, if a month's bytes are known.
fn push_money(text: &mut String, advice: &Advice<'_>) {
    let Some(gb) = advice.prices.gb_per_month else { return };
    // A String takes everything.
    writeln!(
        text,
        "\n  {:<20} {:>14} {:>10} {:>12} {:>10} {:>10}",
        format!("of {} GB a month", short(gb)),
        "GB on the link",
        "saved",
        "core hours",
        "their cost",
        "gained"
    )
    .ok();
    for one in &advice.findings.judged {
        let Some(money) = advice.money_of(one) else { continue };
        writeln!(
            text,
            "  {:<20} {:>14} {:>10} {:>12} {:>10} {:>10}",
            one.candidate.to_string(),
            short(money.crossing_gb),
            or_dash(money.saved),
            or_dash(money.core_hours),
            or_dash(money.spent),
            or_dash(money.remaining()),
        )
        .ok();
    }
}
