//! The receiving end: takes a sender's connections, and tells it what was delivered and how it ended.
//!
//! Not here: what the pieces mean (`unpack`).

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, split};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_rustls::rustls::ServerConfig;

use super::connection::{Connection, accept};
use super::message::{FAREWELL, Kind, Message, PIECE_LEN_MAX, WORDS_LEN_MAX, write};
use super::reorder::{Reorder, Stream};
use super::send::words_of;
use super::{ALIVE_PAUSE, Patience, Security};
use crate::{Fault, Summary};

/// From whom, and how.
#[derive(Debug, Clone)]
pub struct ReceiveOptions {
    /// How the ends know each other.
    pub security: Security,
    /// How long to wait.
    pub patience: Patience,
    /// Most bytes that may wait for pieces before them: at least the sender's window.
    pub window_len: usize,
}

/// Whoever takes what is received, as the network's thread asks and tells him.
pub trait Taker: Send + 'static {
    /// Asked again and again: once it tells why nothing more can be taken, reading fails with that.
    fn hindrance(&self) -> Option<String> {
        None
    }

    /// The transfer has failed, and what came before is still being taken after a grace: don't wait for that any longer.
    fn abandon(&self, words: &str) {
        let _ = words;
    }
}

/// Takes whatever comes, by itself.
impl Taker for () {}

/// A listening receiver.
pub struct Receiver {
    listener: TcpListener,
    acceptor: Option<Arc<ServerConfig>>,
    options: ReceiveOptions,
}

/// Says, however the network's thread ends, that no more will come from it: somebody may be waiting for that.
struct Closing(Arc<Reorder>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.fail("this end's connections are closed");
    }
}

/// How this end ended.
#[derive(Debug, Clone)]
enum Outcome {
    Done,
    Failed(String),
}

impl Receiver {
    /// Listens at `address`, host:port.
    pub fn bind(address: &str, options: ReceiveOptions) -> Result<Self, Fault> {
        let acceptor = options.security.acceptor()?;
        let failed = |source| Fault::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, acceptor, options })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr, Fault> {
        self.listener.local_addr().map_err(|source| Fault::Listen { address: String::new(), source })
    }

    /// Gives one sender's stream to `unpack`, and tells the sender how that ended.
    ///
    /// Success is told again and again, until the sender says that it knows, or for as long as it may take to reconnect.
    pub fn run(
        self,
        taker: impl Taker,
        unpack: impl FnOnce(Box<dyn io::Read + Send>) -> Result<Summary, Fault>,
    ) -> Result<Summary, Fault> {
        let reorder = Arc::new(Reorder::new(self.options.window_len));
        let outcome = watch::Sender::new(None);
        let session = Arc::new(Session {
            options: self.options,
            acceptor: self.acceptor,
            reorder: Arc::clone(&reorder),
            outcome: outcome.subscribe(),
            sender: Mutex::default(),
            live: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
            is_known: AtomicBool::new(false),
        });
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Fault::Thread)?;
        let listener = self.listener;
        let closing = Closing(Arc::clone(&reorder));
        let network = std::thread::Builder::new()
            .name("network".to_owned())
            .spawn(move || {
                let _closing = closing;
                runtime.block_on(session.run(listener, taker))
            })
            .map_err(Fault::Thread)?;
        let unpacked = unpack(Box::new(Stream::new(reorder)));
        outcome.send_replace(Some(match &unpacked {
            Ok(_) => Outcome::Done,
            Err(fault) => Outcome::Failed(words_of(fault)),
        }));
        match network.join() {
            Err(_) => Err(Fault::Panicked),
            Ok(Err(error)) if unpacked.is_ok() => Err(Fault::Read(error)),
            Ok(_) => unpacked,
        }
    }
}

/// What all connections share.
struct Session {
    options: ReceiveOptions,
    acceptor: Option<Arc<ServerConfig>>,
    reorder: Arc<Reorder>,
    outcome: watch::Receiver<Option<Outcome>>,
    /// The stream id of the first who was let in; others are refused.
    sender: Mutex<Option<Vec<u8>>>,
    /// Connections that were let in and have not broken.
    live: AtomicUsize,
    /// Connections over which the outcome was told, or the sender's own failure.
    told: AtomicUsize,
    /// The sender has said that it knows of the success.
    is_known: AtomicBool,
}

