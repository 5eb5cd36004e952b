//! CPU time: of this thread, of this process, of another process, of all of them.
//!
//! Units: time that the kernel's scheduler has given, user and system together; resolution is nanoseconds, for
//! the whole machine ticks of 10 ms.
//!
//! Invariants: never decreases.
//!
//! Not here: wall time (`std::time::Instant`); `/proc/PID/stat`, which counts a process in ticks of 10 ms.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Cores of this machine, as far as this process may use them.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// CPU time of the calling thread.
#[must_use]
pub fn this_thread() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of this process, with its threads that have ended.
#[must_use]
pub fn this_process() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time of the process `pid`, with its threads that have ended; `None` when there is no such process.
#[must_use]
#[expect(unsafe_code, reason = "no safe binding knows the CPU clock of another process")]
pub fn of_process(pid: u32) -> Option<Duration> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write only to the variable they are given, which lives on this stack.
    let known = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u32::try_from(time.tv_nsec).ok()?;
    known.then(|| Duration::new(seconds, nanos))
}

/// CPU time of everything on this machine, interrupts and time stolen by its host included; `None` where
/// `/proc/stat` cannot be read.
#[must_use]
pub fn of_machine() -> Option<Duration> {
    busy_ticks(&std::fs::read_to_string("/proc/stat").ok()?).map(|ticks| {
        let ticks_per_s = rustix::param::clock_ticks_per_second().max(1);
        Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / ticks_per_s))
    })
}

/// From the line `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guests are within user.
fn busy_ticks(stat: &str) -> Option<u64> {
    let mut fields =
        stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || fields.next()?.ok();
    let (user, nice, system) = (next()?, next()?, next()?);
    let (_idle, _iowait) = (next()?, next()?);
    let (irq, softirq, steal) = (next()?, next()?, next()?);
    Some(user + nice + system + irq + softirq + steal)
}

fn duration(time: Timespec) -> Duration {
    // These clocks start at 0 and count up; a negative time does not exist.
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_is_seen_by_every_clock() {
        let processes = (this_process(), of_process(std::process::id()).unwrap());
        // Begins last and ends first, so that the others' time holds all of its.
        let thread = this_thread();
        let start = Instant::now();
        while this_thread() - thread < Duration::from_millis(5) {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        assert!(this_process() - processes.0 >= Duration::from_millis(5));
        assert!(of_process(std::process::id()).unwrap() - processes.1 >= Duration::from_millis(5));
    }

    #[test]
    fn busy_is_all_but_idle_and_waiting_for_disks() {
        assert_eq!(busy_ticks("cpu  10 2 30 4000 500 6 7 8 0 0\ncpu0 1 2 3"), Some(63));
        assert_eq!(busy_ticks("intr 1 2 3"), None);
        assert!(of_machine().unwrap() > Duration::ZERO);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_time() {
        assert_eq!(of_process(u32::MAX), None);
    }
}
