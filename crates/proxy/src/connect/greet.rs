//! The beginning of a session: whose connection it is, the dial, and the server's greeting.
//!
//! ```text
//! client                          wirepress                          server
//!  [PROXY header, if trusted] ->  dial                       ->
//!                                 [PROXY header, if asked]   ->
//!                                                            <-  greeting, or a refusal
//! ```
//! Of several servers the next one is asked where one does not greet: the client has seen nothing yet.
//!
//! Invariants: nothing is dialled before a due header came; what is sent to a server goes before any wait for it.
//! Not here: headers' bytes (`wire::proxy_protocol`), what follows the greeting (`super`).

use std::rc::Rc;

use wire::connect::greeting::{self, FirstPacket, Greeting};
use wire::response::ErrPacket;
use wire::{Fault, Side, proxy_protocol};
use zeroize::Zeroizing;

use super::{Channel, Handshake, at, farewell, limited, on};
use crate::leg::Leg;
use crate::lookups::Lookups;
use crate::route::Route;
use crate::worker::Worker;
use crate::{Address, Cause, Phase, SendProxy, SessionError, pair, tls};

impl Handshake {
    async fn read_proxy_header(&mut self) -> Result<(), SessionError> {
        self.phase = Phase::ProxyHeader;
        let header = limited(self.login_timeout, self.client.read_proxy_header()).await;
        let header = header.map_err(on(Side::Client, Phase::ProxyHeader))?;
        self.client_address = self.client_address.told_by(&header);
        self.has_proxy_header = true;
        // Who only looks whether somebody listens closes right behind its header.
        if self.client.has_closed().await {
            return Err(on(Side::Client, Phase::ProxyHeader)(Cause::ClosedEarly));
        }
        if self.client.has_proxy_header() {
            return Err(at(Side::Client, Phase::ProxyHeader)(Fault::ProxyHeader("another one follows it")));
        }
        self.phase = Phase::Dial;
        Ok(())
    }

    /// The greeting of the first server that has one, parsed and as it came, behind the PROXY headers that are due on
    /// either leg. The last one's refusal is passed on.
    pub(super) async fn greet(
        &mut self,
        route: &Route,
        worker: &Worker,
    ) -> Result<(Greeting, Zeroizing<Vec<u8>>), SessionError> {
        let (config, shared) = (&route.config, &worker.shared);
        let peer = self.client_address.source().map(|source| source.ip());
        if !config.is_pair && config.proxy_protocol_from.iter().any(|network| network.contains(peer)) {
            self.read_proxy_header().await?;
        }
        let client_ip = self.client_address.source().map(|source| source.ip());
        let permit = shared.admission.admit_address(client_ip).map_err(|_| Cause::TooManyConnections);
        self.address_permit = permit.map_err(on(Side::Client, Phase::Dial))?;

        let mut candidates = route.servers.candidates().into_iter().peekable();
        while let Some(server) = candidates.next() {
            let chosen = self.chosen.insert(server.choose());
            // Not given up when the client leaves: the server may have accepted, and would count a handshake that is
            // not ended.
            let header = self.client_address.header();
            let pairs = Some(&worker.pairs);
            let opened =
                open(&mut self.server, route, chosen.address(), &header, &shared.lookups, pairs).await;
            self.phase = if self.server.is_some() { Phase::Greeting } else { Phase::Dial };
            let is_last = candidates.peek().is_none();
            match opened {
                Ok((FirstPacket::Greeting(greeting), payload)) => {
                    if config.send_proxy.is_some()
                        && server.address.pair().is_none()
                        && !greeting.is_mariadb()
                    {
                        self.may_lack_proxy_protocol =
                            Some(String::from_utf8_lossy(&greeting.server_version).into_owned());
                    }
                    return Ok((greeting, payload));
                }
                Ok((FirstPacket::Refusal(error), payload)) => {
                    self.server = None; // Nothing to end: the server has closed.
                    if is_last {
                        self.client.write(&payload).await.map_err(on(Side::Client, Phase::Greeting))?;
                        return Err(on(Side::Server, Phase::Greeting)(Cause::Refused(error)));
                    }
                    tracing::warn!(server = %server.address, "{error}; the next server is asked");
                }
                Err(error) => {
                    route.servers.failed(&server, &error.cause);
                    if is_last {
                        return Err(error);
                    }
                    tracing::warn!(server = %server.address, "{error}; the next server is asked");
                    if let Some(unfinished) = self.server.take() {
                        tokio::task::spawn_local(farewell::leave(unfinished));
                    }
                }
            }
        }
        Err(on(Side::Server, Phase::Dial)(Cause::AllServersDown(route.servers.reasons())))
    }