impl Session {
    async fn run(self: Arc<Self>, listener: TcpListener, taker: impl Taker) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut tasks = JoinSet::new();
        let mut looks = interval(LOOK);
        let (began, mut alive) = (Instant::now(), None);
        let (mut ended, mut failed) = (None, None);
        loop {
            tokio::select! {
                accepted = listener.accept(), if tasks.len() < CONNECTIONS_MAX => match accepted {
                    Ok((stream, _)) => {
                        let session = Arc::clone(&self);
                        tasks.spawn(async move { session.serve(stream).await });
                    }
                    // Out of files, or it was gone before it was taken.
                    Err(_) => sleep(LOOK).await,
                },
                _ = looks.tick() => (),
            }
            while let Some(ended) = tasks.try_join_next() {
                if ended.is_err() {
                    return Err(io::Error::other(Fault::Panicked));
                }
            }
            let patience = self.options.patience;
            if self.live.load(Ordering::Relaxed) > 0 {
                alive = Some(Instant::now());
            }
            let outcome = self.outcome.borrow().clone();
            if let Some(outcome) = outcome {
                let since = *ended.get_or_insert_with(Instant::now);
                // Not by looks: a short transfer is over between two of them.
                let is_alone = self.sender.lock().unwrap_or_else(PoisonError::into_inner).is_none();
                let is_told = match outcome {
                    Outcome::Done => self.is_known.load(Ordering::Relaxed),
                    Outcome::Failed(_) => {
                        self.told.load(Ordering::Relaxed) > 0 && self.live.load(Ordering::Relaxed) == 0
                    }
                };
                if is_told || is_alone || since.elapsed() > patience.reconnect {
                    return Ok(());
                }
                continue;
            }
            if let Some(words) = taker.hindrance() {
                self.reorder.fail(&words);
            }
            let (since, permitted, what) = match alive {
                Some(alive) => (alive, patience.reconnect, "the sender is gone: no connection"),
                None => (began, patience.start, "no sender came"),
            };
            if since.elapsed() > permitted {
                self.reorder.fail(&format!("{what} for {} s", permitted.as_secs()));
            }
            if let Some(words) = self.reorder.failure()
                && failed.get_or_insert_with(Instant::now).elapsed() > GRACE
            {
                taker.abandon(&words);
            }
        }
    }

    async fn serve(&self, stream: TcpStream) {
        // Whoever doesn't prove himself is no concern of ours.
        let Ok(mut connection) = accept(stream, &self.acceptor).await else { return };
        let hello = Message::read(&mut connection, WORDS_LEN_MAX, self.options.patience.silence).await;
        let Ok(Message { kind: Kind::Hello, bytes: id, .. }) = hello else { return };
        let is_ours =
            *self.sender.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| id.clone())
                == id;
        if !is_ours {
            let words = b"the receiver has another sender already";
            drop(timeout(LOOK, write(&mut connection, Kind::Failed, 0, words)).await);
            return;
        }
        self.live.fetch_add(1, Ordering::Relaxed);
        // A connection that breaks comes back, or the look above ends it.
        drop(self.carry(connection).await);
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    async fn carry(&self, mut connection: Connection) -> io::Result<()> {
        let delivered = *self.reorder.delivered().borrow();
        if self.outcome.borrow().is_none() {
            write(&mut connection, Kind::Welcome, delivered, &[]).await?;
        }
        let (mut input, output) = split(connection);
        let mut reading = pin!(self.read(&mut input));
        let writing = pin!(self.write(output));
        tokio::select! {
            read = &mut reading => return read,
            written = writing => written?,
        }
        self.told.fetch_add(1, Ordering::Relaxed);
        // What was told has arrived when the sender says so or closes; closing before it, with something unread, would take it
        // back.
        drop(timeout(FAREWELL, reading).await);
        Ok(())
    }

    async fn read(&self, input: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        loop {
            let message = Message::read(input, PIECE_LEN_MAX, self.options.patience.silence).await?;
            match message.kind {
                Kind::Piece | Kind::Last => {
                    let is_last = message.kind == Kind::Last;
                    if !self.reorder.insert(message.number, message.bytes, is_last) {
                        self.reorder.fail("the sender's window is larger than this end's");
                    }
                }
                Kind::Alive => (),
                Kind::Done if matches!(*self.outcome.borrow(), Some(Outcome::Done)) => {
                    self.is_known.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                Kind::Failed => {
                    let words = String::from_utf8_lossy(&message.bytes).into_owned();
                    self.reorder.fail(&format!("the sender failed: {words}"));
                    // It needs no word of ours.
                    self.told.fetch_add(1, Ordering::Relaxed);
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    /// Tells what was delivered, that this end is alive, and in the end how it ended.
    async fn write(&self, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut delivered = self.reorder.delivered();
        let mut outcome = self.outcome.clone();
        loop {
            let now = outcome.borrow_and_update().clone();
            match now {
                Some(Outcome::Done) => return write(&mut output, Kind::Done, 0, &[]).await,
                Some(Outcome::Failed(words)) => {
                    return write(&mut output, Kind::Failed, 0, words.as_bytes()).await;
                }
                None => (),
            }
            tokio::select! {
                _ = outcome.changed() => (),
                _ = delivered.changed() => {
                    let upto = *delivered.borrow_and_update();
                    write(&mut output, Kind::Delivered, upto, &[]).await?;
                }
                () = sleep(ALIVE_PAUSE) => write(&mut output, Kind::Alive, 0, &[]).await?,
            }
        }
    }
}

/// Of anybody, before they have proved who they are; a sender has at most 64.
const CONNECTIONS_MAX: usize = 256;
/// How long what came before a failure may take to be taken.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether anybody is there.
const LOOK: Duration = Duration::from_millis(200);
