//! Packets that the proxy itself reads or makes: exchanges that it translates, and its own errors.
//!
//! Invariants: what waits to be delivered goes first; a packet that may hold a password is wiped where it lay; a packet
//! that is collected has at most `LOGIN_LEN_MAX` bytes.
//! Not here: packets that pass (`super`).

use std::task::{Context, Poll, ready};

use wire::limits::LOGIN_LEN_MAX;
use wire::{Fault, packet};
use zeroize::Zeroizing;

use super::HalfPipe;
use crate::leg::Leg;
use crate::relay::unpacker::Unpacked;
use crate::worker::Worker;
use crate::{Cause, Phase, SessionError};

/// A packet that was read whole.
pub(in crate::relay) type Taken = (packet::Header, Zeroizing<Vec<u8>>);

impl HalfPipe {
    /// Appends one packet of the proxy's own, with this packet and frame id, to what is delivered.
    pub(in crate::relay) fn append_own(
        &mut self,
        (packet_id, frame_id): (u8, u8),
        payload: &[u8],
        worker: &Worker,
    ) -> Result<(), SessionError> {
        let side = self.destination();
        if let Some(packer) = &mut self.packer {
            let appended = packer.append_own((packet_id, frame_id), payload, worker);
            return appended.map_err(|cause| SessionError { side, phase: Phase::Command, cause });
        }
        let (len, scanned_len) = (self.inner.bytes.len(), self.scanned_len);
        let room_len = packet::HEADER_LEN + payload.len();
        packet::split(payload, packet_id, self.inner.bytes.appending(room_len, &worker.spare));
        self.scanned_len += self.inner.bytes.len() - len;
        // Before what waits behind the packets that go.
        let waiting = self.inner.bytes.waiting_mut().get_mut(scanned_len..).unwrap_or_default();
        waiting.rotate_left(len - scanned_len);
        Ok(())
    }

    /// Takes the packet at the start of `inner` out, if it is whole and nothing waits before it.
    ///
    /// Errors: `ChangeUserTooLong` as soon as its header says so, since it is collected outside of the budget.
    pub(in crate::relay) fn take_packet(&mut self) -> Result<Option<Taken>, SessionError> {
        let bytes = self.inner.bytes.waiting();
        let Some(header) = packet::Header::parse(bytes).filter(|_| self.scanned_len == 0) else {
            return Ok(None);
        };
        if header.payload_len > LOGIN_LEN_MAX {
            let fault = Fault::ChangeUserTooLong { len: header.payload_len, max: LOGIN_LEN_MAX };
            return Err(self.failed(fault.into()));
        }
        let end = packet::HEADER_LEN + header.payload_len;
        let Some(payload) = bytes.get(packet::HEADER_LEN..end) else { return Ok(None) };
        let payload = Zeroizing::new(payload.to_vec());
        self.inner.bytes.waiting_mut().iter_mut().take(end).for_each(|byte| *byte = 0);
        self.inner.bytes.consume(end);
        Ok(Some((header, payload)))
    }

    /// Takes more of the source in without following it: for exchanges that are read packet by packet.
    pub(in crate::relay) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Leg,
        worker: &Worker,
    ) -> Poll<Result<(), SessionError>> {
        if let Some(unpacker) = &mut self.unpacker {
            let step = ready!(unpacker.poll_unpack(cx, &mut self.inner.bytes, false, None, worker));
            if let Unpacked::Grew { .. } = step.map_err(|cause| self.failed(cause))? {
                return Poll::Ready(Ok(()));
            }
        }
        ready!(self.poll_read(cx, source, worker))?;
        if self.source_ended {
            return Poll::Ready(Err(self.failed(Cause::ClosedEarly)));
        }
        Poll::Ready(Ok(()))
    }

    /// Packet and frame id that were given to a packet of which the destination has seen nothing.
    pub(in crate::relay) fn unsent_ids(&self) -> Option<(u8, u8)> {
        let packer = self.packer.as_ref().filter(|_| self.scanner.is_inside_packet())?;
        let header = packet::Header::parse(self.inner.bytes.waiting())?;
        Some((header.sequence_id, packer.begun_frame_id()))
    }
}
