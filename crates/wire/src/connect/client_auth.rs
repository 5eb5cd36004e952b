//! Answers to a server that wants to know who we are.
//!
//! ```text
//!  server: OK                                            done
//!  server: FE plugin \0 nonce \0     client: answer      another plugin
//!  server: 01 03                                         caching_sha2: fast, OK follows
//!  server: 01 04                     client: password \0 on a secure leg,
//!                                         or 02 (give me your key), then RSA(password \0 xor nonce)
//! ```
//! MariaDB's own caching_sha2 says the same without the 01.
//! For our own clients: the benchmark's, and health checks that log in. The relay knows no password.
//!
//! Invariants: the password leaves in clear on TLS and on a Unix socket alone.
//! Source: MySQL `sql-common/client_authentication.cc`.
//! Not here: computing scrambles (`scramble`), RSA (the callers).

use zeroize::Zeroizing;

use super::auth::Security;
use super::scramble;
use crate::{Fault, Reader};

/// The plugins that our own clients have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// `caching_sha2_password`.
    CachingSha2,
    /// `mysql_native_password`.
    Native,
}

impl Plugin {
    /// By the server's name of it.
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"mysql_native_password" => Some(Self::Native),
            _ => None,
        }
    }

    /// The server's name of it.
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Native => b"mysql_native_password",
        }
    }

    /// The first answer, which needs no secrecy.
    pub fn answer(self, password: &[u8], nonce: &[u8]) -> Vec<u8> {
        match self {
            Self::CachingSha2 => scramble::caching_sha2_password(password, nonce),
            Self::Native => scramble::native_password(password, nonce),
        }
    }
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Wait for the server.
    Wait,
    /// Send this.
    Send(Zeroizing<Vec<u8>>),
    /// Send `masked_password` under the server's RSA key.
    Encrypt {
        /// As the server sent it.
        server_key_pem: Vec<u8>,
        /// The password and its NUL, xor the nonce.
        masked_password: Zeroizing<Vec<u8>>,
    },
}

/// The exchange that follows a login of our own.
pub struct ClientExchange<'a> {
    plugin: Plugin,
    password: &'a [u8],
    nonce: Vec<u8>,
    security: Security,
}

impl<'a> ClientExchange<'a> {
    /// Behind a login whose answer to `nonce` was made by `plugin`.
    pub fn new(plugin: Plugin, password: &'a [u8], nonce: Vec<u8>, security: Security) -> Self {
        Self { plugin, password, nonce, security }
    }

    /// Answers a packet of the server that is neither OK nor ERR.
    ///
    /// Errors: `AuthPluginUnknown`, `AuthPacketUnexpected`.
    pub fn step(&mut self, payload: &[u8]) -> Result<Step, Fault> {
        match payload {
            // Our own clients have one password.
            [NEXT_FACTOR, plugin @ ..] => Err(unknown(Reader::new(plugin).nul_terminated_or_rest())),
            [AUTH_SWITCH, rest @ ..] => self.switch(rest),
            [AUTH_MORE, said @ ..] | said if self.plugin == Plugin::CachingSha2 => self.caching_sha2(said),
            _ => Err(Fault::AuthPacketUnexpected(OUT_OF_PLACE)),
        }
    }

    fn caching_sha2(&self, said: &[u8]) -> Result<Step, Fault> {
        match said {
            [FAST_OK] => Ok(Step::Wait),
            [FULL] => Ok(Step::Send(match self.security {
                Security::Tls | Security::Socket => self.password_and_nul(),
                Security::Plain => Zeroizing::new(vec![GIVE_KEY]),
            })),
            [PEM_START, ..] => {
                let password = self.password_and_nul();
                let masked_password = Zeroizing::new(scramble::xor(&password, &self.nonce));
                Ok(Step::Encrypt { server_key_pem: said.to_vec(), masked_password })
            }
            _ => Err(Fault::AuthPacketUnexpected(OUT_OF_PLACE)),
        }
    }

