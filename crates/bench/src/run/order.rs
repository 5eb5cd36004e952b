//! In which order cells are measured.
//!
//! Every repetition is a round through all cells, each round shuffled anew: what changes slowly on the machine meets
//! all cells alike, and the values of a round can be taken as pairs.
//!
//! Invariants: the order depends on the seed, the repetition and the number of cells alone, in every version, so a resumed run
//! has the same.

use std::ops::Range;

use lab::generate::Sequence;

/// Repetition and index of the cell, in order.
pub(super) fn rounds(cells: usize, repetitions: Range<u32>, seed: u64) -> Vec<(u32, usize)> {
    repetitions
        .flat_map(|repetition| {
            let round = shuffled(cells, &mut Sequence::new(seed, u64::from(repetition)));
            round.into_iter().map(move |cell| (repetition, cell))
        })
        .collect()
}

/// Fisher and Yates.
fn shuffled(len: usize, random: &mut Sequence) -> Vec<usize> {
    let mut all: Vec<usize> = (0..len).collect();
    for last in (1..len).rev() {
        let below = u32::try_from(last + 1).unwrap_or(u32::MAX);
        all.swap(last, random.below(below) as usize);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_cell_once_in_an_order_of_its_own() {
        let order = rounds(20, 0..3, 7);
        let cells_of = |round: &[(u32, usize)]| round.iter().map(|(_, cell)| *cell).collect::<Vec<_>>();
        assert_eq!(order.len(), 60);
        for (number, round) in (0..).zip(order.chunks(20)) {
            let mut cells = cells_of(round);
            assert!(round.iter().all(|(repetition, _)| *repetition == number));
            assert!(!cells.is_sorted());
            cells.sort_unstable();
            assert_eq!(cells, (0..20).collect::<Vec<_>>());
        }
        assert_ne!(cells_of(&order[..20]), cells_of(&order[20..40]));
        assert_eq!(order, rounds(20, 0..3, 7));
        assert_eq!(order[20..], rounds(20, 1..3, 7));
        assert_ne!(order, rounds(20, 0..3, 8));
    }
}
