//! A certificate of this process alone, for a pair listener whose key says who it is.
//!
//! It makes TLS possible and proves nothing: both ends prove the key over this very connection instead.
//! Not here: the proofs (`pair`).

use std::sync::Arc;

use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::version::TLS13;

use super::TlsError;

/// TLS 1.3 with a new self-signed certificate.
pub(crate) fn ephemeral() -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |error: &dyn std::fmt::Display| TlsError::Setup(error.to_string());
    let made =
        rcgen::generate_simple_self_signed(["wirepress-pair".to_owned()]).map_err(|error| failed(&error))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|error| failed(&error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| failed(&error))?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(|error| failed(&error))?;
    Ok(Arc::new(config))
}
