//! From one listener to its server: the settings in force, with their certificates.
//!
//! Not here: sockets (`listener`), what the settings mean (`config`).

use std::sync::Arc;

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use wire::Capabilities;

use crate::tls::{Reloading, SslMode, TlsError, TlsMode};
use crate::{Address, Cause, ListenerConfig};

/// What a session needs to know of the listener that it came by.
pub(crate) struct Route {
    pub(crate) config: ListenerConfig,
    tls: Option<Reloading<ServerConfig>>,
    server_tls: Option<Reloading<ClientConfig>>,
}

impl Route {
    /// Reads the certificates.
    pub(crate) fn new(config: ListenerConfig) -> Result<Self, TlsError> {
        let tls = match &config.tls {
            Some(tls) if tls.mode != TlsMode::Off => Some(tls.load()?),
            _ => None,
        };
        let server_tls = config.server_tls.load()?;
        Ok(Self { config, tls, server_tls })
    }

    /// The client leg's TLS, if it is offered.
    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.as_ref().map(Reloading::get)
    }

    /// Whether a client may not go on without TLS.
    pub(crate) fn requires_tls(&self) -> bool {
        self.config.tls.as_ref().is_some_and(|tls| tls.mode == TlsMode::Required)
    }

    /// The server leg's TLS, if it is to be used with a server that `offers` these capabilities.
    ///
    /// Errors: `TlsNotOffered` where it must be used.
    pub(crate) fn server_tls(&self, offers: Capabilities) -> Result<Option<Arc<ClientConfig>>, Cause> {
        let Some(config) = &self.server_tls else { return Ok(None) };
        let preferred = self.config.server_tls.mode() == SslMode::Preferred;
        if preferred && matches!(self.config.server, Address::Unix(_)) {
            return Ok(None);
        }
        match offers.contains(Capabilities::SSL) {
            true => Ok(Some(config.get())),
            false if preferred => Ok(None),
            false => Err(Cause::TlsNotOffered),
        }
    }

    /// The name that the server's certificate must have, where names are checked.
    pub(crate) fn server_name(&self) -> Result<ServerName<'static>, Cause> {
        let host = match &self.config.server {
            Address::Tcp { host, .. } if self.config.server_tls.mode() == SslMode::VerifyIdentity => host,
            _ => "localhost",
        };
        ServerName::try_from(host.to_owned())
            .map_err(|error| Cause::Tls(std::io::Error::new(std::io::ErrorKind::InvalidInput, error)))
    }
}
