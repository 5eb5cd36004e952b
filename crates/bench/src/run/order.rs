//! In which order cells are measured.
//!
//! Every repetition is a round through all cells, each round shuffled anew. Cells of one link, workload and number of threads
//! stay together, since they are what is compared: what changes within minutes on the machine meets them alike, and the
//! values of a round can be taken as pairs.
//!
//! Invariants: the order depends on the seed, the repetition and the cells alone, so a resumed run has the same.

use std::ops::Range;

use lab::generate::Sequence;

use crate::record::Cell;

/// Repetition and index of the cell, in order.
pub(super) fn rounds(cells: &[&Cell], repetitions: Range<u32>, seed: u64) -> Vec<(u32, usize)> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let is_of = |group: &&mut Vec<usize>| {
            let first = group.first().and_then(|first| cells.get(*first));
            first.is_some_and(|first| are_compared(first, cell))
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    repetitions
        .flat_map(|repetition| {
            let random = &mut Sequence::new(seed, u64::from(repetition));
            let mut groups = groups.clone();
            shuffle(&mut groups, random);
            for group in &mut groups {
                shuffle(group, random);
            }
            groups.into_iter().flatten().map(move |cell| (repetition, cell))
        })
        .collect()
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
}
