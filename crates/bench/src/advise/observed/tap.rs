//! A tap: a pass-through proxy for a stated time, through which live traffic is seen.
//!
//! ```text
//!  clients ══ tap ══ link ══ server       every byte as it is
//!              └▶ relay ─▶ watcher ─▶ Gathered ─▶ Observation
//! ```
//! Invariants: nothing is stored on disk; sessions that are open when the time is up go on for a grace, and are then
//! closed; no more than [`SESSIONS_MAX`] are open at once.
//!
//! Not here: relaying (`relay`), looking (`watcher`), what follows from it (`observed`).

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::gathered::Gathered;
use super::rate::Highest;
use super::relay::{Passed, Relay};
use super::watcher::{Watched, watch};

/// A tap that listens.
pub(crate) struct Tap {
    listener: TcpListener,
    relay: Arc<Relay>,
    watcher: std::thread::JoinHandle<Watched>,
    is_over: Arc<AtomicBool>,
    start: Instant,
    next_session: u64,
    highest: Highest,
    time: Duration,
}

/// What a tap has seen.
pub(crate) struct Tapped {
    /// Exchanges, frames, counts.
    pub(crate) gathered: Gathered,
    /// Commands that passed, about.
    pub(crate) commands: u64,
    /// Sessions that passed.
    pub(crate) sessions: u64,
    /// Most sessions at once.
    pub(crate) at_once: u64,
    /// Clients for whom there was no server.
    pub(crate) unreachable: u64,
    /// Highest rate to clients, bytes per second.
    pub(crate) rate_bytes_per_s: f64,
    /// CPU time of looking, as a part of one core.
    pub(crate) cpu_part: f64,
    /// For how long it listened.
    pub(crate) time: Duration,
}

impl Tap {
    /// Listens, and looks at what passes with a `budget` of CPU, a part of one core.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn listen(
        listen: &str,
        server: &Address,
        gathered: Gathered,
        budget: f64,
    ) -> anyhow::Result<Self> {
        allow_files();
        let listener = TcpListener::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
        listener.set_nonblocking(true)?;
        let (told, heard) = sync_channel(CHANNEL_MESSAGES);
        let start = Instant::now();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let told_bytes = Arc::new(AtomicUsize::new(0));
        let watched_bytes = Arc::clone(&told_bytes);
        let watcher = Builder::new()
            .name("watcher".to_owned())
            .spawn(move || watch(&heard, &watched_bytes, gathered, budget, &over))
            .context("cannot start a thread")?;
        let relay = Arc::new(Relay::new(server.clone(), start, told, told_bytes));
        Ok(Self {
            listener,
            relay,
            watcher,
            is_over,
            start,
            next_session: 0,
            highest: Highest::default(),
            time: Duration::ZERO,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system doesn't say.
    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        Ok(self.listener.local_addr()?.into())
    }

    /// Relays for `time`, or until it `is_enough`; that is told what has passed, and the time left.
    pub(crate) fn relay_for(&mut self, time: Duration, mut is_enough: impl FnMut(&Passed, Duration) -> bool) {
        let begin = Instant::now();
        loop {
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() || is_enough(&self.relay.passed, left) {
                self.time = begin.elapsed();
                return;
            }
            self.accept_for(left.min(TICK));
            let passed = &self.relay.passed;
            self.highest.total(self.start.elapsed(), passed.to_client_bytes.load(Ordering::Relaxed));
        }
    }

    /// Sessions that go on.
    pub(crate) fn open(&self) -> u64 {
        self.relay.passed.open.load(Ordering::Relaxed)
    }

    /// Listens no more; what is open after `grace` is closed.
    ///
    /// # Errors
    /// Looking has failed.
    pub(crate) fn end(self, grace: Duration) -> anyhow::Result<Tapped> {
        drop(self.listener);
        // What is still in the channel was said in time.
        std::thread::sleep(SETTLE);
        self.is_over.store(true, Ordering::Relaxed);
        let Ok(watched) = self.watcher.join() else { bail!("looking at what passed failed") };
        let passed = &self.relay.passed;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (commands, sessions) = (load(&passed.turns), load(&passed.sessions));
        let end = Instant::now() + grace;
        while Instant::now() < end && load(&passed.open) > 0 {
            std::thread::sleep(TICK / 4);
        }
        self.relay.close();
        Ok(Tapped {
            gathered: watched.gathered,
            // The client's login is the first that it says behind the server.
            commands: commands.saturating_sub(sessions),
            sessions,
            at_once: load(&passed.at_once),
            unreachable: load(&passed.unreachable),
            rate_bytes_per_s: self.highest.bytes_per_s(),
            cpu_part: watched.cpu.as_secs_f64() / watched.time.as_secs_f64().max(1e-9),
            time: self.time,
        })
    }

    fn accept_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut ready = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
            // A signal ends it early, which is as good as the time's end.
            poll(&mut ready, Some(&timeout)).ok();
            match self.listener.accept() {
                Ok((client, _)) => self.take(client),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                // Too many open files, or a client that has gone again: others will come.
                Err(_) => std::thread::sleep(TICK / 10),
            }
        }
    }

    fn take(&mut self, client: TcpStream) {
        let open = self.relay.passed.open.load(Ordering::Relaxed);
        if open < SESSIONS_MAX && client.set_nonblocking(false).is_ok() {
            self.next_session += 1;
            // Without a thread for it the client is let go, as by a server that is full.
            self.relay.take(client, self.next_session).ok();
        }
    }
}

