//! The framed destination of a half-pipe: packets in, frames out.
//!
//! ```text
//! inner   | packet | packet | packet ...       complete packets share a frame up to `shared_len_max`
//!         | large packet ..................|   alone: one frame, or two if it doesn't fit
//! ```
//! Invariants: a frame of several packets ends at a packet's end; a packet crosses in at most two frames and is
//! never cut inside its header (Connector/Python's pure mode reads no more); never an empty frame, never one of
//! 0xFFFFFF bytes; a frame under 50 bytes or that doesn't shrink goes stored.
//! Not here: ids of packets (`wire::conversation`), the flush rule (`half_pipe`).

mod job;
mod large;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use codec::pace::{Next, PackedFrame, Reason};
use codec::{Algorithm, Contexts};
use wire::conversation::{Conversation, Plan};
use wire::limits::{COMPRESS_LEN_MIN, FRAME_LEN_MAX, SHARED_FRAME_LEN_MAX, SHARED_FRAME_LEN_UNKNOWN};
use wire::{Side, frame, packet};

use self::job::{Job, encode_large};
use self::large::{Large, Stored};
use super::paced::Paced;
use crate::budget::Reservation;
use crate::buffer::Buffer;
use crate::codec_time::CodecTime;
use crate::worker::Worker;
use crate::{Cause, Traffic};

pub(super) struct Packer {
    side: Side,
    algorithm: Algorithm,
    level: u8,
    /// Chooses for each frame, where it is not fixed.
    pub(super) paced: Option<Box<Paced>>,
    /// The destination has not taken all of the output yet.
    pub(super) is_cut: bool,
    /// Longest frame of several packets, bytes.
    shared_len_max: usize,
    /// Frames that go behind those that lie in the inner stream's buffer, if any do.
    pub(super) output: Buffer,
    /// Ids of the frame that is being filled; the second is of a packet that needs two.
    frame_ids: [u8; 2],
    /// Bytes of complete packets at the start of the inner stream.
    complete_len: usize,
    /// The command of the last frame's reply, and bytes of that which became frames.
    reply: (Option<u64>, usize),
    /// The packet that has begun ends its frame.
    ends_frame: bool,
    /// A packet of the frame was renumbered, so its packed form can't be forwarded.
    renumbered: bool,
    /// The inner stream holds exactly what this body of the peer's holds.
    body: Option<Vec<u8>>,
    large: Option<Large>,
    /// Memory set aside for the frames that wait to be delivered.
    reservations: Vec<Reservation>,
    /// All that waits is one long frame, so the packet behind it may be collected, and packed, meanwhile.
    reads_ahead: bool,
    job: Option<Job>,
    time: CodecTime,
}

impl Packer {
    /// `packet_len_max`: the receiver's limit, 0 when unknown.
    pub(super) fn new(
        side: Side,
        algorithm: Algorithm,
        level: u8,
        packet_len_max: usize,
        paced: Option<Box<Paced>>,
    ) -> Self {
        let shared_len_max = match packet_len_max {
            0 => SHARED_FRAME_LEN_UNKNOWN,
            known => (known / 2).saturating_sub(1).clamp(LEAST_SHARED_LEN, SHARED_FRAME_LEN_MAX),
        };
        Self {
            side,
            algorithm,
            level,
            paced,
            is_cut: false,
            shared_len_max: shared_len_max.min(TARGET_LEN),
            output: Buffer::default(),
            frame_ids: [0; 2],
            complete_len: 0,
            reply: (None, 0),
            ends_frame: false,
            renumbered: false,
            body: None,
            large: None,
            reservations: Vec::new(),
            reads_ahead: false,
            job: None,
            time: CodecTime::default(),
        }
    }

    /// Bytes of frames that were made and not written yet.
    pub(super) fn unwritten_len(&self, inner: &Inner) -> usize {
        inner.bytes.framed_len() + self.output.len()
    }

    /// Whether another frame of what passes stored could be made before something is written.
    pub(super) fn takes_frame(&self, inner: &Inner) -> bool {
        self.output.is_empty() && self.job.is_none() && inner.bytes.takes_header()
    }

    /// Whether complete packets wait for their frame.
    pub(super) const fn has_complete_packets(&self) -> bool {
        self.complete_len > 0
    }

