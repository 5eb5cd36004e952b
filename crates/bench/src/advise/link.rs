//! The link between this machine and a server that is there: its round trip and its rate.
//!
//! ```text
//!  round trip   TCP connects, each closed at once              the median; the server's process has no part in it
//!               `select 1`                                     if that takes far longer, something in between accepts
//!  rate         select repeat('x', n), n doubled until it takes long enough, then n and n/8 in turn
//!               7/8 n / (time of n - time of n/8)              without round trip, start and what a query costs
//! ```
//! Invariants: uncompressed; nothing is read from tables; bounded in time. A rate at which this process was at work most
//! of the time, or which a network seldom has, or that of this machine to itself, is told as "at least". Times count only
//! of replies that came whole, and only where more bytes took longer; without enough of them the rate is not known.
//!
//! Not here: links that are assumed (`lab::link::Link`), emulated ones (`calibrate`).

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context;
use lab::link::{Address, Link};

use super::forecast::LinkShape;
use super::traffic::Source;
use crate::client::{Client, Compression};
use crate::cpu;
use crate::stats::median;

/// A link, and how it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KnownLink {
    /// What it does.
    pub(crate) shape: LinkShape,
    /// It may be faster: the ends were what took the time. At least 0 is a rate of which nothing is known.
    pub(crate) is_at_least: bool,
    /// It was not measured.
    pub(crate) is_assumed: bool,
}

impl KnownLink {
    /// Whether anything is known of its rate.
    pub(crate) fn has_rate(&self) -> bool {
        self.shape.rate_bytes_per_s > 0.0
    }

    /// What it took of a measurement over it: where the ends were the limit, its rate took nothing.
    pub(crate) fn as_cost(&self) -> LinkShape {
        let rate = if self.is_at_least { f64::INFINITY } else { self.shape.rate_bytes_per_s };
        LinkShape { rate_bytes_per_s: rate, ..self.shape }
    }

    /// The user says so. Without a rate it is as fast as the model goes.
    pub(crate) fn assumed(link: &Link) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
        let rate = link.rate_bytes_per_s.map_or(super::forecast::RATE_MAX, |rate| rate as f64);
        let shape = LinkShape { rate_bytes_per_s: rate, round_trip_s: link.round_trip.as_secs_f64() };
        Self { shape, is_at_least: false, is_assumed: true }
    }
}

/// Measures the link to a server; whether it [has a rate](KnownLink::has_rate) is for the caller to see.
///
/// # Errors
/// The server cannot be reached, or a query fails.
pub(crate) fn measure(source: &Source<'_>) -> anyhow::Result<KnownLink> {
    let mut client = source.connect(Compression::NONE).context("cannot log in")?;
    let round_trip_s = round_trip(source.address, &mut client)?;
    let (rate, busy) = rate(&mut client)?;
    client.quit();
    let is_beyond = rate.is_none_or(|rate| rate > ENDS_BYTES_PER_S);
    Ok(KnownLink {
        shape: LinkShape { rate_bytes_per_s: rate.unwrap_or_default(), round_trip_s },
        is_at_least: is_loopback(source.address) || busy > BUSY || is_beyond,
        is_assumed: false,
    })
}

fn round_trip(address: &Address, client: &mut Client) -> anyhow::Result<f64> {
    let mut asked = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        client.query("select 1").context("'select 1' failed")?;
        asked.push(start.elapsed().as_secs_f64());
    }
    let asked_s = median(&asked).unwrap_or_default();
    if matches!(address, Address::Unix(_)) {
        return Ok(0.0);
    }
    let connected_s = connect_time_s(address)?;
    // Servers answer `select 1` within a millisecond; what is left belongs to a way behind whoever accepted.
    Ok(if asked_s > connected_s + ANSWER_MAX_S { asked_s } else { connected_s.min(asked_s) })
}

/// How long a connection takes to be there, s: a round trip, in which the server's process has no part.
///
/// # Errors
/// There is nobody.
pub(crate) fn connect_time_s(address: &Address) -> anyhow::Result<f64> {
    let cannot = || format!("cannot connect to {address}");
    let name = match address {
        Address::Tcp(name) => name,
        Address::Unix(path) => {
            UnixStream::connect(path).with_context(cannot)?;
            return Ok(0.0);
        }
    };
    let mut times_s = Vec::new();
    for _ in 0..CONNECTS {
        let start = Instant::now();
        drop(TcpStream::connect(name).with_context(cannot)?);
        times_s.push(start.elapsed().as_secs_f64());
    }
    Ok(median(&times_s).unwrap_or_default())
}

