//! A pair stream as a leg's transport: MySQL's bytes above, frames on a socket below.
//!
//! ```text
//! poll_write ─▶ collected ─▶ wire::pair::Writer ─▶ out ─▶ below (socket, TLS)
//! poll_read  ◀─ wire::pair::Reader ◀─ received ◀─ below
//! ```
//! A frame ends when it is full, or when the relay flushes: at a reply's end, or when its source would block.
//!
//! Invariants: no frame is made while another waits for the socket, but small ones for a moment if the next one's bytes are
//! here; an idle stream holds neither histories nor buffers, and has told the other end so.
//! Not here: how a frame is made (`frame`), how it came to be (`dial`, `accept`), when the relay writes and flushes
//! (`relay::half_pipe`).

mod frame;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use wire::Fault;
use wire::pair::{Agreement, Event, Reader, Writer};

use super::as_io;
use crate::Cause;
use crate::budget::Reservation;
use crate::codec_time::CodecTime;
use crate::leg::Leg;
use crate::meter::Decision;
use crate::relay::Paced;
use crate::worker::Shared;

/// Frames of a session in one direction of its stream, and what they cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameCounts {
    pub(crate) packed: u64,
    pub(crate) stored: u64,
    /// CPU time of packing or unpacking, nanoseconds.
    pub(crate) codec_ns: u64,
}

/// One session's stream, at either end.
pub(crate) struct PairStream {
    below: Leg,
    reader: Reader,
    writer: Writer,
    received: Vec<u8>,
    /// Bytes of `received` that were read.
    received_start: usize,
    /// The frame that is being filled, behind room for its header; or nothing.
    collected: Vec<u8>,
    out: Vec<u8>,
    /// When the first of what waits in `out` was made.
    out_since: Instant,
    /// Bytes of `out` that the socket has.
    out_start: usize,
    /// The other end has said its last word.
    has_ended: bool,
    /// We have.
    end_sent: bool,
    /// Codec work since the last pause, in plain bytes.
    worked_len: usize,
    /// For the memory of histories, once the login is over.
    shared: Option<Arc<Shared>>,
    /// Memory of the history that we write.
    reserved: Option<Reservation>,
    /// Memory of the history that we read, where the budget had so much: the other end decides that there is one.
    reserved_to_read: Option<Reservation>,
    history_timeout: Duration,
    last_write: Instant,
    last_packed: Instant,
    idle: Option<Pin<Box<Sleep>>>,
    /// Chooses which frames are packed, where the policy does.
    paced: Option<Box<Paced>>,
    /// Of packing, and of unpacking.
    times: [CodecTime; 2],
    sent: FrameCounts,
    /// Time alone: the reader counts frames.
    unpack_ns: u64,
    /// Frames that had come before the session did.
    frames_before: [u64; 2],
    /// The socket has not taken all of `out` yet.
    is_cut: bool,
}

impl PairStream {
    /// `received`: what came behind the preamble, where no TLS took it.
    pub(super) fn new(below: Leg, received: Vec<u8>, history_timeout: Duration) -> Self {
        Self {
            below,
            reader: Reader::default(),
            writer: Writer::default(),
            received,
            received_start: 0,
            collected: Vec::new(),
            out: Vec::new(),
            out_since: Instant::now(),
            out_start: 0,
            has_ended: false,
            end_sent: false,
            worked_len: 0,
            shared: None,
            reserved: None,
            reserved_to_read: None,
            history_timeout,
            last_write: Instant::now(),
            last_packed: Instant::now(),
            idle: None,
            paced: None,
            times: Default::default(),
            sent: FrameCounts::default(),
            unpack_ns: 0,
            frames_before: [0; 2],
            is_cut: false,
        }
    }

    /// Both ends know what they may use.
    pub(super) fn agree(
        &mut self,
        agreement: Agreement,
        wishes: &[codec::Algorithm],
        level: codec::ZstdLevel,
    ) {
        self.reader.agree(agreement.codecs);
        self.writer.agree(agreement.codecs, wishes, level);
    }

