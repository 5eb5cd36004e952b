//! The password under the server's RSA key, for a leg on which anybody could listen.
//!
//! ```text
//!  -----BEGIN PUBLIC KEY-----
//!  base64 of a SubjectPublicKeyInfo          RSA-OAEP with SHA-1, as MySQL's server expects
//!  -----END PUBLIC KEY-----
//! ```
//!
//! Not here: masking the password with the nonce (`auth`); trust: whoever answers may give his own key, as
//! with MySQL's `--get-server-public-key`.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};

use super::ClientFault;

/// `plain` so that only the owner of the key in `pem` can read it.
pub(super) fn encrypt(pem: &[u8], plain: &[u8]) -> Result<Vec<u8>, ClientFault> {
    let (_, der) = pem_rfc7468::decode_vec(pem).map_err(|_| ClientFault::PublicKey)?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| ClientFault::PublicKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| ClientFault::PublicKey)?;
    let mut packed = vec![0; key.ciphertext_size()];
    let len =
        key.encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut packed, None).map_err(|_| ClientFault::PublicKey)?.len();
    packed.truncate(len);
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};

    use super::*;

    #[test]
    fn the_keys_owner_reads_what_was_encrypted() {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(&private.public_key()).unwrap();
        let line_ending = pem_rfc7468::LineEnding::LF;
        let pem = pem_rfc7468::encode_string("PUBLIC KEY", line_ending, der.as_ref()).unwrap();
        let packed = encrypt(pem.as_bytes(), b"secret\0").unwrap();
        let private = OaepPrivateDecryptingKey::new(private).unwrap();
        let mut plain = vec![0; private.min_output_size()];
        assert_eq!(private.decrypt(&OAEP_SHA1_MGF1SHA1, &packed, &mut plain, None).unwrap(), b"secret\0");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for pem in [&b""[..], b"-----BEGIN PUBLIC KEY-----\n!!\n-----END PUBLIC KEY-----", b"\xff\xff"] {
            assert!(matches!(encrypt(pem, b"x"), Err(ClientFault::PublicKey)));
        }
    }
}
