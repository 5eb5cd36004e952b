//! The proxy that is measured: `wirepress proxy`, a process of its own.
//!
//! ```text
//!  [words before] this program proxy --listen IP:0 --server ADDRESS …      prints: … listening on IP:PORT
//!                                    --pair-listen IP:0                    the half of a pair beside the server
//!                                    --server wirepress://ADDRESS          the other half
//! ```
//! As a process it is what a user would run, and the kernel knows its CPU time exactly.
//!
//! Invariants: it is in a process group of its own, so a Ctrl-C reaches us first.
//!
//! Not here: the proxy's own options and what they mean.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::Address;

use super::proxy_process::ProxyProcess;
use crate::client::Stop;
use crate::record::Setting;

/// How to start one.
#[derive(Debug)]
pub(crate) struct WirepressOptions<'a> {
    /// The program that has `proxy`.
    pub(crate) program: &'a Path,
    /// A command that runs it, such as `ip netns exec NAME`.
    pub(crate) through: &'a [OsString],
    /// Where it listens, on a port that the kernel chooses.
    pub(crate) listen: IpAddr,
    /// What it relays to.
    pub(crate) server: &'a Address,
    /// Whether it is one half of a pair.
    pub(crate) place: Place,
    /// Which frames it packs.
    pub(crate) policy: Policy,
    /// Options besides.
    pub(crate) arguments: &'a [String],
}

/// Whom it speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Peers that speak MySQL's protocol.
    Alone,
    /// Clients, and the other half of a pair.
    PairBesideApp,
    /// The other half, which it packs for at this level, and a server.
    PairBesideServer {
        /// zstd's.
        level: u8,
    },
}

/// `--policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// All frames, at the level that was asked for.
    Fixed,
    /// Those that are there sooner for it.
    Latency,
}

impl Policy {
    /// Of a cell with that setting.
    pub(crate) const fn of(setting: Setting) -> Self {
        match setting {
            Setting::Latency => Self::Latency,
            Setting::None | Setting::Zlib | Setting::Zstd(_) | Setting::Stream(_) => Self::Fixed,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Latency => "latency",
        }
    }
}

impl ProxyProcess {
    /// Starts one and waits until it listens.
    pub(crate) fn wirepress(options: &WirepressOptions<'_>, stop: &Stop) -> anyhow::Result<Self> {
        let mut words = options.through.iter().cloned().chain([options.program.into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        let (listen, scheme, level_max) = match options.place {
            Place::Alone => ("--listen", "", LEVEL_MAX),
            Place::PairBesideApp => ("--listen", "wirepress://", LEVEL_MAX),
            Place::PairBesideServer { level } => ("--pair-listen", "", level),
        };
        command
            .args(words)
            .args(["proxy", listen, &SocketAddr::new(options.listen, 0).to_string(), "--server"])
            .arg(format!("{scheme}{}", options.server))
            .args(["--policy", options.policy.word()])
            .args(["--login-timeout", &(LOGIN_MAX.as_secs() - 10).to_string()])
            .args(options.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if options.policy == Policy::Fixed {
            // What the policy chooses it chooses without being told anything.
            command.args(["--zstd-compression-level-max", &level_max.to_string()]);
        }
        let child =
            command.spawn().with_context(|| format!("cannot start {} proxy", options.program.display()))?;
        let mut proxy = Self { child, address: SocketAddr::new(options.listen, 0) };
        let (sender, lines) = channel();
        if let Some(output) = proxy.child.stdout.take() {
            forward_lines(output, sender.clone());
        }
        if let Some(output) = proxy.child.stderr.take() {
            forward_lines(output, sender);
        }
        proxy.address = wait_for_address(&lines, stop)?;
        Ok(proxy)
    }
}

/// What the proxy of a measurement does for its clients is all it does: its server leg is not packed, and plain unless
/// `tls` says how it is encrypted.
pub(crate) fn server_leg(tls: Option<&[String]>) -> Vec<String> {
    let plain = ["--ssl-mode", "disabled"].map(str::to_owned);
    [&["--compression-algorithms", "uncompressed"].map(str::to_owned), tls.unwrap_or(&plain)].concat()
}

/// Reads to the end, so that the child never waits for us.
fn forward_lines(output: impl Read + Send + 'static, lines: Sender<String>) {
    spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            lines.send(line).ok();
        }
    });
}

fn wait_for_address(lines: &Receiver<String>, stop: &Stop) -> anyhow::Result<SocketAddr> {
    let start = Instant::now();
    let mut seen = Vec::new();
    loop {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => {
                if let Some(address) = address_in(&line) {
                    return Ok(address);
                }
                seen.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {
                if stop.is_wished() {
                    bail!("interrupted");
                }
                if start.elapsed() > START_MAX {
                    bail!("the proxy did not say within {START_MAX:?} where it listens; it said: {seen:?}");
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the proxy ended before it listened; it said:\n{}", seen.join("\n"));
            }
        }
    }
}

/// The address in a line like `… listening on 127.0.0.1:4006 …`.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on ")?;
    let end = rest.find(|c: char| c.is_whitespace() || c == ',' || c == ';').unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Two thousand clients that begin TLS at once on two cores wait for a core before they can send their login: the
/// server's limit, and ours a little below it.
pub(crate) const LOGIN_MAX: Duration = Duration::from_secs(60);
/// zstd's: clients of a measurement get what they ask for.
pub(crate) const LEVEL_MAX: u8 = 22;
/// A start takes milliseconds; a machine that swaps may take seconds.
const START_MAX: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_the_line_that_names_it() {
        let address = Some("127.0.0.1:4006".parse().unwrap());
        assert_eq!(address_in("listening on 127.0.0.1:4006"), address);
        assert_eq!(address_in("INFO wirepress: listening on 127.0.0.1:4006, server unix:/x"), address);
        assert_eq!(address_in("listening on unix:/x"), None);
        assert_eq!(address_in("hello"), None);
    }

    #[test]
    fn a_program_that_ends_at_once_is_told_with_its_words() {
        let options = WirepressOptions {
            program: Path::new("/bin/echo"),
            through: &[],
            listen: IpAddr::from([127, 0, 0, 1]),
            server: &Address::Tcp("127.0.0.1:1".to_owned()),
            place: Place::Alone,
            policy: Policy::Fixed,
            arguments: &[],
        };
        let fault = ProxyProcess::wirepress(&options, &Stop::new()).unwrap_err().to_string();
        assert!(fault.contains("ended before it listened") && fault.contains("--listen"), "{fault}");
    }
}
