//! What is shown: rates out of two samples, and the connections, filtered and sorted.
//!
//! ```text
//! sample ─┐
//! sample ─┴─▶ rates ─▶ history (sparklines)
//!             lines ─▶ filter ─▶ sort ─▶ shown, one of them selected
//! ```
//! Pure: time comes with the samples. Not here: keys (`keys`), drawing (`screen`).

use std::collections::{HashMap, VecDeque};

use super::column::Column;
use super::sample::{Counts, Sample, Session};

/// What one direction of one leg, or several, carry now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    /// Bytes per second.
    pub(super) plain: f64,
    /// Bytes per second.
    pub(super) packed: f64,
    /// CPUs.
    pub(super) cpu: f64,
}

/// A connection, and what it carries now; `None` after the first sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) session: Session,
    pub(super) rates: Option<[Rates; 4]>,
}

/// What the next key is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// Moving about.
    List,
    /// The filter's text.
    Filter,
    /// Whether to kill this connection.
    Kill { id: u64, whose: String },
    /// Leaving the help.
    Help,
}

/// What is shown.
pub(super) struct View {
    last: Option<Sample>,
    lines: Vec<Line>,
    /// Newest first, in the order of `Flow::NAMES`.
    pub(super) history: VecDeque<[Rates; 4]>,
    pub(super) sort: Column,
    pub(super) descending: bool,
    pub(super) filter: String,
    /// The selected connection, and its place in case that it ends; `None` stays at the top.
    selected: Option<(u64, usize)>,
    pub(super) mode: Mode,
    pub(super) is_paused: bool,
    /// Why the admin port can't be asked.
    pub(super) lost: Option<String>,
    /// What came of the last order, until the next key.
    pub(super) notice: Option<String>,
}

impl View {
    pub(super) const fn new() -> Self {
        Self {
            last: None,
            lines: Vec::new(),
            history: VecDeque::new(),
            sort: Column::Plain,
            descending: true,
            filter: String::new(),
            selected: None,
            mode: Mode::List,
            is_paused: false,
            lost: None,
            notice: None,
        }
    }

    /// Takes a sample in, unless it is paused.
    pub(super) fn accept(&mut self, sample: Sample) {
        self.lost = None;
        if self.is_paused {
            return;
        }
        let earlier = self.last.as_ref().filter(|last| last.at < sample.at);
        let seconds = earlier.map(|last| (sample.at - last.at).as_secs_f64());
        if let (Some(last), Some(seconds)) = (earlier, seconds) {
            self.history.push_front(carried(last, &sample).map(|counts| Rates::of(counts, seconds)));
            self.history.truncate(HISTORY_MAX);
        }
        let known: HashMap<u64, &Session> =
            earlier.iter().flat_map(|last| &last.sessions).map(|session| (session.id, session)).collect();
        let line = |session: &Session| {
            // One that is new has carried all of its bytes since the last sample.
            let before = known.get(&session.id).map(|it| it.flows).unwrap_or_default();
            let mut counts = session.flows;
            counts.iter_mut().zip(before).for_each(|(now, before)| *now = now.since(before));
            let rates = seconds.map(|seconds| counts.map(|counts| Rates::of(counts, seconds)));
            Line { session: session.clone(), rates }
        };
        self.lines = sample.sessions.iter().map(line).collect();
        self.last = Some(sample);
    }

    /// The admin port can't be asked; what was seen last stays.
    pub(super) fn lose(&mut self, why: String) {
        self.lost = Some(why);
    }

    /// Whoever answers now may be another process, whose counters begin anew.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// The connections that pass the filter, in order.
    pub(super) fn shown(&self) -> Vec<&Line> {
        let filter = self.filter.to_lowercase();
        let mut shown: Vec<&Line> = self.lines.iter().filter(|line| line.matches(&filter)).collect();
        shown.sort_by(|a, b| {
            let order = self.sort.compare(a, b);
            let order = if self.descending { order.reverse() } else { order };
            order.then(a.session.id.cmp(&b.session.id))
        });
        shown
    }

