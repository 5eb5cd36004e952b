//! What all forms of a report say in the same words: the run, how to read its numbers, findings counted.
//!
//! Invariants: texts of the file are made printable here.

use super::document::{Document, Table};
use super::grid::{Grid, Kind};
use super::number::{counted, date, duration, grouped, printable, short};
use super::verdict::verdict;
use crate::plan::{Agreement, Finding};
use crate::record::Machine;

/// Scale, date, machine, versions: what is worth a line.
pub(super) fn in_a_line(document: &Document<'_>) -> String {
    let run = &document.records.run;
    format!(
        "{}, scale {}, seed {}; {}; wirepress {}; {}, {}{}, {}; {}.",
        printable(&run.plan),
        printable(&run.scale),
        run.seed,
        date(run.started_unix_s),
        printable(&run.wirepress),
        printable(&run.machine.cpu),
        counted(run.machine.cores as usize, "core"),
        elsewhere(document),
        printable(&run.machine.system),
        printable(&run.database),
    )
}

/// The other processors that it went on with, each once.
fn elsewhere(document: &Document<'_>) -> String {
    let records = document.records;
    let mut others = Vec::new();
    for machine in records.resumed.iter().filter_map(|resumed| resumed.machine.as_ref()) {
        let name = printable(&machine.cpu);
        if !others.contains(&name) {
            others.push(name);
        }
    }
    if others.is_empty() { String::new() } else { format!(" (later sittings: {})", others.join(", ")) }
}

/// Names and values of everything that a reader needs to repeat the run.
pub(super) fn of_the_run(document: &Document<'_>) -> Vec<(&'static str, String)> {
    let records = document.records;
    let run = &records.run;
    let mut facts = vec![
        ("plan", format!("{}, scale {}", printable(&run.plan), printable(&run.scale))),
        ("started", date(run.started_unix_s)),
        ("command", command(document)),
        ("seed", run.seed.to_string()),
        (
            "cells",
            format!(
                "{}, {} each",
                counted(run.cells as usize, "cell"),
                counted(run.repetitions as usize, "repetition")
            ),
        ),
        ("samples", grouped(records.samples.len() as u64)),
        ("database", printable(&run.database)),
        ("wirepress", printable(&run.wirepress)),
    ];
    let programs: Vec<String> =
        run.programs.iter().map(|(name, version)| printable(&format!("{name} {version}"))).collect();
    if !programs.is_empty() {
        facts.push(("programs", programs.join(", ")));
    }
    facts.push(("machine", machine(&run.machine)));
    facts.push(("system", printable(&format!("{}, {}", run.machine.system, run.machine.kernel))));
    for resumed in &records.resumed {
        let version = printable(&resumed.wirepress);
        let elsewhere = resumed.machine.as_ref().map(|other| format!("; on {}, {ELSEWHERE}", machine(other)));
        let when = date(resumed.started_unix_s);
        facts.push(("went on", format!("{when}, wirepress {version}{}", elsewhere.unwrap_or_default())));
    }
    if let Some(end) = &records.end {
        facts.push(("took", duration(end.took_s)));
        facts.push((
            "other programs",
            end.busy_cores.map_or_else(
                || "not known".to_owned(),
                |busy| format!("kept {} cores busy on average", short(busy)),
            ),
        ));
        facts.push((
            "links",
            format!(
                "took {} of CPU time while cells were measured, logins included",
                duration(end.harness_cpu_s)
            ),
        ));
    }
    facts
}

fn machine(machine: &Machine) -> String {
    printable(&format!(
        "{}, {}, {} MiB of memory",
        machine.cpu,
        counted(machine.cores as usize, "core"),
        grouped(machine.memory_mib)
    ))
}

/// As it would be typed, as far as a shell's simplest quoting goes.
pub(super) fn command(document: &Document<'_>) -> String {
    document.records.run.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell wants it.
pub(crate) fn quoted(word: &str) -> String {
    let word = printable(word);
    let is_plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c));
    if is_plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// How to read these grids, a sentence each: only of words that occur in them.
pub(super) fn legend(document: &Document<'_>, grids: &[Grid]) -> Vec<String> {
    let heading = document.primary.heading();
    let occurs = |word: &str| {
        let is_in = |grid: &Grid| {
            grid.caption.contains(word) || grid.heads.iter().any(|head| head.text.contains(word))
        };
        grids.iter().any(is_in)
    };
    let has_ratios = grids.iter().flat_map(|grid| &grid.heads).any(|head| head.kind == Kind::Ratio);
    let intervals = match (occurs("±"), occurs("interval")) {
        (false, false) => None,
        (true, false) => Some("±"),
        (false, true) => Some("Intervals"),
        (true, true) => Some("± and intervals"),
    };
    let lines = [
        occurs("x none").then(|| format!("x none: {heading} in terms of the same path uncompressed.")),
        occurs("x direct").then(|| format!("x direct: {heading} in terms of direct, uncompressed.")),
        has_ratios.then(|| RATIOS.to_owned()),
        intervals.map(|word| format!("{word}: {INTERVALS}")),
        occurs("MB").then(|| "MB are 10^6 bytes, both ways.".to_owned()),
        occurs("B/tx").then(|| "B/tx are the bytes of one transaction, both ways.".to_owned()),
        occurs("CPU s").then(|| "CPU seconds are those of one sample.".to_owned()),
        occurs("published").then(|| PUBLISHED.to_owned()),
    ];
    lines.into_iter().flatten().collect()
}

