//! In which order cells are measured.
//!
//! Every repetition is a round through all cells, each round shuffled anew. Cells of one link, workload and number of threads
//! stay together, since they are what is compared: what changes within minutes on the machine meets them alike, and the
//! values of a round can be taken as pairs. Among them those of one path are a group of their own: it is measured in turns where
//! the plan wants that.
//!
//! Invariants: the order depends on the seed, the repetition and the cells alone, so a resumed run has the same.

use std::ops::Range;

use lab::generate::Sequence;

use crate::record::Cell;

/// Repetition and indices of the cells of a path that are compared, in order.
pub(super) fn rounds(cells: &[&Cell], repetitions: Range<u32>, seed: u64) -> Vec<(u32, Vec<usize>)> {
    let groups = grouped(cells, 0..cells.len(), are_compared);
    repetitions
        .flat_map(|repetition| {
            let random = &mut Sequence::new(seed, u64::from(repetition));
            let mut groups = groups.clone();
            shuffle(&mut groups, random);
            let ordered = groups.into_iter().flat_map(|mut group| {
                shuffle(&mut group, random);
                grouped(cells, group, are_of_a_path)
            });
            ordered.map(|path| (repetition, path)).collect::<Vec<_>>()
        })
        .collect()
}

/// Those that are alike, in the order of the first of each.
fn grouped(
    cells: &[&Cell],
    indices: impl IntoIterator<Item = usize>,
    are_alike: impl Fn(&Cell, &Cell) -> bool,
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in indices {
        let is_of = |group: &&mut Vec<usize>| {
            let first = group.first().and_then(|first| cells.get(*first));
            first.zip(cells.get(index)).is_some_and(|(first, cell)| are_alike(first, cell))
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Whether ratios are taken of the two.
fn are_compared(one: &Cell, other: &Cell) -> bool {
    one.link == other.link && one.workload == other.workload && one.threads == other.threads
}

fn are_of_a_path(one: &Cell, other: &Cell) -> bool {
    one.path == other.path && one.tls == other.tls
}

/// Fisher and Yates.
pub(super) fn shuffle<T>(all: &mut [T], random: &mut Sequence) {
    for last in (1..all.len()).rev() {
        let below = u32::try_from(last + 1).unwrap_or(u32::MAX);
        all.swap(last, random.below(below) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Setting};
    use crate::results::fixture;

    #[test]
    fn every_round_has_every_cell_once_in_an_order_of_its_own_and_those_that_are_compared_together() {
        let links = ["a", "b", "c", "d"];
        let settings = [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Latency];
        let cells: Vec<Cell> = settings
            .iter()
            .flat_map(|setting| links.map(|link| fixture::cell(link, Path::Wirepress, *setting)))
            .collect();
        let cells: Vec<&Cell> = cells.iter().collect();
        let rounds = |repetitions, seed| {
            let groups = rounds(&cells, repetitions, seed).into_iter();
            groups
                .flat_map(|(repetition, group)| group.into_iter().map(move |cell| (repetition, cell)))
                .collect::<Vec<_>>()
        };
        let order = rounds(0..3, 7);
        let cells_of = |round: &[(u32, usize)]| round.iter().map(|(_, cell)| *cell).collect::<Vec<_>>();
        assert_eq!(order.len(), 60);
        for (number, round) in (0..).zip(order.chunks(20)) {
            let mut indices = cells_of(round);
            assert!(round.iter().all(|(repetition, _)| *repetition == number));
            for group in indices.chunks(5) {
                assert!(group.iter().all(|index| cells[*index].link == cells[group[0]].link), "{indices:?}");
            }
            assert!(!indices.is_sorted_by_key(|index| index % 4) && !indices[..5].is_sorted());
            indices.sort_unstable();
            assert_eq!(indices, (0..20).collect::<Vec<_>>());
        }
        assert_ne!(cells_of(&order[..20]), cells_of(&order[20..40]));
        assert_eq!(order, rounds(0..3, 7));
        assert_eq!(order[20..], rounds(1..3, 7));
        assert_ne!(order, rounds(0..3, 8));
    }

    #[test]
    fn a_path_is_a_group() {
        let settings = [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Latency];
        let paths = [Path::Wirepress, Path::WirepressPair, Path::WirepressBesideApp];
        let cells: Vec<Cell> = settings
            .iter()
            .flat_map(|setting| paths.map(|path| fixture::cell("a", path, *setting)))
            .collect();
        let cells: Vec<&Cell> = cells.iter().collect();
        let groups = rounds(&cells, 0..20, 7);
        assert_eq!(groups.len(), 60);
        for (_, path) in groups {
            assert_eq!(path.len(), 5);
            assert!(path.iter().all(|index| cells[*index].path == cells[path[0]].path), "{path:?}");
        }
    }
}
