//! What the web page shows: sampled once for all pages that are open.
//!
//! ```text
//!             every second
//! proxy::Live ────────────▶ sums ────────▶ rates ─▶ history, the last minutes
//!                           connections ─▶ lines, links, decisions     only while a page is open
//!                                               │
//!              one text for all ────────────────┴─▶ audience ─▶ each page's own short queue
//! ```
//! Invariants: however many pages are open, a sample is taken and written once; a page that doesn't read is dropped and
//! not waited for; what is kept has a bound.
//! Not here: HTTP (`answers`), the page itself (`page/`).

mod audience;
mod decisions;
mod line;
mod order;
mod rate;
mod scope;
mod state;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;
use proxy::{Live, Sum, SumLabels};
use serde::Serialize;
use tokio::sync::mpsc::Receiver;

use self::audience::Audience;
use self::decisions::{Decisions, Entry};
use self::line::Line;
pub(crate) use self::order::Order;
use self::state::State;
use crate::{Flow, Prices};

/// What the pages are told. Shared by the sampler and the port.
pub(crate) struct Feed {
    live: Live,
    prices: Prices,
    held: Mutex<Held>,
}

struct Held {
    /// The sums of the last sample.
    sums: (Instant, BTreeMap<SumLabels, Sum>),
    look: Option<Look>,
    /// Oldest first.
    history: VecDeque<Point>,
    decisions: Decisions,
    audience: Audience,
}

/// All connections at one moment.
#[derive(Clone)]
struct Look {
    at: Instant,
    /// Since the look before; `None` if there was none.
    seconds: Option<f64>,
    lines: Arc<Vec<Line>>,
}

/// A second of the charts.
#[derive(Serialize)]
struct Point {
    /// Milliseconds since 1970.
    t: u64,
    open: u64,
    flows: BTreeMap<String, [u64; 12]>,
}

#[derive(Serialize)]
struct Sample<'a> {
    point: &'a Point,
    decisions: &'a [Entry],
    /// Connections of the links that the point has.
    sessions: BTreeMap<String, usize>,
    state: State,
}

#[derive(Serialize)]
struct Hello<'a> {
    version: &'static str,
    prices: [Option<f64>; 2],
    history_max: usize,
    history: &'a VecDeque<Point>,
    decisions: &'a VecDeque<Entry>,
    state: State,
}

#[derive(Serialize)]
struct Top<'a> {
    open: usize,
    matching: usize,
    offset: usize,
    rows: Vec<line::Row<'a>>,
}

impl Feed {
    pub(crate) fn new(live: Live, prices: Prices) -> Self {
        let held = Held {
            sums: (Instant::now(), live.sums()),
            look: None,
            history: VecDeque::new(),
            decisions: Decisions::default(),
            audience: Audience::default(),
        };
        Self { live, prices, held: Mutex::new(held) }
    }

    /// Takes a sample and tells it to the pages that are open. `sums` are the proxy's now.
    pub(crate) fn sample(&self, sums: BTreeMap<SumLabels, Sum>) {
        let is_watched = self.held().audience.len() > 0;
        let look = is_watched.then(|| self.look());
        let mut held = self.held();
        let held = &mut *held;
        let now = Instant::now();
        let (before, earlier) = std::mem::replace(&mut held.sums, (now, sums));
        let (_, sums) = &held.sums;
        let mut flows = rates(scope::of_sums(&earlier, sums), (now - before).as_secs_f64());
        if let Some(Look { seconds: Some(seconds), lines, .. }) = &look {
            flows.extend(rates(scope::of_links(lines), *seconds));
        }
        let t = since_1970_ms();
        let point = Point { t, open: self.live.sessions().1, flows };
        if let Some(Look { lines, .. }) = &look {
            let news = held.decisions.look(lines, t);
            let state = State::now(&self.live, self.prices, sums, lines);
            let mut sessions = scope::sessions(lines);
            sessions.retain(|name, _| point.flows.contains_key(name));
            held.audience.tell(event("sample", &Sample { point: &point, decisions: &news, sessions, state }));
        }
        held.history.push_back(point);
        if held.history.len() > HISTORY_MAX {
            held.history.pop_front();
        }
    }

    /// A page is opened: what it is told, first of all what was. `None` if too many are.
    pub(crate) fn join(&self) -> Option<Receiver<Bytes>> {
        let lines = self.lines();
        let mut held = self.held();
        let held = &mut *held;
        held.decisions.look(&lines, since_1970_ms());
        let state = State::now(&self.live, self.prices, &self.live.sums(), &lines);
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION"),
            prices: [self.prices.per_gb, self.prices.per_core_hour],
            history_max: HISTORY_MAX,
            history: &held.history,
            decisions: held.decisions.log(),
            state,
        };
        let hello = event("hello", &hello);
        held.audience.join(hello)
    }

    /// The connections in this order, as JSON.
    pub(crate) fn top(&self, order: &Order) -> String {
        let lines = self.lines();
        let (matching, shown) = order.apply(&lines);
        let rows = shown.into_iter().map(Line::row).collect();
        let top = Top { open: lines.len(), matching, offset: order.offset, rows };
        serde_json::to_string(&top).unwrap_or_default()
    }

    /// The connections of the last look, if it isn't old.
    fn lines(&self) -> Arc<Vec<Line>> {
        let fresh = self.held().look.as_ref().filter(|look| look.at.elapsed() < LOOK_AGE_MAX).cloned();
        fresh.unwrap_or_else(|| self.look()).lines
    }

    /// Looks at all connections.
    fn look(&self) -> Look {
        let connections = self.live.connections();
        let now = Instant::now();
        let mut held = self.held();
        let earlier = held.look.as_ref();
        let seconds = earlier.map(|look| (now - look.at).as_secs_f64()).filter(|seconds| *seconds > 0.0);
        let known: HashMap<u64, [Flow; 4]> =
            earlier.iter().flat_map(|look| look.lines.iter()).map(|line| (line.id(), line.flows)).collect();
        let line = |connection| Line::new(connection, seconds, &known);
        let lines: Arc<Vec<Line>> = Arc::new(connections.into_iter().map(line).collect());
        held.look.insert(Look { at: now, seconds, lines }).clone()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rates(scopes: BTreeMap<String, [Flow; 4]>, seconds: f64) -> BTreeMap<String, [u64; 12]> {
    scopes.into_iter().map(|(name, flows)| (name, rate::per_second(&flows, seconds))).collect()
}

/// As a stream of events has it. JSON has no line breaks.
fn event(name: &str, value: &impl Serialize) -> Bytes {
    let json = serde_json::to_string(value).unwrap_or_default();
    format!("event: {name}\ndata: {json}\n\n").into()
}

fn since_1970_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds that a fresh page shows: five minutes.
const HISTORY_MAX: usize = 300;
/// A list that is older is made anew; while a page is open it is a second old at most.
const LOOK_AGE_MAX: Duration = Duration::from_millis(1500);
