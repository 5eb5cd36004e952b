//! The log: lines for standard error, which a thread of its own writes.
//!
//! ```text
//! whoever has something to say ── copies its line ──▶ queue, at most 1 MiB ──▶ thread "log" ──▶ standard error
//! ```
//! A disk that is full, or a pipe that nobody empties, must not hold up a session, and not end one either.
//!
//! Invariants: a line is never waited for and never a fault; lines keep their order; lines that can't be kept or
//! written are lost, and the next one that can be written follows their count; what was said before the end is
//! written before the process ends, unless that takes longer than [`FLUSH_LIMIT`].
//! Not here: what is said, and where; floods (`flood`).

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, reload};

use crate::flood::{Flood, FloodLayer};

/// How lines look: `--log-format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object in each line.
    Json,
}

/// The process's log, until it is dropped.
pub(crate) struct Log {
    queue: Arc<Queue>,
    flood: Arc<Flood>,
    format: LogFormat,
    set_level: Box<dyn Fn(tracing::Level) -> anyhow::Result<()>>,
}

impl Log {
    /// Takes lines from now on.
    pub(crate) fn start(level: tracing::Level, format: LogFormat, lines_per_second: u32) -> io::Result<Self> {
        let flood = Flood::new(lines_per_second);
        let queue = Arc::<Queue>::default();
        let (reader, writer, told) = (Arc::clone(&queue), Arc::clone(&queue), Arc::clone(&flood));
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut sink = Sink::new(io::stderr(), format);
            loop {
                reader.write_waiting(&mut sink, &told);
            }
        })?;
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(io::stderr().is_terminal())
            .with_writer(move || Line(Arc::clone(&writer)))
            .with_target(false);
        let (filter, filter_handle) = reload::Layer::new(EnvFilter::new(level.to_string()));
        let lines = match format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).boxed(),
        };
        tracing_subscriber::registry().with(lines).with(FloodLayer(Arc::clone(&flood))).with(filter).init();
        let set_level = Box::new(move |level: tracing::Level| {
            Ok(filter_handle.reload(EnvFilter::new(level.to_string()))?)
        });
        Ok(Self { queue, flood, format, set_level })
    }

    /// Changes the level.
    pub(crate) fn set_level(&self, level: tracing::Level) -> anyhow::Result<()> {
        (self.set_level)(level)
    }

    /// Changes how many lines of a kind are written in a second; 0 for no limit.
    pub(crate) fn set_lines_per_second(&self, lines_per_second: u32) {
        self.flood.set(lines_per_second);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        for line in untold(&self.flood, self.format, true) {
            self.queue.push(line.as_bytes());
        }
        self.queue.flush(FLUSH_LIMIT);
    }
}

