//! A pair stream as a leg's transport: MySQL's bytes above, frames on a socket below.
//!
//! ```text
//! poll_write ─▶ collected ─▶ wire::pair::Writer ─▶ out ─▶ below (socket, TLS)
//! poll_read  ◀─ wire::pair::Reader ◀─ received ◀─ below
//! ```
//! A frame ends when it is full, or when the relay flushes: at a reply's end, or when its source would block.
//!
//! Invariants: no frame is made while another waits for the socket; an idle stream holds neither histories nor buffers,
//! and has told the other end so.
//! Not here: how it came to be (`dial`, `accept`), when the relay writes and flushes (`relay::half_pipe`).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use wire::Fault;
use wire::pair::{Agreement, Event, FRAME_PLAIN_LEN_MAX, HEADER_LEN, Reader, Writer};

use super::as_io;
use super::cost::PairCost;
use crate::Cause;
use crate::budget::Reservation;
use crate::budgets::Budgets;
use crate::leg::Leg;
use crate::links::Link;
use crate::meter::Decision;
use crate::worker::Shared;

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
    idle: Option<Pin<Box<Sleep>>>,
    /// Chooses which frames are packed, where that has budgets.
    cost: Option<Box<PairCost>>,
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
            out_start: 0,
            has_ended: false,
            end_sent: false,
            worked_len: 0,
            shared: None,
            reserved: None,
            reserved_to_read: None,
            history_timeout,
            last_write: Instant::now(),
            idle: None,
            cost: None,
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

    /// The login is over: histories may be made, within the budget of `shared`.
    pub(crate) fn start_packing(&mut self, shared: &Arc<Shared>) {
        self.writer.start_packing();
        self.shared = Some(Arc::clone(shared));
    }

    /// Packs no more than these allow.
    pub(crate) fn stay_within(&mut self, budgets: Budgets, link: Arc<Link>) {
        self.cost = Some(Box::new(PairCost::new(&self.writer, budgets, link)));
    }

    /// Why the last frame went as it did, where that is chosen by budgets.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.cost.as_ref()?.decision()
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
            if let Some((len, event)) = self.reader.read(waiting, plain).map_err(as_io)? {
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
        if self.collected_len() >= FRAME_PLAIN_LEN_MAX {
            ready!(self.poll_frame(cx))?;
        }
        if self.collected.is_empty() {
            Writer::begin(&mut self.collected);
        }
        let len = bytes.len().min(FRAME_PLAIN_LEN_MAX - self.collected_len());
        self.collected.extend_from_slice(bytes.get(..len).unwrap_or_default());
        Poll::Ready(Ok(len))
    }

    /// Bytes of the frame that is being filled.
    fn collected_len(&self) -> usize {
        self.collected.len().saturating_sub(HEADER_LEN)
    }

    /// Makes a frame of what was collected, once the one before is on its way.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        if self.pauses(cx) {
            return Poll::Pending;
        }
        self.last_write = Instant::now();
        let Self { writer, collected, out, shared, reserved, cost, .. } = self;
        let plain = collected.get(HEADER_LEN..).unwrap_or_default();
        let begun = match cost {
            None => writer.is_worth_packing(plain.len()).then_some(None),
            Some(cost) => cost.begin(plain.len()).map(|begun| Some((cost, begun))),
        };
        let mut packed_len = None;
        if let Some(begun) = begun {
            let may_take = |memory_len| {
                // Never waited for: without memory the frame goes stored.
                let Some(more) = shared.as_ref().and_then(|shared| shared.budget.try_reserve(memory_len))
                else {
                    return false;
                };
                *reserved = Some(more);
                true
            };
            let is_packed = writer.pack(plain, out, may_take).map_err(as_io)?.is_some();
            packed_len = is_packed.then_some(out.len());
            if let Some((cost, begun)) = begun {
                cost.end(begun, packed_len);
            }
        }
        if packed_len.is_some() {
            self.worked_len += plain.len();
        } else {
            Writer::store(collected, 0).map_err(as_io)?;
            std::mem::swap(collected, out);
        }
        self.collected.clear();
        Poll::Ready(Ok(()))
    }

    /// Waits until the socket has everything.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.collected_len() > 0 {
            ready!(self.poll_frame(cx))?;
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
        while let Some(waiting) = self.out.get(self.out_start..)
            && !waiting.is_empty()
        {
            self.out_start += ready!(self.below.poll_write(cx, waiting))?;
        }
        self.out.clear();
        self.out_start = 0;
        Poll::Ready(Ok(()))
    }

    /// Whether others on this worker have their turn first.
    fn pauses(&mut self, cx: &mut Context<'_>) -> bool {
        let pauses = self.worked_len > WORK_LEN_MAX;
        if pauses {
            self.worked_len = 0;
            cx.waker().wake_by_ref();
        }
        pauses
    }

    /// Gives histories and buffers back once nothing was written for a while.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.writer.has_history() && self.out.capacity() == 0 && self.received.capacity() == 0 {
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
            self.writer.rest(&mut self.out).map_err(as_io)?;
            self.reserved = None;
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
/// Some frames: a worker is away for a fraction of a millisecond.
const WORK_LEN_MAX: usize = 120 << 10;
