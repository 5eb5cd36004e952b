//! The authentication exchange between two legs, followed and, where the legs differ, translated.
//!
//! ```text
//! caching_sha2_password, full authentication (server: 01 04), and sha256_password, whose request is 01
//! server leg  client sends
//! secure      password \0      passes as it is
//! secure      02               gets OUR key, sends RSA(password xor nonce)   -> server: password \0
//! plain       password \0      -> server: 02, takes its key, RSA(password xor nonce)
//! plain       02, RSA(...)     passes as it is, the server's key included
//! ```
//! MySQL's server puts `01` before all that a plugin says, MariaDB's only before what would pass for something else: its
//! own `caching_sha2_password` asks by `04` alone, and its key comes as bare PEM.
//! For `caching_sha2_password` a leg is secure when it is TLS or a Unix socket, for `sha256_password` only with TLS.
//! What the client sends should follow from its own leg, but doesn't always: MariaDB's Connector/C that prefers TLS,
//! and Connector/Python's pure mode, send their password in clear even where TLS wasn't offered. So the packet
//! decides. A client that begins with `sha256_password` has sent its password, or asked for a key, before the server
//! said a word; where the legs differ the server is asked to begin anew ([`Begin::AskForSwitch`]).
//!
//! Invariants: a password exists only in the buffers handed to the caller for one step, which wipes them; what a
//! method sends in clear ([`CLEAR_METHODS`]) never crosses a plain leg.
//! Source: MySQL `sql/auth/sha2_password.cc`, `sql-common/client_authentication.cc`; MariaDB `sql/sql_acl.cc`
//! (`server_mpvio_write_packet`).
//! Not here: RSA itself (crate `proxy`, `connect::rsa`); answering a nonce (`scramble`).

use super::login::UNNAMED_PLUGIN;
use super::{Greeting, Login, scramble};
use crate::response::{err, ok};
use crate::{Fault, Reader, Side};

/// What protects the bytes of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// TCP as it is.
    Plain,
    /// A Unix socket, which never leaves the host.
    Socket,
    /// TLS.
    Tls,
}

/// Follows one exchange, at login or in COM_CHANGE_USER.
#[derive(Debug)]
pub struct Exchange {
    client: Security,
    server: Security,
    plugin: Vec<u8>,
    nonce: Vec<u8>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Packets pass as they are.
    Passing,
    /// The server asked for full authentication; the client's next packet is its password, or a wish for a key.
    FullAuthentication,
    /// We asked the server for its key on the client's behalf.
    ServerKeyDue,
    /// The client has our key and sends its password encrypted.
    CiphertextDue,
}

/// What to do with the login or COM_CHANGE_USER that begins an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Pass its response on.
    Forward,
    /// Name [`NO_PLUGIN`] instead of the client's, with an empty response: the server then asks for its own by an
    /// AuthSwitchRequest, which can be followed.
    AskForSwitch,
}

/// What to do with a packet.
#[derive(PartialEq, Eq)]
pub enum Step {
    /// Pass it to the other leg.
    Forward,
    /// Pass it to the client, which has nothing to answer: the server goes on.
    Inform,
    /// Pass it to the client: the login is over.
    Succeeded,
    /// Pass it to the client: the login has failed.
    Refused,
    /// The client's password came in clear. Keep it (masked), and send `request` to the server.
    AskServerForKey {
        /// Packet for the server.
        request: [u8; 1],
        /// Password with its NUL, xor nonce.
        masked_password: Vec<u8>,
    },
    /// The server's key came: encrypt the masked password with it and send that to the server.
    EncryptForServer {
        /// SubjectPublicKeyInfo as PEM.
        server_key_pem: Vec<u8>,
    },
    /// Answer the client with `01` and our own public key as PEM.
    OfferOwnKey,
    /// Decrypt the client's packet with our key; [`Exchange::unmask`] gives the server's packet.
    DecryptForServer,
}

