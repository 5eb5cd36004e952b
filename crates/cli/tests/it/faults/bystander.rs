//! A client at the same proxy and the same worker whom the fault does not concern: it asks all the time.
//!
//! Invariant: a question that is not answered, or not in time, fails the test.
//! Not here: the fault.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bench::client::{Account, Client, ClientFault, Compression, Stop};
use lab::real::{PASSWORD, USER};
use lab::wait::wait_until_within;
use zeroize::Zeroizing;

/// Asks from its start to its end.
pub(super) struct Bystander {
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    done: AtomicBool,
    answered: AtomicU64,
    longest_us: AtomicU64,
}

/// What the bystander saw since `since`.
pub(super) struct Watch<'b> {
    bystander: &'b Bystander,
    answered: u64,
}

impl Bystander {
    /// Asks in one session, and if `opens_sessions` in new ones besides; returns when the first answer is there.
    pub(super) fn start(address: SocketAddr, opens_sessions: bool) -> Self {
        let seen = Arc::<Seen>::default();
        let asking = Arc::clone(&seen);
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::spawn(move || match ask(address, opens_sessions, &asking, &ready) {
            // The end of a test that failed already.
            Err(_) if asking.done.load(Ordering::Relaxed) => {}
            ended => ended.unwrap(),
        });
        let bystander = Self { seen, thread: Some(thread) };
        is_ready.recv_timeout(LONGEST).unwrap();
        bystander
    }

    /// Looks from now on.
    pub(super) fn watch(&self) -> Watch<'_> {
        self.seen.longest_us.store(0, Ordering::Relaxed);
        Watch { bystander: self, answered: self.seen.answered.load(Ordering::Relaxed) }
    }

    /// Its last question.
    pub(super) fn end(&mut self) {
        self.seen.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.seen.done.store(true, Ordering::Relaxed);
    }
}

fn ask(
    address: SocketAddr,
    opens_sessions: bool,
    seen: &Seen,
    ready: &Sender<()>,
) -> Result<(), ClientFault> {
    let mut client = try_log_in(address)?;
    for count in 0_u32.. {
        let begun = Instant::now();
        if opens_sessions && count % QUESTIONS_PER_SESSION == 1 {
            let mut another = try_log_in(address)?;
            another.query("select 1")?;
            another.quit();
        } else {
            // A row that is unpacked on a helper thread.
            client.query("select repeat('0123456789abcdef', 40000)")?;
        }
        let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap();
        seen.longest_us.fetch_max(took_us, Ordering::Relaxed);
        seen.answered.fetch_add(1, Ordering::Relaxed);
        // Only the first one is waited for.
        ready.send(()).ok();
        if seen.done.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    client.quit();
    Ok(())
}

impl Watch<'_> {
    /// What it saw, in words, when one more question was answered.
    ///
    /// # Panics
    /// If an answer took too long.
    pub(super) fn told(&self) -> String {
        let seen = &self.bystander.seen;
        let now = seen.answered.load(Ordering::Relaxed);
        wait_until_within("the bystander is answered", LONGEST, || {
            seen.answered.load(Ordering::Relaxed) > now
        });
        let answered = seen.answered.load(Ordering::Relaxed) - self.answered;
        let longest = Duration::from_micros(seen.longest_us.load(Ordering::Relaxed));
        assert!(longest <= LONGEST, "the bystander waited {longest:?}");
        format!("others: {answered} answers, the slowest in {:.0} ms", longest.as_secs_f64() * 1e3)
    }
}

/// Our own client, without compression.
pub(super) fn log_in(address: SocketAddr) -> Client {
    try_log_in(address).unwrap_or_else(|fault| panic!("{fault}"))
}

/// The same, where that may fail.
pub(super) fn try_log_in(address: SocketAddr) -> Result<Client, ClientFault> {
    let account = Account {
        user: USER.to_owned(),
        password: Zeroizing::new(PASSWORD.to_owned()),
        database: String::new(),
        tls: None,
    };
    Client::connect(&address.into(), &account, Compression::NONE, &Stop::new())
}

/// An answer takes milliseconds; on a machine that does other things besides it may take this long, a hang takes longer.
const LONGEST: Duration = Duration::from_secs(8);
/// Leaves the machine's cores to the others.
const PAUSE: Duration = Duration::from_millis(5);
/// One question in so many is the first of a session.
const QUESTIONS_PER_SESSION: u32 = 8;
