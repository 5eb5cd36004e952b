//! Reports of synthetic runs: what is in them, what cannot get out of them.
//!
//! To look at them: `WIREPRESS_REPORTS=FOLDER cargo test -p wirepress-bench report` writes them there.

use std::path::PathBuf;

use super::document::Document;
use super::test_plans::{ScanPlan, TransactionPlan};
use super::*;
use crate::plan::Judgement;
use crate::record::{Failure, Metric, Path as Way, Setting};
use crate::results::fixture::{cell, link_check, records, sample, scans, transactions};
use crate::stats::Estimate;

/// A run in which everything is wrong, and every text is hostile.
fn hostile() -> Records {
    let evil = "<script>alert('x')</script>\"|` \x1b[31m&amp;";
    let none = cell(evil, Way::Direct, Setting::None);
    let zlib = cell(evil, Way::Direct, Setting::Zlib);
    let mut records = records(vec![sample(&none, 0, 1.0), sample(&none, 1, 1.4), sample(&zlib, 0, 2.0)]);
    for sample in &mut records.samples {
        sample.cell.workload = evil.to_owned();
        sample.metrics.insert(Metric::ClientCpuS, 1.95);
    }
    records.run.cells = 9;
    records.run.plan = evil.to_owned();
    records.run.scale = evil.to_owned();
    records.run.command.push(evil.to_owned());
    records.run.wirepress = evil.to_owned();
    records.run.machine.cpu = evil.to_owned();
    records.run.database = evil.to_owned();
    records.run.programs.insert(evil.to_owned(), evil.to_owned());
    records.run.notes.push(evil.to_owned());
    records.links.push(link_check(evil, Some(1000.0), 212.0, (10.0, 31.0)));
    records.failures.push(Failure { cell: zlib, repetition: 1, reason: evil.to_owned() });
    records.end = None;
    records
}

/// Every path, with long names, three repetitions and no calibration.
fn paths() -> Records {
    let mut samples = Vec::new();
    let paths = [Way::Direct, Way::Haproxy, Way::Router, Way::Wirepress, Way::WirepressBesideApp];
    for (path, slower) in paths.into_iter().zip(1..) {
        for (setting, factor) in [(Setting::None, 1.0), (Setting::Zlib, 0.7), (Setting::Zstd(10), 0.5)] {
            for (tls, repetition) in [(false, 0), (false, 1), (true, 0), (true, 1), (false, 2), (true, 2)] {
                let cell =
                    crate::record::Cell { tls, threads: 16, ..cell("kernel 1gbit,10ms", path, setting) };
                let time_s = f64::from(slower) * factor + f64::from(repetition) / 8.0;
                samples.push(sample(&cell, repetition, time_s));
            }
        }
    }
    records(samples)
}

/// Names of elements in order, closing ones with a slash; panics where one is not closed in order.
fn assert_well_formed(html: &str) {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>') || open.last() == Some(&"style"), "a > outside of tags");
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        assert!(!tag.contains('<'), "a < inside of <{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of <{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed by </{name}>");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert_eq!(open, [] as [&str; 0]);
}

fn all() -> Vec<(&'static str, Records, Option<&'static dyn Plan>)> {
    vec![
        ("scans", scans(), Some(&ScanPlan)),
        ("transactions", transactions(), Some(&TransactionPlan)),
        ("without-a-plan", transactions(), None),
        ("paths", paths(), None),
        ("hostile", hostile(), None),
        ("empty", records(Vec::new()), Some(&ScanPlan)),
    ]
}

#[test]
fn html_is_well_formed_and_ids_are_unique() {
    for (name, records, plan) in all() {
        let html = html::html(&Document::of(&records, plan));
        assert_well_formed(&html);
        let mut ids: Vec<&str> =
            html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}");
        assert!(!html.contains("NaN") && !html.contains("inf\""), "{name}");
    }
}

