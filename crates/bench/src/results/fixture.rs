//! Synthetic runs for tests of results and reports: made up, in the shape of real ones. Nothing here was measured.
//!
//! Invariants: the same run each time.

use std::collections::BTreeMap;

use lab::generate::Sequence;

use crate::record::{Cell, End, FORMAT, LinkCheck, Machine, Metric, Path, Records, Run, Sample, Setting};

/// A cell of a scan.
pub(crate) fn cell(link: &str, path: Path, setting: Setting) -> Cell {
    let (link, workload) = (link.to_owned(), "scan sbtest1".to_owned());
    Cell { link, workload, threads: 1, path, tls: false, setting }
}

/// A sample that has only a time.
pub(crate) fn sample(cell: &Cell, repetition: u32, time_s: f64) -> Sample {
    sample_with(cell, repetition, [(Metric::TimeS, time_s)])
}

/// A complete run of these values, those of a cell in the order of repetitions.
pub(crate) fn records_of(values: impl Iterator<Item = (Cell, Metric, f64)>) -> Records {
    let mut repetitions = BTreeMap::<Cell, u32>::new();
    let sample = |(cell, metric, value): (Cell, Metric, f64)| {
        let repetition = repetitions.entry(cell.clone()).or_default();
        *repetition += 1;
        sample_with(&cell, *repetition - 1, [(metric, value)])
    };
    records(values.map(sample).collect())
}

fn sample_with<const N: usize>(cell: &Cell, repetition: u32, metrics: [(Metric, f64); N]) -> Sample {
    let metrics = BTreeMap::from(metrics);
    Sample { cell: cell.clone(), repetition, at_s: 0.0, metrics }
}

/// A complete run of these samples, without links.
pub(crate) fn records(mut samples: Vec<Sample>) -> Records {
    let mut at_s = 0.0;
    for sample in &mut samples {
        sample.at_s = at_s;
        at_s += sample.metrics.get(&Metric::TimeS).copied().unwrap_or(60.0) + 0.4;
    }
    let cells = super::in_display_order(samples.iter().map(|sample| &sample.cell)).len() as u32;
    let repetitions = samples.iter().map(|sample| sample.repetition + 1).max().unwrap_or(0);
    Records {
        run: Run {
            format: FORMAT,
            plan: "synthetic".to_owned(),
            scale: "laptop".to_owned(),
            seed: 7,
            repetitions,
            cells,
            started_unix_s: 1_795_341_600,
            command: ["wirepress", "bench", "rds-scan", "--scale", "laptop"].map(str::to_owned).to_vec(),
            wirepress: "0.1.0 (synthetic)".to_owned(),
            machine: Machine {
                cpu: "A Made Up Processor 9000 @ 2.60GHz".to_owned(),
                cores: 8,
                memory_mib: 32_768,
                kernel: "Linux 6.12.0-made-up".to_owned(),
                system: "Debian GNU/Linux 13 (trixie)".to_owned(),
            },
            programs: BTreeMap::from([
                ("mysqld".to_owned(), "9.7.4".to_owned()),
                ("sysbench".to_owned(), "1.0.20".to_owned()),
            ]),
            database: "private MySQL".to_owned(),
            notes: vec![
                "These figures are synthetic: nothing was measured.".to_owned(),
                "Emulated links end TCP; congestion control of the far side is not seen.".to_owned(),
            ],
            options: None,
        },
        links: Vec::new(),
        samples,
        failures: Vec::new(),
        resumed: Vec::new(),
        links_before: Vec::new(),
        earlier_end: None,
        end: Some(End { took_s: at_s, busy_cores: Some(0.04), harness_cpu_s: 12.5 }),
    }
}

/// Scans of two tables over two links.
pub(crate) fn scans() -> Records {
    let settings = [
        Setting::None,
        Setting::Zlib,
        Setting::Zstd(1),
        Setting::Zstd(3),
        Setting::Zstd(7),
        Setting::Zstd(10),
    ];
    let mut noise = Noise::new(1);
    let mut samples = Vec::new();
    for repetition in 0..7 {
        for (link, mb_per_s) in [("unlimited", 2400.0), ("100mbit,1.4ms", 12.4)] {
            for path in [Path::Direct, Path::Wirepress] {
                for setting in settings.into_iter().filter(|setting| is_tried(path, *setting)) {
                    for wide in [false, true] {
                        let cell = Cell { workload: workload(wide), ..cell(link, path, setting) };
                        samples.push(scan(&cell, repetition, mb_per_s, wide, &mut noise));
                    }
                }
            }
        }
    }
    let mut records = records(samples);
    records.links = vec![
        link_check("unlimited", None, 19_800.0, (0.0, 0.03)),
        link_check("100mbit,1.4ms", Some(100.0), 99.2, (1.4, 1.46)),
    ];
    records
}

fn is_tried(path: Path, setting: Setting) -> bool {
    path != Path::Direct || setting != Setting::Zstd(1)
}

fn workload(wide: bool) -> String {
    if wide { "scan t1" } else { "scan sbtest1" }.to_owned()
}

