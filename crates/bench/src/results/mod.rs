//! What was measured, by cell and metric: what plans and reports ask.
//!
//! ```text
//!  Records (samples in the order of time) ──▶ Results ──▶ groups: a link and a workload
//!                                                         └ cells, in the order of tables
//!                                                           └ values of a metric, by repetition
//! ```
//! Invariants: a repetition counts once, and if it was measured twice (a run that went on), the later sample counts;
//! everything follows from the records alone.
//!
//! Not here: the statistics themselves (`stats`), how they are shown (`report`), other runs (`compare`).

#[cfg(test)]
pub(crate) mod fixture;
mod order;

pub use order::display_order;

use std::collections::BTreeMap;

use crate::record::{Cell, Metric, Path, Records, Setting};
use crate::stats::{Estimate, median, median_interval, paired_ratio, scoring, unpaired_ratio};

/// The values of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    cells: Vec<Cell>,
    failed: Vec<Cell>,
    rounds: BTreeMap<Cell, u32>,
    series: BTreeMap<(Cell, Metric), Series>,
}

/// Cells that are compared with each other: they share link and workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// As in [`Cell::link`].
    pub link: String,
    /// As in [`Cell::workload`].
    pub workload: String,
    /// In the order of tables.
    pub cells: Vec<Cell>,
}

/// What two cells gave in the same repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// From 0.
    pub repetition: u32,
    /// The cell's value.
    pub of: f64,
    /// The baseline's.
    pub to: f64,
}

/// Values by repetition, side by side.
#[derive(Clone, Debug, Default, PartialEq)]
struct Series {
    repetitions: Vec<u32>,
    values: Vec<f64>,
}

impl Results {
    /// Sorts a run's samples.
    #[must_use]
    pub fn of(records: &Records) -> Self {
        let mut by_repetition: BTreeMap<(Cell, Metric), BTreeMap<u32, f64>> = BTreeMap::new();
        for sample in &records.samples {
            for (metric, value) in &sample.metrics {
                let key = (sample.cell.clone(), *metric);
                by_repetition.entry(key).or_default().insert(sample.repetition, *value);
            }
        }
        let series = by_repetition
            .into_iter()
            .map(|(key, values)| {
                let (repetitions, values) = values.into_iter().unzip();
                (key, Series { repetitions, values })
            })
            .collect();
        let cells = in_display_order(records.samples.iter().map(|sample| &sample.cell));
        let failed = records.failures.iter().map(|failure| &failure.cell);
        let failed = in_display_order(failed.filter(|cell| !cells.contains(cell)));
        let measured = records.samples.iter().map(|sample| (&sample.cell, sample.repetition));
        let tried = records.failures.iter().map(|failure| (&failure.cell, failure.repetition));
        let mut rounds = BTreeMap::new();
        for (cell, repetition) in measured.chain(tried) {
            let rounds = rounds.entry(cell.clone()).or_insert(0);
            *rounds = (repetition + 1).max(*rounds);
        }
        Self { cells, failed, rounds, series }
    }

    /// The measured cells, in the order of tables.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cells that were tried and never measured, in the order of tables.
    #[must_use]
    pub fn failed(&self) -> &[Cell] {
        &self.failed
    }

    /// Behind the last repetition in which a cell was tried, whether or not that succeeded: where its rounds go on.
    #[must_use]
    pub fn rounds(&self, cell: &Cell) -> u32 {
        self.rounds.get(cell).copied().unwrap_or(0)
    }

