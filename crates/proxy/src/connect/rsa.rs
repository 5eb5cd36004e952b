//! RSA-OAEP (SHA-1) as `caching_sha2_password` uses it on legs without TLS.
//!
//! Invariants: the proxy's key pair is made at first need and lives only in memory; plaintext buffers are wiped.
//! Source: MySQL `sql/auth/sha2_password.cc`. Not here: when it is needed (`wire::connect::auth`).

use std::sync::{Mutex, PoisonError};

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use zeroize::Zeroizing;

use crate::Cause;

/// The proxy's own key pair.
#[derive(Default)]
pub(crate) struct OwnKey(Mutex<Option<PrivateDecryptingKey>>);

impl OwnKey {
    /// The public key as servers send it: SubjectPublicKeyInfo in PEM.
    ///
    /// Cost: some 100 ms the first time; call it on a helper thread.
    pub(crate) fn public_pem(&self) -> Result<String, Cause> {
        let der: PublicKeyX509Der<'_> = self
            .private()?
            .public_key()
            .as_der()
            .map_err(|_| Cause::Rsa("the proxy's public key can't be written"))?;
        pem_rfc7468::encode_string(PEM_LABEL, pem_rfc7468::LineEnding::LF, der.as_ref())
            .map_err(|_| Cause::Rsa("the proxy's public key can't be written"))
    }

    /// What a client encrypted with our public key.
    pub(crate) fn decrypt(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Cause> {
        let failed = Cause::Rsa("the client did not encrypt its password with the proxy's key");
        let Ok(key) = OaepPrivateDecryptingKey::new(self.private()?) else { return Err(failed) };
        let mut room = Zeroizing::new(vec![0; key.min_output_size()]);
        match key.decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut room, None) {
            Ok(plain) => Ok(Zeroizing::new(plain.to_vec())),
            Err(_) => Err(failed),
        }
    }

    fn private(&self) -> Result<PrivateDecryptingKey, Cause> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*slot {
            return Ok(key.clone());
        }
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048)
            .map_err(|_| Cause::Rsa("no RSA key could be made"))?;
        Ok(slot.insert(key).clone())
    }
}

/// Encrypts `masked_password` with a server's key.
pub(crate) fn encrypt(server_key_pem: &[u8], masked_password: &[u8]) -> Result<Vec<u8>, Cause> {
    let unreadable = || Cause::Rsa("the server's public key can't be read");
    let end = server_key_pem.iter().rposition(|byte| *byte == b'-').map_or(0, |at| at + 1);
    let pem = server_key_pem.get(..end).unwrap_or_default();
    let (_, der) = pem_rfc7468::decode_vec(pem).map_err(|_| unreadable())?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| unreadable())?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| unreadable())?;
    let mut room = vec![0; key.ciphertext_size()];
    let len = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, masked_password, &mut room, None)
        .map_err(|_| Cause::Rsa("the password is too long for the server's RSA key"))?
        .len();
    room.truncate(len);
    Ok(room)
}

const PEM_LABEL: &str = "PUBLIC KEY";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encrypted_with_our_public_key_comes_back() {
        let own = OwnKey::default();
        let pem = own.public_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"));
        let ciphertext = encrypt(pem.as_bytes(), b"secret\0").unwrap();
        assert_eq!(ciphertext.len(), 256);
        assert_eq!(own.decrypt(&ciphertext).unwrap().as_slice(), b"secret\0");
        assert!(own.decrypt(&[7; 256]).is_err());
    }

    #[test]
    fn a_key_that_is_none_is_an_error() {
        assert!(encrypt(b"-----BEGIN NONSENSE", b"x").is_err());
        assert!(encrypt(b"", b"x").is_err());
    }
}