#[test]
fn html_refers_to_nothing_outside_itself() {
    for (name, records, plan) in all() {
        let html = html::html(&Document::of(&records, plan));
        for outside in ["http:", "https:", "src=", "url(", "@import", "<script", "<link", "<iframe", "<img"] {
            assert!(!html.contains(outside), "{name}: {outside}");
        }
        let hrefs = html.split("href=\"").skip(1);
        assert!(hrefs.into_iter().all(|rest| rest.starts_with('#')), "{name}");
    }
}

#[test]
fn every_sample_is_in_the_html() {
    let records = transactions();
    let html = html::html(&Document::of(&records, Some(&TransactionPlan)));
    let table = html.split("All samples, in the order").last().unwrap();
    assert_eq!(table.matches("<tr>").count(), 1 + records.samples.len());
    for (row, sample) in table.split("<tr>").skip(2).zip(&records.samples) {
        let rate = number::value(Metric::TransactionsPerS, sample.metrics[&Metric::TransactionsPerS]);
        assert!(row.contains(&format!("<td>{rate}</td>")) && row.contains(&sample.cell.label()), "{row}");
    }
}

#[test]
fn hostile_text_stays_text_in_every_form() {
    let records = hostile();
    let document = Document::of(&records, None);
    let html = html::html(&document);
    assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;|` \u{fffd}[31m&amp;amp;"));
    assert!(!html.contains("<script") && !html.contains('\x1b'));
    let markdown = markdown::markdown(&document);
    assert!(!markdown.contains("<script") && !markdown.contains('\x1b'), "{markdown}");
    assert!(!terminal::terminal(&document).contains('\x1b'));
    let json: serde_json::Value = serde_json::from_str(&json::json(&document)).unwrap();
    assert_eq!(json["plan"], records.run.plan.as_str());
}

#[test]
fn what_must_be_known_besides_is_in_every_form() {
    let records = scans();
    let document = Document::of(&records, Some(&ScanPlan));
    let note = "Emulated links end TCP; congestion control of the far side is not seen.";
    assert!(records.run.notes.iter().any(|known| known == note));
    let json: serde_json::Value = serde_json::from_str(&json::json(&document)).unwrap();
    assert_eq!(json["run"]["notes"][1], note);
    for text in [terminal::terminal(&document), markdown::markdown(&document), html::html(&document)] {
        assert!(text.contains(note), "{text}");
    }
}

#[test]
fn the_summary_is_in_every_form() {
    let records = scans();
    let document = Document { summary: vec!["It is so.".to_owned()], ..Document::of(&records, None) };
    let json: serde_json::Value = serde_json::from_str(&json::json(&document)).unwrap();
    assert_eq!(json["summary"], serde_json::json!(["It is so."]));
    for text in [terminal::terminal(&document), markdown::markdown(&document), html::html(&document)] {
        assert!(text.contains("It is so."), "{text}");
    }
}

#[test]
fn judgements_are_in_every_form_but_the_terminals() {
    let records = scans();
    let regret = Estimate { value: 1.07, low: 1.01, high: 1.12, confidence: 0.97 };
    let judgement = Judgement {
        cell: cell("unlimited", Way::Wirepress, Setting::Latency),
        ratios: vec![("regret", Some(regret)), ("p99_x_none", None)],
        remark: "best is <none>".to_owned(),
    };
    let document = Document { judgements: vec![judgement], ..Document::of(&records, None) };
    let json: serde_json::Value = serde_json::from_str(&json::json(&document)).unwrap();
    let told = &json["judgements"][0];
    assert_eq!(told["cell"]["setting"], "latency");
    assert_eq!(told["ratios"]["regret"]["high"], 1.12);
    assert_eq!(told["ratios"]["p99_x_none"], serde_json::Value::Null);
    for text in [markdown::markdown(&document), html::html(&document)] {
        for part in ["Cell by cell", "1.07", "1.01–1.12", "best is &lt;none"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn whose_the_published_figures_are_is_in_every_form() {
    let mut records = scans();
    records.run.plan = "rds-scan".to_owned();
    let title = "AWS Database Blog, Mershad Irani, “Reduce network transfer time";
    let value: serde_json::Value = serde_json::from_str(&json(&records)).unwrap();
    assert!(value["publication"].as_str().unwrap().starts_with(title), "{value}");
    let document = Document::of(&records, plan_of(&records));
    for text in [terminal(&records), markdown(&records), html::html(&document)] {
        assert!(text.contains(&format!("Published: {title}")), "{text}");
    }
    // A plan without published figures names nobody.
    let value: serde_json::Value = serde_json::from_str(&json(&scans())).unwrap();
    assert_eq!(value["publication"], serde_json::Value::Null);
}

#[test]
fn links_are_warned_of_by_kind_and_never_for_what_was_asked_for() {
    let mut records = scans();
    let kernel = |link: &str, rate, round_trip_ms| crate::record::LinkCheck {
        kind: "kernel (TUN)".to_owned(),
        ..link_check(link, Some(100.0), rate, round_trip_ms)
    };
    records.links = vec![
        kernel("kernel 100mbit,1.4ms,loss=1%", 20.0, (1.4, 1.5)),
        kernel("kernel 100mbit,1.4ms,jitter=5ms", 95.0, (1.4, 6.5)),
    ];
    assert_eq!(Document::of(&records, None).warnings, []);
    records.links.push(link_check("100mbit,1.4ms", Some(100.0), 93.0, (1.4, 1.5)));
    records.links.push(kernel("kernel 100mbit", 80.0, (0.0, 0.1)));
    let warnings = Document::of(&records, None).warnings;
    let remedies: Vec<&str> = warnings.iter().map(|warning| warning.remedy).collect();
    assert!(remedies[0].contains("A TUN link's two threads") && remedies[1].contains("in user space"));
    assert_eq!(remedies.len(), 2, "{warnings:?}");
    assert!(warnings[1].text.starts_with("100mbit,1.4ms carried 93.0 Mbit/s, 93.0 % of"), "{warnings:?}");
}

#[test]
fn what_is_wrong_is_warned_of() {
    let records = hostile();
    let titles: Vec<&str> =
        Document::of(&records, None).warnings.iter().map(|warning| warning.title).collect();
    assert_eq!(
        titles,
        ["incomplete run", "failures", "links not as wished", "few repetitions", "noise", "saturated client"]
    );
    let fine = scans();
    assert_eq!(Document::of(&fine, Some(&ScanPlan)).warnings, []);
}

#[test]
fn the_terminal_is_never_wider_than_120_columns() {
    for (name, records, plan) in all() {
        let text = terminal_with(&records, plan);
        let wide = text.lines().find(|line| line.chars().count() > text_table::WIDTH_MAX);
        assert_eq!(wide.filter(|_| name != "hostile"), None, "{name}");
    }
}

#[test]
fn a_table_shows_measured_beside_published_and_keeps_what_was_only_published() {
    let text = terminal_with(&scans(), Some(&ScanPlan));
    let row = |start: &str| {
        let line =
            text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(text.contains("scan sbtest1 over unlimited\n"), "{text}");
    assert!(row("direct, none ").starts_with("direct, none 0.19"), "{}", row("direct, none "));
    assert!(row("direct, none ").contains(" 1.00 "), "{}", row("direct, none "));
    assert!(row("direct, zstd 3 ").contains(" 72.1 4.18 28.0 "), "{}", row("direct, zstd 3 "));
    assert!(
        row("direct, zstd 22").starts_with("direct, zstd 22 (published only) —"),
        "{}",
        row("direct, zstd 22")
    );
    assert!(text.contains("1 agrees, 1 differs, 1 undecided, 1 not measured"));
    assert!(text.contains("No warnings."));
}

#[test]
fn the_terminal_shows_this() {
    let none = cell("unlimited", Way::Direct, Setting::None);
    let zlib = cell("unlimited", Way::Wirepress, Setting::Zlib);
    let times = [1.0, 1.1, 1.2, 1.0, 1.1, 1.3];
    let samples =
        (0..).zip(times).flat_map(|(n, time)| [sample(&none, n, time), sample(&zlib, n, time * 2.0)]);
    let records = records(samples.collect());
    let text = terminal_with(&records, None);
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("scan")).take(7).collect();
    assert_eq!(
        table.join("\n"),
        "scan sbtest1 over unlimited\n\
         Least seconds: direct none, 1.10.\n\
         [seconds, median of 6 repetitions; less is better]\n\
         \x20                seconds     ±  x none  x direct  interval\n\
         direct, none        1.10  14 %    1.00      1.00\n\
         wirepress, zlib     2.20  14 %       —      2.00  2.00–2.00\n"
    );
}

#[test]
fn several_numbers_of_threads_make_a_matrix() {
    let text = terminal_with(&transactions(), Some(&TransactionPlan));
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("2048  ") || line.starts_with("2048 ")).collect();
    assert!(rows.len() >= 4, "{text}");
    assert!(text.contains("published") && text.contains("2,762"), "{text}");
    assert!(text.contains("Without TLS: most tx/s: direct none "), "{text}");
}

#[test]
fn what_is_behind_a_matrix_is_in_markdown_and_in_html_and_on_paper() {
    let records = transactions();
    let document = Document::of(&records, Some(&TransactionPlan));
    let caption = "All columns of every cell; tx/s, median of 5 repetitions; more is better";
    let markdown = markdown::markdown(&document);
    let rows = markdown.split(&format!("{caption}:\n\n")).nth(1).unwrap();
    let head = "|  | tx/s | ± | x none | interval | x direct | interval | p50 ms | p95 ms | p99 ms | mean MB/s | wire B/tx |";
    assert!(rows.starts_with(head), "{rows}");
    for row in &document.tables[0].rows {
        let line = format!("\n| {} | ", grid::label(&row.cell, true));
        assert!(rows.contains(&line), "{line}");
    }
    let html = html::html(&document);
    let behind = html.split("<details class=\"printed\">").nth(1).unwrap();
    assert!(behind.split("</details>").next().unwrap().contains(caption));
    assert!(html.contains("details.printed::details-content { content-visibility: visible; }"));
    assert!(!terminal::terminal(&document).contains(caption));
}

#[test]
fn a_plan_that_is_not_known_still_gets_its_tables() {
    let text = terminal_with(&transactions(), None);
    assert!(text.starts_with("synthetic\n"), "{text}");
    assert!(text.contains("[tx/s, median of 5 repetitions; more is better]"), "{text}");
}

#[test]
fn a_table_without_a_direct_cell_says_so() {
    let zlib = cell("unlimited", Way::Wirepress, Setting::Zlib);
    let text = terminal_with(&records(vec![sample(&zlib, 0, 1.0)]), None);
    assert!(text.contains("direct, none (not measured)"), "{text}");
}

#[test]
fn cells_that_failed_keep_their_rows_where_nothing_was_measured() {
    let mut records = records(Vec::new());
    let cell = cell("unlimited", Way::Router, Setting::Zlib);
    records.failures.push(Failure { cell, repetition: 0, reason: "no program".to_owned() });
    let text = terminal_with(&records, None);
    assert!(text.contains("\nMySQL Router, zlib (failed)\n"), "{text}");
    assert!(text.contains("\ndirect, none (not measured)\n"), "{text}");
}

#[test]
fn all_files_are_written() {
    let temporary = tempfile::tempdir().unwrap();
    let folder =
        std::env::var_os("WIREPRESS_REPORTS").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    for (name, records, plan) in all() {
        let folder = folder.join(name);
        let paths = write_with(&records, plan, &folder).unwrap();
        let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["report.html", "report.md", "results.csv", "samples.csv", "results.json"]);
        assert!(paths.iter().all(|path| path.metadata().unwrap().len() > 0));
        if std::env::var_os("WIREPRESS_REPORTS").is_some() {
            std::fs::write(folder.join("report.txt"), terminal_with(&records, plan)).unwrap();
        }
    }
}
