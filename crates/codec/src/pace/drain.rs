//! How fast a destination takes bytes: the rate of the link, or of whoever reads behind it.
//!
//! ```text
//!  sent ──▶ │ unsent │ on its way │ ──▶ acknowledged
//!           └──── queued_len ─────┘
//!  two looks, a queue at both:  rate = acknowledged in between / time
//!  none at either:              rate ≥ that, over a while
//! ```
//! What is on its way within a round trip is no queue: of few bytes now and then some are always on their way. And of a queue
//! nothing is acknowledged for a round trip after it began.
//!
//! Invariants: no rate from a time in which the destination had nothing to take, or may have had nothing.
//!
//! Not here: what follows from it (`super`), whether it is link or reader (`reader`).

use std::time::Duration;

use super::Look;

/// Of one destination.
#[derive(Debug, Default)]
pub(super) struct Drain {
    sent_len: u64,
    acknowledged_len: u64,
    looked: Option<Duration>,
    /// What is being measured: bytes, seconds.
    window: (f64, f64),
    /// Bytes wait since then.
    queue_since: Option<Duration>,
    /// The same of looks that found it empty.
    empty: (f64, f64),
    bytes_per_s: Option<f64>,
    /// It is what others have seen, or what the kernel has told of a short time.
    is_hearsay: bool,
    /// When it was last seen here, if it was not only assumed.
    seen_at: Option<Duration>,
}

impl Drain {
    /// Bytes were handed over.
    pub(super) fn sent(&mut self, len: u64, now: Duration) {
        self.sent_len += len;
        if self.looked.is_some_and(|looked| now.saturating_sub(looked) >= REST) {
            // Where there is a queue somebody looks. Who thought between two replies was no link.
            self.looked = None;
        }
    }

    /// The destination was looked at.
    pub(super) fn look(&mut self, look: &Look) {
        // Between replies nothing else corrects a rate that is too low; within them short moments would raise it.
        let told = look.delivered_per_s as f64;
        let rested = self.looked.is_none_or(|looked| look.now.saturating_sub(looked) >= REST);
        if rested
            && look.queued_len == 0
            && let Some(rate) = self.bytes_per_s.as_mut().filter(|rate| told > **rate)
        {
            *rate = told;
            (self.is_hearsay, self.seen_at) = (true, Some(look.now));
        }
        let before = self.acknowledged_len;
        // TLS adds to what is queued.
        let acknowledged_len = self.sent_len.saturating_sub(look.unacknowledged_len()).max(before);
        let Some(looked) = self.looked else {
            self.looked = Some(look.now);
            self.acknowledged_len = acknowledged_len;
            (self.window, self.empty, self.queue_since) = ((0.0, 0.0), (0.0, 0.0), None);
            return;
        };
        let time_s = look.now.saturating_sub(looked).as_secs_f64();
        if time_s <= 0.0 {
            return;
        }
        self.looked = Some(look.now);
        self.acknowledged_len = acknowledged_len;
        let len = (acknowledged_len - before) as f64;
        if !has_queue(look, len / time_s) {
            (self.window, self.queue_since) = ((0.0, 0.0), None);
            self.empty = (self.empty.0 + len, self.empty.1 + time_s);
            let (len, time_s) = self.empty;
            // Some of it was on its way before; in more time that hardly counts.
            if time_s < EMPTY_S {
                return;
            }
            self.empty = (0.0, 0.0);
            // Whatever was taken in so little time was taken no slower than this.
            let least = len / time_s;
            if let Some(rate) = self.bytes_per_s.as_mut().filter(|rate| least > **rate) {
                *rate = least;
                self.seen_at = Some(look.now);
            }
            return;
        }
        self.empty = (0.0, 0.0);
        let queue_since = *self.queue_since.get_or_insert(looked);
        if looked.saturating_sub(queue_since) < look.round_trip {
            return;
        }
        self.window.0 += len;
        self.window.1 += time_s;
        let (len, time_s) = self.window;
        // The first rate is wanted soon.
        let part = if self.bytes_per_s.is_none() { FIRST_PART } else { 1.0 };
        if len >= WINDOW_LEN * part || time_s >= WINDOW_S * part {
            let rate = (len / time_s).max(1.0);
            // A link that changes is followed at once; half of the old rate damps its noise. Hearsay is another's share
            // of the link, or a burst that a shaper let through.
            let old = self.bytes_per_s.filter(|_| !self.is_hearsay);
            self.is_hearsay = false;
            self.bytes_per_s = Some(old.map_or(rate, |old| f64::midpoint(old, rate)));
            self.seen_at = Some(look.now);
            self.window = (0.0, 0.0);
        }
    }

