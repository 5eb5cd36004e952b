//! A look at a TCP socket, for the controller: what is queued, and who is waited for.
//!
//! Source: `struct tcp_info` of linux/tcp.h; `SIOCOUTQ` of tcp(7).
//!
//! Invariants: fields that the kernel does not fill count as 0.
//! Not here: what follows from it (`codec::pace`).

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use codec::pace::Look;
use socket2::SockRef;

use super::{Leg, Socket};

/// Looks at one leg's socket.
pub(crate) struct Looker {
    unsent_len_max: u64,
    busy_us: u64,
    rwnd_limited_us: u64,
    reader_waits: bool,
    /// What the kernel told of deliveries the last time.
    delivered_per_s: u64,
    /// The least that the leg was seen to be ahead of its socket: TLS held nothing back then.
    ahead_least: i64,
}

impl Looker {
    /// Bounds what may wait in the socket, or nobody sees the link behind it. None for a Unix socket.
    pub(crate) fn new(leg: &Leg, unsent_len_max: u64) -> Option<Self> {
        let mut looker = Self {
            unsent_len_max: 0,
            busy_us: 0,
            rwnd_limited_us: 0,
            reader_waits: false,
            delivered_per_s: 0,
            ahead_least: i64::MAX,
        };
        looker.bound(leg, unsent_len_max)?;
        Some(looker)
    }

    /// The socket takes more only while less than this waits in it.
    pub(crate) fn bound(&mut self, leg: &Leg, unsent_len_max: u64) -> Option<()> {
        if unsent_len_max != self.unsent_len_max {
            let lowat = u32::try_from(unsent_len_max).unwrap_or(u32::MAX);
            SockRef::from(leg.tcp_socket()?).set_tcp_notsent_lowat(lowat).ok()?;
            self.unsent_len_max = unsent_len_max;
        }
        Some(())
    }

    /// Looks; none if the socket is gone.
    pub(crate) fn look(&mut self, leg: &Leg, now: Duration) -> Option<Look> {
        let stream = leg.tcp_stream()?;
        let socket = stream.socket().as_raw_fd();
        let info = tcp_info(socket)?;
        let (busy_us, rwnd_limited_us) = (info.u64_at(BUSY_TIME), info.u64_at(RWND_LIMITED));
        let busy = busy_us.saturating_sub(self.busy_us);
        if busy >= BUSY_MIN_US {
            let limited = rwnd_limited_us.saturating_sub(self.rwnd_limited_us);
            self.reader_waits = limited * READER_SHARE >= busy;
            (self.busy_us, self.rwnd_limited_us) = (busy_us, rwnd_limited_us);
        }
        // It stays what it is until something better or newer was measured, whatever becomes of the link.
        let delivered_per_s = info.u64_at(DELIVERY_RATE);
        let is_new = std::mem::replace(&mut self.delivered_per_s, delivered_per_s) != delivered_per_s;
        let ahead = ahead(leg);
        self.ahead_least = self.ahead_least.min(ahead);
        let held_len = ahead.abs_diff(self.ahead_least);
        Some(Look {
            now,
            queued_len: queued_len(socket)?,
            unsent_len: u64::from(info.u32_at(NOTSENT_BYTES)),
            unwritten_len: stream.together_len() as u64 + held_len,
            reader_waits: self.reader_waits,
            window_len: u64::from(info.u32_at(SND_WND)),
            round_trip: round_trip(info.u32_at(MIN_RTT)),
            delivered_per_s: if is_new { delivered_per_s } else { 0 },
        })
    }
}

/// Bytes that were written, less those that TLS has brought into the socket: only how it changes tells something, since TLS has
/// sent others before. It keeps up to 64 KiB of what it took, and doesn't say how much.
fn ahead(leg: &Leg) -> i64 {
    match &leg.socket {
        Socket::Tls(stream) => {
            let came = stream.get_ref().0.sent_len;
            leg.sent_len.cast_signed() - (came - came / TLS_PART).cast_signed()
        }
        Socket::Pair(stream) => ahead(stream.below()),
        Socket::Plain(_) | Socket::Gone => 0,
    }
}

