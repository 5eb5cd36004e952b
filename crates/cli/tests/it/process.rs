//! `wirepress proxy` as a child process.
//!
//! Not here: what it relays.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use proxy::Address;
use rustix::process::{Pid, Signal, kill_process};

/// A running proxy, killed when dropped.
pub(crate) struct ProxyProcess {
    child: Child,
    /// Where each listener listens.
    pub(crate) addresses: Vec<Address>,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl ProxyProcess {
    /// Starts with these arguments and waits until its `listeners` listen.
    pub(crate) fn start(args: &[&str], listeners: usize) -> Self {
        Self::start_as(Self::command(args), Stdio::piped(), listeners)
    }

    /// What starts it with these arguments.
    pub(crate) fn command(args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
        command.arg("proxy").args(args);
        command
    }

    /// Starts it by a command that may be wrapped in others, which exec it. The log is kept if `stderr` is a pipe.
    pub(crate) fn start_as(mut command: Command, stderr: Stdio, listeners: usize) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = Arc::<Mutex<String>>::default();
        let told = Arc::clone(&log);
        let reader = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines() {
                    let line = line.unwrap();
                    let mut told = told.lock().unwrap();
                    told.push_str(&line);
                    told.push('\n');
                }
            })
        });
        let mut process = Self { child, addresses: Vec::new(), log, reader };
        for _ in 0..listeners {
            let Some(line) = lines.next() else {
                panic!("the proxy did not start: {}", process.end().1);
            };
            let line = line.unwrap();
            let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(',').next());
            process.addresses.push(address.unwrap_or_else(|| panic!("{line}")).parse().unwrap());
        }
        process
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end; its exit status and its log.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (self.child.wait().unwrap(), self.log.lock().unwrap().clone())
    }

    /// Waits until its admin port is open, which it is behind the line that says where the proxy listens.
    pub(crate) fn await_admin(&self, admin: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let is_open = || match admin.parse().unwrap() {
            Address::Tcp { host, port } => std::net::TcpStream::connect((host, port)).is_ok(),
            Address::Unix(path) => std::os::unix::net::UnixStream::connect(path).is_ok(),
            Address::Pair(_) => unreachable!("{admin}"),
        };
        while !is_open() {
            assert!(Instant::now() < deadline, "{admin} is not open: {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the log holds `text`.
    pub(crate) fn await_log(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.log.lock().unwrap().contains(text) {
            assert!(Instant::now() < deadline, "'{text}' is not in the log: {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