    /// Whether a stored frame has been announced whose bytes have not all come.
    pub(super) const fn is_inside_frame(&self) -> bool {
        matches!(self.large, Some(Large::Stored(_)))
    }

    /// The inner stream grew. `body` is what it now holds as a whole, packed by the peer.
    pub(super) fn inner_grew(&mut self, body: Option<Vec<u8>>) {
        self.body = body;
    }

    /// A packet of `len` bytes begins behind the `complete_len` bytes that wait. Returns how many bytes at the
    /// start of `inner` became a frame.
    pub(super) fn begin_packet(
        &mut self,
        plan: Plan,
        len: usize,
        renumbered: bool,
        pass: &mut Pass<'_>,
    ) -> Result<usize, Cause> {
        let is_large = len > self.shared_len_max
            || (len >= PASSED_LEN_MIN && self.paced.as_ref().is_some_and(|paced| paced.shrinks_no_more()));
        let mut emitted_len = 0;
        if self.complete_len > 0
            && (plan.starts_frame || is_large || self.complete_len + len > self.shared_len())
        {
            emitted_len = self.complete_len;
            self.emit(Next::Follows, pass)?;
        }
        if self.complete_len == 0 {
            self.begin_frame(len, pass.conversation);
        }
        self.renumbered |= renumbered;
        self.ends_frame = plan.ends_frame || is_large;
        if is_large {
            // Collected and packed together: the packet, and at worst as much again.
            let missing_len = len.saturating_sub(pass.inner.bytes.len());
            let choice = match &mut self.paced {
                Some(paced) if self.body.is_none() => Some(paced.choose_early(len, missing_len)),
                _ => None,
            };
            let waits_for_nothing =
                emitted_len == 0 && (self.unwritten_len(pass.inner) == 0 || self.reads_ahead);
            let since = waits_for_nothing.then(Instant::now);
            let tried_level = choice.filter(|choice| choice.reason == Reason::TriesLevel);
            let tried_level = tried_level.and_then(|choice| choice.level);
            self.large = Some(if choice.is_some_and(|choice| choice.level.is_none()) {
                Large::stored(len)
            } else {
                match pass.worker.shared.budget.try_reserve(2 * len) {
                    None if self.body.is_none() => Large::stored(len),
                    reservation => Large::Collected { len, reservation, since, missing_len, tried_level },
                }
            });
        }
        Ok(emitted_len)
    }

    /// Gives back the memory that is set aside for the packet that has begun, which then passes stored; says
    /// whether there was any. Who waits for memory must hold none.
    pub(super) fn stop_collecting(&mut self) -> bool {
        let Some(Large::Collected { len, reservation: Some(_), .. }) = self.large else { return false };
        self.large = Some(Large::stored(len));
        true
    }

    /// The id of the frame whose first packet has begun.
    pub(super) const fn begun_frame_id(&self) -> u8 {
        self.frame_ids[0]
    }

    /// Moves on what `inner` holds of a packet that passes stored. Returns how many bytes that was.
    pub(super) fn pass_stored(&mut self, pass: &mut Pass<'_>) -> usize {
        let mut passed_len = 0;
        loop {
            let Some(Large::Stored(stored)) = &mut self.large else { return passed_len };
            let mut header = None;
            if stored.left == 0 {
                let [next_len, after_len] = stored.due;
                if next_len == 0 {
                    self.large = None;
                    return passed_len;
                }
                *stored = Stored { due: [after_len, 0], left: next_len };
                let sequence_id = self.frame_ids[0];
                self.frame_ids[0] = self.frame_ids[1];
                header = Some(frame::Header { packed_len: next_len, sequence_id, plain_len: 0 }.build());
                pass.inner.traffic.frames_stored += 1;
            }
            let len = pass.inner.bytes.len().min(stored.left);
            if header.is_none() && len == 0 {
                return passed_len;
            }
            stored.left -= len;
            passed_len += len;
            self.store(header, len, pass);
        }
    }

    /// The packet that had begun ended at `complete_len`. Returns how many bytes at the start of `inner` became
    /// a frame.
    pub(super) fn end_packet(&mut self, complete_len: usize, pass: &mut Pass<'_>) -> Result<usize, Cause> {
        self.complete_len = complete_len;
        if self.ends_frame && complete_len > 0 {
            self.emit(Next::Unknown, pass).map(|()| complete_len)
        } else {
            Ok(0)
        }
    }

