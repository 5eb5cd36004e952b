//! Answers to a server's nonce, for our own clients and servers; the relay never computes one.
//!
//! Source: MySQL `sql/auth/sha2_password_common.cc`, `password.cc`.
//! Not here: RSA (crate `proxy`, `connect::rsa`).

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// mysql_native_password: SHA1(p) xor SHA1(nonce, SHA1(SHA1(p))); empty for an empty password.
pub fn native_password(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let proof = Sha1::new().chain_update(nonce).chain_update(Sha1::digest(once)).finalize();
    xor(&once, &proof)
}

/// caching_sha2_password's fast path: SHA256(p) xor SHA256(SHA256(SHA256(p)), nonce); empty for no password.
pub fn caching_sha2_password(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let proof = Sha256::new().chain_update(Sha256::digest(once)).chain_update(nonce).finalize();
    xor(&once, &proof)
}

/// `bytes` xor `key`, the key repeated: how a password is masked before RSA.
pub fn xor(bytes: &[u8], key: &[u8]) -> Vec<u8> {
    bytes.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's hashlib from the formulas of MySQL's source.
    #[test]
    fn scrambles_equal_those_computed_elsewhere() {
        let nonce: Vec<u8> = (1..=20).collect();
        let hex = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(hex(native_password(b"secret", &nonce)), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(
            hex(caching_sha2_password(b"secret", &nonce)),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert!(native_password(b"", &nonce).is_empty());
    }
}
