//! Both forms of replies in turn, until it is known which is faster.
//!
//! Source: docs/adr/0024-replies-are-tried-in-epochs.md.
//!
//! Invariants: a trial has an end; where it is close replies go stored, which costs nobody anything.
//! Not here: what an epoch counts, and how long what was found is believed (`replies`).

use std::time::Duration;

/// Both forms in turn.
#[derive(Debug)]
pub(super) struct Trial {
    /// The form of the first epoch.
    pub(super) packs_first: bool,
    /// Until connections that have just come are under way, which is no form's doing.
    pub(super) is_new: bool,
    /// Stored was found the last time.
    confirms_stored: bool,
    /// The core that packs was never idle in the last stored epoch, or in those behind which stored was found before.
    pub(super) core_was_full: bool,
    /// In the order of [`PATTERN`].
    pub(super) epochs: Vec<Seen>,
}

/// What an epoch has shown.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    /// Median.
    pub(super) cycle_s: f64,
    /// From one reply to the next of any connection.
    pub(super) reply_s: f64,
    /// Of all those replies.
    pub(super) time_s: f64,
    pub(super) sessions: usize,
}

impl Seen {
    pub(super) const fn are_many(&self) -> bool {
        self.sessions >= MANY
    }

    /// What forms are compared by. Of few connections the median, which a hiccup doesn't touch. Of many those that wait for a lost
    /// segment have no cycle to show, and leave the link to the others.
    const fn compared_s(&self, are_many: bool) -> f64 {
        if are_many { self.reply_s } else { self.cycle_s }
    }

    fn replies(&self) -> f64 {
        self.time_s / self.reply_s
    }

    /// Whether what was found of the same form was another situation. A link that has become the limit makes stored replies slower,
    /// never faster.
    pub(super) fn is_other(&self, found: &Self, packs: bool) -> bool {
        let are_many = self.are_many() && found.are_many();
        let ratio = self.compared_s(are_many) / found.compared_s(are_many);
        ratio > SHIFT || (packs && ratio < 1.0 / SHIFT)
    }

    pub(super) fn follow(&mut self, later: &Self) {
        self.cycle_s += (later.cycle_s - self.cycle_s) * FOLLOWS;
        self.reply_s += (later.reply_s - self.reply_s) * FOLLOWS;
    }
}

/// What a trial has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) packs: bool,
    /// It's not close.
    pub(super) is_clear: bool,
}

impl Trial {
    /// It begins with the form that is sent anyway.
    pub(super) const fn beginning_with(packs: bool, belief: Option<(bool, Duration)>) -> Self {
        let confirms_stored = matches!(belief, Some((false, _)));
        let core_was_full = confirms_stored;
        Self { packs_first: packs, is_new: false, confirms_stored, core_was_full, epochs: Vec::new() }
    }

    /// The same behind an epoch that doesn't count, if sessions are new.
    pub(super) fn behind(self, is_new: bool) -> Self {
        Self { is_new, ..self }
    }

    /// Whether the next epoch's replies are packed.
    pub(super) fn form(&self) -> bool {
        self.form_of(self.epochs.len())
    }

    fn form_of(&self, epoch: usize) -> bool {
        PATTERN.get(epoch % PATTERN.len()).is_some_and(|is_first| *is_first == self.packs_first)
    }

    /// What the epochs of a form have shown, the middle one.
    pub(super) fn seen_of(&self, packs: bool) -> Option<Seen> {
        let epochs = self.epochs.iter().enumerate();
        let mut epochs: Vec<Seen> =
            epochs.filter(|(epoch, _)| self.form_of(*epoch) == packs).map(|(_, seen)| *seen).collect();
        epochs.sort_by(|one, other| one.reply_s.total_cmp(&other.reply_s));
        epochs.get(epochs.len() / 2).copied()
    }