    /// Bytes of whole packets that the frame takes besides; none before its first packet has begun.
    pub(super) fn room_len(&self) -> usize {
        if self.complete_len == 0 { 0 } else { self.shared_len().saturating_sub(self.complete_len) }
    }

    /// Whole packets were added to it, up to `complete_len`.
    pub(super) const fn passed(&mut self, complete_len: usize, renumbered: bool) {
        self.complete_len = complete_len;
        self.renumbered |= renumbered;
    }

    /// Whether the peer's own frame can go out as it is: call it when the inner stream was scanned to its end.
    pub(super) fn holds_whole_body(&self, inner_len: usize) -> bool {
        self.body.is_some() && self.complete_len == inner_len && !self.renumbered
    }

    /// The packet that has begun is the first of a frame.
    pub(super) fn begin_frame(&mut self, packet_len: usize, conversation: &mut Conversation) {
        let first = conversation.take_frame_id(self.side);
        let second = if packet_len > FRAME_LEN_MAX { conversation.take_frame_id(self.side) } else { first };
        self.frame_ids = [first, second];
        self.renumbered = false;
    }

    /// Longest frame of several packets, now.
    fn shared_len(&self) -> usize {
        self.paced.as_ref().map_or(usize::MAX, |paced| paced.frame_len()).min(self.shared_len_max)
    }

    /// Makes a frame of the complete packets, since no more have come yet; they may be of a reply that `goes_on`.
    pub(super) fn flush(&mut self, goes_on: bool, pass: &mut Pass<'_>) -> Result<(), Cause> {
        let is_long = self.reply.0 == pass.conversation.oldest_number() && self.reply.1 >= LONG_REPLY_LEN;
        let next = match (goes_on, is_long) {
            (true, true) => Next::Follows,
            // Who gets a reply in two parts may well wait for the first.
            (true, false) => Next::Comes,
            (false, _) => Next::Unknown,
        };
        self.emit(next, pass)
    }

    /// Makes a frame of the complete packets.
    fn emit(&mut self, next: Next, pass: &mut Pass<'_>) -> Result<(), Cause> {
        let len = std::mem::take(&mut self.complete_len);
        let command = pass.conversation.oldest_number();
        let before_len = if self.reply.0 == command { self.reply.1 } else { 0 };
        self.reply = (command, before_len.saturating_add(len));
        self.reads_ahead = false;
        let mut tried = None;
        let mut reserved = None;
        if let Some(Large::Collected { reservation, since, missing_len, tried_level, .. }) = self.large.take()
        {
            reserved = reservation;
            tried = tried_level;
            if let (Some(paced), Some(since)) = (&mut self.paced, since) {
                paced.collected(missing_len, since.elapsed());
            }
        }
        let body = self.body.take();
        let plain = pass.inner.bytes.waiting().get(..len).unwrap_or_default();
        let forwarded = body.filter(|body| self.may_forward(body, plain, pass));
        let must_be_stored = self.must_be_stored(len);
        let (algorithm, level) = match &mut self.paced {
            _ if must_be_stored => (Algorithm::Uncompressed, self.level),
            Some(paced) if forwarded.is_none() => match tried.or_else(|| paced.choose(len, next).level) {
                Some(level) => (self.algorithm, level),
                None => (Algorithm::Uncompressed, self.level),
            },
            _ => (self.algorithm, self.level),
        };
        let before_len = self.output.len();
        if let Some(body) = forwarded {
            let header =
                frame::Header { packed_len: body.len(), sequence_id: self.frame_ids[0], plain_len: len };
            let output = self.output.appending(frame::HEADER_LEN + body.len(), &pass.worker.spare);
            output.extend_from_slice(&header.build());
            output.extend_from_slice(&body);
            pass.inner.traffic.frames_forwarded += 1;
        } else if !algorithm.is_framed() && len <= FRAME_LEN_MAX {
            let header =
                frame::Header { packed_len: len, sequence_id: self.frame_ids[0], plain_len: 0 }.build();
            pass.inner.traffic.frames_stored += 1;
            self.store(Some(header), len, pass);
            self.reservations.extend(reserved);
            return Ok(());
        } else if len <= codec::plain_bytes_per_ms(algorithm, level) {
            self.pack((algorithm, level), len, pass)?;
        } else {
            let ids = self.frame_ids;
            // A large packet is alone in the buffer, whose memory then moves instead of being copied.
            let is_alone = len == pass.inner.bytes.len() && pass.inner.bytes.framed_len() == 0;
            let plain =
                if is_alone { std::mem::take(&mut pass.inner.bytes) } else { Buffer::from(plain.to_vec()) };
            let asked = Instant::now();
            let work = pass
                .worker
                .shared
                .context_pool
                .run(move |contexts| encode_large(contexts, algorithm, level, ids, plain.waiting()));
            self.job = Some(Job { work, asked, reservation: reserved.take(), done: None });
        }
        self.reservations.extend(reserved);
        if let Some(paced) = &mut self.paced
            && self.job.is_none()
        {
            paced.made(len, self.output.len() - before_len);
        }
        pass.inner.bytes.consume(len);
        Ok(())
    }

