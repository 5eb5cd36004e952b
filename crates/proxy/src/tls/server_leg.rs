//! The server leg's TLS: the proxy is the TLS client, and checks what `--ssl-mode` says.
//!
//! Source: MySQL manual, "Command Options for Encrypted Connections". Not here: the handshake (`connect`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use aws_lc_rs::digest;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::aws_lc_rs as provider;
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ALL_VERSIONS, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};

use super::version_1::Version1Key;
use super::{Fingerprint, Reloading, TlsError, files};
use crate::{Address, Cause};

/// `--ssl-mode`, with MySQL's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SslMode {
    /// No TLS.
    Disabled,
    /// TLS where the server offers it; not on a Unix socket.
    #[default]
    Preferred,
    /// TLS, whoever the server is.
    Required,
    /// And its certificate comes from `--ssl-ca`.
    VerifyCa,
    /// And it names the host.
    VerifyIdentity,
}

impl SslMode {
    /// MySQL's own word, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::VerifyCa => "verify_ca",
            Self::VerifyIdentity => "verify_identity",
        }
    }
}

/// What the server leg asks for and checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerTls {
    /// `--ssl-mode`; without it `--ssl-ca` means VERIFY_CA, as in MySQL's clients, and `--ssl-fp` means REQUIRED.
    pub mode: Option<SslMode>,
    /// `--ssl-ca`: PEM.
    pub ca: Option<PathBuf>,
    /// `--ssl-cert`: PEM, for accounts with REQUIRE X509; it is the same for all users.
    pub cert: Option<PathBuf>,
    /// `--ssl-key`: PEM.
    pub key: Option<PathBuf>,
    /// `--ssl-fp`: the only certificate that is accepted, whoever signed it.
    pub fingerprint: Option<Fingerprint>,
}

impl ServerTls {
    /// The mode in force.
    pub fn mode(&self) -> SslMode {
        match (self.mode, &self.ca, &self.fingerprint) {
            (Some(mode), ..) => mode,
            (None, Some(_), _) => SslMode::VerifyCa,
            (None, None, Some(_)) => SslMode::Required,
            (None, None, None) => SslMode::default(),
        }
    }

    /// The name that the certificate of the server at `address` must have, where names are checked.
    pub(crate) fn name_of(&self, address: &Address) -> Result<ServerName<'static>, Cause> {
        let host = match address {
            Address::Tcp { host, .. } if self.mode() == SslMode::VerifyIdentity => host,
            _ => "localhost",
        };
        ServerName::try_from(host.to_owned())
            .map_err(|error| Cause::Tls(io::Error::new(io::ErrorKind::InvalidInput, error)))
    }

    /// What a client without a proxy needs for a server at `address`, and whether TLS must be had there; `None` when it is
    /// disabled.
    ///
    /// # Errors
    /// Settings that contradict each other, files that can't be used, a host that is no name.
    pub fn client(&self, address: &Address) -> Result<Option<ClientParts>, TlsError> {
        let Some(config) = self.load()? else { return Ok(None) };
        let name = self.name_of(address).map_err(|cause| TlsError::Setup(cause.to_string()))?;
        Ok(Some((config.get(), name, self.mode() >= SslMode::Required)))
    }

    /// Reads the files; `None` when TLS is disabled.
    pub(crate) fn load(&self) -> Result<Option<Reloading<ClientConfig>>, TlsError> {
        let setup = |text: &str| Err(TlsError::Setup(text.to_owned()));
        match (self.mode(), &self.ca) {
            (SslMode::Disabled, _) => return Ok(None),
            (SslMode::VerifyCa | SslMode::VerifyIdentity, None) => {
                return setup("--ssl-mode verify_ca and verify_identity need --ssl-ca");
            }
            (SslMode::Preferred, _) if self.fingerprint.is_some() => {
                return setup(
                    "--ssl-fp with --ssl-mode preferred would go unchecked without TLS; use required",
                );
            }
            _ => {}
        }
        if self.cert.is_some() != self.key.is_some() {
            return setup("--ssl-cert and --ssl-key go together");
        }
        let files = [&self.ca, &self.cert, &self.key].into_iter().flatten().cloned().collect();
        let tls = self.clone();
        Reloading::new(files, Box::new(move || tls.read())).map(Some)
    }

    fn read(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(provider::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(ALL_VERSIONS)
            .map_err(|error| TlsError::Setup(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self.verifier(provider)?));
        let mut config = match (&self.cert, &self.key) {
            (Some(cert), Some(key_path)) => {
                let chain = files::own_chain("--ssl-cert", cert)?;
                let key = files::private_key("--ssl-key", key_path)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    let reason = format!("it can't be used with the key '{}': {error}", key_path.display());
                    TlsError::file("--ssl-cert", cert, reason)
                })?
            }
            _ => builder.with_no_client_auth(),
        };
        // As MySQL's own clients, which name no host unless told to.
        config.enable_sni = false;
        Ok(config)
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Verifier, TlsError> {
        let (roots, mode) = match (&self.ca, self.mode()) {
            (Some(path), mode @ (SslMode::VerifyCa | SslMode::VerifyIdentity)) => {
                let roots = Arc::new(files::authorities("--ssl-ca", path)?);
                let verifier =
                    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
                (Some(verifier.map_err(|error| TlsError::file("--ssl-ca", path, error))?), mode)
            }
            (_, mode) => (None, mode),
        };
        Ok(Verifier {
            roots,
            checks_name: mode == SslMode::VerifyIdentity,
            fingerprint: self.fingerprint,
            provider,
        })
    }
}