    fn switch(&mut self, rest: &[u8]) -> Result<Step, Fault> {
        let mut reader = Reader::new(rest);
        let name = reader.nul_terminated_or_rest();
        self.plugin = Plugin::named(name).ok_or_else(|| unknown(name))?;
        let nonce = reader.rest();
        let nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce);
        // Nothing would be masked by it.
        if nonce.is_empty() {
            return Err(Fault::AuthPacketUnexpected("a switch to another plugin without a nonce"));
        }
        self.nonce = nonce.to_vec();
        Ok(Step::Send(self.plugin.answer(self.password, &self.nonce).into()))
    }

    fn password_and_nul(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.password.len() + 1));
        bytes.extend_from_slice(self.password);
        bytes.push(0);
        bytes
    }
}

fn unknown(plugin: &[u8]) -> Fault {
    Fault::AuthPluginUnknown(String::from_utf8_lossy(plugin).into_owned())
}

const OUT_OF_PLACE: &str = "neither OK, an error, nor anything that its plugin sends";
const AUTH_SWITCH: u8 = 0xfe;
/// MySQL asks for a further factor.
const NEXT_FACTOR: u8 = 0x02;
const AUTH_MORE: u8 = 0x01;
/// caching_sha2: the server knew the hash.
const FAST_OK: u8 = 0x03;
/// caching_sha2: the server needs the password itself.
const FULL: u8 = 0x04;
/// PEM begins with dashes.
const PEM_START: u8 = b'-';
/// caching_sha2: asks for the server's public key.
const GIVE_KEY: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_without_a_nonce_is_refused() {
        for nonce in [&b""[..], b"\0"] {
            let switch = [&b"\xfecaching_sha2_password\0"[..], nonce].concat();
            let refused = exchange(Security::Plain).step(&switch);
            assert!(matches!(refused, Err(Fault::AuthPacketUnexpected(_))), "{refused:?}");
        }
    }

    fn exchange(security: Security) -> ClientExchange<'static> {
        ClientExchange::new(Plugin::CachingSha2, b"secret", (1..=20).collect(), security)
    }

    #[test]
    fn the_password_leaves_in_clear_on_a_secure_leg_alone() {
        for security in [Security::Tls, Security::Socket] {
            assert_eq!(exchange(security).step(&[1, 4]), Ok(Step::Send(b"secret\0".to_vec().into())));
        }
        let mut plain = exchange(Security::Plain);
        assert_eq!(plain.step(&[1, 4]), Ok(Step::Send(vec![2].into())));
        let Ok(Step::Encrypt { server_key_pem, masked_password }) = plain.step(b"\x01-----BEGIN") else {
            panic!("the key was not used");
        };
        assert_eq!(server_key_pem, b"-----BEGIN");
        assert_ne!(masked_password.as_slice(), b"secret\0");
    }

    /// MariaDB's server says it without the prefix.
    #[test]
    fn words_without_a_prefix_are_the_same() {
        let mut plain = exchange(Security::Plain);
        assert_eq!(plain.step(&[4]), Ok(Step::Send(vec![2].into())));
        let step = plain.step(b"-----BEGIN");
        assert!(matches!(&step, Ok(Step::Encrypt { server_key_pem, .. }) if server_key_pem == b"-----BEGIN"));
        assert_eq!(exchange(Security::Tls).step(&[4]), Ok(Step::Send(b"secret\0".to_vec().into())));
        assert_eq!(exchange(Security::Plain).step(&[3]), Ok(Step::Wait));
    }

    #[test]
    fn a_server_may_switch_to_another_plugin_with_another_nonce() {
        let mut packet = b"\xfemysql_native_password\0".to_vec();
        packet.extend(21..=40);
        packet.push(0);
        let nonce: Vec<u8> = (21..=40).collect();
        let answer = scramble::native_password(b"secret", &nonce);
        assert_eq!(exchange(Security::Plain).step(&packet), Ok(Step::Send(answer.into())));
    }

    #[test]
    fn an_unknown_plugin_and_a_packet_out_of_place_are_named() {
        let fault = exchange(Security::Plain).step(b"\xfeclient_ed25519\0").unwrap_err().to_string();
        assert!(fault.contains("'client_ed25519'"), "{fault}");
        let fault = exchange(Security::Plain).step(b"\x02authentication_webauthn\0").unwrap_err().to_string();
        assert!(fault.contains("'authentication_webauthn'"), "{fault}");
        assert!(matches!(exchange(Security::Plain).step(&[0x55]), Err(Fault::AuthPacketUnexpected(_))));
    }
}
