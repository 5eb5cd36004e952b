//! The pair: two wirepress that talk a stream of their own, whose frames have history.
//!
//! ```text
//! client ── leg ── wirepress (dialer) ══ pair stream ══ wirepress (listener) ── leg ── server
//!                  --server wirepress://host:port       --pair-listen host:port
//! ```
//! Each half is a whole proxy: the dialer to the client, the listener to the server. To both the stream is just a leg
//! that isn't compressed by MySQL's rules; below that leg are the frames (`stream`).
//!
//! Invariants: a stream is in clear only where it doesn't leave the host; one session per stream; a half that dies never
//! looks like one that has said everything.
//! Not here: the frames (`wire::pair`), sessions (`session`, `connect`, `relay`).

mod accept;
mod dial;
mod key;
mod pool;
mod stream;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use codec::AlgorithmSet;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use wire::pair::{CodecSet, Hello, VERSION};

pub(crate) use self::accept::accept;
pub(crate) use self::dial::open;
use self::key::PairKey;
pub(crate) use self::pool::Pool;
pub(crate) use self::stream::PairStream;
use crate::ending::Ending;
use crate::tls::{Reloading, ServerTls, SslMode, TlsError, TlsMode, ephemeral};
use crate::{Address, ListenerConfig};

/// Why a pair can't be set up as it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// The key file can't be used.
    #[error("--pair-key '{}': {reason}; make one by: (umask 077; openssl rand -base64 32 > FILE)", path.display())]
    Key {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Anybody could connect.
    #[error(
        "--pair-listen {0} can be reached from other hosts: give --pair-key, or --tls-cert, --tls-key and --tls-client-ca"
    )]
    ListenerUnprotected(Address),
    /// Anybody could be the other end.
    #[error(
        "the pair at {0} is on another host: give --pair-key, or --ssl-ca or --ssl-fp and what the other end wants to see"
    )]
    ServerUnprotected(Address),
    /// A key proves nothing in clear.
    #[error("--pair-key and --ssl-mode disabled don't go together: proofs are bound to TLS")]
    KeyWithoutTls,
}

/// What a route's pairs are like, at whichever end it stands.
pub(crate) struct Pair {
    config: ListenerConfig,
    key: Option<PairKey>,
    /// Towards a server that is a pair.
    dial_tls: Option<Reloading<ClientConfig>>,
    /// For those who come by a pair listener.
    accept_tls: Option<AcceptTls>,
    /// Other settings are in force: streams without a session end.
    replaced: Ending,
}

enum AcceptTls {
    Files(Reloading<ServerConfig>),
    /// The key says who it is, so any certificate will do.
    Ephemeral(Arc<ServerConfig>),
}

impl Pair {
    /// Reads the files; `None` where `config` has no pair.
    ///
    /// Errors: a file can't be used, or a stream would leave the host in clear or to anybody.
    pub(crate) fn new(config: &ListenerConfig) -> Result<Option<Arc<Self>>, SetupError> {
        let peers: Vec<_> = config.servers.iter().filter_map(Address::pair).collect();
        if !config.is_pair && peers.is_empty() {
            return Ok(None);
        }
        let key = config.pair.key.as_ref().map(PairKey::read).transpose()?;
        let accept_tls = match (&config.tls, &key) {
            _ if !config.is_pair => None,
            (Some(tls), _) if tls.mode != TlsMode::Off => Some(AcceptTls::Files(tls.load()?)),
            (_, Some(_)) => Some(AcceptTls::Ephemeral(ephemeral()?)),
            (_, None) => None,
        };
        if config.is_pair {
            let asks_for_certificates = config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
            let is_protected = key.is_some() || (accept_tls.is_some() && asks_for_certificates);
            if !is_protected && !config.listen.is_local() {
                return Err(PairError::ListenerUnprotected(config.listen.clone()).into());
            }
        }
        let dial_tls = if peers.is_empty() { None } else { Self::dial_tls(config, &key, &peers)? };
        Ok(Some(Arc::new(Self {
            config: config.clone(),
            key,
            dial_tls,
            accept_tls,
            replaced: Ending::default(),
        })))
    }

    fn dial_tls(
        config: &ListenerConfig,
        key: &Option<PairKey>,
        peers: &[&Address],
    ) -> Result<Option<Reloading<ClientConfig>>, SetupError> {
        let tls = &config.server_tls;
        let knows_certificate = tls.mode() >= SslMode::VerifyCa || tls.fingerprint.is_some();
        let is_protected = key.is_some() || (knows_certificate && tls.mode() != SslMode::Disabled);
        if let Some(open) = peers.iter().find(|peer| !is_protected && !peer.is_local()) {
            return Err(PairError::ServerUnprotected((*open).clone()).into());
        }
        if key.is_some() && tls.mode() == SslMode::Disabled {
            return Err(PairError::KeyWithoutTls.into());
        }
        if key.is_none() && tls.mode() < SslMode::Required {
            return Ok(None);
        }
        // The key tells who it is: no certificate has to.
        let mode = Some(tls.mode().max(SslMode::Required));
        Ok(ServerTls { mode, ..tls.clone() }.load()?)
    }

    /// New sessions go by other settings from now on, and by no stream that was made ready for these.
    pub(crate) fn replace(&self) {
        self.replaced.drain();
    }

    /// What this end says of itself.
    fn hello(&self, algorithms: AlgorithmSet, proof: Option<[u8; wire::pair::PROOF_LEN]>) -> Hello {
        Hello {
            versions: (VERSION, VERSION),
            codecs: CodecSet::of(algorithms),
            proof,
            program: concat!("wirepress ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl AcceptTls {
    fn get(&self) -> Arc<ServerConfig> {
        match self {
            Self::Files(files) => files.get(),
            Self::Ephemeral(config) => Arc::clone(config),
        }
    }
}

/// Why a route's pair can't be set up.
pub(crate) enum SetupError {
    Pair(PairError),
    Tls(TlsError),
}

impl From<PairError> for SetupError {
    fn from(error: PairError) -> Self {
        Self::Pair(error)
    }
}

impl From<TlsError> for SetupError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

/// A fault on its way through a socket's interface.
fn as_io(fault: wire::Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault)
}
