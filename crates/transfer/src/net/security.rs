//! Who may speak with whom: by a shared key, by certificates, or, if asked for, by anybody in clear.
//!
//! A shared key becomes an Ed25519 key pair on both sides; each shows a certificate that signs itself with it in TLS 1.3,
//! and wants the other's to be signed by the same pair. So both have proved that they know the key, and the session's keys
//! are new each time. Who talks to a receiver sees its public key and can try out short keys at leisure, so a key has to be
//! long and random.
//!
//! Not here: what is sent then (`message`).

use std::path::PathBuf;
use std::sync::Arc;

use aws_lc_rs::hkdf;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use tokio_rustls::rustls;

use crate::Fault;

/// How two ends know each other.
#[derive(Debug, Clone)]
pub enum Security {
    /// By a key that both have.
    Shared(SharedKey),
    /// By certificates of one authority.
    Certificates(Certificates),
    /// Not at all, and everybody on the way may read and change what passes.
    Clear,
}

/// A long random secret.
#[derive(Clone)]
pub struct SharedKey(Vec<u8>);

/// Files in PEM form.
#[derive(Debug, Clone)]
pub struct Certificates {
    /// This end's certificate, with its chain.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Whose certificates are accepted of the other end.
    pub ca: PathBuf,
    /// The name that the receiver's certificate must have; without it any of the authority's will do.
    pub name: Option<String>,
}

impl SharedKey {
    /// Shortest permitted key, bytes: 128 bits of hexadecimal digits.
    pub const LEN_MIN: usize = 32;

    /// The key, white space around it left out.
    pub fn new(text: &[u8]) -> Result<Self, Fault> {
        let key = text.trim_ascii();
        if key.len() < Self::LEN_MIN { Err(Fault::KeyTooShort) } else { Ok(Self(key.to_vec())) }
    }
}

impl std::fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedKey(..)")
    }
}

/// A certificate with its key, and who signs the other end's.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: Arc<RootCertStore>,
    /// Of the receiver; without it any will do.
    name: Option<String>,
}

impl Security {
    /// For the side that connects, and the name that it looks for.
    pub(super) fn connector(&self) -> Result<Option<(Arc<ClientConfig>, ServerName<'static>)>, Fault> {
        let Some(Identity { chain, key, roots, name }) = self.identity()? else { return Ok(None) };
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let verifier = verifier.build().map_err(unusable)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?;
        let builder = if name.is_some() {
            builder.with_webpki_verifier(verifier)
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(verifier)))
        };
        let config = builder.with_client_auth_cert(chain, key).map_err(unusable)?;
        let name = ServerName::try_from(name.unwrap_or_else(|| ANY_NAME.to_owned()))
            .map_err(|_| Fault::Certificate { words: "the name is no host name".to_owned() })?;
        Ok(Some((Arc::new(config), name)))
    }

    /// For the side that listens.
    pub(super) fn acceptor(&self) -> Result<Option<Arc<ServerConfig>>, Fault> {
        let Some(Identity { chain, key, roots, .. }) = self.identity()? else { return Ok(None) };
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(verifier.build().map_err(unusable)?)
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        Ok(Some(Arc::new(config)))
    }

    /// Whether its keys and certificates can be used.
    pub fn check(&self) -> Result<(), Fault> {
        self.identity().map(drop)
    }

    fn identity(&self) -> Result<Option<Identity>, Fault> {
        match self {
            Self::Clear => Ok(None),
            Self::Shared(key) => of_shared_key(key).map(Some),
            Self::Certificates(files) => of_files(files).map(Some),
        }
    }
}

fn of_shared_key(SharedKey(key): &SharedKey) -> Result<Identity, Fault> {
    let failed = || Fault::Certificate { words: "no key pair can be made of the shared key".to_owned() };
    let mut seed = [0; 32];
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, b"wirepress transfer 1").extract(key);
    let expanded = secret.expand(&[b"ed25519 seed"], hkdf::HKDF_SHA256).map_err(|_| failed())?;
    expanded.fill(&mut seed).map_err(|_| failed())?;
    let pair = aws_lc_rs::signature::Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| failed())?;
    let document = pair.to_pkcs8().map_err(|_| failed())?;
    let key = PrivateKeyDer::try_from(document.as_ref().to_vec()).map_err(|_| failed())?;
    let pair = rcgen::KeyPair::try_from(document.as_ref()).map_err(|_| failed())?;
    let params = rcgen::CertificateParams::new([ANY_NAME.to_owned()]).map_err(|_| failed())?;
    let cert = params.self_signed(&pair).map_err(|_| failed())?.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(cert.clone()).map_err(unusable)?;
    Ok(Identity { chain: vec![cert], key, roots: Arc::new(roots), name: None })
}

fn of_files(files: &Certificates) -> Result<Identity, Fault> {
    let unreadable = |path: &PathBuf, error: rustls::pki_types::pem::Error| Fault::Certificate {
        words: format!("{}: {error}", path.display()),
    };
    let certificates = |path: &PathBuf| {
        let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        match found {
            Ok(found) if found.is_empty() => {
                Err(Fault::Certificate { words: format!("{} has no certificate", path.display()) })
            }
            Ok(found) => Ok(found),
            Err(error) => Err(unreadable(path, error)),
        }
    };
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unreadable(&files.key, error))?;
    let mut roots = RootCertStore::empty();
    for cert in certificates(&files.ca)? {
        roots.add(cert).map_err(unusable)?;
    }
    let name = files.name.clone();
    Ok(Identity { chain: certificates(&files.cert)?, key, roots: Arc::new(roots), name })
}

fn unusable(error: impl std::fmt::Display) -> Fault {
    Fault::Certificate { words: error.to_string() }
}

/// Wants a certificate that is signed as it should be, whatever name it has.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        cert: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(cert, chain, name, ocsp, now) {
            // The name is looked at last, when the chain has been found good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Stands where nobody looks at the name.
const ANY_NAME: &str = "wirepress.invalid";
