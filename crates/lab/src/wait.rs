//! Waiting for what another thread or process does, in tests.
//!
//! Invariants: nothing waits for ever; what doesn't come is told with what was seen instead.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Waits until `is_so`.
///
/// # Panics
/// It isn't within [`PATIENCE`].
pub fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait_until_within(what, PATIENCE, is_so);
}

/// The same with another limit; says how long it took.
///
/// # Panics
/// It isn't within `limit`.
pub fn wait_until_within(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    wait(limit, what, || if is_so() { Ok(()) } else { Err("no") })
}

/// Waits until `look` finds nothing amiss.
///
/// # Panics
/// It still does after [`PATIENCE`]; the message has what it saw last.
pub fn wait_while_amiss<T: Debug>(what: &str, look: impl FnMut() -> Result<(), T>) {
    wait(PATIENCE, what, look);
}

fn wait<T: Debug>(limit: Duration, what: &str, mut look: impl FnMut() -> Result<(), T>) -> Duration {
    let begun = Instant::now();
    while let Err(seen) = look() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}: {seen:?}");
        std::thread::sleep(LOOK_INTERVAL);
    }
    begun.elapsed()
}

/// Many times what anything takes on two busy cores.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_waited_for() {
        let mut looks = 0;
        wait_until("three looks", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }

    #[test]
    #[should_panic(expected = "not within 20ms: a miracle: \"no\"")]
    fn what_never_comes_is_given_up() {
        wait_until_within("a miracle", Duration::from_millis(20), || false);
    }

    #[test]
    #[should_panic(expected = "not within 20ms: four: 3")]
    fn what_was_seen_instead_is_told() {
        wait(Duration::from_millis(20), "four", || Err(3));
    }
}
