//! Decisions as they happen: what changed at connections from one look to the next.
//!
//! Connections that changed to the same are one entry, so that a look adds only a handful.
//! Invariant: only the newest are kept.
//! Not here: deciding (crate `codec`).

use std::collections::{BTreeMap, HashMap, VecDeque};

use proxy::Decision;
use serde::Serialize;

use super::line::Line;

/// Some connections whose frames go another way than before.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Entry {
    /// Milliseconds since 1970.
    t: u64,
    direction: &'static str,
    choice: &'static str,
    reason: &'static str,
    /// How many.
    count: usize,
    /// One of them.
    id: u64,
    user: String,
}

#[derive(Default)]
pub(super) struct Decisions {
    seen: HashMap<u64, [Option<Decision>; 2]>,
    log: VecDeque<Entry>,
}

impl Decisions {
    /// What is new, which is kept, too.
    pub(super) fn look(&mut self, lines: &[Line], t: u64) -> Vec<Entry> {
        let mut news: BTreeMap<(&str, &str, &str), Entry> = BTreeMap::new();
        let mut seen = HashMap::with_capacity(lines.len());
        for line in lines {
            let now = line.connection.decisions;
            let before = self.seen.get(&line.id()).copied().unwrap_or_default();
            for ((direction, now), before) in ["to_server", "to_client"].into_iter().zip(now).zip(before) {
                let Some(Decision { choice, reason }) = now.filter(|_| now != before) else { continue };
                let user = || line.connection.logged_in.as_ref().map_or("", |facts| facts.user.as_str());
                let entry = news.entry((direction, choice, reason)).or_insert_with(|| Entry {
                    t,
                    direction,
                    choice,
                    reason,
                    count: 0,
                    id: line.id(),
                    user: user().to_owned(),
                });
                entry.count += 1;
            }
            seen.insert(line.id(), now);
        }
        self.seen = seen;
        let news: Vec<Entry> = news.into_values().collect();
        self.log.extend(news.iter().cloned());
        let surplus = self.log.len().saturating_sub(LOG_MAX);
        self.log.drain(..surplus);
        news
    }

    /// Oldest first.
    pub(super) const fn log(&self) -> &VecDeque<Entry> {
        &self.log
    }
}

/// Some screens full.
const LOG_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::super::line::tests::line;
    use super::*;

    const PACKED: Decision = Decision { choice: "packed", reason: "packing is faster" };
    const STORED: Decision = Decision { choice: "stored", reason: "the data does not shrink" };

    #[test]
    fn changes_are_told_once_and_equal_ones_together() {
        let mut decisions = Decisions::default();
        let mut lines: Vec<_> = (1..=3).map(|id| line(id, "app")).collect();
        assert!(decisions.look(&lines, 1).is_empty(), "nothing was decided");
        lines.iter_mut().for_each(|line| line.connection.decisions[1] = Some(PACKED));
        let news = decisions.look(&lines, 2);
        assert_eq!((news.len(), news[0].count, news[0].id, news[0].direction), (1, 3, 1, "to_client"));
        assert!(decisions.look(&lines, 3).is_empty());
        lines[1].connection.decisions[1] = Some(STORED);
        let news = decisions.look(&lines, 4);
        assert_eq!((news.len(), news[0].count, news[0].id, news[0].choice), (1, 1, 2, "stored"));
        assert_eq!(decisions.log().iter().map(|entry| entry.t).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn only_the_newest_are_kept() {
        let mut decisions = Decisions::default();
        let mut lines = [line(1, "app")];
        for t in 0..1000 {
            lines[0].connection.decisions[0] = Some(if t % 2 == 0 { PACKED } else { STORED });
            decisions.look(&lines, t);
        }
        assert_eq!((decisions.log().len(), decisions.log()[0].t), (LOG_MAX, 1000 - LOG_MAX as u64));
    }
}
