//! The plans of `wirepress bench` that judge the policies, small, on real servers: the pair beside the standard protocol, the
//! crossing, growth, what compression costs, and a link that steps.
//!
//! Not here: what they find at a scale that means something (docs/bench.md), other plans (`bench`).

use std::path::Path;
use std::process::{Command, Output};

use lab::real::{required_programs, root_or_skip};
use serde_json::Value;

fn bench(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.arg("bench").args(args).current_dir(folder);
    if std::env::var_os("WIREPRESS_CACHE").is_none() {
        command.env("WIREPRESS_CACHE", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"));
    }
    command.output().unwrap()
}

fn succeeded(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    told
}

/// The records of that kind of a run.
fn records(run: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|record| record["record"] == kind).collect()
}

fn metric(run: &Path, path: &str, setting: &str, metric: &str) -> f64 {
    let samples = records(run, "sample");
    let is_it = |sample: &&Value| sample["cell"]["path"] == path && sample["cell"]["setting"] == setting;
    samples.iter().find(is_it).unwrap_or_else(|| panic!("{path}, {setting}"))["metrics"][metric]
        .as_f64()
        .unwrap()
}

/// Every cell of a workload over a link, once, into `run`; what it told.
fn never_slower_once(folder: &Path, with: &str, link: &str, workload: &str) -> String {
    let args = ["never-slower", "--scale", "smoke", "--repetitions", "1", "--out", "run", "--with", with];
    succeeded(&bench(folder, &[&args[..], &["--link", link, "--workload", workload]].concat()))
}

#[test]
fn the_pair_stands_beside_the_standard_protocol_on_both_servers() {
    if required_programs().is_none() {
        return;
    }
    for with in ["mysql", "mariadb"] {
        let folder = tempfile::tempdir().unwrap();
        let told = never_slower_once(folder.path(), with, "unlimited", "point select, 8");
        let run = folder.path().join("run");
        // Six settings beside the server and six of the pair, six beside the app where the server has zstd; one direct.
        let samples = if with == "mysql" { 19 } else { 13 };
        assert_eq!(
            (records(&run, "sample").len(), records(&run, "failure").len()),
            (samples, 0),
            "{with}: {told}"
        );
        assert!(told.contains("of which there is no verdict") && told.contains("--link-kernel"), "{told}");
        assert!(told.contains("the pair at zstd 3 against zstd 3 of the standard protocol"), "{told}");
        let bytes = |path, setting| metric(&run, path, setting, "wire_bytes_per_tx");
        // Small replies hardly shrink alone; with history they do, inside TLS and with what a request takes.
        assert!(bytes("wirepress pair", "zstd 3") < 0.9 * bytes("wirepress pair", "none"), "{told}");
        assert!(bytes("wirepress pair", "zstd 3") < bytes("wirepress", "none"), "{told}");
        let html = std::fs::read_to_string(run.join("report.html")).unwrap();
        assert!(html.contains("wirepress pair, zstd 3"), "{with}");
    }
}

