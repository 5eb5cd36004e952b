//! Looks names of servers up, on helper threads.
//!
//! A name server that says nothing keeps a lookup's thread for as long as the system's resolver waits, also when its
//! session has given up long ago. The same threads do codec work for other sessions, so only some may be kept.
//!
//! Invariants: nothing is remembered, each connection looks its server up anew; no more than [`LOOKUPS_MAX`] threads
//! are in the resolver.
//! Not here: for how long a session waits (`leg`), other uses of helper threads (`codec_threads`).

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Shared by all workers.
pub(crate) struct Lookups(Arc<Semaphore>);

impl Default for Lookups {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LOOKUPS_MAX)))
    }
}

impl Lookups {
    /// The addresses of `host`, in the resolver's order.
    pub(crate) async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let place = Arc::clone(&self.0).acquire_owned().await.map_err(io::Error::other)?;
        let host = host.to_owned();
        let looked_up = spawn_blocking(move || {
            // Given back when the resolver is done, not when nobody waits for it any more.
            let _place = place;
            Ok((host.as_str(), port).to_socket_addrs()?.collect())
        });
        looked_up.await.map_err(io::Error::other)?
    }
}

/// Half of one worker's helper threads, so that codec work never waits for a name.
const LOOKUPS_MAX: usize = 8;