    /// Whether packed is faster, once that is known.
    pub(super) fn verdict(&self, is_segment: bool) -> Option<Verdict> {
        if !self.epochs.len().is_multiple_of(2) {
            return None;
        }
        let are_many = self.epochs.first().is_some_and(Seen::are_many);
        let pairs = self.epochs.chunks_exact(2).enumerate();
        let mut ratios: Vec<f64> = pairs
            .filter_map(|(pair, epochs)| match (self.form_of(pair * 2), epochs) {
                (true, [packed, stored]) | (false, [stored, packed]) => {
                    Some(packed.compared_s(are_many) / stored.compared_s(are_many))
                }
                _ => None,
            })
            .collect();
        let count = ratios.len();
        let clearly = |packs| Some(Verdict { packs, is_clear: true });
        if count >= 2 && ratios.iter().all(|ratio| *ratio > CLEARLY_SLOWER) {
            return clearly(false);
        }
        // A trial is dear then, and one pair will do where it says so by far, or what was found before.
        let slower = if self.confirms_stored && !is_segment { CLEARLY_SLOWER } else { MUCH_SLOWER };
        if !self.packs_first && are_many && ratios.iter().all(|ratio| *ratio > slower) {
            return clearly(false);
        }
        // Few say it as well, in many replies each.
        let are_sure = self.epochs.iter().all(|seen| seen.replies() >= SURE);
        if !self.packs_first && are_sure && ratios.iter().all(|ratio| *ratio > FAR_SLOWER) {
            return clearly(false);
        }
        // Where it was expected, and many say so, one pair will do; not where stored replies kept the core full, so that it wasn't
        // the link that they waited for.
        let much = if self.packs_first && are_many && !self.core_was_full { 1 } else { 2 };
        if count >= much && ratios.iter().all(|ratio| *ratio < MUCH_FASTER) {
            return clearly(true);
        }
        if count >= 3 && ratios.iter().all(|ratio| *ratio < CLEARLY_FASTER) {
            return clearly(true);
        }
        // It can't be all but one any more, by far where replies of a segment are compared: stored ones cost nobody anything.
        let limit = if is_segment { CLEARLY_FASTER } else { 1.0 };
        if ratios.iter().filter(|ratio| **ratio >= limit).count() > 1 {
            return Some(Verdict { packs: false, is_clear: median(&mut ratios) > CLEARLY_SLOWER });
        }
        (count >= PAIRS_MAX).then(|| Verdict { packs: median(&mut ratios) < FASTER, is_clear: false })
    }
}

pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Connections with a reply in an epoch, from which on they are many.
pub(super) const MANY: usize = 12;
/// Replies in an epoch whose median no hiccup changes.
const SURE: f64 = 30.0;
/// Epochs of the first form; each stands as often before the other as behind it.
const PATTERN: [bool; 4] = [true, false, false, true];
/// Cycles that are so many times what they were are another situation.
const SHIFT: f64 = 1.5;
/// Of a difference, with each epoch.
const FOLLOWS: f64 = 0.25;
/// Ratios of packed to stored.
const CLEARLY_SLOWER: f64 = 1.03;
const MUCH_SLOWER: f64 = 1.1;
const FAR_SLOWER: f64 = 1.3;
const CLEARLY_FASTER: f64 = 0.9;
pub(super) const MUCH_FASTER: f64 = 0.7;
const FASTER: f64 = 0.98;
const PAIRS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_enough_pairs() {
        let of_one = |packs_first, times_s: &[f64], sessions, belief, is_segment| {
            let seen =
                |time_s: &f64| Seen { cycle_s: *time_s, reply_s: *time_s, sessions, ..Seen::default() };
            let epochs = times_s.iter().map(seen).collect();
            let trial = Trial { epochs, ..Trial::beginning_with(packs_first, belief) };
            trial.verdict(is_segment).map(|verdict| (verdict.packs, verdict.is_clear))
        };
        let of = |packs_first, times_s: &[f64], sessions| of_one(packs_first, times_s, sessions, None, false);
        let again = |times_s: &[f64], found| of_one(false, times_s, 64, Some((found, Duration::ZERO)), false);
        let segments = |times_s: &[f64], sessions| of_one(false, times_s, sessions, None, true);
        let verdict = |packs_first, times_s: &[f64]| of(packs_first, times_s, 8);
        assert_eq!(verdict(false, &[1.0, 0.8, 0.8, 1.0]), None);
        assert_eq!(verdict(false, &[1.0, 0.5, 0.6, 1.0]), Some((true, true)));
        assert_eq!(verdict(false, &[1.0, 0.5]), None);
        assert_eq!(verdict(false, &[1.0, 0.8, 0.8, 1.0, 1.0, 0.8]), Some((true, true)));
        assert_eq!(verdict(false, &[1.0, 1.2, 1.2, 1.0]), Some((false, true)));
        assert_eq!(verdict(false, &[1.0, 1.2]), None);
        assert_eq!(verdict(true, &[0.5, 1.0]), None);
        assert_eq!(of(true, &[0.5, 1.0], 64), Some((true, true)));
        let seen = |reply_s| Seen { cycle_s: reply_s, reply_s, sessions: 64, ..Seen::default() };
        let on_a_full_core = Trial {
            core_was_full: true,
            epochs: [0.5, 1.0].map(seen).into(),
            ..Trial::beginning_with(true, None)
        };
        assert_eq!(on_a_full_core.verdict(false), None);
        assert_eq!((of(true, &[0.8, 1.0], 64), of(false, &[1.0, 0.5], 64)), (None, None));
        assert_eq!(of(false, &[1.0, 1.3], 64), Some((false, true)));
        assert_eq!((of(true, &[1.3, 1.0], 64), of(false, &[1.0, 1.3], 8)), (None, None));
        let of_few = |times_s: &[f64], replies: f64| {
            let seen = |time_s: &f64| Seen {
                cycle_s: *time_s,
                reply_s: *time_s,
                time_s: *time_s * replies,
                sessions: 1,
            };
            let epochs = times_s.iter().map(seen).collect();
            let trial = Trial { epochs, ..Trial::beginning_with(false, None) };
            trial.verdict(false).map(|verdict| (verdict.packs, verdict.is_clear))
        };
        assert_eq!(of_few(&[1.0, 1.4], 40.0), Some((false, true)));
        assert_eq!((of_few(&[1.0, 1.4], 20.0), of_few(&[1.0, 1.2], 40.0)), (None, None));
        assert_eq!((again(&[1.0, 1.1], false), again(&[1.0, 1.1], true)), (Some((false, true)), None));
        let slightly = [1.0, 0.95, 0.95, 1.0];
        assert_eq!([64, 8].map(|sessions| segments(&slightly, sessions)), [Some((false, false)); 2]);
        assert_eq!(segments(&[1.0, 1.1, 0.6, 1.0, 1.0, 0.6], 64), None);
        assert_eq!(segments(&[1.0, 0.6, 0.6, 1.0], 64), Some((true, true)));
        assert_eq!((again(&[1.0, 1.02], false), again(&[1.0, 0.5], false)), (None, None));
        assert_eq!(verdict(true, &[1.2, 1.0, 1.0, 1.2]), Some((false, true)));
        assert_eq!(verdict(false, &[1.0, 0.99, 1.1, 1.0, 1.0, 1.1]), Some((false, true)));
        let close: Vec<f64> = [1.0, 0.99, 0.99, 1.0].repeat(4);
        assert_eq!(verdict(false, &close), Some((false, false)));
        let gain: Vec<f64> = [1.0, 0.95, 0.95, 1.0].repeat(4);
        assert_eq!((verdict(false, &gain[..8]), verdict(false, &gain)), (None, Some((true, false))));
    }

    #[test]
    fn stored_replies_are_another_situation_where_they_come_slower_and_packed_ones_where_faster_too() {
        let seen = |reply_s| Seen { cycle_s: 1.0, reply_s, time_s: 1.0, sessions: 64 };
        let mut found = seen(1.0);
        let others = |found: &Seen, packs| [0.6, 0.7, 1.4, 1.6].map(|s| seen(s).is_other(found, packs));
        assert_eq!(others(&found, false), [false, false, false, true]);
        assert_eq!(others(&found, true), [true, false, false, true]);
        for _ in 0..4 {
            found.follow(&seen(1.4));
        }
        assert_eq!(others(&found, false), [false; 4]);
    }
}
