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
    let der = der_of(pem).ok_or(ClientFault::PublicKey)?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| ClientFault::PublicKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| ClientFault::PublicKey)?;
    let mut packed = vec![0; key.ciphertext_size()];
    let len =
        key.encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut packed, None).map_err(|_| ClientFault::PublicKey)?.len();
    packed.truncate(len);
    Ok(packed)
}

/// What stands between the first BEGIN and END line; `None` when there is no such thing.
fn der_of(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, body) = text.split_once("-----BEGIN PUBLIC KEY-----")?;
    let (body, _) = body.split_once("-----END PUBLIC KEY-----")?;
    let mut der = Vec::with_capacity(body.len());
    let (mut bits, mut bit_count) = (0_u32, 0);
    for byte in body.bytes().filter(|b| !b.is_ascii_whitespace()) {
        if byte == b'=' {
            break;
        }
        bits = bits << 6 | base64_digit(byte)?;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            der.push((bits >> bit_count & 0xff).try_into().ok()?);
        }
    }
    Some(der)
}

fn base64_digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::from("-----BEGIN PUBLIC KEY-----\n");
        for (i, chunk) in der.chunks(3).enumerate() {
            let bits =
                chunk.iter().fold(0_u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
            for digit in 0..=chunk.len() {
                text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            }
            text.push_str(&"=".repeat(3 - chunk.len()));
            if i % 16 == 15 {
                text.push('\n');
            }
        }
        text + "\n-----END PUBLIC KEY-----\n"
    }

    #[test]
    fn the_keys_owner_reads_what_was_encrypted() {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(&private.public_key()).unwrap();
        let packed = encrypt(pem(der.as_ref()).as_bytes(), b"secret\0").unwrap();
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
