//! Floods of log lines: of each kind only so many a second are written, and the others counted.
//!
//! ```text
//! event ── its kind: where it is said, and side, phase and cause ──▶ among the first N of this second: written
//!                                                               └──▶ counted ── every 10 s ──▶ "1,234 more of the same"
//! ```
//! Invariants: every line is written or counted; what is counted is told within [`TELL_INTERVAL`] and a second, and at
//! the end; lines of level debug are never held back; memory is bounded.
//! Not here: writing (`log`).

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Lines of one kind that are written in a second, where nobody says otherwise.
pub(crate) const LINES_PER_SECOND: u32 = 100;

/// What holds lines back.
pub(crate) struct Flood {
    /// 0 for no limit.
    lines_per_second: AtomicU32,
    kinds: Mutex<HashMap<Kind, Window>>,
    /// Something was counted and not told.
    has_untold: AtomicBool,
}

type Kind = (Identifier, u64);

struct Window {
    begun: Instant,
    lines: u32,
    untold: Option<Untold>,
}

/// Lines that were held back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Untold {
    pub(crate) count: u64,
    since: Instant,
    pub(crate) level: Level,
    /// What they say.
    pub(crate) what: String,
}

impl Flood {
    /// So many lines of a kind in a second; 0 for no limit.
    pub(crate) fn new(lines_per_second: u32) -> Arc<Self> {
        Arc::new(Self {
            lines_per_second: lines_per_second.into(),
            kinds: Mutex::default(),
            has_untold: false.into(),
        })
    }

    /// From now on so many.
    pub(crate) fn set(&self, lines_per_second: u32) {
        self.lines_per_second.store(lines_per_second, Ordering::Relaxed);
    }

    /// Whether something waits to be told.
    pub(crate) fn has_untold(&self) -> bool {
        self.has_untold.load(Ordering::Relaxed)
    }

    /// What is to be told now; `all`: at the end.
    pub(crate) fn tell(&self, now: Instant, all: bool) -> Vec<(Untold, Duration)> {
        if !self.has_untold() {
            return Vec::new();
        }
        let mut kinds = self.lock();
        let is_due = |untold: &mut Untold| all || now.duration_since(untold.since) >= TELL_INTERVAL;
        let due: Vec<_> = kinds.values_mut().filter_map(|window| window.untold.take_if(is_due)).collect();
        self.has_untold.store(kinds.values().any(|window| window.untold.is_some()), Ordering::Relaxed);
        due.into_iter()
            .map(|untold| {
                let over = now.duration_since(untold.since);
                (untold, over)
            })
            .collect()
    }

    /// Whether this line is written.
    fn passes(&self, kind: Kind, now: Instant, level: Level, what: impl FnOnce() -> String) -> bool {
        let limit = self.lines_per_second.load(Ordering::Relaxed);
        if limit == 0 {
            return true;
        }
        let mut kinds = self.lock();
        if kinds.len() >= KINDS_MAX && !kinds.contains_key(&kind) {
            kinds.retain(|_, window| window.untold.is_some() || now.duration_since(window.begun) < WINDOW);
            if kinds.len() >= KINDS_MAX {
                return true;
            }
        }
        let window = kinds.entry(kind).or_insert(Window { begun: now, lines: 0, untold: None });
        if now.duration_since(window.begun) >= WINDOW {
            (window.begun, window.lines) = (now, 0);
        }
        if window.lines < limit {
            window.lines += 1;
            return true;
        }
        window.untold.get_or_insert_with(|| Untold { count: 0, since: now, level, what: what() }).count += 1;
        self.has_untold.store(true, Ordering::Relaxed);
        false
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Kind, Window>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Untold {
    /// `1,234 more of the same in the last 10 s: session ended`
    pub(crate) fn message(&self, over: Duration) -> String {
        let seconds = over.as_secs_f64().ceil().max(1.0);
        format!("{} more of the same in the last {seconds:.0} s: {}", grouped(self.count), self.what)
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// As a layer it is shared with the thread that tells.
pub(crate) struct FloodLayer(pub(crate) Arc<Flood>);

impl<S: Subscriber> Layer<S> for FloodLayer {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let level = *event.metadata().level();
        if level > Level::INFO {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        event.record(&mut Labels(&mut hasher));
        let kind = (event.metadata().callsite(), hasher.finish());
        self.0.passes(kind, Instant::now(), level, || {
            let mut what = What::default();
            event.record(&mut what);
            what.0 + &what.1
        })
    }
}

/// The fields by which kinds differ.
struct Labels<'a>(&'a mut DefaultHasher);

impl Visit for Labels<'_> {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if LABELS.contains(&field.name()) {
            (field.name(), value).hash(self.0);
        }
    }
}

