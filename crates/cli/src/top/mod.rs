//! `wirepress top`: a running proxy, live on a terminal.
//!
//! ```text
//! keys, resizes ──┐
//! signals ────────┼─▶ events ─▶ view ─▶ screen
//! watcher ────────┘               └───▶ orders ─▶ watcher ─▶ admin port
//! ```
//! Invariants: whatever ends it, the terminal is as it was before; nothing that the admin port does or doesn't holds up
//! the keys.
//! Not here: the numbers themselves (crate `admin`).

mod column;
mod figures;
mod keys;
mod sample;
mod screen;
mod view;
mod watcher;

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ratatui::crossterm::event;

use self::keys::Wish;
use self::sample::Sample;
use self::view::View;
use crate::args::TopArgs;
use crate::words::Words;

/// There is nothing to draw on, or nobody to press keys.
#[derive(Debug, thiserror::Error)]
#[error(
    "standard {0} is not a terminal, which `wirepress top` needs: use `wirepress status`, or `wirepress status --json` in scripts"
)]
pub(crate) struct NoTerminal(&'static str);

/// What happens.
enum Event {
    Terminal(event::Event),
    /// The terminal is gone.
    TerminalLost(io::Error),
    Sample(Sample),
    /// The admin port can't be asked.
    Lost(String),
    /// It can again.
    Connected,
    /// What came of an order.
    Notice(String),
    /// A signal.
    End,
}

/// Shows it until somebody quits.
pub(crate) fn run(args: &TopArgs) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        return Err(NoTerminal("input").into());
    }
    if !io::stdout().is_terminal() {
        return Err(NoTerminal("output").into());
    }
    // What is wrong from the beginning is told in a line.
    let client = args.port.connect()?;
    let (sender, events) = channel();
    let (orders, ordered) = channel();
    let words = Words::new().context("can't listen to signals")?;
    let (port, delay, to_screen) = (args.port.clone(), args.delay, sender.clone());
    let watcher = spawn("admin", move || watcher::watch(&port, client, delay, &ordered, &to_screen))?;

    let _restoring = Restoring;
    let mut terminal = ratatui::try_init().context("can't use the terminal")?;
    let to_events = sender.clone();
    spawn("words", move || {
        words.next();
        drop(to_events.send(Event::End));
    })?;
    spawn("keys", move || read_terminal(&sender))?;

    let mut view = View::new();
    let admin = args.port.admin.to_string();
    let mut answered = Instant::now();
    loop {
        if watcher.is_finished() {
            bail!("what asks the admin port has died; this is a bug in wirepress");
        }
        let silent = Some(answered.elapsed()).filter(|silent| *silent > args.delay + SILENCE);
        let mut page = 0;
        terminal
            .draw(|frame| page = screen::draw(frame, &view, &admin, silent))
            .context("can't draw on the terminal")?;
        let event = match events.recv_timeout(TICK) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match event {
            Event::Terminal(event::Event::Key(key)) => match keys::press(&mut view, key, page) {
                Some(Wish::Quit) => return Ok(()),
                Some(Wish::Redraw) => terminal.clear().context("can't draw on the terminal")?,
                Some(Wish::Kill(id)) => drop(orders.send(id)),
                None => {}
            },
            // The next drawing has the new size.
            Event::Terminal(_) => {}
            Event::TerminalLost(error) => return Err(error).context("can't read from the terminal"),
            Event::Sample(sample) => {
                answered = Instant::now();
                view.accept(sample);
            }
            Event::Lost(why) => {
                answered = Instant::now();
                view.lose(why);
            }
            Event::Connected => view.forget(),
            Event::Notice(notice) => view.notice = Some(notice),
            Event::End => return Ok(()),
        }
    }
}

fn read_terminal(events: &Sender<Event>) {
    loop {
        let (event, is_last) = match event::read() {
            Ok(event) => (Event::Terminal(event), false),
            Err(error) => (Event::TerminalLost(error), true),
        };
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).context("can't start a thread")
}

/// Gives the terminal back; a panic does so by the hook that `ratatui` sets.
struct Restoring;

impl Drop for Restoring {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        drop(ratatui::try_restore());
    }
}

/// How often it is looked whether the admin port is silent.
const TICK: Duration = Duration::from_millis(500);
/// An answer that takes longer is missed.
const SILENCE: Duration = Duration::from_secs(3);
