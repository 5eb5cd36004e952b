//! What the links to peers were seen to carry, so that a new session need not find out.
//!
//! Invariants: bounded, and forgetting: what was seen long ago says nothing.
//! Not here: how it is seen (`codec::pace`).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Rates by peer address.
#[derive(Default)]
pub(crate) struct Links(Mutex<HashMap<IpAddr, Seen>>);

struct Seen {
    bytes_per_s: f64,
    at: Instant,
}

impl Links {
    /// What the link to `peer` carries, bytes per second, if that was seen lately.
    pub(crate) fn bytes_per_s(&self, peer: IpAddr) -> Option<f64> {
        let links = self.lock();
        links.get(&peer).filter(|seen| seen.at.elapsed() < TRUE_FOR).map(|seen| seen.bytes_per_s)
    }

    /// A session has seen it.
    pub(crate) fn saw(&self, peer: IpAddr, bytes_per_s: f64) {
        let mut links = self.lock();
        if links.len() >= LINKS_MAX {
            links.retain(|_, seen| seen.at.elapsed() < TRUE_FOR);
        }
        if links.len() < LINKS_MAX || links.contains_key(&peer) {
            links.insert(peer, Seen { bytes_per_s, at: Instant::now() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Routes and loads change within minutes.
const TRUE_FOR: Duration = Duration::from_secs(600);
/// A hundred bytes each.
const LINKS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_last_rate_of_a_peer_is_known_and_there_are_not_too_many() {
        let links = Links::default();
        let peer = |number: u32| IpAddr::from(Ipv4Addr::from(number));
        links.saw(peer(1), 1e6);
        links.saw(peer(1), 2e6);
        assert_eq!((links.bytes_per_s(peer(1)), links.bytes_per_s(peer(2))), (Some(2e6), None));
        for number in 2..10_000 {
            links.saw(peer(number), 1e6);
        }
        assert_eq!((links.lock().len(), links.bytes_per_s(peer(1))), (LINKS_MAX, Some(2e6)));
    }
}