fn scan(cell: &Cell, repetition: u32, link_mb_per_s: f64, wide: bool, noise: &mut Noise) -> Sample {
    let plain_mb = 58.9;
    // Ratio, and megabytes a second that one core packs.
    let (ratio, packed_mb_per_s) = match (cell.setting, wide) {
        (Setting::None | Setting::Stream(_), _) => (1.0, 4000.0),
        (Setting::Zlib, false) => (2.12, 95.0),
        (Setting::Zstd(1), false) => (2.02, 310.0),
        (Setting::Zstd(3), false) => (2.04, 190.0),
        (Setting::Zstd(7), false) => (2.25, 58.0),
        (Setting::Zstd(_) | Setting::Latency, false) => (2.27, 37.0),
        (Setting::Zlib, true) => (180.0, 620.0),
        (Setting::Zstd(level), true) => (1900.0, 4100.0 / f64::from(level)),
        (Setting::Latency, true) => (1900.0, 4100.0),
    };
    let wire_mb = plain_mb / ratio;
    let proxy = cell.path == Path::Wirepress;
    let pack_s = plain_mb / packed_mb_per_s;
    let time_s = (0.19f64.max(pack_s).max(wire_mb / link_mb_per_s) + if proxy { 0.012 } else { 0.0 })
        * noise.factor(0.02);
    let mut metrics = BTreeMap::from([
        (Metric::TimeS, time_s),
        (Metric::PlainBytes, plain_mb * 1e6),
        (Metric::WireBytes, wire_mb * 1e6),
        (Metric::MeanMbPerS, wire_mb / time_s),
        (Metric::PeakMbPerS, wire_mb / time_s * noise.factor(0.1).max(1.0)),
        (Metric::ServerCpuS, (0.11 + if proxy { 0.0 } else { pack_s }) * noise.factor(0.05)),
        (Metric::ClientCpuS, (0.05 + plain_mb / 900.0) * noise.factor(0.05)),
    ]);
    if proxy {
        metrics.insert(Metric::ProxyCpuS, (0.02 + pack_s) * noise.factor(0.05));
    }
    Sample { cell: cell.clone(), repetition, at_s: 0.0, metrics }
}

/// Transactions at many numbers of threads, over two links.
pub(crate) fn transactions() -> Records {
    let mut noise = Noise::new(2);
    let mut samples = Vec::new();
    for repetition in 0..5 {
        for (link, mb_per_s) in [("unlimited", 4000.0), ("1gbit", 118.0)] {
            for threads in [1, 4, 16, 32, 64, 96, 128, 256, 512, 1024, 2048] {
                for (path, tls) in [
                    (Path::Direct, false),
                    (Path::Direct, true),
                    (Path::Wirepress, false),
                    (Path::Wirepress, true),
                ] {
                    for setting in [Setting::None, Setting::Zlib, Setting::Zstd(1)] {
                        if path == Path::Direct && setting == Setting::Zstd(1) {
                            continue;
                        }
                        let workload = "oltp_read_only".to_owned();
                        let cell = Cell { link: link.to_owned(), workload, threads, path, tls, setting };
                        samples.push(transaction(&cell, repetition, mb_per_s, &mut noise));
                    }
                }
            }
        }
    }
    let mut records = records(samples);
    records.run.command = ["wirepress", "bench", "oltp-matrix"].map(str::to_owned).to_vec();
    records.links = vec![
        link_check("unlimited", None, 31_000.0, (0.0, 0.02)),
        link_check("1gbit", Some(1000.0), 991.0, (0.0, 0.11)),
    ];
    records
}

fn transaction(cell: &Cell, repetition: u32, link_mb_per_s: f64, noise: &mut Noise) -> Sample {
    let threads = f64::from(cell.threads);
    let (bytes, cpu_ms) = match cell.setting {
        Setting::None | Setting::Stream(_) => (41_000.0, 0.0),
        Setting::Zlib => (20_500.0, 0.38),
        Setting::Zstd(_) | Setting::Latency => (21_600.0, 0.13),
    };
    let tls_ms = if cell.tls { 0.06 } else { 0.0 };
    let proxy_ms = if cell.path == Path::Direct { 0.0 } else { 0.05 };
    let one = 1000.0 / (2.55 + 4.0 * cpu_ms + tls_ms + proxy_ms);
    let most = (link_mb_per_s * 1e6 / bytes).min(8000.0 / (0.44 + cpu_ms + tls_ms + proxy_ms));
    let crowd = 1.0 + threads / 16_000.0;
    // A smooth bend between the two limits.
    let rate = ((one * threads).powi(-3) + most.powi(-3)).powf(-1.0 / 3.0) / crowd * noise.factor(0.015);
    let mean_ms = threads / rate * 1e3;
    sample_with(
        cell,
        repetition,
        [
            (Metric::TransactionsPerS, rate),
            (Metric::LatencyP50Ms, mean_ms * 0.96),
            (Metric::LatencyP95Ms, mean_ms * 1.3 * noise.factor(0.03)),
            (Metric::LatencyP99Ms, mean_ms * 1.9 * noise.factor(0.08)),
            (Metric::MeanMbPerS, rate * bytes / 1e6),
            (Metric::WireBytesPerTx, bytes),
            (Metric::Count, (rate * 30.0).round()),
        ],
    )
}

/// A calibration; `round_trip_ms` is wished and achieved.
pub(crate) fn link_check(
    link: &str,
    wished_mbit_per_s: Option<f64>,
    achieved_mbit_per_s: f64,
    round_trip_ms: (f64, f64),
) -> LinkCheck {
    LinkCheck {
        link: link.to_owned(),
        kind: "user space".to_owned(),
        wished_mbit_per_s,
        achieved_mbit_per_s,
        wished_round_trip_ms: round_trip_ms.0,
        achieved_round_trip_ms: round_trip_ms.1,
        congestion_control: None,
        promise: None,
    }
}

/// Factors around 1.
struct Noise(Sequence);

impl Noise {
    fn new(seed: u64) -> Self {
        Self(Sequence::new(seed, 0))
    }

    fn factor(&mut self, width: f64) -> f64 {
        1.0 + (f64::from(self.0.below(10_001)) / 5000.0 - 1.0) * width
    }
}
