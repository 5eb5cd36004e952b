//! The servers' own command line clients at the proxy: what they print is what a user sees.
//!
//! Invariant: a client that does not end within its limit is killed, and the test fails.
//! Not here: clients that ask all the time (`bystander`).

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use codec::Algorithm;
use lab::real::{PASSWORD, RealServer, USER};

/// How a client ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) succeeded: bool,
    /// Lines on standard output.
    pub(super) rows: usize,
    /// Errors on standard error.
    pub(super) complaint: String,
    /// From when it was waited for.
    pub(super) took: Duration,
}

/// A client that runs a statement.
pub(super) struct RealClient {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    rows: usize,
}

impl RealClient {
    /// The server's own client, at `address`, with this statement.
    pub(super) fn start(server: &RealServer, address: SocketAddr, algorithm: Algorithm, sql: &str) -> Self {
        Self::start_by(command(server, address, algorithm), sql)
    }

    /// The same by a command that may be wrapped.
    pub(super) fn start_by(mut command: Command, sql: &str) -> Self {
        command.args(["--batch", "--skip-column-names", "--quick", "--execute", sql]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, stdout, rows: 0 }
    }

    /// Reads some rows, and then no more until it is waited for.
    pub(super) fn await_rows(&mut self, count: usize) {
        let stdout = self.stdout.as_mut().unwrap();
        for _ in 0..count {
            let mut row = String::new();
            if stdout.read_line(&mut row).unwrap() == 0 {
                let mut complaint = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
                panic!("the result ended after {} rows: {complaint}", self.rows);
            }
            self.rows += 1;
        }
    }

    /// Kills it as the system would, between two instructions.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Reads the rest.
    pub(super) fn end(mut self, limit: Duration) -> Ended {
        let begun = Instant::now();
        let (stdout, stderr) = (self.stdout.take().unwrap(), self.child.stderr.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        let rows_before = self.rows;
        std::thread::spawn(move || {
            let rows = rows_before + stdout.lines().map_while(Result::ok).count();
            let mut complaint = String::new();
            BufReader::new(stderr).read_to_string(&mut complaint).unwrap();
            sender.send((rows, complaint)).ok();
        });
        let Ok((rows, complaint)) = receiver.recv_timeout(limit) else {
            self.child.kill().unwrap();
            panic!("a client hangs for {limit:?}");
        };
        let succeeded = self.child.wait().unwrap().success();
        // MariaDB's repeats the statement, MySQL's warns of the password.
        let errors: Vec<&str> = complaint.lines().filter(|line| line.contains("ERROR")).collect();
        let complaint = errors.join("; ");
        Ended { succeeded, rows, complaint, took: begun.elapsed() }
    }
}

impl Drop for RealClient {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A client that only logs in and asks for one row.
pub(super) fn ask(server: &RealServer, address: SocketAddr, limit: Duration) -> Ended {
    RealClient::start(server, address, Algorithm::Uncompressed, "select 1").end(limit)
}

/// The client's program, told where to connect and as whom.
pub(super) fn command(server: &RealServer, address: SocketAddr, algorithm: Algorithm) -> Command {
    let program = server.kind().client_program();
    let mut command = server.command(program).unwrap();
    command.args(["--protocol=tcp", &format!("--host={}", address.ip())]);
    command.args([format!("--port={}", address.port()), format!("--user={USER}")]);
    command.arg(format!("--password={PASSWORD}"));
    if program == "mysql" {
        command.args(["--get-server-public-key", &format!("--compression-algorithms={algorithm}")]);
    } else {
        command.args((algorithm == Algorithm::Zlib).then_some("--compress"));
    }
    command
}

/// Rows of a kilobyte that hardly pack, `ROW_COUNT` of them: far more than all buffers on the way hold.
pub(super) fn endless_result() -> String {
    let digits = "(select 0 union all select 1 union all select 2 union all select 3 union all select 4 union all \
                  select 5 union all select 6 union all select 7 union all select 8 union all select 9)";
    let tables = ["a", "b", "c", "d", "e"].map(|name| format!("{digits} {name}"));
    format!("select hex(random_bytes(500)) from {}", tables.join(", "))
}

/// Of [`endless_result`].
pub(super) const ROW_COUNT: usize = 100_000;
