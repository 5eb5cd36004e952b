//! The connection phase between two legs: greeting and login rewritten, authentication relayed.
//!
//! ```text
//! client                       wirepress                          server
//!        <- greeting, our compression and TLS bits   <-  greeting
//!  [SSLRequest, TLS]
//!  login -> client leg's algorithm; server leg's bits     -> [SSLRequest, TLS] login
//!        <- authentication, translated if need be        <->
//!        <- OK                                       <-  OK          only now may a relay start
//! ```
//! Invariants: a handshake begun with the server is always ended, so that the server never counts the proxy's
//! address towards `max_connect_errors`; no credential outlives its step.
//! Not here: what goes before the greeting (`greet`), rules of negotiation (`wire::connect::negotiate`), the
//! commands (`relay`).

mod channel;
pub(crate) mod exchange;
mod farewell;
mod greet;
pub(crate) mod rsa;
mod server_leg;

use std::sync::Arc;
use std::time::Duration;

use codec::{Algorithm, ZstdLevel};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use wire::connect::auth::{self, Begin, Exchange, Security};
use wire::connect::greeting::{self, Greeting};
use wire::connect::login::{self, ClientHello, Login, ServerLeg};
use wire::connect::negotiate;
use wire::response::ErrPacket;
use wire::{Capabilities, Side};
use zeroize::Zeroizing;

pub(crate) use channel::Channel;
use exchange::Packets;
pub(crate) use farewell::{WRONG_ANSWER, end_exchange, end_handshake, leave, wrong_answer};
pub(crate) use greet::{is_no_login, open};
pub(crate) use server_leg::{HeldTrial, ServerLegChoice};

use crate::admission::AddressPermit;
use crate::client_address::ClientAddress;
use crate::leg::Leg;
use crate::route::Route;
use crate::servers::Chosen;
use crate::worker::Worker;
use crate::{Cause, ListenerConfig, Phase, SessionError};

/// Two legs behind a successful login: the only thing that a relay starts from.
pub(crate) struct Authenticated {
    pub(crate) client: FramedLeg,
    pub(crate) server: FramedLeg,
    /// Why the server leg is compressed as it is.
    pub(crate) server_choice: ServerLegChoice,
    /// What the legs agreed on, compression and TLS aside.
    pub(crate) agreed: Capabilities,
    /// What the server's greeting offers.
    pub(crate) server_capabilities: Capabilities,
    /// The client's own limit, bytes; 0 means unknown.
    pub(crate) client_packet_len_max: u32,
    /// The greeting's nonce: COM_CHANGE_USER may build on it.
    pub(crate) nonce: Vec<u8>,
    pub(crate) user: String,
    pub(crate) database: Option<String>,
    /// The zstd level that the client asked for, which may be capped; 0 without zstd.
    pub(crate) asked_zstd_level: u8,
    pub(crate) thread_id: u32,
    /// Connection attributes of ours, which COM_CHANGE_USER repeats.
    pub(crate) attributes: Vec<Attribute>,
}

