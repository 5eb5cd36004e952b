//! What comes from the source: bytes are read, and frames turned into packets.
//!
//! Not here: frames' contents (`unpacker`), when it is read (`super`).

use std::task::{Context, Poll, ready};

use wire::conversation::Conversation;

use super::HalfPipe;
use crate::SessionError;
use crate::buffer::{BUFFER_LEN, Buffer};
use crate::leg::Leg;
use crate::relay::packer::Pass;
use crate::relay::unpacker::Unpacked;
use crate::worker::Worker;

impl HalfPipe {
    /// Bytes that the peer sent before the relay started.
    pub(in crate::relay) fn feed(&mut self, bytes: &[u8], worker: &Worker) {
        if !bytes.is_empty() {
            self.source_buffer().appending(bytes.len(), &worker.spare).extend_from_slice(bytes);
            self.count_plain(bytes.len());
        }
    }

    /// Turns the source's frames into packets; says whether there are more bytes to scan.
    pub(super) fn poll_unpack(
        &mut self,
        cx: &mut Context<'_>,
        conversation: &mut Conversation,
        worker: &Worker,
    ) -> Poll<Result<bool, SessionError>> {
        let inside_packet = self.scanner.is_inside_packet() || self.inner.bytes.len() > self.scanned_len;
        let Some(unpacker) = &mut self.unpacker else { return Poll::Ready(Ok(false)) };
        let before_len = self.inner.bytes.len();
        let step = unpacker.poll_unpack(cx, &mut self.inner.bytes, inside_packet, Some(conversation), worker);
        if step.is_pending()
            && unpacker.waits_for_memory()
            && let Some(packer) = &mut self.packer
            && packer.stop_collecting()
        {
            // Walked over already: only its bytes go now, the rest passes as it comes.
            let mut pass = Pass { inner: &mut self.inner, conversation, worker };
            self.scanned_len -= packer.pass_stored(&mut pass);
            return Poll::Ready(Ok(true));
        }
        match ready!(step).map_err(|cause| self.failed(cause))? {
            Unpacked::NeedMore => Poll::Ready(Ok(false)),
            Unpacked::Grew { body, worked_len, ns } => {
                self.inner.traffic.unpack_ns += ns;
                self.inner.worked_len += worked_len;
                self.inner.traffic.plain_len += (self.inner.bytes.len() - before_len) as u64;
                self.show(before_len);
                if let Some(packer) = &mut self.packer {
                    packer.inner_grew(body.filter(|_| before_len == 0));
                }
                Poll::Ready(Ok(true))
            }
        }
    }

    /// Reads once and says how much; 0 bytes are the source's end.
    pub(in crate::relay) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Leg,
        worker: &Worker,
    ) -> Poll<Result<usize, SessionError>> {
        let buffer = self.source_buffer().appending(READ_ROOM_LEN, &worker.spare);
        match ready!(source.poll_read(cx, buffer)) {
            Ok(0) => {
                self.source_ended = true;
                Poll::Ready(Ok(0))
            }
            Ok(len) => {
                self.count_plain(len);
                if let Some(sample) = &mut self.sample {
                    let room_len = sample.capacity() - sample.len();
                    let next_packet = self.scanned_len + self.scanner.left_len();
                    let new = self.inner.bytes.len().saturating_sub(len);
                    let start = if sample.is_empty() { next_packet } else { new };
                    let bytes = self.inner.bytes.waiting().get(start..).unwrap_or_default();
                    sample.extend(bytes.iter().take(room_len));
                }
                if self.unpacker.is_none() {
                    self.show(self.inner.bytes.len() - len);
                }
                Poll::Ready(Ok(len))
            }
            Err(error) => {
                // What it said before it was lost may be the reason.
                self.source_ended = true;
                self.source_lost = Some(error);
                Poll::Ready(Ok(0))
            }
        }
    }

    /// What has come behind `before_len` is shown to the tap, if it is on.
    fn show(&mut self, before_len: usize) {
        if let Some(sampler) = &mut self.sampler {
            let bytes = self.inner.bytes.waiting().get(before_len..).unwrap_or_default();
            let traffic = &self.inner.traffic;
            sampler.grew(bytes, traffic.pack_ns + traffic.unpack_ns);
        }
    }

    fn count_plain(&mut self, len: usize) {
        if self.unpacker.is_none() {
            self.inner.traffic.plain_len += len as u64;
        }
    }

    fn source_buffer(&mut self) -> &mut Buffer {
        match &mut self.unpacker {
            Some(unpacker) => &mut unpacker.raw,
            None => &mut self.inner.bytes,
        }
    }

    pub(super) fn release(&mut self, worker: &Worker) {
        self.inner.bytes.release(&worker.spare);
        if let Some(unpacker) = &mut self.unpacker {
            unpacker.raw.release(&worker.spare);
        }
    }
}

/// Least room for a read; a fresh buffer has all of it.
const READ_ROOM_LEN: usize = BUFFER_LEN / 2;
