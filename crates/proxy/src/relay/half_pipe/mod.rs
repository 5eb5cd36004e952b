//! One direction of a relay.
//!
//! ```text
//! read -> [unpack] -> find packets, renumber -> [pack] -> write
//! ```
//! A leg without frames gets every byte at once. Towards a framed leg complete packets are collected while the
//! source has more, and go out when the source would block, when the frame is full, or when it must end; never
//! on a timer.
//!
//! Invariants: nothing is read while something waits to be written, so a slow reader holds back its writer; but the packet behind
//! a long frame is collected, and packed, while that is written. An idle half-pipe holds no buffer; no more than about a
//! millisecond of work between two pauses.
//! Not here: frames' contents (`unpacker`, `packer`), both directions together (`super`), packets that the proxy
//! itself reads or makes (`own_packets`), rows of the session's status (`session_status`), reading (`source`).

mod own_packets;
mod session_status;
mod source;

use std::io::IoSlice;
use std::task::{Context, Poll, ready};

use codec::Algorithm;
use wire::conversation::{Conversation, PassedRows};
use wire::scanner::{Scanner, Step};
use wire::{Direction, Side, command, packet};

use super::packer::{Inner, Packer, Pass};
use super::query_text::QueryText;
use super::unpacker::Unpacker;
use super::watch::Sampler;
use crate::buffer::PIECES_MAX;
use crate::leg::Leg;
use crate::meter::Decision;
use crate::worker::{Worker, step_aside};
use crate::{Cause, Phase, SessionError, Traffic};

pub(super) struct HalfPipe {
    direction: Direction,
    pub(super) unpacker: Option<Unpacker>,
    pub(super) packer: Option<Packer>,
    /// Shows statements that pass, where that is wanted.
    pub(super) text: Option<Box<QueryText>>,
    /// Fills with packets that pass, when a sample is wanted; begins with a whole one.
    pub(super) sample: Option<Vec<u8>>,
    /// Copies of what passes, while the tap is on.
    pub(super) sampler: Option<Box<Sampler>>,
    scanner: Scanner,
    inner: Inner,
    /// Bytes at the start of `inner` whose packets were begun.
    scanned_len: usize,
    source_ended: bool,
    /// The source ended with this, which is told when all that it said was delivered.
    source_lost: Option<std::io::Error>,
    /// The last poll ended because the source had nothing more.
    pub(super) awaits_source: bool,
    /// It ended because the destination takes no more, or it was others' turn: it goes on where it was.
    goes_on: bool,
}

/// Why a half-pipe rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// The source ended and everything was delivered.
    Ended,
    /// A COM_CHANGE_USER is next.
    ChangeUser,
}

enum Scanned {
    NeedMore,
    /// A frame was made.
    Emitted,
    ChangeUser,
}

impl HalfPipe {
    pub(super) fn new(direction: Direction, unpacker: Option<Unpacker>, packer: Option<Packer>) -> Self {
        Self {
            direction,
            unpacker,
            packer,
            text: None,
            sample: None,
            sampler: None,
            scanner: Scanner::new(direction),
            inner: Inner::default(),
            scanned_len: 0,
            source_ended: false,
            source_lost: None,
            awaits_source: false,
            goes_on: false,
        }
    }

    /// Whether a packet or frame of the source has begun and is not complete.
    pub(super) fn is_inside_unit(&self) -> bool {
        self.scanner.is_inside_packet()
            || self.inner.bytes.len() > self.scanned_len
            || self.unpacker.as_ref().is_some_and(Unpacker::is_inside_frame)
    }

    /// Whether the destination has received a part of a packet or frame.
    pub(super) fn destination_is_inside_unit(&self) -> bool {
        match &self.packer {
            Some(packer) => packer.is_inside_frame(),
            None => self.scanner.is_inside_packet(),
        }
    }

    /// Whether the destination takes no more for now.
    pub(super) fn is_held_back(&self) -> bool {
        match &self.packer {
            Some(packer) => packer.unwritten_len(&self.inner) > 0,
            None => self.scanned_len > 0,
        }
    }

    /// Whether more may be read although something waits to be written.
    fn reads_ahead(&self) -> bool {
        self.packer.as_ref().is_some_and(Packer::reads_ahead)
    }

    /// Why the last frame went as it did, where that is chosen.
    pub(super) fn decision(&self) -> Option<Decision> {
        self.packer.as_ref()?.paced.as_ref()?.decision()
    }

