//! What two runs of so many repetitions could tell at all, before anything is told.
//!
//! Invariants: it depends on the numbers of values alone, not on the values.
//!
//! Source: the least p-value of the Mann-Whitney test (`stats::RankTest`), and Benjamini and Hochberg's correction, under which
//! the k clearest of m tests are told together where p m / k is below [`FALSE_ALARMS`].

use std::collections::BTreeMap;

use super::compared::{ComparedCell, FALSE_ALARMS};
use crate::report::number::counted;
use crate::stats::{RankTest, SURE_MIN, f64_of};

/// A sentence for each number of runs, the fewest first.
pub(super) fn reach(cells: &[ComparedCell]) -> Vec<String> {
    let mut by_runs: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for cell in cells {
        *by_runs.entry(cell.runs).or_default() += 1;
    }
    by_runs.into_iter().map(|(runs, count)| sentence(runs, count, cells.len())).collect()
}

fn sentence(runs: (usize, usize), count: usize, tests: usize) -> String {
    let least = RankTest::least_p_value(std::iter::once(runs));
    let head = format!(
        "{} against {} runs ({}): the least p there can be is {}, ",
        runs.0,
        runs.1,
        counted(count, "cell"),
        super::text::p_text(least)
    );
    let wanted = needed(tests);
    if least >= FALSE_ALARMS {
        return format!(
            "{head}so no cell can be told alone, however large its difference. Measure both runs with --repetitions {wanted}."
        );
    }
    // Together so many are told.
    let together = (1..=tests).find(|k| is_told(least, tests, *k));
    match together {
        Some(1) => format!("{head}enough for each cell alone."),
        Some(k) if k <= count => format!(
            "{head}so cells are told only where {k} or more differ as clearly; with --repetitions {wanted} each could be \
             alone."
        ),
        _ => format!("{head}too large among {tests} cells. Measure both runs with --repetitions {wanted}."),
    }
}

/// Repetitions of both runs from which a single cell can be told among so many, at least as many as an interval of a single run wants.
fn needed(tests: usize) -> usize {
    (SURE_MIN..)
        .find(|runs| is_told(RankTest::least_p_value(std::iter::once((*runs, *runs))), tests, 1))
        .unwrap_or(SURE_MIN)
}

/// Whether `together` of so many tests that have this p-value, and no other, are called changed.
fn is_told(p_value: f64, tests: usize, together: usize) -> bool {
    p_value * f64_of(tests) / f64_of(together) < FALSE_ALARMS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_found_is_told_by_the_numbers_of_runs() {
        // python3, scipy: mannwhitneyu(range(n), range(n, 2 * n), method='exact').pvalue for n in (3, 5, 6, 7)
        assert_eq!(
            sentence((3, 3), 18, 18),
            "3 against 3 runs (18 cells): the least p there can be is 0.100, so no cell can be told alone, however large its \
             difference. Measure both runs with --repetitions 6."
        );
        assert_eq!(
            sentence((5, 5), 18, 18),
            "5 against 5 runs (18 cells): the least p there can be is 0.008, so cells are told only where 3 or more differ as \
             clearly; with --repetitions 6 each could be alone."
        );
        assert!(sentence((6, 6), 18, 18).ends_with("is 0.002, enough for each cell alone."));
        assert!(sentence((6, 6), 40, 40).ends_with("with --repetitions 7 each could be alone."));
        // A few short ones among many.
        assert!(
            sentence((5, 5), 2, 40)
                .ends_with("too large among 40 cells. Measure both runs with --repetitions 7.")
        );
        assert!(sentence((1, 1), 1, 1).contains("(1 cell): the least p there can be is 1.000, so no cell"));
    }
}