/// The plugin that made a login's response. Where it isn't named servers take it for `mysql_native_password`, whatever they
/// greeted with; the two that may need translation are followed nevertheless, in case the client doesn't.
pub fn first_plugin<'a>(login: &'a Login, greeting: &'a Greeting) -> &'a [u8] {
    match (&login.auth_plugin, greeting.auth_plugin.as_slice()) {
        (Some(named), _) => named,
        (None, greeted @ (CACHING_SHA2 | SHA256)) => greeted,
        (None, _) => UNNAMED_PLUGIN,
    }
}

impl Exchange {
    /// An exchange that starts with `plugin` and the greeting's `nonce`.
    pub const fn new(client: Security, server: Security, plugin: Vec<u8>, nonce: Vec<u8>) -> Self {
        Self { client, server, plugin, nonce, stage: Stage::Passing }
    }

    /// What protects the client leg.
    pub const fn client(&self) -> Security {
        self.client
    }

    /// Takes the first response, which the login or COM_CHANGE_USER carries.
    ///
    /// Errors: `ClearPasswordRefused`.
    pub fn begin(&self) -> Result<Begin, Fault> {
        self.refuse_clear_password()?;
        let differ = (self.client == Security::Tls) != (self.server == Security::Tls);
        Ok(if self.plugin == SHA256 && differ { Begin::AskForSwitch } else { Begin::Forward })
    }

    /// Whether the plugin counts a leg as secure.
    fn is_secure(&self, leg: Security) -> bool {
        leg == Security::Tls || (leg == Security::Socket && self.plugin != SHA256)
    }

    /// The byte with which a client asks for the public key.
    fn key_request(&self) -> u8 {
        if self.plugin == SHA256 { SHA256_REQUEST_KEY } else { REQUEST_KEY }
    }

    /// A password in clear never crosses a plain leg; nor does what `dialog` asks for, unless the client itself
    /// chose to send it over one.
    fn refuse_clear_password(&self) -> Result<(), Fault> {
        let plain = |leg| leg == Security::Plain;
        match self.plugin.as_slice() {
            plugin if CLEAR_METHODS.contains(&plugin) && plain(self.client) => {
                Err(Fault::ClearPasswordRefused(Side::Client))
            }
            plugin if CLEAR_METHODS.contains(&plugin) && plain(self.server) => {
                Err(Fault::ClearPasswordRefused(Side::Server))
            }
            DIALOG if plain(self.server) && !plain(self.client) => {
                Err(Fault::ClearPasswordRefused(Side::Server))
            }
            _ => Ok(()),
        }
    }

    /// Takes a packet of the server.
    pub fn server_packet(&mut self, payload: &[u8]) -> Result<Step, Fault> {
        let is_caching_sha2 = self.plugin == CACHING_SHA2;
        match payload {
            [ok::HEADER, ..] => Ok(Step::Succeeded),
            [err::HEADER, ..] => Ok(Step::Refused),
            [AUTH_SWITCH, ..] | [NEXT_FACTOR, ..] => self.switch(payload),
            [MORE_DATA, PEM_START, ..] | [PEM_START, ..] if self.stage == Stage::ServerKeyDue => {
                self.stage = Stage::Passing;
                let server_key_pem = payload.strip_prefix(&[MORE_DATA]).unwrap_or(payload).to_vec();
                Ok(Step::EncryptForServer { server_key_pem })
            }
            // Whatever follows: some clients look at this byte alone, and would send their password.
            [MORE_DATA, FULL_AUTHENTICATION, ..] | [FULL_AUTHENTICATION, ..] if is_caching_sha2 => {
                self.stage = Stage::FullAuthentication;
                Ok(Step::Forward)
            }
            [MORE_DATA, FAST_AUTHENTICATION_SUCCEEDED] | [FAST_AUTHENTICATION_SUCCEEDED]
                if is_caching_sha2 =>
            {
                Ok(Step::Inform)
            }
            [MORE_DATA, ..] => Ok(Step::Forward),
            [] => Err(Fault::AuthPacketUnexpected("an empty packet from the server")),
            _ => Ok(Step::Forward),
        }
    }

