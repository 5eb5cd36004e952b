//! What a link really does: the rate that bulk data gets, and the time of a ping-pong of one byte.
//!
//! ```text
//!  one connection, after the other            to the client
//!  ping-pong    x ─▶ ◀─ x                     up to 100 times, a second at most; the median
//!  bulk         ◀━━━━━━━━━━━━━━━━━━━━━━━━━    first 0.5 s and ten round trips uncounted, then the
//!                                            median of three times 0.5 s
//! ```
//! What is left out is the time in which TCP's window opens and socket buffers fill. So the rate is that of a long
//! transfer; a short one over a long link is slower, and that is TCP's and not the link's fault.
//!
//! Invariants: the link is idle otherwise; every wait has an end.
//!
//! Not here: making links (crate `lab`), whether one is good enough (`shortfall`), the table of all of them (`links`).

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Context;
use lab::kernel_link::RunningKernelLink;
use lab::link::Link;

use crate::record::{LinkCheck, LinkPromise};
use crate::shortfall::Shortfall;
use crate::stats::median;

/// What a link did.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// As `samples.jsonl` has it. The achieved rate is of what TCP carried.
    pub check: LinkCheck,
    /// A sentence for the user, if it cannot be had what was asked for.
    pub warning: Option<String>,
}

/// Calibrates a link in user space; another one of the same shape is opened for it.
///
/// # Errors
/// No loopback port; the connection broke.
pub fn user_space(link: Link) -> anyhow::Result<Calibration> {
    let of = || format!("cannot calibrate the link {link}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).with_context(of)?;
    let running = link.open(listener.local_addr().with_context(of)?.into()).with_context(of)?;
    let measured =
        measure(&listener, link.round_trip, |_| TcpStream::connect(running.address())).with_context(of)?;
    Ok(Calibration::of(laid_beside(&link, &measured)))
}

/// What loopback does where nothing of ours is in the way, under this name.
///
/// # Errors
/// No loopback port; the connection broke.
pub fn bare(name: &str) -> anyhow::Result<Calibration> {
    let of = || "cannot calibrate the loopback";
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).with_context(of)?;
    let measured = measure(&listener, Duration::ZERO, TcpStream::connect).with_context(of)?;
    let check = LinkCheck {
        link: name.to_owned(),
        kind: BARE.to_owned(),
        ..laid_beside(&Link::UNLIMITED, &measured)
    };
    Ok(Calibration::of(check))
}

/// Calibrates a kernel link that runs and is idle.
///
/// # Errors
/// No port; the connection or the link broke.
pub fn kernel(running: &RunningKernelLink) -> anyhow::Result<Calibration> {
    let link = running.link();
    let of = || format!("cannot calibrate the kernel link {link}");
    let listener = TcpListener::bind((running.server_ip(), 0)).with_context(of)?;
    let connect =
        |address| running.in_client(move || TcpStream::connect(address)).map_err(io::Error::other)?;
    let measured = measure(&listener, link.link.round_trip, connect);
    running.check().with_context(of)?;
    Ok(Calibration::of(LinkCheck {
        link: format!("kernel {link}"),
        kind: format!("kernel ({})", running.kind()),
        congestion_control: Some(running.congestion_control().to_owned()),
        promise: Some(LinkPromise::of_kernel(link)),
        ..laid_beside(&link.link, &measured.with_context(of)?)
    }))
}

impl Calibration {
    fn of(check: LinkCheck) -> Self {
        Self { warning: Shortfall::of(&check).map(|shortfall| shortfall.to_string()), check }
    }

    /// Several readings of one link as one: the median rate and the median round trip. None of none.
    pub(crate) fn median(readings: &[Self]) -> Option<Self> {
        let of = |value: fn(&LinkCheck) -> f64| {
            median(&readings.iter().map(|reading| value(&reading.check)).collect::<Vec<_>>())
        };
        Some(Self::of(LinkCheck {
            achieved_mbit_per_s: of(|check| check.achieved_mbit_per_s)?,
            achieved_round_trip_ms: of(|check| check.achieved_round_trip_ms)?,
            ..readings.first()?.check.clone()
        }))
    }
}

/// What was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Measured {
    bytes_per_s: f64,
    round_trip: Duration,
}

/// Over a connection that `connect` makes to the listener it is given.
fn measure(
    listener: &TcpListener,
    round_trip: Duration,
    connect: impl Fn(SocketAddr) -> io::Result<TcpStream>,
) -> io::Result<Measured> {
    let client = connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    for end in [&client, &server] {
        end.set_nodelay(true)?;
        end.set_read_timeout(Some(SILENCE_MAX))?;
        end.set_write_timeout(Some(SILENCE_MAX))?;
    }
    let rounds = PING_TIME.as_micros() / round_trip.as_micros().max(1);
    let rounds = usize::try_from(rounds).unwrap_or(PINGS_MAX).clamp(PINGS_MIN, PINGS_MAX);
    let warm_up = WARM_UP + 10 * round_trip;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Ends by an error, when the client has seen enough.
            drop(serve(&server, rounds));
        });
        let measured = (|| {
            let round_trip = ping(&client, rounds)?;
            Ok(Measured { bytes_per_s: bulk(&client, warm_up)?, round_trip })
        })();
        // Whatever happened, the server's thread must see an end, even if nobody reads what it writes.
        drop(client);
        drop(server.shutdown(Shutdown::Both));
        measured
    })
}