/// Name and value of a connection attribute.
pub(crate) type Attribute = (&'static str, String);

/// A leg, how it is compressed, and what it has sent already.
pub(crate) struct FramedLeg {
    pub(crate) leg: Leg,
    pub(crate) algorithm: Algorithm,
    /// What we pack with towards this leg: zstd's or libdeflate's counting.
    pub(crate) level: u8,
    pub(crate) received: Vec<u8>,
}

/// Both channels during the connection phase.
pub(crate) struct Handshake {
    pub(crate) client: Channel,
    pub(crate) server: Option<Channel>,
    /// Whose place on which server it takes.
    pub(crate) chosen: Option<Chosen>,
    /// Whose connection it is.
    pub(crate) client_address: ClientAddress,
    /// How far it came.
    pub(crate) phase: Phase,
    /// A trusted peer has sent its PROXY header.
    has_proxy_header: bool,
    /// Version of a server that may have taken our PROXY header for a login; its next packet tells.
    may_lack_proxy_protocol: Option<String>,
    /// What ends an exchange that the client leaves.
    wrong_answer: &'static [u8],
    login_timeout: Duration,
    /// Its place among the connections of its address.
    pub(crate) address_permit: Option<AddressPermit>,
}

impl Handshake {
    pub(crate) fn new(client: Leg, client_address: ClientAddress, config: &ListenerConfig) -> Self {
        let client = Channel::new(client, login::foreign_protocol);
        let login_timeout = config.login_timeout;
        Self {
            client,
            server: None,
            chosen: None,
            client_address,
            phase: Phase::Dial,
            has_proxy_header: false,
            may_lack_proxy_protocol: None,
            wrong_answer: WRONG_ANSWER,
            login_timeout,
            address_permit: None,
        }
    }

    /// Whether the client that ended with `error` only looked whether somebody listens, as health checks do: it said
    /// nothing but a PROXY header.
    pub(crate) fn is_a_look(&self, error: &SessionError) -> bool {
        let left = error.side == Side::Client && matches!(error.cause, Cause::ClosedEarly | Cause::Io(_));
        let is_due = self.has_proxy_header || error.phase == Phase::ProxyHeader;
        left && is_due && self.client.is_silent()
    }

    /// Everything from the dial to the server's OK.
    pub(crate) async fn run(&mut self, route: &Route, worker: &Worker) -> Result<Agreement, SessionError> {
        let config = &route.config;
        let (greeting, payload) = self.greet(route, worker).await?;
        let tls = route.tls();
        let offered = negotiate::offered(greeting.capabilities, route.permitted(), tls.is_some());
        let mut rewritten = payload.to_vec();
        greeting::replace_capabilities(&mut rewritten, offered).map_err(at(Side::Server, Phase::Greeting))?;
        self.client.write(&rewritten).await.map_err(on(Side::Client, Phase::Greeting))?;

        self.phase = Phase::Login;
        let login_payload = self.login(tls, route.requires_tls()).await?;
        let login = Login::parse(&login_payload).map_err(at(Side::Client, Phase::Login))?;
        let client_leg = negotiate::client_leg(&login, route.permitted())
            .map_err(|error| on(Side::Client, Phase::Login)(Cause::CompressionRefused(error)))?;
        let server_choice = self.choose_server_leg(&greeting, &login.user, config, worker)?;
        let (server_algorithm, server_zstd_level) = server_choice.chosen.packing;

        let server_tls = self.server_tls(route, &greeting).map_err(on(Side::Server, Phase::Login))?;
        let plugin = auth::first_plugin(&login, &greeting).to_vec();
        let client_security = self.client.leg.security();
        let server_security = match &server_tls {
            Some(_) => Security::Tls,
            None => self.server.as_ref().map_or(Security::Plain, |server| server.leg.security()),
        };
        let mut exchange = Exchange::new(client_security, server_security, plugin, greeting.nonce.clone());
        let begin = exchange.begin().map_err(at(Side::Client, Phase::Login))?;

        let level = (server_algorithm == Algorithm::Zstd).then_some(server_zstd_level);
        let attributes = self.attributes(greeting.capabilities, login.capabilities);
        let attribute_bytes: Vec<_> =
            attributes.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let for_server = ServerLeg {
            capabilities: negotiate::requested(login.capabilities, server_algorithm, server_tls.is_some()),
            zstd_level: level,
            asks_for_switch: begin == Begin::AskForSwitch,
            attributes: &attribute_bytes,
        };
        let is_refused = config.send_proxy.is_some() && self.proxy_header_is_refused().await;
        if let Some(tls) = server_tls
            && !is_refused
        {
            let ssl_request = login::ssl_request(&login_payload, for_server.bits());
            self.start_server_tls(&ssl_request, tls).await?;
        }
        let for_server = Login::for_server_leg(&login_payload, &for_server);
        let for_server = Zeroizing::new(for_server.map_err(at(Side::Client, Phase::Login))?);
        self.phase = Phase::Authentication;
        match self.write(Side::Server, &for_server).await {
            // It may have said why before it closed.
            Err(error) if error.is_io() => {}
            written => written?,
        }

        if let Some(error) = exchange::run(&mut exchange, self, &worker.shared.own_key).await? {
            return Err(on(Side::Server, Phase::Authentication)(Cause::Refused(error)));
        }
        Ok(Agreement {
            client_algorithm: client_leg.algorithm,
            client_level: client_level(client_leg.zstd_level, config),
            user: text(&login.user),
            database: login.database.as_deref().map(text),
            asked_zstd_level: client_leg.zstd_level.map_or(0, ZstdLevel::get),
            server_choice,
            server_level: match level {
                Some(zstd) => zstd,
                None => config.zlib_level.get(),
            },
            agreed: login.capabilities & greeting.capabilities,
            server_capabilities: greeting.capabilities,
            client_packet_len_max: login.max_packet_len,
            nonce: greeting.nonce,
            thread_id: greeting.thread_id,
            attributes,
        })
    }

    /// Whether the server leg is a pair's stream.
    fn is_paired(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.leg.as_pair().is_some())
    }

    /// Connection attributes of ours, if both sides' packets can hold them.
    fn attributes(&self, server: Capabilities, client: Capabilities) -> Vec<Attribute> {
        // A client that knows neither plugins nor attributes may leave out what they stand behind in COM_CHANGE_USER.
        if self.is_paired() {
            return Vec::new(); // The other half says them to the server.
        }
        let knows = Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS;
        if server.contains(Capabilities::CONNECT_ATTRS) && client & knows != Capabilities::NONE {
            self.client_address.attributes()
        } else {
            Vec::new()
        }
    }

    /// The client's login, behind TLS if it asks for it.
    async fn login(
        &mut self,
        tls: Option<Arc<ServerConfig>>,
        requires_tls: bool,
    ) -> Result<Zeroizing<Vec<u8>>, SessionError> {
        let failed = on(Side::Client, Phase::Login);
        let malformed = at(Side::Client, Phase::Login);
        let first = limited(self.login_timeout, self.client.read()).await.map_err(&failed)?;
        let payload = match (ClientHello::parse(&first).map_err(&malformed)?, tls) {
            (ClientHello::Login(_), _) => first,
            (ClientHello::SslRequest(_), None) => return Err(failed(Cause::TlsNotOffered)),
            (ClientHello::SslRequest(_), Some(tls)) => {
                limited(self.login_timeout, self.client.accept_tls(tls)).await.map_err(&failed)?;
                let mut login = limited(self.login_timeout, self.client.read()).await.map_err(&failed)?;
                login::apply_ssl_request(&first, &mut login);
                login
            }
        };
        if requires_tls && self.client.leg.security() == Security::Plain {
            return Err(failed(Cause::TlsRequired));
        }
        Ok(payload)
    }

    /// The server leg's TLS, if it is to be used, and the name that the certificate must have.
    fn server_tls(
        &self,
        route: &Route,
        greeting: &Greeting,
    ) -> Result<Option<(Arc<ClientConfig>, ServerName<'static>)>, Cause> {
        let Some(chosen) = &self.chosen else { return Err(Cause::ClosedEarly) };
        let Some(tls) = route.server_tls(chosen.address(), greeting.capabilities)? else { return Ok(None) };
        Ok(Some((tls, route.server_name(chosen.address())?)))
    }

    async fn start_server_tls(
        &mut self,
        ssl_request: &[u8],
        (tls, name): (Arc<ClientConfig>, ServerName<'static>),
    ) -> Result<(), SessionError> {
        let failed = on(Side::Server, Phase::Login);
        let server = self.server.as_mut().ok_or_else(|| failed(Cause::ClosedEarly))?;
        let started = limited(self.login_timeout, async {
            server.write(ssl_request).await?;
            server.connect_tls(tls, name).await
        });
        let started = started.await;
        self.judge(started).map_err(failed)
    }

    /// The legs, ready for a relay.
    pub(crate) fn into_authenticated(self, agreement: Agreement) -> Option<Authenticated> {
        let framed = |channel: Channel, algorithm, level| {
            let (leg, received) = channel.into_parts();
            FramedLeg { leg, algorithm, level, received }
        };
        Some(Authenticated {
            client: framed(self.client, agreement.client_algorithm, agreement.client_level),
            server: framed(self.server?, agreement.server_choice.chosen.packing.0, agreement.server_level),
            server_choice: agreement.server_choice,
            agreed: agreement.agreed,
            server_capabilities: agreement.server_capabilities,
            client_packet_len_max: agreement.client_packet_len_max,
            nonce: agreement.nonce,
            user: agreement.user,
            database: agreement.database,
            asked_zstd_level: agreement.asked_zstd_level,
            thread_id: agreement.thread_id,
            attributes: agreement.attributes,
        })
    }

    /// Tells the client why, ends the handshake with the server, and closes.
    pub(crate) async fn refuse(mut self, told: Option<ErrPacket>, failed_side: Side) {
        if let Some(mut told) = told {
            if self.phase <= Phase::Greeting {
                // The form before a greeting: the client's capabilities are unknown.
                told.sqlstate = None;
            }
            // The client may be gone; there is nobody else to tell.
            drop(self.client.write(&told.build()).await);
        }
        let farewell = async {
            match self.server {
                // It has closed, or said its last word.
                Some(_) if self.phase == Phase::Authentication && failed_side == Side::Server => {}
                Some(server) if self.phase == Phase::Authentication => {
                    // Nobody can help it.
                    if let Err(cause) = end_exchange(server, self.wrong_answer).await {
                        tracing::debug!(%cause, "the handshake with the server could not be ended");
                    }
                }
                Some(server) => leave(server).await,
                None => {}
            }
        };
        tokio::join!(farewell, self.client.leg.linger());
    }
}

/// What the connection phase found out.
pub(crate) struct Agreement {
    client_algorithm: Algorithm,
    client_level: u8,
    user: String,
    database: Option<String>,
    asked_zstd_level: u8,
    server_choice: ServerLegChoice,
    server_level: u8,
    agreed: Capabilities,
    server_capabilities: Capabilities,
    client_packet_len_max: u32,
    nonce: Vec<u8>,
    thread_id: u32,
    attributes: Vec<Attribute>,
}

impl Packets for Handshake {
    async fn read(&mut self, side: Side) -> Result<Zeroizing<Vec<u8>>, SessionError> {
        let limit = self.login_timeout;
        let read = match (side, &mut self.server) {
            (Side::Client, _) => limited(limit, self.client.read()).await,
            // A plugin may ask a slow directory; the server has its own limits.
            (Side::Server, Some(server)) => {
                let read = limited(AUTH_REPLY_TIMEOUT, server.read()).await;
                self.judge_packet(read)
            }
            (Side::Server, None) => Err(Cause::ClosedEarly),
        };
        read.map_err(on(side, Phase::Authentication))
    }

    async fn read_either(&mut self) -> Result<(Side, Zeroizing<Vec<u8>>), SessionError> {
        let Some(server) = &mut self.server else {
            return Err(on(Side::Server, Phase::Authentication)(Cause::ClosedEarly));
        };
        let (side, read) = tokio::select! {
            payload = server.read() => (Side::Server, payload),
            payload = limited(self.login_timeout, self.client.read()) => (Side::Client, payload),
        };
        Ok((side, read.map_err(on(side, Phase::Authentication))?))
    }

    async fn write(&mut self, side: Side, payload: &[u8]) -> Result<(), SessionError> {
        let written = match (side, &mut self.server) {
            (Side::Client, _) => {
                self.wrong_answer = farewell::wrong_answer_to(payload).unwrap_or(self.wrong_answer);
                self.client.write(payload).await
            }
            (Side::Server, Some(server)) => {
                let written = server.write(payload).await;
                self.judge(written)
            }
            (Side::Server, None) => Err(Cause::ClosedEarly),
        };
        written.map_err(on(side, Phase::Authentication))
    }

    async fn write_with_next(&mut self, side: Side, payload: &[u8]) -> Result<(), SessionError> {
        match side {
            Side::Client => self.client.keep(payload),
            Side::Server => self.write(side, payload).await?,
        }
        Ok(())
    }
}

/// What the client leg is packed with.
fn client_level(asked: Option<ZstdLevel>, config: &ListenerConfig) -> u8 {
    asked.map_or_else(|| config.zlib_level.get(), |asked| asked.min(config.zstd_level_max()).get())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A cause's place.
fn on(side: Side, phase: Phase) -> impl Fn(Cause) -> SessionError {
    move |cause| SessionError { side, phase, cause }
}

/// A fault's place.
fn at(side: Side, phase: Phase) -> impl Fn(wire::Fault) -> SessionError {
    move |fault| SessionError { side, phase, cause: fault.into() }
}

async fn limited<T>(limit: Duration, work: impl Future<Output = Result<T, Cause>>) -> Result<T, Cause> {
    timeout(limit, work).await.unwrap_or(Err(Cause::TimedOut(limit.as_secs())))
}

/// As long as MySQL's own clients wait in practice.
const AUTH_REPLY_TIMEOUT: Duration = Duration::from_secs(60);
