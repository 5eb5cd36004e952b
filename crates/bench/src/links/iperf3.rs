//! What iperf3 says of a kernel link: somebody else's measurement of the same.
//!
//! ```text
//!  iperf3 -c … -R on the client's host  ◀━━ link ━━  iperf3 -s here
//! ```
//! The program is the one that `scripts/fetch-servers` fetches.
//!
//! Invariants: never needed: where it is missing or fails the answer is a word for the column.
//!
//! Not here: our own measurement (`calibrate`).

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use lab::kernel_link::RunningKernelLink;
use lab::real::Install;
use serde_json::Value;

/// The rate that its client receives, in Mbit/s of what TCP carries, the first second left out.
///
/// # Errors
/// A few words: why there is none.
pub(super) fn to_client_mbit_per_s(link: &RunningKernelLink) -> Result<f64, String> {
    let Ok(program) = Install::find().and_then(|install| install.program("iperf3")) else {
        return Err("not fetched".to_owned());
    };
    let measure = || -> anyhow::Result<f64> {
        // Free a moment ago; nobody else is told of this address.
        let address = TcpListener::bind((link.server_ip(), 0))?.local_addr()?;
        let place = ["-p".to_owned(), address.port().to_string()];
        let server = Command::new(&program)
            .args(["-s", "-1", "--forceflush", "-B", &address.ip().to_string()])
            .args(&place)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Server(server);
        let mut lines = BufReader::new(server.0.stdout.take().context("no output")?).lines();
        lines
            .find(|line| line.as_ref().map_or(true, |line| line.contains("listening")))
            .context("it does not listen")??;
        let [first, rest @ ..] = link.client_exec();
        let client = Command::new(first)
            .args(rest)
            .arg(&program)
            .args(["-c", &address.ip().to_string(), "-R", "-J", "-O", "1", "-t", "3"])
            .args(&place)
            .output()?;
        let answer: Value = serde_json::from_slice(&client.stdout)?;
        let bits_per_s = answer.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
        let said = || answer.get("error").map_or_else(|| "no rate".to_owned(), Value::to_string);
        Ok(bits_per_s.with_context(said)? / 1e6)
    };
    measure().map_err(|error| format!("failed: {error:#}"))
}

/// Killed when dropped, if it has not ended with its one client.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
