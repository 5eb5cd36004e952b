//! The shared key, and the proof that an end knows it.
//!
//! ```text
//! proof = HMAC-SHA-256(key, "wirepress pair dialer" or "... listener" | TLS exporter, 32 bytes)
//! ```
//! The exporter (RFC 8446, 7.5; RFC 9266) is a secret of this one TLS connection, to which both ends gave randomness. So a
//! proof is of no use on another connection, and somebody between the ends, who has two connections, can pass none on.
//!
//! Invariants: the key is never sent, logged or printed, and is wiped; proofs are compared in constant time.
//! Not here: who proves first (`accept`, `dial`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use aws_lc_rs::hmac;
use wire::pair::PROOF_LEN;
use zeroize::Zeroizing;

use super::PairError;

/// The key of a pair.
pub(super) struct PairKey(hmac::Key);

/// Whose proof it is, so that neither end's can be sent back to it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Dialer,
    Listener,
}

impl PairKey {
    /// Reads the file's first line.
    pub(super) fn read(path: &PathBuf) -> Result<Self, PairError> {
        let bad = |reason: String| PairError::Key { path: path.clone(), reason };
        let text = Zeroizing::new(fs::read(path).map_err(|error| bad(error.to_string()))?);
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        if line.len() < KEY_LEN_MIN {
            return Err(bad(format!(
                "its first line has {} bytes, a key has {KEY_LEN_MIN} at least",
                line.len()
            )));
        }
        if fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & OTHERS != 0) {
            tracing::warn!(path = %path.display(), "everybody on this host can read the pair's key; chmod o-rwx it");
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, line)))
    }

    /// The proof of `role` on the connection with this exporter.
    pub(super) fn prove(&self, role: Role, exporter: &[u8]) -> [u8; PROOF_LEN] {
        let mut proof = [0; PROOF_LEN];
        let tag = hmac::sign(&self.0, &message(role, exporter));
        for (byte, tagged) in proof.iter_mut().zip(tag.as_ref()) {
            *byte = *tagged;
        }
        proof
    }

    /// Whether `proof` is that of `role`.
    pub(super) fn is_proven(&self, role: Role, exporter: &[u8], proof: &[u8]) -> bool {
        hmac::verify(&self.0, &message(role, exporter), proof).is_ok()
    }
}

fn message(role: Role, exporter: &[u8]) -> Zeroizing<Vec<u8>> {
    let label: &[u8] = match role {
        Role::Dialer => b"wirepress pair dialer",
        Role::Listener => b"wirepress pair listener",
    };
    Zeroizing::new([label, exporter].concat())
}

/// 32 bytes of hexadecimal digits are 128 bits, those of base64 192: neither can be guessed, so a proof gives nothing away.
const KEY_LEN_MIN: usize = 32;
/// Permission bits of all others.
const OTHERS: u32 = 0o007;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Result<PairKey, PairError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        PairKey::read(&file.path().to_owned())
    }

    #[test]
    fn a_proof_is_of_one_key_one_role_and_one_connection() {
        let ours = key(&"k".repeat(40)).unwrap();
        let proof = ours.prove(Role::Dialer, &[1; 32]);
        assert!(key(&format!("{}\nmore", "k".repeat(40))).unwrap().is_proven(Role::Dialer, &[1; 32], &proof));
        assert!(!ours.is_proven(Role::Listener, &[1; 32], &proof));
        assert!(!ours.is_proven(Role::Dialer, &[2; 32], &proof));
        assert!(!key(&"q".repeat(40)).unwrap().is_proven(Role::Dialer, &[1; 32], &proof));
    }

    #[test]
    fn a_key_that_could_be_guessed_is_refused_and_never_shown() {
        let error = key("secret").err().unwrap().to_string();
        assert!(error.contains("has 6 bytes") && error.contains("openssl rand") && !error.contains("secret"));
    }
}
