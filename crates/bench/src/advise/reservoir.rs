//! A sample of a stream whose length nobody knows: each item is kept with the same probability.
//!
//! ```text
//!  items ─▶ choose: a place, or none ─▶ (only then is the item made) ─▶ put
//! ```
//! Invariants: at most as many items as there are places; which ones depends on the seed and the items' order alone.
//!
//! Source: J. S. Vitter, "Random Sampling with a Reservoir", 1985, algorithm R.
//!
//! Not here: what is sampled.

use lab::generate::Sequence;

/// The sample.
#[derive(Debug)]
pub(crate) struct Reservoir<T> {
    kept: Vec<T>,
    places: usize,
    seen: u64,
    sequence: Sequence,
}

impl<T> Reservoir<T> {
    /// Nothing yet.
    pub(crate) fn new(places: usize, seed: u64) -> Self {
        Self { kept: Vec::new(), places, seen: 0, sequence: Sequence::new(seed, 0) }
    }

    /// The place of the next item; none if it is not to be kept.
    pub(crate) fn choose(&mut self) -> Option<usize> {
        self.seen += 1;
        let place = match usize::try_from(self.seen) {
            Ok(seen) if seen <= self.places => seen - 1,
            // The n-th item takes a place with probability places/n.
            _ => self.sequence.below(u32::try_from(self.seen).unwrap_or(u32::MAX)) as usize,
        };
        (place < self.places).then_some(place)
    }

    /// Puts a chosen item into its place.
    pub(crate) fn put(&mut self, place: usize, item: T) {
        // Of items that were chosen and never made nothing is left but their place: the next one fills it.
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = item;
        } else if self.kept.len() < self.places {
            self.kept.push(item);
        }
    }

    /// Chooses and puts.
    pub(crate) fn offer(&mut self, item: T) {
        if let Some(place) = self.choose() {
            self.put(place, item);
        }
    }

    /// How many items there were.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// What is kept.
    pub(crate) fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_items_are_kept_as_often_as_early_ones() {
        let mut reservoir = Reservoir::new(100, 1);
        for number in 0..20_000u32 {
            reservoir.offer(number);
        }
        assert_eq!((reservoir.kept().len(), reservoir.seen()), (100, 20_000));
        let late = reservoir.kept().iter().filter(|number| **number >= 10_000).count();
        // Half of 100, six standard deviations are 30.
        assert!(late.abs_diff(50) < 30, "{late}");
    }

    #[test]
    fn the_same_seed_keeps_the_same_items() {
        let kept = |seed| {
            let mut reservoir = Reservoir::new(10, seed);
            (0..1000u32).for_each(|number| reservoir.offer(number));
            reservoir.kept().to_vec()
        };
        assert_eq!(kept(1), kept(1));
        assert_ne!(kept(1), kept(2));
    }

    #[test]
    fn a_chosen_item_that_never_comes_leaves_no_hole() {
        let mut reservoir = Reservoir::new(2, 1);
        assert_eq!((reservoir.choose(), reservoir.choose()), (Some(0), Some(1)));
        reservoir.put(1, 'b');
        assert_eq!(reservoir.kept(), ['b']);
    }
}