/// Bytes per second, if they can be known, and the part of that time in which this thread was at work.
fn rate(client: &mut Client) -> anyhow::Result<(Option<f64>, f64)> {
    let mut time_of = |bytes: u32| -> anyhow::Result<Option<f64>> {
        let start = Instant::now();
        let scan = client
            .query(&format!("select repeat('x', {bytes})"))
            .context("a query for the link's rate failed")?;
        let time_s = start.elapsed().as_secs_f64();
        // Beyond the server's max_allowed_packet `repeat` gives NULL.
        Ok((scan.plain_bytes >= u64::from(bytes)).then_some(time_s))
    };
    let mut bytes = BYTES_MIN;
    let Some(mut time_s) = time_of(bytes)? else { return Ok((None, 0.0)) };
    while bytes < BYTES_MAX && time_s < LONG_ENOUGH_S {
        let Some(longer_s) = time_of(bytes * 2)? else { break };
        (bytes, time_s) = (bytes * 2, longer_s);
    }
    let (begin, cpu_before) = (Instant::now(), cpu::this_thread());
    let mut gains_s = Vec::new();
    while gains_s.len() < RATES_MAX && (begin.elapsed() < RATE_TIME || rate_of(bytes, &gains_s).is_none()) {
        let (Some(long_s), Some(short_s)) = (time_of(bytes)?, time_of(bytes / 8)?) else { break };
        gains_s.push(long_s - short_s);
    }
    let busy = (cpu::this_thread() - cpu_before).as_secs_f64() / begin.elapsed().as_secs_f64();
    Ok((rate_of(bytes, &gains_s), busy))
}

/// Bytes per second, from how much longer replies of `bytes` took than those of an eighth, s each. What took no longer is
/// left out: something else has decided there. None if fewer than [`RATES_MIN`] remain.
fn rate_of(bytes: u32, gains_s: &[f64]) -> Option<f64> {
    let gains_s: Vec<f64> = gains_s.iter().copied().filter(|gain_s| *gain_s > 0.0).collect();
    let gain_s = median(&gains_s).filter(|_| gains_s.len() >= RATES_MIN)?;
    Some(f64::from(bytes - bytes / 8) / gain_s)
}

/// Whether there is no network in between.
pub(crate) fn is_loopback(address: &Address) -> bool {
    match address {
        Address::Unix(_) => true,
        Address::Tcp(name) => ["127.", "localhost:", "[::1]"].iter().any(|local| name.starts_with(local)),
    }
}

/// What a reader must know where the link is that of this machine to itself, and no other is named.
pub(crate) fn own_machine_note(server: &Address, assumed: Option<&Link>) -> Option<String> {
    (is_loopback(server) && assumed.is_none()).then(|| {
        "The server is on this machine, and the link that of this machine to itself: let this run beside the app, or name the \
         app's link with --assume-link."
            .to_owned()
    })
}

/// How long [`measure`] takes over most links.
pub(crate) const MEASURE_TIME: Duration = Duration::from_secs(3);
/// How many values of a rate a median wants.
const RATES_MIN: usize = 5;
const RATES_MAX: usize = 25;
/// A link of 1 Mbit/s still gets its five values.
const RATE_TIME: Duration = Duration::from_secs(2);
/// Far longer than a round trip between continents needs to open TCP's window.
const LONG_ENOUGH_S: f64 = 0.4;
const BYTES_MIN: u32 = 64 << 10;
/// Servers whose max_allowed_packet is smaller, as MySQL 5.7's is, send less.
const BYTES_MAX: u32 = 8 << 20;
const ROUND_TRIPS: usize = 30;
const CONNECTS: usize = 9;
const ANSWER_MAX_S: f64 = 0.002;
/// A thread that is at work for more than this part of the time is what a transfer waits for.
const BUSY: f64 = 0.5;
/// 4 Gbit/s, beyond which one connection's ends and not a network are measured.
const ENDS_BYTES_PER_S: f64 = 500e6;

/// In Mbit/s.
pub(crate) fn mbit_per_s(bytes_per_s: f64) -> f64 {
    bytes_per_s * 8.0 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_middle_gain() {
        // 7/8 of 8 MB in 70 ms.
        let rate = rate_of(8_000_000, &[0.07, 0.06, 0.5, 0.07, 0.08]).unwrap();
        assert!((rate / 100e6 - 1.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn what_took_no_longer_is_never_a_rate() {
        let mut gains_s = vec![0.07; RATES_MIN];
        gains_s.extend([-0.01, 0.0, -1e-12]);
        let rate = rate_of(8_000_000, &gains_s).unwrap();
        assert!((rate / 100e6 - 1.0).abs() < 1e-9, "{rate}");
        assert_eq!(rate_of(8_000_000, &gains_s[1..]), None);
        assert_eq!(rate_of(8_000_000, &[-0.001; RATES_MAX]), None);
        assert_eq!(rate_of(8_000_000, &[]), None);
    }

    #[test]
    fn the_note_about_ones_own_machine_is_for_who_names_no_link() {
        let address = |text: &str| Address::Tcp(text.to_owned());
        assert!(own_machine_note(&address("127.0.0.1:3306"), None).is_some());
        assert!(own_machine_note(&Address::Unix("/run/mysqld.sock".into()), None).is_some());
        assert_eq!(own_machine_note(&address("127.0.0.1:3306"), Some(&Link::UNLIMITED)), None);
        assert_eq!(own_machine_note(&address("db:3306"), None), None);
    }
}