    /// The measured cells by link and workload.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        grouped(&self.cells)
    }

    /// The metrics that any cell has, in the order of columns.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let has = |metric: &Metric| self.series.keys().any(|(_, measured)| measured == metric);
        Metric::ALL.into_iter().filter(has).collect()
    }

    /// The values of a cell, by repetition; empty where it was not measured.
    #[must_use]
    pub fn values(&self, cell: &Cell, metric: Metric) -> &[f64] {
        self.series(cell, metric).map_or(&[], |series| &series.values)
    }

    /// The median of a cell's values.
    #[must_use]
    pub fn median(&self, cell: &Cell, metric: Metric) -> Option<f64> {
        median(self.values(cell, metric))
    }

    /// The median of a cell's values, with its interval.
    #[must_use]
    pub fn interval(&self, cell: &Cell, metric: Metric) -> Option<Estimate> {
        median_interval(self.values(cell, metric))
    }

    /// How many times the baseline's value a cell's is. Values of the same repetition are pairs, since repetitions
    /// alternate between cells; values without a partner are left out. None where one of the two was not measured, or
    /// there is nothing to divide by.
    #[must_use]
    pub fn ratio(&self, cell: &Cell, baseline: &Cell, metric: Metric) -> Option<Estimate> {
        let (of, to) = (self.series(cell, metric)?, self.series(baseline, metric)?);
        ratio(of.by_repetition(), to)
    }

    /// [`Self::ratio`] over those repetitions alone on which the cell is scored when it was chosen as the best
    /// ([`Choice`](crate::stats::Choice)).
    #[must_use]
    pub fn scored_ratio(&self, cell: &Cell, baseline: &Cell, metric: Metric) -> Option<Estimate> {
        let (of, to) = (self.series(cell, metric)?, self.series(baseline, metric)?);
        ratio(scoring(of.by_repetition()), to)
    }

    /// The values of two cells in the same repetitions, by repetition; empty where one of the two was not measured.
    #[must_use]
    pub fn pairs(&self, cell: &Cell, baseline: &Cell, metric: Metric) -> Vec<Pair> {
        let by_repetition = |cell| self.series(cell, metric).into_iter().flat_map(Series::by_repetition);
        let partners: BTreeMap<u32, f64> = by_repetition(baseline).collect();
        by_repetition(cell)
            .filter_map(|(repetition, of)| Some(Pair { repetition, of, to: *partners.get(&repetition)? }))
            .collect()
    }

    fn series(&self, cell: &Cell, metric: Metric) -> Option<&Series> {
        self.series.get(&(cell.clone(), metric))
    }
}

impl Series {
    fn by_repetition(&self) -> impl Iterator<Item = (u32, f64)> {
        self.repetitions.iter().copied().zip(self.values.iter().copied())
    }
}

/// Of values by repetition to those of the same repetition.
fn ratio(of: impl Iterator<Item = (u32, f64)>, to: &Series) -> Option<Estimate> {
    let of: Vec<(u32, f64)> = of.collect();
    let partners: BTreeMap<u32, f64> = to.by_repetition().collect();
    let pairs: Vec<(f64, f64)> =
        of.iter().filter_map(|(repetition, value)| Some((*value, *partners.get(repetition)?))).collect();
    if !pairs.is_empty() {
        return paired_ratio(&pairs);
    }
    // Failures may leave repetitions that never meet.
    let values: Vec<f64> = of.into_iter().map(|(_, value)| value).collect();
    unpaired_ratio(&values, &to.values)
}

/// What a cell's "x none" is taken of: the same, uncompressed.
#[must_use]
pub fn uncompressed(cell: &Cell) -> Cell {
    cell.with(cell.path, Setting::None, cell.tls)
}

/// What a cell's "x direct" is taken of: the same without anybody between, uncompressed.
#[must_use]
pub fn direct(cell: &Cell) -> Cell {
    cell.with(Path::Direct, Setting::None, cell.tls)
}

/// Each cell once, in the order of tables.
pub(crate) fn in_display_order<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = cells.cloned().collect();
    cells.sort_by(display_order);
    cells.dedup();
    cells
}

