//! How full the core is that this thread runs on.
//!
//! The part of the time in which the thread ran, or was ready and waited for the core: near 1 where somebody uses it whenever it
//! doesn't. Who waits for a full core waits longer if more is done on it, whatever the link.
//!
//! Source: `/proc/thread-self/schedstat`: nanoseconds on the CPU, nanoseconds ready for it, and turns
//! (`Documentation/scheduler/sched-stats.rst` of Linux).
//! Not here: what follows from it (`codec::pace`).

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

thread_local! {
    static THIS: RefCell<Core> = RefCell::new(Core::default());
}

/// Of the last [`WINDOW`]; `None` if that is not known, as behind a time in which nobody asked, or without such a file.
pub(crate) fn of_this_thread() -> Option<f64> {
    THIS.with_borrow_mut(Core::share)
}

#[derive(Default)]
struct Core {
    file: Option<File>,
    began: Option<(Instant, Duration)>,
    share: Option<f64>,
}

impl Core {
    fn share(&mut self) -> Option<f64> {
        let now = Instant::now();
        match self.began {
            Some((began, _)) if now < began + WINDOW => {}
            Some((began, used)) => {
                let time = now - began;
                let used_now = self.used();
                let share = used_now.map(|used_now| used_now.saturating_sub(used).div_duration_f64(time));
                self.share = share.filter(|_| time < WINDOW * KNOWN);
                self.began = used_now.map(|used| (now, used));
            }
            None => self.began = self.used().map(|used| (now, used)),
        }
        self.share
    }

    /// The time for which it ran or waited.
    fn used(&mut self) -> Option<Duration> {
        if self.file.is_none() {
            self.file = File::open("/proc/thread-self/schedstat").ok();
        }
        let mut text = [0; 64];
        let len = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = str::from_utf8(text.get(..len)?).ok()?;
        let mut nanos = text.split_ascii_whitespace().map(str::parse::<u64>);
        match (nanos.next(), nanos.next()) {
            (Some(Ok(ran)), Some(Ok(waited))) => Some(Duration::from_nanos(ran + waited)),
            _ => None,
        }
    }
}

/// Long against a scheduler's turns.
const WINDOW: Duration = Duration::from_millis(10);
/// Who waits for a full core may ask that much later, in windows.
const KNOWN: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_has_a_full_core_and_one_that_sleeps_an_idle_one() {
        let mut core = Core::default();
        assert_eq!(core.share(), None);
        let since = Instant::now();
        let mut most = 0.0;
        while since.elapsed() < WINDOW * 20 {
            // What another machine has taken of the core meanwhile counts as neither.
            most = core.share().map_or(most, |share| share.max(most));
        }
        assert!(most > 0.6, "{most}");
        let mut idle = Vec::new();
        for _ in 0..20 {
            std::thread::sleep(WINDOW * 11 / 10);
            idle.extend(core.share());
        }
        let least = idle.iter().copied().fold(1.0, f64::min);
        assert!(least < 0.5, "{idle:?}");
        std::thread::sleep(WINDOW * (KNOWN + 1));
        assert_eq!(core.share(), None, "too long ago");
    }
}