    /// Takes a packet of the client.
    pub fn client_packet(&mut self, payload: &[u8]) -> Result<Step, Fault> {
        let server_secure = self.is_secure(self.server);
        match (self.stage, payload) {
            (Stage::Passing, _) => Ok(Step::Forward),
            (Stage::FullAuthentication, [request]) if *request == self.key_request() => {
                // Between plain legs RSA goes from end to end.
                self.stage = if server_secure { Stage::CiphertextDue } else { Stage::Passing };
                Ok(if server_secure { Step::OfferOwnKey } else { Step::Forward })
            }
            // The empty password, in clear or not: sha256_password's plain clients send it alone too.
            (Stage::FullAuthentication, [] | [0]) => {
                self.stage = Stage::Passing;
                Ok(Step::Forward)
            }
            (Stage::FullAuthentication, _) => match (self.is_clear(payload), server_secure) {
                (true, false) => {
                    self.stage = Stage::ServerKeyDue;
                    let masked_password = self.mask(payload);
                    Ok(Step::AskServerForKey { request: [self.key_request()], masked_password })
                }
                (true, true) | (false, false) => {
                    self.stage = Stage::Passing;
                    Ok(Step::Forward)
                }
                // Encrypted without asking: the client has pinned the server's key, which is not ours.
                (false, true) => Err(Fault::AuthPacketUnexpected(
                    "the client encrypted its password with a key that it knew before",
                )),
            },
            (Stage::CiphertextDue, _) => {
                self.stage = Stage::Passing;
                Ok(Step::DecryptForServer)
            }
            (Stage::ServerKeyDue, _) => Err(Fault::AuthPacketUnexpected("the client spoke before its turn")),
        }
    }

    /// The server's packet from what the client encrypted: `masked` xor nonce.
    pub fn unmask(&self, masked: &[u8]) -> Vec<u8> {
        scramble::xor(masked, &self.nonce)
    }

    /// Whether a packet is a password and its NUL, not ciphertext, whose length is that of the RSA key.
    fn is_clear(&self, payload: &[u8]) -> bool {
        let ends_alone = payload.split_last().is_some_and(|(last, rest)| *last == 0 && !rest.contains(&0));
        self.is_secure(self.client) || (ends_alone && !RSA_LENS.contains(&payload.len()))
    }

    fn mask(&self, password: &[u8]) -> Vec<u8> {
        scramble::xor(password, &self.nonce)
    }

    /// `fe plugin \0 nonce \0`, or the next factor's `02 plugin \0 data`.
    fn switch(&mut self, payload: &[u8]) -> Result<Step, Fault> {
        self.stage = Stage::Passing;
        let mut reader = Reader::new(payload);
        reader.u8()?;
        if reader.is_empty() {
            return Ok(Step::Forward); // The switch of before 4.1, which has no name.
        }
        self.plugin = reader.nul_terminated_or_rest().to_vec();
        let nonce = reader.rest();
        self.nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec();
        self.refuse_clear_password()?;
        if self.plugin == SHA256 {
            self.stage = Stage::FullAuthentication;
        }
        Ok(Step::Forward)
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never a payload: some hold passwords.
        f.write_str(match self {
            Self::Forward => "Forward",
            Self::Inform => "Inform",
            Self::Succeeded => "Succeeded",
            Self::Refused => "Refused",
            Self::AskServerForKey { .. } => "AskServerForKey",
            Self::EncryptForServer { .. } => "EncryptForServer",
            Self::OfferOwnKey => "OfferOwnKey",
            Self::DecryptForServer => "DecryptForServer",
        })
    }
}

