//! What an operator may set; each field already has the type that the code needs.
//!
//! Not here: command-line arguments (crate `cli`), limits of the protocol itself (`wire::limits`).

use std::time::Duration;

use codec::{Algorithm, AlgorithmSet, ZlibLevel, ZstdLevel};

use crate::Address;

/// Settings of a proxy.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where clients connect.
    pub listen: Address,
    /// Where the server is.
    pub server: Address,
    /// `--protocol-compression-algorithms`: what clients may use.
    pub permitted: AlgorithmSet,
    /// `--zstd-compression-level-max`: a client's higher level is accepted and capped.
    pub zstd_level_max: ZstdLevel,
    /// `--compression-algorithms`: what the server leg asks for, in order of wish.
    pub server_algorithms: Vec<Algorithm>,
    /// `--zstd-compression-level`: asked of the server, and what the proxy packs with towards it.
    pub zstd_level: ZstdLevel,
    /// `--zlib-compression-level`: what the proxy packs with, on both legs.
    pub zlib_level: ZlibLevel,
    /// `--workers`: threads that serve sessions.
    pub workers: usize,
    /// Longest wait for a packet of the login. Below the default of the server's `connect_timeout`, 10 s, so that a
    /// silent client's handshake is ended before the server counts it as an error.
    pub login_timeout: Duration,
    /// Longest silence in the middle of a client's packet or frame, as MySQL's `net_read_timeout`.
    pub net_read_timeout: Duration,
    /// Longest wait for the server's socket to accept.
    pub dial_timeout: Duration,
    /// Frames and packets that are larger than an ordinary buffer, all together, bytes.
    pub buffer_memory_max: usize,
}

impl Config {
    /// Defaults between `listen` and `server`.
    pub fn new(listen: Address, server: Address) -> Self {
        Self {
            listen,
            server,
            permitted: AlgorithmSet::ALL,
            zstd_level_max: ZstdLevel::DEFAULT,
            server_algorithms: Algorithm::ALL.to_vec(),
            zstd_level: ZstdLevel::DEFAULT,
            zlib_level: ZlibLevel::DEFAULT,
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            login_timeout: Duration::from_secs(8),
            net_read_timeout: Duration::from_secs(30),
            dial_timeout: Duration::from_secs(10),
            buffer_memory_max: 256 << 20,
        }
    }
}
