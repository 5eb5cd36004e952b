//! `codec-cpu`: what compression costs MySQL itself, and what it costs wirepress beside it, for the same client, setting and
//! data.
//!
//! ```text
//!  MySQL packs       CPU of the server, direct, with the setting − without
//!  wirepress packs   CPU of the proxy, with the setting − without; the server sends plain bytes
//! ```
//! Invariants: differences are of the same round, in which all cells alternate.

use super::work::Work;
use super::{Plan, Scale, Step, World};
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;
use crate::stats::median;
use crate::table::Kind;

/// CPU of compression.
#[derive(Debug)]
pub(super) struct CodecCpu;

impl Plan for CodecCpu {
    fn name(&self) -> &'static str {
        "codec-cpu"
    }

    fn title(&self) -> &'static str {
        "CPU of compression: MySQL's own, and wirepress's"
    }

    fn question(&self) -> &'static str {
        "What does packing replies cost in CPU time when MySQL does it, and when wirepress does it for the same client, at \
         the same setting?"
    }

    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::ServerCpuS,
            Metric::ProxyCpuS,
            Metric::ClientCpuS,
            Metric::PlainBytes,
            Metric::WireBytes,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &["unlimited"]
    }

    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 3,
            Scale::Laptop => 11,
            Scale::Full => 21,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        // A user's server may run anywhere, and only one that packs zstd can be compared.
        if !world.is_private || !world.server_has_zstd {
            return Ok(Vec::new());
        }
        let works =
            [Work::scan("scan of digits", Kind::Sysbench, 200_000), Work::scan(TEXT, Kind::Text, 100_000)];
        let mut steps = Vec::new();
        for (name, link) in &world.links {
            for work in &works {
                let job = work.job(link, world);
                for path in [Path::Direct, Path::Wirepress] {
                    for setting in [Setting::None].into_iter().chain(SETTINGS) {
                        steps.push(Step::new(work.cell(name, path, setting), job.clone()));
                    }
                }
            }
        }
        Ok(steps)
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        let is_ours = |cell: &&Cell| cell.path == Path::Wirepress && SETTINGS.contains(&cell.setting);
        results.cells().iter().filter(is_ours).filter_map(|cell| line(results, cell)).collect()
    }
}

fn line(results: &Results, cell: &Cell) -> Option<String> {
    let direct = cell.with(Path::Direct, cell.setting, cell.tls);
    let mysqls = codec_s(results, &direct, Metric::ServerCpuS)?;
    let ours = codec_s(results, cell, Metric::ProxyCpuS)?;
    let bytes = results.ratio(cell, &direct, Metric::WireBytes)?.value;
    let wanted = if cell.setting == Setting::Zlib { ZLIB_CHEAPER_MIN } else { ZSTD_CHEAPER_MIN };
    let judged = word(mysqls >= wanted * ours);
    let cheaper = if ours > 0.0 { format!("{:.2} times cheaper", mysqls / ours) } else { "free".to_owned() };
    // Digits are to be smaller.
    let (at_most, is_small) =
        if cell.workload == TEXT { (TEXT_BYTES_MAX, bytes <= TEXT_BYTES_MAX) } else { (1.0, bytes < 1.0) };
    Some(format!(
        "{} at {}: a scan costs MySQL {:.1} ms of CPU to pack, wirepress {:.1} ms ({cheaper}; wanted {wanted:.0}: {judged}); \
         wirepress's bytes are {bytes:.3} of MySQL's (wanted at most {at_most:.2}: {}). CPU by medians.",
        cell.workload,
        cell.setting,
        mysqls * 1e3,
        ours * 1e3,
        word(is_small)
    ))
}

const fn word(is_so: bool) -> &'static str {
    if is_so { "holds" } else { "misses" }
}

/// CPU seconds that the setting adds to a scan: the median of the differences of each round.
fn codec_s(results: &Results, cell: &Cell, metric: Metric) -> Option<f64> {
    let none = cell.with(cell.path, Setting::None, cell.tls);
    let pairs = results.pairs(cell, &none, metric);
    median(&pairs.into_iter().map(|pair| pair.of - pair.to).collect::<Vec<_>>())
}

const TEXT: &str = "scan of text";
/// How many times less of the CPU wirepress is to take, and how many more bytes of text its packing may leave.
const ZLIB_CHEAPER_MIN: f64 = 4.0;
const ZSTD_CHEAPER_MIN: f64 = 2.0;
const TEXT_BYTES_MAX: f64 = 1.12;
const SETTINGS: [Setting; 2] = [Setting::Zlib, Setting::Zstd(1)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture;

    fn cell(path: Path, setting: Setting) -> Cell {
        Cell {
            link: "unlimited".to_owned(),
            workload: "scan of digits".to_owned(),
            threads: 1,
            path,
            tls: false,
            setting,
        }
    }

    #[test]
    fn a_settings_cpu_is_that_with_it_minus_that_without() {
        let zstd = Setting::Zstd(1);
        let values = [
            (cell(Path::Direct, Setting::None), Metric::ServerCpuS, 0.10, 40.0),
            (cell(Path::Direct, zstd), Metric::ServerCpuS, 0.30, 20.0),
            (cell(Path::Wirepress, Setting::None), Metric::ProxyCpuS, 0.02, 40.0),
            (cell(Path::Wirepress, zstd), Metric::ProxyCpuS, 0.07, 19.0),
        ];
        let mut records =
            fixture::records_of(values.iter().map(|(cell, metric, cpu, _)| (cell.clone(), *metric, *cpu)));
        for (sample, (.., bytes)) in records.samples.iter_mut().zip(&values) {
            sample.metrics.insert(Metric::WireBytes, *bytes);
        }
        assert_eq!(
            CodecCpu.summary(&Results::of(&records)),
            [
                "scan of digits at zstd 1: a scan costs MySQL 200.0 ms of CPU to pack, wirepress 50.0 ms (4.00 times cheaper; \
              wanted 2: holds); wirepress's bytes are 0.950 of MySQL's (wanted at most 1.00: holds). CPU by medians."
            ]
        );
    }

    #[test]
    fn a_repetition_without_its_partner_is_left_out() {
        let (none, zstd) = (cell(Path::Wirepress, Setting::None), cell(Path::Wirepress, Setting::Zstd(1)));
        let samples = [(&none, 0, 1.0), (&none, 2, 3.0), (&zstd, 0, 1.5), (&zstd, 1, 9.0), (&zstd, 2, 3.5)];
        let mut records = fixture::records(
            samples.iter().map(|(cell, repetition, _)| fixture::sample(cell, *repetition, 1.0)).collect(),
        );
        for (sample, (.., cpu)) in records.samples.iter_mut().zip(&samples) {
            sample.metrics.insert(Metric::ProxyCpuS, *cpu);
        }
        assert_eq!(codec_s(&Results::of(&records), &zstd, Metric::ProxyCpuS), Some(0.5));
    }
}
