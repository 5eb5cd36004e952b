//! A capture of a server's port, as tcpdump and Wireshark write it.
//!
//! ```text
//!  file ─▶ packets ─▶ segments ─▶ connections ─▶ Gathered ─▶ Observation
//! ```
//! Invariants: memory is bounded, whatever is in the file; nothing is written anywhere.
//!
//! Not here: what follows from it (`observed`).

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use lab::link::Address;

use super::capture::{End, read};
use super::gathered::Gathered;
use super::segment::is_known;
use super::tcp::{Connections, Network};
use crate::client::Stop;
use crate::report::number::{counted, grouped, percent};
use crate::run::Progress;
use crate::stats::median;

/// What a capture holds.
pub(crate) struct Capture {
    /// Exchanges, frames, counts.
    pub(crate) gathered: Gathered,
    /// Where most replies came from.
    pub(crate) server: Address,
    /// From the place of the capture to the server and back, s; none if no connection's beginning is in it.
    pub(crate) server_half_s: Option<f64>,
    /// Between client and server and back, s.
    pub(crate) round_trip_s: Option<f64>,
    /// Clients and server are one machine.
    pub(crate) is_local: bool,
    /// Highest rate to clients, bytes per second.
    pub(crate) rate_bytes_per_s: f64,
    /// Most connections at once.
    pub(crate) at_once: usize,
    /// From the first packet to the last.
    pub(crate) time: Duration,
    /// What a reader must know.
    pub(crate) notes: Vec<String>,
}

/// What was in the file besides the port's connections.
#[derive(Default)]
struct Others {
    packets: u64,
    unknown_links: u64,
    /// Packets by port, of other ports.
    ports: HashMap<u16, u64>,
    first: Option<Duration>,
    last: Duration,
}

/// A file, and how many bytes of it were read.
struct Counted<'a> {
    file: File,
    read_bytes: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        self.read_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

/// Reads the capture `path` of the server's `port`; each MB of the file is a step.
///
/// # Errors
/// No capture, or nothing of the port in it.
pub(crate) fn gather(
    path: &Path,
    port: u16,
    gathered: Gathered,
    stop: &Stop,
    progress: &mut Progress,
) -> anyhow::Result<Capture> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    // A pipe has no length.
    progress.more(file.metadata().map_or(0, |about| about.len()).div_ceil(MB));
    let part = format!("reading {}, in MB", path.display());
    progress.part(&part);
    let read_bytes = AtomicU64::new(0);
    let mut connections = Connections::new(port, gathered);
    let mut others = Others::default();
    let end = read(Counted { file, read_bytes: &read_bytes }, |captured| {
        if others.packets.is_multiple_of(TELL_EVERY) {
            progress.at(read_bytes.load(Ordering::Relaxed) / MB, part.clone());
        }
        others.packets += 1;
        others.first.get_or_insert(captured.at);
        others.last = captured.at;
        others.unknown_links += u64::from(!is_known(captured.link_type));
        if let Some(segment) = captured.segment() {
            if [segment.source.port(), segment.destination.port()].contains(&port) {
                connections.segment(&segment);
            } else {
                others.count(segment.source.port());
                others.count(segment.destination.port());
            }
        }
        !stop.is_wished()
    })
    .with_context(|| format!("{}: {HOW_TO_CAPTURE}", path.display()))?;
    if end == End::Stopped {
        bail!("interrupted");
    }
    connections.end();
    let mut notes = notes(&connections.seen, end);
    let Connections { gathered, highest, seen, .. } = connections;
    if gathered.counts.sessions == 0 {
        bail!("{}", nothing(path, port, &others, end));
    }
    let server = seen.servers.iter().max_by_key(|(address, bytes)| (**bytes, **address));
    if seen.servers.len() > 1 {
        notes.push(format!(
            "{} servers are in the capture, and are taken for one.",
            grouped(seen.servers.len() as u64)
        ));
    }
    Ok(Capture {
        server: server
            .map_or_else(|| Address::Tcp(format!("SERVER:{port}")), |(address, _)| (*address).into()),
        is_local: seen.remote == 0,
        server_half_s: median(&seen.server_halves_s),
        round_trip_s: median(&seen.round_trips_s),
        rate_bytes_per_s: highest.bytes_per_s(),
        at_once: seen.at_once,
        time: others.last.saturating_sub(others.first.unwrap_or_default()),
        notes,
        gathered,
    })
}

