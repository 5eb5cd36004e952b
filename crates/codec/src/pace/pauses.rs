//! Which part of the frames goes stored because the link has nothing to do for a part of the time, whatever waits for it just now.
//!
//! ```text
//!  core   server ████████       proxy ▒p▒p▒p▒p▒    server ████████       proxy ▒p▒p▒p▒
//!  link   ▓▓▓                         ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                        ▓▓▓▓▓▓▓▓▓
//! ```
//! A proxy that shares a core with a server takes turns with it, of milliseconds. In its own there is soon a queue behind which
//! packing costs no time of the link's; in the server's the link runs empty, and each frame that is packed puts that off. So as long as
//! the link has nothing to do in more than a small part of the time, more of the frames go stored, and less when it always has:
//! where link and core cross, both have something to do.
//!
//! Invariants: no clock; a wait for who asks is none for the link.
//!
//! Not here: whether packing a frame hides behind the queue that there is (`queue`).

use std::time::Duration;

/// Of one direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    followed_at: Duration,
    /// For so long, of replies, the link always had something to do.
    busy_s: f64,
    /// Part of the frames that should go stored.
    stored_part: f64,
    /// Frames that should have gone stored and have not, or less than none.
    due: f64,
}

impl Pauses {
    /// The next frame is there, which `goes_on` with what was sent last; the link has something to do still, or had until then.
    pub(super) fn follow(&mut self, now: Duration, goes_on: bool, busy_until: Duration) {
        let passed = now.saturating_sub(self.followed_at);
        self.followed_at = now;
        if goes_on {
            let idle_s = now.saturating_sub(busy_until).min(passed).as_secs_f64();
            let passed_s = passed.as_secs_f64();
            self.busy_s = if idle_s > 0.0 { 0.0 } else { self.busy_s + passed_s };
            let idle_part = if self.busy_s > TURNS_S { LIMIT_IDLE_PART } else { IDLE_PART };
            let missed_s = idle_s - passed_s * idle_part;
            self.stored_part = (self.stored_part + missed_s / MEMORY_S).clamp(0.0, 1.0);
        }
    }

    /// Whether it is the turn of a frame to go stored behind such a queue.
    pub(super) fn is_due(&mut self, queue_s: f64) -> bool {
        self.due = (self.due + self.stored_part).min(DUE_MAX);
        self.due >= 1.0 && queue_s < BRIDGES_S
    }

    /// It goes stored because the link has nothing to do, now or soon.
    pub(super) fn stored(&mut self) {
        self.due = (self.due - 1.0).max(-1.0);
    }
}

/// Part of the time in which a link that is the limit may have nothing to do: turns are not all of the same length. With 0.25 scans of
/// digits were 1.03 times as fast as the better of none and the best fixed setting where those tie, with 0.15 1.03, with 0.07 1.06, with 0.04 1.05
/// (`wirepress bench crossing --workload "scan of digits"`, one or two runs each, ±0.05).
const IDLE_PART: f64 = 0.06;
/// The same of a link that had something to do throughout several turns: whatever waits, it is for the link.
const LIMIT_IDLE_PART: f64 = 0.5;
/// Several turns.
const TURNS_S: f64 = 20e-3;
/// All go stored after so much more idle time, which is several turns.
const MEMORY_S: f64 = 20e-3;
/// A queue of this time lasts longer than a turn of the server's.
const BRIDGES_S: f64 = 4e-3;
/// Behind a long queue none is made up for later.
const DUE_MAX: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the frames that went stored in the last of so many turns of 4 ms, of which the link has nothing to do for `idle`;
    /// 40 frames in each.
    fn stored_part(pauses: &mut Pauses, count: u32, idle: Duration, queue_s: f64) -> f64 {
        let turn = Duration::from_millis(4);
        let mut stored = 0;
        for at in 1..=count {
            let now = pauses.followed_at.max(turn * at) + turn;
            pauses.follow(now, true, now - idle);
            stored = 0;
            for _ in 0..40 {
                if pauses.is_due(queue_s) {
                    pauses.stored();
                    stored += 1;
                }
            }
        }
        f64::from(stored) / 40.0
    }

    #[test]
    fn more_and_more_frames_go_stored_while_the_link_has_nothing_to_do_for_a_part_of_the_time() {
        let (mut pauses, half) = (Pauses::default(), Duration::from_millis(2));
        let few = stored_part(&mut pauses, 2, half, 1e-3);
        assert!((0.1..0.3).contains(&few), "{few}");
        let all = stored_part(&mut pauses, 20, half, 1e-3);
        assert!(all > 0.97, "{all}");
        // Turns without a pause of the link's are nothing unusual. After several it is the limit.
        let most = stored_part(&mut pauses, 5, Duration::ZERO, 1e-3);
        assert!((0.8..1.0).contains(&most), "{most}");
        let none = stored_part(&mut pauses, 12, Duration::ZERO, 1e-3);
        assert!(none < 0.01, "{none}");
    }

    #[test]
    fn a_link_that_has_nothing_to_do_now_and_then_changes_nothing() {
        let mut pauses = Pauses::default();
        assert!(stored_part(&mut pauses, 100, Duration::from_micros(200), 1e-3) < 0.01);
    }

    #[test]
    fn behind_a_queue_that_lasts_longer_than_a_turn_no_frame_has_to_go_stored() {
        let mut pauses = Pauses::default();
        stored_part(&mut pauses, 20, Duration::from_millis(2), 1e-3);
        assert!(stored_part(&mut pauses, 1, Duration::from_millis(2), 5e-3) < 0.01);
    }

    #[test]
    fn time_in_which_nobody_asks_is_none_in_which_the_link_waits() {
        let mut pauses = Pauses::default();
        for ms in 1..1000 {
            pauses.follow(Duration::from_millis(ms * 10), false, Duration::ZERO);
        }
        assert!(!pauses.is_due(0.0));
    }
}
