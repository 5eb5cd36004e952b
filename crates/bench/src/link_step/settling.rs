//! How soon a trace is near the best rate of its phase again.
//!
//! ```text
//!  step        ┌── a window of 0.1 s whose rate is 90 % of the optimum, and so is that of all that follows
//!  │▁▁▁▂▂▃▅▆▇▇[█████]████████████│
//!  └─ settled ─┘         └─ the half in which the optimum is measured, by every setting
//! ```
//! Invariants: follows from the traces alone.
//!
//! Not here: taking them.

use std::fmt;

use super::trace::{Look, Trace, mb_per_s};
use crate::record::Setting;
use crate::stats::median;

/// The best rate of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Optimum {
    pub(super) setting: Setting,
    /// What the reader gets, before compression: the median of the rounds.
    pub(super) mb_per_s: f64,
}

/// When a trace was near it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settled {
    /// Since the step.
    pub(super) after_s: f64,
    /// What the link carried meanwhile.
    pub(super) after_bytes: u64,
}

impl Optimum {
    /// Of a phase, over all settings.
    pub(super) fn of(traces: &[Trace], phase: u32) -> Option<Self> {
        let all = settings(traces).into_iter();
        let rates = all.filter_map(|setting| Some((setting, steady(traces, setting, phase)?)));
        rates.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(setting, mb_per_s)| Self { setting, mb_per_s })
    }
}

impl Settled {
    /// Behind the step that begins a phase; none where it never comes near, or does not stay there.
    pub(super) fn of(trace: &Trace, phase: u32, optimum_mb_per_s: f64) -> Option<Self> {
        let looks = trace.phase(phase);
        let (first, last) = (looks.first()?, looks.last()?);
        looks.iter().enumerate().find_map(|(index, from)| {
            let to = looks.get(index..)?.iter().find(|to| to.at_s - from.at_s >= WINDOW_S)?;
            let is_near = |to: &Look| mb_per_s(from, to, |look| look.plain_bytes) >= NEAR * optimum_mb_per_s;
            (is_near(to) && is_near(last)).then(|| Self {
                after_s: from.at_s - trace.begins_s(phase),
                after_bytes: from.link_bytes.saturating_sub(first.link_bytes),
            })
        })
    }

    fn holds(&self) -> bool {
        self.after_s <= WANTED_S || self.after_bytes <= WANTED_BYTES
    }
}

impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "bytes of a phase are far below 2^53")]
        let mib = self.after_bytes as f64 / f64::from(1 << 20);
        let held = if self.holds() { "holds" } else { "misses" };
        write!(f, "{:.2} s, {mib:.2} MiB on the link: {held} (wanted: 0.5 s or 2 MiB)", self.after_s)
    }
}

/// What each setting makes of each phase.
pub(super) fn rates(traces: &[Trace]) -> String {
    let mut text = format!(
        "MB/s that the reader got in the second half of each phase, medians of the rounds\n{:<10} {:>10} {:>10} {:>10}\n",
        "", "unlimited", "stepped", "unlimited"
    );
    for setting in settings(traces) {
        let rate = |phase| steady(traces, setting, phase).unwrap_or_default();
        text.push_str(&format!(
            "{:<10} {:>10.1} {:>10.1} {:>10.1}\n",
            setting.to_string(),
            rate(0),
            rate(1),
            rate(2)
        ));
    }
    text
}

fn settings(traces: &[Trace]) -> Vec<Setting> {
    let mut settings: Vec<Setting> = traces.iter().map(|trace| trace.setting).collect();
    settings.sort_unstable();
    settings.dedup();
    settings
}

/// The rate of a setting in the second half of a phase.
fn steady(traces: &[Trace], setting: Setting, phase: u32) -> Option<f64> {
    let rates: Vec<f64> = traces
        .iter()
        .filter(|trace| trace.setting == setting)
        .filter_map(|trace| {
            let looks: &[Look] = trace.phase(phase);
            let half_s = f64::midpoint(trace.begins_s(phase), trace.begins_s(phase + 1));
            let first = looks.iter().find(|look| look.at_s >= half_s)?;
            Some(mb_per_s(first, looks.last()?, |look| look.plain_bytes))
        })
        .collect();
    median(&rates)
}

/// Some looks long, and short against what is wanted.
const WINDOW_S: f64 = 0.1;
const NEAR: f64 = 0.9;
const WANTED_S: f64 = 0.5;
const WANTED_BYTES: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Looks every 20 ms at a reader who gets `rate(s)` MB/s; the link carries as much.
    fn trace(setting: Setting, rate: impl Fn(f64) -> f64) -> Trace {
        let mut bytes = 0.0;
        let looks = (0..450).map(|index| {
            let at_s = f64::from(index) * 0.02;
            bytes += rate(at_s) * 1e6 * 0.02;
            Look { at_s, plain_bytes: bytes as u64, link_bytes: bytes as u64, ..Look::default() }
        });
        Trace { round: 1, setting, phase: Duration::from_secs(3), looks: looks.collect() }
    }

    #[test]
    fn the_optimum_is_of_every_setting_and_of_the_half_in_which_nothing_changes() {
        let none = trace(Setting::None, |s| if (3.0..6.0).contains(&s) { 12.0 } else { 500.0 });
        let packed = trace(Setting::Zstd(1), |s| if (3.2..6.0).contains(&s) { 30.0 } else { 300.0 });
        let traces = [none, packed];
        let optimum = Optimum::of(&traces, 1).unwrap();
        assert_eq!(optimum.setting, Setting::Zstd(1));
        assert!((optimum.mb_per_s - 30.0).abs() < 0.1, "{optimum:?}");
        assert_eq!(Optimum::of(&traces, 2).unwrap().setting, Setting::None);
    }

    #[test]
    fn settled_is_when_a_tenth_of_a_second_is_near_the_optimum() {
        let slow = trace(Setting::Latency, |s| if (3.0..3.7).contains(&s) { 12.0 } else { 30.0 });
        let settled = Settled::of(&slow, 1, 30.0).unwrap();
        assert!((0.65..0.72).contains(&settled.after_s), "{settled:?}");
        assert!((7_000_000..9_000_000).contains(&settled.after_bytes), "{settled:?}");
        assert!(settled.to_string().contains("misses"), "{settled}");
        let soon = Settled::of(&slow, 2, 30.0).unwrap();
        assert!(soon.after_s < 0.03 && soon.to_string().contains("holds"), "{soon:?}");
        assert_eq!(Settled::of(&slow, 1, 300.0), None);
        let left_again = trace(Setting::Latency, |s| if s < 3.5 { 30.0 } else { 15.0 });
        assert_eq!(Settled::of(&left_again, 1, 30.0), None);
    }
}
