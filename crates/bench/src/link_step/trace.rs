//! What was seen while the link changed, look by look, as a table and as CSV.
//!
//! Invariants: counts are those since the start of the first phase; a rate is that between two looks.
//!
//! Not here: looking.

use std::fmt::Write;
use std::time::Duration;

use crate::record::Setting;

/// One setting in one round.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    pub(super) round: u32,
    pub(super) setting: Setting,
    /// How long each of the three phases is.
    pub(super) phase: Duration,
    /// In the order of time.
    pub(super) looks: Vec<Look>,
}

/// What is known at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    pub(super) at_s: f64,
    /// What the reader got, before compression.
    pub(super) plain_bytes: u64,
    /// What the link carried to it.
    pub(super) link_bytes: u64,
    pub(super) frames_packed: u64,
    pub(super) frames_stored: u64,
    /// Of the last frame; empty where nothing decides.
    pub(super) decision: String,
    pub(super) reason: String,
}

impl Trace {
    /// 0 to 2.
    pub(super) fn begins_s(&self, phase: u32) -> f64 {
        (self.phase * phase).as_secs_f64()
    }

    /// The looks of a phase.
    pub(super) fn phase(&self, phase: u32) -> &[Look] {
        let at = |s: f64| self.looks.partition_point(|look| look.at_s < s);
        self.looks.get(at(self.begins_s(phase))..at(self.begins_s(phase + 1))).unwrap_or_default()
    }
}

/// Every look behind a step, and a few of the time when nothing changes.
pub(super) fn table(trace: &Trace) -> String {
    let mut text = format!(
        "The trace of {}, round {}\n{:>7} {:>11} {:>10} {:>7} {:>7}  {:<8} reason\n",
        trace.setting, trace.round, "s", "plain MB/s", "link MB/s", "packed", "stored", "decision"
    );
    let mut before = trace.looks.first();
    for look in trace.looks.iter().skip(1) {
        let Some(last) = before else { break };
        let steps = [1, 2].map(|phase| trace.begins_s(phase));
        let is_close = steps.iter().any(|step| (*step..*step + CLOSE_S).contains(&look.at_s));
        let every_s = if is_close { EVERY_CLOSE_S } else { EVERY_S };
        if look.at_s - last.at_s < every_s {
            continue;
        }
        // A String takes everything.
        writeln!(
            text,
            "{:>7.2} {:>11.1} {:>10.1} {:>7} {:>7}  {:<8} {}",
            look.at_s,
            mb_per_s(last, look, |look| look.plain_bytes),
            mb_per_s(last, look, |look| look.link_bytes),
            look.frames_packed - last.frames_packed.min(look.frames_packed),
            look.frames_stored - last.frames_stored.min(look.frames_stored),
            look.decision,
            look.reason,
        )
        .ok();
        before = Some(look);
    }
    text
}

/// Every look of every trace.
pub(super) fn csv(traces: &[Trace]) -> String {
    let mut text =
        "round,setting,at_s,plain_bytes,link_bytes,frames_packed,frames_stored,decision,reason\n".to_owned();
    for trace in traces {
        for look in &trace.looks {
            writeln!(
                text,
                "{},{},{:.4},{},{},{},{},{},{}",
                trace.round,
                trace.setting,
                look.at_s,
                look.plain_bytes,
                look.link_bytes,
                look.frames_packed,
                look.frames_stored,
                look.decision,
                look.reason
            )
            .ok();
        }
    }
    text
}

/// A rate between two looks, 10^6 bytes a second.
#[expect(clippy::cast_precision_loss, reason = "bytes of a phase are far below 2^53")]
pub(super) fn mb_per_s(from: &Look, to: &Look, bytes: fn(&Look) -> u64) -> f64 {
    bytes(to).saturating_sub(bytes(from)) as f64 / 1e6 / (to.at_s - from.at_s).max(1e-9)
}

/// Behind a step so long each line is close to the one before.
const CLOSE_S: f64 = 0.5;
const EVERY_CLOSE_S: f64 = 0.04;
const EVERY_S: f64 = 0.5;
