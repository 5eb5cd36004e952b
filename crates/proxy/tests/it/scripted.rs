//! A proxy between a scripted client and a scripted server, logged in with any pair of algorithms.
//!
//! ```text
//! client: lab::peer::Peer ── TCP or Unix ──▶ Proxy ── TCP or Unix ──▶ server: lab::peer::Peer
//! ```
//! Not here: what is tested with it (`pairs`, `bad_input`).

use std::path::Path;

use codec::Algorithm;
use lab::peer::{Listener, Peer};
use proxy::{Address, Config, ListenerConfig, ListenerTls, Proxy, TlsMode, make_self_signed};
use tempfile::TempDir;
use wire::connect::{Greeting, Login};
use wire::{Capabilities, connect::greeting::FirstPacket, packet};

pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
pub(crate) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
pub(crate) const COLUMN: &[u8] =
    b"\x03def\x00\x00\x00\x01v\x00\x0c\x3f\x00\x00\x00\x00\x00\xfd\x00\x00\x00\x00\x00";
pub(crate) const NAMES: [Algorithm; 3] = Algorithm::ALL;

/// Capabilities of both scripted peers, compression aside.
const COMMON: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0,
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    /// Cuts of a stream arrive exactly as they were made.
    Unix,
}

/// A proxy in front of a scripted server.
pub(crate) struct Stage {
    pub(crate) proxy: Proxy,
    pub(crate) listener: Listener,
    _directory: TempDir,
}

/// Both ends of one session, behind the login.
pub(crate) struct Session {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
}

impl Stage {
    /// The server leg asks for `algorithm`.
    pub(crate) fn new(transport: Transport, algorithm: Algorithm) -> Self {
        Self::with(transport, |config| config.server_algorithms = vec![algorithm])
    }

    pub(crate) fn with(transport: Transport, set: impl FnOnce(&mut ListenerConfig)) -> Self {
        Self::with_config(transport, |config| set(&mut config.listeners[0]))
    }

    pub(crate) fn with_config(transport: Transport, set: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (listener, listen) = match transport {
            Transport::Tcp => (Listener::tcp(), "127.0.0.1:0".to_owned()),
            Transport::Unix => {
                (Listener::unix(), format!("unix:{}", directory.path().join("proxy").display()))
            }
        };
        let listener = listener.unwrap();
        let server: Address = listener.address().unwrap().parse().unwrap();
        let mut config = Config::from(ListenerConfig::new(listen.parse().unwrap(), server));
        config.workers = 1;
        set(&mut config);
        Self { proxy: Proxy::start(config).unwrap(), listener, _directory: directory }
    }

    /// A client's bare connection.
    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(&self.proxy.address().to_string()).unwrap()
    }

    /// A client that was greeted, and the server that did it.
    pub(crate) fn greeted(&self) -> Session {
        self.greeted_by(&greeting())
    }

    fn greeted_by(&self, greeting: &Greeting) -> Session {
        let mut client = self.connect();
        let mut server = self.listener.accept().unwrap();
        server.send(&lab::peer::packets(0, [greeting.build().as_slice()])).unwrap();
        let greeted = client.receive().unwrap();
        let Ok(FirstPacket::Greeting(_)) = FirstPacket::parse(&greeted.payload) else {
            panic!("{greeted:?}")
        };
        Session { client, server }
    }

    /// A session whose client uses `algorithm`.
    pub(crate) fn open(&self, algorithm: Algorithm) -> Session {
        self.open_with(algorithm, 1 << 24)
    }

    /// A session whose client uses `algorithm` and announces its own `max_allowed_packet`.
    pub(crate) fn open_with(&self, algorithm: Algorithm, max_packet_len: u32) -> Session {
        self.log_in(self.greeted(), &Login { max_packet_len, ..login(algorithm) })
    }

    /// A session on a server that can do this.
    pub(crate) fn open_behind(&self, algorithm: Algorithm, capabilities: Capabilities) -> Session {
        self.log_in(self.greeted_by(&Greeting { capabilities, ..greeting() }), &login(algorithm))
    }

    /// A greeted session's login, which the server accepts.
    pub(crate) fn log_in(&self, session: Session, login: &Login) -> Session {
        let Session { mut client, mut server } = session;
        let asks = |flag| login.capabilities.contains(flag);
        let algorithm = match (asks(Capabilities::COMPRESS), asks(Capabilities::ZSTD_COMPRESSION_ALGORITHM)) {
            (true, _) => Algorithm::Zlib,
            (_, true) => Algorithm::Zstd,
            _ => Algorithm::Uncompressed,
        };
        client.send(&lab::peer::packets(1, [login.build().as_slice()])).unwrap();
        let received = server.receive().unwrap();
        let asked = Login::parse(&received.payload).unwrap().capabilities;
        server.send(&lab::peer::packets(2, [OK])).unwrap();
        assert_eq!(client.receive().unwrap().payload, OK);
        client.start_frames(algorithm);
        server.start_frames(if asked.contains(Capabilities::COMPRESS) {
            Algorithm::Zlib
        } else if asked.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            Algorithm::Zstd
        } else {
            Algorithm::Uncompressed
        });
        client.take_seen();
        server.take_seen();
        Session { client, server }
    }
}

impl Session {
    /// The session answers a ping.
    pub(crate) fn assert_alive(&mut self) {
        let ping = self.client.wrap(0, [&[wire::command::COM_PING][..]], usize::MAX);
        self.client.send(&ping).unwrap();
        assert_eq!(self.server.receive().unwrap().payload, [wire::command::COM_PING]);
        let ok = self.server.wrap(self.server.next_id(), [OK], usize::MAX);
        self.server.send(&ok).unwrap();
        assert_eq!(self.client.receive().unwrap().payload, OK);
        self.client.take_seen();
        self.server.take_seen();
    }
}

/// The scripted server's greeting: everything may be asked of it.
pub(crate) fn greeting() -> Greeting {
    Greeting {
        server_version: b"9.7.4-scripted".to_vec(),
        thread_id: 7,
        nonce: (1..=20).collect(),
        capabilities: COMMON | Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        charset: 255,
        status: 2,
        auth_plugin: b"caching_sha2_password".to_vec(),
    }
}

/// The scripted client's login.
pub(crate) fn login(algorithm: Algorithm) -> Login {
    let (bit, zstd_level) = match algorithm {
        Algorithm::Uncompressed => (Capabilities::NONE, None),
        Algorithm::Zlib => (Capabilities::COMPRESS, None),
        Algorithm::Zstd => (Capabilities::ZSTD_COMPRESSION_ALGORITHM, Some(3)),
    };
    Login {
        capabilities: COMMON | bit,
        max_packet_len: 1 << 24,
        charset: 45,
        user: b"tester".to_vec(),
        auth_response: vec![9; 32].into(),
        auth_plugin: Some(b"caching_sha2_password".to_vec()),
        zstd_level,
        ..Login::default()
    }
}

/// TLS for clients, with a pair that is made in `folder`.
pub(crate) fn listener_tls(folder: &Path, mode: TlsMode) -> Option<ListenerTls> {
    let (cert, key) = make_self_signed(folder).unwrap();
    Some(ListenerTls { mode, cert, key, client_ca: None })
}

/// How many packets a payload takes.
pub(crate) const fn piece_count(payload_len: usize) -> usize {
    payload_len / wire::limits::PACKET_PAYLOAD_LEN_MAX + 1
}

/// Bytes of a payload's packets, headers included.
pub(crate) const fn packed_up_len(payload_len: usize) -> usize {
    payload_len + piece_count(payload_len) * packet::HEADER_LEN
}
