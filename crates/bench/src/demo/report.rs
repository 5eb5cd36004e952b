//! The demo's report: a table per link, and a verdict.
//!
//! ```text
//!                      time      network MB/s     on the link         CPU seconds        published
//! setting     seconds  x none     mean     peak     MB   ratio  server  proxy  client   seconds …
//! sbtest1: 300,000 rows, 58.4 MB
//!   none         4.71    1.00     12.5     12.5   58.9    1.00    0.21   0.10    0.10     17.25 …
//! ```
//!
//! Invariants: at most [`WIDTH_MAX`] columns; every number is measured or published, "—" stands for what is
//! neither; a verdict follows from the numbers above it.
//!
//! Not here: measuring.

use std::fmt::Write;
use std::time::Duration;

use lab::link::Link;

use super::options::Options;
use super::sample::Sample;
use super::setting::Setting;
use crate::cpu;
use crate::job::RUN_MIN;
use crate::published::{Published, ZstdScan};
use crate::report::number::{grouped, or_dash, short};
use crate::report::text_table::wrapped;
use crate::run::Database;
use crate::table::Kind;

/// What is about to be measured, and what can be compared with what was published.
pub(super) fn preamble(options: &Options, database: &Database, published: &Published) -> String {
    let cores = cpu::cores();
    let legs = if database.wants_tls() {
        "The proxy compresses; its leg to the database, and direct connections, are inside TLS, not packed."
    } else {
        "The proxy compresses; its leg to the database is plain."
    };
    let database = if database.is_embedded() {
        format!("the embedded database, seed {}", options.seed)
    } else {
        format!("the server at {}, seed {}", database.address(), options.seed)
    };
    format!(
        "Full scans on this machine's {cores} cores, client = link = proxy - database: {database}.\n\
         Each row: one connection, the scan repeated for at least {}, median time; CPU of one scan.\n\
         {legs} zlib is the proxy's default level.\n\
         MB are 10^6 bytes, both ways; ratio is plain / packed; peak is over 1 s; x none is time / time of none.\n\
         The published tables have more rows and their network was not shaped: compare x none, not seconds.\n\
         {}",
        duration(RUN_MIN),
        whose(published, "rds-scan"),
    )
}

/// Where the published figures are from that a plan lays beside its own, on lines of their own.
fn whose(published: &Published, plan: &str) -> String {
    let publication = published.publication(plan);
    publication.map_or_else(String::new, |of| wrapped(&format!("Published: {}.", of.title), "", "  "))
}

/// The table of one link. `samples` are those of this link, grouped by table.
pub(super) fn link_table(link: Link, samples: &[Sample], published: &Published) -> String {
    let mut text = format!("Link {}\n", described(link));
    line(&mut text, GROUPS.map(str::to_owned), &GROUP_WIDTHS);
    line(&mut text, COLUMNS.map(str::to_owned), &WIDTHS);
    for kind in [Kind::Sysbench, Kind::Wide] {
        let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.table == kind).collect();
        let Some(none) = samples.iter().find(|sample| sample.setting == Setting::Uncompressed) else {
            continue;
        };
        let Some(figures) = kind.published(published) else { continue };
        text.push_str(&heading(none, figures));
        for sample in &samples {
            line(&mut text, cells(sample, none, figures), &WIDTHS);
        }
    }
    text.push_str(&published_for_the_link(link, published));
    text
}

/// The published measurement on a link just like this one, if it is one.
fn published_for_the_link(link: Link, published: &Published) -> String {
    let sphinx = &published.sphinx_index;
    let is_same = |ours: f64, theirs: f64| (ours - theirs).abs() < theirs / 100.0;
    let is_its_link =
        link.rate_bytes_per_s.is_some_and(|rate| is_same(megabytes(rate) * 8.0, sphinx.link_mbit_per_s))
            && is_same(link.round_trip.as_secs_f64() * 1e3, sphinx.rtt_ms);
    if !is_its_link {
        return String::new();
    }
    format!(
        "Published for this link (an indexer that reads {} MB of text): {} s uncompressed, {} s with zlib, {}x faster.\n\
         {}",
        short(sphinx.text_mb),
        short(sphinx.plain_s),
        short(sphinx.zlib_s),
        short(sphinx.plain_s / sphinx.zlib_s),
        whose(published, "sphinx-index"),
    )
}

fn described(link: Link) -> String {
    let round_trip = if link.round_trip.is_zero() {
        String::new()
    } else {
        format!(", {} ms round trip", short(link.round_trip.as_secs_f64() * 1e3))
    };
    match link.rate_bytes_per_s {
        None => format!("{link}: as fast as this machine's loopback{round_trip}"),
        Some(rate) => format!("{link}: {} MB/s each way{round_trip}", short(megabytes(rate))),
    }
}

