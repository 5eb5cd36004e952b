//! Answers to a server that wants to know who we are.
//!
//! ```text
//!  server: OK                                            done
//!  server: FE plugin \0 nonce \0     client: answer      another plugin
//!  server: 01 03                                         caching_sha2: fast, OK follows
//!  server: 01 04                     client: password \0 on a secure leg,
//!                                         or 02 (give me your key), then RSA(password \0 xor nonce)
//! ```
//!
//! Invariants: the password leaves in clear on a Unix socket alone.
//!
//! Not here: computing scrambles (`wire::connect::scramble`), RSA (`rsa`).
//!
//! Source: MySQL `sql-common/client_authentication.cc`; pinned by `tests/client.rs`.

use wire::Reader;
use wire::connect::scramble;
use zeroize::Zeroizing;

use super::ClientFault;
use super::rsa;

/// The plugins this client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    CachingSha2,
    Native,
}

impl Plugin {
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"mysql_native_password" => Some(Self::Native),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Native => b"mysql_native_password",
        }
    }

    pub(super) fn answer(self, password: &[u8], nonce: &[u8]) -> Vec<u8> {
        match self {
            Self::CachingSha2 => scramble::caching_sha2_password(password, nonce),
            Self::Native => scramble::native_password(password, nonce),
        }
    }
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait for the server.
    Wait,
    /// Send this.
    Send(Zeroizing<Vec<u8>>),
}

/// The exchange that follows the login.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    plugin: Plugin,
    password: &'a [u8],
    nonce: Vec<u8>,
    /// Nobody can listen: a Unix socket.
    is_secure: bool,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(plugin: Plugin, password: &'a [u8], nonce: Vec<u8>, is_secure: bool) -> Self {
        Self { plugin, password, nonce, is_secure }
    }

    /// Answers a packet of the server that is neither OK nor ERR.
    pub(super) fn step(&mut self, payload: &[u8]) -> Result<Step, ClientFault> {
        match payload {
            [AUTH_SWITCH, rest @ ..] => self.switch(rest),
            [AUTH_MORE, FAST_OK] if self.plugin == Plugin::CachingSha2 => Ok(Step::Wait),
            [AUTH_MORE, FULL] if self.plugin == Plugin::CachingSha2 => {
                if self.is_secure {
                    Ok(Step::Send(self.password_and_nul()))
                } else {
                    Ok(Step::Send(Zeroizing::new(vec![GIVE_KEY])))
                }
            }
            [AUTH_MORE, key @ ..] if self.plugin == Plugin::CachingSha2 => {
                let password = self.password_and_nul();
                let masked = Zeroizing::new(scramble::xor(&password, &self.nonce));
                Ok(Step::Send(rsa::encrypt(key, &masked)?.into()))
            }
            _ => Err(ClientFault::AnswerUnexpected { when: "during the login" }),
        }
    }

    fn switch(&mut self, rest: &[u8]) -> Result<Step, ClientFault> {
        let mut reader = Reader::new(rest);
        let name = reader.nul_terminated_or_rest();
        self.plugin = Plugin::named(name).ok_or_else(|| ClientFault::AuthPluginUnknown {
            plugin: String::from_utf8_lossy(name).into_owned(),
        })?;
        let nonce = reader.rest();
        self.nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec();
        Ok(Step::Send(self.plugin.answer(self.password, &self.nonce).into()))
    }

    fn password_and_nul(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.password.len() + 1));
        bytes.extend_from_slice(self.password);
        bytes.push(0);
        bytes
    }
}

const AUTH_SWITCH: u8 = 0xfe;
const AUTH_MORE: u8 = 0x01;
/// caching_sha2: the server knew the hash.
const FAST_OK: u8 = 0x03;
/// caching_sha2: the server needs the password itself.
const FULL: u8 = 0x04;
/// caching_sha2: asks for the server's public key.
const GIVE_KEY: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(is_secure: bool) -> Exchange<'static> {
        Exchange::new(Plugin::CachingSha2, b"secret", (1..=20).collect(), is_secure)
    }

    #[test]
    fn the_password_leaves_in_clear_on_a_secure_leg_alone() {
        assert_eq!(exchange(true).step(&[1, 4]).unwrap(), Step::Send(b"secret\0".to_vec().into()));
        assert_eq!(exchange(false).step(&[1, 4]).unwrap(), Step::Send(vec![2].into()));
    }

    #[test]
    fn a_server_may_switch_to_another_plugin_with_another_nonce() {
        let mut packet = b"\xfemysql_native_password\0".to_vec();
        packet.extend(21..=40);
        packet.push(0);
        let nonce: Vec<u8> = (21..=40).collect();
        let answer = scramble::native_password(b"secret", &nonce);
        assert_eq!(exchange(false).step(&packet).unwrap(), Step::Send(answer.into()));
    }

    #[test]
    fn an_unknown_plugin_and_a_packet_out_of_place_are_named() {
        let fault = exchange(false).step(b"\xfeclient_ed25519\0").unwrap_err().to_string();
        assert!(fault.contains("'client_ed25519'"), "{fault}");
        let fault = exchange(false).step(&[0x55]).unwrap_err().to_string();
        assert!(fault.contains("during the login"), "{fault}");
    }

    #[test]
    fn something_that_is_no_key_is_a_fault() {
        assert!(matches!(exchange(false).step(b"\x01not a key"), Err(ClientFault::PublicKey)));
    }
}
