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
use wire::{Side, proxy_protocol};
use zeroize::Zeroizing;

use std::sync::Arc;

use super::{Channel, Handshake, at, limited, on};
use crate::admission::Admission;
use crate::leg::Leg;
use crate::{Cause, ListenerConfig, Phase, SendProxy, SessionError};

impl Handshake {
    async fn read_proxy_header(&mut self) -> Result<(), SessionError> {
        self.phase = Phase::ProxyHeader;
        let header = limited(self.login_timeout, self.client.read_proxy_header()).await;
        let header = header.map_err(on(Side::Client, Phase::ProxyHeader))?;
        self.client_address = self.client_address.told_by(&header);
        self.phase = Phase::Dial;
        Ok(())
    }

    /// The server's greeting, parsed and as it came, behind the PROXY headers that are due on either leg.
    pub(super) async fn greet(
        &mut self,
        config: &ListenerConfig,
        admission: &Arc<Admission>,
    ) -> Result<(Greeting, Zeroizing<Vec<u8>>), SessionError> {
        let peer = self.client_address.source().map(|source| source.ip());
        let trusted = config.proxy_protocol_from.iter().any(|network| network.contains(peer));
        if trusted {
            self.read_proxy_header().await?;
        }
        let client_ip = self.client_address.source().map(|source| source.ip());
        let permit = admission.admit_address(client_ip).map_err(|_| Cause::TooManyConnections);
        self.address_permit = permit.map_err(on(Side::Client, Phase::Dial))?;
        let dial = Leg::dial(&config.server, config.dial_timeout, config.tcp_user_timeout);
        let dialled = if trusted {
            // Who only looks whether somebody listens closes right behind its header.
            tokio::select! {
                biased;
                () = self.client.closed() => return Err(on(Side::Client, Phase::Dial)(Cause::ClosedEarly)),
                dialled = dial => dialled,
            }
        } else {
            dial.await
        };
        self.greet_by(dialled, config).await
    }

    /// Tells the server whose connection it is, and reads its first packet. A refusal is passed on.
    async fn greet_by(
        &mut self,
        dialled: std::io::Result<Leg>,
        config: &ListenerConfig,
    ) -> Result<(Greeting, Zeroizing<Vec<u8>>), SessionError> {
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
            server.write_raw(&header).await.map_err(on(Side::Server, Phase::Greeting))?;
        }
        let payload =
            limited(self.login_timeout, server.read()).await.map_err(on(Side::Server, Phase::Greeting))?;
        match FirstPacket::parse(&payload).map_err(at(Side::Server, Phase::Greeting))? {
            FirstPacket::Greeting(greeting)
                if config.send_proxy.is_some() && !greeting.speaks_proxy_protocol() =>
            {
                let version = String::from_utf8_lossy(&greeting.server_version).into_owned();
                Err(on(Side::Server, Phase::Greeting)(Cause::ProxyProtocolUnknown(version)))
            }
            FirstPacket::Greeting(greeting) => Ok((greeting, payload)),
            FirstPacket::Refusal(error) => {
                self.server = None; // Nothing to end: the server has closed.
                self.client.write(&payload).await.map_err(on(Side::Client, Phase::Greeting))?;
                Err(on(Side::Server, Phase::Greeting)(Cause::Refused(error)))
            }
        }
    }
}
