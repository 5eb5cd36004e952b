//! What tells a running proxy to change or to end: signals, and a successor.
//!
//! | word | by |
//! |---|---|
//! | reload | SIGHUP |
//! | drain | SIGTERM; another one, or SIGINT, ends the drain at once |
//! | stop | SIGINT |
//! | handed over | a new process that accepts (`proxy::Handover`) |
//!
//! Not here: what is done then (`proxy_command`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use proxy::Handover;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Reload,
    Drain,
    HandedOver,
    Stop,
}

/// Words as they come.
pub(crate) struct Words {
    sender: Sender<Word>,
    words: Receiver<Word>,
}

impl Words {
    /// Listens to signals from now on.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (sender, words) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _entered = runtime.enter();
            [
                (signal(SignalKind::hangup())?, Word::Reload),
                (signal(SignalKind::terminate())?, Word::Drain),
                (signal(SignalKind::interrupt())?, Word::Stop),
            ]
        };
        let to_signals = sender.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(pass_on(signals, &to_signals)))?;
        Ok(Self { sender, words })
    }

    /// Waits for a successor, too.
    pub(crate) fn add_handover(&self, handover: Handover) -> std::io::Result<()> {
        let sender = self.sender.clone();
        std::thread::Builder::new().name("handover".to_owned()).spawn(move || match handover.wait() {
            // Nobody listens any more when the process ends anyway.
            Ok(()) => drop(sender.send(Word::HandedOver)),
            Err(error) => tracing::error!(%error, "no handover is possible any more"),
        })?;
        Ok(())
    }

    /// Waits for the next word.
    pub(crate) fn next(&self) -> Word {
        // The signals' thread never ends.
        self.words.recv().unwrap_or(Word::Stop)
    }

    /// Becomes true at the next word that asks for an end. The first SIGTERM behind a successor's word asks for the drain that
    /// is under way. `give_way` is called when a successor comes only now.
    pub(crate) fn into_hurry(
        self,
        first: Word,
        mut give_way: impl FnMut() + Send + 'static,
    ) -> std::io::Result<Arc<AtomicBool>> {
        let hurry = Arc::<AtomicBool>::default();
        let told = Arc::clone(&hurry);
        let mut is_told_to_drain = first == Word::Drain;
        std::thread::Builder::new().name("hurry".to_owned()).spawn(move || {
            for word in self.words {
                match word {
                    Word::Drain if !is_told_to_drain => is_told_to_drain = true,
                    Word::Drain | Word::Stop => told.store(true, Ordering::Relaxed),
                    Word::HandedOver => give_way(),
                    Word::Reload => {}
                }
            }
        })?;
        Ok(hurry)
    }
}

async fn pass_on(signals: [(Signal, Word); 3], words: &Sender<Word>) {
    let [(mut hangup, reload), (mut terminate, drain), (mut interrupt, stop)] = signals;
    loop {
        let word = tokio::select! {
            _ = hangup.recv() => reload,
            _ = terminate.recv() => drain,
            _ = interrupt.recv() => stop,
        };
        if words.send(word).is_err() {
            return;
        }
    }
}
