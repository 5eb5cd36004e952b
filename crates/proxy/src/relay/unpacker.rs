//! The framed source of a half-pipe: frames in, inner stream out.
//!
//! ```text
//! raw   | header 7 | body ...      stored body: passes as it comes
//!                                  packed body: waited for, decoded at once or on a helper thread
//! ```
//! Invariants: memory for a frame is set aside after its header and before its body, until what it held has gone on;
//! nothing of a frame reaches the inner stream unless all of it decoded (stored bodies aside, which hold nothing to
//! decode).
//! Not here: packets (`half_pipe`), ids (`wire::conversation`).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use codec::Algorithm;
use tokio::task::JoinHandle;
use wire::conversation::Conversation;
use wire::{Fault, Side, frame};

use crate::Cause;
use crate::budget::{Reservation, Waiting};
use crate::buffer::Buffer;
use crate::codec_threads::Decoded;
use crate::codec_time::CodecTime;
use crate::worker::Worker;

pub(super) struct Unpacker {
    side: Side,
    algorithm: Algorithm,
    /// Keep packed bodies, for a packer with the same algorithm.
    keeps_bodies: bool,
    pub(super) raw: Buffer,
    state: State,
    reservation: Option<Reservation>,
    /// Id of the last frame.
    pub(super) last_id: u8,
    time: CodecTime,
    /// Frames that began: packed, stored.
    pub(super) frames: [u64; 2],
}

enum State {
    HeaderDue,
    MemoryDue(frame::Header, Waiting),
    StoredBody { left: usize },
    PackedBody(frame::Header),
    Decoding(JoinHandle<Result<Decoded, Fault>>),
}

/// A step of unpacking.
pub(super) enum Unpacked {
    /// More bytes of the peer are needed.
    NeedMore,
    /// The inner stream grew. A whole packed frame brings its body.
    Grew {
        /// The body as the peer packed it.
        body: Option<Vec<u8>>,
        /// Bytes of codec work done on this thread.
        worked_len: usize,
        /// CPU time that the codec took, here or on a helper thread, nanoseconds.
        ns: u64,
    },
}

impl Unpacker {
    pub(super) fn new(side: Side, algorithm: Algorithm, keeps_bodies: bool) -> Self {
        let raw = Buffer::default();
        Self {
            side,
            algorithm,
            keeps_bodies,
            raw,
            state: State::HeaderDue,
            reservation: None,
            last_id: 0,
            time: CodecTime::default(),
            frames: [0; 2],
        }
    }

    /// Whether a frame has begun and is not complete.
    pub(super) fn is_inside_frame(&self) -> bool {
        !matches!(self.state, State::HeaderDue) || !self.raw.is_empty()
    }

    /// Whether memory is set aside for an incomplete frame.
    pub(super) const fn holds_reservation(&self) -> bool {
        self.reservation.is_some()
    }

    /// Whether the frame waits for memory, not for its peer.
    pub(super) const fn waits_for_memory(&self) -> bool {
        matches!(self.state, State::MemoryDue(..))
    }

    fn count(&mut self, header: frame::Header) {
        self.last_id = header.sequence_id;
        let [packed, stored] = &mut self.frames;
        *(if header.is_stored() { stored } else { packed }) += 1;
    }

    /// The peer may say nothing for hours, and the other direction may need the memory for its answer.
    fn give_back(&mut self, inner: &mut Buffer, worker: &Worker) {
        if self.reservation.is_some() && inner.is_spent() {
            inner.release(&worker.spare);
            self.raw.release(&worker.spare);
            self.reservation = None;
        }
    }

    /// Unpacks the next frame, or a part of a stored one, to the end of `inner`. Without a conversation the
    /// frames' ids are not checked.
    pub(super) fn poll_unpack(
        &mut self,
        cx: &mut Context<'_>,
        inner: &mut Buffer,
        inside_packet: bool,
        mut conversation: Option<&mut Conversation>,
        worker: &Worker,
    ) -> Poll<Result<Unpacked, Cause>> {
        loop {
            match &mut self.state {
                State::HeaderDue => {
                    let Some(header) = frame::Header::parse(self.raw.waiting()) else {
                        self.give_back(inner, worker);
                        return Poll::Ready(Ok(Unpacked::NeedMore));
                    };
                    if let Some(conversation) = &mut conversation {
                        conversation.frame_received(self.side, header, inside_packet)?;
                    }
                    self.count(header);
                    self.raw.consume(frame::HEADER_LEN);
                    self.reservation = None;
                    self.state = if header.is_stored() {
                        State::StoredBody { left: header.packed_len }
                    } else if header.packed_len + header.plain_len <= FREE_LEN {
                        State::PackedBody(header)
                    } else {
                        let wanted = header.packed_len + header.plain_len;
                        State::MemoryDue(header, worker.shared.budget.reserve(wanted))
                    };
                }
                State::MemoryDue(header, waiting) => {
                    self.reservation = ready!(waiting.as_mut().poll(cx));
                    self.state = State::PackedBody(*header);
                }
                State::StoredBody { left: 0 } => self.state = State::HeaderDue,
                State::StoredBody { left } => {
                    let len = self.raw.len().min(*left);
                    if len == 0 {
                        return Poll::Ready(Ok(Unpacked::NeedMore));
                    }
                    let bytes = self.raw.waiting().get(..len).unwrap_or_default();
                    inner.appending(len, &worker.spare).extend_from_slice(bytes);
                    self.raw.consume(len);
                    *left -= len;
                    return Poll::Ready(Ok(Unpacked::Grew { body: None, worked_len: 0, ns: 0 }));
                }
                State::PackedBody(header) => {
                    let header = *header;
                    let Some(body) = self.raw.waiting().get(..header.packed_len) else {
                        return Poll::Ready(Ok(Unpacked::NeedMore));
                    };
                    if header.plain_len > DECODE_INLINE_LEN_MAX {
                        let body = body.to_vec();
                        self.raw.consume(header.packed_len);
                        let job = worker.shared.context_pool.decode(self.algorithm, header, body);
                        self.state = State::Decoding(job);
                        continue;
                    }
                    let room = inner.appending(header.plain_len, &worker.spare);
                    let begun = worker.sends.begin_work(header.plain_len);
                    frame::decode(&mut worker.contexts.borrow_mut(), self.algorithm, header, body, room)
                        .map_err(Cause::Protocol)?;
                    let ns = self.time.end(begun, header.plain_len).cpu_ns;
                    let body = self.keeps_bodies.then(|| body.to_vec());
                    self.raw.consume(header.packed_len);
                    self.state = State::HeaderDue;
                    return Poll::Ready(Ok(Unpacked::Grew { body, worked_len: header.plain_len, ns }));
                }
                State::Decoding(job) => {
                    let done = ready!(Pin::new(job).poll(cx));
                    self.state = State::HeaderDue;
                    let decoded = done.map_err(|_| Cause::CodecThreadFailed)?.map_err(Cause::Protocol)?;
                    inner.append_owned(decoded.plain, &worker.spare);
                    let body = self.keeps_bodies.then_some(decoded.body);
                    return Poll::Ready(Ok(Unpacked::Grew { body, worked_len: 0, ns: decoded.ns }));
                }
            }
        }
    }
}

/// A frame that needs no more than this, packed and plain together, takes nothing from the budget.
const FREE_LEN: usize = 16 << 10;
/// The slowest decoder here (zlib on digits, 400 MB/s) does this in about a millisecond.
const DECODE_INLINE_LEN_MAX: usize = 384 << 10;