/// The server's side: sends back so many single bytes, then sends until nobody listens.
fn serve(mut server: &TcpStream, rounds: usize) -> io::Result<()> {
    let mut byte = [0];
    for _ in 0..rounds {
        server.read_exact(&mut byte)?;
        server.write_all(&byte)?;
    }
    let chunk = vec![7; CHUNK_BYTES];
    loop {
        server.write_all(&chunk)?;
    }
}

/// The median of so many ping-pongs.
fn ping(mut client: &TcpStream, rounds: usize) -> io::Result<Duration> {
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let start = Instant::now();
        client.write_all(b"x")?;
        // The last byte is alone as well: bulk data follow at once, but behind it.
        client.read_exact(&mut [0])?;
        if round > 0 || rounds == 1 {
            times.push(start.elapsed());
        }
    }
    times.sort_unstable();
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

/// Bytes per second that arrive, from one arrival to another: the median of some windows.
fn bulk(mut client: &TcpStream, warm_up: Duration) -> io::Result<f64> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut read_for = |time: Duration| -> io::Result<f64> {
        let start = Instant::now();
        let mut bytes = 0.0;
        loop {
            let len = client.read(&mut buffer)?;
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes += f64::from(u32::try_from(len).unwrap_or(u32::MAX));
            let elapsed = start.elapsed();
            if elapsed >= time {
                return Ok(bytes / elapsed.as_secs_f64());
            }
        }
    };
    read_for(warm_up)?;
    let mut rates = [0.0; BULK_WINDOWS];
    for rate in &mut rates {
        *rate = read_for(BULK_WINDOW)?;
    }
    rates.sort_unstable_by(f64::total_cmp);
    Ok(rates[BULK_WINDOWS / 2])
}

/// What was measured beside what was wished, as of a link in user space.
fn laid_beside(link: &Link, measured: &Measured) -> LinkCheck {
    LinkCheck {
        link: link.to_string(),
        kind: "user space".to_owned(),
        wished_mbit_per_s: link.rate_bytes_per_s.map(|bytes| mbit(f64_of(bytes))),
        achieved_mbit_per_s: mbit(measured.bytes_per_s),
        wished_round_trip_ms: link.round_trip.as_secs_f64() * 1e3,
        achieved_round_trip_ms: measured.round_trip.as_secs_f64() * 1e3,
        congestion_control: None,
        promise: Some(LinkPromise::USER_SPACE),
    }
}

fn mbit(bytes: f64) -> f64 {
    bytes * 8.0 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// In the place of a kind of link.
const BARE: &str = "none, loopback";
/// Enough round trips for a median that does not move.
const PINGS_MAX: usize = 100;
/// A link of 60 s would take minutes otherwise.
const PINGS_MIN: usize = 5;
const PING_TIME: Duration = Duration::from_secs(1);
/// Socket buffers of some megabytes are full within it from 100 Mbit/s on; slower links open with less.
const WARM_UP: Duration = Duration::from_millis(500);
/// Far longer than the coarsest thing in it, a queue of 20 ms.
const BULK_WINDOW: Duration = Duration::from_millis(500);
/// So that one retransmission that times out (0.2 s or more without a byte) is not taken for the link's rate.
const BULK_WINDOWS: usize = 3;
const CHUNK_BYTES: usize = 256 * 1024;
/// Longer than the longest round trip, and than TCP's patience with some losses in a row.
const SILENCE_MAX: Duration = Duration::from_secs(90);

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(mbit_per_s: f64) -> Measured {
        Measured { bytes_per_s: mbit_per_s * 1e6 / 8.0, round_trip: Duration::from_micros(1500) }
    }

    #[test]
    fn a_link_that_does_not_reach_its_rate_is_told() {
        let link = Link::parse("100mbit,1.4ms").unwrap();
        let slow = Calibration::of(laid_beside(&link, &measured(90.0)));
        let warning = slow.warning.unwrap();
        assert!(warning.contains("the link 100mbit,1.4ms carried 90.0 Mbit/s, 90.0 % of"), "{warning}");
        assert_eq!(slow.check.wished_mbit_per_s, Some(100.0));
        assert!((slow.check.achieved_round_trip_ms - 1.5).abs() < 1e-9);
        assert_eq!(Calibration::of(laid_beside(&link, &measured(96.0))).warning, None);
    }

    #[test]
    fn without_a_rate_there_is_nothing_to_reach() {
        let calibration = Calibration::of(laid_beside(&Link::UNLIMITED, &Measured::default()));
        assert_eq!((calibration.check.rate_share(), calibration.warning), (None, None));
    }

    #[test]
    fn a_single_bad_reading_decides_nothing() {
        let link = Link::parse("100mbit,1.4ms").unwrap();
        let readings =
            [99.0, 60.0, 98.0].map(|mbit_per_s| Calibration::of(laid_beside(&link, &measured(mbit_per_s))));
        assert!(readings[1].warning.is_some());
        let median = Calibration::median(&readings).unwrap();
        assert!((median.check.achieved_mbit_per_s - 98.0).abs() < 1e-9);
        assert_eq!((median.warning, Calibration::median(&[])), (None, None));
    }

    #[test]
    fn a_link_in_user_space_is_calibrated() {
        let calibration = user_space(Link::parse("50mbit,4ms").unwrap()).unwrap();
        assert_eq!(calibration.check.kind, "user space");
        // What threads are usually woken late is taken off, 0.2 ms at most, twice each way.
        assert!(calibration.check.achieved_round_trip_ms >= 3.2);
        assert!(calibration.check.rate_share().unwrap() < 1.05);
    }
}
