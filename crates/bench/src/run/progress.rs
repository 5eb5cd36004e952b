//! How far the demo is: a bar on a terminal, a line now and then elsewhere.
//!
//! Invariants: writes to stderr alone, so that stdout holds the report and nothing else.
//!
//! Not here: results.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Progress over a known number of steps.
pub(super) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Progress {
    /// `steps` to go.
    pub(super) fn new(steps: u64) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if is_terminal { ProgressBar::new(steps) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} [{bar:40}] {pos:>2}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        if is_terminal {
            // A wake-up costs microseconds: not seen beside what is measured.
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Self { bar, is_terminal }
    }

    /// A new part begins: worth a line also where there is no terminal.
    pub(super) fn part(&self, text: &str) {
        self.bar.set_message(text.to_owned());
        if !self.is_terminal {
            eprintln!("wirepress demo: {text}");
        }
    }

    /// What is being done, for the bar alone.
    pub(super) fn step(&self, text: String) {
        self.bar.set_message(text);
    }

    /// One step is done.
    pub(super) fn done(&self) {
        self.bar.inc(1);
    }

    /// Prints to stdout without disturbing the bar.
    #[expect(clippy::print_stdout, reason = "the report is what the user asked for")]
    pub(super) fn print(&self, text: &str) {
        self.bar.suspend(|| println!("{text}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
