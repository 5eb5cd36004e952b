//! The CPU time of codec work, at a price that it is worth.
//!
//! ```text
//! 32 KiB and more   the thread's own CPU clock: a system call at both ends, half a microsecond each
//! less              the wall's clock, which costs a twentieth of that and counts whoever else had the core in between;
//!                   so what took far longer than its like did before counts as its like
//! ```
//! Invariants: a sum grows by every piece of work; what the controller is told stays the wall's time.
//! Not here: sums (`counters`).

use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Work of one kind: one direction's packing or unpacking.
#[derive(Debug, Default)]
pub(crate) struct CodecTime {
    /// Bytes and nanoseconds of what was timed by the wall so far.
    seen_len: u64,
    seen_ns: u64,
}

/// A piece of work that has begun.
pub(crate) struct Begun {
    at: Instant,
    cpu: Option<Timespec>,
}

/// What a piece of work took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Took {
    /// By the wall.
    pub(crate) wall: Duration,
    /// Of a CPU, nanoseconds.
    pub(crate) cpu_ns: u64,
}

impl Begun {
    /// Work on `len` plain bytes begins now, on this thread.
    pub(crate) fn now(len: usize) -> Self {
        let cpu = (len >= CLOCKED_LEN_MIN).then(|| clock_gettime(ClockId::ThreadCPUTime));
        Self { at: Instant::now(), cpu }
    }

    /// It ended, on the same thread; without a look at its like.
    pub(crate) fn end(self) -> Took {
        let wall = self.at.elapsed();
        let cpu_ns = self.cpu.map_or_else(|| ns(wall), since);
        Took { wall, cpu_ns }
    }
}

impl CodecTime {
    /// Work on `len` plain bytes ended.
    pub(crate) fn end(&mut self, begun: Begun, len: usize) -> Took {
        let is_clocked = begun.cpu.is_some();
        let took = begun.end();
        if is_clocked { took } else { Took { cpu_ns: self.cpu_ns(took.cpu_ns, len as u64), ..took } }
    }

    fn cpu_ns(&mut self, wall_ns: u64, len: u64) -> u64 {
        let like_ns = match self.seen_len {
            0 => wall_ns.min(FIRST_NS_MAX),
            seen_len => self.seen_ns.saturating_mul(len) / seen_len,
        };
        if wall_ns > (like_ns * INTERRUPTED_FACTOR).max(INTERRUPTED_NS_MIN) {
            return like_ns.max(1);
        }
        self.seen_len += len;
        self.seen_ns += wall_ns;
        wall_ns
    }
}

fn since(begun: Timespec) -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let ns = (now.tv_sec - begun.tv_sec) * 1_000_000_000 + (now.tv_nsec - begun.tv_nsec);
    u64::try_from(ns).unwrap_or_default()
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Packing it takes 60 us and more (400 MB/s, `cargo run --release -p wirepress-codec --example speeds`), two looks at the
/// clock one.
const CLOCKED_LEN_MIN: usize = 32 << 10;
/// What was interrupted took so many times as long as its like, and at least so long: a scheduler gives the core to
/// somebody else for a millisecond or more.
const INTERRUPTED_FACTOR: u64 = 8;
const INTERRUPTED_NS_MIN: u64 = 200_000;
/// A first frame makes contexts and touches memory.
const FIRST_NS_MAX: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_was_interrupted_counts_as_its_like() {
        let mut time = CodecTime::default();
        let sum: u64 =
            (0..1000).map(|n| time.cpu_ns(if n % 100 == 50 { 4_000_000 } else { 5_000 }, 100)).sum();
        assert_eq!(sum, 1000 * 5_000);
        // More bytes take longer, and so does what is only somewhat slower than it was.
        assert_eq!(time.cpu_ns(100_000, 2_000), 100_000);
        assert_eq!(time.cpu_ns(150_000, 2_000), 150_000);
        assert_eq!(CodecTime::default().cpu_ns(50_000_000, 100), FIRST_NS_MAX);
    }

    #[test]
    fn large_work_is_told_by_the_threads_own_clock() {
        let begun = Begun::now(CLOCKED_LEN_MIN);
        // Somebody else's work is not ours.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = clock_gettime(ClockId::ThreadCPUTime);
                while since(begun) < 20_000_000 {}
            });
        });
        let took = CodecTime::default().end(begun, CLOCKED_LEN_MIN);
        assert!(took.wall >= Duration::from_millis(20) && took.cpu_ns < 10_000_000, "{took:?}");
    }
}