    /// Bytes per second, if the destination was ever what others waited for.
    pub(super) const fn bytes_per_s(&self) -> Option<f64> {
        self.bytes_per_s
    }

    /// The same and when it was seen, if this destination has shown it itself.
    pub(super) fn seen(&self) -> Option<(f64, Duration)> {
        self.bytes_per_s.zip(self.seen_at)
    }

    /// Another destination on the same link has seen it.
    pub(super) fn assume(&mut self, bytes_per_s: f64) {
        if self.bytes_per_s.is_none() {
            (self.bytes_per_s, self.is_hearsay) = (Some(bytes_per_s), true);
        }
    }
}

/// Whether bytes wait, at this rate. What has not come into the socket keeps nobody busy.
fn has_queue(look: &Look, bytes_per_s: f64) -> bool {
    let on_its_way_len = bytes_per_s * look.round_trip.as_secs_f64() + ACKNOWLEDGED_LATE_LEN;
    look.queued_len > 0 && (look.waiting_len() > 0 || look.queued_len as f64 > on_its_way_len)
}

/// Receivers acknowledge every other segment at once, and fewer bytes late.
const ACKNOWLEDGED_LATE_LEN: f64 = 4096.0;
/// What a rate is taken over: long against a look's own time and the kernel's pieces of 64 KiB, short against what a user
/// notices.
const WINDOW_LEN: f64 = 256.0 * 1024.0;
const WINDOW_S: f64 = 0.02;
const FIRST_PART: f64 = 0.25;
/// After so long without a look nothing was expected to wait.
const REST: Duration = Duration::from_millis(5);
/// The shortest time that tells a rate from below.
const EMPTY_S: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn look(now: Duration, queued_len: u64) -> Look {
        Look { now, queued_len, ..Look::NOTHING }
    }

    #[test]
    fn a_queue_that_never_empties_tells_the_rate() {
        let mut drain = Drain::default();
        drain.look(&look(MS, 0));
        drain.sent(1_000_000, MS);
        for ms in 2..=9 {
            drain.look(&look(ms * MS, 1_000_000 - u64::from(ms - 1) * 100_000));
        }
        assert_eq!(drain.bytes_per_s(), Some(1e8));
    }

    #[test]
    fn what_has_not_come_into_the_socket_is_not_acknowledged() {
        let (mut drain, rate) = (Drain::default(), 100_000);
        drain.look(&look(MS, 0));
        drain.sent(1_000_000, MS);
        for ms in 2..=9_u32 {
            // The socket holds 50,000 bytes, and what it took is acknowledged.
            let taken_len = u64::from(ms - 1) * rate + 50_000;
            drain.look(&look(ms * MS, 50_000).behind(1_000_000 - taken_len));
        }
        assert_eq!(drain.bytes_per_s(), Some(1e8));
    }

    #[test]
    fn a_socket_that_ran_empty_tells_no_rate_though_more_was_to_come() {
        let mut drain = Drain::default();
        drain.look(&look(MS, 0));
        drain.sent(1_000_000, MS);
        for ms in 2..=9_u32 {
            drain.look(&look(ms * MS, 0).behind(1_000_000 - u64::from(ms - 1) * 100_000));
        }
        assert_eq!(drain.bytes_per_s(), None);
    }

    #[test]
    fn little_that_is_always_on_its_way_tells_no_rate() {
        let mut drain = Drain::default();
        let round_trip = 10 * MS;
        for ms in 1..1000 {
            // 4 MB/s over a link that carries more: what was sent in the last round trip is not acknowledged.
            let queued_len = u64::from(ms.min(10)) * 4000;
            drain.look(&Look { round_trip, ..look(ms * MS, queued_len) });
            drain.sent(4000, ms * MS);
        }
        assert_eq!(drain.bytes_per_s(), None);
        // More is sent than it carries.
        for ms in 1000..1100 {
            drain.look(&Look { round_trip, ..look(ms * MS, 44_000 + u64::from(ms - 1000) * 4000) });
            drain.sent(8000, ms * MS);
        }
        assert!((drain.bytes_per_s().unwrap() / 4e6 - 1.0).abs() < 0.05, "{drain:?}");
    }

    #[test]
    fn time_in_which_the_client_thought_is_in_no_rate() {
        let mut drain = Drain::default();
        drain.look(&look(MS, 0));
        drain.sent(40_960, 5000 * MS);
        // It was cut, and a part of it taken.
        drain.look(&look(5001 * MS, 20_000));
        assert_eq!(drain.bytes_per_s(), None);
        drain.look(&look(5006 * MS, 10_000));
        assert_eq!(drain.bytes_per_s(), Some(2e6));
        // Nor in one that is known.
        drain.sent(100_000, 9000 * MS);
        drain.look(&look(9001 * MS, 50_000));
        assert_eq!(drain.bytes_per_s(), Some(2e6));
    }

    #[test]
    fn a_rate_that_is_too_low_is_corrected_by_short_replies_and_a_burst_by_a_queue() {
        let mut drain = Drain::default();
        drain.assume(8e3);
        drain.look(&look(MS, 0));
        for s in 1..=3_u32 {
            drain.sent(100_000, s * 1000 * MS);
            drain.look(&Look { delivered_per_s: 100_000_000, ..look(s * 1000 * MS + MS, 0) });
        }
        assert_eq!(drain.bytes_per_s(), Some(1e8));
        drain.sent(1_000_000, 3001 * MS);
        for ms in 2..=21 {
            drain.look(&look((3000 + ms) * MS, 1_000_000 - u64::from(ms - 1) * 10_000));
        }
        assert!((drain.bytes_per_s().unwrap() - 1e7).abs() < 1.0);
    }

    #[test]
    fn what_others_have_seen_is_given_up_for_the_first_rate_that_is_seen_here() {
        let mut drain = Drain::default();
        drain.assume(1e9);
        drain.look(&look(MS, 0));
        drain.sent(2_000_000, MS);
        for (ms, rate) in [(21, 2e7), (41, 1.5e7)] {
            drain.look(&look(ms * MS, if ms == 21 { 1_600_000 } else { 1_400_000 }));
            let seen = drain.bytes_per_s().unwrap();
            assert!((seen - rate).abs() < 1.0, "{seen}");
        }
    }

    #[test]
    fn what_was_acknowledged_in_a_moment_tells_no_rate() {
        let mut drain = Drain::default();
        drain.assume(1e6);
        drain.look(&look(MS, 0));
        drain.sent(65_536, MS);
        drain.look(&look(MS + MS / 20, 0));
        assert_eq!((drain.bytes_per_s(), drain.seen()), (Some(1e6), None));
    }

    #[test]
    fn an_empty_queue_tells_a_rate_from_below_only() {
        let mut drain = Drain::default();
        drain.look(&look(Duration::ZERO, 0));
        for ms in 1..10 {
            drain.sent(1_000, ms * MS);
            drain.look(&look(ms * MS, 0));
        }
        assert_eq!(drain.bytes_per_s(), None);
        drain.assume(1e5);
        assert_eq!((drain.bytes_per_s(), drain.seen()), (Some(1e5), None));
        drain.sent(1_000, 10 * MS);
        drain.look(&look(10 * MS, 0));
        assert_eq!((drain.bytes_per_s(), drain.seen()), (Some(1e6), Some((1e6, 10 * MS))));
    }
}
