//! The key of a certificate of X.509 version 1, which webpki doesn't read.
//!
//! Such certificates are common: `openssl x509 -req` makes them unless it is given extensions, and MySQL's manual says
//! to call it so. A server that has one is who it is by its pinned fingerprint, or nobody asks.
//!
//! Invariant: only the proof that the peer has the key is checked here, never who signed the certificate.
//! Source: RFC 8446, 4.4.3; MySQL manual, "Creating SSL Certificates and Keys Using openssl"; pinned by
//! `tests/it/live/tls/server_modes.rs`.
//! Not here: where the key lies (`der`), certificates of version 3 (rustls).

use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use tokio_rustls::rustls::pki_types::SubjectPublicKeyInfoDer;
use tokio_rustls::rustls::{CertificateError, DigitallySignedStruct, Error, PeerIncompatible};

use super::der;

/// The public key of a certificate of version 1.
pub(super) struct Version1Key<'a> {
    info: &'a [u8],
}

impl<'a> Version1Key<'a> {
    /// `None` for any other version, and for what is no certificate.
    pub(super) fn of(certificate: &'a [u8]) -> Option<Self> {
        der::version_1_key_info(certificate).map(|info| Self { info })
    }

    /// Whether a TLS 1.3 peer has the private key.
    pub(super) fn verify_tls13(
        &self,
        message: &[u8],
        signed: &DigitallySignedStruct,
        supported: &WebPkiSupportedAlgorithms,
    ) -> Result<HandshakeSignatureValid, Error> {
        let info = SubjectPublicKeyInfoDer::from(self.info);
        verify_tls13_signature_with_raw_key(message, &info, signed, supported)
    }

    /// Whether a TLS 1.2 peer has the private key.
    pub(super) fn verify_tls12(
        &self,
        message: &[u8],
        signed: &DigitallySignedStruct,
        supported: &WebPkiSupportedAlgorithms,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bad = Error::InvalidCertificate(CertificateError::BadEncoding);
        let Some((algorithm_id, key)) = der::algorithm_and_key(self.info) else { return Err(bad) };
        let of_scheme = supported.mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
        let algorithms = of_scheme.map(|(_, algorithms)| *algorithms).unwrap_or_default();
        let fitting = algorithms.iter().find(|it| it.public_key_alg_id().as_ref() == algorithm_id);
        let Some(algorithm) = fitting else {
            return Err(PeerIncompatible::NoSignatureSchemesInCommon.into());
        };
        algorithm
            .verify_signature(key, message, signed.signature())
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadSignature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_version_3_is_left_to_rustls() {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        assert!(Version1Key::of(certified.cert.der()).is_none());
    }

    /// A certificate in outline: version 1 has one field less.
    #[test]
    fn the_key_is_the_sixth_field_of_version_1() {
        let key = [0x30, 8, 0x30, 2, 5, 0, 3, 2, 0, 9];
        let mut fields = [[2, 1, 7].as_slice(), &[0x30, 0].repeat(4)].concat();
        fields.extend_from_slice(&key);
        let outline = |fields: &[u8]| {
            let len = u8::try_from(fields.len()).unwrap();
            [&[0x30, len + 3, 0x30, 0x81, len], fields].concat()
        };
        let whole = outline(&fields);
        assert_eq!(Version1Key::of(&whole).unwrap().info, key);
    }

    #[test]
    fn no_cut_or_flipped_byte_panics() {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let whole = certified.cert.der().to_vec();
        for at in 0..whole.len() {
            assert!(Version1Key::of(&whole[..at]).is_none());
            let mut flipped = whole.clone();
            flipped[at] ^= 0xff;
            if let Some(key) = Version1Key::of(&flipped) {
                der::algorithm_and_key(key.info);
            }
        }
    }
}
