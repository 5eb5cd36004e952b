//! The best of several, honestly scored.
//!
//! ```text
//!  repetition    0      1      2      3      4      5
//!                choose score  choose score  choose score
//! ```
//! Whoever takes the best of twenty settings and reports its time reports its luck, too: of twenty equal settings the
//! one with the shortest median looks faster than it is. So what is best is chosen on one half of the repetitions and
//! scored on the other. The halves alternate, so that a machine that gets slower is in both.
//!
//! Invariants: no value is in both halves; the first of equal candidates is chosen.

use super::{Estimate, median, median_interval};
use crate::record::Better;

/// The candidate that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Which one.
    pub index: usize,
    /// Its median where it was chosen: too good to be reported.
    pub chosen_at: f64,
    /// Its median where it was not, with the interval.
    pub score: Estimate,
}

impl Choice {
    /// Chooses among candidates, each with its values by repetition. None where no candidate has two values, or
    /// neither way is better.
    #[must_use]
    pub fn of(candidates: &[&[f64]], better: Better) -> Option<Self> {
        let mut best: Option<(usize, f64)> = None;
        for (index, values) in candidates.iter().enumerate() {
            let (choosing, scoring) = halves(values);
            let Some(value) = median(&choosing).filter(|_| !scoring.is_empty()) else { continue };
            let is_better = best.is_none_or(|(_, least)| match better {
                Better::Less => value < least,
                Better::More => value > least,
                Better::Neither => false,
            });
            if is_better {
                best = Some((index, value));
            }
        }
        let (index, chosen_at) = best.filter(|_| better != Better::Neither)?;
        let score = median_interval(&halves(candidates.get(index)?).1)?;
        Some(Self { index, chosen_at, score })
    }
}

/// What a choice is scored on, of values in the order of repetitions.
pub fn scoring<T>(values: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    values.skip(1).step_by(2)
}

/// Values for choosing, and for scoring.
fn halves(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let values = || values.iter().copied();
    (values().step_by(2).collect(), scoring(values()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lucky_when_it_was_chosen_is_scored_where_it_was_not() {
        let lucky: &[f64] = &[1.0, 5.0, 1.2, 5.2, 1.1, 5.1];
        let steady: &[f64] = &[2.0, 2.0, 2.1, 2.1, 2.2, 2.2];
        let choice = Choice::of(&[steady, lucky], Better::Less).unwrap();
        assert_eq!((choice.index, choice.chosen_at, choice.score.value), (1, 1.1, 5.1));
        assert_eq!((choice.score.low, choice.score.high, choice.score.confidence), (5.0, 5.2, 0.75));
        assert_eq!(Choice::of(&[steady, lucky], Better::More).unwrap().index, 0);
    }

    #[test]
    fn what_cannot_be_scored_is_not_chosen() {
        assert_eq!(Choice::of(&[&[1.0], &[]], Better::Less), None);
        assert_eq!(Choice::of(&[&[1.0, 2.0]], Better::Neither), None);
        assert_eq!(Choice::of(&[&[1.0], &[3.0, 2.0]], Better::Less).unwrap().index, 1);
        assert_eq!(Choice::of(&[], Better::Less), None);
    }
}