/// First byte of AuthMoreData.
pub const MORE_DATA: u8 = 0x01;
const NEXT_FACTOR: u8 = 0x02;
const AUTH_SWITCH: u8 = 0xfe;
/// caching_sha2_password found the account in its cache; OK follows.
const FAST_AUTHENTICATION_SUCCEEDED: u8 = 0x03;
/// caching_sha2_password: the cache has no hash of this account.
const FULL_AUTHENTICATION: u8 = 0x04;
/// caching_sha2_password: the client asks for the public key.
const REQUEST_KEY: u8 = 0x02;
/// sha256_password's.
const SHA256_REQUEST_KEY: u8 = 0x01;
/// PEM begins with dashes.
const PEM_START: u8 = b'-';
/// Ciphertext of keys of 1024 to 4096 bits, bytes.
const RSA_LENS: [usize; 4] = [128, 256, 384, 512];
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
const SHA256: &[u8] = b"sha256_password";
/// Methods of MySQL's that send what lets a client in as it is: a password, or a token of OpenID Connect.
pub const CLEAR_METHODS: [&[u8]; 2] = [b"mysql_clear_password", b"authentication_openid_connect_client"];
/// MariaDB's plugin of PAM: questions, and answers in clear.
const DIALOG: &[u8] = b"dialog";
/// A plugin that no account has: the server answers with an AuthSwitchRequest to the account's own.
pub const NO_PLUGIN: &[u8] = b"wirepress_asks_for_a_switch";

#[cfg(test)]
mod tests {
    use super::*;

    use Security::{Plain, Socket, Tls};

    fn exchange(client_secure: bool, server_secure: bool) -> Exchange {
        let leg = |secure| if secure { Socket } else { Plain };
        Exchange::new(leg(client_secure), leg(server_secure), CACHING_SHA2.to_vec(), b"nonce".to_vec())
    }

    fn exchange_of(plugin: &[u8], client: Security, server: Security) -> Exchange {
        Exchange::new(client, server, plugin.to_vec(), b"nonce".to_vec())
    }

    #[test]
    fn rsa_passes_from_end_to_end_between_plain_legs() {
        let mut exchange = exchange(false, false);
        assert_eq!(exchange.server_packet(&[1, 4]), Ok(Step::Forward));
        assert_eq!(exchange.client_packet(&[2]), Ok(Step::Forward));
        assert_eq!(exchange.server_packet(b"\x01-----BEGIN"), Ok(Step::Forward));
        assert_eq!(exchange.client_packet(&[9; 256]), Ok(Step::Forward));
        assert_eq!(exchange.server_packet(&[0, 0, 0, 2, 0]), Ok(Step::Succeeded));
    }

    #[test]
    fn a_pinned_server_key_works_between_plain_legs_and_is_an_error_before_a_secure_server() {
        for (server_secure, ok) in [(false, true), (true, false)] {
            let mut exchange = exchange(false, server_secure);
            exchange.server_packet(&[1, 4]).unwrap();
            // The last byte is zero by chance.
            let mut ciphertext = [9; 256];
            ciphertext[255] = 0;
            assert_eq!(exchange.client_packet(&ciphertext) == Ok(Step::Forward), ok);
        }
    }

    #[test]
    fn a_clear_password_passes_to_a_secure_server() {
        let mut exchange = exchange(true, true);
        assert_eq!(exchange.server_packet(&[1, 4]), Ok(Step::Forward));
        assert_eq!(exchange.client_packet(b"secret\0"), Ok(Step::Forward));
    }

    /// MariaDB's Connector/C that prefers TLS and isn't offered it.
    #[test]
    fn a_password_that_came_in_clear_over_tcp_is_encrypted_towards_a_plain_server() {
        let mut exchange = exchange(false, false);
        exchange.server_packet(&[1, 4]).unwrap();
        let step = exchange.client_packet(b"secret\0").unwrap();
        assert!(matches!(step, Step::AskServerForKey { .. }), "{step:?}");
    }