#[test]
fn beside_the_app_a_slow_link_was_seen_before_the_counted_login() {
    if required_programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let told = never_slower_once(folder.path(), "mysql", "20mbit,5ms", "range of 100 rows, 1");
    let run = folder.path().join("run");
    assert_eq!((records(&run, "sample").len(), records(&run, "failure").len()), (19, 0), "{told}");
    // The first session of a proxy is uncompressed, and ranges alone would never have shown the link's rate.
    let bytes = |setting| metric(&run, "wirepress beside app", setting, "wire_bytes_per_tx");
    assert!(bytes("latency") < 0.7 * bytes("none"), "{told}");
    assert!((0.95..1.05).contains(&(bytes("latency") / bytes("zstd 3"))), "{told}");
    let json = std::fs::read_to_string(run.join("results.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let judged = json["judgements"].as_array().unwrap();
    assert_eq!(judged.len(), 3, "{json}");
    assert!(judged.iter().all(|it| it["ratios"]["time_x_none"]["value"].is_f64()), "{json}");
}

#[test]
fn bulk_inserts_are_packed_on_their_way_to_the_server() {
    if required_programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let told = never_slower_once(folder.path(), "mysql", "50mbit,2ms", "bulk insert");
    let run = folder.path().join("run");
    assert_eq!((records(&run, "sample").len(), records(&run, "failure").len()), (13, 0), "{told}");
    for path in ["wirepress beside app", "wirepress pair"] {
        let bytes = |setting| metric(&run, path, setting, "wire_bytes_per_tx");
        // Digits, and no statement that history has seen before.
        let ratio = bytes("zstd 3") / bytes("none");
        assert!((0.4..0.6).contains(&ratio), "{path}: {ratio}");
    }
}

#[test]
fn a_crossing_is_looked_for_and_the_search_goes_on_after_an_interruption() {
    if required_programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // What nothing makes smaller has none: the ends alone are measured. How a search goes on is a test of its own.
    let args = [
        "crossing",
        "--scale",
        "smoke",
        "--workload",
        "incompressible",
        "--link",
        "50mbit",
        "--link",
        "unlimited",
    ];
    let whole = [&args[..], &["--out", "run"]].concat();
    let told = succeeded(&bench(folder.path(), &whole));
    let run = folder.path().join("run");
    let samples = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    assert_eq!(records(&run, "failure").len(), 0, "{samples}");
    assert!(
        told.contains("no crossing: the best fixed setting") && told.contains("the slowest link"),
        "{told}"
    );
    // As if it had been interrupted when half of it was measured.
    let cut = folder.path().join("cut");
    std::fs::create_dir(&cut).unwrap();
    let lines: Vec<&str> = samples.lines().collect();
    std::fs::write(cut.join("samples.jsonl"), lines[..lines.len() / 2].join("\n") + "\n").unwrap();
    let told = succeeded(&bench(folder.path(), &[&args[..], &["--resume", "cut"]].concat()));
    assert_eq!((records(&cut, "end").len(), records(&cut, "resumed").len()), (1, 1), "{told}");
    assert!(!told.contains("the search is not over"), "{told}");
    let one = bench(folder.path(), &["crossing", "--scale", "smoke", "--link", "20mbit", "--out", "one"]);
    let told = String::from_utf8_lossy(&one.stderr).into_owned();
    assert!(told.contains("give the slowest and the fastest"), "{told}");
}

#[test]
fn growth_and_the_codecs_cost_are_told_beside_direct() {
    if required_programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let told = succeeded(&bench(folder.path(), &["growth", "--scale", "smoke", "--out", "run"]));
    let run = folder.path().join("run");
    // Two numbers of clients, two scans, with a neighbour and without; three ways.
    assert_eq!((records(&run, "sample").len(), records(&run, "failure").len()), (18, 0), "{told}");
    assert!(
        told.contains("a point select's p99 rises by") && told.contains("scan time in terms of direct's"),
        "{told}"
    );
    assert!(metric(&run, "wirepress", "none", "proxy_pss_mib") > 1.0);
    let args = ["codec-cpu", "--scale", "smoke", "--repetitions", "1", "--out", "cpu"];
    let told = succeeded(&bench(folder.path(), &args));
    assert_eq!(records(&folder.path().join("cpu"), "sample").len(), 12, "{told}");
    for line in [
        "scan of digits at zlib",
        "scan of digits at zstd 1",
        "scan of text at zlib",
        "scan of text at zstd 1",
    ] {
        assert!(told.contains(line), "{told}");
    }
}

#[test]
fn a_link_that_steps_is_traced_with_every_decision() {
    if required_programs().is_none() || !root_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let told =
        succeeded(&bench(folder.path(), &["link-step", "--phase", "1", "--rounds", "1", "--out", "run"]));
    assert!(told.contains("The trace of latency, round 1"), "{told}");
    assert!(told.contains("unlimited to 100mbit") && told.contains("100mbit to unlimited"), "{told}");
    let csv = std::fs::read_to_string(folder.path().join("run/link-step.csv")).unwrap();
    for setting in ["none", "zlib", "zstd 1", "zstd 3", "latency"] {
        assert!(csv.lines().filter(|line| line.starts_with(&format!("1,{setting},"))).count() > 20, "{csv}");
    }
    // Over 100 Mbit/s prose goes packed.
    assert!(csv.lines().any(|line| line.starts_with("1,latency,") && line.contains(",packed,")), "{csv}");
    let again = bench(folder.path(), &["link-step", "--out", "run"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already"));
    for (args, part) in
        [(["--rate", "unlimited"], "that is no step"), (["--rate", "1mbit,5ms"], "no round trip")]
    {
        let output = bench(folder.path(), &[&["link-step"], &args[..]].concat());
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{args:?}");
    }
}
