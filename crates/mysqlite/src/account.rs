//! The accounts that may log in, and how a client proves its password.
//!
//! ```text
//! mysql_native_password  SHA1(p) XOR SHA1(nonce ‖ SHA1(SHA1(p)))
//! caching_sha2_password  SHA256(p) XOR SHA256(SHA256(SHA256(p)) ‖ nonce)      then 01 03, the "fast path"
//! ```
//! Invariants: no password is kept, only its double hashes; both methods are accepted for every account.
//!
//! Not here: the exchange (`login`), the client's half (`wire::connect::scramble`).

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A way to prove a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// `caching_sha2_password`, MySQL 8's default.
    #[default]
    CachingSha2,
    /// `mysql_native_password`, MariaDB's default.
    Native,
}

impl Method {
    /// The plugin's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => "caching_sha2_password",
            Self::Native => "mysql_native_password",
        }
    }

    pub(crate) fn of(plugin: &[u8]) -> Option<Self> {
        [Self::CachingSha2, Self::Native].into_iter().find(|method| method.name().as_bytes() == plugin)
    }
}

/// Someone who may log in.
#[derive(Clone, Debug)]
pub struct Account {
    /// The user's name.
    pub user: String,
    native: Option<[u8; 20]>,
    sha2: Option<[u8; 32]>,
}

impl Account {
    /// An account; an empty password means none.
    pub fn new(user: impl Into<String>, password: &str) -> Self {
        let some = !password.is_empty();
        Self {
            user: user.into(),
            native: some.then(|| Sha1::digest(Sha1::digest(password)).into()),
            sha2: some.then(|| Sha256::digest(Sha256::digest(password)).into()),
        }
    }

    /// Does `response` prove the password?
    pub(crate) fn accepts(&self, method: Method, response: &[u8], nonce: &[u8]) -> bool {
        // A lone NUL is how some clients say "no password".
        let none = response.is_empty() || response == [0];
        match (method, &self.native, &self.sha2) {
            (Method::Native, Some(stored), _) => {
                let mask = Sha1::new().chain_update(nonce).chain_update(stored).finalize();
                response.len() == stored.len() && Sha1::digest(xor(response, &mask)).as_slice() == stored
            }
            (Method::CachingSha2, _, Some(stored)) => {
                let mask = Sha256::new().chain_update(stored).chain_update(nonce).finalize();
                response.len() == stored.len() && Sha256::digest(xor(response, &mask)).as_slice() == stored
            }
            _ => none,
        }
    }

    pub(crate) fn has_password(&self) -> bool {
        self.sha2.is_some()
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::connect::scramble;

    #[test]
    fn the_right_password_is_accepted_and_no_other() {
        let nonce: Vec<u8> = (1..=20).collect();
        let account = Account::new("root", "secret");
        for (password, right) in [("secret", true), ("Secret", false), ("", false)] {
            let native = scramble::native_password(password.as_bytes(), &nonce);
            assert_eq!(account.accepts(Method::Native, &native, &nonce), right, "native {password}");
            let sha2 = scramble::caching_sha2_password(password.as_bytes(), &nonce);
            assert_eq!(account.accepts(Method::CachingSha2, &sha2, &nonce), right, "sha2 {password}");
        }
    }

    #[test]
    fn an_account_without_password_accepts_only_an_empty_proof() {
        let account = Account::new("root", "");
        assert!(account.accepts(Method::Native, b"", &[1; 20]));
        assert!(!account.accepts(Method::Native, &[7; 20], &[1; 20]));
    }
}
