//! Bytes counted each way, in buckets of 100 ms, so that a mean and a peak over a second can be computed.
//!
//! ```text
//!  since start  0      0.1    0.2    0.3 s
//!  to_server    [ 120 ][   0 ][   0 ]
//!  to_client    [ 4M  ][ 9M  ][ 2M  ]
//! ```
//!
//! Invariants: a byte is counted once, when the link has delivered it; buckets are aligned to the start of
//! the link.
//!
//! Not here: rates of other links; headers below TCP.

use std::ops::{AddAssign, Sub};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Length of a bucket: ten to the second over which peaks are stated, and short against any run.
pub const BUCKET: Duration = Duration::from_millis(100);

/// What a link has carried, per bucket of [`BUCKET`]. The difference of two readings is what passed between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes from clients to the server.
    pub to_server: Vec<u64>,
    /// Bytes from the server to clients.
    pub to_client: Vec<u64>,
}

impl Traffic {
    /// All bytes to the server.
    #[must_use]
    pub fn to_server_bytes(&self) -> u64 {
        self.to_server.iter().sum()
    }

    /// All bytes to clients.
    #[must_use]
    pub fn to_client_bytes(&self) -> u64 {
        self.to_client.iter().sum()
    }

    /// All bytes, both ways.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.to_server_bytes() + self.to_client_bytes()
    }

    /// The largest number of bytes, both ways together, in any second (ten buckets on end). What passed in
    /// less than a second is all in one.
    #[must_use]
    pub fn peak_second_bytes(&self) -> u64 {
        let len = self.to_server.len().max(self.to_client.len());
        let both = |i: usize| self.to_server.get(i).unwrap_or(&0) + self.to_client.get(i).unwrap_or(&0);
        let mut in_window: u64 = 0;
        let mut peak = 0;
        for i in 0..len {
            in_window += both(i);
            if i >= BUCKETS_PER_S {
                in_window -= both(i - BUCKETS_PER_S);
            }
            peak = peak.max(in_window);
        }
        peak
    }
}

impl Sub<&Self> for Traffic {
    type Output = Self;

    /// What passed after `earlier` was read.
    fn sub(mut self, earlier: &Self) -> Self {
        for (later, earlier) in
            [(&mut self.to_server, &earlier.to_server), (&mut self.to_client, &earlier.to_client)]
        {
            later
                .iter_mut()
                .zip(earlier)
                .for_each(|(later, earlier)| *later = later.saturating_sub(*earlier));
        }
        self
    }
}

impl AddAssign<&Self> for Traffic {
    /// What passed at other times of the same link.
    fn add_assign(&mut self, other: &Self) {
        for (sum, other) in [(&mut self.to_server, &other.to_server), (&mut self.to_client, &other.to_client)]
        {
            sum.resize(sum.len().max(other.len()), 0);
            sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
        }
    }
}

const BUCKETS_PER_S: usize = 10;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// The counter that all connections of a link share.
#[derive(Debug)]
pub(crate) struct Counter {
    start: Instant,
    traffic: Mutex<Traffic>,
}

impl Counter {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, traffic: Mutex::new(Traffic::default()) }
    }

    pub(crate) fn count(&self, direction: Direction, now: Instant, len: usize) {
        let bucket = now.saturating_duration_since(self.start).as_nanos() / BUCKET.as_nanos();
        let bucket = usize::try_from(bucket).unwrap_or(usize::MAX - 1);
        let mut traffic = self.lock();
        let buckets = match direction {
            Direction::ToServer => &mut traffic.to_server,
            Direction::ToClient => &mut traffic.to_client,
        };
        if buckets.len() <= bucket {
            buckets.resize(bucket + 1, 0);
        }
        buckets[bucket] += len as u64;
    }

    pub(crate) fn read(&self) -> Traffic {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Traffic> {
        // A panic elsewhere leaves the numbers as they are: still a count.
        self.traffic.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_any_ten_buckets_on_end_both_ways_together() {
        let mut traffic = Traffic { to_server: vec![1; 30], to_client: vec![10; 25] };
        assert_eq!(traffic.peak_second_bytes(), 110);
        traffic.to_client[12] = 1000;
        assert_eq!(traffic.peak_second_bytes(), 110 + 990);
        traffic.to_client[21] = 500;
        assert_eq!(traffic.peak_second_bytes(), 110 + 990 + 490);
        traffic.to_client[22] = 9000;
        assert_eq!(traffic.peak_second_bytes(), 110 + 8990 + 490);
    }

    #[test]
    fn what_passed_in_less_than_a_second_is_its_own_peak() {
        let traffic = Traffic { to_server: vec![5], to_client: vec![0, 70, 30] };
        assert_eq!(traffic.peak_second_bytes(), 105);
        assert_eq!(Traffic::default().peak_second_bytes(), 0);
    }

    #[test]
    fn the_difference_of_two_readings_is_what_passed_between() {
        let start = Instant::now();
        let counter = Counter::new(start);
        let at = |ms| start + Duration::from_millis(ms);
        counter.count(Direction::ToServer, at(10), 7);
        counter.count(Direction::ToClient, at(110), 100);
        let earlier = counter.read();
        counter.count(Direction::ToClient, at(190), 20);
        counter.count(Direction::ToClient, at(1310), 3);
        let passed = counter.read() - &earlier;
        assert_eq!(passed.to_server_bytes(), 0);
        assert_eq!(passed.to_client_bytes(), 23);
        assert_eq!(passed.to_client[1], 20);
        assert_eq!(passed.to_client[13], 3);
        let mut all = earlier;
        all += &passed;
        assert_eq!(all, counter.read());
    }
}
