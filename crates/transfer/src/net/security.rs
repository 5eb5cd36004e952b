//! Who may speak with whom: by a shared key, by certificates, or, if asked for, by anybody in clear.
//!
//! A shared key becomes an Ed25519 key pair on both sides; each shows a certificate of it in TLS 1.3 and wants the other's
//! to hold the same public key. So both have proved that they know the key, and the session's keys are new each time. Who
//! talks to a receiver sees its public key and can try out short keys at leisure, so a key has to be long and random.
//!
//! Not here: what is sent then (`message`).

use std::path::PathBuf;
use std::sync::Arc;

use aws_lc_rs::hkdf;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs::default_provider, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
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

/// A certificate with its key, and what the other's is held to.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    peer: Arc<Peer>,
}

impl Security {
    /// For the side that connects, and the name that it looks for.
    pub(super) fn connector(&self) -> Result<Option<(Arc<ClientConfig>, ServerName<'static>)>, Fault> {
        let Some(Identity { chain, key, peer }) = self.identity()? else { return Ok(None) };
        let name = peer.name.clone().unwrap_or_else(|| ANY_NAME.to_owned());
        let name = ServerName::try_from(name)
            .map_err(|_| Fault::Certificate { words: "the name is no host name".to_owned() })?;
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(peer)
            .with_client_auth_cert(chain, key)
            .map_err(unusable)?;
        Ok(Some((Arc::new(config), name)))
    }

    /// For the side that listens.
    pub(super) fn acceptor(&self) -> Result<Option<Arc<ServerConfig>>, Fault> {
        let Some(Identity { chain, key, peer }) = self.identity()? else { return Ok(None) };
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(peer)
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
    let wanted = ParsedCertificate::try_from(&cert).map_err(unusable)?.subject_public_key_info();
    let check = Check::PublicKey(wanted.as_ref().to_vec());
    Ok(Identity {
        chain: vec![cert],
        key,
        peer: Arc::new(Peer { check, name: None, provider: default_provider() }),
    })
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
    let mut roots = rustls::RootCertStore::empty();
    for cert in certificates(&files.ca)? {
        roots.add(cert).map_err(unusable)?;
    }
    let (roots, provider) = (Arc::new(roots), Arc::new(default_provider()));
    let builder = rustls::client::WebPkiServerVerifier::builder_with_provider(
        Arc::clone(&roots),
        Arc::clone(&provider),
    );
    let server = builder.build().map_err(|error| Fault::Certificate { words: error.to_string() })?;
    let builder = rustls::server::WebPkiClientVerifier::builder_with_provider(roots, provider);
    let client = builder.build().map_err(|error| Fault::Certificate { words: error.to_string() })?;
    let peer = Peer {
        check: Check::Authority { server, client },
        name: files.name.clone(),
        provider: default_provider(),
    };
    Ok(Identity { chain: certificates(&files.cert)?, key, peer: Arc::new(peer) })
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unusable(error: Error) -> Fault {
    Fault::Certificate { words: error.to_string() }
}

/// What the other end's certificate is held to.
#[derive(Debug)]
struct Peer {
    check: Check,
    name: Option<String>,
    provider: CryptoProvider,
}

#[derive(Debug)]
enum Check {
    PublicKey(Vec<u8>),
    Authority { server: Arc<rustls::client::WebPkiServerVerifier>, client: Arc<dyn ClientCertVerifier> },
}

impl Peer {
    fn has_key(wanted: &[u8], cert: &CertificateDer<'_>) -> Result<(), Error> {
        let found = ParsedCertificate::try_from(cert)?.subject_public_key_info();
        let is_same = aws_lc_rs::constant_time::verify_slices_are_equal(found.as_ref(), wanted).is_ok();
        if is_same { Ok(()) } else { Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) }
    }

    fn is_signed(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for Peer {
    fn verify_server_cert(
        &self,
        cert: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.check {
            Check::PublicKey(wanted) => {
                Self::has_key(wanted, cert)?;
                Ok(ServerCertVerified::assertion())
            }
            Check::Authority { server, .. } => {
                match server.verify_server_cert(cert, chain, name, ocsp, now) {
                    Err(Error::InvalidCertificate(
                        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                    )) if self.name.is_none() => Ok(ServerCertVerified::assertion()),
                    verified => verified,
                }
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.is_signed(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Peer {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        cert: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match &self.check {
            Check::PublicKey(wanted) => {
                Self::has_key(wanted, cert)?;
                Ok(ClientCertVerified::assertion())
            }
            Check::Authority { client, .. } => client.verify_client_cert(cert, chain, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.is_signed(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

/// Stands where nobody looks at the name.
const ANY_NAME: &str = "wirepress.invalid";
