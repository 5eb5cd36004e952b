//! Verdicts over made up rates.

use super::*;
use crate::record::{Failure, Path, Records};
use crate::results::fixture;

fn cell(workload: &str, setting: Setting) -> Cell {
    Cell { workload: workload.to_owned(), ..fixture::cell("kernel unlimited", Path::Wirepress, setting) }
}

fn records(samples: &[(&str, Setting, &[f64])]) -> Records {
    fixture::records_of(samples.iter().flat_map(|(workload, setting, values)| {
        values.iter().map(|value| (cell(workload, *setting), Metric::TransactionsPerS, *value))
    }))
}

fn verdict(samples: &[(&str, Setting, &[f64])]) -> Verdict {
    Verdict::of(&Results::of(&records(samples)))
}

/// With next to no noise.
fn steady(value: f64) -> Vec<f64> {
    [0.0, 1e-3, 2e-3, 3e-3].repeat(3).into_iter().map(|noise| value + noise).collect()
}

/// The sentence that has all of these.
fn has(lines: &[String], parts: &[&str]) -> bool {
    lines.iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

#[test]
fn a_cell_that_is_surely_slower_than_none_violates_and_one_far_from_the_best_is_told() {
    let lines = verdict(&[
        ("slow", Setting::None, &steady(10.0)),
        ("slow", Setting::Latency, &steady(9.7)),
        ("far", Setting::None, &steady(10.0)),
        ("far", Setting::Zstd(1), &steady(20.0)),
        ("far", Setting::Latency, &steady(16.0)),
        ("good", Setting::None, &steady(10.0)),
        ("good", Setting::Latency, &steady(10.1)),
    ])
    .lines();
    assert!(lines[0].starts_with("3 cells of the latency policy: 1 violate"), "{lines:#?}");
    assert!(
        lines[0].contains(" 0 undecided") && lines[0].ends_with("0 could not be compared."),
        "{lines:#?}"
    );
    assert_eq!(
        lines[1..5],
        [
            "Wanted: no violation: misses (1 of 3 cells).",
            "Wanted: at most 5 % undecided or not compared: holds (0 of 3).",
            "Wanted: 95 % within 5 % of the best fixed setting's time: misses (2 of 3).",
            "Wanted: none above 1.10 of it: misses (1 of 3; the worst is 1.25).",
        ]
    );
    assert_eq!(lines.len(), 7, "{lines:#?}");
    assert!(has(&lines, &["slow over", ": violates; of none's time 1.031"]), "{lines:#?}");
    assert!(
        has(
            &lines,
            &["far over", ": far from the best;", "; of the best fixed setting's time, zstd 1's, 1.250"]
        ),
        "{lines:#?}"
    );
}

#[test]
fn an_interval_that_is_less_sure_than_95_percent_neither_violates_nor_decides() {
    for repetitions in [2, 5] {
        let lines = verdict(&[
            ("slow", Setting::None, &[10.0; 12][..repetitions]),
            ("slow", Setting::Latency, &[5.0; 12][..repetitions]),
        ])
        .lines();
        assert!(lines[0].contains("0 violate") && lines[0].contains(" 1 undecided"), "{lines:#?}");
        assert!(has(&lines, &[": undecided, far from the best;"]), "{lines:#?}");
        assert!(has(&lines, &["no violation: undecided"]), "{lines:#?}");
    }
    let lines =
        verdict(&[("slow", Setting::None, &[10.0; 6]), ("slow", Setting::Latency, &[5.0; 6])]).lines();
    assert!(lines[0].contains("1 violate") && lines[0].contains(" 0 undecided"), "{lines:#?}");
}

#[test]
fn what_is_undecided_follows_from_widths_alone_also_where_it_violates() {
    let wide = [5.0, 6.0].repeat(6);
    let both = verdict(&[("slow", Setting::None, &[10.0; 12]), ("slow", Setting::Latency, &wide)]);
    assert!(both.is_open(&cell("slow", Setting::Latency)));
    let lines = both.lines();
    assert!(lines[0].contains("1 violate") && lines[0].contains("1 of them both"), "{lines:#?}");
    assert!(has(&lines, &["slow over", ": violates, undecided, far"]), "{lines:#?}");
    let narrow = verdict(&[("slow", Setting::None, &[10.0; 12]), ("slow", Setting::Latency, &[5.0; 12])]);
    assert!(!narrow.is_open(&cell("slow", Setting::Latency)));
    assert!(narrow.is_open(&cell("another", Setting::Latency)), "what was not compared is not decided");
}

#[test]
fn it_is_told_how_many_rounds_would_decide() {
    // Half an interval is 6 % of the value, and a bit: four times as many rounds make it 3 %.
    let wide = |half: f64| [10.0 * (1.0 - half), 10.0 * (1.0 + half)].repeat(6);
    let mut undecided: Vec<(String, Vec<f64>)> = [0.06, 0.06, 0.06, 0.12]
        .iter()
        .zip(0..)
        .map(|(half, name)| (format!("{name}"), wide(*half)))
        .collect();
    // One of them is far faster than none.
    undecided[0].1.iter_mut().for_each(|rate| *rate *= 2.0);
    let none = [10.0; 12];
    let mut samples = vec![("decided", Setting::None, &none[..]), ("decided", Setting::Latency, &none[..])];
    for (name, rates) in &undecided {
        samples.extend([(name.as_str(), Setting::None, &none[..]), (name.as_str(), Setting::Latency, rates)]);
    }
    let lines = verdict(&samples).lines();
    assert!(
        has(
            &lines,
            &[
                "of 4 undecided cells",
                " 49 rounds would decide half of them, 195 nine in ten.",
                " 1 of them surely"
            ]
        ),
        "{lines:#?}"
    );
}

#[test]
fn a_cell_whose_samples_all_failed_is_counted_and_named() {
    let mut records =
        records(&[("good", Setting::None, &steady(10.0)), ("good", Setting::Latency, &steady(10.0))]);
    let failed = cell("gone", Setting::Latency);
    let failure = |repetition| Failure { cell: failed.clone(), repetition, reason: "refused".to_owned() };
    records.failures = vec![failure(0), failure(1)];
    let lines = Verdict::of(&Results::of(&records)).lines();
    assert!(lines[0].starts_with("2 cells") && lines[0].ends_with("1 could not be compared."), "{lines:#?}");
    assert!(has(&lines, &["at most 5 % undecided or not compared: misses (1 of 2)"]), "{lines:#?}");
    assert!(has(&lines, &["within 5 % of the best", "misses (1 of 2)"]), "{lines:#?}");
    assert!(has(&lines, &["gone over", "could not be compared"]), "{lines:#?}");
    // Of which nothing is known that doesn't hold.
    assert!(has(&lines, &["no violation: undecided (0 of 2 cells)"]), "{lines:#?}");
    assert!(has(&lines, &["none above 1.10 of it: undecided (0 of 1"]), "{lines:#?}");
    assert_eq!(lines[1], "2 measurements of these cells are missing: they failed.");
    let judgements = Verdict::of(&Results::of(&records)).judgements();
    assert_eq!(judgements[1].remark, "could not be compared");
    assert!(judgements[1].ratios.iter().all(|(_, ratio)| ratio.is_none()) && judgements[1].ratios.len() == 3);
    // Of another setting it is no cell of the policy.
    let mut others = records;
    others.failures.iter_mut().for_each(|failure| failure.cell.setting = Setting::Zlib);
    assert!(Verdict::of(&Results::of(&others)).lines()[0].starts_with("1 cells"));
}

#[test]
fn over_links_in_user_space_there_is_no_verdict() {
    let rates = steady(10.0);
    let both = [("good", Setting::None, &rates[..]), ("good", Setting::Latency, &rates[..])];
    let mut user = records(&both);
    user.samples.iter_mut().for_each(|sample| sample.cell.link = "unlimited".to_owned());
    let lines = Verdict::of(&Results::of(&user)).lines();
    assert!(lines[1].starts_with("1 of these cells were measured over links in user space"), "{lines:#?}");
    assert!(lines[2].starts_with("Wanted, without a verdict: no violation: holds"), "{lines:#?}");
    let mut mixed = records(&both);
    mixed.samples.extend(user.samples);
    let lines = Verdict::of(&Results::of(&mixed)).lines();
    assert!(lines[0].starts_with("2 cells") && lines[1].contains("no verdict"), "{lines:#?}");
    assert_eq!(lines[2], "Wanted, over the kernel's links: no violation: holds (0 of 1 cells).");
    // Of nothing nothing holds.
    assert_eq!(Verdict::of(&Results::default()).lines().len(), 1);
}

#[test]
fn every_cell_has_its_figures() {
    let verdict = verdict(&[
        ("far", Setting::None, &steady(10.0)),
        ("far", Setting::Zstd(1), &steady(20.0)),
        ("far", Setting::Latency, &steady(16.0)),
        ("good", Setting::None, &steady(10.0)),
        ("good", Setting::Latency, &steady(10.0)),
    ]);
    let judgements = verdict.judgements();
    let of = |index: usize| (judgements[index].cell.workload.as_str(), judgements[index].remark.as_str());
    assert_eq!([of(0), of(1)], [("far", "best is zstd 1, far from the best"), ("good", "best is none")]);
    let figures: Vec<_> =
        judgements[0].ratios.iter().map(|(name, ratio)| (*name, ratio.map(|it| it.confidence))).collect();
    // Twelve repetitions against none, six of them against the best.
    assert_eq!(figures[1..], [("p99_x_none", None), ("regret", Some(0.96875))]);
    assert!(figures[0].0 == "time_x_none" && figures[0].1.unwrap() >= 0.95, "{figures:?}");
    let regret = judgements[0].ratios[2].1.unwrap();
    assert!((regret.value - 1.25).abs() < 1e-3, "{regret:?}");
}
