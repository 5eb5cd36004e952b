//! Any order of packets from both ends through an authentication exchange, between every pair of legs: a client that
//! does what it is asked never gets its password across a plain leg in clear.
//!
//! ```text
//! client (secure leg) -- password \0 --> exchange --> encrypted, or a fault; as it is only to a secure server
//! ```
//! The client here is as trusting as any: it sends its password whenever the first byte of a request says so.
//!
//! Not here: RSA itself, COM_CHANGE_USER's own bytes (`change_user`).
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use wire::connect::auth::{Begin, CLEAR_METHODS, Exchange, Security, Step};

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Leg {
    Plain,
    Socket,
    Tls,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Method<'a> {
    CachingSha2,
    Sha256,
    Native,
    Clear,
    OpenId,
    Dialog,
    Named(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Packet<'a> {
    /// caching_sha2_password asks for the password, perhaps with bytes that it should not have; MariaDB's without a prefix.
    ServerAsks {
        tail: &'a [u8],
        is_bare: bool,
    },
    ServerKey {
        is_bare: bool,
    },
    ServerSwitches {
        method: Method<'a>,
        nonce: &'a [u8],
        is_next_factor: bool,
        has_nul: bool,
    },
    Server(&'a [u8]),
    ClientPassword,
    ClientAsksForKey,
    /// RSA's output, of one of its lengths.
    ClientCiphertext(u8),
    Client(&'a [u8]),
}

fuzz_target!(|input: ([Leg; 2], Method<'_>, &[u8], Vec<Packet<'_>>)| {
    let ([client, server], method, nonce, packets) = input;
    let (client, server) = (security(client), security(server));
    let mut method = name(method).to_vec();
    let mut exchange = Exchange::new(client, server, method.clone(), nonce.to_vec());
    let mut nonce = nonce.to_vec();
    assert_eq!(exchange.begin().is_err(), is_refused(&method, client, server), "{method:?}");
    let Ok(begin) = exchange.begin() else { return };
    if method == SHA256 && client == Security::Tls && server != Security::Tls {
        assert_eq!(begin, Begin::AskForSwitch, "the login has the password in clear");
    }
    // Whether the client's next word is its password.
    let mut is_asked = false;
    for packet in packets {
        let from_server = match packet {
            Packet::ServerAsks { tail, is_bare } => Some([prefix(is_bare), &[4], tail].concat()),
            Packet::ServerKey { is_bare } => {
                let pem = b"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n";
                Some([prefix(is_bare), pem].concat())
            }
            Packet::ServerSwitches { method, nonce, is_next_factor, has_nul } => {
                let first: &[u8] = if is_next_factor { &[2] } else { &[0xfe] };
                let end: &[u8] = if has_nul { &[0] } else { b"" };
                Some([first, name(method), &[0], nonce, end].concat())
            }
            Packet::Server(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        if let Some(payload) = from_server {
            let Ok(step) = exchange.server_packet(&payload) else { return };
            match step {
                Step::Succeeded | Step::Refused => return,
                Step::Forward | Step::Inform | Step::EncryptForServer { .. } => {}
                other => panic!("{other:?} for a server's packet"),
            }
            if let [2 | 0xfe, named @ ..] = payload.as_slice()
                && !named.is_empty()
            {
                let (plugin, rest) = split_at_nul(named);
                assert!(!is_refused(plugin, client, server), "{plugin:?}");
                method = plugin.to_vec();
                nonce = rest.strip_suffix(&[0]).unwrap_or(rest).to_vec();
                is_asked = method == SHA256 || CLEAR_METHODS.contains(&method.as_slice()) || method == DIALOG;
            } else if step == Step::Forward {
                let said = payload.strip_prefix(&[1]).unwrap_or(&payload);
                is_asked = method == CACHING_SHA2 && said.starts_with(&[4]);
            }
            continue;
        }
        let payload = match packet {
            Packet::ClientPassword => PASSWORD.to_vec(),
            Packet::ClientAsksForKey => vec![if method == SHA256 { 1 } else { 2 }],
            Packet::ClientCiphertext(of) => vec![9; [128, 256, 384, 512][usize::from(of % 4)]],
            Packet::Client(bytes) => bytes.to_vec(),
            _ => continue,
        };
        let is_password = payload == PASSWORD && std::mem::take(&mut is_asked);
        is_asked = false;
        let Ok(step) = exchange.client_packet(&payload) else { return };
        match step {
            Step::Forward if is_password && is_secure(&method, client) => {
                assert!(is_secure(&method, server), "in clear to a plain server: {method:?}");
            }
            Step::Forward | Step::OfferOwnKey => {}
            Step::AskServerForKey { masked_password, .. } => {
                assert!(!is_secure(&method, server));
                if !nonce.is_empty() {
                    assert_eq!(exchange.unmask(&masked_password), payload);
                }
            }
            Step::DecryptForServer => assert!(is_secure(&method, server), "what comes out is in clear"),
            other => panic!("{other:?} for a client's packet"),
        }
    }
});

const fn security(leg: Leg) -> Security {
    match leg {
        Leg::Plain => Security::Plain,
        Leg::Socket => Security::Socket,
        Leg::Tls => Security::Tls,
    }
}

fn name(method: Method<'_>) -> &[u8] {
    match method {
        Method::CachingSha2 => CACHING_SHA2,
        Method::Sha256 => SHA256,
        Method::Native => b"mysql_native_password",
        Method::Clear => b"mysql_clear_password",
        Method::OpenId => b"authentication_openid_connect_client",
        Method::Dialog => DIALOG,
        Method::Named(bytes) => split_at_nul(bytes).0,
    }
}

/// MySQL's server says `01` before a plugin's words.
const fn prefix(is_bare: bool) -> &'static [u8] {
    if is_bare { &[] } else { &[1] }
}

fn split_at_nul(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// Whether the method counts a leg as one that a password may cross.
fn is_secure(method: &[u8], leg: Security) -> bool {
    leg == Security::Tls || (leg == Security::Socket && method != SHA256)
}

/// Whether the method would send something in clear over a plain leg.
fn is_refused(method: &[u8], client: Security, server: Security) -> bool {
    let plain = |leg| leg == Security::Plain;
    (CLEAR_METHODS.contains(&method) && (plain(client) || plain(server)))
        || (method == DIALOG && plain(server) && !plain(client))
}

/// Longer than no nonce is, and of no length that RSA's output has.
const PASSWORD: &[u8] = b"the password\0";
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
const SHA256: &[u8] = b"sha256_password";
const DIALOG: &[u8] = b"dialog";
