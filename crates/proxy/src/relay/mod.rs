//! Both directions of an authenticated session, until one side ends it.
//!
//! ```text
//! client leg -> half-pipe to_server -> server leg
//! client leg <- half-pipe to_client <- server leg        both share one conversation
//! ```
//! Invariants: starts only from [`Authenticated`]; a fault ends the session at once, with an ERR packet where
//! the client stands between two packets.
//! Not here: one direction's steps (`half_pipe`), how long a silence may last (`timeouts`).

mod change_user;
mod half_pipe;
mod paced;
mod pacing;
mod packer;
mod query_text;
mod receipt;
mod timeouts;
mod unpacker;
mod watch;

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use half_pipe::{HalfPipe, Rest, framed};
pub(crate) use paced::Paced;
use pacing::Pacing;
use packer::Packer;
use query_text::QueryText;
use receipt::{Lens, Stands};
use timeouts::Stall;
use tokio::time::timeout;
use unpacker::Unpacker;
use watch::Watch;
use wire::conversation::Conversation;
use wire::response::ErrPacket;
use wire::session_status::SessionStatus;
use wire::{Capabilities, Direction, Side};

use crate::connect::{Attribute, Authenticated, FramedLeg};
use crate::leg::Leg;
use crate::meter::{Decision, Meter, Shown, State};
use crate::pair::PairStream;
use crate::route::Route;
use crate::worker::Worker;
use crate::{Cause, Phase, SessionError, Traffic};

/// A running session's two legs.
pub(crate) struct Relay<'a> {
    client: Leg,
    server: Leg,
    to_server: HalfPipe,
    to_client: HalfPipe,
    conversation: Conversation,
    route: &'a Route,
    worker: &'a Worker,
    meter: &'a Meter,
    shown: Shown,
    /// As the meter has them.
    decisions: [Option<Decision>; 2],
    agreed: Capabilities,
    nonce: Vec<u8>,
    attributes: Vec<Attribute>,
    /// Bytes that the legs had carried when the relay began: received and sent, client's and server's.
    login_lens: [u64; 4],
    requests: Requests,
    /// The server takes no more; it may have said why.
    server_lost: Option<SessionError>,
    stall: Option<Stall>,
    idle: Option<Stall>,
    /// Packet and frame id that are next for the client, while a change of user goes on or where it failed.
    exchange_ids: Option<(u8, u8)>,
    server_capabilities: Capabilities,
    /// What the tap follows, while it is on.
    watch: Option<Box<Watch>>,
    /// Who decides about frames.
    pacing: Pacing,
}

/// How a session ends in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// One of the peers closed.
    Closed,
    /// It holds nothing, and the proxy drains.
    Drained,
}

/// Those of the client, as the server sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requests {
    Pass,
    /// Their last bytes, and the word that there are no more, are not all with the socket yet.
    End,
    Ended,
}