    /// How many connections there are, and how many of them run a command.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.iter().filter(|line| line.session.command != "Sleep").count())
    }

    /// The selected place among those shown; `None` if there is nothing.
    pub(super) fn place(&self, shown: &[&Line]) -> Option<usize> {
        let last = shown.len().checked_sub(1)?;
        let Some((id, place)) = self.selected else { return Some(0) };
        Some(shown.iter().position(|line| line.session.id == id).unwrap_or_else(|| place.min(last)))
    }

    /// Selects another place, `by` further down. The first place is the place, whoever is there.
    pub(super) fn go(&mut self, by: isize) {
        let shown = self.shown();
        let Some(place) = self.place(&shown) else { return };
        let place = place.saturating_add_signed(by).min(shown.len() - 1);
        let selected = shown.get(place).map(|line| (line.session.id, place));
        self.selected = selected.filter(|_| place > 0);
    }

    /// Asks whether the selected connection is to be killed.
    pub(super) fn ask_to_kill(&mut self) {
        let shown = self.shown();
        let Some(line) = self.place(&shown).and_then(|place| shown.get(place)) else { return };
        let Session { id, user, host, .. } = &line.session;
        self.mode = Mode::Kill { id: *id, whose: format!("{user}@{host}") };
    }

    /// Sorts by this; again by the same turns the order round.
    pub(super) fn sort_by(&mut self, column: Column) {
        self.descending = if self.sort == column { !self.descending } else { column.is_number() };
        self.sort = column;
    }
}

impl Line {
    fn matches(&self, filter: &str) -> bool {
        let Session { user, host, server, database, command, legs, .. } = &self.session;
        let [client, to_server] = legs;
        [user, host, server, database, command, client, to_server]
            .iter()
            .any(|text| text.to_lowercase().contains(filter))
    }

    /// The client leg's rates, and the server leg's, both directions of each.
    pub(super) fn legs(&self) -> Option<[Rates; 2]> {
        self.rates.map(|[a, b, c, d]| [a.plus(b), c.plus(d)])
    }

    /// The same for ratios, since the login.
    pub(super) fn ratios(&self) -> [Option<f64>; 2] {
        let [a, b, c, d] = self.session.flows;
        [a.plus(b).ratio(), c.plus(d).ratio()]
    }
}

impl Rates {
    fn of(counts: Counts, seconds: f64) -> Self {
        Self {
            plain: counts.plain_len as f64 / seconds,
            packed: counts.packed_len as f64 / seconds,
            cpu: counts.cpu_ns as f64 / 1e9 / seconds,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            plain: self.plain + other.plain,
            packed: self.packed + other.packed,
            cpu: self.cpu + other.cpu,
        }
    }

    /// Plain per packed; `None` while nothing passes.
    pub(super) fn ratio(self) -> Option<f64> {
        (self.packed > 0.0).then(|| self.plain / self.packed)
    }
}

/// What was carried between two samples. Only the newest minute of the earlier one can have grown since.
fn carried(earlier: &Sample, later: &Sample) -> [Counts; 4] {
    let newest = earlier.minutes.iter().map(|(minute, _)| minute).max();
    let mut sum = [Counts::default(); 4];
    for (minute, flows) in later.minutes.iter().filter(|(minute, _)| newest.is_none_or(|it| minute >= it)) {
        let before = earlier.minutes.iter().find(|(known, _)| known == minute);
        let before = before.map(|(_, flows)| *flows).unwrap_or_default();
        for ((sum, now), before) in sum.iter_mut().zip(flows).zip(before) {
            *sum = sum.plus(now.since(before));
        }
    }
    sum
}

/// More than a screen is wide.
const HISTORY_MAX: usize = 512;

#[cfg(test)]
mod tests;
