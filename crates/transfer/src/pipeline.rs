//! The threads: one that reads, workers, and the caller, which writes in order.
//!
//! ```text
//!   source --ready--> workers --done--> sink, by number
//!      ^---------------free-------------'
//! ```
//! A slot travels around with its buffers; as many slots as there are, as much is under way. So the number of slots bounds
//! all three queues and the memory.
//!
//! Invariants: the sink sees slots in the source's order; a fault is told when all before it has been written; a panic
//! is a fault. The source's thread is left behind when the sink or a worker fails: it may wait for its input for ever.
//!
//! Not here: what is done with a slot (`pack`, `unpack`).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Fault;

/// A slot or a fault with the number of its turn.
type Turn<S> = (u64, Result<S, Fault>);

/// Moves slots from the source over the workers to the sink until the source says that nothing more comes.
///
/// Shape: `source` fills a slot and says whether it did; `worker` makes a worker for each thread; `sink` gives the slot
/// back emptied or not. Errors: the first fault in the source's order.
pub(crate) fn run<S, W>(
    slots: Vec<S>,
    threads: usize,
    mut source: impl FnMut(&mut S) -> Result<bool, Fault> + Send + 'static,
    worker: impl Fn() -> W,
    mut sink: impl FnMut(&mut S) -> Result<(), Fault>,
) -> Result<(), Fault>
where
    S: Send + 'static,
    W: FnMut(&mut S) -> Result<(), Fault> + Send + 'static,
{
    let (free, free_slots) = channel::<S>();
    let (ready, ready_turns) = channel::<(u64, S)>();
    let (done, done_turns) = channel::<Turn<S>>();
    for slot in slots {
        // Its receiver is alive, below.
        drop(free.send(slot));
    }
    let ready_turns = Arc::new(Mutex::new(ready_turns));
    for number in 0..threads {
        let (ready_turns, done, work) = (Arc::clone(&ready_turns), done.clone(), worker());
        spawn(format!("worker {number}"), move || run_worker(&ready_turns, &done, work))?;
    }
    spawn("source".to_owned(), move || {
        let mut number = 0;
        let mut at_hand = Vec::new();
        // No more slots: the sink is gone.
        while let Some(mut slot) = last_freed(&free_slots, &mut at_hand) {
            let filled = caught(|| source(&mut slot));
            let is_end = match filled {
                Ok(true) => ready.send((number, slot)).is_err(),
                Ok(false) => true,
                Err(fault) => done.send((number, Err(fault))).is_err() || IS_LAST,
            };
            if is_end {
                return;
            }
            number += 1;
        }
    })?;
    // All senders of `done` are gone when source and workers have ended.
    let mut early = BTreeMap::new();
    let mut due = 0;
    while let Ok((number, turn)) = done_turns.recv() {
        early.insert(number, turn);
        while let Some(turn) = early.remove(&due) {
            let mut slot = turn?;
            sink(&mut slot)?;
            // The source may have come to its end.
            drop(free.send(slot));
            due += 1;
        }
    }
    Ok(())
}

/// The slot that was freed last: its memory is still in the CPU's caches, and one that is never needed is never touched.
fn last_freed<S>(free: &Receiver<S>, at_hand: &mut Vec<S>) -> Option<S> {
    at_hand.extend(free.try_iter());
    at_hand.pop().or_else(|| free.recv().ok())
}

/// Until the source has ended, or the sink.
fn run_worker<S>(
    ready: &Mutex<Receiver<(u64, S)>>,
    done: &Sender<Turn<S>>,
    mut work: impl FnMut(&mut S) -> Result<(), Fault>,
) {
    loop {
        let turn = ready.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, mut slot)) = turn else { return };
        let worked = caught(|| work(&mut slot)).map(|()| slot);
        if done.send((number, worked)).is_err() {
            return;
        }
    }
}

fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    // What panicked is not used again: its slot is dropped and the run ends.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Fault::Panicked))
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    std::thread::Builder::new().name(name).spawn(body).map(drop).map_err(Fault::Thread)
}

/// Nothing is read after a fault.
const IS_LAST: bool = true;

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots with numbers, which the workers square.
    fn squares(threads: usize, slots: usize, bad: Option<u64>, count: u64) -> (Vec<u64>, Result<(), Fault>) {
        let mut next = 0;
        let mut seen = Vec::new();
        let done = run(
            vec![0_u64; slots],
            threads,
            move |slot| {
                *slot = next;
                next += 1;
                Ok(next <= count)
            },
            || {
                move |slot: &mut u64| {
                    if Some(*slot) == bad {
                        return Err(Fault::FrameAltered { number: *slot });
                    }
                    // Uneven work, so that slots overtake each other.
                    let spins = (*slot * 7919) % 500;
                    *slot = (0..spins).fold(*slot, |slot, _| std::hint::black_box(slot)).pow(2);
                    Ok(())
                }
            },
            |slot| {
                seen.push(*slot);
                Ok(())
            },
        );
        (seen, done)
    }

    #[test]
    fn slots_come_out_in_order_whatever_the_number_of_threads_and_slots() {
        for (threads, slots) in [(1, 1), (1, 5), (2, 2), (4, 3), (8, 20)] {
            let (seen, done) = squares(threads, slots, None, 500);
            assert!(done.is_ok());
            assert_eq!(seen, (0..500_u64).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_fault_is_told_after_everything_before_it_was_written() {
        for _ in 0..20 {
            let (seen, done) = squares(4, 8, Some(100), 500);
            assert!(matches!(done, Err(Fault::FrameAltered { number: 100 })));
            assert_eq!(seen.len(), 100);
        }
    }

    #[test]
    fn a_panic_is_a_fault_and_no_hang() {
        let worker = || |_: &mut ()| -> Result<(), Fault> { panic!("on purpose") };
        let done = run(vec![(); 4], 2, |_| Ok(true), worker, |_| Ok(()));
        assert!(matches!(done, Err(Fault::Panicked)));
        let done = run(vec![(); 4], 2, |_| panic!("on purpose"), || |_: &mut ()| Ok(()), |_| Ok(()));
        assert!(matches!(done, Err(Fault::Panicked)));
    }

    #[test]
    fn a_sink_that_fails_ends_it_though_the_source_waits_for_ever() {
        let (_kept, never) = channel::<()>();
        let mut is_first = true;
        let source = move |_: &mut ()| {
            if !std::mem::take(&mut is_first) {
                assert!(never.recv().is_err());
            }
            Ok(true)
        };
        let sink = |_: &mut ()| Err(Fault::Write(std::io::ErrorKind::BrokenPipe.into()));
        assert!(matches!(run(vec![(); 4], 2, source, || |_: &mut ()| Ok(()), sink), Err(Fault::Write(_))));
    }
}