/// The message without what differs from line to line, and the labels.
#[derive(Default)]
struct What(String, String);

impl Visit for What {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let message = format!("{value:?}");
            let end = message.find(':').unwrap_or(message.len());
            self.0.push_str(message.get(..end).unwrap_or_default());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if LABELS.contains(&field.name()) {
            // Writing to a string doesn't fail.
            write!(self.1, " {}={value}", field.name()).unwrap_or_default();
        }
    }
}

const LABELS: [&str; 3] = ["side", "phase", "cause"];
const WINDOW: Duration = Duration::from_secs(1);
/// Often enough to be seen beside what else is said, seldom enough to be no flood itself.
pub(crate) const TELL_INTERVAL: Duration = Duration::from_secs(10);
/// Far more than places in the code times causes that come up at once.
const KINDS_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use tracing::callsite::{Callsite, DefaultCallsite};

    use super::*;

    static CALLSITE: DefaultCallsite = {
        static METADATA: tracing::Metadata<'static> = tracing::metadata! {
            name: "a test's", target: "test", level: Level::WARN, fields: &[],
            callsite: &CALLSITE, kind: tracing::metadata::Kind::EVENT
        };
        DefaultCallsite::new(&METADATA)
    };

    fn says(flood: &Flood, label: u64, now: Instant) -> bool {
        flood.passes((CALLSITE.metadata().callsite(), label), now, Level::WARN, || "refused".to_owned())
    }

    #[test]
    fn of_each_kind_so_many_lines_a_second_are_written_and_the_others_told_of() {
        let (flood, begun) = (Flood::new(3), Instant::now());
        let written =
            |label, at| (0..1000).filter(|_| says(&flood, label, begun + Duration::from_millis(at))).count();
        assert_eq!([written(1, 0), written(2, 0), written(1, 999), written(1, 1000)], [3, 3, 0, 3]);
        assert!(flood.tell(begun + Duration::from_millis(9_999), false).is_empty());
        let mut told = flood.tell(begun + Duration::from_secs(10), false);
        told.sort_by_key(|(untold, _)| untold.count);
        let messages: Vec<_> = told.iter().map(|(untold, over)| untold.message(*over)).collect();
        let of = |count: &str| format!("{count} more of the same in the last 10 s: refused");
        assert_eq!(messages, [of("997"), of("2,994")]);
        assert!(!flood.has_untold());
    }

    #[test]
    fn without_a_flood_and_without_a_limit_nothing_is_held_back() {
        let (slow, unlimited, begun) = (Flood::new(3), Flood::new(0), Instant::now());
        assert!((0..100).all(|n| says(&slow, 1, begun + n * Duration::from_millis(334))));
        assert!((0..100_000).all(|_| says(&unlimited, 1, begun)));
        assert!(!slow.has_untold() && !unlimited.has_untold());
    }

    #[test]
    fn at_the_end_all_is_told_and_kinds_are_bounded() {
        let (flood, begun) = (Flood::new(1), Instant::now());
        assert_eq!((0..2).filter(|_| says(&flood, 1, begun)).count(), 1);
        assert_eq!(flood.tell(begun, true).len(), 1);
        assert!((2..10_000).all(|label| says(&flood, label, begun)));
        assert_eq!(flood.lock().len(), KINDS_MAX);
        assert!(says(&flood, 20_000, begun + WINDOW) && flood.lock().len() < KINDS_MAX);
    }
}