    #[test]
    fn a_clear_password_is_encrypted_towards_a_plain_server() {
        let mut exchange = exchange(true, false);
        assert_eq!(exchange.server_packet(&[1, 4]), Ok(Step::Forward));
        let step = exchange.client_packet(b"secret\0").unwrap();
        let Step::AskServerForKey { request: [2], masked_password } = step else { panic!("{step:?}") };
        assert_eq!(exchange.unmask(&masked_password), b"secret\0");
        let step = exchange.server_packet(b"\x01-----BEGIN PUBLIC KEY").unwrap();
        assert_eq!(step, Step::EncryptForServer { server_key_pem: b"-----BEGIN PUBLIC KEY".to_vec() });
    }

    /// PyMySQL looks at the first byte of the two alone.
    #[test]
    fn a_wish_for_the_password_with_a_tail_is_one_too() {
        let mut exchange = exchange(true, false);
        assert_eq!(exchange.server_packet(&[1, 4, 0]), Ok(Step::Forward));
        let step = exchange.client_packet(b"secret\0").unwrap();
        assert!(matches!(step, Step::AskServerForKey { .. }), "{step:?}");
    }

    #[test]
    fn a_plain_client_gets_our_key_before_a_secure_server() {
        let mut exchange = exchange(false, true);
        exchange.server_packet(&[1, 4]).unwrap();
        assert_eq!(exchange.client_packet(&[2]), Ok(Step::OfferOwnKey));
        assert_eq!(exchange.client_packet(&[9; 256]), Ok(Step::DecryptForServer));
        assert_eq!(exchange.server_packet(&[0xff, 0x15, 4]), Ok(Step::Refused));
    }

    #[test]
    fn the_fast_path_needs_no_translation() {
        let mut exchange = exchange(true, false);
        assert_eq!(exchange.server_packet(&[1, 3]), Ok(Step::Inform));
        assert_eq!(exchange.server_packet(&[0, 0, 0, 2, 0]), Ok(Step::Succeeded));
    }

    #[test]
    fn what_mariadb_says_without_a_prefix_is_understood_of_its_plugin_alone() {
        let mut encrypting = exchange(true, false);
        assert_eq!(encrypting.server_packet(&[4]), Ok(Step::Forward));
        let step = encrypting.client_packet(b"secret\0").unwrap();
        assert!(matches!(step, Step::AskServerForKey { request: [2], .. }), "{step:?}");
        let step = encrypting.server_packet(b"-----BEGIN PUBLIC KEY").unwrap();
        assert_eq!(step, Step::EncryptForServer { server_key_pem: b"-----BEGIN PUBLIC KEY".to_vec() });

        let mut decrypting = exchange(false, true);
        decrypting.server_packet(&[4]).unwrap();
        assert_eq!(decrypting.client_packet(&[2]), Ok(Step::OfferOwnKey));

        let mut passing = exchange(false, false);
        passing.server_packet(&[4]).unwrap();
        assert_eq!(passing.client_packet(&[2]), Ok(Step::Forward));
        assert_eq!(passing.server_packet(b"-----BEGIN"), Ok(Step::Forward));
        assert_eq!(passing.client_packet(&[9; 256]), Ok(Step::Forward));

        assert_eq!(exchange(true, false).server_packet(&[3]), Ok(Step::Inform));
        // PAM's question for a password, without words, and its last one.
        let mut dialog = exchange_of(b"dialog", Tls, Tls);
        for question in [&[3][..], &[4], &[1, 3]] {
            assert_eq!(dialog.server_packet(question), Ok(Step::Forward));
            assert_eq!(dialog.client_packet(b"secret\0"), Ok(Step::Forward));
        }
    }

