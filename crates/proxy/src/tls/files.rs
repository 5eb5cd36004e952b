//! Certificates and keys from PEM files.
//!
//! Not here: when they are read again (`reloading`).

use std::path::{Path, PathBuf};

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::version_1::Version1Key;

/// Why TLS can't be set up as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read, or holds something else.
    #[error("{what} '{}': {reason}", path.display())]
    File {
        /// Which option names it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do where that isn't plain.
        reason: String,
    },
    /// The files don't fit together, or with the options.
    #[error("{0}")]
    Setup(String),
}

impl TlsError {
    pub(super) fn file(what: &'static str, path: &Path, reason: impl ToString) -> Self {
        Self::File { what, path: path.to_owned(), reason: reason.to_string() }
    }
}

/// All certificates of a file, the peer's own first.
pub(super) fn certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = std::fs::read(path).map_err(|error| TlsError::file(what, path, error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| TlsError::file(what, path, error))?;
    if found.is_empty() {
        return Err(TlsError::file(what, path, "it holds no certificate in PEM form"));
    }
    Ok(found)
}

/// The certificates that the proxy presents, its own first.
pub(super) fn own_chain(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = certificates(what, path)?;
    match chain.first().and_then(|own| Version1Key::of(own)) {
        Some(_) => Err(TlsError::file(
            what,
            path,
            "it is of X.509 version 1, as 'openssl x509 -req' makes them; with '-extfile' and a subjectAltName it \
             becomes version 3",
        )),
        None => Ok(chain),
    }
}

/// The private key of a file.
pub(super) fn private_key(what: &'static str, path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let bytes = std::fs::read(path).map_err(|error| TlsError::file(what, path, error))?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        if bytes.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED) {
            TlsError::file(what, path, "the key is encrypted; decrypt it with 'openssl pkey -in … -out …'")
        } else {
            TlsError::file(what, path, format!("no private key in PEM form: {error}"))
        }
    })
}

/// The authorities of a file.
pub(super) fn authorities(what: &'static str, path: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(what, path)? {
        store.add(certificate).map_err(|error| TlsError::file(what, path, error))?;
    }
    Ok(store)
}

const ENCRYPTED: &[u8] = b"ENCRYPTED";
