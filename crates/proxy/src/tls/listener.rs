//! The client leg's TLS: the proxy is the TLS server.
//!
//! Not here: the self-signed pair (`self_signed`).

use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ALL_VERSIONS, ServerConfig};

use super::{Reloading, TlsError, files};

/// `--tls`: whether clients may, or must, use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// It is not offered.
    #[default]
    Off,
    /// It is offered.
    Preferred,
    /// A client without it is refused, unless it comes by a Unix socket.
    Required,
}

impl TlsMode {
    /// As the option writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Preferred => "preferred",
            Self::Required => "required",
        }
    }
}

/// The listener's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerTls {
    /// `--tls`.
    pub mode: TlsMode,
    /// `--tls-cert`: PEM, the listener's own certificate first.
    pub cert: PathBuf,
    /// `--tls-key`: PEM, not encrypted.
    pub key: PathBuf,
    /// `--tls-client-ca`: clients must present a certificate that it signed.
    pub client_ca: Option<PathBuf>,
}

impl ListenerTls {
    /// Reads the files.
    pub(crate) fn load(&self) -> Result<Reloading<ServerConfig>, TlsError> {
        let files = [Some(&self.cert), Some(&self.key), self.client_ca.as_ref()];
        let files = files.into_iter().flatten().cloned().collect();
        let tls = self.clone();
        Reloading::new(files, Box::new(move || tls.read()))
    }

    /// Reads the files, for a port of another kind: what is returned gives the settings as new as the files are.
    ///
    /// Errors: a file can't be read, or they don't fit together.
    pub fn settings(&self) -> Result<impl Fn() -> Arc<ServerConfig> + Send + Sync + use<>, TlsError> {
        let reloading = self.load()?;
        Ok(move || reloading.get())
    }

    fn read(&self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(ALL_VERSIONS)
            .map_err(|error| TlsError::Setup(error.to_string()))?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(files::authorities("--tls-client-ca", path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
                let verifier = verifier.map_err(|error| TlsError::file("--tls-client-ca", path, error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = files::own_chain("--tls-cert", &self.cert)?;
        let key = files::private_key("--tls-key", &self.key)?;
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            let reason = format!("it can't be used with the key '{}': {error}", self.key.display());
            TlsError::file("--tls-cert", &self.cert, reason)
        })?;
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(|error| TlsError::Setup(error.to_string()))?;
        // Database clients seldom resume, and never more than one session at once with the same ticket.
        config.send_tls13_tickets = 1;
        Ok(config)
    }
}