impl Leg {
    /// The shortest round trip that the kernel has seen lately; zero on a Unix socket.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        let Some(socket) = self.tcp_socket() else { return Some(Duration::ZERO) };
        let seen = round_trip(tcp_info(socket.as_raw_fd())?.u32_at(MIN_RTT));
        (!seen.is_zero()).then_some(seen)
    }
}

/// As long as none was seen the kernel tells the largest number.
fn round_trip(min_rtt_us: u32) -> Duration {
    if min_rtt_us == u32::MAX { Duration::ZERO } else { Duration::from_micros(u64::from(min_rtt_us)) }
}

struct TcpInfo([u8; INFO_LEN]);

impl TcpInfo {
    fn u32_at(&self, at: usize) -> u32 {
        self.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    fn u64_at(&self, at: usize) -> u64 {
        self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }
}

fn tcp_info(socket: RawFd) -> Option<TcpInfo> {
    let mut info = [0; INFO_LEN];
    let mut len = libc::socklen_t::try_from(INFO_LEN).ok()?;
    // SAFETY: the kernel writes at most `len` bytes, which `info` has, of any value.
    #[expect(unsafe_code, reason = "TCP_INFO has no safe binding")]
    let result = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut len)
    };
    (result == 0).then_some(TcpInfo(info))
}

fn queued_len(socket: RawFd) -> Option<u64> {
    let mut len: libc::c_int = 0;
    // SAFETY: the kernel writes one int.
    #[expect(unsafe_code, reason = "TIOCOUTQ has no safe binding")]
    let result = unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut len) };
    (result == 0).then_some(u64::try_from(len).unwrap_or(0))
}

/// Offsets in the kernel's structure.
const NOTSENT_BYTES: usize = 144;
const MIN_RTT: usize = 148;
/// Bytes per second of the last flight that something waited behind, or of one that was faster though nothing did.
const DELIVERY_RATE: usize = 160;
const BUSY_TIME: usize = 168;
const RWND_LIMITED: usize = 176;
const SND_WND: usize = 228;
const INFO_LEN: usize = 232;
/// What the kernel's clocks of a socket tell is taken over so long, microseconds.
const BUSY_MIN_US: u64 = 2_000;
/// TLS adds at least 22 bytes to 16 KiB; what it adds to small records looks as if it were ahead of the leg.
const TLS_PART: u64 = 746;
/// A fifth of the time.
const READER_SHARE: u64 = 5;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::task::Poll;

    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::rustls::pki_types::ServerName;

    use super::*;
    use crate::tls::{ServerTls, SslMode, ephemeral};

    #[test]
    fn what_tls_holds_back_has_not_come_into_the_socket() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut ours, mut peer) = (Leg::tcp(ours), Leg::tcp(listener.accept().await.unwrap().0));
            let tls = ServerTls { mode: Some(SslMode::Required), ..ServerTls::default() };
            let name = ServerName::try_from("localhost").unwrap();
            let (accepted, connected) = tokio::join!(
                peer.accept_tls(ephemeral().unwrap(), Vec::new()),
                ours.connect_tls(tls.load().unwrap().unwrap().get(), name, Vec::new()),
            );
            accepted.and(connected).unwrap();

            let mut looker = Looker::new(&ours, 64 << 10).unwrap();
            let mut unwritten_len =
                |leg: &Leg| looker.look(leg, Duration::ZERO).map_or(u64::MAX, |look| look.unwritten_len);
            assert_eq!(unwritten_len(&ours), 0);
            // Until neither the peer, which doesn't read, nor the socket nor TLS takes more.
            let some = vec![7; 100_000];
            let is_full = std::future::poll_fn(|cx| match ours.poll_write(cx, &some) {
                Poll::Ready(written) => {
                    written.unwrap();
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                Poll::Pending => Poll::Ready(()),
            });
            is_full.await;
            let held_len = unwritten_len(&ours);
            assert!((50_000..=70_000).contains(&held_len), "{held_len}");

            let sent_len = ours.sent_len;
            let reads = async {
                let mut bytes = Vec::new();
                while peer.received_len < sent_len {
                    peer.read(&mut bytes).await.unwrap();
                    bytes.clear();
                }
            };
            let (flushed, ()) = tokio::join!(std::future::poll_fn(|cx| ours.poll_flush(cx)), reads);
            flushed.unwrap();
            // Records were of the longest.
            assert!(unwritten_len(&ours) < 1_000);
        });
    }
}
