//! Sums by minute: what the proxy carried, for the last day.
//!
//! ```text
//! Live::sums (since the start) --sample--> minus what the last sample had --> added to this minute
//! ```
//! A minute is as exact as samples are frequent; whoever reads samples first.
//! Not here: who samples (`tables`, and a thread of the binary).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use proxy::{Live, Sum, SumLabels};

/// Sums by minute.
#[derive(Default)]
pub struct Totals(Mutex<State>);

#[derive(Default)]
struct State {
    seen: BTreeMap<SumLabels, Sum>,
    minutes: VecDeque<Minute>,
}

/// A minute's sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Minute {
    /// When it began: minutes since 1970, UTC.
    pub number: u64,
    /// What was carried in it, by listener and algorithms.
    pub sums: BTreeMap<SumLabels, Sum>,
}

impl Totals {
    /// Adds what was carried since the last call.
    pub fn sample(&self, live: &Live) {
        self.sample_of(live.sums());
    }

    /// The same, where the sums are known.
    pub(crate) fn sample_of(&self, sums: BTreeMap<SumLabels, Sum>) {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.add(now_s / 60, sums);
    }

    fn add(&self, number: u64, sums: BTreeMap<SumLabels, Sum>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { seen, minutes } = &mut *state;
        if minutes.back().is_none_or(|last| last.number < number) {
            minutes.push_back(Minute { number, sums: BTreeMap::new() });
            if minutes.len() > MINUTES_MAX {
                minutes.pop_front();
            }
        }
        let Some(minute) = minutes.back_mut() else { return };
        for (labels, sum) in &sums {
            let since = sum.since(&seen.get(labels).copied().unwrap_or_default());
            if since != Sum::default() {
                let entry = minute.sums.entry(labels.clone()).or_default();
                *entry = entry.plus(&since);
                // Never back to what an earlier look has found, which may come here later.
                let seen = seen.entry(labels.clone()).or_default();
                *seen = seen.plus(&since);
            }
        }
    }

    /// The minutes, oldest first.
    pub fn minutes(&self) -> Vec<Minute> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.minutes.iter().cloned().collect()
    }
}

/// A day.
const MINUTES_MAX: usize = 24 * 60;

#[cfg(test)]
mod tests {
    use proxy::Traffic;

    use super::*;

    fn sums(plain_len: u64) -> BTreeMap<SumLabels, Sum> {
        let to_server = Traffic { plain_len, ..Traffic::default() };
        let sum = Sum { sessions: 1, traffic: [to_server, Traffic::default()], ..Sum::default() };
        BTreeMap::from([(("a".to_owned(), "zstd", "zlib"), sum)])
    }

    #[test]
    fn each_minute_has_what_was_carried_in_it() {
        let totals = Totals::default();
        for (minute, plain_len) in [(10, 5), (10, 7), (11, 7), (12, 30)] {
            totals.add(minute, sums(plain_len));
        }
        let found: Vec<_> = totals
            .minutes()
            .iter()
            .map(|minute| {
                (minute.number, minute.sums.values().map(|sum| sum.traffic[0].plain_len).sum::<u64>())
            })
            .collect();
        assert_eq!(found, [(10, 7), (11, 0), (12, 23)]);
    }

    #[test]
    fn a_look_that_comes_late_counts_nothing_twice() {
        let totals = Totals::default();
        for plain_len in [5, 20, 7, 20] {
            totals.add(10, sums(plain_len));
        }
        let minutes = totals.minutes();
        assert_eq!(minutes[0].sums.values().map(|sum| sum.traffic[0].plain_len).sum::<u64>(), 20);
    }

    #[test]
    fn a_day_is_kept() {
        let totals = Totals::default();
        (0..2000).for_each(|minute| totals.add(minute, sums(minute)));
        let minutes = totals.minutes();
        assert_eq!((minutes.len(), minutes[0].number), (MINUTES_MAX, 2000 - MINUTES_MAX as u64));
    }
}
