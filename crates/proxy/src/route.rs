//! From one listener to its servers: the settings in force, with their certificates.
//!
//! Not here: sockets (`listener`), what the settings mean (`config`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use codec::AlgorithmSet;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use wire::Capabilities;

use crate::pair::{Pair, PairError, SetupError};
use crate::servers::{Account, Servers};
use crate::tls::{Reloading, SslMode, TlsError, TlsMode};
use crate::{Address, Cause, ListenerConfig, Monitor};

/// Why a file that the settings name can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Certificates and keys.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Keys of pairs, or want of them.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// The monitor account's password.
    #[error("can't read the monitor account's password from '{}': {error}; its first line must be the password", path.display())]
    MonitorPassword {
        /// `--monitor-password-file`.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl From<SetupError> for FileError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Pair(error) => Self::Pair(error),
            SetupError::Tls(error) => Self::Tls(error),
        }
    }
}

/// What a session needs to know of the listener that it came by.
pub(crate) struct Route {
    pub(crate) config: ListenerConfig,
    pub(crate) servers: Servers,
    /// Who asks the servers about themselves.
    pub(crate) monitor: Option<Account>,
    /// What its pairs are like, if it has any.
    pub(crate) pair: Option<Arc<Pair>>,
    tls: Option<Reloading<ServerConfig>>,
    server_tls: Option<Reloading<ClientConfig>>,
}

impl Route {
    /// Reads certificates and passwords. Keeps what `previous` knew of servers that stay.
    pub(crate) fn new(config: ListenerConfig, previous: Option<&Self>) -> Result<Self, FileError> {
        let pair = Pair::new(&config)?;
        let tls = match &config.tls {
            // It is below the pair stream.
            _ if config.is_pair => None,
            Some(tls) if tls.mode != TlsMode::Off => Some(tls.load()?),
            _ => None,
        };
        let server_tls = config.server_tls.load()?;
        let monitor = match &config.health_check.monitor {
            Some(Monitor { user, password_file: path }) => Some(
                Account::read(user, path)
                    .map_err(|error| FileError::MonitorPassword { path: path.clone(), error })?,
            ),
            None => None,
        };
        let servers = Servers::new(&config, previous.map(|previous| &previous.servers));
        Ok(Self { config, servers, monitor, pair, tls, server_tls })
    }

    /// The client leg's TLS, if it is offered.
    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.as_ref().map(Reloading::get)
    }

    /// Whether a client may not go on without TLS.
    pub(crate) fn requires_tls(&self) -> bool {
        !self.config.is_pair && self.config.tls.as_ref().is_some_and(|tls| tls.mode == TlsMode::Required)
    }

    /// What clients may compress with, by MySQL's rules.
    pub(crate) const fn permitted(&self) -> AlgorithmSet {
        if self.config.is_pair { UNCOMPRESSED } else { self.config.permitted }
    }

    /// The server leg's TLS, if it is to be used with a server at `address` that `offers` these capabilities.
    ///
    /// Errors: `TlsNotOffered` where it must be used.
    pub(crate) fn server_tls(
        &self,
        address: &Address,
        offers: Capabilities,
    ) -> Result<Option<Arc<ClientConfig>>, Cause> {
        let Some(config) = &self.server_tls else { return Ok(None) };
        if address.pair().is_some() {
            return Ok(None); // It is below the pair stream.
        }
        let preferred = self.config.server_tls.mode() == SslMode::Preferred;
        if preferred && matches!(address, Address::Unix(_)) {
            return Ok(None);
        }
        match offers.contains(Capabilities::SSL) {
            true => Ok(Some(config.get())),
            false if preferred => Ok(None),
            false => Err(Cause::TlsNotOffered),
        }
    }

    /// The name that the certificate of the server at `address` must have, where names are checked.
    pub(crate) fn server_name(&self, address: &Address) -> Result<ServerName<'static>, Cause> {
        self.config.server_tls.name_of(address)
    }
}

/// Pairs compress below MySQL's protocol.
const UNCOMPRESSED: AlgorithmSet = AlgorithmSet { zstd: false, zlib: false, uncompressed: true };
