//! COM_CHANGE_USER: its authentication may have to be translated, and its attributes replaced.
//!
//! Both legs are read packet by packet, as at login, but framed if they are compressed: the exchange belongs to
//! the command phase. Each leg's ids go on from what its peer sent.
//!
//! Invariants: runs only when no reply is due; every buffer that held a password is wiped; no packet is longer than one
//! of a login, and the client has no longer for one.
//! Not here: the command's bytes (`wire::connect::change_user`), the exchange (`connect::exchange`).

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use tokio::time::timeout;
use wire::connect::auth::{Begin, Exchange};
use wire::connect::change_user;
use wire::{Direction, Fault, Side};
use zeroize::Zeroizing;

use super::Relay;
use super::half_pipe::HalfPipe;
use crate::connect::exchange::{self, Packets};
use crate::leg::Leg;
use crate::worker::Worker;
use crate::{Cause, Phase, SessionError};

/// A relay whose legs are read packet by packet.
struct Turns<'r, 'w> {
    relay: &'r mut Relay<'w>,
    /// Next packet and frame id of the server's leg; the relay has the client's.
    server_ids: (u8, u8),
}

impl Relay<'_> {
    /// Carries the command and its exchange to the server's OK or ERR.
    pub(super) async fn change_user(&mut self) -> Result<(), SessionError> {
        if let Some(text) = &mut self.to_server.text {
            text.forget();
        }
        Turns { relay: self, server_ids: (0, 0) }.carry().await?;
        self.exchange_ids = None;
        Ok(())
    }
}

impl Turns<'_, '_> {
    async fn carry(&mut self) -> Result<(), SessionError> {
        let own_key = std::sync::Arc::clone(&self.relay.worker.shared.own_key);
        let (client_security, server_security) = (self.relay.client.security(), self.relay.server.security());
        let (nonce, agreed) = (self.relay.nonce.clone(), self.relay.agreed);
        let command = self.read(Side::Client).await?;
        let plugin = change_user::auth_plugin(&command, agreed).unwrap_or_default().to_vec();
        let mut exchange = Exchange::new(client_security, server_security, plugin, nonce);
        let malformed =
            |fault: Fault| SessionError { side: Side::Client, phase: Phase::Command, cause: fault.into() };
        let asks_for_switch = exchange.begin().map_err(malformed)? == Begin::AskForSwitch;
        let attributes: Vec<_> =
            self.relay.attributes.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let for_server = change_user::for_server_leg(&command, agreed, asks_for_switch, &attributes);
        let for_server = Zeroizing::new(for_server.map_err(malformed)?);
        self.write(Side::Server, &for_server).await?;
        // After a refusal the server closes, or lets the session go on as it was: it says which.
        if exchange::run(&mut exchange, self, &own_key).await?.is_none() {
            self.relay.conversation.user_changed();
            let (user, database) = change_user::user_and_database(&command).unwrap_or_default();
            self.relay.meter.change_user(user, database);
        }
        Ok(())
    }
}

impl Packets for Turns<'_, '_> {
    async fn read(&mut self, side: Side) -> Result<Zeroizing<Vec<u8>>, SessionError> {
        let limit = self.relay.route.config.net_read_timeout;
        let read = timeout(limit, poll_fn(|cx| self.poll_packet(cx, side))).await;
        read.unwrap_or_else(|_| {
            Err(SessionError { side, phase: Phase::Command, cause: Cause::TimedOut(limit.as_secs()) })
        })
    }

    /// As at login the client's turn is limited: behind a server that has said its part nothing else would end it.
    async fn read_either(&mut self) -> Result<(Side, Zeroizing<Vec<u8>>), SessionError> {
        let limit = self.relay.route.config.login_timeout;
        let read = poll_fn(|cx| {
            for side in [Side::Server, Side::Client] {
                if let Poll::Ready(payload) = self.poll_packet(cx, side) {
                    return Poll::Ready(payload.map(|payload| (side, payload)));
                }
            }
            Poll::Pending
        });
        let in_time = timeout(limit, read).await;
        in_time.unwrap_or_else(|_| {
            let cause = Cause::TimedOut(limit.as_secs());
            Err(SessionError { side: Side::Client, phase: Phase::Command, cause })
        })
    }

    async fn write(&mut self, side: Side, payload: &[u8]) -> Result<(), SessionError> {
        let relay = &mut *self.relay;
        let (ids, half, direction) = match side {
            Side::Client => {
                (relay.exchange_ids.get_or_insert_default(), &mut relay.to_client, Direction::ToClient)
            }
            Side::Server => (&mut self.server_ids, &mut relay.to_server, Direction::ToServer),
        };
        half.append_own(*ids, payload, relay.worker)?;
        *ids = (ids.0.wrapping_add(1), ids.1.wrapping_add(1));
        self.relay.deliver(direction).await
    }
}

impl Turns<'_, '_> {
    fn poll_packet(
        &mut self,
        cx: &mut Context<'_>,
        side: Side,
    ) -> Poll<Result<Zeroizing<Vec<u8>>, SessionError>> {
        let Relay { client, server, to_server, to_client, exchange_ids, worker, .. } = &mut *self.relay;
        let (half, source) = match side {
            Side::Client => (to_server, client),
            Side::Server => (to_client, server),
        };
        let (payload, next) = ready!(poll_next(cx, half, source, worker))?;
        match side {
            Side::Client => *exchange_ids = Some(next),
            Side::Server => self.server_ids = next,
        }
        Poll::Ready(Ok(payload))
    }
}

/// A payload, and the packet and frame id that follow it on its leg.
type NextPacket = (Zeroizing<Vec<u8>>, (u8, u8));

/// The next whole packet of a half-pipe's source.
fn poll_next(
    cx: &mut Context<'_>,
    half: &mut HalfPipe,
    source: &mut Leg,
    worker: &Worker,
) -> Poll<Result<NextPacket, SessionError>> {
    loop {
        if let Some((header, payload)) = half.take_packet()? {
            let next = match &half.unpacker {
                // On a framed leg both counters follow the frame's.
                Some(unpacker) => unpacker.last_id.wrapping_add(1),
                None => header.sequence_id.wrapping_add(1),
            };
            return Poll::Ready(Ok((payload, (next, next))));
        }
        ready!(half.poll_fill(cx, source, worker))?;
    }
}
