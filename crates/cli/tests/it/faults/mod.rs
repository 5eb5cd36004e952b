//! What goes wrong around a proxy, with real processes: each fault has a deadline, and says how long it took.
//!
//! ```text
//! the fault's clients ──▶ listener 1 ┐                ┌──▶ the fault's server
//!                                    wirepress proxy, one worker
//! a bystander ──────────▶ listener 2 ┘                └──▶ another server
//! ```
//! `make faults` runs all of them; the long ones are ignored otherwise.
//!
//! Invariants: every wait has a limit, so that a hang is a failure; all sessions share one worker, so that one that
//! is held up holds up the bystander; a reply counts as complete only if a real client says so.
//! Not here: bytes that break the protocol (crate `proxy`, `bad_input`), restarts (`restart`).

mod black_hole;
mod bystander;
mod client_gone;
mod clock_jump;
mod disk_full;
mod moving_name;
mod open_files;
mod readings;
mod real_client;
mod server_killed;
mod server_stopped;
mod slow_reader;

use std::fmt::Display;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::real::{Kind, RealServer, required};
use tempfile::TempDir;

use self::bystander::Bystander;
use crate::process::ProxyProcess;

/// A proxy in front of the fault's server and of another one, whose client goes on through all of it.
struct Scene {
    // Dropped in this order.
    bystander: Bystander,
    proxy: ProxyProcess,
    _folder: TempDir,
}

/// How a scene's proxy is started.
struct Setting<'a> {
    /// The fault's server, as `--server` has it.
    server: &'a str,
    /// Where the fault's clients connect.
    listen: &'a str,
    /// The bystander's server.
    other: &'a RealServer,
    /// More arguments; they hold for both listeners.
    args: &'a [&'a str],
    /// Whether the bystander opens new sessions too.
    opens_sessions: bool,
}

impl<'a> Setting<'a> {
    fn new(server: &'a str, other: &'a RealServer) -> Self {
        Self { server, listen: "127.0.0.1:0", other, args: &[], opens_sessions: true }
    }

    fn start(self) -> Scene {
        self.start_as(|command| command, Stdio::piped())
    }

    /// Starts it by a command that is wrapped into another.
    fn start_as(self, wrapped: impl FnOnce(Command) -> Command, stderr: Stdio) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wirepress.toml");
        let Self { server, listen, other, args, opens_sessions } = self;
        let text = format!(
            "[proxy]\nworkers = 1\n[[listener]]\nlisten = \"{listen}\"\nserver = \"{server}\"\n\
             [[listener]]\nlisten = \"127.0.0.1:0\"\nserver = \"{}\"\n",
            other.address()
        );
        std::fs::write(&file, text).unwrap();
        let args = [&["--config", file.to_str().unwrap()], args].concat();
        let proxy = ProxyProcess::start_as(wrapped(ProxyProcess::command(&args)), stderr, 2);
        let bystander = Bystander::start(socket_address(&proxy, 1), opens_sessions);
        Scene { bystander, proxy, _folder: folder }
    }
}

impl Scene {
    /// Where the fault's clients connect.
    fn address(&self) -> SocketAddr {
        socket_address(&self.proxy, 0)
    }

    /// Ends the proxy in order; its log.
    fn end(mut self) -> String {
        self.bystander.end();
        self.proxy.signal(rustix::process::Signal::TERM);
        let (status, log) = self.proxy.end();
        assert!(status.success(), "{status}: {log}");
        assert!(!log.contains("died") && !log.contains("panicked"), "{log}");
        log
    }
}

fn socket_address(proxy: &ProxyProcess, listener: usize) -> SocketAddr {
    proxy.addresses[listener].to_string().parse().unwrap()
}

/// The server for the bystander: of the other vendor, so that it is never the fault's.
fn other_than(kind: Kind) -> Option<&'static RealServer> {
    required(if kind.is_mariadb() { Kind::MySql } else { Kind::MariaDb })
}

/// Prints a fault's line, which `scripts/faults` collects.
///
/// # Panics
/// If it took longer than its deadline.
fn report(fault: impl Display, told: &str, took: Duration, deadline: Duration, others: &str) {
    let (took_s, deadline_s) = (took.as_secs_f64(), deadline.as_secs_f64());
    println!("fault: {fault}: {told} after {took_s:.2} s (deadline {deadline_s} s); {others}");
    assert!(took <= deadline, "{fault}: {took:?}");
}

/// What a deadline has beyond the timeout that it is made of: processes that want the same cores, and the client's own
/// way.
const MOMENT: Duration = Duration::from_secs(5);