/// How the best is found, where any table names it.
pub(super) fn best(document: &Document<'_>) -> Option<String> {
    document.tables.iter().any(|table| verdict(document, table).is_some()).then(|| BEST.to_owned())
}

/// Whose the published figures of a table are, and under which conditions they were measured: a sentence each.
pub(super) fn published(document: &Document<'_>, table: &Table) -> Vec<String> {
    let publication = document.publication.as_ref().map_or_else(String::new, |title| format!("{title}: "));
    let conditions = table.conditions().into_iter();
    conditions.map(|conditions| printable(&format!("Published: {publication}{conditions}."))).collect()
}

/// `3 agree, 1 differs, 2 not measured`.
pub(super) fn counts(findings: &[Finding]) -> String {
    let count = |agreement| findings.iter().filter(|finding| finding.agreement == agreement).count();
    let word =
        |n: usize, one: &str, many: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }));
    [
        word(count(Agreement::Agrees), "agrees", "agree"),
        word(count(Agreement::Differs), "differs", "differ"),
        word(count(Agreement::Undecided), "undecided", "undecided"),
        word(count(Agreement::NotMeasured), "not measured", "not measured"),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}

/// The word for it, in every form of the report.
pub(super) const fn agreement(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::Undecided => "undecided",
        Agreement::NotMeasured => "not measured",
    }
}

/// How the best is found, behind the sentences that name it.
pub(super) const BEST: &str = "Where there are four repetitions or more, the best is chosen on every other one and its \
                               figures are taken from the others, so that luck is not counted. What cannot be told \
                               from it shares its place.";

const ELSEWHERE: &str = "another machine: ratios within a path are of one machine, other figures of both";
const RATIOS: &str = "Ratios are those of the same repetition, so that a machine that is slow for a while does not count; \
                      of several their centre is told, the median of the geometric means of each two of them (Hodges and \
                      Lehmann).";
const INTERVALS: &str = "they hold the true median (order statistics) or, where what disturbs both is alike, the \
                         true ratio (signed ranks) in 95 % of all cases or more; with fewer than six repetitions the whole range, which is less sure.";
const PUBLISHED: &str =
    "Published figures were measured on other machines: compare ratios and shapes, not seconds.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Resumed, Setting};
    use crate::report::grid;
    use crate::report::test_plans::{ScanPlan, TransactionPlan};
    use crate::results::fixture::{cell, records, sample, scans, transactions};

    fn explained(document: &Document<'_>) -> Vec<String> {
        let grids: Vec<Grid> =
            document.tables.iter().flat_map(|table| grid::shown(document, table)).collect();
        let word = |line: String| line.split([' ', ':']).next().unwrap().to_owned();
        legend(document, &grids).into_iter().chain(best(document)).map(word).collect()
    }

    #[test]
    fn only_words_that_occur_are_explained() {
        let (scans, transactions) = (scans(), transactions());
        let scans = explained(&Document::of(&scans, Some(&ScanPlan)));
        assert_eq!(scans, ["x", "x", "Ratios", "±", "MB", "CPU", "Published", "Where"]);
        let matrices = explained(&Document::of(&transactions, Some(&TransactionPlan)));
        assert_eq!(matrices, ["x", "x", "Ratios", "Intervals", "B/tx", "Published", "Where"]);
        let zlib = cell("unlimited", Path::Wirepress, Setting::Zlib);
        let alone = records(vec![sample(&zlib, 0, 1.0)]);
        assert_eq!(explained(&Document::of(&alone, None)), [] as [&str; 0]);
    }

    #[test]
    fn every_machine_that_a_run_went_on_with_is_named() {
        let mut records = scans();
        let other = Machine { cpu: "another".to_owned(), cores: 4, ..records.run.machine.clone() };
        for machine in [None, Some(other.clone()), Some(other)] {
            records.resumed.push(Resumed { started_unix_s: 1, wirepress: "0.1.0".to_owned(), machine });
        }
        let document = Document::of(&records, None);
        let line = in_a_line(&document);
        assert!(line.contains(" (later sittings: another), "), "{line}");
        let went_on = of_the_run(&document).into_iter().filter(|(name, _)| *name == "went on");
        let went_on: Vec<bool> = went_on
            .map(|(_, text)| text.contains("on another, 4 cores") && text.contains(ELSEWHERE))
            .collect();
        assert_eq!(went_on, [false, true, true]);
    }

    #[test]
    fn the_cpu_time_of_the_links_is_called_that() {
        let records = scans();
        let facts = of_the_run(&Document::of(&records, None));
        let links = facts.iter().find(|(name, _)| *name == "links").unwrap();
        assert_eq!(links.1, "took 12.5 s of CPU time while cells were measured, logins included");
    }
}