/// Lines on their way.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    written: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Lines that found no room.
    lost: u64,
    /// Lines were taken that are not written yet.
    is_writing: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.waiting.len() + line.len() > QUEUE_LEN_MAX {
            state.lost += 1;
        } else {
            state.waiting.extend_from_slice(line);
            self.filled.notify_one();
        }
    }

    /// Waits for lines and writes them, or for the time to tell of those that were held back.
    fn write_waiting<W: Write>(&self, sink: &mut Sink<W>, flood: &Flood) {
        for line in untold(flood, sink.format, false) {
            sink.write(line.as_bytes());
        }
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if flood.has_untold() {
                let waited = self.filled.wait_timeout(state, UNTOLD_LOOK);
                let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                if timeout.timed_out() {
                    return;
                }
                state = woken;
            } else {
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
        state.is_writing = true;
        let lines = std::mem::take(&mut state.waiting);
        // Found no room behind these.
        let lost_behind = std::mem::take(&mut state.lost);
        drop(state);
        sink.write(&lines);
        sink.lost += lost_behind;
        if lost_behind > 0 {
            sink.tell_lost();
        }
        self.lock().is_writing = false;
        self.written.notify_all();
    }

    /// Waits until all is written, at most `limit`.
    fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while state.is_writing || !state.waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.written.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One line's way into the queue.
struct Line(Arc<Queue>);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where lines end up, which may refuse some.
struct Sink<W> {
    out: W,
    /// Lines that were lost and not told of yet.
    lost: u64,
    /// The last one stopped in its middle.
    is_inside_line: bool,
    format: LogFormat,
}

impl<W: Write> Sink<W> {
    const fn new(out: W, format: LogFormat) -> Self {
        Self { out, lost: 0, is_inside_line: false, format }
    }

    /// Writes the lines, behind the count of those that were lost before.
    fn write(&mut self, lines: &[u8]) {
        if self.tell_lost() {
            let left = self.try_write(lines);
            self.lost += left.iter().filter(|byte| **byte == b'\n').count() as u64;
        } else {
            self.lost += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }

    /// Tells how many lines were lost, if any; says whether that could be told.
    fn tell_lost(&mut self) -> bool {
        if self.lost == 0 {
            return true;
        }
        let mut line = String::new();
        if self.is_inside_line {
            line.push('\n');
        }
        let told = format!("{} log lines were lost: standard error did not take them", self.lost);
        line.push_str(&own_line(self.format, tracing::Level::ERROR, &told));
        let told = self.try_write(line.as_bytes()).is_empty();
        if told {
            self.lost = 0;
        }
        told
    }

    /// Writes as much as goes; gives what is left.
    fn try_write<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while !bytes.is_empty() {
            match self.out.write(bytes) {
                Ok(0) => break,
                Ok(len) => {
                    let (written, rest) = bytes.split_at(len.min(bytes.len()));
                    self.is_inside_line = written.last() != Some(&b'\n');
                    bytes = rest;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Somebody shares it who wants no waiting.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(RETRY_PAUSE),
                Err(_) => break,
            }
        }
        bytes
    }
}

/// A line of the log's own.
fn own_line(format: LogFormat, level: tracing::Level, message: &str) -> String {
    let mut time = String::new();
    // Writing to a string doesn't fail.
    SystemTime.format_time(&mut Writer::new(&mut time)).unwrap_or_default();
    match format {
        LogFormat::Text => format!("{time} {level:>5} {message}\n"),
        LogFormat::Json => format!(
            "{}\n",
            serde_json::json!({ "timestamp": time, "level": level.as_str(), "message": message })
        ),
    }
}

/// Lines that tell of those that were held back.
fn untold(flood: &Flood, format: LogFormat, all: bool) -> impl Iterator<Item = String> {
    let told = flood.tell(Instant::now(), all).into_iter();
    told.map(move |(untold, over)| own_line(format, untold.level, &untold.message(over)))
}

/// While lines are held back, how often their time is looked at.
const UNTOLD_LOOK: Duration = Duration::from_secs(1);
/// Some thousand lines: what a burst of ended sessions says while a disk is busy.
const QUEUE_LEN_MAX: usize = 1 << 20;
/// A reader that is alive takes the rest at once; one that isn't holds up no end.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);
/// Until a shared standard error is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then none.
    #[derive(Default)]
    struct Disk {
        text: String,
        free: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.free == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let len = bytes.len().min(self.free);
            self.free -= len;
            self.text.push_str(std::str::from_utf8(&bytes[..len]).unwrap());
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sink(free: usize) -> Sink<Disk> {
        Sink::new(Disk { free, ..Disk::default() }, LogFormat::Text)
    }

    fn say(queue: &Queue, sink: &mut Sink<Disk>, line: &str) {
        queue.push(line.as_bytes());
        queue.write_waiting(sink, &Flood::new(0));
    }

    #[test]
    fn a_full_disk_loses_lines_and_the_next_one_follows_their_count() {
        let (queue, mut sink) = (Queue::default(), sink(9));
        for line in ["first\n", "second\n", "third\n"] {
            say(&queue, &mut sink, line);
        }
        assert_eq!(sink.out.text, "first\nsec");
        sink.out.free = usize::MAX;
        say(&queue, &mut sink, "fourth\n");
        let lines: Vec<&str> = sink.out.text.lines().collect();
        assert_eq!([lines[0], lines[1], lines[3]], ["first", "sec", "fourth"], "{lines:?}");
        assert!(
            lines[2].ends_with(" ERROR 2 log lines were lost: standard error did not take them"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_reader_that_does_not_read_costs_lines_and_not_memory() {
        let (queue, mut sink) = (Queue::default(), sink(usize::MAX));
        let line = format!("{}\n", "x".repeat(1023));
        for _ in 0..1034 {
            queue.push(line.as_bytes());
        }
        assert_eq!(queue.lock().waiting.len(), QUEUE_LEN_MAX);
        queue.write_waiting(&mut sink, &Flood::new(0));
        let text = &sink.out.text;
        assert!(text.ends_with(" ERROR 10 log lines were lost: standard error did not take them\n"));
    }

    #[test]
    fn the_end_waits_for_the_last_line_and_not_for_ever() {
        let queue = Queue::default();
        queue.push(b"last\n");
        let begun = Instant::now();
        queue.flush(Duration::from_millis(20));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut sink = sink(usize::MAX);
                queue.write_waiting(&mut sink, &Flood::new(0));
                sink.out.text
            });
            queue.flush(Duration::from_secs(60));
            assert!(queue.lock().waiting.is_empty());
            assert_eq!(writer.join().unwrap(), "last\n");
        });
    }
}