    /// The socket or TLS below.
    pub(crate) const fn below(&self) -> &Leg {
        &self.below
    }

    pub(crate) const fn below_mut(&mut self) -> &mut Leg {
        &mut self.below
    }

    /// The login is over: histories may be made, within the budget of `shared`, for the frames that `paced` wants packed, or
    /// for all.
    pub(crate) fn start_packing(&mut self, shared: &Arc<Shared>, paced: Option<Box<Paced>>) {
        self.writer.start_packing();
        (self.sent, self.unpack_ns, self.frames_before) = (FrameCounts::default(), 0, self.reader.frames());
        self.shared = Some(Arc::clone(shared));
        self.paced = paced;
    }

    /// Why the last frame went as it did, where that is chosen.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.paced.as_ref()?.decision()
    }

    /// Frames since the login that were sent.
    pub(crate) const fn sent(&self) -> FrameCounts {
        self.sent
    }

    /// Those that came.
    pub(crate) const fn received(&self) -> FrameCounts {
        let ([packed, stored], [packed_before, stored_before]) = (self.reader.frames(), self.frames_before);
        FrameCounts {
            packed: packed - packed_before,
            stored: stored - stored_before,
            codec_ns: self.unpack_ns,
        }
    }

    /// At which level it packs.
    pub(crate) fn level(&self) -> u8 {
        match self.algorithm() {
            codec::Algorithm::Zstd => self.writer.level().get(),
            _ => 1,
        }
    }

    /// What it packs with.
    pub(crate) fn algorithm(&self) -> codec::Algorithm {
        self.writer.algorithm()
    }

    /// Whether a frame has begun and is not complete.
    pub(crate) const fn is_inside_frame(&self) -> bool {
        self.received.len() > self.received_start
    }

    /// The next frame that is no bytes of MySQL's.
    pub(super) async fn event(&mut self) -> Result<Event, Cause> {
        Ok(poll_fn(|cx| self.poll_waiting(cx)).await?)
    }

    /// Sends what `build` appends.
    pub(super) async fn send(
        &mut self,
        build: impl FnOnce(&mut Vec<u8>) -> Result<(), Fault>,
    ) -> Result<(), Cause> {
        build(&mut self.out)?;
        Ok(poll_fn(|cx| self.poll_flush(cx)).await?)
    }

    /// Whether the other end, whose turn it is not, has said something by now, or closed.
    pub(super) fn poll_spoken(&mut self, cx: &mut Context<'_>) -> bool {
        self.poll_waiting(cx).is_ready()
    }

    /// Appends what comes next; 0 at the other end's last word.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, plain: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        if self.pauses(cx) {
            return Poll::Pending;
        }
        loop {
            if self.has_ended {
                return Poll::Ready(Ok(0));
            }
            let event = match self.poll_event(cx, plain) {
                Poll::Ready(event) => event?,
                Poll::Pending => {
                    self.poll_idle(cx)?;
                    return Poll::Pending;
                }
            };
            match event {
                Event::Bytes(len) => {
                    self.worked_len += len;
                    return Poll::Ready(Ok(len));
                }
                Event::End => self.has_ended = true,
                Event::Rest => {}
                Event::Refusal(why) => return Poll::Ready(Err(as_io(Fault::PairRefused(why)))),
                Event::Hello(_) | Event::Open(_) => {
                    return Poll::Ready(Err(as_io(Fault::PairUnexpected("a session has begun already"))));
                }
            }
        }
    }

    /// The next frame that is no bytes of MySQL's, of a stream that waits for a session.
    pub(super) fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Event>> {
        self.poll_event(cx, &mut Vec::new())
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, plain: &mut Vec<u8>) -> Poll<io::Result<Event>> {
        loop {
            let waiting = self.received.get(self.received_start..).unwrap_or_default();
            let begun = Reader::packed_len(waiting).map(|len| self.below.begin_work(len));
            if let Some((len, event)) = self.reader.read(waiting, plain).map_err(as_io)? {
                if let (Some(begun), Event::Bytes(plain_len)) = (begun, &event) {
                    self.unpack_ns += self.times[1].end(begun, *plain_len).cpu_ns;
                }
                self.received_start += len;
                if self.received_start == self.received.len() {
                    self.received.clear();
                    self.received_start = 0;
                }
                let reserve = |shared: &Arc<Shared>| shared.budget.try_reserve(self.reader.history_len());
                match (self.reader.has_history(), &self.reserved_to_read) {
                    (true, None) => self.reserved_to_read = self.shared.as_ref().and_then(reserve),
                    (false, Some(_)) => self.reserved_to_read = None,
                    _ => {}
                }
                return Poll::Ready(Ok(event));
            }
            if self.received_start > 0 {
                self.received.drain(..self.received_start);
                self.received_start = 0;
            }
            self.received.reserve(READ_ROOM_LEN);
            if ready!(self.below.poll_read(cx, &mut self.received))? == 0 {
                return Poll::Ready(Err(as_io(Fault::PairBrokenOff)));
            }
        }
    }

    /// Takes some of `bytes` into the frame that is being filled.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let room_len = self.frame_len().saturating_sub(self.collected_len());
        if room_len == 0 {
            ready!(self.poll_frame(cx, true))?;
        }
        if self.collected.is_empty() {
            Writer::begin(&mut self.collected);
        }
        let len = bytes.len().min(self.frame_len() - self.collected_len());
        self.collected.extend_from_slice(bytes.get(..len).unwrap_or_default());
        Poll::Ready(Ok(len))
    }

    /// Gives the history back that we write.
    fn drop_history(&mut self) -> io::Result<()> {
        self.writer.rest(&mut self.out).map_err(as_io)?;
        self.reserved = None;
        if let Some(paced) = &mut self.paced {
            paced.history_ended();
        }
        Ok(())
    }

    /// Waits until the socket has everything.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.collected_len() > 0 {
            ready!(self.poll_frame(cx, false))?;
        }
        ready!(self.poll_drain(cx))?;
        self.below.poll_flush(cx)
    }

    /// The last word.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.end_sent {
            ready!(self.poll_flush(cx))?;
            self.writer.end(&mut self.out).map_err(as_io)?;
            self.end_sent = true;
        }
        ready!(self.poll_flush(cx))?;
        self.below.poll_shutdown(cx)
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut
            && let Some(paced) = &mut self.paced
        {
            paced.look_anyway(&self.below, self.out.len() - self.out_start);
        }
        self.is_cut = !self.out.is_empty();
        while let Some(waiting) = self.out.get(self.out_start..)
            && !waiting.is_empty()
        {
            self.out_start += ready!(self.below.poll_write(cx, waiting))?;
        }
        self.is_cut = false;
        self.out.clear();
        self.out_start = 0;
        Poll::Ready(Ok(()))
    }

    /// Gives histories and buffers back once nothing was written for a while.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let capacities = [&self.collected, &self.out, &self.received].map(|it| it.capacity());
        if !self.writer.has_history() && capacities == [0; 3] {
            self.idle = None;
            return Ok(());
        }
        let rests_at = self.last_write + self.history_timeout;
        let idle = self.idle.get_or_insert_with(|| Box::pin(sleep_until(rests_at)));
        while idle.as_mut().poll(cx).is_ready() {
            if idle.deadline() < rests_at {
                // Not touched by every write: that would cost more than one look too many.
                idle.as_mut().reset(rests_at);
                continue;
            }
            self.idle = None;
            if self.received.is_empty() {
                self.received = Vec::new();
            }
            self.drop_history()?;
            // What the socket doesn't take goes before the next frame.
            if let Poll::Ready(done) = self.poll_flush(cx) {
                (self.collected, self.out) = (Vec::new(), Vec::new());
                done?;
            }
            break;
        }
        Ok(())
    }
}

/// Two frames of small results, or half of a large one.
const READ_ROOM_LEN: usize = 32 << 10;
