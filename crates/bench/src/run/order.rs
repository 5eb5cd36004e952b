//! In which order cells are measured.
//!
//! Every repetition is a round through all cells, each round shuffled anew. Cells of one link, workload and number of threads
//! stay together, since they are what is compared: what changes within minutes on the machine meets them alike, and the
//! values of a round can be taken as pairs. Among them those of one path, and a policy is right beside none: a verdict hangs
//! on the ratio of these two, and a machine that others use, too, changes within seconds.
//!
//! Invariants: the order depends on the seed, the repetition and the cells alone, so a resumed run has the same.

use std::ops::Range;

use lab::generate::Sequence;

use crate::record::{Cell, Setting};

/// Repetition and index of the cell, in order.
pub(super) fn rounds(cells: &[&Cell], repetitions: Range<u32>, seed: u64) -> Vec<(u32, usize)> {
    let groups = grouped(cells, 0..cells.len(), are_compared);
    repetitions
        .flat_map(|repetition| {
            let random = &mut Sequence::new(seed, u64::from(repetition));
            let mut groups = groups.clone();
            shuffle(&mut groups, random);
            let ordered = groups.into_iter().flat_map(|group| by_path(cells, group, random));
            ordered.map(|cell| (repetition, cell)).collect::<Vec<_>>()
        })
        .collect()
}

/// Those of a group, path by path.
fn by_path(cells: &[&Cell], mut group: Vec<usize>, random: &mut Sequence) -> Vec<usize> {
    shuffle(&mut group, random);
    let mut paths = grouped(cells, group, |one, other| one.path == other.path && one.tls == other.tls);
    let is =
        |setting: Setting| move |index: &usize| cells.get(*index).is_some_and(|cell| cell.setting == setting);
    for path in &mut paths {
        let policy = path.iter().copied().find(is(Setting::Latency));
        let (Some(policy), Some(none)) = (policy, path.iter().position(is(Setting::None))) else { continue };
        let none = path.remove(none);
        let beside = path.iter().position(|index| *index == policy).unwrap_or_default();
        path.insert(beside + random.below(2) as usize, none);
    }
    paths.into_iter().flatten().collect()
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

/// Fisher and Yates.
fn shuffle<T>(all: &mut [T], random: &mut Sequence) {
    for last in (1..all.len()).rev() {
        let below = u32::try_from(last + 1).unwrap_or(u32::MAX);
        all.swap(last, random.below(below) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Path;
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
        let order = rounds(&cells, 0..3, 7);
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
        assert_eq!(order, rounds(&cells, 0..3, 7));
        assert_eq!(order[20..], rounds(&cells, 1..3, 7));
        assert_ne!(order, rounds(&cells, 0..3, 8));
    }

    #[test]
    fn paths_stay_together_and_a_policy_is_beside_none() {
        let settings = [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Latency];
        let paths = [Path::Wirepress, Path::WirepressPair, Path::WirepressBesideApp];
        let cells: Vec<Cell> = settings
            .iter()
            .flat_map(|setting| paths.map(|path| fixture::cell("a", path, *setting)))
            .collect();
        let cells: Vec<&Cell> = cells.iter().collect();
        let mut firsts = Vec::new();
        for path in rounds(&cells, 0..20, 7).chunks(5) {
            let path: Vec<&Cell> = path.iter().map(|(_, index)| cells[*index]).collect();
            assert!(path.iter().all(|cell| cell.path == path[0].path), "{path:?}");
            let place = |setting| path.iter().position(|cell| cell.setting == setting).unwrap();
            let (none, policy) = (place(Setting::None), place(Setting::Latency));
            assert_eq!(none.abs_diff(policy), 1, "{path:?}");
            firsts.push((none < policy, none.min(policy)));
        }
        // Each of the two comes first, and everywhere.
        for first in [true, false] {
            assert!((0..4).all(|place| firsts.contains(&(first, place))), "{firsts:?}");
        }
    }
}
