//! What a server bears: how many clients, for how long, and TLS.
//!
//! Not here: an address's own rules (whoever starts a server).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at once; one more is told 1040.
    pub connections_max: usize,
    /// How long a login may take, TLS included.
    pub login: Duration,
    /// Longest silence between two commands (`wait_timeout`).
    pub idle: Duration,
    /// How long a client may take none of what it is sent (`net_write_timeout`).
    pub write: Duration,
}

/// MySQL's own defaults.
impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 100_000,
            login: Duration::from_secs(10),
            idle: Duration::from_secs(28_800),
            write: Duration::from_secs(60),
        }
    }
}

/// TLS of a server.
#[derive(Clone)]
pub struct Tls {
    /// The settings for the next client: files may have been replaced since the last.
    pub config: Arc<dyn Fn() -> Arc<ServerConfig> + Send + Sync>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
