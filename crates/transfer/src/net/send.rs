//! The sending end: lanes that connect, carry pieces and come back when they break.
//!
//! Not here: what pieces are (`pack`), which are due (`window`).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

use super::connection::{Connection, Connector, LONG, dial};
use super::message::{FAREWELL, Kind, Message, WORDS_LEN_MAX, until_end, write};
use super::window::{Ended, Window};
use super::{ALIVE_PAUSE, Patience, Security};
use crate::{Fault, Piece, Summary};

/// Where to, and how.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// host:port of the receiver.
    pub to: String,
    /// How many connections; `None`: as many as make it faster, up to four.
    pub connections: Option<usize>,
    /// How the ends know each other.
    pub security: Security,
    /// Bytes a second, at most.
    pub rate_limit: Option<u64>,
    /// How long to wait.
    pub patience: Patience,
    /// Most bytes that may be under way or waiting to be sent again.
    pub window_len: usize,
}

/// Sends what `pack` gives to its sink, until the receiver has written all of it.
///
/// Errors: the fault of `pack`, of the receiver, or of the way between. In any case the receiver is told, if it can be.
pub fn send(
    options: &SendOptions,
    pack: impl FnOnce(&mut dyn FnMut(Piece<'_>) -> Result<(), Fault>) -> Result<Summary, Fault> + Send + 'static,
) -> Result<Summary, Fault> {
    let connector = options.security.connector()?;
    let window = Arc::new(Window::new(options.window_len));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Fault::Thread)?;
    let sender = Arc::new(Sender {
        options: options.clone(),
        connector,
        window: Arc::clone(&window),
        id: stream_id(),
        began: Instant::now(),
        alive: Mutex::default(),
        lanes: watch::Sender::new(options.connections.unwrap_or(FIRST_LANES)),
        carriers: AtomicU64::new(0),
        live: AtomicUsize::new(0),
        paid_until: Mutex::new(Instant::now()),
    });
    let network = std::thread::Builder::new()
        .name("network".to_owned())
        .spawn(move || runtime.block_on(run(sender)))
        .map_err(Fault::Thread)?;
    // In a thread of its own: its input may say nothing for ever, while the other end has failed.
    let (told, packed) = channel();
    let filling = Arc::clone(&window);
    let packer = move || {
        let pack = AssertUnwindSafe(|| pack(&mut |piece| filling.push(piece.bytes, piece.is_last)));
        let packed = catch_unwind(pack).unwrap_or(Err(Fault::Panicked));
        let words = packed.as_ref().err().map(words_of);
        // Nobody listens if the transfer has ended.
        drop(told.send(packed));
        if let Some(words) = words {
            filling.end(Ended::Own(words));
        }
    };
    std::thread::Builder::new().name("packer".to_owned()).spawn(packer).map_err(Fault::Thread)?;
    if network.join().is_err() {
        return Err(Fault::Panicked);
    }
    match window.ended() {
        // Then everything had been packed.
        Some(Ended::Done) => packed.recv().unwrap_or(Err(Fault::Panicked)),
        Some(ended) => match packed.try_recv() {
            Ok(Err(fault)) => Err(fault),
            _ => Err(ended.to_fault()),
        },
        None => Err(Fault::Panicked),
    }
}

/// The fault and its causes, short enough for a message.
pub(super) fn words_of(fault: &Fault) -> String {
    let mut words = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words.chars().take(WORDS_LEN_MAX / 4).collect()
}

/// What all lanes share.
struct Sender {
    options: SendOptions,
    connector: Connector,
    window: Arc<Window>,
    id: [u8; 16],
    began: Instant,
    /// When a connection last got something done.
    alive: Mutex<Option<Instant>>,
    /// How many lanes may connect.
    lanes: watch::Sender<usize>,
    /// Numbers of connections.
    carriers: AtomicU64,
    /// Connections that stand.
    live: AtomicUsize,
    /// For the rate limit: when the next byte may go.
    paid_until: Mutex<Instant>,
}

async fn run(sender: Arc<Sender>) {
    let lanes = sender.options.connections.unwrap_or(LANES_MAX).max(1);
    let mut tasks = JoinSet::new();
    for lane in 0..lanes {
        let sender = Arc::clone(&sender);
        tasks.spawn(async move { sender.lane(lane).await });
    }
    if sender.options.connections.is_none() {
        let sender = Arc::clone(&sender);
        tasks.spawn(async move { sender.add_lanes().await });
    }
    while let Some(ended) = tasks.join_next().await {
        if ended.is_err() {
            // What it carried would be waited for in vain.
            sender.window.end(Ended::Own(words_of(&Fault::Panicked)));
        }
    }
}

impl Sender {
    /// Connects, carries pieces, and again, until the transfer has ended.
    async fn lane(&self, number: usize) {
        let mut allowed = self.lanes.subscribe();
        while *allowed.borrow_and_update() <= number {
            let news = self.window.news.notified();
            if self.window.ended().is_some() {
                return;
            }
            tokio::select! {
                _ = allowed.changed() => (),
                () = news => (),
            }
        }
        let mut refused_since = None;
        // Even if all has failed before there is a connection: the receiver should not have to wait for a sender.
        let mut must_try = number == 0;
        while std::mem::take(&mut must_try) || self.window.ended().is_none() {
            let attempt = async {
                let (connection, round_trip) = tokio::select! {
                    dialled = dial(&self.options.to, &self.connector) => dialled?,
                    // A connection that hangs must not be waited for.
                    () = self.ended(|ended| !matches!(ended, Ended::Own(_))) => return Ok(()),
                };
                refused_since = None;
                // Each begins slowly there, and what a socket may hold is less than what is on the line.
                if self.options.connections.is_none() && round_trip > LONG {
                    self.lanes.send_replace(LANES_MAX);
                }
                let carrier = self.carriers.fetch_add(1, Ordering::Relaxed);
                self.live.fetch_add(1, Ordering::Relaxed);
                let carried = tokio::select! {
                    carried = self.carry(connection, carrier) => carried,
                    () = self.ended(|ended| matches!(ended, Ended::Peer(_))) => Ok(()),
                    // The other end wants to hear that this one knows, if it can.
                    () = async {
                        self.ended(|ended| matches!(ended, Ended::Done)).await;
                        sleep(KNOWN).await;
                    } => Ok(()),
                };
                self.live.fetch_sub(1, Ordering::Relaxed);
                self.window.give_back(carrier);
                carried
            };
            let Err(error) = attempt.await else { continue };
            if matches!(self.window.ended(), Some(Ended::Done | Ended::Peer(_))) {
                return;
            }
            self.judge(&error, &mut refused_since);
            sleep(PAUSE).await;
        }
    }

    /// Waits until the transfer has ended in such a way.
    async fn ended(&self, is_such: fn(&Ended) -> bool) {
        loop {
            let mut news = pin!(self.window.news.notified());
            news.as_mut().enable();
            if self.window.ended().as_ref().is_some_and(is_such) {
                return;
            }
            news.await;
        }
    }

    /// Whether it is time to give up.
    fn judge(&self, error: &io::Error, refused_since: &mut Option<Instant>) {
        let alive = *self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = self.options.patience;
        let (since, permitted) = match alive {
            Some(alive) => (alive, patience.reconnect),
            None => (self.began, patience.start),
        };
        let to = &self.options.to;
        // Honest, as the very last word may be what was lost.
        let perhaps = if self.window.is_all_delivered() { PERHAPS } else { "" };
        if since.elapsed() > permitted {
            let words = format!("no connection to {to} for {} s: {error}{perhaps}", permitted.as_secs());
            self.window.end(Ended::Own(words));
        } else if alive.is_none()
            && matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        {
            // TLS has refused one of the ends, or it is no receiver: waiting changes nothing. Later it is damage on the way.
            self.window.end(Ended::Own(format!("{to} is not the receiver that was expected: {error}")));
        } else if self.live.load(Ordering::Relaxed) > 0 {
            // Something between the ends permits fewer connections; those that stand go on.
            *refused_since = None;
        } else if error.kind() == io::ErrorKind::ConnectionRefused && alive.is_some() {
            // The host is there and nobody listens: the receiver has died.
            if refused_since.get_or_insert_with(Instant::now).elapsed() > REFUSED {
                self.window.end(Ended::Own(format!("the receiver at {to} is gone: {error}{perhaps}")));
            }
        }
    }

    /// Carries pieces over one connection until the transfer ends or the connection breaks.
    async fn carry(&self, mut connection: Connection, carrier: u64) -> io::Result<()> {
        let silence = self.options.patience.silence;
        let acknowledged = self.window.acknowledged();
        timeout(silence, write(&mut connection, Kind::Hello, 0, &self.id)).await??;
        let welcome = Message::read(&mut connection, WORDS_LEN_MAX, silence).await?;
        match welcome.kind {
            // What came before is not there, and can't be sent again: it would be waited for for ever.
            Kind::Welcome if welcome.number < acknowledged => {
                let words = "the receiver is another one than the one that began";
                self.window.end(Ended::Own(words.to_owned()));
                let (input, mut output) = split(connection);
                self.tell_failure(&mut output, words).await?;
                drop(timeout(FAREWELL, until_end(input)).await);
                return Ok(());
            }
            Kind::Welcome if self.window.delivered(welcome.number) || !self.was_alive() => self.is_alive(),
            Kind::Welcome => (),
            Kind::Done => {
                self.window.end(Ended::Done);
                return write(&mut connection, Kind::Done, 0, &[]).await;
            }
            Kind::Failed => {
                self.window.end(Ended::Peer(String::from_utf8_lossy(&welcome.bytes).into_owned()));
                return Ok(());
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        let (mut input, output) = split(connection);
        {
            let reading = pin!(self.read(&mut input));
            let writing = pin!(self.write(output, carrier));
            tokio::select! {
                read = reading => return read,
                written = writing => written?,
            }
        }
        if matches!(self.window.ended(), Some(Ended::Own(_))) {
            drop(timeout(FAREWELL, until_end(input)).await);
        }
        Ok(())
    }

    /// The last word of this end, which has arrived when the other one closes: closing before it, with something unread, would
    /// take it back.
    async fn tell_failure(&self, output: &mut (impl AsyncWrite + Unpin), words: &str) -> io::Result<()> {
        let told = async {
            write(output, Kind::Failed, 0, words.as_bytes()).await?;
            output.shutdown().await
        };
        timeout(self.options.patience.silence / 4, told).await?
    }

    async fn read(&self, mut input: impl AsyncRead + Unpin) -> io::Result<()> {
        let began = Instant::now();
        loop {
            let message = Message::read(&mut input, WORDS_LEN_MAX, self.options.patience.silence).await?;
            match message.kind {
                Kind::Delivered if self.window.delivered(message.number) => self.is_alive(),
                // One that breaks again and again before a piece is through gets nothing done.
                Kind::Alive if began.elapsed() > STEADY => self.is_alive(),
                Kind::Delivered | Kind::Alive => (),
                Kind::Done => {
                    self.window.end(Ended::Done);
                    // Until it is written that this end knows.
                    return std::future::pending().await;
                }
                Kind::Failed => {
                    self.window.end(Ended::Peer(String::from_utf8_lossy(&message.bytes).into_owned()));
                    return Ok(());
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    async fn write(&self, mut output: impl AsyncWrite + Unpin, carrier: u64) -> io::Result<()> {
        loop {
            let mut news = pin!(self.window.news.notified());
            news.as_mut().enable();
            match self.window.ended() {
                Some(Ended::Own(words)) => return self.tell_failure(&mut output, &words).await,
                Some(Ended::Done) => return write(&mut output, Kind::Done, 0, &[]).await,
                Some(_) => return Ok(()),
                None => (),
            }
            if let Some(message) = self.window.take(carrier) {
                // In parts, so that a low rate is neither a burst nor a silence.
                let part_len = self.options.rate_limit.map_or(message.len(), part_len);
                for part in message.chunks(part_len) {
                    self.pay(part.len()).await;
                    output.write_all(part).await?;
                    output.flush().await?;
                }
            } else if timeout(ALIVE_PAUSE, news).await.is_err() {
                write(&mut output, Kind::Alive, 0, &[]).await?;
            }
        }
    }

    /// Waits until so many bytes may go.
    async fn pay(&self, len: usize) {
        let Some(rate) = self.options.rate_limit else { return };
        #[expect(clippy::cast_precision_loss, reason = "pieces are small")]
        let takes = Duration::from_secs_f64(len as f64 / rate.max(1) as f64);
        let due = {
            let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
            let due = (*paid_until).max(Instant::now());
            *paid_until = due + takes;
            due
        };
        sleep_until(due.into()).await;
    }

    fn is_alive(&self) {
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn was_alive(&self) -> bool {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Adds a lane as long as the last one made it faster and the lanes are what everything waits for.
    async fn add_lanes(&self) {
        let (mut sent_before, mut best) = (0, 0);
        loop {
            if timeout(LOOK, self.ended(|_| true)).await.is_ok() {
                return;
            }
            let (sent_len, is_waiting) = self.window.progress();
            let (rate, lanes) = (sent_len - sent_before, *self.lanes.borrow());
            sent_before = sent_len;
            if is_waiting && lanes < LANES_MAX && rate > best + best / LEAST_GAIN {
                best = rate;
                self.lanes.send_replace(lanes + 1);
            }
        }
    }
}

/// What goes out at once at a rate, bytes: a 16th of a second's.
fn part_len(rate_limit: u64) -> usize {
    usize::try_from(rate_limit / 16).unwrap_or(usize::MAX).clamp(PART_LEN_MIN, PART_LEN_MAX)
}

/// Tells one sender's connections from another's.
fn stream_id() -> [u8; 16] {
    let mut id = [0; 16];
    // Without it two senders could be taken for one only if both fail so.
    let _is_random = aws_lc_rs::rand::fill(&mut id);
    id
}

/// Two hide the pauses of each other's handshakes.
const FIRST_LANES: usize = 2;
/// More only share the same bottleneck, and its losses.
const LANES_MAX: usize = 4;
/// A lane must bring a quarter: less is noise.
const LEAST_GAIN: u64 = 4;
/// How long it may take to say that this end knows of the success: it is one packet, and the other end gives up by itself.
const KNOWN: Duration = Duration::from_secs(1);
/// When only the last word is missing.
const PERHAPS: &str = " (it had received everything and may have succeeded: only its last word is missing)";
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A connection of that age works, if nothing has to be said over it.
const STEADY: Duration = Duration::from_secs(5);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a host that was there may refuse: long enough for a firewall that is reloaded.
const REFUSED: Duration = Duration::from_secs(3);
/// A packet of the line.
const PART_LEN_MIN: usize = 1 << 10;
/// More at once is a burst.
const PART_LEN_MAX: usize = 64 << 10;