/// As many files as may be: each session has two.
fn allow_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where that is refused, clients beyond the limit wait until others have gone.
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
}

/// How often the rate is looked at, and whether it is enough.
const TICK: Duration = Duration::from_millis(100);
/// For what was told last to be followed.
const SETTLE: Duration = Duration::from_millis(50);
/// Some for each session at once; their bytes have a bound of their own.
const CHANNEL_MESSAGES: usize = 8_192;
/// Two threads and two sockets each.
const SESSIONS_MAX: u64 = 2_000;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Shutdown;

    use super::*;

    /// A server that hears a client out, and then says all of it backwards.
    fn backwards() -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut all = Vec::new();
                client.read_to_end(&mut all).unwrap();
                all.reverse();
                client.write_all(&all).unwrap();
            }
        });
        address.into()
    }

    fn tap(server: &Address) -> (Tap, String) {
        let tap = Tap::listen("127.0.0.1:0", server, Gathered::new(1), 0.05).unwrap();
        let address = tap.address().unwrap().to_string();
        (tap, address)
    }

    #[test]
    fn bytes_pass_as_they_are_and_an_end_of_sending_is_passed_on() {
        let (mut tap, address) = tap(&backwards());
        let said = lab::generate::blob(1, 1, 3_000_000);
        let client = {
            let said = said.clone();
            std::thread::spawn(move || {
                let mut client = TcpStream::connect(address).unwrap();
                client.write_all(&said).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
                let mut heard = Vec::new();
                client.read_to_end(&mut heard).unwrap();
                heard
            })
        };
        tap.relay_for(Duration::from_secs(60), |_, _| client.is_finished());
        let mut heard = client.join().unwrap();
        heard.reverse();
        assert!(heard == said);
        let tapped = tap.end(Duration::from_secs(5)).unwrap();
        assert_eq!((tapped.sessions, tapped.at_once, tapped.unreachable), (1, 1, 0));
        assert!(tapped.rate_bytes_per_s > 0.0);
    }

    #[test]
    fn a_client_for_whom_there_is_no_server_is_told_so() {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (mut tap, address) = tap(&nobody.into());
        let client = std::thread::spawn(move || {
            let mut heard = Vec::new();
            TcpStream::connect(address).unwrap().read_to_end(&mut heard).unwrap();
            String::from_utf8_lossy(&heard).into_owned()
        });
        tap.relay_for(Duration::from_secs(60), |_, _| client.is_finished());
        assert!(client.join().unwrap().contains("--tap cannot connect to 127.0.0.1:"));
        assert_eq!(tap.end(Duration::ZERO).unwrap().unreachable, 1);
    }

    #[test]
    fn when_the_time_is_up_nobody_is_let_in_and_who_is_in_is_closed_after_the_grace() {
        let (mut tap, address) = tap(&backwards());
        let mut client = TcpStream::connect(&address).unwrap();
        tap.relay_for(Duration::from_secs(60), |passed, _| passed.sessions.load(Ordering::Relaxed) == 1);
        client.write_all(b"hello").unwrap();
        let begin = Instant::now();
        tap.end(Duration::from_millis(300)).unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(300));
        // Closed, or reset.
        assert_eq!(client.read(&mut [0; 10]).unwrap_or(0), 0);
        assert!(TcpStream::connect(&address).is_err());
    }
}
