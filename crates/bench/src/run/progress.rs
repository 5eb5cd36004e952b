//! How far a run is: a bar with the time left on a terminal, a line now and then elsewhere.
//!
//! Invariants: writes to stderr alone, so that stdout holds the report and nothing else; a reader that has gone, of either,
//! ends no measurement.
//!
//! Not here: results.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// Progress over a known number of steps.
pub(crate) struct Progress {
    bar: ProgressBar,
    pace: Arc<Mutex<Pace>>,
    command: &'static str,
    is_terminal: bool,
    last_line: Option<Instant>,
}

impl Progress {
    /// `steps` to go; `command` begins each line where there is no terminal.
    pub(crate) fn new(command: &'static str, steps: u64) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let bar = if is_terminal { ProgressBar::new(steps) } else { ProgressBar::hidden() };
        bar.set_length(steps);
        let pace = Arc::new(Mutex::new(Pace { since: Instant::now(), skipped: 0 }));
        if let Ok(style) =
            ProgressStyle::with_template("{elapsed:>4} [{bar:30}] {pos:>2}/{len} {time:>4} left  {msg}")
        {
            let seen = Arc::clone(&pace);
            let time_left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
                match left(&seen, state.pos(), state.len().unwrap_or_default()) {
                    Some(left) => write!(out, "{:#}", HumanDuration(left)),
                    None => out.write_char('?'),
                }
                .ok();
            };
            bar.set_style(style.with_key("time", time_left).progress_chars("=> "));
        }
        if is_terminal {
            // A wake-up costs microseconds: not seen beside what is measured.
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Self { bar, pace, command, is_terminal, last_line: None }
    }

    /// A new part begins: worth a line also where there is no terminal.
    pub(crate) fn part(&self, text: &str) {
        self.bar.set_message(text.to_owned());
        if !self.is_terminal {
            drop(writeln!(io::stderr(), "wirepress {}: {text}", self.command));
        }
    }

    /// What is being done, for the bar; elsewhere a line once a while.
    pub(crate) fn step(&mut self, text: String) {
        if !self.is_terminal && self.last_line.is_none_or(|last| last.elapsed() > LINE_EVERY) {
            self.last_line = Some(Instant::now());
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let (command, left) = (self.command, self.left());
            drop(writeln!(io::stderr(), "wirepress {command}: {done} of {all} done{left}; {text}"));
        }
        self.bar.set_message(text);
    }

    /// A line that stays.
    pub(crate) fn warn(&self, text: &str) {
        self.bar.suspend(|| drop(writeln!(io::stderr(), "wirepress {}: {text}", self.command)));
    }

    /// The steps are seconds: so many have passed since the beginning, and so many are left.
    pub(crate) fn seconds(&self, passed: Duration, left: Duration) {
        self.bar.set_length((passed + left).as_secs());
        self.bar.set_position(passed.as_secs());
    }

    /// So many steps were done before: they say nothing about the time left.
    pub(crate) fn skip(&self, steps: u64) {
        self.bar.inc(steps);
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner) =
            Pace { since: Instant::now(), skipped: self.bar.position() };
    }

    /// So many steps are done, and this is what is being done.
    pub(crate) fn at(&mut self, steps: u64, text: String) {
        self.bar.set_position(steps);
        self.step(text);
    }

    /// So many steps more than were known.
    pub(crate) fn more(&self, steps: u64) {
        self.bar.inc_length(steps);
    }

    /// One step is done.
    pub(crate) fn done(&self) {
        self.bar.inc(1);
    }

    /// [`print()`] without disturbing the bar.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn print(&self, text: &str) -> io::Result<()> {
        self.bar.suspend(|| print(text))
    }

    fn left(&self) -> String {
        let left = left(&self.pace, self.bar.position(), self.bar.length().unwrap_or_default());
        left.map_or_else(String::new, |left| format!(", about {} s left", left.as_secs()))
    }
}

/// Prints to stdout, and a newline.
///
/// # Errors
/// A full disk, and the like; not that nobody reads any more (`| head`).
pub fn print(text: &str) -> io::Result<()> {
    print_to(&mut io::stdout().lock(), text)
}

/// When steps began to count, behind so many that were done before.
struct Pace {
    since: Instant,
    skipped: u64,
}

/// The time left, if the rest is like all steps so far: they differ by a hundred times, and their order is shuffled, so the last few
/// say little. Before the first is done nobody knows.
fn left(pace: &Mutex<Pace>, done: u64, all: u64) -> Option<Duration> {
    let pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
    let counted = done.saturating_sub(pace.skipped);
    let rest = all.saturating_sub(done) as f64;
    (counted > 0).then(|| pace.since.elapsed().mul_f64(rest / counted as f64))
}

/// Writes lines for a reader, who may have gone.
///
/// # Errors
/// A full disk, and the like; not that nobody reads any more (`| head`).
pub(crate) fn print_to(out: &mut (impl Write + ?Sized), text: &str) -> io::Result<()> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Often enough to see that it lives, seldom enough for a log.
const LINE_EVERY: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_mean_of_all_steps_that_were_done_now() {
        let pace = |skipped| Mutex::new(Pace { since: Instant::now() - Duration::from_secs(100), skipped });
        let s = |left: Option<Duration>| left.map(|left| left.as_secs_f64().round());
        assert_eq!(s(left(&pace(0), 10, 40)), Some(300.0));
        assert_eq!(s(left(&pace(10), 10, 40)), None);
        assert_eq!(s(left(&pace(10), 15, 40)), Some(500.0));
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is_one() {
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        print_to(&mut writer, "a report").unwrap();
        let mut full = io::Cursor::new([0; 4]);
        assert_eq!(
            print_to(&mut full.get_mut().as_mut_slice(), "a report").unwrap_err().kind(),
            ErrorKind::WriteZero
        );
    }
}
