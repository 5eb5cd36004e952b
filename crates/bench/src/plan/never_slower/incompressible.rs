//! What the latency policy costs where nothing shrinks: the proxy's CPU time in terms of that with none.
//!
//! Invariants: ratios are of pairs of the same repetition; a cell holds or misses only where its whole interval, as sure as
//! intervals are asked to be, lies on one side.

use crate::plan::work::INCOMPRESSIBLE;
use crate::record::{Cell, Metric, Setting};
use crate::results::{Results, uncompressed};
use crate::stats::Estimate;

/// A sentence for each cell of the policy.
pub(super) fn lines(results: &Results) -> Vec<String> {
    let is_ours = |cell: &&Cell| cell.workload == INCOMPRESSIBLE && cell.setting == Setting::Latency;
    results.cells().iter().chain(results.failed()).filter(is_ours).map(|cell| line(results, cell)).collect()
}

fn line(results: &Results, cell: &Cell) -> String {
    let Some(ratio) = results.ratio(cell, &uncompressed(cell), Metric::ProxyCpuS) else {
        return format!("{cell}: the proxy's CPU time could not be compared with none's.");
    };
    format!(
        "{cell}: the proxy's CPU time is {:.3} ({:.3} to {:.3}) of none's: {} (wanted: at most 1 % more).",
        ratio.value,
        ratio.low,
        ratio.high,
        word(&ratio)
    )
}

fn word(ratio: &Estimate) -> &'static str {
    if ratio.is_sure() && ratio.high <= CPU_MAX {
        "holds"
    } else if ratio.is_sure() && ratio.low > CPU_MAX {
        "misses"
    } else {
        "undecided"
    }
}

/// In terms of none's.
const CPU_MAX: f64 = 1.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Path;
    use crate::results::fixture;

    fn told(latency: &[f64]) -> Vec<String> {
        let cell = |setting| Cell {
            workload: INCOMPRESSIBLE.to_owned(),
            ..fixture::cell("1gbit", Path::Wirepress, setting)
        };
        let none = latency.iter().map(|_| (cell(Setting::None), Metric::ProxyCpuS, 2.0));
        let ours = latency.iter().map(|cpu| (cell(Setting::Latency), Metric::ProxyCpuS, *cpu));
        lines(&Results::of(&fixture::records_of(none.chain(ours))))
    }

    #[test]
    fn the_proxys_cpu_is_held_against_nones_by_its_whole_interval() {
        assert_eq!(
            told(&[2.0, 2.004, 2.004, 2.0, 2.01, 2.004]),
            [
                "scan of incompressible blobs over 1gbit, wirepress, latency: the proxy's CPU time is 1.002 (1.000 to 1.005) of \
                 none's: holds (wanted: at most 1 % more)."
            ]
        );
        let word = |latency: &[f64]| told(latency).concat();
        assert!(word(&[2.1; 6]).contains("none's: misses"));
        assert!(word(&[2.0, 2.1, 2.0, 2.1, 2.0, 2.1]).contains("none's: undecided"));
        assert!(word(&[2.0; 5]).contains("none's: undecided"), "five are not sure");
    }
}
