//! The HTML files in a real Chromium: they fit, they are silent, they ask for nothing else.
//!
//! Nothing is measured for them: a plan's own cells with made up values, and a capture.
//!
//! Not here: what is in a report (beside the code), how it looks (`scripts/screenshot-report`).

use std::collections::BTreeMap;
use std::path::Path;

use bench::advise::{self, Options, Prices};
use bench::plan::{self, Plan, Scale, World};
use bench::record::{
    Cell, End, FORMAT, Failure, LinkCheck, Machine, Metric, Record, Records, Run, Sample, Setting,
};
use bench::report;
use lab::browser::Browser;
use lab::generate::Sequence;
use lab::link::Link;
use lab::real::{Kind, required};

use crate::observed;

/// Nothing where there is none.
fn browser() -> Option<Browser> {
    let Some(program) = Browser::find() else {
        lab::real::skip("want of chromium");
        return None;
    };
    Some(Browser::start(program, 1200, 900).unwrap())
}

/// Wide and narrow, light and dark, and with everything unfolded.
fn assert_readable(browser: &mut Browser, page: &Path) {
    let url = format!("file://{}", page.canonicalize().unwrap().display());
    browser.requests.clear();
    browser.open(&url).unwrap();
    browser.wait_until(&format!("document.readyState === 'complete' && location.href === '{url}'")).unwrap();
    assert_eq!(browser.evaluate("document.querySelectorAll('h1').length").unwrap(), 1, "{url}");
    for fold in ["folded", "unfolded"] {
        if fold == "unfolded" {
            browser.evaluate("document.querySelectorAll('details').forEach((it) => it.open = true)").unwrap();
        }
        for width in [1200u32, 390] {
            browser.resize(width, 900).unwrap();
            let grounds = ["light", "dark"].map(|scheme| {
                browser.prefer("prefers-color-scheme", scheme).unwrap();
                let found = browser.evaluate(&format!("{OVERFLOW}({width})")).unwrap();
                // Held against the wished width: a phone's window grows with what does not fit it.
                let fits = found["width"].as_u64().unwrap() <= width.into();
                assert!(fits, "{url}, {fold}, {width}, {scheme}: {found:#}");
                assert_eq!(found["unreachable"], serde_json::json!([]), "{url}, {fold}, {width}");
                let text = browser.evaluate("document.querySelector('main').innerText.length").unwrap();
                assert!(text.as_u64().unwrap() > 500, "{url}, {fold}, {width}, {scheme}: {text}");
                browser.evaluate("getComputedStyle(document.body).backgroundColor").unwrap()
            });
            assert_ne!(grounds[0], grounds[1], "{url}, {fold}, {width}");
        }
    }
    assert_eq!(browser.requests, [url.as_str()]);
    assert!(browser.complaints.is_empty(), "{url}: {:#?}", browser.complaints);
}

/// The page's width and what is wider than wished, and what scrolls by itself and is not reached by keys.
const OVERFLOW: &str = "((width) => {
    const root = document.documentElement, all = [...document.querySelectorAll('main *')];
    const is_within = (it) => it.closest('.scroll') && !it.matches('.scroll');
    const is_wide = (it) => it.getBoundingClientRect().right > width ||
        it.scrollWidth > it.clientWidth && it.clientWidth > 0 && getComputedStyle(it).overflowX === 'visible';
    const wide = all.filter((it) => !is_within(it) && is_wide(it));
    const boxes = all.filter((it) => it.scrollWidth > it.clientWidth && /auto|scroll/.test(getComputedStyle(it).overflowX));
    const told = (it) => it.outerHTML.slice(0, 200);
    return {
        width: Math.max(root.scrollWidth, document.body.scrollWidth),
        wide: wide.slice(-3).map(told),
        unreachable: boxes.filter((it) => it.tabIndex !== 0).map(told),
    };
})";

/// All that can be measured, over the plan's own links and one of a long name.
fn world(plan: &dyn Plan) -> World {
    let link = |name: &&str| ((*name).to_owned(), Link::parse(name).unwrap());
    let long = (LONG_LINK.to_owned(), Link::parse("100mbit,1.4ms").unwrap());
    World {
        scale: Scale::Laptop,
        workloads: Vec::new(),
        links: plan.links().iter().map(link).chain([long]).collect(),
        server_has_zstd: true,
        is_real: true,
        is_private: true,
        is_private_mariadb: plan.database() == "mariadb",
        repetitions: REPETITIONS,
        seed: 1,
    }
}

