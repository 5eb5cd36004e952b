//! Replies that are under way, and how fast plain bytes of them come.
//!
//! ```text
//!  replies of all sessions   │▒▒▒▒ open ▒▒▒▒│      │▒▒ open ▒▒│   ▒ counts: 8 MB of plain bytes or 0.25 s are a window
//! ```
//! Not here: what follows from it (`super`).

use std::time::Duration;

use super::{Came, Packing};

/// A window is told of when it is complete, by whatever completes it.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// How many, by what they are packed with.
    open: Vec<(Packing, u32)>,
    /// Those of them whose client held them back.
    held: u32,
    /// Until then `time_s` counts.
    since: Duration,
    /// In which one was open.
    time_s: f64,
    plain_len: f64,
    wire_len: f64,
    packing: Option<Packing>,
    /// Not all packed alike, or a client was waited for.
    is_void: bool,
}

impl Window {
    /// A reply is under way, of which something has come.
    pub(super) fn begin(&mut self, now: Duration, packing: Packing) {
        if self.open.is_empty() {
            if self.packing != Some(packing) || self.is_void {
                *self = Self { packing: Some(packing), ..Self::default() };
            }
            self.since = now;
        }
        match self.open.iter_mut().find(|(open, _)| *open == packing) {
            Some((_, count)) => *count += 1,
            None => self.open.push((packing, 1)),
        }
        self.is_void |= self.packing != Some(packing);
    }

    /// So much more of it came.
    pub(super) fn got(&mut self, now: Duration, plain_len: u64, wire_len: u64) -> Option<(Packing, Came)> {
        self.plain_len += plain_len as f64;
        self.wire_len += wire_len as f64;
        self.pass(now);
        (self.time_s >= WINDOW_S || self.plain_len >= WINDOW_LEN).then(|| self.goes_on()).flatten()
    }

    /// Its client takes no more for now.
    pub(super) const fn holds(&mut self) {
        self.held += 1;
        self.is_void = true;
    }

    /// It is complete, or will never be; whether its client held it back.
    pub(super) fn end(&mut self, now: Duration, packing: Packing, was_held: bool) -> Option<(Packing, Came)> {
        self.pass(now);
        for (open, count) in &mut self.open {
            *count -= u32::from(*open == packing).min(*count);
        }
        self.open.retain(|(_, count)| *count > 0);
        self.held = self.held.saturating_sub(u32::from(was_held));
        // What was not enough is added to the next one's.
        let is_complete = self.open.is_empty() && (self.plain_len >= LEAST_LEN || self.is_void);
        is_complete.then(|| self.goes_on()).flatten()
    }

    /// The next one begins, with the replies that are under way; what this one has shown, if it says anything.
    fn goes_on(&mut self) -> Option<(Packing, Came)> {
        let next = Self {
            packing: self.open.first().map_or(self.packing, |(packing, _)| Some(*packing)),
            is_void: self.open.len() > 1 || self.held > 0,
            open: std::mem::take(&mut self.open),
            held: self.held,
            since: self.since,
            ..Self::default()
        };
        let Self { time_s, plain_len, wire_len, packing, is_void, .. } = std::mem::replace(self, next);
        let says_something = !is_void && plain_len >= LEAST_LEN && time_s > 0.0;
        packing.filter(|_| says_something).map(|packing| (packing, Came { time_s, plain_len, wire_len }))
    }

    fn pass(&mut self, now: Duration) {
        self.time_s += now.saturating_sub(self.since).as_secs_f64();
        self.since = self.since.max(now);
    }
}

/// Shorter replies are in buffers at once.
const LEAST_LEN: f64 = 256.0 * 1024.0;
const WINDOW_LEN: f64 = 8e6;
const WINDOW_S: f64 = 0.25;