enum Event {
    ServerEnded,
    ChangeUser,
    Drained,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(legs: Authenticated, route: &'a Route, worker: &'a Worker, meter: &'a Meter) -> Self {
        let status = SessionStatus::new(legs.client.algorithm, legs.asked_zstd_level);
        let Authenticated {
            mut client,
            mut server,
            agreed,
            server_capabilities,
            client_packet_len_max,
            nonce,
            attributes,
            server_choice,
            ..
        } = legs;
        let pacing = Pacing::new(&route.config, worker, [&client, &server], server_choice);
        for (leg, side) in [(&mut client.leg, Side::Client), (&mut server.leg, Side::Server)] {
            pacing.start_pair(side, leg, worker);
            leg.send_together(&worker.sends);
        }
        let login_lens = [&client.leg, &server.leg].map(|leg| [leg.received_len, leg.sent_len]);
        let [[client_received, client_sent], [server_received, server_sent]] = login_lens;
        let same = client.algorithm == server.algorithm;
        let unpacker =
            |side, leg: &FramedLeg| framed(leg.algorithm, |algorithm| Unpacker::new(side, algorithm, same));
        let packer = |side, leg: &FramedLeg, packet_len_max| {
            framed(leg.algorithm, |algorithm| {
                let paced = pacing.controller(side, &leg.leg, algorithm);
                Packer::new(side, algorithm, leg.level, packet_len_max, paced)
            })
        };
        let client_max = usize::try_from(client_packet_len_max).unwrap_or(usize::MAX);
        let mut to_server = HalfPipe::new(
            Direction::ToServer,
            unpacker(Side::Client, &client),
            packer(Side::Server, &server, UNKNOWN),
        );
        let mut to_client = HalfPipe::new(
            Direction::ToClient,
            unpacker(Side::Server, &server),
            packer(Side::Client, &client, client_max),
        );
        to_server.text = QueryText::new(route.config.query_text_len_max);
        to_server.feed(&client.received, worker);
        to_client.feed(&server.received, worker);
        let conversation = Conversation::new(agreed, client.algorithm.is_framed());
        Self {
            conversation: match route.config.intercept_session_status {
                true => conversation.telling(status),
                false => conversation,
            },
            client: client.leg,
            server: server.leg,
            to_server,
            to_client,
            route,
            worker,
            meter,
            shown: Shown::default(),
            decisions: [None; 2],
            agreed,
            nonce,
            attributes,
            login_lens: [client_received, client_sent, server_received, server_sent],
            requests: Requests::Pass,
            server_lost: None,
            stall: None,
            idle: None,
            exchange_ids: None,
            server_capabilities,
            watch: None,
            pacing,
        }
    }

    /// Relays until the server's end, the drain, or a fault.
    pub(crate) async fn run(&mut self) -> Result<End, SessionError> {
        loop {
            match poll_fn(|cx| self.poll_and_publish(cx)).await {
                Ok(Event::ServerEnded) => break,
                Ok(Event::ChangeUser) => self.change_user().await?,
                Ok(Event::Drained) => return Ok(End::Drained),
                // It closed before it had read our end of TLS, which its kernel answers with a reset.
                Err(error) if error.side == Side::Server && error.is_io() && self.client_is_done() => break,
                Err(error) => return Err(error),
            }
        }
        if self.client_is_done() {
            return Ok(End::Closed);
        }
        if let Some(error) = self.server_lost.take() {
            return Err(error);
        }
        if self.conversation.in_flight() > 0 {
            return Err(SessionError {
                side: Side::Server,
                phase: Phase::Command,
                cause: Cause::ClosedEarly,
            });
        }
        Ok(End::Closed)
    }

    /// Whether nobody waits for the server any more.
    fn client_is_done(&self) -> bool {
        self.conversation.client_quits() || self.to_server.source_ended()
    }