/// The records of a complete run in which nothing was measured.
fn made_up(plan: &dyn Plan, cells: &[Cell]) -> Vec<Record> {
    let long_path = "a-long-name/".repeat(12);
    let run = Run {
        format: FORMAT,
        plan: plan.name().to_owned(),
        scale: "laptop".to_owned(),
        seed: 1,
        repetitions: REPETITIONS,
        cells: u32::try_from(cells.len()).unwrap(),
        started_unix_s: 1_795_341_600,
        command: vec!["wirepress".to_owned(), "bench".to_owned(), format!("--out=/{long_path}")],
        wirepress: "0.1.0 (made up)".to_owned(),
        machine: Machine {
            cpu: "A Made Up Processor 9000 @ 2.60GHz".to_owned(),
            cores: 8,
            memory_mib: 32_768,
            kernel: "Linux 6.12.0-made-up".to_owned(),
            system: "Debian GNU/Linux 13 (trixie)".to_owned(),
        },
        programs: BTreeMap::from([("mysqld".to_owned(), "9.7.4".to_owned())]),
        database: "private MySQL".to_owned(),
        notes: vec![format!("Nothing was measured, not even in /{long_path}.")],
        options: None,
    };
    let mut records = vec![Record::Run(Box::new(run))];
    records.extend(world(plan).links.into_iter().map(|(link, _)| {
        Record::Link(LinkCheck {
            link,
            kind: "user space".to_owned(),
            wished_mbit_per_s: Some(1000.0),
            achieved_mbit_per_s: 700.0,
            wished_round_trip_ms: 1.4,
            achieved_round_trip_ms: 3.9,
            congestion_control: None,
            promise: None,
        })
    }));
    let mut sequence = Sequence::new(1, 0);
    for repetition in 0..REPETITIONS {
        for cell in cells {
            let packed = if cell.setting == Setting::None { 1.0 } else { 0.6 };
            let value = |metric: &Metric| {
                let noise = 0.9 + f64::from(sequence.below(1000)) / 5000.0;
                (*metric, 40.0 * metric.heading_divisor() * packed * noise)
            };
            let metrics = plan.columns().iter().map(value).collect();
            let at_s = f64::from(repetition);
            records.push(Record::Sample(Sample { cell: cell.clone(), repetition, at_s, metrics }));
        }
    }
    records.extend(cells.iter().take(2).map(|cell| {
        let reason = format!("cannot start /{long_path}: no such file");
        Record::Failure(Failure { cell: cell.clone(), repetition: REPETITIONS, reason })
    }));
    records.push(Record::End(End { took_s: 600.0, busy_cores: Some(0.9), harness_cpu_s: 12.5 }));
    records
}

/// Through the file, as `wirepress bench report` goes.
fn read_back(records: &[Record], folder: &Path) -> Records {
    let lines = records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n");
    let file = folder.join("samples.jsonl");
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    Records::read(&file).unwrap()
}

#[test]
fn the_report_of_every_plan_fits_a_phone_and_both_themes_and_asks_for_nothing() {
    let Some(mut browser) = browser() else { return };
    let mut looked_at = 0;
    for plan in plan::ALL {
        let folder = tempfile::tempdir().unwrap();
        // A plan whose programs or texts were not fetched has no cells.
        let Ok(steps) = plan.steps(&world(plan)) else { continue };
        let cells: Vec<Cell> = steps.into_iter().map(|step| step.cell).collect();
        if cells.is_empty() {
            continue;
        }
        report::write(&read_back(&made_up(plan, &cells), folder.path()), folder.path()).unwrap();
        assert_readable(&mut browser, &folder.path().join("report.html"));
        looked_at += 1;
    }
    assert!(looked_at >= 6, "only {looked_at} plans");
}

#[test]
fn the_advice_fits_a_phone_and_both_themes_and_asks_for_nothing() {
    let Some(mut browser) = browser() else { return };
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.pcap");
    std::fs::write(&file, observed::capture_of_prose(server)).unwrap();
    // A link that is slow enough for a verdict, and one that is not named.
    for link in [Some("20mbit,5ms"), None] {
        let prices = Prices { gb_per_month: Some(1000.0), per_gb: Some(0.1), per_core_hour: Some(0.05) };
        let options = observed::options(observed::pcap(&file, 3306), folder.path(), link);
        advise::run(&Options { prices, ..options }, &mut Vec::new()).unwrap();
        assert_readable(&mut browser, &folder.path().join("out/advice.html"));
    }
}

/// Of all that a kernel link can have.
const LONG_LINK: &str = "kernel 100mbit,1.4ms,loss=0.1%,jitter=0.25ms";
/// As many as an interval of 95 % wants.
const REPETITIONS: u32 = 6;