    /// Packs the first `len` bytes on this thread.
    fn pack(
        &mut self,
        (algorithm, level): (Algorithm, u8),
        len: usize,
        pass: &mut Pass<'_>,
    ) -> Result<(), Cause> {
        let plain = pass.inner.bytes.waiting().get(..len).unwrap_or_default();
        let begun = pass.worker.sends.begin_work(len);
        let output = self.output.appending(frame::HEADER_LEN + len, &pass.worker.spare);
        let before_len = output.len();
        let mut contexts = pass.worker.contexts.borrow_mut();
        let id = self.frame_ids[0];
        let packed = frame::encode(&mut contexts, algorithm, level, id, plain, output);
        let packed_len = output.len() - before_len;
        drop(contexts);
        let took = self.time.end(begun, len);
        pass.inner.traffic.pack_ns += took.cpu_ns;
        if packed.map_err(Cause::Protocol)? {
            pass.inner.traffic.frames_packed += 1;
        } else {
            pass.inner.traffic.frames_stored += 1;
        }
        pass.inner.worked_len += len;
        if let Some(paced) = &mut self.paced {
            paced.packed(PackedFrame::alone(level, len, packed_len), took);
        }
        Ok(())
    }

    /// Makes a stored frame, or a part of one, of the first `len` bytes: where they are, if that is possible.
    fn store(&mut self, header: Option<[u8; frame::HEADER_LEN]>, len: usize, pass: &mut Pass<'_>) {
        let header_len = header.map_or(0, |header| header.len());
        self.reads_ahead = false;
        if !self.output.is_empty() || !pass.inner.bytes.frame(header, len) {
            let bytes = pass.inner.bytes.waiting().get(..len).unwrap_or_default();
            let output = self.output.appending(header_len + len, &pass.worker.spare);
            output.extend_from_slice(header.as_ref().map_or(&[][..], |header| header));
            output.extend_from_slice(bytes);
            pass.inner.bytes.consume(len);
        }
        if let Some(paced) = &mut self.paced {
            paced.made(len, header_len + len);
        }
    }

    /// Waits for a helper thread's frame, and for what goes before it to be written.
    pub(super) fn poll_job(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        inner: &mut Inner,
    ) -> Poll<Result<(), Cause>> {
        // Out of here: one that failed is not asked again.
        let Some(mut job) = self.job.take() else { return Poll::Ready(Ok(())) };
        let encoded = if let Some(encoded) = job.done.take() {
            encoded
        } else {
            let Poll::Ready(done) = Pin::new(&mut job.work).poll(cx) else {
                self.job = Some(job);
                return Poll::Pending;
            };
            let waited = job.asked.elapsed();
            let encoded = done.map_err(|_| Cause::CodecThreadFailed)?.map_err(Cause::Protocol)?;
            if let Some(paced) = &mut self.paced {
                let frame = PackedFrame::alone(encoded.level, encoded.plain_len, encoded.bytes.len());
                paced.packed(frame, encoded.took);
                paced.waited(waited.saturating_sub(encoded.took.wall));
            }
            inner.traffic.frames_packed += encoded.packed;
            inner.traffic.frames_stored += encoded.stored;
            inner.traffic.pack_ns += encoded.took.cpu_ns;
            encoded
        };
        if self.unwritten_len(inner) > 0 {
            self.job = Some(Job { done: Some(encoded), ..job });
            return Poll::Pending; // Woken by the destination.
        }
        if let Some(paced) = &mut self.paced {
            paced.made(encoded.plain_len, encoded.bytes.len());
        }
        // As much again has to be free, since the next packet may be as long; and what shows the link is seen before the next choice.
        let reserved_len = job.reservation.as_ref().map_or(0, |it| it.num_permits() << 10);
        self.reads_ahead = self.paced.as_ref().is_none_or(|paced| paced.knows_link())
            && worker.shared.budget.try_reserve(reserved_len).is_some();
        self.reservations.extend(job.reservation);
        self.output.append_owned(encoded.bytes, &worker.spare);
        Poll::Ready(Ok(()))
    }

