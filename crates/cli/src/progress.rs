//! What `--progress` tells of a stream, and the closing line.
//!
//! Not here: the counters (`transfer::Meter`).

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use transfer::{Meter, Reading};

/// Tells of a stream until dropped.
pub(crate) struct Progress {
    /// Dropped to end the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Which of the two lengths `--size` tells.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sized {
    Plain(Option<u64>),
    Packed(Option<u64>),
}

impl Progress {
    /// Tells of `meter` from now on, with `name` before each line.
    pub(crate) fn start(
        name: &'static str,
        meter: &Arc<Meter>,
        size: Sized,
        is_json: bool,
    ) -> std::io::Result<Self> {
        let (running, ended) = channel::<()>();
        let meter = Arc::clone(meter);
        let is_terminal = !is_json && std::io::stderr().is_terminal();
        let (pause, end) = match (is_json, is_terminal) {
            (true, _) => (JSON_PAUSE, "\n"),
            (false, true) => (TERMINAL_PAUSE, "\x1b[K\r"),
            (false, false) => (LOG_PAUSE, "\n"),
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
            let began = Instant::now();
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let (reading, took) = (meter.read(), began.elapsed());
                let line = if is_json {
                    json(name, "progress", reading, took)
                } else {
                    format!("{name}: {}", line(reading, size, took))
                };
                // Whoever closed standard error doesn't want to know.
                drop(write!(std::io::stderr(), "{line}{end}"));
            }
            if is_terminal {
                drop(write!(std::io::stderr(), "\x1b[K"));
            }
        })?;
        Ok(Self { running: Some(running), thread: Some(thread) })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say any more.
            drop(thread.join());
        }
    }
}

/// Rate, ratio, time left.
fn line(reading: Reading, size: Sized, took: Duration) -> String {
    let Reading { plain_len, packed_len } = reading;
    let mut line = format!(
        "{}, {}/s, ratio {:.2}",
        megabytes(plain_len),
        megabytes(per_second(plain_len, took)),
        ratio(plain_len, packed_len)
    );
    let (done, size) = match size {
        Sized::Plain(size) => (plain_len, size),
        Sized::Packed(size) => (packed_len, size),
    };
    if let Some(size) = size {
        let percent = ratio(done, size) * 100.0;
        let left = took.as_secs_f64() * (ratio(size, done) - 1.0).max(0.0);
        line += &format!(", {percent:.0} %, {left:.0} s left");
    }
    line
}

/// One object on a line.
pub(crate) fn json(name: &str, event: &str, reading: Reading, took: Duration) -> String {
    let Reading { plain_len, packed_len } = reading;
    let seconds = took.as_secs_f64();
    format!(
        r#"{{"command":"{name}","event":"{event}","seconds":{seconds:.3},"plain_bytes":{plain_len},"packed_bytes":{packed_len}}}"#
    )
}

/// Bytes a second.
pub(crate) fn per_second(len: u64, took: Duration) -> u64 {
    // A day has fewer than 2^37 milliseconds.
    let ms = u128::max(took.as_millis(), 1);
    u64::try_from(u128::from(len) * 1000 / ms).unwrap_or(u64::MAX)
}

/// Millions of bytes.
pub(crate) fn megabytes(len: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let megabytes = len as f64 / 1e6;
    format!("{megabytes:.1} MB")
}

fn ratio(a: u64, b: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let ratio = a as f64 / b.max(1) as f64;
    ratio
}

const TERMINAL_PAUSE: Duration = Duration::from_millis(500);
const JSON_PAUSE: Duration = Duration::from_secs(1);
const LOG_PAUSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_where_the_size_is_known() {
        let reading = Reading { plain_len: 200_000_000, packed_len: 50_000_000 };
        let took = Duration::from_secs(4);
        assert_eq!(line(reading, Sized::Plain(None), took), "200.0 MB, 50.0 MB/s, ratio 4.00");
        let told = line(reading, Sized::Plain(Some(800_000_000)), took);
        assert!(told.ends_with("25 %, 12 s left"), "{told}");
        assert!(line(reading, Sized::Packed(Some(50_000_000)), took).ends_with("100 %, 0 s left"));
    }
}