    /// Whether the server has said something between its greeting and the login, by now.
    pub(super) async fn proxy_header_is_refused(&mut self) -> bool {
        match &mut self.server {
            Some(server) => server.has_spoken().await,
            None => false,
        }
    }

    /// An outcome of the server leg behind the greeting, whose version does not tell: before MySQL, which takes a PROXY
    /// header for a login, there may be another proxy, which knows it. Percona Server knows it too.
    pub(super) fn judge<T>(&mut self, outcome: Result<T, Cause>) -> Result<T, Cause> {
        match (outcome, &self.may_lack_proxy_protocol) {
            (Err(Cause::ClosedEarly | Cause::Io(_)), Some(version)) => {
                Err(Cause::ProxyProtocolUnknown(version.clone()))
            }
            (Err(Cause::Tls(error)), Some(version)) if tls::is_no_tls(&error) => {
                Err(Cause::ProxyProtocolUnknown(version.clone()))
            }
            (outcome, _) => outcome,
        }
    }

    /// The same for the server's first packet behind the greeting, after which all is clear.
    pub(super) fn judge_packet(
        &mut self,
        read: Result<Zeroizing<Vec<u8>>, Cause>,
    ) -> Result<Zeroizing<Vec<u8>>, Cause> {
        let read = self.judge(read);
        let version = self.may_lack_proxy_protocol.take();
        match (read, version) {
            (Ok(payload), Some(version))
                if ErrPacket::parse(&payload).is_ok_and(|error| is_no_login(error.code)) =>
            {
                Err(Cause::ProxyProtocolUnknown(version))
            }
            (read, _) => read,
        }
    }
}

/// Dials a server into `slot`, tells it by `header` whose connection it is, if it shall know, and reads its first packet.
/// A pair takes a warm stream of `pairs`, if there is one.
pub(crate) async fn open(
    slot: &mut Option<Channel>,
    route: &Route,
    address: &Address,
    header: &proxy_protocol::Header,
    lookups: &Lookups,
    pairs: Option<&Rc<pair::Pool>>,
) -> Result<(FirstPacket, Zeroizing<Vec<u8>>), SessionError> {
    if let (Some(peer), Some(pair)) = (address.pair(), &route.pair) {
        return pair::open(slot, pair, peer, header, lookups, pairs).await;
    }
    let config = &route.config;
    let (limit, user_timeout) = (config.connect_timeout, config.tcp_user_timeout);
    let dialled = Leg::dial(address, limit, user_timeout, lookups).await;
    let leg = dialled.map_err(|error| on(Side::Server, Phase::Dial)(error.into()))?;
    let server = slot.insert(Channel::new(leg, greeting::foreign_protocol));
    if let Some(version) = config.send_proxy {
        // At once: a server that expects it may wait for it before it greets.
        let header = match version {
            SendProxy::V1 => proxy_protocol::build_v1(header),
            SendProxy::V2 => proxy_protocol::build_v2(header, proxy_protocol::Options { crc32c: true }),
        };
        server.write_proxy_header(&header).await.map_err(on(Side::Server, Phase::Greeting))?;
    }
    let read = limited(config.login_timeout, server.read()).await;
    let payload = read.map_err(on(Side::Server, Phase::Greeting))?;
    let first = FirstPacket::parse(&payload).map_err(at(Side::Server, Phase::Greeting))?;
    Ok((first, payload))
}

/// Whether an error of this code says that the server could not read a login.
pub(crate) fn is_no_login(code: u16) -> bool {
    NO_LOGIN.contains(&code)
}

/// ER_HANDSHAKE_ERROR, ER_NET_PACKETS_OUT_OF_ORDER: measured on MySQL 9.7 for both versions of the header.
const NO_LOGIN: [u16; 2] = [1043, 1156];
