//! `sst`: a state transfer of a Galera node, its stream through one compressor after the other.
//!
//! Published: 20.7 GB with no compression, qpress (in the stream, and file by file), pigz and zstd -1 at 1 to 8 threads.
//! The fastest of those transfers carried 1.95 Gbit/s, so that its "1 Gbps virtual link" was not shaped to 1 Gbit/s: the
//! figures are laid beside the link that is not shaped, and beside no other.

use super::shape::Claim;
use super::{Finding, Plan, PublishedFigure, Scale, Step, World};
use crate::job::{Job, Transfer};
use crate::published::Published;
use crate::record::{Cell, Compressor, Metric, Path, Setting};
use crate::results::Results;
use crate::table::{Kind, Table};

/// State transfers.
#[derive(Debug)]
pub(super) struct Sst;

impl Plan for Sst {
    fn name(&self) -> &'static str {
        "sst"
    }

    fn title(&self) -> &'static str {
        "State transfers and compressors"
    }

    fn question(&self) -> &'static str {
        "Which compressor makes a mariadb-backup stream arrive soonest, over which link, with how many threads, and what \
         does it cost donor and joiner?"
    }

    fn primary(&self) -> Metric {
        Metric::TimeS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TimeS,
            Metric::WireBytes,
            Metric::WrittenBytes,
            Metric::DonorCpuS,
            Metric::JoinerCpuS,
            Metric::MeanMbPerS,
        ]
    }

    fn database(&self) -> &'static str {
        "mariadb"
    }

    fn links(&self) -> &'static [&'static str] {
        &[UNSHAPED, "1gbit", "100mbit"]
    }

    fn repetitions(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Smoke => 1,
            Scale::Laptop => 3,
            Scale::Full => 10,
        }
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        if !world.is_private_mariadb {
            return Ok(Vec::new());
        }
        // About as many bytes of pages of digits as of text.
        let rows = match world.scale {
            Scale::Smoke => 60_000,
            Scale::Laptop => 300_000,
            Scale::Full => 1_200_000,
        };
        let tables = vec![
            Table::generated(Kind::Sysbench, "sbtest1", rows, world.seed),
            Table::generated(Kind::Text, "text1", rows / 8, world.seed.wrapping_add(1)),
        ];
        let settings: Vec<Setting> = [Setting::None]
            .into_iter()
            .chain(Compressor::MEASURED.into_iter().map(Setting::Stream))
            .collect();
        let mut steps = Vec::new();
        for (link, _) in &world.links {
            for threads in THREADS {
                for setting in &settings {
                    let job = Job::Transfer(Transfer { tables: tables.clone(), threads });
                    steps.push(Step::new(cell(link, threads, *setting), job));
                }
            }
        }
        Ok(steps)
    }

    fn published(&self, figures: &Published) -> Vec<PublishedFigure> {
        let sst = &figures.sst;
        let (received, written) = (&sst.received_mb, &sst.joiner_written_mb);
        let series = [
            (Setting::None, &sst.none_s, received.none, written.none),
            (
                Setting::Stream(Compressor::QpressBuiltIn),
                &sst.qpress_builtin_s,
                received.qpress_builtin,
                written.qpress_builtin,
            ),
            (Setting::Stream(Compressor::Qpress), &sst.qpress_s, received.qpress, written.qpress),
            (Setting::Stream(Compressor::Pigz), &sst.pigz_s, received.pigz, written.pigz),
            (Setting::Stream(Compressor::Zstd), &sst.zstd1_s, received.zstd1, written.zstd1),
        ];
        let mut published = Vec::new();
        for (setting, seconds, received_mb, written_mb) in series {
            for (threads, seconds) in sst.threads.iter().zip(seconds) {
                let metrics = [
                    (Metric::TimeS, *seconds),
                    (Metric::WireBytes, received_mb * 1e6),
                    (Metric::WrittenBytes, written_mb * 1e6),
                ];
                published.extend(metrics.map(|(metric, value)| PublishedFigure {
                    cell: cell(UNSHAPED, *threads, setting),
                    metric,
                    value,
                    conditions: CONDITIONS,
                }));
            }
        }
        published
    }

    fn findings(&self, results: &Results, figures: &Published) -> Vec<Finding> {
        let sst = &figures.sst;
        let at = |seconds: &[f64], threads: u32| {
            let i = sst.threads.iter().position(|published| *published == threads)?;
            seconds.get(i).copied()
        };
        let claims = [
            (Compressor::Pigz, &sst.pigz_s, 1, "With one thread pigz makes a transfer slower than none"),
            (Compressor::Pigz, &sst.pigz_s, 2, "With two threads pigz still does"),
            (Compressor::Zstd, &sst.zstd1_s, 1, "With one thread zstd -1 makes it a little slower"),
            (Compressor::Zstd, &sst.zstd1_s, 2, "With two threads zstd -1 and none are level"),
        ];
        let mut findings = Vec::new();
        for (compressor, seconds, threads, claim) in claims {
            let (Some(none), Some(packed)) = (at(&sst.none_s, threads), at(seconds, threads)) else {
                continue;
            };
            let claim = Claim {
                claim: claim.to_owned(),
                published: none / packed,
                cell: &cell(UNSHAPED, threads, Setting::Stream(compressor)),
                base: &cell(UNSHAPED, threads, Setting::None),
                metric: Metric::TimeS,
                why: WHY,
            };
            findings.push(claim.hold(results));
        }
        findings
    }
}

/// Threads are a part of the workload: each number is a table, which has room for bytes and CPU time.
fn cell(link: &str, threads: u32, setting: Setting) -> Cell {
    let s = if threads == 1 { "" } else { "s" };
    let workload = format!("state transfer, {threads} thread{s}");
    Cell { link: link.to_owned(), workload, threads: 1, path: Path::Direct, tls: false, setting }
}

/// As many as can be told apart on the smallest machine that this is run on.
const THREADS: [u32; 2] = [1, 2];
/// Beside which the published figures are laid.
const UNSHAPED: &str = "unlimited";
const CONDITIONS: &str = "PXC 8.0.25, 20.7 GB, two VMs of 8 vCPU; a whole join with the script's sleep and the server's start; a link \
                          called 1 Gbps that carried 1.95 Gbit/s";
const WHY: &str = "Published times are of whole joins of 20.7 GB between two machines, from and to a disk; here the stream \
                   alone is timed, and donor, link and joiner share this machine's processors.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_for_more_threads_keeps_its_rows() {
        let published = Sst.published(&Published::built_in().unwrap());
        let of = |threads, compressor| {
            let cell = cell(UNSHAPED, threads, Setting::Stream(compressor));
            let is_it = |figure: &&PublishedFigure| figure.cell == cell && figure.metric == Metric::TimeS;
            published.iter().find(is_it).map(|figure| figure.value)
        };
        assert_eq!(of(8, Compressor::Qpress), Some(109.0));
        assert_eq!(of(4, Compressor::Pigz), Some(258.0));
        assert_eq!(of(1, Compressor::Pack), None);
        assert!(published.iter().all(|figure| figure.cell.link == UNSHAPED));
    }
}