fn heading(sample: &Sample, published: &ZstdScan) -> String {
    format!(
        "{}: {} rows, {} MB (published: {} rows)\n",
        sample.table.published_name(),
        grouped(sample.rows),
        short(megabytes(sample.plain_bytes)),
        grouped(u64::from(published.rows)),
    )
}

fn cells(sample: &Sample, none: &Sample, published: &ZstdScan) -> [String; 13] {
    let row = sample.setting.published_zstd_level().and_then(|level| published.at_zstd_level(level));
    let published_none = published.at_zstd_level(0);
    let relative = row.zip(published_none).map(|(row, none)| row.time_s / none.time_s);
    [
        format!("  {}", sample.setting),
        short(sample.time.as_secs_f64()),
        short(sample.time_relative_to(none)),
        short(sample.mean_mb_per_s()),
        short(sample.peak_mb_per_s()),
        short(megabytes(sample.wire_bytes)),
        short(sample.ratio()),
        or_dash(sample.cpu.server.map(|cpu| cpu.as_secs_f64())),
        or_dash(sample.cpu.proxy.map(|cpu| cpu.as_secs_f64())),
        short(sample.cpu.client.as_secs_f64()),
        or_dash(row.map(|row| row.time_s)),
        or_dash(relative),
        or_dash(row.map(|row| row.network_peak_mb_per_s)),
    ]
}

/// What the numbers of a link say, in a sentence per table.
pub(super) fn verdict(link: Link, samples: &[Sample]) -> String {
    let of_tables: Vec<String> =
        [Kind::Sysbench, Kind::Wide].into_iter().filter_map(|kind| table_verdict(kind, samples)).collect();
    format!("Over {link}:\n  {}", of_tables.join("\n  "))
}

fn table_verdict(kind: Kind, samples: &[Sample]) -> Option<String> {
    let of_table = || samples.iter().filter(move |sample| sample.table == kind);
    let none = of_table().find(|sample| sample.setting == Setting::Uncompressed)?;
    let compressed =
        || of_table().filter(|sample| !matches!(sample.setting, Setting::Direct | Setting::Uncompressed));
    let best = compressed().min_by_key(|sample| sample.time)?;
    let level_with_best: Vec<String> = compressed()
        .filter(|sample| sample.time_relative_to(best) < 1.0 + LEVEL)
        .map(|sample| sample.setting.to_string())
        .collect();
    let gain = none.time_relative_to(best);
    let name = kind.published_name();
    Some(if gain >= 1.0 + NOISE {
        format!(
            "{name}: {} {}, {}x faster than none ({} instead of {} s), with {}x fewer bytes.",
            level_with_best.join(" and "),
            if level_with_best.len() == 1 { "wins" } else { "win" },
            short(gain),
            short(best.time.as_secs_f64()),
            short(none.time.as_secs_f64()),
            short(best.ratio()),
        )
    } else if gain <= 1.0 - NOISE {
        format!(
            "{name}: none wins; the fastest compression, {}, takes {}x its time for {}x fewer bytes.",
            best.setting,
            short(1.0 / gain),
            short(best.ratio()),
        )
    } else {
        format!(
            "{name}: none and {} are level; the latter sends {}x fewer bytes.",
            best.setting,
            short(best.ratio())
        )
    })
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a run are far below 2^53")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// One line: the first cell to the left, the others to the right, each in its width.
fn line<const N: usize>(text: &mut String, cells: [String; N], widths: &[usize; N]) {
    let mut line = String::with_capacity(WIDTH_MAX);
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padded = if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
        line.push_str(&padded);
    }
    // A String takes everything.
    writeln!(text, "{}", line.trim_end()).ok();
}

/// The last line: what it took, and whether something else was in the way.
pub(super) fn closing(runs: usize, time: Duration, busy_cores: Option<f64>) -> String {
    let mut text = format!("{runs} runs in {}.", duration(time));
    if let Some(busy) = busy_cores.filter(|busy| *busy >= BUSY_CORES) {
        let note = format!(
            "\nMeanwhile other programs used {} of this machine's {} cores: on an idle one the times are shorter.",
            short(busy),
            cpu::cores()
        );
        text.push_str(&note);
    }
    text
}

/// How the time of a whole run is told.
fn duration(time: Duration) -> String {
    format!("{} s", short(time.as_secs_f64()))
}

/// Less is the noise of any machine.
const BUSY_CORES: f64 = 0.2;