    /// Moves bytes until the source or the destination blocks.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Leg,
        destination: &mut Leg,
        conversation: &mut Conversation,
        worker: &Worker,
    ) -> Poll<Result<Rest, SessionError>> {
        let moved = self.poll_move(cx, source, destination, conversation, worker);
        if self.goes_on || !destination.collects() || matches!(moved, Poll::Ready(Err(_))) {
            return moved;
        }
        // Whatever is waited for now, what was written doesn't wait with it.
        if destination.poll_flush(cx).map_err(self.lost())?.is_pending() {
            self.awaits_source = false;
            return Poll::Pending;
        }
        moved
    }

    fn poll_move(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Leg,
        destination: &mut Leg,
        conversation: &mut Conversation,
        worker: &Worker,
    ) -> Poll<Result<Rest, SessionError>> {
        self.awaits_source = false;
        let mut read_len = 0;
        loop {
            self.goes_on = true;
            let written = self.poll_write(cx, destination, worker)?;
            if let Some(packer) = &mut self.packer
                && packer.has_job()
            {
                ready!(packer.poll_job(cx, worker, &mut self.inner)).map_err(|cause| self.failed(cause))?;
                continue;
            }
            if !self.reads_ahead() {
                ready!(written);
            }
            if let Some(packer) = &mut self.packer {
                let unwritten_len = packer.unwritten_len(&self.inner);
                if let Some(paced) = &mut packer.paced {
                    paced.look(destination, unwritten_len);
                }
            }
            if self.inner.worked_len > WORK_LEN_MAX || read_len > READ_LEN_MAX {
                self.inner.worked_len = 0;
                step_aside(cx);
                return Poll::Pending;
            }
            self.goes_on = false;
            let scanned = self.scan(conversation, worker).map_err(|cause| self.failed(cause))?;
            match scanned {
                Scanned::Emitted => continue,
                // Of a packet that passes as it comes.
                _ if self.is_held_back() && self.packer.is_some() && !self.reads_ahead() => continue,
                Scanned::ChangeUser if self.flush(conversation, worker)? || self.scanned_len > 0 => continue,
                Scanned::ChangeUser => {
                    ready!(written);
                    return Poll::Ready(Ok(Rest::ChangeUser));
                }
                Scanned::NeedMore if self.packer.is_none() && self.scanned_len > 0 => continue,
                Scanned::NeedMore => {}
            }
            match self.poll_unpack(cx, conversation, worker)? {
                Poll::Ready(true) => continue,
                Poll::Ready(false) => {}
                // The next frame waits for memory or for a codec thread; complete packets don't wait with it.
                Poll::Pending if self.flush(conversation, worker)? => continue,
                Poll::Pending => return Poll::Pending,
            }
            if self.source_ended {
                if self.flush(conversation, worker)? || self.deliver_rest_at_end() {
                    continue;
                }
                destination.submit();
                ready!(self.poll_deliver(cx, destination, worker))?;
                return Poll::Ready(match self.source_lost.take() {
                    None => Ok(Rest::Ended),
                    Some(error) => Err(self.failed(error.into())),
                });
            }
            if self.direction == Direction::ToServer && conversation.is_full() {
                return Poll::Pending; // Woken by the other direction, which completes replies.
            }
            match self.poll_read(cx, source, worker) {
                Poll::Ready(result) => read_len += result?,
                Poll::Pending if self.flush(conversation, worker)? => {}
                Poll::Pending => {
                    self.awaits_source = written.is_ready();
                    self.release(worker);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Writes what is ready, all of it.
    pub(super) fn poll_deliver(
        &mut self,
        cx: &mut Context<'_>,
        destination: &mut Leg,
        worker: &Worker,
    ) -> Poll<Result<(), SessionError>> {
        ready!(self.poll_write(cx, destination, worker))?;
        destination.poll_flush(cx).map_err(self.lost())
    }

    /// Writes what is ready. A leg that collects what it is given sends it when it is flushed, or has enough for a frame.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        destination: &mut Leg,
        worker: &Worker,
    ) -> Poll<Result<(), SessionError>> {
        let lost = self.lost();
        if let Some(packer) = &mut self.packer {
            let unwritten_len = packer.unwritten_len(&self.inner);
            if let Some(paced) = &mut packer.paced {
                if packer.is_cut {
                    paced.look_anyway(destination, unwritten_len.saturating_sub(paced.made_len()));
                }
                paced.hand_over(destination, unwritten_len.saturating_sub(paced.made_len()));
            }
            packer.is_cut = true;
            while packer.unwritten_len(&self.inner) > 0 {
                let pieces = self.inner.bytes.framed().chain([packer.output.waiting()]);
                let mut slices = [IoSlice::new(&[]); PIECES_MAX + 1];
                let mut count = 0;
                for (slice, piece) in slices.iter_mut().zip(pieces.filter(|piece| !piece.is_empty())) {
                    *slice = IoSlice::new(piece);
                    count += 1;
                }
                let slices = slices.get(..count).unwrap_or_default();
                let len = ready!(destination.poll_write_vectored(cx, slices)).map_err(lost)?;
                packer.output.consume(self.inner.bytes.written(len));
            }
            packer.is_cut = false;
            packer.release(worker);
            return destination.poll_flush(cx).map_err(lost);
        }
        while self.scanned_len > 0 {
            let bytes = self.inner.bytes.waiting().get(..self.scanned_len).unwrap_or_default();
            let len = ready!(destination.poll_write(cx, bytes)).map_err(lost)?;
            self.inner.bytes.consume(len);
            self.scanned_len -= len;
        }
        if destination.collects() {
            return Poll::Ready(Ok(()));
        }
        destination.poll_flush(cx).map_err(lost)
    }

    /// Writes what is ready and the complete packets that wait for their frame.
    pub(super) fn poll_finish(
        &mut self,
        cx: &mut Context<'_>,
        destination: &mut Leg,
        conversation: &mut Conversation,
        worker: &Worker,
    ) -> Poll<Result<(), SessionError>> {
        loop {
            ready!(self.poll_deliver(cx, destination, worker))?;
            if let Some(packer) = &mut self.packer
                && packer.has_job()
            {
                ready!(packer.poll_job(cx, worker, &mut self.inner)).map_err(|cause| self.failed(cause))?;
            } else if !self.flush(conversation, worker)? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Follows the packets in `inner`.
    fn scan(&mut self, conversation: &mut Conversation, worker: &Worker) -> Result<Scanned, Cause> {
        loop {
            if self.scanner.is_inside_packet() {
                if !self.skip(conversation, worker)? {
                    return Ok(Scanned::NeedMore);
                }
                // What passes is written with what comes behind it.
                if self.packer.as_ref().is_some_and(|packer| !packer.takes_frame(&self.inner)) {
                    return Ok(Scanned::Emitted);
                }
                continue;
            }
            if let Some(packer) = self.packer.as_mut().filter(|packer| packer.reads_ahead()) {
                let rest = self.inner.bytes.waiting().get(self.scanned_len..).unwrap_or_default();
                if packet::Header::parse(rest).is_some_and(|header| !packer.packs_ahead(header)) {
                    return Ok(Scanned::Emitted);
                }
            }
            if conversation.may_read(self.direction) && !self.read_packet(conversation) {
                return self.pass_whole_frame(conversation, worker);
            }
            self.pass_rows(conversation);
            let scanned_len = self.scanned_len;
            let rest = self.inner.bytes.waiting_mut().get_mut(scanned_len..).unwrap_or_default();
            if self.direction == Direction::ToServer
                && rest.get(packet::HEADER_LEN) == Some(&command::COM_CHANGE_USER)
                && conversation.awaits_command()
            {
                return Ok(Scanned::ChangeUser);
            }
            let is_command = self.text.is_some() && conversation.awaits_command();
            let byte = rest.get(packet::HEADER_LEN).copied().unwrap_or_default();
            let Step::Begin { len, plan, renumbered } = self.scanner.begin(rest, conversation)? else {
                return self.pass_whole_frame(conversation, worker);
            };
            if let Some(text) = self.text.as_mut().filter(|_| is_command) {
                text.begin(byte, len, conversation);
            }
            if let Some(packer) = &mut self.packer {
                let mut pass = Pass { inner: &mut self.inner, conversation, worker };
                let emitted_len = packer.begin_packet(plan, len, renumbered, &mut pass)?;
                self.scanned_len -= emitted_len;
                if emitted_len > 0 {
                    return Ok(Scanned::Emitted);
                }
            }
        }
    }

    /// Walks over the rows that need no look, of a frame that has room for them.
    fn pass_rows(&mut self, conversation: &mut Conversation) {
        if self.direction == Direction::ToServer {
            return;
        }
        let len_max = self.packer.as_ref().map_or(usize::MAX, Packer::room_len);
        let rest = self.inner.bytes.waiting_mut().get_mut(self.scanned_len..).unwrap_or_default();
        let PassedRows { len, renumbered } = conversation.pass_rows(rest, len_max);
        self.scanned_len += len;
        if let Some(packer) = self.packer.as_mut().filter(|_| len > 0) {
            packer.passed(self.scanned_len, renumbered);
        }
    }

    /// Nothing more can be begun. A frame of the peer's that can pass as it is goes at once.
    fn pass_whole_frame(
        &mut self,
        conversation: &mut Conversation,
        worker: &Worker,
    ) -> Result<Scanned, Cause> {
        let inner_len = self.inner.bytes.len();
        let whole = self.packer.as_ref().is_some_and(|packer| packer.holds_whole_body(inner_len));
        Ok(if whole && self.emit(conversation, worker)? { Scanned::Emitted } else { Scanned::NeedMore })
    }

    /// Walks on in the packet that has begun; says whether it ended.
    fn skip(&mut self, conversation: &mut Conversation, worker: &Worker) -> Result<bool, Cause> {
        if let Some(text) = &mut self.text {
            let rest = self.inner.bytes.waiting().get(self.scanned_len..).unwrap_or_default();
            text.collect(rest, conversation);
        }
        let Some(packer) = &mut self.packer else {
            let (len, ended) = self.scanner.skip(self.inner.bytes.len() - self.scanned_len);
            self.scanned_len += len;
            return Ok(ended);
        };
        let mut pass = Pass { inner: &mut self.inner, conversation, worker };
        if packer.is_inside_frame() {
            let len = packer.pass_stored(&mut pass);
            let (_, ended) = self.scanner.skip(len);
            return Ok(ended);
        }
        let (len, ended) = self.scanner.skip(pass.inner.bytes.len() - self.scanned_len);
        self.scanned_len += len;
        if ended {
            self.scanned_len -= packer.end_packet(self.scanned_len, &mut pass)?;
        }
        Ok(ended)
    }

    /// `emit`, with the place of what may go wrong.
    fn flush(&mut self, conversation: &mut Conversation, worker: &Worker) -> Result<bool, SessionError> {
        self.emit(conversation, worker).map_err(|cause| self.failed(cause))
    }

    /// Makes a frame of the complete packets that wait; says whether there were any.
    fn emit(&mut self, conversation: &mut Conversation, worker: &Worker) -> Result<bool, Cause> {
        let Some(packer) = &mut self.packer else { return Ok(false) };
        if !packer.has_complete_packets() {
            return Ok(false);
        }
        let before_len = self.inner.bytes.len();
        let goes_on = self.direction == Direction::ToClient && conversation.reply_goes_on();
        let mut pass = Pass { inner: &mut self.inner, conversation, worker };
        packer.flush(goes_on, &mut pass)?;
        self.scanned_len -= before_len - self.inner.bytes.len();
        if self.scanner.is_inside_packet() {
            // It had begun as a part of the frame that just went.
            packer.begin_frame(0, conversation);
        }
        Ok(true)
    }

    /// At the source's end a plain leg gets what is left, as it is; says whether there was any.
    fn deliver_rest_at_end(&mut self) -> bool {
        if self.packer.is_some() || self.inner.bytes.is_empty() {
            return false;
        }
        self.scanned_len = self.inner.bytes.len();
        true
    }

    /// What was carried; the legs' own lengths are not in it.
    pub(super) fn traffic(&self) -> Traffic {
        let [source_frames_packed, source_frames_stored] =
            self.unpacker.as_ref().map_or([0; 2], |unpacker| unpacker.frames);
        Traffic { source_frames_packed, source_frames_stored, ..self.inner.traffic }
    }

    pub(super) const fn source_ended(&self) -> bool {
        self.source_ended
    }

    const fn destination(&self) -> Side {
        match self.direction {
            Direction::ToServer => Side::Server,
            Direction::ToClient => Side::Client,
        }
    }

    /// The destination took no more for ever.
    fn lost(&self) -> impl Fn(std::io::Error) -> SessionError + Copy + use<> {
        let side = self.destination();
        move |error| SessionError { side, phase: Phase::Command, cause: error.into() }
    }

    const fn failed(&self, cause: Cause) -> SessionError {
        SessionError { side: self.direction.source(), phase: Phase::Command, cause }
    }
}

/// A framed half-pipe of this algorithm, or none.
pub(super) fn framed<T>(algorithm: Algorithm, make: impl FnOnce(Algorithm) -> T) -> Option<T> {
    algorithm.is_framed().then(|| make(algorithm))
}

/// Codec work between two pauses: about a millisecond at the levels that run on a worker.
const WORK_LEN_MAX: usize = 128 << 10;
/// Bytes that pass between two pauses: some 200 us of reading and writing.
const READ_LEN_MAX: usize = 256 << 10;