    /// Polls, and shows what came of it while the session waits.
    fn poll_and_publish(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, SessionError>> {
        let polled = self.poll_and_learn(cx);
        self.publish();
        self.watch();
        polled
    }

    fn poll_and_learn(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, SessionError>> {
        let polled = self.poll(cx);
        self.follow_pacing();
        polled
    }

    /// Tells the policy's memory what the session sees.
    fn follow_pacing(&mut self) {
        let Self { client: _, server, to_server, to_client, conversation, pacing, .. } = self;
        pacing.follow_exchange(conversation.oldest_number());
        let mut sample = to_client.sample.take();
        let stands = || Stands {
            lens: Lens {
                plain_len: to_client.traffic().plain_len,
                received_len: server.received_len,
                sent_len: server.sent_len,
                commands: conversation.commands_begun(),
            },
            is_open: conversation.reply_goes_on(),
            client_holds: to_client.is_held_back(),
            server_holds: to_server.is_held_back(),
        };
        pacing.follow_replies(stands, &mut sample);
        to_client.sample = sample;
    }

    /// Shows what came of a poll. What a small request carried shows with its reply: an exchange of two packets is
    /// published once.
    fn publish(&mut self) {
        let state = self.state();
        if state != State::AwaitsServer {
            self.publish_lens();
        }
        let conversation = &mut self.conversation;
        if let Some(database) = conversation.take_database() {
            self.meter.use_database(String::from_utf8_lossy(&database).into_owned());
        }
        if let Some(text) = &mut self.to_server.text {
            text.show(conversation, self.meter);
        }
        let command = conversation.oldest().map(|(byte, _)| byte);
        let numbers = [conversation.oldest_number().unwrap_or_default(), conversation.commands_begun()];
        self.meter.publish_command(&mut self.shown, command, numbers, state);
    }

    fn publish_lens(&mut self) {
        self.meter.publish(&self.traffic(), &[self.client.lens(), self.server.lens()]);
        let of_pair = |leg: &Leg| leg.as_pair().and_then(PairStream::decision);
        let decisions = [
            self.to_server.decision().or_else(|| of_pair(&self.server)),
            self.to_client.decision().or_else(|| of_pair(&self.client)),
        ];
        if decisions != self.decisions {
            self.decisions = decisions;
            self.meter.publish_decisions(decisions);
        }
    }

    /// What the oldest command waits for.
    fn state(&self) -> State {
        let Self { to_server, to_client, conversation, .. } = self;
        if conversation.in_flight() == 0 {
            State::Rests
        } else if to_client.is_held_back() {
            State::SendsToClient
        } else if to_server.is_held_back() {
            State::SendsToServer
        } else if conversation.reply_has_begun() && !conversation.is_clients_turn() {
            State::ReadsServer
        } else if conversation.is_clients_turn() || to_server.is_inside_unit() {
            State::ReadsClient
        } else {
            State::AwaitsServer
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, SessionError>> {
        loop {
            let Self { client, server, to_server, to_client, conversation, worker, .. } = self;
            if to_client.poll(cx, server, client, conversation, worker)?.is_ready() {
                return Poll::Ready(Ok(Event::ServerEnded));
            }
            let was_full = conversation.is_full();
            if self.requests == Requests::Pass {
                match to_server.poll(cx, client, server, conversation, worker) {
                    Poll::Ready(Err(error)) if error.side == Side::Server && error.is_io() => {
                        self.requests = Requests::Ended;
                        self.server_lost = Some(error);
                        continue;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(Rest::Ended)) => self.requests = Requests::End,
                    // The exchange writes nothing but its own packets: what came before it is the client's first.
                    Poll::Ready(Ok(Rest::ChangeUser))
                        if conversation.in_flight() == 0 && to_client.awaits_source =>
                    {
                        return Poll::Ready(Ok(Event::ChangeUser));
                    }
                    Poll::Ready(Ok(Rest::ChangeUser)) | Poll::Pending => {}
                }
            }
            if self.requests == Requests::End && self.has_quit() {
                return Poll::Ready(Ok(Event::ServerEnded));
            }
            if self.requests == Requests::End
                && let Poll::Ready(shut) = self.server.poll_shutdown(cx)
            {
                self.requests = Requests::Ended;
                // It may have gone already, which the other direction will tell.
                if let Err(error) = shut {
                    tracing::debug!(%error, "the server's socket could not be shut");
                }
            }
            if was_full && !self.conversation.is_full() {
                continue; // Replies came since the client was last held back.
            }
            if self.worker.shared.ending.is_draining() && self.may_end() {
                return Poll::Ready(Ok(Event::Drained));
            }
            if let Poll::Ready(ended) = self.poll_stall(cx) {
                return Poll::Ready(ended);
            }
            return self.poll_idle(cx);
        }
    }

    /// Whether the client has quit and closed and has all replies, and the server's socket has its COM_QUIT: the server closes at
    /// that, and has nothing to say. What TLS or a pair still tells it is waited for.
    fn has_quit(&self) -> bool {
        self.conversation.client_quits()
            && self.conversation.in_flight() == 0
            && self.server.is_plain()
            && self.server.submit()
            && self.client_has_all()
    }

    /// Whether all that the server has said is with the client's socket.
    fn client_has_all(&self) -> bool {
        self.to_client.awaits_source && self.client.submit()
    }

    /// Whether nothing would be lost if the session ended now, and both legs have all that was sent.
    fn may_end(&self) -> bool {
        let rests = |half: &HalfPipe| half.awaits_source && !half.is_inside_unit();
        self.conversation.may_end()
            && rests(&self.to_server)
            && rests(&self.to_client)
            && self.client.submit()
            && self.server.submit()
    }

    /// Sends an error to the client, if it stands between two packets and reads.
    pub(crate) async fn tell_client(&mut self, error: &ErrPacket) -> Result<(), SessionError> {
        if self.to_client.destination_is_inside_unit() {
            return Ok(());
        }
        let telling = async {
            // What it was promised comes first: ids were given to it.
            poll_fn(|cx| {
                let Self { client, to_client, conversation, worker, .. } = self;
                to_client.poll_finish(cx, client, conversation, worker)
            })
            .await?;
            let ids = self.exchange_ids.or_else(|| self.to_client.unsent_ids());
            let ids = ids.unwrap_or_else(|| self.conversation.error_ids());
            self.to_client.append_own(ids, &error.build(), self.worker)?;
            self.deliver(Direction::ToClient).await
        };
        // One that doesn't read holds up neither the session's end nor the proxy's.
        timeout(TELL_TIMEOUT, telling).await.unwrap_or(Ok(()))
    }

    /// Ends the server's leg at once, and the client's so that it sees the last bytes.
    pub(crate) async fn close(self) {
        let (traffic, server_lens) = (self.traffic(), self.server.lens());
        drop(self.server);
        // A client that has said its last word has nothing left that could turn our close into a reset.
        let client_lens = match self.to_server.source_ended() {
            true => self.client.lens(),
            false => self.client.linger().await,
        };
        self.meter.publish(&traffic, &[client_lens, server_lens]);
    }

    /// What was carried since the login: to the server, to the client.
    pub(crate) fn traffic(&self) -> [Traffic; 2] {
        let [client_received, client_sent, server_received, server_sent] = self.login_lens;
        let mut to_server = self.to_server.traffic();
        to_server.client_leg_len = self.client.received_len - client_received;
        to_server.server_leg_len = self.server.sent_len - server_sent;
        let mut to_client = self.to_client.traffic();
        to_client.client_leg_len = self.client.sent_len - client_sent;
        to_client.server_leg_len = self.server.received_len - server_received;
        for (source, destination, traffic) in
            [(&self.client, &self.server, &mut to_server), (&self.server, &self.client, &mut to_client)]
        {
            if let Some(stream) = destination.as_pair() {
                let sent = stream.sent();
                traffic.frames_packed += sent.packed;
                traffic.frames_stored += sent.stored;
                traffic.pack_ns += sent.codec_ns;
            }
            if let Some(stream) = source.as_pair() {
                let received = stream.received();
                traffic.source_frames_packed += received.packed;
                traffic.source_frames_stored += received.stored;
                traffic.unpack_ns += received.codec_ns;
            }
        }
        [to_server, to_client]
    }

    async fn deliver(&mut self, direction: Direction) -> Result<(), SessionError> {
        let Self { client, server, to_server, to_client, worker, .. } = self;
        let (half, destination) = match direction {
            Direction::ToServer => (to_server, server),
            Direction::ToClient => (to_client, client),
        };
        poll_fn(|cx| half.poll_deliver(cx, destination, worker)).await
    }
}

/// A client that reads has room for an error at once.
const TELL_TIMEOUT: Duration = Duration::from_secs(1);
/// The server's `max_allowed_packet` is not told at login.
const UNKNOWN: usize = 0;