    #[test]
    fn a_switch_brings_the_nonce_that_masks() {
        let mut exchange = exchange_of(b"mysql_native_password", Tls, Plain);
        exchange.server_packet(b"\xfecaching_sha2_password\0newnonce\0").unwrap();
        exchange.client_packet(&[7; 32]).unwrap();
        exchange.server_packet(&[1, 4]).unwrap();
        let step = exchange.client_packet(b"pw\0").unwrap();
        let Step::AskServerForKey { masked_password, .. } = step else { panic!("{step:?}") };
        assert_eq!(masked_password, scramble::xor(b"pw\0", b"newnonce"));
    }

    #[test]
    fn sha256_password_begins_anew_where_one_leg_is_tls_and_passes_where_both_are_alike() {
        for client in [Plain, Socket, Tls] {
            for server in [Plain, Socket, Tls] {
                let begin = exchange_of(SHA256, client, server).begin();
                let differ = (client == Tls) != (server == Tls);
                assert_eq!(begin == Ok(Begin::AskForSwitch), differ, "{client:?} {server:?}");
                assert_eq!(exchange_of(CACHING_SHA2, client, server).begin(), Ok(Begin::Forward));
            }
        }
    }

    #[test]
    fn sha256_password_counts_a_socket_as_plain() {
        let mut exchange = exchange_of(b"", Tls, Socket);
        exchange.server_packet(b"\xfesha256_password\0nonce\0").unwrap();
        let step = exchange.client_packet(b"pw\0").unwrap();
        let Step::AskServerForKey { request: [1], masked_password } = step else { panic!("{step:?}") };
        assert_eq!(exchange.unmask(&masked_password), b"pw\0");
        let step = exchange.server_packet(b"\x01-----BEGIN").unwrap();
        assert!(matches!(step, Step::EncryptForServer { .. }), "{step:?}");

        let mut exchange = exchange_of(b"", Socket, Tls);
        exchange.server_packet(b"\xfesha256_password\0nonce\0").unwrap();
        assert_eq!(exchange.client_packet(&[1]), Ok(Step::OfferOwnKey));
        assert_eq!(exchange.client_packet(&[9; 256]), Ok(Step::DecryptForServer));

        let mut exchange = exchange_of(b"", Plain, Socket);
        exchange.server_packet(b"\xfesha256_password\0nonce\0").unwrap();
        assert_eq!(exchange.client_packet(&[1]), Ok(Step::Forward));
    }

    #[test]
    fn an_empty_password_passes_on_every_pair_of_legs() {
        for (client, server) in [(Plain, Tls), (Tls, Plain), (Tls, Tls), (Plain, Plain)] {
            let mut exchange = exchange_of(b"", client, server);
            exchange.server_packet(b"\xfesha256_password\0nonce\0").unwrap();
            assert_eq!(exchange.client_packet(&[0]), Ok(Step::Forward), "{client:?} {server:?}");
        }
    }

    #[test]
    fn a_clear_password_crosses_no_plain_leg() {
        let refused = |side| Err(Fault::ClearPasswordRefused(side));
        for method in CLEAR_METHODS {
            for (client, server, side) in [(Plain, Tls, Side::Client), (Tls, Plain, Side::Server)] {
                let mut exchange = exchange_of(method, client, server);
                assert_eq!(exchange.begin().map(drop), refused(side));
                let switch = [b"\xfe", method, b"\0\0"].concat();
                assert_eq!(exchange.server_packet(&switch).map(drop), refused(side));
            }
            assert_eq!(exchange_of(method, Tls, Socket).begin(), Ok(Begin::Forward));
        }
        assert!(exchange_of(b"dialog", Tls, Plain).begin().is_err());
        assert!(exchange_of(b"dialog", Plain, Plain).begin().is_ok());
    }

    #[test]
    fn steps_never_print_what_they_carry() {
        let step = Step::AskServerForKey { request: [2], masked_password: b"secret".to_vec() };
        assert_eq!(format!("{step:?}"), "AskServerForKey");
    }
}