/// How to encrypt, whom to expect, and whether to insist.
pub type ClientParts = (Arc<ClientConfig>, ServerName<'static>, bool);

/// Checks a server's certificate as far as the mode asks.
#[derive(Debug)]
struct Verifier {
    roots: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    fingerprint: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(pinned) = self.fingerprint
            && digest::digest(&digest::SHA256, end_entity).as_ref() != pinned.bytes()
        {
            return Err(Error::General(
                "the certificate's fingerprint is not the one of --ssl-fp".to_owned(),
            ));
        }
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        if Version1Key::of(end_entity).is_some() {
            return Err(Error::General(
                "the certificate is of X.509 version 1, whose signer can't be checked; sign it as version 3 ('openssl \
                 x509 -req -extfile ...'), or pin it by --ssl-fp with --ssl-mode required"
                    .to_owned(),
            ));
        }
        match roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last, when the chain has been found good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let supported = &self.provider.signature_verification_algorithms;
        match Version1Key::of(cert) {
            Some(key) => key.verify_tls12(message, signature, supported),
            None => verify_tls12_signature(message, cert, signature, supported),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let supported = &self.provider.signature_verification_algorithms;
        match Version1Key::of(cert) {
            Some(key) => key.verify_tls13(message, signature, supported),
            None => verify_tls13_signature(message, cert, signature, supported),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_follows_from_what_is_given_as_in_mysqls_clients() {
        let fingerprint = Some("00".repeat(32).parse().unwrap());
        assert_eq!(ServerTls::default().mode(), SslMode::Preferred);
        assert_eq!(ServerTls { ca: Some("ca.pem".into()), ..ServerTls::default() }.mode(), SslMode::VerifyCa);
        assert_eq!(ServerTls { fingerprint, ..ServerTls::default() }.mode(), SslMode::Required);
    }

    #[test]
    fn settings_that_would_go_unchecked_are_refused() {
        let fingerprint = Some("00".repeat(32).parse().unwrap());
        let preferred = Some(SslMode::Preferred);
        for tls in [
            ServerTls { mode: Some(SslMode::VerifyIdentity), ..ServerTls::default() },
            ServerTls { mode: preferred, fingerprint, ..ServerTls::default() },
            ServerTls { cert: Some("cert.pem".into()), ..ServerTls::default() },
            ServerTls { ca: Some("/nowhere/ca.pem".into()), ..ServerTls::default() },
        ] {
            assert!(tls.load().is_err(), "{tls:?}");
        }
    }
}
