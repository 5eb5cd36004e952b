//! How long a relay waits for a peer: for the rest of a packet or frame, and between two commands.
//!
//! Invariants: time counts from the last byte that came, between two commands also from the last that went to the client;
//! who holds nothing and waits for a statement's result is never timed, since a statement may take hours.
//! Not here: handshakes (`connect`).

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use wire::Side;

use super::half_pipe::HalfPipe;
use super::unpacker::Unpacker;
use super::{Event, Relay};
use crate::leg::Leg;
use crate::pair::PairStream;
use crate::{Cause, Phase, SessionError};

/// A wait for the rest of a packet or frame.
pub(super) struct Stall {
    side: Side,
    /// Bytes received from that side when the wait began.
    received_len: u64,
    deadline: Pin<Box<Sleep>>,
}

impl Stall {
    /// The wait in `slot`, or a new one if bytes came since it began.
    fn goes_on(slot: &mut Option<Self>, side: Side, received_len: u64, limit: Duration) -> &mut Self {
        slot.take_if(|stall| stall.side != side || stall.received_len != received_len);
        slot.get_or_insert_with(|| {
            let deadline = Box::pin(sleep_until(Instant::now() + limit));
            Self { side, received_len, deadline }
        })
    }
}

impl Relay<'_> {
    /// Silence between two commands is limited where the operator says so.
    pub(super) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, SessionError>> {
        let is_idle = || self.conversation.in_flight() == 0 && self.client_has_all();
        let Some(limit) = self.route.config.idle_timeout.filter(|_| is_idle()) else {
            self.idle = None;
            return Poll::Pending;
        };
        let received_len = self.client.received_len;
        let idle = Stall::goes_on(&mut self.idle, Side::Client, received_len, limit);
        ready!(idle.deadline.as_mut().poll(cx));
        let cause = Cause::Idle(limit.as_secs());
        Poll::Ready(Err(SessionError { side: Side::Client, phase: Phase::Command, cause }))
    }

    /// A peer that stops in the middle of a packet or frame is waited for only so long.
    pub(super) fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, SessionError>> {
        let Some((side, received_len)) = self.waits_inside_unit() else {
            self.stall = None;
            return Poll::Pending;
        };
        let limit = self.route.config.net_read_timeout;
        let stall = Stall::goes_on(&mut self.stall, side, received_len, limit);
        if stall.deadline.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let waits_for_memory = [&self.to_server, &self.to_client]
            .iter()
            .any(|half| half.unpacker.as_ref().is_some_and(Unpacker::waits_for_memory));
        let cause =
            if waits_for_memory { Cause::BufferMemoryExhausted } else { Cause::TimedOut(limit.as_secs()) };
        Poll::Ready(Err(SessionError { side, phase: Phase::Command, cause }))
    }

    /// The side whose packet or frame is incomplete, where that holds memory or hides the client from the
    /// server's own deadline; and how much it has sent.
    fn waits_inside_unit(&self) -> Option<(Side, u64)> {
        let waits_for_memory =
            |half: &HalfPipe| half.unpacker.as_ref().is_some_and(Unpacker::waits_for_memory);
        let (to_server, to_client) = (&self.to_server, &self.to_client);
        let frame_waits = |leg: &Leg| leg.as_pair().is_some_and(PairStream::is_inside_frame);
        if to_server.awaits_source && frame_waits(&self.client) {
            return Some((Side::Client, self.client.received_len));
        }
        if to_client.awaits_source && frame_waits(&self.server) {
            return Some((Side::Server, self.server.received_len));
        }
        let has_frames = to_server.unpacker.is_some() || to_server.packer.is_some();
        if has_frames
            && (waits_for_memory(to_server) || (to_server.awaits_source && to_server.is_inside_unit()))
        {
            return Some((Side::Client, self.client.received_len));
        }
        let holds_memory = to_client.unpacker.as_ref().is_some_and(Unpacker::holds_reservation);
        if waits_for_memory(to_client)
            || (holds_memory && to_client.awaits_source && to_client.is_inside_unit())
        {
            return Some((Side::Server, self.server.received_len));
        }
        None
    }
}
