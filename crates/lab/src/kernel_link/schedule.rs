//! What a packet link does to a packet: loses it, refuses it, or says when it arrives.
//!
//! ```text
//!  packet ─▶ loss ─▶ queue full? ─▶ Rate ─▶ half the round trip ─▶ jitter ─▶ due
//! ```
//!
//! Invariants: due times never go back, so nothing is overtaken; they follow from each other and from arrivals, never
//! from when a thread woke up; a lost or refused packet takes nothing of the rate.
//!
//! Not here: the clock (time is an argument), packets (`pump`).

use std::time::{Duration, Instant};

use super::KernelLink;
use crate::generate::Sequence;
use crate::link::rate::Rate;
use crate::link::{QUEUE, QUEUE_MIN_BYTES, UNRATED_IN_FLIGHT_BYTES, bytes_in};

/// The schedule of one direction.
#[derive(Debug)]
pub(super) struct Schedule {
    rate: Option<Rate>,
    /// How long the last packet of a full queue waits.
    queue: Duration,
    one_way: Duration,
    jitter: Duration,
    loss_ppm: u32,
    chance: Sequence,
    last_due: Instant,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives then.
    Due(Instant),
    /// Lost on the way.
    Lost,
    /// The queue had no room (drop-tail).
    Refused,
}

impl Schedule {
    /// `direction` picks one of the seed's sequences of chances.
    pub(super) fn new(link: &KernelLink, direction: u64, now: Instant) -> Self {
        let rate = link.link.rate_bytes_per_s;
        Self {
            rate: rate.map(|rate| Rate::new(rate, now)),
            queue: rate.map_or(Duration::MAX, queue),
            one_way: link.link.round_trip / 2,
            jitter: link.jitter,
            loss_ppm: link.loss_ppm,
            chance: Sequence::new(SEED, direction),
            last_due: now,
        }
    }

    /// Of a packet of `frames_len` bytes on the wire that arrives `now`, while `held_bytes` are under way.
    pub(super) fn fate(&mut self, now: Instant, frames_len: usize, held_bytes: u64) -> Fate {
        if self.loss_ppm > 0 && self.chance.below(1_000_000) < self.loss_ppm {
            return Fate::Lost;
        }
        let sent_at = match &mut self.rate {
            Some(rate) if !rate.wait(now, self.queue).is_zero() => return Fate::Refused,
            Some(rate) => rate.sent_at(now, frames_len),
            None if held_bytes >= UNRATED_IN_FLIGHT_BYTES => return Fate::Refused,
            None => now,
        };
        let jitter_nanos = u32::try_from(self.jitter.as_nanos()).unwrap_or(u32::MAX);
        let late = Duration::from_nanos(u64::from(self.chance.below(jitter_nanos)));
        self.last_due = (sent_at + self.one_way + late).max(self.last_due);
        Fate::Due(self.last_due)
    }
}

/// How long a queue of [`QUEUE`], but at least [`QUEUE_MIN_BYTES`], takes to be sent.
fn queue(rate_bytes_per_s: u64) -> Duration {
    let bytes = bytes_in(rate_bytes_per_s, QUEUE).max(QUEUE_MIN_BYTES);
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate_bytes_per_s.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Any: the same losses in every run.
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str, start: Instant) -> Schedule {
        Schedule::new(&KernelLink::parse(text).unwrap(), 0, start)
    }

    #[test]
    fn packets_leave_at_the_rate_and_arrive_half_a_round_trip_later() {
        let start = Instant::now();
        // 12.5 bytes a microsecond.
        let mut schedule = schedule("100mbit,1.4ms", start);
        let us = |us| start + Duration::from_micros(us);
        assert_eq!(schedule.fate(start, 1250, 0), Fate::Due(us(100 + 700)));
        assert_eq!(schedule.fate(start, 1250, 0), Fate::Due(us(200 + 700)));
        // Read late: the packet before is still being sent, nothing is lost.
        assert_eq!(schedule.fate(us(150), 1250, 0), Fate::Due(us(300 + 700)));
        assert_eq!(schedule.fate(us(1000), 1250, 0), Fate::Due(us(1100 + 700)));
    }

    #[test]
    fn who_comes_when_the_queue_is_full_is_refused_and_takes_no_time() {
        let start = Instant::now();
        // 20 ms of 100 Mbit/s are 250,000 bytes: a hundred packets fill it, and one more is being sent.
        let mut full = schedule("100mbit", start);
        let taken = (0..200).filter(|_| full.fate(start, 2500, 0) != Fate::Refused).count();
        assert_eq!(taken, 101);
        let ms_0_2 = start + Duration::from_micros(200);
        assert_eq!(full.fate(ms_0_2, 2500, 0), Fate::Due(start + Duration::from_micros(20_400)));
        assert_eq!(full.fate(ms_0_2, 2500, 0), Fate::Refused);
        // 20 ms of 1 Mbit/s would be 2,500 bytes; 64 KiB are taken.
        let mut slow = schedule("1mbit", start);
        let taken = (0..200).filter(|_| slow.fate(start, 1514, 0) != Fate::Refused).count();
        assert_eq!(taken, 65_536 / 1514 + 1);
    }

    #[test]
    fn without_a_rate_only_what_is_under_way_bounds() {
        let start = Instant::now();
        let mut schedule = schedule("unlimited,10ms", start);
        let due = start + Duration::from_millis(5);
        assert_eq!(schedule.fate(start, 1500, UNRATED_IN_FLIGHT_BYTES - 1), Fate::Due(due));
        assert_eq!(schedule.fate(start, 1500, UNRATED_IN_FLIGHT_BYTES), Fate::Refused);
    }

    #[test]
    fn jitter_is_up_to_what_was_asked_for_and_overtakes_nothing() {
        let start = Instant::now();
        let mut schedule = schedule("unlimited,1ms,jitter=1ms", start);
        let (mut last, mut sum_us) = (start, 0);
        for i in 0..1000_u32 {
            let sent = start + Duration::from_millis(2) * i;
            let Fate::Due(due) = schedule.fate(sent, 100, 0) else { panic!("{i}") };
            let late = due - sent - Duration::from_micros(500);
            assert!(late < Duration::from_millis(1), "{late:?}");
            sum_us += late.as_micros();
            last = due;
        }
        // Uniform: half of it on average; six standard deviations are 55 us.
        assert!((445_000..555_000).contains(&sum_us), "{sum_us}");
        let sent = last + Duration::from_millis(5);
        let dues: Vec<Fate> = (0..100).map(|_| schedule.fate(sent, 100, 0)).collect();
        assert!(dues.is_sorted_by_key(|fate| if let Fate::Due(due) = fate { Some(*due) } else { None }));
    }

    #[test]
    fn one_in_ten_is_lost_and_both_directions_lose_others() {
        let start = Instant::now();
        let link = KernelLink::parse("unlimited,loss=10%").unwrap();
        let lost = |direction| {
            let mut schedule = Schedule::new(&link, direction, start);
            (0..10_000).map(|_| schedule.fate(start, 100, 0) == Fate::Lost).collect::<Vec<bool>>()
        };
        let count = lost(0).iter().filter(|lost| **lost).count();
        // Six standard deviations are 180.
        assert!((820..1180).contains(&count), "{count}");
        assert_ne!(lost(0), lost(1));
        assert_eq!(lost(1), lost(1));
    }
}
