//! Follows what the relay tells, within a budget of CPU time.
//!
//! ```text
//!  channel ─▶ sessions ─▶ Gathered
//!             └ over the budget: what has begun is followed to its end, and nothing begins
//! ```
//! A session that is not looked at costs nothing: its relay tells nothing. It is taken up again with a whole command.
//!
//! Invariants: after a second or so, CPU time is at most the budget's part of the time, but for exchanges that have
//! begun: those are paid off by the pause that follows.
//!
//! Not here: the relay, which never waits for this.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::gathered::Gathered;
use super::relay::Told;
use super::session::Session;
use crate::cpu;

/// What was gathered, and what that took.
pub(super) struct Watched {
    /// Exchanges, frames, counts.
    pub(super) gathered: Gathered,
    /// CPU time.
    pub(super) cpu: Duration,
    /// From the first to the last look.
    pub(super) time: Duration,
}

/// A session that is watched.
struct Watching {
    session: Session,
    looked_at: Arc<AtomicBool>,
}

/// Watches until `is_over`, or until nobody tells any more; `told_bytes` is what the channel holds, `budget` a part of one
/// core.
pub(super) fn watch(
    told: &Receiver<Told>,
    told_bytes: &AtomicUsize,
    mut gathered: Gathered,
    budget: f64,
    is_over: &AtomicBool,
) -> Watched {
    let (start, cpu_before) = (Instant::now(), cpu::this_thread());
    let mut sessions = HashMap::new();
    let mut until_look = 0u32;
    while !is_over.load(Ordering::Relaxed) {
        match told.recv_timeout(LOOK_EVERY) {
            Ok(told) => {
                if let Told::Bytes { bytes, .. } = &told {
                    told_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
                }
                follow(told, &mut sessions, &mut gathered);
            }
            Err(RecvTimeoutError::Timeout) => until_look = 0,
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if until_look > 0 {
            until_look -= 1;
            continue;
        }
        until_look = MESSAGES_PER_LOOK;
        let allowed = start.elapsed().mul_f64(budget) + CREDIT;
        let used = cpu::this_thread().saturating_sub(cpu_before);
        if used > allowed {
            gathered.is_pausing = true;
        } else if gathered.is_pausing && used + CREDIT / 2 < allowed {
            gathered.is_pausing = false;
            for watching in sessions.values() {
                watching.looked_at.store(true, Ordering::Relaxed);
            }
        }
    }
    for watching in sessions.values_mut() {
        watching.looked_at.store(false, Ordering::Relaxed);
        watching.session.end(&mut gathered);
    }
    Watched { gathered, cpu: cpu::this_thread().saturating_sub(cpu_before), time: start.elapsed() }
}

fn follow(told: Told, sessions: &mut HashMap<u64, Watching>, gathered: &mut Gathered) {
    match told {
        Told::Begin { session, looked_at } => {
            let followed = Session::from_beginning(gathered);
            sessions.insert(session, Watching { session: followed, looked_at });
        }
        Told::Bytes { session, direction, bytes, at, is_behind_gap } => {
            let Some(watching) = sessions.get_mut(&session) else { return };
            let one = &mut watching.session;
            if is_behind_gap {
                one.lose(gathered);
            }
            if !(gathered.is_pausing && one.is_lost()) {
                one.bytes(direction, &bytes, at, gathered);
            }
            if one.is_over() || (gathered.is_pausing && one.is_lost()) {
                watching.looked_at.store(false, Ordering::Relaxed);
            }
        }
        Told::End { session } => {
            if let Some(mut watching) = sessions.remove(&session) {
                watching.session.end(gathered);
            }
        }
    }
}

/// Often enough to notice that the budget has grown, or that all is over.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Reading the clock costs what some messages do.
const MESSAGES_PER_LOOK: u32 = 16;
/// What may be used before anything has been earned: the logins of a busy server's clients.
const CREDIT: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use wire::Direction;

    use super::*;

    #[test]
    fn over_the_budget_fewer_exchanges_are_looked_at_and_none_is_torn() {
        let (teller, told) = sync_channel(1_000_000);
        let looked_at = Arc::new(AtomicBool::new(true));
        let follower = {
            let looked_at = Arc::clone(&looked_at);
            std::thread::spawn(move || {
                let mut gathered = Gathered::new(1);
                let session = Session::from_middle(&mut gathered);
                let mut sessions = HashMap::from([(1, Watching { session, looked_at })]);
                // As if all of the budget were used up after the hundredth message.
                for (count, one) in told.iter().enumerate() {
                    gathered.is_pausing = count > 100;
                    follow(one, &mut sessions, &mut gathered);
                }
                gathered
            })
        };
        let mut sent = 0;
        for _ in 0..10_000 {
            for (direction, bytes) in
                [(Direction::ToServer, &b"\x05\0\0\0\x03do 1"[..]), (Direction::ToClient, b"\x01\0\0\x01\0")]
            {
                if looked_at.load(Ordering::Relaxed) {
                    let at = Duration::from_millis(sent);
                    let bytes = bytes.into();
                    teller
                        .send(Told::Bytes { session: 1, direction, bytes, at, is_behind_gap: false })
                        .unwrap();
                    sent += 1;
                }
            }
            std::thread::yield_now();
        }
        drop(teller);
        let gathered = follower.join().unwrap();
        assert!(!looked_at.load(Ordering::Relaxed));
        assert!((50..=51).contains(&gathered.exchanges.seen()), "{}", gathered.exchanges.seen());
        assert_eq!((gathered.counts.lost, gathered.counts.pipelined), (0, 0));
    }
}