    /// Everything was delivered: memory goes back.
    pub(super) fn release(&mut self, worker: &Worker) {
        self.output.release(&worker.spare);
        self.reservations.clear();
        self.reads_ahead = false;
    }

    /// Whether more may be read although a frame waits to be written.
    pub(super) const fn reads_ahead(&self) -> bool {
        self.reads_ahead
    }

    /// Whether the packet that is next is worth it, being large. Others wait, so that no reply is complete before it was sent.
    pub(super) const fn packs_ahead(&mut self, next: packet::Header) -> bool {
        self.reads_ahead &= packet::HEADER_LEN + next.payload_len > self.shared_len_max;
        self.reads_ahead
    }

    pub(super) const fn has_job(&self) -> bool {
        self.job.is_some()
    }

    /// Appends one packet as a frame of its own: for packets that the proxy itself makes.
    pub(super) fn append_own(&mut self, ids: (u8, u8), payload: &[u8], worker: &Worker) -> Result<(), Cause> {
        let mut plain = zeroize::Zeroizing::new(Vec::with_capacity(payload.len() + 4));
        packet::split(payload, ids.0, &mut plain);
        let output = self.output.appending(frame::HEADER_LEN + plain.len(), &worker.spare);
        let mut contexts = worker.contexts.borrow_mut();
        let before_len = output.len();
        frame::encode(&mut contexts, self.algorithm, self.level, ids.1, &plain, output)?;
        let len = output.len() - before_len;
        if let Some(paced) = &mut self.paced {
            paced.made(plain.len(), len);
        }
        Ok(())
    }

    /// Whether the peer's `body`, found to hold `plain`, is a frame that we might have made.
    fn may_forward(&self, body: &[u8], plain: &[u8], pass: &Pass<'_>) -> bool {
        plain.len() == pass.inner.bytes.len()
            && !self.renumbered
            && (COMPRESS_LEN_MIN..=FRAME_LEN_MAX).contains(&plain.len())
            && body.len() < plain.len()
            && !self.must_be_stored(plain.len())
            && Contexts::is_canonical(self.algorithm, body, plain)
    }

    /// TiDB's zlib reader loses step after a body of a multiple of 32 KiB. A packet that needs two frames is cut
    /// elsewhere.
    fn must_be_stored(&self, len: usize) -> bool {
        self.algorithm == Algorithm::Zlib
            && self.side == Side::Server
            && len <= FRAME_LEN_MAX
            && len.is_multiple_of(TIDB_UNLUCKY_LEN)
    }
}

/// What a packer works with while it handles one direction's bytes.
pub(super) struct Pass<'a> {
    pub(super) inner: &'a mut Inner,
    pub(super) conversation: &'a mut Conversation,
    pub(super) worker: &'a Worker,
}

/// A direction's packets, and what became of them.
#[derive(Default)]
pub(super) struct Inner {
    /// Packets, as on a plain leg.
    pub(super) bytes: Buffer,
    pub(super) traffic: Traffic,
    /// Bytes of codec work done on this thread since the last pause.
    pub(super) worked_len: usize,
}

/// Packets of data that doesn't shrink pass as they come from this length on, and nothing of them is collected.
const PASSED_LEN_MIN: usize = 16 << 10;
/// Frames of several packets are closed at this length: packing it takes a worker about a millisecond, and a
/// larger one packs hardly better (`docs/adr/0006-frame-size.md`).
const TARGET_LEN: usize = 128 << 10;
/// Of a longer reply nobody waits for what has come so far, as for a reply that comes in two parts.
const LONG_REPLY_LEN: usize = 256 << 10;
/// Below this a limit is taken for a mistake: every server's least `max_allowed_packet` is 1 KiB.
const LEAST_SHARED_LEN: usize = 511;
const TIDB_UNLUCKY_LEN: usize = 32 << 10;
