//! The beginning of a session: whose connection it is, the dial, and the server's greeting.
//!
//! ```text
//! client                          wirepress                          server
//!  [PROXY header, if trusted] ->  dial                       ->
//!                                 [PROXY header, if asked]   ->
//!                                                            <-  greeting, or a refusal
//! ```
//! Invariants: nothing is dialled before a due header came; what is sent to a server goes before any wait for it.
//! Not here: headers' bytes (`wire::proxy_protocol`), what follows the greeting (`super`).

use wire::connect::greeting::{self, FirstPacket, Greeting};
use wire::response::ErrPacket;
use wire::{Fault, Side, proxy_protocol};
use zeroize::Zeroizing;

use super::{Channel, Handshake, at, limited, on};
use crate::leg::Leg;
use crate::worker::Shared;
use crate::{Cause, ListenerConfig, Phase, SendProxy, SessionError, tls};

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

    /// The server's greeting, parsed and as it came, behind the PROXY headers that are due on either leg. A refusal is
    /// passed on.
    pub(super) async fn greet(
        &mut self,
        config: &ListenerConfig,
        shared: &Shared,
    ) -> Result<(Greeting, Zeroizing<Vec<u8>>), SessionError> {
        let peer = self.client_address.source().map(|source| source.ip());
        if config.proxy_protocol_from.iter().any(|network| network.contains(peer)) {
            self.read_proxy_header().await?;
        }
        let client_ip = self.client_address.source().map(|source| source.ip());
        let permit = shared.admission.admit_address(client_ip).map_err(|_| Cause::TooManyConnections);
        self.address_permit = permit.map_err(on(Side::Client, Phase::Dial))?;
        // Not given up when the client leaves: the server may have accepted, and would count a handshake that is not
        // ended.
        let (limit, user_timeout) = (config.dial_timeout, config.tcp_user_timeout);
        let dialled = Leg::dial(&config.server, limit, user_timeout, &shared.lookups).await;
        let leg = dialled.map_err(|error| on(Side::Server, Phase::Dial)(error.into()))?;
        self.phase = Phase::Greeting;
        let server = self.server.insert(Channel::new(leg, greeting::foreign_protocol));
        if let Some(version) = config.send_proxy {
            // At once: a server that expects it may wait for it before it greets.
            let header = self.client_address.header();
            let header = match version {
                SendProxy::V1 => proxy_protocol::build_v1(&header),
                SendProxy::V2 => proxy_protocol::build_v2(&header, proxy_protocol::Options { crc32c: true }),
            };
            server.write_proxy_header(&header).await.map_err(on(Side::Server, Phase::Greeting))?;
        }
        let payload =
            limited(self.login_timeout, server.read()).await.map_err(on(Side::Server, Phase::Greeting))?;
        match FirstPacket::parse(&payload).map_err(at(Side::Server, Phase::Greeting))? {
            FirstPacket::Greeting(greeting) => {
                if config.send_proxy.is_some() && !greeting.is_mariadb() {
                    self.may_lack_proxy_protocol =
                        Some(String::from_utf8_lossy(&greeting.server_version).into_owned());
                }
                Ok((greeting, payload))
            }
            FirstPacket::Refusal(error) => {
                self.server = None; // Nothing to end: the server has closed.
                self.client.write(&payload).await.map_err(on(Side::Client, Phase::Greeting))?;
                Err(on(Side::Server, Phase::Greeting)(Cause::Refused(error)))
            }
        }
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
            (Ok(payload), Some(version)) if is_no_login(&payload) => {
                Err(Cause::ProxyProtocolUnknown(version))
            }
            (read, _) => read,
        }
    }
}

/// Whether a server's packet says that it could not read a login.
fn is_no_login(payload: &[u8]) -> bool {
    ErrPacket::parse(payload).is_ok_and(|error| NO_LOGIN.contains(&error.code))
}

/// ER_HANDSHAKE_ERROR, ER_NET_PACKETS_OUT_OF_ORDER: measured on MySQL 9.7 for both versions of the header.
const NO_LOGIN: [u16; 2] = [1043, 1156];