impl Others {
    fn count(&mut self, port: u16) {
        // Ports of clients come and go; servers' are among the first.
        if self.ports.len() < PORTS_MAX || self.ports.contains_key(&port) {
            *self.ports.entry(port).or_default() += 1;
        }
    }

    /// The ports with the most packets.
    fn busiest(&self) -> Vec<u16> {
        let mut ports: Vec<(u64, u16)> = self.ports.iter().map(|(port, count)| (*count, *port)).collect();
        ports.sort_unstable_by(|a, b| b.cmp(a));
        ports.into_iter().take(PORTS_TOLD).map(|(_, port)| port).collect()
    }
}

/// Why a capture is of no use.
fn nothing(path: &Path, port: u16, others: &Others, end: End) -> String {
    let path = path.display();
    let packets = others.packets;
    if packets == 0 {
        let cut = if end == End::Whole { "" } else { ": it was cut off, or is damaged" };
        return format!("{path} holds no packet{cut}; {HOW_TO_CAPTURE}");
    }
    if others.unknown_links == packets {
        return format!(
            "{path} was captured from a kind of link that is not known here; Ethernet, Linux cooked, loopback and raw IP \
             are; {HOW_TO_CAPTURE}"
        );
    }
    let busiest: Vec<String> = others.busiest().iter().map(u16::to_string).collect();
    let seen = if busiest.is_empty() {
        "none of TCP".to_owned()
    } else {
        format!("the busiest TCP ports are {}", busiest.join(", "))
    };
    format!(
        "{path} holds {} packets, none with data to or from TCP port {port} ({seen}); name the server's port with \
         --port, or capture it: {HOW_TO_CAPTURE}",
        grouped(packets)
    )
}

fn notes(seen: &Network, end: End) -> Vec<String> {
    let mut notes = Vec::new();
    match end {
        End::Cut => notes.push("The capture ends within a packet; what comes before was used.".to_owned()),
        End::Damaged => {
            notes.push("The capture is damaged; what comes before the damage was used.".to_owned());
        }
        End::Whole | End::Stopped => {}
    }
    if seen.cut > 0 {
        notes.push(format!(
            "{} were cut off by the capture's snap length, and their sessions lost there: capture with -s 0.",
            counted(usize::try_from(seen.cut).unwrap_or(usize::MAX), "segment")
        ));
    }
    if seen.gaps > 0 {
        notes.push(format!(
            "{} in the capture, with packets that were sent and are not in it: the exchanges there were left out.",
            counted(usize::try_from(seen.gaps).unwrap_or(usize::MAX), "gap")
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of segments are far below 2^53")]
    let part = seen.retransmitted as f64 / seen.segments.max(1) as f64;
    if part >= TWICE_TOLD {
        notes.push(
            "Most segments are in the capture more than once, as with tcpdump -i any; each was used once."
                .to_owned(),
        );
    } else if part >= RETRANSMITTED_TOLD {
        notes.push(format!(
            "{} of the segments were sent again: the link loses packets, which the model does not know.",
            percent(part)
        ));
    }
    if seen.crowded_out > 0 {
        notes.push("More connections were open at once than are followed; the rest was left out.".to_owned());
    }
    notes
}

/// Said wherever a capture is of no use.
const HOW_TO_CAPTURE: &str =
    "make one with tcpdump -s 0 -w FILE 'tcp port 3306', and begin it before the clients connect";
const MB: u64 = 1_000_000;
/// Packets from one look at the progress to the next.
const TELL_EVERY: u64 = 1_000;
const PORTS_MAX: usize = 65_536;
const PORTS_TOLD: usize = 3;
/// Below it losses are what every network has.
const RETRANSMITTED_TOLD: f64 = 0.001;
/// No network loses so much and goes on.
const TWICE_TOLD: f64 = 0.3;