/// Cells that are in the order of tables, by link and workload.
pub(crate) fn grouped(cells: &[Cell]) -> Vec<Group> {
    cells
        .chunk_by(|a, b| a.link == b.link && a.workload == b.workload)
        .filter_map(|cells| {
            let first = cells.first()?;
            let (link, workload) = (first.link.clone(), first.workload.clone());
            Some(Group { link, workload, cells: cells.to_vec() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::fixture::{cell, records, sample};
    use super::*;
    use crate::record::Failure;

    fn results() -> Results {
        let none = cell("unlimited", Path::Wirepress, Setting::None);
        let zlib = cell("unlimited", Path::Wirepress, Setting::Zlib);
        let slow = cell("10mbit", Path::Direct, Setting::None);
        Results::of(&records(vec![
            sample(&zlib, 1, 6.0),
            sample(&none, 0, 1.0),
            sample(&none, 1, 2.0),
            sample(&zlib, 0, 9.0),
            sample(&zlib, 0, 2.0),
            sample(&none, 2, 5.0),
            sample(&slow, 7, 8.0),
        ]))
    }

    #[test]
    fn values_are_by_repetition_and_the_later_of_two_samples_counts() {
        let results = results();
        let zlib = cell("unlimited", Path::Wirepress, Setting::Zlib);
        assert_eq!(results.values(&zlib, Metric::TimeS), [2.0, 6.0]);
        assert_eq!(results.median(&zlib, Metric::TimeS), Some(4.0));
        assert_eq!(results.interval(&zlib, Metric::TimeS).unwrap().high, 6.0);
        assert_eq!(results.values(&zlib, Metric::Count), [] as [f64; 0]);
        assert_eq!(results.median(&zlib, Metric::Count), None);
    }

    #[test]
    fn a_ratio_pairs_values_of_the_same_repetition() {
        let results = results();
        let zlib = cell("unlimited", Path::Wirepress, Setting::Zlib);
        let ratio = results.ratio(&zlib, &uncompressed(&zlib), Metric::TimeS).unwrap();
        // 2/1 and 6/2; repetition 2 has no partner.
        assert_eq!((ratio.value, ratio.low, ratio.high), (6f64.sqrt(), 2.0, 3.0));
        assert_eq!(results.ratio(&zlib, &direct(&zlib), Metric::TimeS), None);
        let slow = cell("10mbit", Path::Direct, Setting::None);
        let unpaired = results.ratio(&slow, &uncompressed(&zlib), Metric::TimeS).unwrap();
        assert_eq!((unpaired.value, unpaired.confidence), (4.0, 0.0));
    }

    #[test]
    fn a_chosen_cells_ratio_is_of_the_repetitions_that_score_it() {
        let results = results();
        let zlib = cell("unlimited", Path::Wirepress, Setting::Zlib);
        // Repetition 0 has chosen, 1 scores: 6/2.
        let ratio = results.scored_ratio(&zlib, &uncompressed(&zlib), Metric::TimeS).unwrap();
        assert_eq!((ratio.value, ratio.confidence), (3.0, 0.0));
        // A single repetition can't be split.
        let slow = cell("10mbit", Path::Direct, Setting::None);
        assert_eq!(results.scored_ratio(&slow, &uncompressed(&zlib), Metric::TimeS), None);
    }

    #[test]
    fn a_cell_is_failed_where_no_repetition_of_it_was_measured() {
        let [none, zlib] =
            [Setting::None, Setting::Zlib].map(|setting| cell("unlimited", Path::Wirepress, setting));
        let mut records = records(vec![sample(&none, 1, 2.0)]);
        records.failures = [&zlib, &none, &zlib]
            .map(|cell| Failure { cell: cell.clone(), repetition: 0, reason: "refused".to_owned() })
            .into();
        let results = Results::of(&records);
        assert_eq!((results.rounds(&none), results.rounds(&zlib)), (2, 1));
        assert_eq!((results.cells(), results.failed()), (&[none][..], &[zlib][..]));
    }

    #[test]
    fn groups_share_link_and_workload_and_the_fastest_link_comes_first() {
        let groups = results().groups();
        let named: Vec<_> = groups.iter().map(|group| (group.link.as_str(), group.cells.len())).collect();
        assert_eq!(named, [("unlimited", 2), ("10mbit", 1)]);
        assert_eq!(results().metrics(), [Metric::TimeS]);
    }
}