/// Settings this close to the fastest share its place.
const LEVEL: f64 = 0.02;

/// Differences below it are not told as such: repeated runs on a busy machine differ that much.
const NOISE: f64 = 0.05;

/// Fits a terminal of this width, and a README.
pub(super) const WIDTH_MAX: usize = 120;

const COLUMNS: [&str; 13] = [
    "setting", "seconds", "x none", "mean", "peak", "MB", "ratio", "server", "proxy", "client", "seconds",
    "x none", "peak",
];
const WIDTHS: [usize; 13] = [11, 9, 8, 9, 9, 9, 9, 10, 8, 8, 12, 8, 8];

const GROUPS: [&str; 6] = ["", "time", "network MB/s", "on the link", "CPU seconds", "published"];
const GROUP_WIDTHS: [usize; 6] = [11, 17, 18, 18, 26, 28];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::sample::CpuTimes;

    fn sample(table: Kind, setting: Setting, time_ms: u64, wire_bytes: u64) -> Sample {
        Sample {
            table,
            setting,
            scans: 1,
            rows: 300_000,
            time: Duration::from_millis(time_ms),
            run_time: Duration::from_millis(time_ms),
            plain_bytes: 58_900_000,
            wire_bytes,
            peak_second_bytes: wire_bytes,
            cpu: CpuTimes {
                server: Some(Duration::from_millis(210)),
                proxy: (setting != Setting::Direct).then_some(Duration::from_millis(1234)),
                client: Duration::from_millis(99),
            },
        }
    }

    fn samples() -> Vec<Sample> {
        vec![
            sample(Kind::Sysbench, Setting::Direct, 400, 58_900_000),
            sample(Kind::Sysbench, Setting::Uncompressed, 410, 58_900_000),
            sample(Kind::Sysbench, Setting::Zstd(3), 820, 29_000_000),
            sample(Kind::Wide, Setting::Uncompressed, 3000, 58_900_000),
            sample(Kind::Wide, Setting::Zlib, 300, 300_000),
            sample(Kind::Wide, Setting::Zstd(1), 303, 300_000),
            sample(Kind::Wide, Setting::Zstd(3), 400, 300_000),
        ]
    }

    #[test]
    fn the_table_fits_a_readme_and_shows_measured_beside_published() {
        let table = link_table(Link::UNLIMITED, &samples(), &Published::built_in().unwrap());
        assert!(table.lines().all(|line| line.chars().count() <= WIDTH_MAX), "{table}");
        let row = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap();
        let cells = |start| row(start).split_whitespace().collect::<Vec<_>>();
        assert_eq!(
            cells("  zstd 3"),
            "zstd 3 0.82 2.00 35.4 35.4 29.0 2.03 0.21 1.23 0.099 72.1 4.18 28.0"
                .split(' ')
                .collect::<Vec<_>>()
        );
        assert_eq!(cells("  no proxy")[9..], ["—", "0.099", "—", "—", "—"]);
        assert_eq!(cells("  zlib")[10..], ["—", "—", "—"]);
        assert!(table.contains("sbtest1: 300,000 rows, 58.9 MB (published: 20,000,000 rows)"), "{table}");
    }

    #[test]
    fn what_was_published_for_just_this_link_is_told_below_it() {
        let told =
            |link: &str| published_for_the_link(Link::parse(link).unwrap(), &Published::built_in().unwrap());
        assert!(told("100mbit,1.4ms").contains("127 s uncompressed, 87.0 s with zlib, 1.46x faster"));
        assert!(told("100mbit,1.4ms").contains("\nPublished: Sphinx blog, 23 October 2014"));
        assert_eq!(told("100mbit"), "");
        assert_eq!(told("unlimited"), "");
    }

    #[test]
    fn the_verdict_follows_from_the_numbers() {
        assert_eq!(
            verdict(Link::UNLIMITED, &samples()),
            "Over unlimited:\n  \
             sbtest1: none wins; the fastest compression, zstd 3, takes 2.00x its time for 2.03x fewer bytes.\n  \
             t1: zlib and zstd 1 win, 10.0x faster than none (0.30 instead of 3.00 s), with 196x fewer bytes."
        );
    }

    #[test]
    fn busy_neighbours_are_told_and_idle_ones_are_not() {
        let closing = |busy| closing(28, Duration::from_secs(61), busy);
        assert_eq!(closing(None), "28 runs in 61.0 s.");
        assert_eq!(closing(Some(0.1)), "28 runs in 61.0 s.");
        assert!(closing(Some(1.25)).contains("other programs used 1.25 of this machine's"));
    }
}
